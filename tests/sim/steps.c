// SPDX-License-Identifier: GPL-2.0-only
/* What a handle changes: metadata, inodes, allocation. */
#include "work.h"

/* ---- changes ---- */

struct buffer_head *read_block(u32 block)
{
	return kit_read(&world->kit, block);
}

/* A new version of an object in a block that the handle has access to. */
void change(struct job *job, struct buffer_head *bh, u32 object)
{
	struct object *o = &world->objects[object];
	u32 block = o->block, slot = o->slot, ver;

	mutex_lock(&world->content[block]);
	ver = ++world->objects[object].ver;
	unit_write(job->unit, object, ver);
	block_set(bh->b_data, slot, ver);
	mutex_unlock(&world->content[block]);
}

static void take_note(struct buffer_head *bh, u32 block)
{
	mutex_lock(&world->content[block]);
	block_note(bh->b_data);
	mutex_unlock(&world->content[block]);
}

static bool lines_are_logged(void)
{
	return !world->p.jbd2 && world->p.nvm != 2 && !world->p.images;
}

/* With a log of lines, the changes of most blocks are nearly always declared. */
static bool tells(struct job *job, u32 block)
{
	return lines_are_logged() && block % 4 && !sim_one_in(&job->rand, 32);
}

static int get_access(struct job *job, struct buffer_head *bh, bool declared)
{
	return declared ? zj_journal_get_range_access(job->handle, bh) :
		      zj_journal_get_write_access(job->handle, bh);
}

/* Writes the same into both halves. */
static int dirty_halves(struct job *job, struct buffer_head *bh, u32 at, u32 len)
{
	return zj_journal_dirty_range(job->handle, bh, at, len) ?:
	       zj_journal_dirty_range(job->handle, bh, sizeof(struct half) + at,
				      len);
}

static int set_dirty(struct job *job, struct buffer_head *bh, bool declared,
		     bool note)
{
	int err;

	if (!declared)
		return zj_journal_dirty_metadata(job->handle, bh);
	err = dirty_halves(job, bh, 0, offsetof(struct half, fill));
	if (!err && note)
		err = dirty_halves(job, bh, offsetof(struct half, note),
				   sizeof(u32));
	return err;
}

bool write_in(struct job *job, struct buffer_head *bh, u32 object, u32 times)
{
	u32 block = world->objects[object].block;
	bool trigger = has_trigger(block), declared = tells(job, block);
	bool note = lines_are_logged() && sim_one_in(&job->rand, declared ? 8 : 2);

	if (dead(job, get_access(job, bh, declared)))
		return false;
	if (trigger)
		zj_journal_set_triggers(bh, &content_trigger);
	while (times--)
		change(job, bh, object);
	if (note)
		take_note(bh, block);
	/* As in ext4, since a write error may have cleared the bit. */
	set_buffer_uptodate(bh);
	return !dead(job, set_dirty(job, bh, declared, note));
}

static bool write_fixed(struct job *job, u32 object, u32 times)
{
	struct buffer_head *bh = read_block(world->objects[object].block);
	bool ok = write_in(job, bh, object, times);

	brelse(bh);
	return ok;
}

/* Access, and then no change: as where ext4 finds nothing to do. */
bool touch_only(struct job *job, struct buffer_head *bh)
{
	return !dead(job, zj_journal_get_write_access(job->handle, bh));
}

/* Gets write access to one block, or to all, and changes nothing. */
static void touch_some(struct job *job)
{
	u32 nr = world->alloc_first - world->meta_first;
	u32 first = sim_below(&job->rand, nr);
	bool members = world->p.focus == FOCUS_MEMBERS;
	u32 some = long_one_in(job, members ? 1 : 4) ? nr : 1;

	for (u32 i = 0; i < some && !job->dead; i++) {
		struct buffer_head *bh = read_block(world->meta_first +
						    (first + i) % nr);

		touch_only(job, bh);
		brelse(bh);
	}
}

/* The last slot of a block is of no inode, and says nothing about allocation. */
void sweep(struct job *job)
{
	u32 nr = world->alloc_first - world->meta_first;
	u32 first = sim_below(&job->rand, nr);

	for (u32 i = 0; i < nr && i < SWEEP_BLOCKS && !job->dead; i++)
		write_fixed(job, (first + i) % nr * SLOTS + SLOTS - 1, 1);
}

void step_meta(struct job *job)
{
	if (sim_one_in(&job->rand, 10)) {
		touch_some(job);
		return;
	}
	write_fixed(job, sim_below(&job->rand, world->nr_meta * SLOTS),
		    1 + sim_one_in(&job->rand, 4));
}

/* A change of the block that all tasks share. */
static void step_hot(struct job *job)
{
	write_fixed(job, 0, 1);
}

/* ---- inodes ---- */

struct toy_inode *use_inode(struct job *job, u32 i)
{
	struct toy_inode *ino = &world->inode[i];

	if (ino->evicting)
		return NULL;
	if (!(job->used_inodes & (1 << i)))
		ino->users++;
	job->used_inodes |= 1 << i;
	return ino;
}

void drop_inodes(struct job *job)
{
	for (u32 i = 0; i < world->nr_inodes; i++)
		if (job->used_inodes & (1 << i))
			world->inode[i].users--;
	job->used_inodes = 0;
}

void release_inode(struct toy_inode *ino)
{
	filemap_fdatawrite_range(ino->vfs.i_mapping, 0, LLONG_MAX);
	filemap_fdatawait_range_keep_errors(ino->vfs.i_mapping, 0, LLONG_MAX);
	/* An error that was never reported is lost with the inode. */
	for (u32 i = 0; i < world->nr_alloc; i++)
		if (&world->inode[world->alloc[i].inode] == ino)
			world->alloc[i].page.undeclared = world->alloc[i].page.lost;
	/* No task can run in between; a page that stays is noted again when it is written. */
	zj_journal_written_by_all(world->journal, ino->written);
	ino->written = 0;
	zj_journal_release_jinode(world->journal, &ino->jinode);
}

/* Is data of the inode not home yet? Then its pages stay (F2), and with them the inode. */
static bool holds_pages(const struct toy_inode *ino)
{
	for (u32 i = 0; i < world->nr_alloc; i++)
		if (world->alloc[i].use == USE_DATA && &world->inode[world->alloc[i].inode] == ino &&
		    data_is_held(&world->alloc[i]))
			return true;
	return false;
}

/* Out of core and in again, as ext4_evict_inode() and ext4_iget() do. */
void evict(struct job *job)
{
	/* Not of the journaled file, whose pages would have to be dropped first. */
	struct toy_inode *ino = &world->inode[sim_below(&job->rand,
							world->nr_inodes - 1)];
	struct buffer_head *bh;

	if (ino->users || ino->evicting || holds_pages(ino))
		return;
	ino->evicting = true;
	zj_journal_begin_ordered_truncate(world->journal, &ino->jinode, 0);
	release_inode(ino);
	zj_journal_init_jinode(&ino->jinode, &ino->vfs);
	ino->jinode.i_written = &ino->written;
	bh = read_block(world->objects[ino->object].block);
	ino->sync_tid = zj_journal_buffer_tid(world->journal, bh);
	ino->claim = ino->sync_tid;
	brelse(bh);
	ino->evicting = false;
}

/* Other tasks should run meanwhile, so sometimes it takes long. */
static void claim(struct job *job, u32 i)
{
	handle_t *handle = job->handle;
	u32 how = sim_below(&job->rand, 3), kept = handle->h_nr_claims;
	bool slowly = long_one_in(job, 4);
	u32 slow;

	/* A kept claim holds over restarts. */
	if (!how && job->kept_inodes & (1 << i))
		return;
	zj_journal_take_written(handle, &world->inode[i].written);
	slow = slowly ? sim_slow_down(SIM_SLOW) : 0;
	if (how < 2 && kept < ZJ_HANDLE_CLAIMS)
		zj_journal_claim_keep(handle, &world->inode[i].claim, ZJ_KIND_INODE);
	else
		zj_journal_claim(handle, &world->inode[i].claim, ZJ_KIND_INODE);
	if (slowly)
		sim_slow_down(slow);
	if (handle->h_nr_claims > kept)
		job->kept_inodes |= 1 << i;
}

/* R10: claim, change in core; write_inodes() writes it out. */
u32 claim_inode(struct job *job, u32 i)
{
	struct toy_inode *ino = &world->inode[i];
	u32 ver;

	claim(job, i);
	if (is_handle_aborted(job->handle)) {
		job->dead = true;
		return 0;
	}
	mutex_lock(&ino->lock);
	ver = ++world->objects[ino->object].ver;
	unit_write(job->unit, ino->object, ver);
	mutex_unlock(&ino->lock);
	job->dirty_inodes |= 1 << i;
	return ver;
}

/* ---- R9: acts on what it has read ---- */

static void read_meta(struct job *job)
{
	u32 block = world->meta_first + sim_below(&job->rand, world->nr_meta);
	u32 object = (block - world->meta_first) * SLOTS +
		     sim_below(&job->rand, SLOTS);
	struct buffer_head *bh = read_block(block);
	u32 ver;

	mutex_lock(&world->content[block]);
	ver = ((struct half *)bh->b_data)->ver[world->objects[object].slot];
	mutex_unlock(&world->content[block]);
	if (!dead(job, zj_journal_read_dependency(job->handle, bh)) && ver)
		unit_read(job->unit, object, ver);
	brelse(bh);
}

/* An inode in core, which it does not claim. */
static void read_inode(struct job *job)
{
	struct toy_inode *ino = use_inode(job, sim_below(&job->rand,
							 world->nr_inodes));
	u32 ver;

	if (!ino)
		return;
	mutex_lock(&ino->lock);
	ver = world->objects[ino->object].ver;
	mutex_unlock(&ino->lock);
	zj_journal_read_claimed(job->handle, &ino->claim, ZJ_KIND_INODE);
	if (is_handle_aborted(job->handle))
		job->dead = true;
	else if (ver)
		unit_read(job->unit, ino->object, ver);
}

static void step_read(struct job *job)
{
	if (world->nr_inodes && !(world->p.off & OFF_INODE) &&
	    sim_one_in(&job->rand, 3))
		read_inode(job);
	else
		read_meta(job);
}

static void step_inode(struct job *job)
{
	u32 few = world->p.focus == FOCUS_INODE ? 2 : 1;
	u32 i = sim_below(&job->rand, world->nr_inodes / few);

	if (use_inode(job, i))
		claim_inode(job, i);
}

static void write_inode(struct job *job, u32 i)
{
	struct toy_inode *ino = &world->inode[i];
	struct object *o = &world->objects[ino->object];
	u32 block = o->block, slot = o->slot;
	struct buffer_head *bh = read_block(block);
	bool declared = tells(job, block);

	if (!dead(job, get_access(job, bh, declared))) {
		mutex_lock(&world->content[block]);
		mutex_lock(&ino->lock);
		block_set(bh->b_data, slot, world->objects[ino->object].ver);
		mutex_unlock(&ino->lock);
		mutex_unlock(&world->content[block]);
		set_buffer_uptodate(bh);
		dead(job, set_dirty(job, bh, declared, false));
	}
	if (!job->dead) {
		zj_journal_sync_tid(job->handle, &ino->sync_tid);
		world->units[job->unit].inodes |= 1 << i;
	}
	brelse(bh);
}

/* N3: before the handle stops. */
void write_inodes(struct job *job)
{
	for (u32 i = 0; i < world->nr_inodes; i++)
		if (job->dirty_inodes & (1 << i) && !job->dead)
			write_inode(job, i);
	job->dirty_inodes = 0;
}

/* ---- allocation ---- */

struct alloc *pick_alloc(struct job *job, enum use use)
{
	u32 i = sim_below(&job->rand, world->nr_alloc);

	for (u32 n = 0; n < world->nr_alloc; n++, i++) {
		struct alloc *a = &world->alloc[i % world->nr_alloc];

		if (a->use == use && !a->page.dirty && !a->page.writing)
			return a;
	}
	return NULL;
}

/* The next generation of an allocatable block. */
bool write_map(struct job *job, struct alloc *a)
{
	return write_fixed(job, a->object, 1);
}

static void create_block(struct job *job, struct alloc *a, u32 gen)
{
	struct buffer_head *bh = __getblk(&world->disk->bdev, a->block,
					  DISK_BLOCK);

	life_begin(a, gen, KIND_META);
	lock_buffer(bh);
	if (!dead(job, zj_journal_get_create_access(job->handle, bh))) {
		block_init(bh->b_data, a->block, gen, KIND_META);
		change(job, bh, life_now(a)->objects);
		set_buffer_uptodate(bh);
	}
	unlock_buffer(bh);
	if (!job->dead)
		dead(job, zj_journal_dirty_metadata(job->handle, bh));
	brelse(bh);
}

static void step_alloc_meta(struct job *job)
{
	bool map_first = sim_one_in(&job->rand, 2);
	struct alloc *a;
	u32 gen;

	/* Journaled again before the free is committed: cancels the revoke. */
	a = pick_alloc(job, sim_one_in(&job->rand, 3) ? USE_FREEING : USE_FREE);
	if (!a)
		return;
	/* Data is not revoked, so its blocks have nothing to cancel. */
	a->use = USE_BUSY;
	gen = world->objects[a->object].ver + 1;
	if (map_first && !write_map(job, a))
		return;
	create_block(job, a, gen);
	if (job->dead || (!map_first && !write_map(job, a)))
		return;
	a->use = USE_META;
}

static void step_write_meta(struct job *job)
{
	struct alloc *a = pick_alloc(job, USE_META);

	if (!a)
		return;
	/* No task can free it meanwhile, as under i_data_sem. */
	a->use = USE_BUSY;
	write_fixed(job, life_now(a)->objects + sim_below(&job->rand, SLOTS), 1);
	a->use = USE_META;
}

static void step_free_meta(struct job *job)
{
	struct alloc *a = pick_alloc(job, USE_META);
	bool map_first = sim_one_in(&job->rand, 2);
	struct buffer_head *bh = NULL;

	if (!a || job->handle->h_revoke_credits < 1)
		return;
	a->use = USE_BUSY;
	a->freed_by = job->handle->h_transaction->t_tid;
	if (map_first && !write_map(job, a))
		return;
	if (sim_one_in(&job->rand, 2))
		bh = __find_get_block(&world->disk->bdev, a->block, DISK_BLOCK);
	trace("unit %u frees block %u", job->unit, a->block);
	if (dead(job, zj_journal_revoke(job->handle, a->block, bh)))
		return;
	if (!map_first && !write_map(job, a))
		return;
	a->use = USE_FREEING;
}

/* ---- commits ---- */

/* Phase two of commit: freed blocks may be used again. */
void commit_callback(journal_t *journal, transaction_t *txn)
{
	/* After an abort it is called only to give things back. */
	if (is_journal_aborted(journal))
		return;
	trace("transaction %u is committed", txn->t_tid);
	progress_committed(txn->t_tid);
	for (u32 i = 0; i < world->nr_units; i++)
		if (world->units[i].tid == txn->t_tid)
			unit_must(i);
	for (u32 i = 0; i < world->nr_alloc; i++) {
		struct alloc *a = &world->alloc[i];

		if (a->use == USE_FREEING && a->freed_by == txn->t_tid)
			a->use = USE_FREE;
	}
}

/* ---- the table of all changes ---- */

void look_around(struct job *job)
{
	for (u32 n = sim_below(&job->rand, 4); n && !job->dead; n--) {
		if (sim_one_in(&job->rand, 2))
			touch_some(job);
		else
			step_read(job);
	}
}

static void step_nested(struct job *job)
{
	handle_t *inner = zj_journal_start(world->journal, 1, 0, 0, GFP_NOFS, 0, 0);

	if (inner != job->handle)
		kl_fail("a nested start gives another handle");
	if (long_one_in(job, 4))
		sync_sealed(job);
	step_meta(job);
	zj_journal_stop(inner);
}

void step(struct job *job)
{
	static const struct {
		void	(*fn)(struct job *job);
		u32	off;	/* enum off that leaves it out */
	} steps[] = {
#define FIRST_FILE	0
		{ step_file, OFF_FILE }, { step_file, OFF_FILE },
#define FIRST_ALLOC	2
#define NR_ALLOC	7
		{ step_alloc_meta, OFF_ALLOC }, { step_write_meta, OFF_ALLOC },
		{ step_write_meta, OFF_ALLOC }, { step_free_meta, OFF_ALLOC },
		{ step_alloc_data, OFF_DATA }, { step_free_data, OFF_DATA },
		{ step_zero_data, OFF_DATA },
		{ step_meta }, { step_meta }, { step_meta },
		{ step_read, OFF_READ },
#define FIRST_INODE	13
		{ step_inode, OFF_INODE }, { step_inode, OFF_INODE },
		{ step_nested },
	};
	u32 i = sim_below(&job->rand, ARRAY_SIZE(steps));

	if (world->p.focus == FOCUS_FILE && sim_one_in(&job->rand, 2))
		i = FIRST_FILE;
	if (world->p.focus == FOCUS_ALLOC && sim_one_in(&job->rand, 2))
		i = FIRST_ALLOC + sim_below(&job->rand, NR_ALLOC);
	if (world->p.focus == FOCUS_INODE && sim_one_in(&job->rand, 2))
		i = FIRST_INODE;
	if (world->p.progress && sim_one_in(&job->rand, 2))
		step_hot(job);
	else if (!(world->p.off & steps[i].off))
		steps[i].fn(job);
}
