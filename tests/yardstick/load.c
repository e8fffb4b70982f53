// SPDX-License-Identifier: GPL-2.0-only
/* Random handles on few blocks, and a record of what they did. */
#include <stdlib.h>
#include <linux/crc32c.h>
#include "yard.h"

/**
 * struct alloc - an allocatable block; its entry in the map is gen * 4 + use
 */
struct alloc {
	enum use	use;
	u32		gen;
	bool		busy;		/* a task changes or frees it */
	tid_t		freed_by;	/* not free before that is committed */
};

struct history history;

static struct fs *fs;
static u32 ver[LOAD_HOME];		/* of each block, in memory */
static struct alloc alloc[LOAD_ALLOC];
static u32 handles_left, workers;

/**
 * struct job - a worker and its handle
 */
struct job {
	struct sim_rand	rand;
	handle_t	*handle;
	struct unit	unit;		/* of the handle */
};

/* ---- contents ---- */

static u32 mix(u32 a, u32 b, u32 c, u32 i)
{
	struct sim_rand r = { ((u64)a << 40) ^ ((u64)b << 32) ^
			      ((u64)c << 8) ^ i };

	return sim_rand(&r);
}

/*
 * With --seal a block ends with its own crc32c, as ext4's extent blocks and super
 * block do: then a crc32c over the whole is the same for all contents.
 */
static u32 half_sum(const struct half *h)
{
	const u32 *word = (const u32 *)h;
	u64 sum = 1;

	if (yard.seal)
		return crc32c(~0u, h, offsetof(struct half, sum));
	for (u32 i = 0; i < offsetof(struct half, sum) / sizeof(*word); i++)
		sum = (sum ^ word[i]) * 0x9e3779b97f4a7c15ULL;
	return sum >> 32;
}

static void half_fill(struct half *h)
{
	u32 escape = cpu_to_be32(0xc03b3998);

	h->first = mix(h->block, h->gen, h->ver, 999) % 4 ? h->ver : escape;
	for (u32 i = 0; i < ARRAY_SIZE(h->fill); i++)
		h->fill[i] = mix(h->block, h->gen, h->ver, i);
	h->sum = half_sum(h);
}

static void block_fill(void *data, u32 block, u32 gen, u32 version)
{
	struct half *h = data;

	h[0].block = block;
	h[0].gen = gen;
	h[0].ver = version;
	half_fill(&h[0]);
	h[1] = h[0];
}

const char *half_check(const void *data, u32 block)
{
	const struct half *h = data;

	if (memcmp(&h[0], &h[1], sizeof(*h)))
		return "is torn";
	if (h->block != block)
		return "has the contents of another block";
	if (h->sum != half_sum(h))
		return "has a bad checksum";
	return NULL;
}

/* ---- changes ---- */

static void note(struct job *job, u32 block, u32 gen)
{
	struct unit *u = &job->unit;

	if (u->nr == UNIT_WRITES)
		kl_fail("too many writes in a handle");
	u->write[u->nr].block = block;
	u->write[u->nr].gen = gen;
	u->write[u->nr++].ver = ver[block];
}

static void must_not_fail(int err, const char *what)
{
	if (err)
		kl_fail("%s: error %d", what, err);
}

/* Another version of a block; the caller may change the map in @bh first. */
static void write_block(struct job *job, u32 block, u32 gen, s32 entry,
			u32 value)
{
	struct buffer_head *bh = __bread(&fs->disk->bdev, block, DISK_BLOCK);

	must_not_fail(jbd2_journal_get_write_access(job->handle, bh), "access");
	if (entry >= 0)
		((struct half *)bh->b_data)->map[entry] = value;
	ver[block]++;
	block_fill(bh->b_data, block, gen, ver[block]);
	note(job, block, gen);
	must_not_fail(jbd2_journal_dirty_metadata(job->handle, bh), "dirty");
	brelse(bh);
}

static void write_map(struct job *job, u32 i)
{
	write_block(job, LOAD_MAP, 0, i, alloc[i].gen * 4 + alloc[i].use);
}

static void step_fixed(struct job *job)
{
	write_block(job, 1 + sim_below(&job->rand, LOAD_FIXED - 1), 0, -1, 0);
}

/* Finds an idle block with this use, and marks it as busy. */
static s32 take(struct job *job, enum use use)
{
	u32 first = sim_below(&job->rand, LOAD_ALLOC);

	for (u32 n = 0; n < LOAD_ALLOC; n++) {
		struct alloc *a = &alloc[(first + n) % LOAD_ALLOC];

		if (a->use != use || a->busy)
			continue;
		a->busy = true;
		if (!a->freed_by ||
		    jbd2_transaction_committed(fs->journal, a->freed_by))
			return a - alloc;
		a->busy = false;
	}
	return -1;
}

static void step_new_meta(struct job *job)
{
	s32 i = take(job, USE_FREE);
	u32 block = LOAD_FIXED + 1 + i;
	struct buffer_head *bh;

	if (i < 0)
		return;
	alloc[i].use = USE_META;
	alloc[i].gen++;
	bh = __getblk(&fs->disk->bdev, block, DISK_BLOCK);
	lock_buffer(bh);
	must_not_fail(jbd2_journal_get_create_access(job->handle, bh), "create");
	memset(bh->b_data, 0, DISK_BLOCK);
	ver[block]++;
	block_fill(bh->b_data, block, alloc[i].gen, ver[block]);
	note(job, block, alloc[i].gen);
	set_buffer_uptodate(bh);
	unlock_buffer(bh);
	must_not_fail(jbd2_journal_dirty_metadata(job->handle, bh), "dirty");
	brelse(bh);
	write_map(job, i);
	alloc[i].busy = false;
}

static void step_write_meta(struct job *job)
{
	s32 i = take(job, USE_META);

	if (i < 0)
		return;
	write_block(job, LOAD_FIXED + 1 + i, alloc[i].gen, -1, 0);
	alloc[i].busy = false;
}

static void step_free_meta(struct job *job)
{
	s32 i = take(job, USE_META);
	u32 block = LOAD_FIXED + 1 + i;
	struct buffer_head *bh;

	if (i < 0)
		return;
	alloc[i].gen++;
	alloc[i].use = USE_FREE;
	alloc[i].freed_by = job->handle->h_transaction->t_tid;
	write_map(job, i);
	bh = __find_get_block(&fs->disk->bdev, block, DISK_BLOCK);
	must_not_fail(jbd2_journal_revoke(job->handle, block, bh), "revoke");
	alloc[i].busy = false;
}

/* The device's buffer of a block that becomes data is not to be written. */
static void drop_alias(u32 block)
{
	struct buffer_head *bh = __find_get_block(&fs->disk->bdev, block,
						  DISK_BLOCK);

	if (!bh)
		return;
	clear_buffer_dirty(bh);
	wait_on_buffer(bh);
	brelse(bh);
}

/* As an unwritten extent: data first, not journaled, then the map. */
static void step_new_data(struct job *job)
{
	static u8 pages[LOAD_ALLOC][DISK_BLOCK]
		__attribute__((__aligned__(DISK_BLOCK)));
	s32 i = take(job, USE_FREE);
	u32 block = LOAD_FIXED + 1 + i;
	struct bio *bio;

	if (i < 0)
		return;
	alloc[i].gen++;
	alloc[i].use = USE_DATA;
	drop_alias(block);
	memset(pages[i], 0, DISK_BLOCK);
	block_fill(pages[i], block, alloc[i].gen, ++ver[block]);
	note(job, block, alloc[i].gen);
	bio = bio_alloc(&fs->disk->bdev, 1, REQ_OP_WRITE, GFP_NOFS);
	bio->bi_iter.bi_sector = block * (DISK_BLOCK / DISK_SECTOR);
	bio_add_page(bio, virt_to_page(pages[i]), DISK_BLOCK,
		     offset_in_page(pages[i]));
	must_not_fail(submit_bio_wait(bio), "data");
	bio_put(bio);
	write_map(job, i);
	alloc[i].busy = false;
}

static void step_free_data(struct job *job)
{
	s32 i = take(job, USE_DATA);

	if (i < 0)
		return;
	alloc[i].gen++;
	alloc[i].use = USE_FREE;
	alloc[i].freed_by = job->handle->h_transaction->t_tid;
	write_map(job, i);
	alloc[i].busy = false;
}

/* ---- handles ---- */

static void (*const steps[])(struct job *job) = {
	step_fixed, step_fixed, step_fixed, step_fixed, step_new_meta,
	step_write_meta, step_write_meta, step_free_meta, step_new_data,
	step_free_data,
};

static u32 keep(const struct unit *unit)
{
	if (history.nr == history.room) {
		history.room = history.room ? 2 * history.room : 256;
		history.units = realloc(history.units,
					history.room * sizeof(*unit));
	}
	history.units[history.nr] = *unit;
	return history.nr++;
}

static void one_handle(struct job *job)
{
	u32 n = 1 + sim_below(&job->rand, 4), unit;
	tid_t tid;

	job->handle = jbd2__journal_start(fs->journal, 10, 0, 4, GFP_NOFS, 0, 0);
	if (IS_ERR(job->handle))
		kl_fail("start: error %ld", PTR_ERR(job->handle));
	tid = job->handle->h_transaction->t_tid;
	job->unit = (struct unit){ .tid = tid, .must = NEVER };
	while (n--)
		steps[sim_below(&job->rand, ARRAY_SIZE(steps))](job);
	/* Before the stop: its writes may be in the log as soon as that begins. */
	unit = keep(&job->unit);
	must_not_fail(jbd2_journal_stop(job->handle), "stop");
	if (!sim_one_in(&job->rand, 4))
		return;
	must_not_fail(fs_sync(fs, tid), "sync");
	history.units[unit].must = fs->disk->nr_log;
}

static int worker(void *arg)
{
	struct job job = { .rand.state = yard.seed * 977 + (long)arg };

	while (handles_left) {
		handles_left--;
		one_handle(&job);
		if (sim_one_in(&job.rand, 3))
			nap(sim_below(&job.rand, 3000000));
	}
	workers--;
	return 0;
}

/* Writes back dirty buffers, empties the log now and then. */
static int flusher(void *arg)
{
	struct sim_rand rand = { yard.seed * 31 + 7 };

	while (workers) {
		nap(sim_below(&rand, 4000000));
		buf_write_back(fs->disk, 1 + sim_below(&rand, LOAD_HOME - 1));
		if (!sim_one_in(&rand, 20))
			continue;
		jbd2_journal_lock_updates(fs->journal);
		must_not_fail(jbd2_journal_flush(fs->journal, 0), "flush");
		jbd2_journal_unlock_updates(fs->journal);
	}
	return 0;
}

void load_make(struct fs *new)
{
	u8 data[DISK_BLOCK] = { };

	fs_make(new, LOAD_HOME, yard.seed * 31337 + 5);
	for (u32 b = 1; b < LOAD_HOME; b++) {
		block_fill(data, b, 0, 0);
		disk_set(new->disk, b, data);
	}
}

void load_run(struct fs *mounted)
{
	u32 nr = yard.cpus + 1, n;
	struct sim_task *task[MAX_CPUS + 2];

	fs = mounted;
	fs->journal->j_commit_interval = HZ / 50;
	memset(ver, 0, sizeof(ver));
	memset(alloc, 0, sizeof(alloc));
	history.nr = 0;
	handles_left = yard.handles;
	workers = nr;
	for (n = 0; n < nr; n++)
		task[n] = sim_spawn(worker, (void *)(long)n, "worker",
				    n % kl_nr_cpus);
	task[n++] = sim_spawn(flusher, NULL, "flusher", 0);
	while (n--)
		sim_join(task[n]);
}
