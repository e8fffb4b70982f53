// SPDX-License-Identifier: GPL-2.0-only
/* What the threads of a run do: random handles over few blocks, and syncs. */
#include "stress.h"

bool dead(struct job *job, int err)
{
	if (!err)
		return false;
	if (!is_journal_aborted(fs.journal))
		kl_fail("unexpected error %d", err);
	job->dead = true;
	return true;
}

static void pause_a_while(struct job *job)
{
	schedule_timeout_uninterruptible(1 + thr_one_in(&job->rand, 4));
}

/* ---- promises ---- */

static void raise(u32 *word, u32 to)
{
	u32 was = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (was < to && !__atomic_compare_exchange_n(word, &was, to, true,
							__ATOMIC_RELAXED,
							__ATOMIC_RELAXED))
		;
}

void snapshot(u32 *units, const u32 *stopped)
{
	for (u32 t = 0; t < MAX_THREADS; t++)
		/* Pairs with end_unit(). */
		units[t] = smp_load_acquire(&stopped[t]);
}

void promise(const u32 *units)
{
	for (u32 t = 0; t < MAX_THREADS; t++)
		raise(&fs.promises->acked[t], units[t]);
}

/* ---- units ---- */

static void begin_unit(struct job *job)
{
	u32 unit = ++fs.unit[job->t];

	WRITE_ONCE(fs.promises->begun[job->t], unit);
}

/* Its stop has returned. */
static void end_unit(struct job *job)
{
	u32 unit = fs.unit[job->t];

	/* Pairs with snapshot(): a task that sees it stopped also sees what it did. */
	smp_store_release(&fs.stopped[job->t], unit);
	for (u32 i = 0; i < NR_INODES; i++)
		if (job->wrote_inodes & (1 << i))
			/* As above. */
			smp_store_release(&fs.inode[i].stopped[job->t], unit);
	job->wrote_inodes = 0;
	count(&fs.promises->units);
}

/* ---- changes ---- */

static struct buffer_head *read_block(u32 block)
{
	return kit_read(&fs.kit, block);
}

static bool access_block(struct job *job, struct buffer_head *bh)
{
	if (dead(job, zj_journal_get_write_access(job->handle, bh)))
		return false;
	if (has_trigger(bh->b_blocknr))
		zj_journal_set_triggers(bh, &content_trigger);
	return true;
}

static bool dirty_block(struct job *job, struct buffer_head *bh)
{
	/* As in ext4, since a write error may have cleared the bit. */
	set_buffer_uptodate(bh);
	return !dead(job, zj_journal_dirty_metadata(job->handle, bh));
}

static void raise_count(struct job *job, struct content *c, u32 shared)
{
	c->made[job->t] = ++c->count;
	fs.notes[job->t][shared] = c->count;
}

static bool change_shared(struct job *job, struct buffer_head *bh, u32 shared)
{
	u32 block = FIRST_SHARED + shared;

	if (!access_block(job, bh))
		return false;
	mutex_lock(&fs.content[block]);
	raise_count(job, (struct content *)bh->b_data, shared);
	content_seal(bh->b_data);
	mutex_unlock(&fs.content[block]);
	return dirty_block(job, bh);
}

static void step_meta(struct job *job)
{
	u32 shared = thr_below(&job->rand, NR_META);
	struct buffer_head *bh = read_block(FIRST_SHARED + shared);

	change_shared(job, bh, shared);
	brelse(bh);
}

static void step_file(struct job *job)
{
	u32 i = thr_below(&job->rand, NR_FILE);
	struct buffer_head *bh = fs.file[i];

	folio_lock(bh->b_folio);
	change_shared(job, bh, FIRST_FILE - FIRST_SHARED + i);
	folio_unlock(bh->b_folio);
}

/* R9: acts on what it has read. */
static void step_read(struct job *job)
{
	u32 shared = thr_below(&job->rand, NR_META), n;
	struct buffer_head *bh = read_block(FIRST_SHARED + shared);

	mutex_lock(&fs.content[FIRST_SHARED + shared]);
	n = ((struct content *)bh->b_data)->count;
	mutex_unlock(&fs.content[FIRST_SHARED + shared]);
	if (!dead(job, zj_journal_read_dependency(job->handle, bh)))
		fs.seen[job->t][shared] = n;
	brelse(bh);
}

/* The thread's own block says which unit this is, and what belongs to it. */
static void write_own(struct job *job)
{
	struct buffer_head *bh = read_block(FIRST_OWN + job->t);
	struct content *c = (struct content *)bh->b_data;

	if (access_block(job, bh)) {
		c->unit = fs.unit[job->t];
		memcpy(c->notes, fs.notes[job->t], sizeof(c->notes));
		memcpy(c->seen, fs.seen[job->t], sizeof(c->seen));
		content_seal(c);
		dirty_block(job, bh);
	}
	brelse(bh);
}

/* ---- inodes ---- */

/* An inode in core for the rest of the handle; NULL while it is evicted. */
static struct toy_inode *use_inode(struct job *job, u32 i)
{
	struct toy_inode *ino = &fs.inode[i];
	bool evicting;

	if (job->used_inodes & (1 << i))
		return ino;
	mutex_lock(&ino->lock);
	evicting = ino->evicting;
	ino->users += !evicting;
	mutex_unlock(&ino->lock);
	if (evicting)
		return NULL;
	job->used_inodes |= 1 << i;
	return ino;
}

static void drop_inodes(struct job *job)
{
	for (u32 i = 0; i < NR_INODES; i++) {
		if (!(job->used_inodes & (1 << i)))
			continue;
		mutex_lock(&fs.inode[i].lock);
		fs.inode[i].users--;
		mutex_unlock(&fs.inode[i].lock);
	}
	job->used_inodes = 0;
}

/* Out of core and in again, as ext4_evict_inode() and ext4_iget() do. */
static void evict(struct job *job)
{
	u32 i = thr_below(&job->rand, NR_INODES);
	struct toy_inode *ino = &fs.inode[i];
	struct buffer_head *bh;
	bool busy;

	mutex_lock(&ino->lock);
	busy = ino->users || ino->evicting;
	ino->evicting |= !busy;
	mutex_unlock(&ino->lock);
	if (busy)
		return;
	zj_journal_begin_ordered_truncate(fs.journal, &ino->jinode, 0);
	filemap_fdatawrite_range(ino->vfs.i_mapping, 0, LLONG_MAX);
	filemap_fdatawait_range_keep_errors(ino->vfs.i_mapping, 0, LLONG_MAX);
	zj_journal_written_by_all(fs.journal, READ_ONCE(ino->written));
	zj_journal_release_jinode(fs.journal, &ino->jinode);
	zj_journal_init_jinode(&ino->jinode, &ino->vfs);
	ino->jinode.i_written = &ino->written;
	bh = read_block(FIRST_INODE + i);
	WRITE_ONCE(ino->sync_tid, zj_journal_buffer_tid(fs.journal, bh));
	WRITE_ONCE(ino->claim, 0);
	brelse(bh);
	mutex_lock(&ino->lock);
	ino->evicting = false;
	mutex_unlock(&ino->lock);
}

/* R10: claim, change in core; write_inodes() writes it out. */
static void step_inode(struct job *job)
{
	u32 i = thr_below(&job->rand, NR_INODES);
	struct toy_inode *ino = use_inode(job, i);

	if (!ino)
		return;
	if (thr_one_in(&job->rand, 2) ||
	    job->handle->h_nr_claims == ZJ_HANDLE_CLAIMS)
		zj_journal_claim(job->handle, &ino->claim, ZJ_KIND_INODE);
	else
		zj_journal_claim_keep(job->handle, &ino->claim, ZJ_KIND_INODE);
	if (is_handle_aborted(job->handle)) {
		job->dead = true;
		return;
	}
	mutex_lock(&ino->lock);
	raise_count(job, &ino->core, FIRST_INODE - FIRST_SHARED + i);
	mutex_unlock(&ino->lock);
	job->dirty_inodes |= 1 << i;
}

static void write_inode(struct job *job, u32 i)
{
	struct toy_inode *ino = &fs.inode[i];
	u32 block = FIRST_INODE + i;
	struct buffer_head *bh = read_block(block);

	if (access_block(job, bh)) {
		mutex_lock(&fs.content[block]);
		mutex_lock(&ino->lock);
		memcpy(bh->b_data, &ino->core, sizeof(ino->core));
		mutex_unlock(&ino->lock);
		content_seal(bh->b_data);
		mutex_unlock(&fs.content[block]);
		dirty_block(job, bh);
	}
	if (!job->dead)
		zj_journal_sync_tid(job->handle, &ino->sync_tid);
	job->wrote_inodes |= 1 << i;
	brelse(bh);
}

/* N3: before the handle stops. */
static void finish_unit(struct job *job)
{
	for (u32 i = 0; i < NR_INODES; i++)
		if (job->dirty_inodes & (1 << i) && !job->dead)
			write_inode(job, i);
	job->dirty_inodes = 0;
	if (!job->dead)
		write_own(job);
}

/* ---- allocation ---- */

static bool page_busy(struct page_data *page)
{
	/* Pairs with fill_page() and page_end_io(). */
	return smp_load_acquire(&page->dirty) || smp_load_acquire(&page->writing);
}

/* One of that kind, USE_BUSY now. */
static struct alloc *pick_alloc(struct job *job, enum use use)
{
	u32 i = thr_below(&job->rand, NR_ALLOC);
	struct alloc *found = NULL;

	mutex_lock(&fs.alloc_lock);
	for (u32 n = 0; n < NR_ALLOC && !found; n++, i++) {
		struct alloc *a = &fs.alloc[i % NR_ALLOC];

		if (a->use == use && !page_busy(&a->page))
			found = a;
	}
	if (found)
		found->use = USE_BUSY;
	mutex_unlock(&fs.alloc_lock);
	return found;
}

static void set_use(struct alloc *a, enum use use)
{
	mutex_lock(&fs.alloc_lock);
	a->use = use;
	mutex_unlock(&fs.alloc_lock);
}

/* The next generation of an allocatable block goes into the map. */
static bool write_map(struct job *job, struct alloc *a, bool is_data)
{
	struct buffer_head *bh = read_block(MAP_BLOCK);
	struct content *c = (struct content *)bh->b_data;
	bool ok = access_block(job, bh);

	if (ok) {
		mutex_lock(&fs.content[MAP_BLOCK]);
		c->map[a - fs.alloc] = 2 * ++a->gen + is_data;
		c->unit++;
		content_seal(c);
		mutex_unlock(&fs.content[MAP_BLOCK]);
		ok = dirty_block(job, bh);
	}
	brelse(bh);
	return ok;
}

static void create_block(struct job *job, struct alloc *a, u32 gen)
{
	struct buffer_head *bh = __getblk(&fs.disk->bdev, a->page.block,
					  fs.p.block);

	lock_buffer(bh);
	if (!dead(job, zj_journal_get_create_access(job->handle, bh))) {
		content_init(bh->b_data, a->page.block, KIND_META, gen);
		set_buffer_uptodate(bh);
	}
	unlock_buffer(bh);
	if (!job->dead)
		dirty_block(job, bh);
	brelse(bh);
}

static void step_alloc_meta(struct job *job)
{
	bool map_first = thr_one_in(&job->rand, 2);
	struct alloc *a;
	u32 gen;

	/* Journaled again before the free is committed: cancels the revoke. */
	a = pick_alloc(job, thr_one_in(&job->rand, 3) ? USE_FREEING : USE_FREE);
	if (!a)
		return;
	if (a->gen)
		count(&fs.promises->reused);
	gen = a->gen + 1;
	if (map_first && !write_map(job, a, false))
		return;
	create_block(job, a, gen);
	if (job->dead || (!map_first && !write_map(job, a, false)))
		return;
	set_use(a, USE_META);
}

static void step_write_meta(struct job *job)
{
	struct alloc *a = pick_alloc(job, USE_META);
	struct buffer_head *bh;

	if (!a)
		return;
	bh = read_block(a->page.block);
	if (access_block(job, bh)) {
		((struct content *)bh->b_data)->count++;
		content_seal(bh->b_data);
		dirty_block(job, bh);
	}
	brelse(bh);
	set_use(a, USE_META);
}

static void set_freeing(struct job *job, struct alloc *a)
{
	mutex_lock(&fs.alloc_lock);
	a->freed_by = job->handle->h_transaction->t_tid;
	a->has_data = false;
	a->use = USE_FREEING;
	mutex_unlock(&fs.alloc_lock);
}

static void step_free_meta(struct job *job)
{
	bool map_first = thr_one_in(&job->rand, 2);
	struct buffer_head *bh = NULL;
	struct alloc *a;

	if (job->handle->h_revoke_credits < 1)
		return;
	a = pick_alloc(job, USE_META);
	if (!a || (map_first && !write_map(job, a, false)))
		return;
	if (thr_one_in(&job->rand, 2))
		bh = __find_get_block(&fs.disk->bdev, a->page.block, fs.p.block);
	if (dead(job, zj_journal_revoke(job->handle, a->page.block, bh)))
		return;
	count(&fs.promises->freed);
	if (!map_first && !write_map(job, a, false))
		return;
	set_freeing(job, a);
}

/* ---- data ---- */

static void page_end_io(struct bio *bio)
{
	struct page_data *page = bio->bi_private;
	const struct alloc *a = container_of(page, struct alloc, page);

	if (!(bio->bi_opf & REQ_FUA))
		zj_journal_inode_written(fs.journal,
				&fs.inode[READ_ONCE(a->inode)].written);
	/* Pairs with page_busy() and page_wait(). */
	smp_store_release(&page->writing, false);
	/* Pairs with the wait: it sees that, or is woken. */
	smp_mb();
	wake_up(&page->wait);
	bio_put(bio);
}

void page_write(struct page_data *page)
{
	struct bio *bio;

	if (!READ_ONCE(page->dirty) || xchg(&page->writing, true))
		return;
	/* As an fsync's data and write-back's. */
	bio = bio_alloc(&fs.disk->bdev, 1,
			REQ_OP_WRITE | (page->block & 1 ? REQ_FUA : 0), GFP_NOFS);
	bio->bi_private = page;
	bio->bi_end_io = page_end_io;
	if (!xchg(&page->dirty, false)) {
		page_end_io(bio);
		return;
	}
	kit_write(&fs.kit, bio, page->block, page->mem);
}

static void page_wait(struct page_data *page)
{
	/* Pairs with page_end_io(). */
	wait_event(page->wait, !smp_load_acquire(&page->writing));
}

/* The place of a block's data in its inode. */
static loff_t offset_of(const struct alloc *a)
{
	return (loff_t)a->page.block * fs.p.block;
}

static bool in_range(const struct alloc *a, const struct jbd2_inode *range)
{
	bool in;

	mutex_lock(&fs.alloc_lock);
	in = a->has_data && &fs.inode[a->inode].vfs == range->i_vfs_inode &&
	     offset_of(a) <= range->i_dirty_end &&
	     offset_of(a) + fs.p.block > range->i_dirty_start;
	mutex_unlock(&fs.alloc_lock);
	return in;
}

int submit_data(struct jbd2_inode *range)
{
	for (u32 i = 0; i < NR_ALLOC; i++)
		if (in_range(&fs.alloc[i], range))
			page_write(&fs.alloc[i].page);
	return 0;
}

int finish_data(struct jbd2_inode *range)
{
	for (u32 i = 0; i < NR_ALLOC; i++)
		if (in_range(&fs.alloc[i], range))
			page_wait(&fs.alloc[i].page);
	return 0;
}

static void fill_page(struct alloc *a, u32 inode)
{
	content_init(a->page.mem, a->page.block, KIND_DATA, a->gen + 1);
	mutex_lock(&fs.alloc_lock);
	WRITE_ONCE(a->inode, inode);
	a->has_data = true;
	mutex_unlock(&fs.alloc_lock);
	/* Pairs with page_busy(). */
	smp_store_release(&a->page.dirty, true);
}

static void step_alloc_data(struct job *job)
{
	u32 i = thr_below(&job->rand, NR_INODES);
	struct alloc *a;

	if (!use_inode(job, i))
		return;
	a = pick_alloc(job, USE_FREE);
	if (!a)
		return;
	if (a->gen)
		count(&fs.promises->reused);
	fill_page(a, i);
	if (thr_one_in(&job->rand, 2)) {
		/* Like an unwritten extent: data is written before metadata. */
		page_write(&a->page);
		page_wait(&a->page);
		zj_journal_take_written(job->handle, &fs.inode[i].written);
	} else if (dead(job, zj_journal_inode_ranged_write(job->handle,
				&fs.inode[i].jinode, offset_of(a), fs.p.block))) {
		return;
	}
	if (write_map(job, a, true))
		set_use(a, USE_DATA);
}

static void step_free_data(struct job *job)
{
	struct alloc *a = pick_alloc(job, USE_DATA);

	if (a && write_map(job, a, false))
		set_freeing(job, a);
}

/* Phase two of commit: freed blocks may be used again. */
void commit_callback(journal_t *journal, transaction_t *txn)
{
	/* After an abort it is called only to give things back. */
	if (is_journal_aborted(journal))
		return;
	mutex_lock(&fs.alloc_lock);
	for (u32 i = 0; i < NR_ALLOC; i++) {
		struct alloc *a = &fs.alloc[i];

		if (a->use == USE_FREEING && a->freed_by == txn->t_tid)
			a->use = USE_FREE;
	}
	mutex_unlock(&fs.alloc_lock);
}

/* ---- handles ---- */

static void count_open(int n)
{
	__atomic_fetch_add(&fs.open_handles, n, __ATOMIC_SEQ_CST);
}

/* Room for one more step: extend, or restart, which ends the unit. */
static void make_room(struct job *job)
{
	int err;

	if (zj_handle_buffer_credits(job->handle) >= 8 &&
	    job->handle->h_revoke_credits)
		return;
	err = zj_journal_extend(job->handle, 4, 1);
	if (err < 0) {
		dead(job, err);
		return;
	}
	if (!err)
		return;
	finish_unit(job);
	if (job->dead)
		return;
	count_open(-1);
	err = zj_journal_restart(job->handle, 12, 1, GFP_NOFS);
	count_open(1);
	if (is_handle_aborted(job->handle))
		err = -EROFS;
	if (dead(job, err))
		return;
	end_unit(job);
	begin_unit(job);
}

static void step_nested(struct job *job)
{
	handle_t *inner = zj_journal_start(fs.journal, 1, 0, 0, GFP_NOFS, 0, 0);

	if (inner != job->handle)
		kl_fail("a nested start gives another handle");
	step_meta(job);
	zj_journal_stop(inner);
}

static void step(struct job *job)
{
	static void (*const steps[])(struct job *) = {
		step_meta, step_meta, step_meta, step_file, step_read,
		step_inode, step_inode, step_alloc_meta, step_write_meta,
		step_write_meta, step_free_meta, step_alloc_data,
		step_free_data, step_nested,
	};

	steps[thr_below(&job->rand, ARRAY_SIZE(steps))](job);
}

static void leave(struct job *job)
{
	bool sync = thr_one_in(&job->rand, 12);
	int err;

	finish_unit(job);
	job->handle->h_sync = sync;
	count_open(-1);
	err = zj_journal_stop(job->handle);
	job->handle = NULL;
	drop_inodes(job);
	if (dead(job, err) || job->dead)
		return;
	end_unit(job);
	if (sync)
		raise(&fs.promises->acked[job->t], fs.unit[job->t]);
}

/* Does with a reservation what ext4 does at the end of an I/O. */
static void use_reserved(struct job *job, handle_t *rsv)
{
	if (thr_one_in(&job->rand, 4)) {
		zj_journal_free_reserved(rsv);
		return;
	}
	if (dead(job, zj_journal_start_reserved(rsv, 0, 0)))
		return;
	job->handle = rsv;
	count_open(1);
	begin_unit(job);
	step_meta(job);
	leave(job);
}

/* Mostly by CPU; else a tenant's, of more tenants than have a place. */
static int some_lane(struct job *job)
{
	u32 n = thr_below(&job->rand, 4096);

	return n < 1024 ? zj_journal_lane_of(fs.journal, 1 + n) : -1;
}

static void do_handle(struct job *job)
{
	int rsv = thr_one_in(&job->rand, 6) ? 3 : 0;
	u32 steps = thr_below(&job->rand, 6);
	handle_t *handle, *reserved = NULL;

	handle = zj_journal_start_in(fs.journal, some_lane(job),
				     9 + thr_below(&job->rand, 4), rsv,
				     1 + thr_below(&job->rand, 2), GFP_NOFS, 0, 0);
	if (IS_ERR(handle)) {
		dead(job, PTR_ERR(handle));
		return;
	}
	count_open(1);
	job->handle = handle;
	begin_unit(job);
	/* Without any: a change of nothing but the thread's own block. */
	while (steps-- && !job->dead) {
		make_room(job);
		if (!job->dead)
			step(job);
		if (thr_one_in(&job->rand, 200))
			pause_a_while(job);
	}
	if (rsv && !job->dead) {
		reserved = handle->h_rsv_handle;
		handle->h_rsv_handle = NULL;
	}
	leave(job);
	if (reserved)
		use_reserved(job, reserved);
}

/* ---- syncs ---- */

static void sync_inode(struct job *job)
{
	struct toy_inode *ino = &fs.inode[thr_below(&job->rand, NR_INODES)];
	u32 units[MAX_THREADS];

	if (!use_inode(job, ino - fs.inode))
		return;
	snapshot(units, ino->stopped);
	if (!dead(job, zj_complete_transaction(fs.journal,
					       READ_ONCE(ino->sync_tid))))
		promise(units);
	drop_inodes(job);
}

static void sync_all(struct job *job)
{
	u32 units[MAX_THREADS];

	snapshot(units, fs.stopped);
	if (!dead(job, zj_journal_force_commit(fs.journal)))
		promise(units);
}

/* A thread's own block shows which of its units are there. */
static void sync_block(struct job *job)
{
	u32 t = thr_below(&job->rand, fs.p.threads);
	struct buffer_head *bh = read_block(FIRST_OWN + t);
	/* Pairs with end_unit(). */
	u32 unit = smp_load_acquire(&fs.stopped[t]);

	if (!dead(job, zj_journal_wait_buffer(fs.journal, bh)))
		raise(&fs.promises->acked[t], unit);
	brelse(bh);
}

/* Writes a block home directly, as ext4 does with its superblock. */
static void write_directly(struct job *job)
{
	struct buffer_head *bh = read_block(FIRST_SHARED);

	zj_journal_lock_committed_buffer(fs.journal, bh);
	unlock_buffer(bh);
	brelse(bh);
}

static void between_handles(struct job *job)
{
	switch (thr_below(&job->rand, 40)) {
	case 0: case 1: case 2:
		sync_inode(job);
		break;
	case 3:
		sync_all(job);
		break;
	case 4: case 5:
		sync_block(job);
		break;
	case 6:
		zj_journal_force_commit_nested(fs.journal);
		break;
	case 7: case 8: case 9:
		evict(job);
		break;
	case 10:
		write_directly(job);
		break;
	case 11:
		pause_a_while(job);
		break;
	}
}

int worker(void *arg)
{
	struct job job = { .t = (long)arg };

	job.rand.state = fs.p.seed * 65537 + job.t;
	for (u32 n = 0; (!fs.p.handles || n < fs.p.handles) && !job.dead; n++) {
		do_handle(&job);
		if (!job.dead)
			between_handles(&job);
	}
	return 0;
}
