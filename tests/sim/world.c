// SPDX-License-Identifier: GPL-2.0-only
/* Making, mounting and unmounting the toy file system; the history. */
#include <stdlib.h>
#include "work.h"

struct world *world;

/* ---- history ---- */

#define GROW(array, nr, room)						\
do {									\
	if ((nr) == (room)) {						\
		(room) = (room) ? 2 * (room) : 256;			\
		(array) = realloc(array, (room) * sizeof(*(array)));	\
	}								\
} while (0)

u32 new_objects(u32 block, u32 gen)
{
	u32 first = world->nr_objects;

	for (u32 i = 0; i < SLOTS; i++) {
		GROW(world->objects, world->nr_objects, world->room_objects);
		world->objects[world->nr_objects++] =
			(struct object){ .block = block, .gen = gen, .slot = i };
	}
	return first;
}

u32 unit_begin(handle_t *handle)
{
	struct zj_txn *txn = handle_txn(handle);
	u32 lane = txn->lane->index;

	/* Tids need not grow in a lane; the order of opening counts. */
	if (world->lane_tid[lane] != txn->public.t_tid) {
		world->lane_tid[lane] = txn->public.t_tid;
		world->lane_order[lane]++;
	}
	GROW(world->units, world->nr_units, world->room_units);
	world->units[world->nr_units] = (struct unit){
		.tid = txn->public.t_tid,
		.lane = lane,
		.order = world->lane_order[lane],
		.stopped = NEVER,
		.must = NEVER,
	};
	return world->nr_units++;
}

static u32 add_touch(u32 object, u32 ver, u32 next)
{
	GROW(world->touches, world->nr_touches, world->room_touches);
	world->touches[world->nr_touches++] = (struct touch){ object, ver, next };
	return world->nr_touches;
}

void unit_write(u32 unit, u32 object, u32 ver)
{
	const struct object *o = &world->objects[object];

	trace("unit %u writes block %u.%u gen %u: version %u", unit, o->block,
	      o->slot, o->gen, ver);
	world->units[unit].writes = add_touch(object, ver,
					      world->units[unit].writes);
}

void unit_read(u32 unit, u32 object, u32 ver)
{
	world->units[unit].reads = add_touch(object, ver,
					     world->units[unit].reads);
}

void unit_stop(u32 unit)
{
	trace("unit %u stops", unit);
	world->units[unit].stopped = time_now();
}

void unit_must(u32 unit)
{
	if (world->units[unit].must == NEVER)
		world->units[unit].must = time_now();
}

struct life *life_begin(struct alloc *a, u32 gen, enum kind kind)
{
	GROW(a->lives, a->nr_lives, a->room_lives);
	a->lives[a->nr_lives] = (struct life){ .gen = gen, .kind = kind };
	if (kind != KIND_DATA)
		a->lives[a->nr_lives].objects = new_objects(a->block, gen);
	return &a->lives[a->nr_lives++];
}

const struct life *life_of(const struct alloc *a, u32 gen)
{
	for (u32 i = a->nr_lives; i--; )
		if (a->lives[i].gen == gen)
			return &a->lives[i];
	return NULL;
}

void stored_must(const struct alloc *a, u32 gen, u32 value)
{
	if (!value)
		return;
	GROW(world->stores, world->nr_stores, world->room_stores);
	world->stores[world->nr_stores++] = (struct stored){
		a - world->alloc, gen, value, time_now() };
}

/* ---- making ---- */

static void make_blocks(u32 first, u32 nr)
{
	u8 data[DISK_BLOCK];

	for (u32 b = first; b < first + nr; b++) {
		block_init(data, b, 0, KIND_META);
		disk_set(world->disk, b, data);
	}
}

const char *block_name(u32 block)
{
	static char name[40];

	if (block < world->kit.first) {
		kl_snprintf(name, sizeof(name), "home block %u", block);
		return name;
	}
	for (u32 i = 0; i < world->p.journal; i++)
		if (kit_place(&world->kit, i) == block)
			kl_snprintf(name, sizeof(name), "journal block %u", i);
	return name;
}

/* Numbered as in "cut at", so that one can see what was before it. */
static void trace_disk(const struct kl_disk *disk, u32 event)
{
	static const char *const what[] = { "write of", "done:", "durable:",
					    "flush", "flushed", "memory" };
	const struct disk_event *e = &disk->log[event];

	kl_printk(0, "  #%-5u %s %s (request %llu)\n", event + 1, what[e->what],
		  e->what == DISK_WRITE ? block_name(e->block) : "", e->request);
}

static void lay_out(void)
{
	struct world *w = world;
	u32 at = 1;

	w->nr_meta = w->p.blocks;
	w->nr_inodes = 5;
	w->nr_alloc = 14;
	w->meta_first = at;
	at += w->nr_meta;
	w->inode_first = at;
	at += DIV_ROUND_UP(w->nr_inodes, 2);
	w->map_first = at;
	at += DIV_ROUND_UP(w->nr_alloc, SLOTS / 2);
	w->alloc_first = at;
	at += w->nr_alloc;
	/* The second device begins KIT_START blocks before the journal. */
	if (at > HOME_BLOCKS - KIT_START)
		kl_fail("too many blocks");
	/* The journal is in several pieces, so that bios have to be split. */
	w->kit = (struct kit){ .first = HOME_BLOCKS, .blocks = w->p.journal, .piece = 50 };
	if (w->p.external) {
		w->kit.piece = 0;
		w->kit.stock_numbers = w->p.jbd2;
	}
	w->fixed_objects = 0;
}

/* Object of a slot in a fixed block. */
static u32 fixed(u32 block, u32 slot)
{
	return (block - world->meta_first) * SLOTS + slot;
}

/* A little smaller or larger than the journal. */
static u32 memory_size(void)
{
	return max(ZJ_NVM_LOG_AT + world->p.journal * DISK_BLOCK, (u32)ZJ_NVM_MIN_SIZE);
}

void world_make(const struct params *p, const struct left *before)
{
	const u8 *image = before->image;
	struct world *w = world = calloc(1, sizeof(*w));

	w->p = *p;
	w->rand.state = p->seed * 7919 + 13;
	lay_out();
	w->disk = disk_new(kit_disk_blocks(&w->kit), p->schedule * 31337 + 5);
	kit_init(&w->kit, &w->disk->bdev, DISK_BLOCK, "zjsim-file-syste");
	if (p->external) {
		disk_split(w->disk, HOME_BLOCKS - KIT_START);
		w->kit.dev = &w->disk->bdev2;
		w->disk->cache2 = p->external != 2;
		w->disk->fua2 = p->external != 3;
	}
	w->disk->cache = p->cache;
	w->disk->fua = p->fua;
	w->disk->fail_write = p->fail_write;
	w->disk->fail_flush = p->fail_flush;
	if (p->trace)
		w->disk->trace = trace_disk;
	if (p->progress)
		w->disk->io_ns = 300000;
	if (image) {
		disk_set_all(w->disk, image);
	} else {
		kit_make_journal(&w->kit, w->disk, 1, KIT_CSUM_V3);
		make_blocks(w->meta_first, w->alloc_first - w->meta_first);
	}
	if (p->nvm)
		w->pmem = kit_memory(&w->kit, w->disk, memory_size(), "zjsim-the-memory",
				     before->pmem);
	for (u32 b = w->meta_first; b < w->alloc_first; b++)
		new_objects(b, 0);
	w->initial = disk_contents(w->disk);
	w->clean = NEVER;
}

void world_free(void)
{
	struct world *w = world;

	if (w->pmem)
		pmem_free(w->pmem);
	disk_free(w->disk);
	free(w->initial);
	free(w->objects);
	free(w->units);
	free(w->touches);
	free(w->stores);
	free(w->remounts);
	for (u32 i = 0; i < w->nr_alloc; i++)
		free(w->alloc[i].lives);
	free(w);
	world = NULL;
	arena_reset();
}

void world_set_barriers(bool on)
{
	struct world *w = world;

	if (on != barriers_are_off())
		return;
	GROW(w->remounts, w->nr_remounts, w->room_remounts);
	/* Noted before barriers go off, and after they are on. */
	if (on)
		w->journal->j_flags |= JBD2_BARRIER;
	w->remounts[w->nr_remounts++] = time_now();
	if (!on)
		w->journal->j_flags &= ~JBD2_BARRIER;
	trace("barriers are %s", on ? "on" : "off");
}

/* ---- mounting ---- */

static void mount_inodes(void)
{
	for (u32 i = 0; i < world->nr_inodes; i++) {
		struct toy_inode *ino = &world->inode[i];

		kit_inode(&world->kit, &ino->vfs, 100 + i);
		/* Two share a block, with other inodes' records between. */
		ino->object = fixed(world->inode_first + i / 2, 3 * (i % 2));
		mutex_init(&ino->lock);
		zj_journal_init_jinode(&ino->jinode, &ino->vfs);
		ino->jinode.i_written = &ino->written;
		ino->written = 0;
	}
}

static void mount_blocks(void)
{
	struct world *w = world;

	for (u32 i = 0; i < HOME_BLOCKS; i++)
		mutex_init(&w->content[i]);
	for (u32 i = 0; i < w->nr_alloc; i++) {
		struct alloc *a = &w->alloc[i];

		a->block = w->alloc_first + i;
		a->object = fixed(w->map_first + i / (SLOTS / 2), i % (SLOTS / 2));
		a->page.block = a->block;
		a->page.mem = aligned_alloc(DISK_BLOCK, DISK_BLOCK);
		mutex_init(&a->page.lock);
		init_waitqueue_head(&a->page.wait);
	}
	init_waitqueue_head(&w->file.wait);
}

static void adopt(u32 objects, u32 block)
{
	const struct half *h = (const void *)world->disk->seen[block];

	for (u32 i = 0; i < SLOTS; i++) {
		world->objects[objects + i].ver = h->ver[i];
		world->objects[objects + i].base = h->ver[i];
	}
}

/* Finds out what a block in use holds, and to which file it belongs. */
static void adopt_block(struct alloc *a, u32 gen)
{
	const void *data = world->disk->seen[a->block];
	enum kind kind = ((const struct half *)data)->kind;
	struct toy_file *f = &world->file;
	struct life *life;
	u32 n;

	if (kind < KIND_META || kind > KIND_FILE ||
	    block_check(data, a->block, gen, kind)) {
		/* Truncated, and not freed: the judge of the crash knew it. */
		life_begin(a, gen, KIND_FILE)->cut = true;
		a->use = USE_LEFT;
		return;
	}
	life = life_begin(a, gen, kind);
	if (kind != KIND_DATA)
		adopt(life->objects, a->block);
	switch (kind) {
	case KIND_META:
		a->use = USE_META;
		break;
	case KIND_DATA:
		a->use = USE_DATA;
		memcpy(a->page.mem, data, DISK_BLOCK);
		a->page.gen = gen;
		break;
	case KIND_FILE:
		for (n = 0; n < FILE_BLOCKS && f->map[n]; n++)
			;
		if (n < FILE_BLOCKS)
			f->map[n] = a;
		a->use = n < FILE_BLOCKS ? USE_FILE : USE_LEFT;
		break;
	}
}

/* The mount has recovered: what is there is the base of this run. */
static void adopt_all(void)
{
	struct world *w = world;

	for (u32 b = w->meta_first; b < w->alloc_first; b++)
		adopt(fixed(b, 0), b);
	for (u32 i = 0; i < w->nr_alloc; i++) {
		struct alloc *a = &w->alloc[i];
		const struct half *h = (const void *)w->disk->seen[a->block];
		u32 gen = w->objects[a->object].ver;

		if (h->stored > w->last_stored)
			w->last_stored = h->stored;
		if (gen & 1)
			adopt_block(a, gen);
	}
}

void world_check_mount(const u8 *image)
{
	for (u32 b = 1; b < HOME_BLOCKS; b++)
		if (memcmp(world->disk->seen[b], image + b * DISK_BLOCK,
			   DISK_BLOCK))
			kl_fail("mount recovers block %u otherwise than the recovery of the same crash did",
				b);
}

struct zj_live_options world_live_options(bool log_fua)
{
	const struct params *p = &world->p;

	return (struct zj_live_options){
		.frozen_copy = p->copy,
		.log_fua = log_fua,
		.flush_batch = max(p->run, 1U),
		.versions = max(p->versions, 1U),
		.no_coalesce = !p->coalesce,
		.by_thread = p->seed / 16 % 2,
	};
}

static int configure(journal_t *journal)
{
	const struct params *p = &world->p;
	struct zj_options options = {
		.lanes = p->jbd2 ? 1 : p->lanes,
		.log = p->nvm ? ZJ_LOG_NVM : p->jbd2 ? ZJ_LOG_JBD2 : ZJ_LOG_LANES,
		.pipeline = p->pipeline,
		.data_reported = p->seed % 4,
		.data_journaled = p->journaled,
		.one_head = p->seed / 8 % 2,
		.live = world_live_options(p->seed / 4 % 2),
	};

	options.log_blocks = p->images;
	options.log_check = p->seed % 2;
	if (p->nvm) {
		options.nvm_path = "memory";
		options.log_blocks = p->nvm == 2;
		options.txninfo_max = p->info_max;
	}
	return zj_journal_configure(journal, &options);
}

static journal_t *init_journal(void)
{
	struct world *w = world;
	journal_t *journal = kit_open(&w->kit);

	if (IS_ERR(journal))
		return journal;
	if (w->p.data_err)
		journal->j_flags |= JBD2_ABORT_ON_SYNCDATA_ERR;
	journal->j_commit_interval = w->p.progress ? HZ / 10 :
				     1 + sim_below(&w->rand, HZ / 8);
	kit_call_back(journal);
	to_zj(journal)->batch_size = clamp_t(u32, w->p.batch, 1, ZJ_BATCH_SIZE);
	if (configure(journal))
		kl_fail("its options contradict each other");
	/* Transactions that stay open then have many TxnInfos, although few blocks. */
	if (w->p.seed / 8 % 2)
		to_zj(journal)->nvm.one_info = false;
	kl_buffer_read = w->p.seed % 3 ? zj_journal_buffer_read : NULL;
	return journal;
}

/* Tries to mount once; -EIO and -ENOMEM may be injected errors. */
static int try_mount(void)
{
	struct world *w = world;
	int err;

	w->journal = init_journal();
	if (IS_ERR(w->journal))
		return PTR_ERR(w->journal);
	err = zj_journal_load(w->journal);
	if (!err)
		return 0;
	if (zj_journal_destroy(w->journal))
		kl_fail("a journal that is not loaded cannot be destroyed");
	return err;
}

void world_mount(void)
{
	struct world *w = world;
	int err;

	/* The last run's. */
	kl_buffer_read = NULL;
	w->disk->fail_read = w->p.fail_read;
	sim_fail_allocations(w->p.fail_alloc);
	while ((err = try_mount()))
		if ((err != -ENOMEM && err != -EIO) ||
		    (err == -ENOMEM && !w->p.fail_alloc) ||
		    (err == -EIO && !w->p.fail_read))
			kl_fail("mount: error %d", err);
	w->disk->fail_read = 0;
	mount_inodes();
	mount_blocks();
	adopt_all();
}

int world_unmount(void)
{
	struct world *w = world;
	int err;

	/* As umount does: write data, evict inodes, then destroy the journal. */
	for (u32 i = 0; i < w->nr_inodes; i++)
		release_inode(&w->inode[i]);
	err = zj_journal_destroy(w->journal);
	if (!err)
		w->clean = time_now();
	sim_rcu_drain();
	file_unmount();
	for (u32 i = 0; i < w->nr_alloc; i++)
		free(w->alloc[i].page.mem);
	buf_cache_exit(w->disk);
	return err;
}
