// SPDX-License-Identifier: GPL-2.0-only
/* Syncs, each with what it promises, and tasks in the background. */
#include <linux/seq_buf.h>
#include <stdlib.h>
#include "core/assert.h"
#include "core/core.h"
#include "show/show.h"
#include "work.h"

/**
 * struct promise - what was reported as done to the caller, before a sync
 */
struct promise {
	u32	*units;
	u32	nr;
	u32	remounts;		/* so far */
	struct stored data[MAX_ALLOC];	/* values in file and data blocks */
	u32	nr_data;
};

static bool wrote_block(const struct unit *u, u32 block)
{
	for (u32 w = u->writes; w; w = world->touches[w - 1].next)
		if (world->objects[world->touches[w - 1].object].block == block)
			return true;
	return false;
}

/* Finished units: all, or those of inodes (a bit each), or of a block. */
static struct promise finished(u32 inodes, u32 block)
{
	struct promise p = {
		.units = malloc((world->nr_units + 1) * sizeof(u32)),
		.remounts = world->nr_remounts,
	};

	for (u32 i = 0; i < world->nr_units; i++) {
		const struct unit *u = &world->units[i];

		if (u->acked && u->must == NEVER &&
		    (!inodes || u->inodes & inodes) &&
		    (!block || wrote_block(u, block)))
			p.units[p.nr++] = i;
	}
	return p;
}

static void note_data(struct promise *p, u32 i)
{
	const struct alloc *a = &world->alloc[i];
	const struct half *h = (const void *)a->page.mem;

	p->data[p->nr_data++] = (struct stored){ i, a->page.gen, h->stored };
}

static void note_file(struct promise *p, u32 n)
{
	const struct alloc *a = world->file.map[n];
	const struct sim_page *page = world->file.page[n / PAGE_BUFS];
	const struct half *h;

	if (!a || !page)
		return;
	h = (const void *)(page->data + n % PAGE_BUFS * DISK_BLOCK);
	p->data[p->nr_data++] = (struct stored){ a - world->alloc,
						 life_now(a)->gen, h->stored };
}

/* It is kept from now on if @kept; frees the list. */
static void promised(struct promise *p, bool kept)
{
	if (p->remounts != world->nr_remounts || barriers_are_off())
		kept = false;
	for (u32 i = 0; i < p->nr && kept; i++)
		unit_must(p->units[i]);
	for (u32 i = 0; i < p->nr_data && kept; i++)
		stored_must(&world->alloc[p->data[i].alloc], p->data[i].gen,
			    p->data[i].value);
	free(p->units);
}

/* ---- syncs ---- */

/* Logs a block or writes it in place; another task may have logged it meanwhile. */
static void sync_block_data(struct job *job, struct alloc *a, u32 gen)
{
	if (sim_one_in(&job->rand, 2))
		log_data(job, a);
	do {
		write_back_data(job, a);
		wait_data(a);
	} while (!job->dead && a->use == USE_DATA && a->page.gen == gen && a->page.dirty);
}

/* The inode's data goes out; false if some was lost. */
static bool sync_data(struct job *job, struct promise *p, u32 inode)
{
	bool ok = true;

	for (u32 i = 0; i < world->nr_alloc; i++) {
		struct alloc *a = &world->alloc[i];
		u32 gen = a->page.gen;

		if (a->use != USE_DATA || a->inode != inode || !gen)
			continue;
		/* A write in flight may hold older contents. */
		wait_data(a);
		if (a->use == USE_DATA && a->page.gen == gen)
			note_data(p, i);
		sync_block_data(job, a, gen);
		ok &= a->page.lost != gen;
	}
	return ok;
}

static void sync_file(struct promise *p)
{
	for (u32 n = 0; n < FILE_BLOCKS; n++)
		note_file(p, n);
	file_settle();
}

/* Waits for the tid in one of the ways in which ext4 does. */
static int sync_tid(struct job *job, tid_t tid, const u64 *written)
{
	journal_t *journal = world->journal;
	bool flush;
	int err;

	progress_asked(tid);
	flush = journal->j_flags & JBD2_BARRIER &&
		!zj_trans_takes_written(journal, tid, *written);
	if (sim_one_in(&job->rand, 4)) {
		zj_journal_start_commit(journal, NULL);
		err = zj_log_wait_commit(journal, tid);
		if (!err && is_journal_aborted(journal))
			err = -EIO;
	} else {
		err = zj_complete_transaction(journal, tid);
	}
	if (!err && flush && zj_journal_flush_reported(journal, *written))
		return -EAGAIN;
	return err;
}

static void sync_inode(struct job *job, u32 i)
{
	struct toy_inode *ino = &world->inode[i];
	struct zj_live_options live;
	struct promise p;
	bool kept = true;
	int err, lane;
	tid_t tid;

	if (ino->evicting)
		return;
	ino->users++;
	p = finished(1 << i, 0);
	/* Changes options as a remount may. */
	if (sim_one_in(&job->rand, 4)) {
		live = world_live_options(sim_one_in(&job->rand, 2));
		zj_journal_reconfigure(world->journal, &live);
	}
	lane = zj_journal_fsync_begin(world->journal, -1);
	/* The transaction may be committed while its data is written. */
	if (sim_one_in(&job->rand, 2))
		zj_journal_commit_early(world->journal, READ_ONCE(ino->sync_tid));
	if (ino == file_inode())
		sync_file(&p);
	else
		kept = sync_data(job, &p, i);
	tid = READ_ONCE(ino->sync_tid);
	zj_journal_fsync_written(world->journal, lane, tid);
	trace("fsync of inode %u: tid %u", i, tid);
	err = sync_tid(job, tid, &ino->written);
	/* The flush has failed: nothing is promised. */
	if (err == -EAGAIN)
		kept = false, err = 0;
	promised(&p, !dead(job, err) && kept);
	trace("fsync of inode %u has returned", i);
	ino->users--;
}

static void sync_some_inode(struct job *job)
{
	if (sim_one_in(&job->rand, 2))
		overwrite_data(job);
	sync_inode(job, sim_below(&job->rand, world->nr_inodes));
}

static void sync_all(struct job *job)
{
	struct promise p = finished(0, 0);

	trace("sync");
	if (sim_one_in(&job->rand, 2)) {
		promised(&p, !dead(job, zj_journal_force_commit(world->journal)));
		return;
	}
	/* Without a handle it waits for everything as well. */
	zj_journal_force_commit_nested(world->journal);
	promised(&p, !is_journal_aborted(world->journal));
}

static bool is_sealed(tid_t tid)
{
	struct zj_txn *txn = zj_txn_find(to_zj(world->journal), tid);
	bool sealed;

	if (!txn)
		return true;
	rcu_read_lock();
	sealed = zj_txn_comp_stage(txn) >= ZJ_SEALED;
	rcu_read_unlock();
	zj_txn_put(txn);
	return sealed;
}

/* Finished units whose transactions are sealed: these wait for no handle's end. */
static struct promise sealed(void)
{
	struct promise p = finished(0, 0);
	u32 nr = p.nr;

	p.nr = 0;
	for (u32 i = 0; i < nr; i++)
		if (is_sealed(world->units[p.units[i]].tid))
			p.units[p.nr++] = p.units[i];
	return p;
}

void sync_sealed(struct job *job)
{
	struct promise p = sealed();

	trace("sync of what is sealed");
	zj_journal_force_commit_nested(world->journal);
	promised(&p, !is_journal_aborted(world->journal));
}

static u32 some_block(struct job *job)
{
	return world->meta_first + sim_below(&job->rand, world->nr_meta);
}

/* Writes a block home directly, as ext4 does with its superblock. */
static void write_directly(struct job *job)
{
	u32 block = some_block(job);
	struct buffer_head *bh = read_block(block);
	struct promise p = finished(0, block);
	bool kept;

	zj_journal_lock_committed_buffer(world->journal, bh);
	kept = !is_journal_aborted(world->journal);
	if (kept)
		buf_write_locked(bh);
	else
		unlock_buffer(bh);
	/* It may have been committed before without a flush. */
	promised(&p, kept && !world->p.remount);
	brelse(bh);
}

static void sync_block(struct job *job)
{
	u32 block = some_block(job);
	struct buffer_head *bh = read_block(block);
	struct promise p = finished(0, block);

	promised(&p, !dead(job, zj_journal_wait_buffer(world->journal, bh)));
	brelse(bh);
}

void sync_something(struct job *job)
{
	static void (*const syncs[])(struct job *) = {
		sync_some_inode, sync_some_inode, sync_some_inode,
		sync_some_inode, sync_all, sync_block, write_directly,
	};

	if (!(world->p.off & OFF_SYNC))
		syncs[sim_below(&job->rand, ARRAY_SIZE(syncs))](job);
}

/* ---- background ---- */

static bool home_differs(u32 block, const struct sim_buf *buf)
{
	return memcmp(buf->bh.b_data, world->disk->seen[block], DISK_BLOCK);
}

static void reclaim(u32 block)
{
	/* Other tasks may run meanwhile and free the buffer, so it is looked at afterwards. */
	bool home = block < world->alloc_first && clean_is_home();
	struct sim_buf *buf = world->disk->bufs[block];

	if (home && buf && !buf->bh.b_count.counter && !buf->bh.b_private &&
	    !(buf->bh.b_state & (1UL << BH_Dirty | 1UL << BH_Lock)) &&
	    buf->bh.b_state & (1UL << BH_Uptodate) && home_differs(block, buf))
		kl_fail("block %u is clean, but its contents are not home", block);
	buf_reclaim(world->disk, block);
}

void reclaim_something(void)
{
	if (!sim_one_in(&world->rand, 16))
		return;
	if (sim_one_in(&world->rand, 2))
		file_reclaim(sim_below(&world->rand, FILE_PAGES));
	else
		reclaim(sim_below(&world->rand, world->alloc_first +
				  world->nr_alloc));
}

static void flush_something(struct job *job)
{
	u32 block = 1 + sim_below(&job->rand, world->alloc_first +
				  world->nr_alloc - 1);

	switch (sim_below(&job->rand, 8)) {
	case 0:
		reclaim(block);
		break;
	case 1:
		write_back_data(job, &world->alloc[block % world->nr_alloc]);
		break;
	case 2:
		file_write_back(block % FILE_PAGES);
		break;
	case 3:
		file_reclaim(block % FILE_PAGES);
		reclaim_data(&world->alloc[block % world->nr_alloc]);
		break;
	default:
		buf_write_back(world->disk, block);
		break;
	}
}

/* Write-back and reclaim, in bursts. */
int flusher(void *arg)
{
	struct job job = { .rand.state = world->p.seed * 257 + 3 };
	u32 lazy = sim_one_in(&job.rand, 4) ? 2000 : 1 + sim_below(&job.rand, 6);
	u32 n;

	while (!READ_ONCE(world->stop)) {
		schedule_timeout_uninterruptible(1 + sim_below(&job.rand, lazy));
		for (n = sim_below(&job.rand, 16); n; n--)
			flush_something(&job);
	}
	return 0;
}

/* Stores into the mapped file, often while it is being committed, and syncs it. */
int mapper(void *arg)
{
	struct job job = { .rand.state = world->p.seed * 263 + 17 };
	u32 busy = 4 + sim_below(&job.rand, 60);

	while (!READ_ONCE(world->stop) && !job.dead) {
		file_store(&job);
		if (!job.dead && sim_one_in(&job.rand, 8))
			sync_inode(&job, world->nr_inodes - 1);
		if (sim_one_in(&job.rand, busy))
			schedule_timeout_uninterruptible(1 + sim_below(&job.rand, 3));
		cond_resched();
	}
	return 0;
}

/* A flush that erases the log takes long and shows little, so it is done once at most. */
static unsigned int flush_flags(struct job *job)
{
	if (world->erased || world->p.journal > 1200 ||
	    !sim_one_in(&job->rand, 8))
		return 0;
	world->erased = true;
	return sim_one_in(&job->rand, 2) ? JBD2_JOURNAL_FLUSH_DISCARD :
	       JBD2_JOURNAL_FLUSH_ZEROOUT;
}

/* Called with the barrier up. */
static void flush_all(struct job *job)
{
	unsigned int flags = flush_flags(job);
	struct promise p = finished(0, 0);
	int err = zj_journal_flush(world->journal, flags);

	trace("flush with flags %u: %d", flags, err);
	/* A failed write of block 0 or of the erasure need not abort. */
	if (err && (world->p.fail_write || world->p.fail_flush || world->p.abort ||
		    (err == -ENOMEM && flags && world->p.fail_alloc)))
		promised(&p, false);
	else
		promised(&p, !dead(job, err));
	if (!err && to_zj(world->journal)->live)
		kl_fail("the log is live after a flush");
	if (!err && zj_journal_max_file_blocks(world->journal))
		kl_fail("recovery may replay data after a flush");
}

/*
 * Freeze and thaw: no handle open, everything home, the log clean.  Or a remount:
 * the same for a while, then with other options.
 */
int barrier_task(void *arg)
{
	struct job job = { .rand.state = world->p.seed * 251 + 7 };
	u32 rare = sim_one_in(&job.rand, 3) ? 5 :
		   sim_one_in(&job.rand, 2) ? 5000 : 200;

	while (!READ_ONCE(world->stop) && !job.dead &&
	       !is_journal_aborted(world->journal)) {
		schedule_timeout_uninterruptible(2 + sim_below(&job.rand, rare));
		if (READ_ONCE(world->stop))
			break;
		zj_journal_lock_updates(world->journal);
		if (world->open_handles && !is_journal_aborted(world->journal))
			kl_fail("handles are open under the barrier");
		world->frozen = !is_journal_aborted(world->journal);
		flush_all(&job);
		if (sim_one_in(&job.rand, 3)) {
			schedule_timeout_uninterruptible(sim_below(&job.rand, 20));
			world->journal->j_commit_interval =
				1 + sim_below(&job.rand, HZ / 8);
		}
		world->frozen = false;
		zj_journal_unlock_updates(world->journal);
	}
	return 0;
}

/* Remounts that change nothing but barriers, at any moment. */
int remount_task(void *arg)
{
	struct job job = { .rand.state = world->p.seed * 283 + 3 };
	u32 rare = sim_one_in(&job.rand, 2) ? 3 : 40;

	while (!READ_ONCE(world->stop)) {
		schedule_timeout_uninterruptible(sim_below(&job.rand, rare));
		for (u32 i = sim_below(&job.rand, 20); i; i--)
			cond_resched();
		world_set_barriers(barriers_are_off());
	}
	world_set_barriers(true);
	return 0;
}

/* Somebody else aborts, at any moment; or an assertion fails under a lock. */
int abort_task(void *arg)
{
	struct job job = { .rand.state = world->p.seed * 293 + 7 };
	struct zj_journal *zj = to_zj(world->journal);

	schedule_timeout_uninterruptible(sim_below(&job.rand, world->p.abort));
	for (u32 i = sim_below(&job.rand, 3000); i; i--)
		cond_resched();
	trace("abort");
	switch (sim_below(&job.rand, 3)) {
	case 0:
		zj_journal_abort(world->journal, -ESHUTDOWN);
		break;
	case 1:
		zj_journal_abort(world->journal, -EIO);
		break;
	default:
		spin_lock(&zj->comp_lock);
		zj_assertion_failed(zj);
		spin_unlock(&zj->comp_lock);
	}
	return 0;
}

/* Reads the debug files. */
int look_task(void *arg)
{
	struct job job = { .rand.state = world->p.seed * 307 + 5 };
	static char text[1 << 18];
	struct seq_buf out;

	while (!READ_ONCE(world->stop)) {
		schedule_timeout_uninterruptible(1 + sim_below(&job.rand, 20));
		seq_buf_init(&out, text, sizeof(text));
		zj_journal_to_text(&out, to_zj(world->journal));
	}
	return 0;
}

/* Has blocks written home before their turn. */
int home_task(void *arg)
{
	struct job job = { .rand.state = world->p.seed * 311 + 5 };
	struct buffer_head *bh;
	u32 block;

	while (!READ_ONCE(world->stop)) {
		schedule_timeout_uninterruptible(1 + sim_below(&job.rand, 10));
		block = sim_below(&job.rand, HOME_BLOCKS);
		bh = __find_get_block(&world->disk->bdev, block, DISK_BLOCK);
		if (!bh)
			continue;
		zj_journal_bring_home(bh, sim_one_in(&job.rand, 2));
		brelse(bh);
	}
	return 0;
}

/* Nothing is frozen here, so that writes are held wherever tasks and threads happen to be. */
int hold_task(void *arg)
{
	struct job job = { .rand.state = world->p.seed * 293 + 7 };

	while (!READ_ONCE(world->stop)) {
		schedule_timeout_uninterruptible(sim_below(&job.rand, 20));
		for (u32 i = sim_below(&job.rand, 20); i; i--)
			cond_resched();
		zj_writes_hold();
		schedule_timeout_uninterruptible(sim_below(&job.rand, 20));
		zj_writes_release();
	}
	return 0;
}

/* Closes what runs at any moment, above all while reserved handles start. */
int closer(void *arg)
{
	struct job job = { .rand.state = world->p.seed * 269 + 19 };
	u32 busy = 4 + sim_below(&job.rand, 60);

	/* Slowed down, so that each step of a seal takes long. */
	sim_slow_down(4 + sim_below(&job.rand, 60));
	while (!READ_ONCE(world->stop)) {
		zj_journal_start_commit(world->journal, NULL);
		if (sim_one_in(&job.rand, busy))
			schedule_timeout_uninterruptible(1 + sim_below(&job.rand, 3));
		cond_resched();
	}
	return 0;
}

/* Checkpoints that no task waits for. */
int checkpoint_task(void *arg)
{
	struct job job = { .rand.state = world->p.seed * 241 + 11 };
	struct zj_journal *zj = to_zj(world->journal);
	u32 rare = sim_one_in(&job.rand, 3) ? 4 : 200;

	while (!READ_ONCE(world->stop) && !job.dead) {
		schedule_timeout_uninterruptible(1 + sim_below(&job.rand, rare));
		if (sim_one_in(&job.rand, 2))
			zj_checkpoint_kick(zj);
		else
			dead(&job, zj_checkpoint(zj, false));
	}
	return 0;
}
