// SPDX-License-Identifier: GPL-2.0-only
/*
 * What handles and fsyncs cost, in virtual time: SIMULATED figures.
 *
 * One task for each CPU does handles over blocks of its own, like those of a
 * create: inode table, directory, bitmap, group descriptor.  The blocks are in
 * memory; what time costs is in cpu.c and drive.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include "yard.h"

#define REGION		512	/* blocks of each CPU */
#define HOT		1	/* the block of all */
#define MAX_SYNCS	(1 << 20)

/**
 * struct workload - what a handle does
 */
struct workload {
	const char *name;
	u32	journal;	/* blocks of the log */
	u32	blocks;		/* that a handle writes */
	u32	spread;		/* 0: blocks of a create; else of so many */
	bool	sync;		/* fsync after each handle */
	bool	shared;		/* some handles write the hot block */
	bool	varied;		/* work between two handles, too: up to eight times --work */
};

static const struct workload workloads[] = {
	{ "private", 32768, 4, },
	{ "private-fsync", 32768, 4, .sync = true },
	{ "shared", 32768, 4, .shared = true },
	{ "shared-fsync", 32768, 4, .shared = true, .sync = true },
	{ "mail", 32768, 4, .sync = true, .shared = true, .varied = true },
	{ "big", 32768, 64, .spread = 192 },
	{ "small-log", 4096, 4, .spread = REGION },
};

/* A fast SSD with a volatile cache, at 1 KiB a block; all in ns. */
static const struct drive ssd = {
	.read = 80000, .write = 20000, .flush = 300000, .fua = 80000, .block = 2000,
};

/* One that is far away, or emulates a cache badly. */
static const struct drive slow = {
	.read = 400000, .write = 400000, .flush = 2000000, .fua = 2000000, .block = 2000,
};

static const struct workload *load;
static struct fs fs;
static s64 end;
static u64 handles, nr_syncs;
static s64 *sync_ns;

static u32 create_block(u32 base, u64 n, u32 i)
{
	switch (i) {
	case 0:
		return base + (n / 8) % 64;		/* inode table */
	case 1:
		return base + 64 + (n / 24) % 128;	/* directory */
	case 2:
		return base + 200;			/* bitmap */
	default:
		return base + 201;			/* group descriptor */
	}
}

static void touch(handle_t *handle, u32 block)
{
	struct buffer_head *bh = __bread(&fs.disk->bdev, block, DISK_BLOCK);
	int err = jbd2_journal_get_write_access(handle, bh);

	if (err)
		kl_fail("access: error %d", err);
	(*(u32 *)bh->b_data)++;
	err = jbd2_journal_dirty_metadata(handle, bh);
	if (err)
		kl_fail("dirty: error %d", err);
	brelse(bh);
}

static tid_t one_handle(struct sim_rand *rand, u32 base, u64 n)
{
	u32 first = sim_below(rand, REGION);
	handle_t *handle;
	tid_t tid;
	int err;

	nap(yard.work / 2);
	if (load->varied)
		nap(sim_below(rand, 8 * yard.work));
	handle = jbd2__journal_start(fs.journal, load->blocks + 1, 0, 0, GFP_NOFS,
				     0, 0);
	if (IS_ERR(handle))
		kl_fail("start: error %ld", PTR_ERR(handle));
	tid = handle->h_transaction->t_tid;
	for (u32 i = 0; i < load->blocks; i++)
		touch(handle, load->spread ? base + (first + i * 7) % load->spread :
		      create_block(base, n, i));
	if (load->shared && sim_below(rand, 100) < yard.percent)
		touch(handle, HOT);
	nap(yard.work - yard.work / 2);
	err = jbd2_journal_stop(handle);
	if (err)
		kl_fail("stop: error %d", err);
	return tid;
}

static int worker(void *arg)
{
	u32 cpu = (long)arg;
	struct sim_rand rand = { yard.seed * 977 + cpu };

	/* The time at which it begins is no sign of what others do. */
	nap(sim_below(&rand, yard.work + 1));
	for (u64 n = 0; sim_now < end; n++) {
		tid_t tid = one_handle(&rand, HOT + 1 + cpu * REGION, n);
		s64 begin = sim_now;

		handles++;
		if (!load->sync)
			continue;
		if (fs_sync(&fs, tid))
			kl_fail("sync fails");
		if (nr_syncs < MAX_SYNCS)
			sync_ns[nr_syncs++] = sim_now - begin;
	}
	return 0;
}

/* All blocks in memory, as after long use. */
static void warm_up(void)
{
	for (u32 b = HOT; b < fs.home; b++) {
		struct buffer_head *bh = __getblk(&fs.disk->bdev, b, DISK_BLOCK);

		memset(bh->b_data, 0, DISK_BLOCK);
		set_buffer_uptodate(bh);
		brelse(bh);
	}
}

static int by_time(const void *a, const void *b)
{
	s64 x = *(const s64 *)a, y = *(const s64 *)b;

	return x < y ? -1 : x > y;
}

static double sync_us(u32 percent)
{
	return nr_syncs ? sync_ns[(nr_syncs - 1) * percent / 100] / 1e3 : 0;
}

static void report(u32 from, u32 to, s64 ns)
{
	u64 logged = 0, home = 0, flushes = 0, fua = 0;

	for (u32 i = from; i < to; i++) {
		const struct disk_event *e = &fs.disk->log[i];

		if (e->what == DISK_WRITE && e->block >= fs.home)
			logged++;
		home += e->what == DISK_WRITE && e->block < fs.home;
		flushes += e->what == DISK_FLUSH;
		fua += e->what == DISK_DONE_FUA;
	}
	qsort(sync_ns, nr_syncs, sizeof(*sync_ns), by_time);
	printf("{\"simulated\": true, \"journal\": \"%s\", \"workload\": \"%s\", \"cpus\": %u, \"seed\": %llu, \"work_ns\": %lld, \"line_ns\": %lld, \"percent\": %u, \"virtual_ms\": %lld, ",
	       JOURNAL_NAME, load->name, yard.cpus, yard.seed, yard.work, yard.line,
	       load->shared ? yard.percent : 0, ns / 1000000);
	printf("\"handles\": %llu, \"handles_per_virtual_s\": %.0f, \"fsyncs\": %llu, \"fsync_median_us\": %.0f, \"fsync_p99_us\": %.0f, ",
	       handles, handles * 1e9 / ns, nr_syncs, sync_us(50), sync_us(99));
	printf("\"log_blocks_per_handle\": %.3f, \"home_blocks_per_handle\": %.3f, \"flushes\": %llu, \"fua_writes\": %llu, \"flushes_per_fsync\": %.3f}\n",
	       (double)logged / handles, (double)home / handles, flushes, fua,
	       nr_syncs ? (double)flushes / nr_syncs : 0);
}

static void run(void)
{
	struct sim_task *task[MAX_CPUS];
	s64 begin;
	u32 from, to;

	warm_up();
	fs.journal->j_commit_interval = HZ / 20;
	from = fs.disk->nr_log;
	begin = sim_now;
	end = begin + yard.ns;
	cpu_lines_cost(yard.line);
	for (u32 i = 0; i < yard.cpus; i++) {
		task[i] = sim_spawn(worker, (void *)(long)i, "worker", i);
		task[i]->task.pid = i + 1;
	}
	for (u32 i = 0; i < yard.cpus; i++)
		sim_join(task[i]);
	cpu_lines_cost(false);
	to = fs.disk->nr_log;
	report(from, to, sim_now - begin);
}

static const struct workload *find(const char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(workloads); i++)
		if (!strcmp(workloads[i].name, name))
			return &workloads[i];
	kl_fail("there is no workload %s; see --help", name);
}

void bench_run(void)
{
	struct sim_config config = {
		.seed = yard.seed, .cpus = yard.cpus, .granularity = 1 << 20,
		.deadline = 1000000000LL * 3600,
	};

	load = find(yard.workload);
	yard.journal = load->journal;
	sprintf(sim_what, "%s --bench %s --cpus %u --seed %llu", JOURNAL_NAME,
		load->name, yard.cpus, yard.seed);
	sync_ns = malloc(MAX_SYNCS * sizeof(*sync_ns));
	sim_start(&config);
	fs_make(&fs, HOT + 1 + yard.cpus * REGION, yard.seed);
	drive_use(yard.drive && !strcmp(yard.drive, "slow") ? &slow : &ssd, fs.disk);
	if (fs_mount(&fs))
		kl_fail("mount fails");
	run();
	if (fs_unmount(&fs))
		kl_fail("unmount fails");
	sim_end();
	fs_free(&fs);
	free(sync_ns);
	arena_reset();
}
