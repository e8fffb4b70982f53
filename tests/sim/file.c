// SPDX-License-Identifier: GPL-2.0-only
/*
 * Journaled data, as ext4 has it in data=journal: handles write to pages of the
 * file, processes store into mapped pages whenever they like, the file is truncated
 * while its blocks are being committed, reclaim takes what is clean.
 *
 * A truncation has two handles: the first makes the file short (an orphan record
 * would name it), the second frees the blocks.  Between them, without a handle, the
 * pages go.
 */
#include "work.h"

#define page_offset(n)	((loff_t)(n) * DISK_BLOCK)

/* ---- which task may go on (i_rwsem and the invalidate lock) ---- */

static bool file_try(struct job *job)
{
	struct toy_file *f = &world->file;

	if (f->writer && f->writer != job)
		return false;
	f->writer = job;
	job->file = true;
	return true;
}

void file_done(struct job *job)
{
	struct toy_file *f = &world->file;

	if (!job->file || f->truncating)
		return;
	f->writer = NULL;
	job->file = false;
	wake_up(&f->wait);
}

static bool begin_fault(void)
{
	if (world->file.truncating)
		return false;
	world->file.faults++;
	return true;
}

static void end_fault(void)
{
	world->file.faults--;
	wake_up(&world->file.wait);
}

/* ---- pages ---- */

static void read_page(struct sim_page *page, u32 i)
{
	for (u32 b = 0; b < PAGE_BUFS; b++) {
		const struct alloc *a = world->file.map[i * PAGE_BUFS + b];

		if (a)
			memcpy(page->data + b * DISK_BLOCK,
			       world->disk->seen[a->block], DISK_BLOCK);
	}
}

/* It counts as used until after the unlock, which reads it. */
static void page_unlock(struct sim_page *page)
{
	folio_unlock(&page->folio);
	page->users--;
}

/* The page if it is cached, locked and in use. */
static struct sim_page *page_find(u32 i)
{
	struct sim_page *page;

	while ((page = world->file.page[i])) {
		page->users++;
		folio_lock(&page->folio);
		if (page == world->file.page[i])
			break;
		page_unlock(page);
	}
	return page;
}

static struct sim_page *page_lock(u32 i)
{
	struct toy_file *f = &world->file;
	struct sim_page *page = page_find(i);

	while (!page) {
		page = page_new(world->disk, &file_inode()->vfs);
		if (!f->page[i]) {
			page->folio.locked = current;
			page->users++;
			f->page[i] = page;
			read_page(page, i);
			break;
		}
		page_free(page);
		page = page_find(i);
	}
	return page;
}

/* Buffers that say where the blocks are. */
static void prepare(struct sim_page *page, u32 i)
{
	page_buffers(page);
	for (u32 b = 0; b < PAGE_BUFS; b++) {
		const struct alloc *a = world->file.map[i * PAGE_BUFS + b];
		struct buffer_head *bh = &page->buf[b]->bh;

		set_buffer_uptodate(bh);
		if (a && !buffer_mapped(bh))
			page_map(page, b, a->block);
	}
}

/* The page is locked, so a later sync waits for this transaction. */
static bool note_write(struct job *job, handle_t *handle, u32 n, u32 blocks)
{
	struct toy_inode *ino = file_inode();

	if (dead(job, zj_journal_inode_ranged_write(handle, &ino->jinode,
						    page_offset(n),
						    blocks * DISK_BLOCK)))
		return false;
	zj_journal_sync_tid(handle, &ino->sync_tid);
	return true;
}

/* ---- writes in a handle ---- */

static bool extend(struct job *job, struct sim_page *page, u32 n)
{
	struct buffer_head *bh = &page->buf[n % PAGE_BUFS]->bh;
	struct alloc *a = pick_alloc(job, USE_FREE);
	bool map_first = sim_one_in(&job->rand, 2);
	u32 gen;

	if (!a)
		return true;
	a->use = USE_BUSY;
	gen = world->objects[a->object].ver + 1;
	life_begin(a, gen, KIND_FILE);
	if (map_first && !write_map(job, a))
		return false;
	page_map(page, n % PAGE_BUFS, a->block);
	trace("unit %u puts block %u into the file at %u", job->unit, a->block, n);
	if (dead(job, zj_journal_get_write_access(job->handle, bh)))
		return false;
	block_init(bh->b_data, a->block, gen, KIND_FILE);
	change(job, bh, life_now(a)->objects);
	if (dead(job, zj_journal_dirty_metadata(job->handle, bh)) ||
	    (!map_first && !write_map(job, a)))
		return false;
	world->file.map[n] = a;
	a->use = USE_FILE;
	return true;
}

static bool overwrite(struct job *job, struct sim_page *page, u32 n)
{
	u32 object = life_now(world->file.map[n])->objects +
		     sim_below(&job->rand, SLOTS);

	if (sim_one_in(&job->rand, 4))
		return touch_only(job, &page->buf[n % PAGE_BUFS]->bh);
	return write_in(job, &page->buf[n % PAGE_BUFS]->bh, object, 1);
}

void step_file(struct job *job)
{
	u32 n = sim_below(&job->rand, FILE_BLOCKS), i = n / PAGE_BUFS;
	struct sim_page *page;

	if (!file_try(job) || !claim_inode(job, world->nr_inodes - 1))
		return;
	page = page_lock(i);
	prepare(page, i);
	/*
	 * As zext4_before_access(): the image of a sealed owner may be copied now,
	 * so the next store has to fault and gets a transaction of its own.
	 */
	WRITE_ONCE(page->writable, false);
	if (world->file.map[n] ? overwrite(job, page, n) : extend(job, page, n))
		note_write(job, job->handle, n, 1);
	page_unlock(page);
}

/* ---- mapped pages ---- */

/* The page is locked. */
static void make_writable(struct job *job, struct sim_page *page, u32 i,
			  handle_t *handle)
{
	prepare(page, i);
	for (u32 b = 0; b < PAGE_BUFS && !job->dead; b++) {
		struct buffer_head *bh = &page->buf[b]->bh;

		if (world->file.map[i * PAGE_BUFS + b] &&
		    !dead(job, zj_journal_get_write_access(handle, bh)))
			dead(job, zj_journal_dirty_metadata(handle, bh));
	}
	if (!job->dead)
		note_write(job, handle, i * PAGE_BUFS, PAGE_BUFS);
}

/* Like ext4_page_mkwrite(), it keeps the page locked until it is writable. */
static void fault(struct job *job, u32 i)
{
	struct toy_file *f = &world->file;
	struct sim_page *page;
	handle_t *handle;

	wait_event(f->wait, begin_fault());
	handle = zj_journal_start(world->journal, 8, 0, 0, GFP_NOFS, 0, 0);
	if (IS_ERR(handle)) {
		dead(job, PTR_ERR(handle));
		end_fault();
		return;
	}
	if (world->frozen)
		kl_fail("a page fault's handle begins under the barrier");
	world->open_handles++;
	progress_opened(handle->h_transaction->t_tid);
	trace("page %u is made writable: tid %u", i,
	      handle->h_transaction->t_tid);
	zj_journal_claim(handle, &file_inode()->claim, ZJ_KIND_INODE);
	page = page_lock(i);
	make_writable(job, page, i, handle);
	world->open_handles--;
	dead(job, zj_journal_stop(handle));
	if (!job->dead)
		page->writable = true;
	page_unlock(page);
	end_fault();
}

void file_store(struct job *job)
{
	struct toy_file *f = &world->file;
	u32 n = sim_below(&job->rand, FILE_BLOCKS), i = n / PAGE_BUFS;

	if (world->p.off & OFF_FILE)
		return;
	for (u32 tries = 0; tries < 3 && f->map[n] && !job->dead; tries++) {
		struct sim_page *page = f->page[i];
		struct half *h;

		if (!page || !page->writable) {
			fault(job, i);
			continue;
		}
		/* One store: the processor does it, or faults. */
		h = (void *)(page->data + n % PAGE_BUFS * DISK_BLOCK);
		h->stored = ++world->last_stored;
		trace("stores %u into block %u of the file", h->stored, n);
		break;
	}
}

void file_protect(struct jbd2_inode *range)
{
	for (u32 i = 0; i < FILE_PAGES; i++) {
		loff_t from = page_offset(i * PAGE_BUFS);
		struct sim_page *page;

		if (from > range->i_dirty_end ||
		    from + PAGE_BUFS * DISK_BLOCK <= range->i_dirty_start)
			continue;
		page = page_find(i);
		if (!page)
			continue;
		folio_wait_writeback(&page->folio);
		WRITE_ONCE(page->writable, false);
		if (page->folio.private && range->i_transaction)
			zj_journal_newest_is(&page->buf[0]->bh,
					     range->i_transaction);
		page_unlock(page);
	}
}

void file_settle(void)
{
	for (u32 i = 0; i < FILE_PAGES; i++) {
		struct sim_page *page = page_find(i);

		if (page)
			page_unlock(page);
	}
}

/* ---- truncation ---- */

/* The first handle: the file is shorter from here on. */
static bool shorten(struct job *job, struct alloc **cut, u32 nr)
{
	u32 ver;

	if (!begin(job, 8, 0, 0))
		return false;
	ver = claim_inode(job, world->nr_inodes - 1);
	for (u32 i = 0; i < nr && ver; i++) {
		struct life *life = life_now(cut[i]);

		/* Blocks that an earlier mount has left may hold anything. */
		if (life->cut)
			continue;
		life->cut = true;
		life->cut_ver = ver;
		trace("unit %u truncates block %u", job->unit, cut[i]->block);
	}
	write_inodes(job);
	end(job, sim_one_in(&job->rand, 8));
	/* Commit early, so that the pages are dropped during the commit. */
	if (sim_one_in(&job->rand, 2))
		zj_journal_start_commit(world->journal, NULL);
	return !job->dead;
}

static int invalidate(struct sim_page *page, u32 b)
{
	return zj_journal_invalidate_folio(world->journal, &page->folio,
					   b * DISK_BLOCK,
					   (PAGE_BUFS - b) * DISK_BLOCK,
					   READ_ONCE(file_inode()->sync_tid));
}

/* Truncates a page in part, which waits for commits in the same way as in ext4. */
static void wait_tail(struct job *job, u32 i, u32 b)
{
	struct sim_page *page;
	int err = -EBUSY;

	while (err == -EBUSY && (page = page_find(i))) {
		struct buffer_head *bh = NULL;

		err = invalidate(page, b);
		if (err == -EBUSY && buffer_jbd(&page->buf[b]->bh)) {
			bh = &page->buf[b]->bh;
			get_bh(bh);
		}
		page_unlock(page);
		if (!bh)
			continue;
		trace("waits for the tail of page %u", i);
		if (dead(job, zj_journal_wait_buffer(world->journal, bh)))
			err = 0;
		put_bh(bh);
	}
}

/* Block @b of a page and all behind it. */
static void cut_page(u32 i, u32 b)
{
	struct toy_file *f = &world->file;
	struct sim_page *page = page_find(i);

	if (page) {
		folio_wait_writeback(&page->folio);
		if (b)
			memset(page->data + b * DISK_BLOCK, 0, DISK_BLOCK);
		else
			page->writable = false;
		if (invalidate(page, b) && !is_journal_aborted(world->journal))
			kl_fail("page %u cannot be truncated", i);
	}
	for (u32 n = b; n < PAGE_BUFS; n++)
		f->map[i * PAGE_BUFS + n] = NULL;
	if (page && !b) {
		page->folio.mapping = NULL;
		if (f->nr_gone == ARRAY_SIZE(f->gone))
			kl_fail("too many truncated pages are in use");
		f->gone[f->nr_gone++] = page;
		f->page[i] = NULL;
	}
	if (page)
		page_unlock(page);
}

static void free_block(struct job *job, struct alloc *a)
{
	bool map_first = sim_one_in(&job->rand, 2);

	trace("unit %u frees block %u", job->unit, a->block);
	a->freed_by = job->handle->h_transaction->t_tid;
	if (map_first && !write_map(job, a))
		return;
	if (dead(job, zj_journal_revoke(job->handle, a->block, NULL)))
		return;
	if (!map_first && !write_map(job, a))
		return;
	a->use = USE_FREEING;
}

/* The second handle of a truncation, or several of them. */
static void free_blocks(struct job *job, struct alloc **cut, u32 nr)
{
	while (nr && !job->dead) {
		if (!begin(job, 8, 0, 2))
			return;
		if (claim_inode(job, world->nr_inodes - 1))
			free_block(job, cut[--nr]);
		if (nr && !job->dead && sim_one_in(&job->rand, 2))
			free_block(job, cut[--nr]);
		write_inodes(job);
		end(job, sim_one_in(&job->rand, 8));
	}
}

static u32 cut_list(struct alloc **cut, u32 size)
{
	u32 nr = 0;

	for (u32 n = size; n < FILE_BLOCKS; n++)
		if (world->file.map[n])
			cut[nr++] = world->file.map[n];
	for (u32 i = 0; i < world->nr_alloc; i++)
		if (world->alloc[i].use == USE_LEFT)
			cut[nr++] = &world->alloc[i];
	for (u32 i = 0; i < nr; i++)
		cut[i]->use = USE_BUSY;
	return nr;
}

void file_truncate(struct job *job)
{
	u32 size = sim_below(&job->rand, FILE_BLOCKS), nr;
	struct alloc *cut[MAX_ALLOC];
	struct toy_file *f = &world->file;

	if (world->p.off & OFF_FILE)
		return;
	wait_event(f->wait, file_try(job));
	f->truncating = true;
	wait_event(f->wait, !f->faults);
	nr = cut_list(cut, size);
	if (nr && shorten(job, cut, nr)) {
		if (size % PAGE_BUFS)
			wait_tail(job, size / PAGE_BUFS, size % PAGE_BUFS);
		for (u32 n = size; n < FILE_BLOCKS; n += PAGE_BUFS - n % PAGE_BUFS)
			cut_page(n / PAGE_BUFS, n % PAGE_BUFS);
		free_blocks(job, cut, nr);
	}
	f->truncating = false;
	file_done(job);
}

/* ---- write-back and reclaim ---- */

void file_write_back(u32 i)
{
	struct sim_page *page = page_find(i);

	if (!page)
		return;
	page_write_back(page);
	page_unlock(page);
}

/* Returns it locked, if no other task uses it. */
static bool page_catch(struct sim_page *page)
{
	if (page->users)
		return false;
	page->users++;
	if (folio_trylock(&page->folio))
		return true;
	page->users--;
	return false;
}

/* It is locked and has no buffers, and no task waits for it. */
static void page_release(struct sim_page *page)
{
	page->users = 0;
	page->folio.locked = NULL;
	page_free(page);
}

static void reclaim_gone(u32 which)
{
	struct toy_file *f = &world->file;
	struct sim_page *page = f->gone[which];

	if (!page_catch(page))
		return;
	if (try_to_free_buffers(&page->folio) && page->users == 1) {
		/* Others may have moved it meanwhile. */
		for (which = 0; f->gone[which] != page; which++)
			;
		f->gone[which] = f->gone[--f->nr_gone];
		page_release(page);
		return;
	}
	page_unlock(page);
}

static bool is_home(const struct sim_page *page, u32 i)
{
	for (u32 b = 0; b < PAGE_BUFS; b++) {
		const struct alloc *a = world->file.map[i * PAGE_BUFS + b];

		if (a && memcmp(page->data + b * DISK_BLOCK,
				world->disk->seen[a->block], DISK_BLOCK))
			return false;
	}
	return true;
}

void file_reclaim(u32 i)
{
	struct toy_file *f = &world->file;
	struct sim_page *page = f->page[i];

	if (f->nr_gone)
		reclaim_gone(i % f->nr_gone);
	page = f->page[i];
	if (!page || page->writable || !page_catch(page))
		return;
	if (page == f->page[i] && !page->writable && page->folio.private &&
	    zj_journal_try_to_free_buffers(world->journal, &page->folio)) {
		if (clean_is_home() && !is_home(page, i))
			kl_fail("page %u is clean, but its contents are not home", i);
		if (page->users == 1) {
			f->page[i] = NULL;
			page_release(page);
			return;
		}
	}
	page_unlock(page);
}

static void drop_page(struct sim_page *page)
{
	folio_lock(&page->folio);
	folio_wait_writeback(&page->folio);
	for (u32 b = 0; b < PAGE_BUFS && page->folio.private; b++) {
		wait_on_buffer(&page->buf[b]->bh);
		clear_buffer_dirty(&page->buf[b]->bh);
	}
	if (!try_to_free_buffers(&page->folio))
		kl_fail("buffers of the file are in use after the unmount");
	folio_unlock(&page->folio);
	page_free(page);
}

void file_unmount(void)
{
	struct toy_file *f = &world->file;

	for (u32 i = 0; i < FILE_PAGES; i++)
		if (f->page[i])
			drop_page(f->page[i]);
	while (f->nr_gone)
		drop_page(f->gone[--f->nr_gone]);
}
