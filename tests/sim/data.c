// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ordered data: written in place before its handle is committed, overwritten without a
 * handle. With params.logged an fsync may log a block instead, as zext4 does with
 * fsync_data=auto; then the rules F1 to F4 apply.
 */
#include "work.h"

/* Half of it, as an fsync's is. Generations of data are odd: each life takes two. */
static bool by_fua(const struct page_data *page)
{
	return world->disk->fua && page->gen & 2;
}

/* Usually noted in the inode; sometimes for the whole journal, like zeroed blocks. */
static void note_written(const struct alloc *a)
{
	if (a->page.gen % 16 == 5)
		zj_journal_data_written(world->journal);
	else
		zj_journal_inode_written(world->journal,
					 &world->inode[a->inode].written);
}

static void page_end_io(struct bio *bio)
{
	struct page_data *page = bio->bi_private;

	if (!(bio->bi_opf & REQ_FUA))
		note_written(container_of(page, struct alloc, page));
	if (bio->bi_status)
		page->lost = page->gen;
	page->writing = false;
	wake_up(&page->wait);
	bio_put(bio);
}

/* F1: recovery may replay an image of the block, so it is not written in place. */
static bool is_logged(const struct alloc *a)
{
	return zj_journal_file_blocks_logged(world->journal, a->block, 1);
}

static void send_data(struct alloc *a)
{
	struct page_data *page = &a->page;
	struct bio *bio;

	page->writing = true;
	page->dirty = false;
	bio = bio_alloc(&world->disk->bdev, 1,
			REQ_OP_WRITE | (by_fua(page) ? REQ_FUA : 0), GFP_NOFS);
	bio->bi_private = page;
	bio->bi_end_io = page_end_io;
	kit_write(&world->kit, bio, page->block, page->mem);
}

void write_data(struct alloc *a)
{
	struct page_data *page = &a->page;

	mutex_lock(&page->lock);
	if (page->dirty && !page->writing && !is_logged(a))
		send_data(a);
	mutex_unlock(&page->lock);
}

void wait_data(struct alloc *a)
{
	wait_event(a->page.wait, !READ_ONCE(a->page.writing));
}

/* The place of a block's data in its inode. */
static loff_t offset_of(const struct alloc *a)
{
	return (loff_t)a->block * DISK_BLOCK;
}

static bool in_range(const struct alloc *a, const struct jbd2_inode *range)
{
	return a->use >= USE_META && a->page.gen &&
	       &world->inode[a->inode].vfs == range->i_vfs_inode &&
	       offset_of(a) <= range->i_dirty_end &&
	       offset_of(a) + DISK_BLOCK > range->i_dirty_start;
}

int submit_data(struct jbd2_inode *range)
{
	if (range->i_vfs_inode == &file_inode()->vfs) {
		file_protect(range);
		return 0;
	}
	for (u32 i = 0; i < world->nr_alloc; i++)
		if (in_range(&world->alloc[i], range))
			write_data(&world->alloc[i]);
	return 0;
}

int finish_data(struct jbd2_inode *range)
{
	int err = 0;

	for (u32 i = 0; i < world->nr_alloc; i++) {
		struct page_data *page = &world->alloc[i].page;

		u32 gen = page->gen;

		if (!in_range(&world->alloc[i], range))
			continue;
		wait_data(&world->alloc[i]);
		/* The block may have been freed while this task waited. */
		if (page->lost == gen)
			err = -EIO;
	}
	return err;
}

static void fill_page(struct alloc *a, u32 inode, u32 gen)
{
	if (is_logged(a))
		kl_fail("block %u is free, but recovery may replay it as data", a->block);
	life_begin(a, gen, KIND_DATA);
	block_init(a->page.mem, a->block, gen, KIND_DATA);
	a->inode = inode;
	a->page.gen = gen;
	a->page.dirty = true;
}

/* Data in flight already, as of a direct write, is only waited for. */
static int order_data(struct job *job, struct alloc *a, struct jbd2_inode *jinode)
{
	if (sim_one_in(&job->rand, 3))
		write_data(a);
	if (a->page.dirty)
		return zj_journal_inode_ranged_write(job->handle, jinode,
						     offset_of(a), DISK_BLOCK);
	return zj_journal_inode_ranged_wait(job->handle, jinode, offset_of(a),
					    DISK_BLOCK);
}

void step_alloc_data(struct job *job)
{
	struct alloc *a = pick_alloc(job, USE_FREE);
	/* With one inode, lanes meet more often. */
	u32 nr = world->p.focus == FOCUS_ALLOC ? 1 : world->nr_inodes - 1;
	u32 i = sim_below(&job->rand, nr);
	u32 gen;

	if (!a || !use_inode(job, i))
		return;
	a->use = USE_BUSY;
	gen = world->objects[a->object].ver + 1;
	fill_page(a, i, gen);
	if (sim_one_in(&job->rand, 2)) {
		/* Like an unwritten extent: data is written before metadata. */
		write_data(a);
		wait_data(a);
		if (a->page.lost == gen) {
			a->use = USE_FREE;
			return;
		}
		/* The handle that converts it comes after the data. */
		zj_journal_take_written(job->handle, &world->inode[i].written);
	} else if (dead(job, order_data(job, a, &world->inode[i].jinode))) {
		return;
	}
	if (write_map(job, a))
		a->use = USE_DATA;
}

/* As a truncation does before its handle: nobody logs the block from here on. */
static void drop_page(struct alloc *a)
{
	mutex_lock(&a->page.lock);
	a->page.dirty = false;
	mutex_unlock(&a->page.lock);
}

/* F3 */
static bool revoke_data(struct job *job, struct alloc *a)
{
	if (!is_logged(a))
		return true;
	trace("unit %u revokes data block %u", job->unit, a->block);
	return !dead(job, zj_journal_revoke(job->handle, a->block, NULL));
}

void step_free_data(struct job *job)
{
	struct alloc *a = pick_alloc(job, USE_DATA);
	bool map_first = sim_one_in(&job->rand, 2);

	/* Who writes past the page cache keeps a truncation away. */
	if (!a || a->settling || job->handle->h_revoke_credits < 1)
		return;
	a->use = USE_BUSY;
	drop_page(a);
	a->freed_by = job->handle->h_transaction->t_tid;
	trace("unit %u frees data block %u", job->unit, a->block);
	if ((map_first && !write_map(job, a)) || !revoke_data(job, a) ||
	    (!map_first && !write_map(job, a)))
		return;
	a->page.gen = 0;
	a->use = USE_FREEING;
}

/* Overwrites data in place, without a handle. */
void overwrite_data(struct job *job)
{
	struct alloc *a = pick_alloc(job, USE_DATA);

	if (!a || world->p.off & OFF_DATA)
		return;
	((struct half *)a->page.mem)->stored = ++world->last_stored;
	a->page.dirty = true;
}

/* ---- data in the log ---- */

/* The block device's buffer gets a copy, and is metadata to the journal. */
static int log_page(handle_t *handle, struct alloc *a)
{
	struct buffer_head *image = __getblk(&world->disk->bdev, a->block, DISK_BLOCK);
	bool known = buffer_jbd(image) && buffer_uptodate(image);
	int err = known ? zj_journal_get_write_access(handle, image) : 0;

	lock_buffer(image);
	if (!known)
		err = zj_journal_get_create_access(handle, image);
	if (!err) {
		a->page.dirty = false;
		memcpy(image->b_data, a->page.mem, DISK_BLOCK);
		set_buffer_uptodate(image);
	}
	unlock_buffer(image);
	if (!err)
		err = zj_journal_dirty_file_block(handle, image, known);
	brelse(image);
	return err;
}

/* F4: a block that a commit will write in place is not logged by a later handle. */
static bool may_log(const struct alloc *a, u32 gen)
{
	struct toy_inode *ino = &world->inode[a->inode];

	return a->use == USE_DATA && a->page.gen == gen && a->page.dirty &&
	       (is_logged(a) ||
		!zj_journal_inode_orders(&ino->jinode, offset_of(a),
					 offset_of(a) + DISK_BLOCK));
}

static handle_t *begin_log(struct job *job, int blocks, int revokes)
{
	handle_t *handle = zj_journal_start(world->journal, blocks, 0, revokes, GFP_NOFS, 0, 0);

	if (IS_ERR(handle)) {
		dead(job, PTR_ERR(handle));
		return NULL;
	}
	if (world->frozen)
		kl_fail("a handle that logs data begins under the barrier");
	world->open_handles++;
	progress_opened(handle->h_transaction->t_tid);
	return handle;
}

void log_data(struct job *job, struct alloc *a)
{
	struct toy_inode *ino = &world->inode[a->inode];
	u32 gen = a->page.gen;
	handle_t *handle;
	int err = 0;

	if (!world->p.logged || ino->evicting)
		return;
	ino->users++;
	handle = begin_log(job, 1, 0);
	if (handle) {
		mutex_lock(&a->page.lock);
		wait_data(a);
		if (may_log(a, gen)) {
			trace("data block %u is logged: tid %u", a->block,
			      handle->h_transaction->t_tid);
			err = log_page(handle, a);
			zj_journal_sync_tid(handle, &ino->sync_tid);
		}
		mutex_unlock(&a->page.lock);
		world->open_handles--;
		dead(job, zj_journal_stop(handle) ?: err);
	}
	ino->users--;
}

/* A block that is home is revoked, and may be written in place then (F1). */
static void revoke_home(struct job *job, struct buffer_head *image)
{
	handle_t *handle = begin_log(job, 0, 1);
	tid_t tid;
	int err;

	if (!handle)
		return;
	tid = handle->h_transaction->t_tid;
	err = zj_journal_revoke_home(handle, image);
	trace("block %llu is revoked in use: tid %u: %d", image->b_blocknr, tid, err);
	world->open_handles--;
	if (!dead(job, zj_journal_stop(handle) ?: err == -EBUSY ? 0 : err))
		dead(job, zj_complete_transaction(world->journal, tid));
}

/* As a direct write: others may log the block again meanwhile. */
static void settle_data(struct job *job, struct alloc *a)
{
	struct buffer_head *image = __getblk(&world->disk->bdev, a->block, DISK_BLOCK);
	struct toy_inode *ino = &world->inode[a->inode];

	ino->users++;
	a->settling++;
	if (!zj_journal_wait_home(image, true))
		revoke_home(job, image);
	a->settling--;
	ino->users--;
	brelse(image);
	write_data(a);
}

/* What is in the log is logged again or revoked, the rest is written in place (F1). */
void write_back_data(struct job *job, struct alloc *a)
{
	bool settle = world->p.logged && sim_one_in(&job->rand, 4);

	write_data(a);
	if (!a->page.dirty || a->use != USE_DATA || !is_logged(a))
		return;
	if (settle && !world->inode[a->inode].evicting)
		settle_data(job, a);
	else
		log_data(job, a);
}

/* A part of a block is zeroed, or otherwise changed in a handle. */
void step_zero_data(struct job *job)
{
	struct alloc *a = pick_alloc(job, USE_DATA);
	struct toy_inode *ino;
	int err;

	if (!a)
		return;
	ino = use_inode(job, a->inode);
	if (!ino)
		return;
	a->use = USE_BUSY;
	mutex_lock(&a->page.lock);
	wait_data(a);
	((struct half *)a->page.mem)->stored = ++world->last_stored;
	a->page.dirty = true;
	if (is_logged(a))
		err = log_page(job->handle, a);
	else
		err = zj_journal_inode_ranged_write(job->handle, &ino->jinode,
						    offset_of(a), DISK_BLOCK);
	if (!dead(job, err))
		zj_journal_sync_tid(job->handle, &ino->sync_tid);
	mutex_unlock(&a->page.lock);
	a->use = USE_DATA;
}

/* Does an image of the block have to be written home? */
bool data_is_held(const struct alloc *a)
{
	struct buffer_head *image;
	bool held = is_logged(a);

	image = held ? __find_get_block(&world->disk->bdev, a->block, DISK_BLOCK) : NULL;
	held = image && buffer_jbd(image);
	brelse(image);
	return held;
}

/* F2 */
void reclaim_data(const struct alloc *a)
{
	const struct page_data *page = &a->page;

	/* Other tasks may run during the first two. */
	if (!clean_is_home() || data_is_held(a) || a->use != USE_DATA || page->dirty ||
	    page->writing || page->lost == page->gen)
		return;
	if (memcmp(page->mem, world->disk->seen[a->block], DISK_BLOCK))
		kl_fail("data block %u is clean, but its contents are not home", a->block);
}
