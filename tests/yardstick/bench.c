// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of handles and fsyncs in virtual time: SIMULATED figures.
 *
 * One task for each CPU does handles over blocks of its own, like those of a
 * create: inode table, directory, bitmap, group descriptor.  The blocks are in
 * memory; what time costs is in cpu.c and drive.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include "yard.h"

#define REGION		4096	/* blocks of each CPU */
#define HOT		1	/* the block of all */
#define MAX_TIMES	(1 << 22)

/**
 * struct workload - what a handle does
 */
struct workload {
	const char *name;
	u32	journal;	/* blocks of the log */
	u32	blocks;		/* that a handle writes */
	u32	spread;		/* 0: blocks of a create; else of so many */
	bool	run;		/* the blocks follow each other, as a file's do */
	bool	sync;		/* fsync after each handle */
	bool	bulk;		/* nothing asks for a commit before five seconds are over */
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
	{ "small-log", 4096, 4, .spread = 512 },
	{ "bulk", 32768, 8, .spread = REGION, .bulk = true },
	{ "bulk-shared", 32768, 8, .spread = REGION, .bulk = true, .shared = true },
	{ "bulk-hot", 32768, 4, .bulk = true },
	{ "bulk-file", 32768, 16, .spread = REGION, .run = true, .bulk = true },
	{ "bulk-small-log", 4096, 8, .spread = REGION, .bulk = true },
};

/* A fast SSD with a volatile cache, at 1 KiB a block; all in ns. */
static const struct drive ssd = {
	.read = 80000, .write = 20000, .flush = 300000, .fua = 80000, .block = 2000,
};

/* One that is far away, or emulates a cache badly. */
static const struct drive slow = {
	.read = 400000, .write = 400000, .flush = 2000000, .fua = 2000000, .block = 2000,
};

/* One with a head that moves, and a small cache. */
static const struct drive hdd = {
	.read = 3000000, .write = 100000, .flush = 3000000, .fua = 3000000, .block = 7000,
	.seek = 3000000,
};

/**
 * struct times - how long something has taken, each time
 */
struct times {
	s64	*ns;
	u64	nr;
};

static const struct workload *load;
static struct fs fs;
static s64 end;
static u64 handles;
static struct times syncs, starts;

static void note(struct times *times, s64 begin)
{
	if (times->nr < MAX_TIMES)
		times->ns[times->nr++] = sim_now - begin;
}

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

static u32 nth_block(u32 base, u64 n, u32 first, u32 i)
{
	if (!load->spread)
		return create_block(base, n, i);
	if (load->run)
		return base + (n * load->blocks + i) % load->spread;
	return base + (first + i * 7) % load->spread;
}

static tid_t one_handle(struct sim_rand *rand, u32 base, u64 n)
{
	u32 first = sim_below(rand, REGION);
	handle_t *handle;
	s64 begin;
	tid_t tid;
	int err;

	nap(yard.work / 2);
	if (load->varied)
		nap(sim_below(rand, 8 * yard.work));
	begin = sim_now;
	handle = jbd2__journal_start(fs.journal, load->blocks + 1, 0, 0, GFP_NOFS,
				     0, 0);
	if (IS_ERR(handle))
		kl_fail("start: error %ld", PTR_ERR(handle));
	note(&starts, begin);
	tid = handle->h_transaction->t_tid;
	for (u32 i = 0; i < load->blocks; i++)
		touch(handle, nth_block(base, n, first, i));
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
		note(&syncs, begin);
	}
	return 0;
}

/* All blocks in memory, as after long use. */
static void warm_up(void)
{
	for (u32 b = HOT; b < fs.kit.first; b++) {
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

static double us(struct times *times, u32 percent)
{
	qsort(times->ns, times->nr, sizeof(*times->ns), by_time);
	return times->nr ? times->ns[(times->nr - 1) * percent / 100] / 1e3 : 0;
}

/* What came between two places in the disk's log. */
static void count(u32 from, u32 to, u64 *logged, u64 *home, u64 *flushes, u64 *fua)
{
	for (u32 i = from; i < to; i++) {
		const struct disk_event *e = &fs.disk->log[i];

		*logged += e->what == DISK_WRITE && e->block >= fs.kit.first;
		*home += e->what == DISK_WRITE && e->block < fs.kit.first;
		*flushes += e->what == DISK_FLUSH;
		*fua += e->what == DISK_DONE_FUA;
	}
}

/* @ns: of the work, @all_ns: until all is home. */
static void report(u32 from, s64 ns, s64 all_ns)
{
	u64 logged = 0, home = 0, flushes = 0, fua = 0;

	count(from, fs.disk->nr_log, &logged, &home, &flushes, &fua);
	printf("{\"simulated\": true, \"journal\": \"%s\", \"workload\": \"%s\", \"drive\": \"%s\", \"cpus\": %u, \"seed\": %llu, \"work_ns\": %lld, \"line_ns\": %lld, \"percent\": %u, \"virtual_ms\": %lld, ",
	       JOURNAL_NAME, load->name, yard.drive ?: "ssd", yard.cpus, yard.seed,
	       yard.work, yard.line, load->shared ? yard.percent : 0, ns / 1000000);
	printf("\"handles\": %llu, \"handles_per_virtual_s\": %.0f, \"handles_per_virtual_s_home\": %.0f, \"start_p99_us\": %.0f, \"start_longest_us\": %.0f, ",
	       handles, handles * 1e9 / ns, handles * 1e9 / all_ns, us(&starts, 99),
	       us(&starts, 100));
	printf("\"fsyncs\": %llu, \"fsync_median_us\": %.0f, \"fsync_p99_us\": %.0f, ",
	       syncs.nr, us(&syncs, 50), us(&syncs, 99));
	printf("\"log_blocks_per_handle\": %.3f, \"home_blocks_per_handle\": %.3f, \"flushes\": %llu, \"fua_writes\": %llu, \"flushes_per_fsync\": %.3f}\n",
	       (double)logged / handles, (double)home / handles, flushes, fua,
	       syncs.nr ? (double)flushes / syncs.nr : 0);
}

static void work(void)
{
	struct sim_task *task[MAX_CPUS];

	end = sim_now + yard.ns;
	cpu_lines_cost(yard.line);
	for (u32 i = 0; i < yard.cpus; i++) {
		task[i] = sim_spawn(worker, (void *)(long)i, "worker", i);
		task[i]->task.pid = i + 1;
	}
	for (u32 i = 0; i < yard.cpus; i++)
		sim_join(task[i]);
	cpu_lines_cost(false);
}

static void run(void)
{
	u32 from = fs.disk->nr_log;
	s64 begin, worked;

	warm_up();
	fs.journal->j_commit_interval = load->bulk ? 5 * HZ : HZ / 20;
	begin = sim_now;
	work();
	worked = sim_now;
	if (fs_unmount(&fs))
		kl_fail("unmount fails");
	report(from, worked - begin, sim_now - begin);
}

static const struct drive *find_drive(void)
{
	if (!yard.drive || !strcmp(yard.drive, "ssd"))
		return &ssd;
	if (!strcmp(yard.drive, "slow"))
		return &slow;
	if (!strcmp(yard.drive, "hdd"))
		return &hdd;
	kl_fail("there is no drive %s; see --help", yard.drive);
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
	syncs.ns = malloc(MAX_TIMES * sizeof(*syncs.ns));
	starts.ns = malloc(MAX_TIMES * sizeof(*starts.ns));
	sim_start(&config);
	fs_make(&fs, HOT + 1 + yard.cpus * REGION, yard.seed);
	drive_use(find_drive(), fs.disk);
	if (fs_mount(&fs))
		kl_fail("mount fails");
	run();
	sim_end();
	fs_free(&fs);
	free(syncs.ns);
	free(starts.ns);
	arena_reset();
}
