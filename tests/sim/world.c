// SPDX-License-Identifier: GPL-2.0-only
/* Making, mounting and unmounting the toy file system; the history. */
#include <stdio.h>
#include <stdlib.h>
#include <klayer/nvm.h>
#include "work.h"

#define SIM_UUID	"zjsim-file-syste"

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

	/* Tids need not grow in a lane; who opens first is first. */
	if (world->lane_tid[lane] != txn->pub.t_tid) {
		world->lane_tid[lane] = txn->pub.t_tid;
		world->lane_order[lane]++;
	}
	GROW(world->units, world->nr_units, world->room_units);
	world->units[world->nr_units] = (struct unit){
		.tid = txn->pub.t_tid,
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

/* Not in one piece, so that bios have to be split. */
u64 journal_map(const struct inode *inode, u64 block)
{
	return world->jnl_first + block + block / 50;
}

static void make_journal(void)
{
	struct zj_jbd2_super *sb = calloc(1, DISK_BLOCK);

	sb->s_magic = cpu_to_be32(ZJ_JBD2_MAGIC);
	sb->s_blocktype = cpu_to_be32(ZJ_JBD2_SUPERBLOCK_V2);
	sb->s_blocksize = cpu_to_be32(DISK_BLOCK);
	sb->s_maxlen = cpu_to_be32(world->p.journal);
	sb->s_first = cpu_to_be32(1);
	sb->s_sequence = cpu_to_be32(1);
	sb->s_feature_incompat = cpu_to_be32(ZJ_JBD2_INCOMPAT_CSUM_V3);
	sb->s_checksum_type = ZJ_JBD2_CRC32C;
	sb->s_checksum = zj_jbd2_super_csum(sb);
	disk_set(world->disk, journal_map(NULL, 0), sb);
	free(sb);
}

static void make_blocks(u32 first, u32 nr)
{
	u8 data[DISK_BLOCK];

	for (u32 b = first; b < first + nr; b++) {
		block_init(data, b, 0, KIND_META);
		disk_set(world->disk, b, data);
	}
}

/* The disk as a power cut has left it. */
static void take_over(const u8 *image)
{
	for (u32 b = 0; b < world->disk->nr; b++)
		disk_set(world->disk, b, image + (size_t)b * DISK_BLOCK);
}

const char *block_name(u32 block)
{
	static char name[40];

	if (block < world->jnl_first) {
		kl_snprintf(name, sizeof(name), "home block %u", block);
		return name;
	}
	for (u32 i = 0; i < world->p.journal; i++)
		if (journal_map(NULL, i) == block)
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
	if (at > HOME_BLOCKS)
		kl_fail("too many blocks");
	w->jnl_first = HOME_BLOCKS;
	w->fixed_objects = 0;
}

/* Object of a slot in a fixed block. */
static u32 fixed(u32 block, u32 slot)
{
	return (block - world->meta_first) * SLOTS + slot;
}

/* Memory a little smaller or larger than the journal; formatted, or as a cut left it. */
static void make_memory(const u8 *contents)
{
	struct world *w = world;
	u32 size = max(ZJ_NVM_LOG_AT + w->p.journal * DISK_BLOCK,
		       (u32)ZJ_NVM_MIN_SIZE);
	u8 *fresh = calloc(1, size);

	if (!contents)
		zj_encode_nvm_super((const u8 *)"zjsim-the-memory",
				    (const u8 *)SIM_UUID, size, (void *)fresh);
	w->pmem = pmem_new(size, contents ?: fresh);
	free(fresh);
	disk_join_pmem(w->disk, w->pmem);
	kl_nvm.base = w->pmem->mem;
	kl_nvm.size = size;
}

void world_make(const struct params *p, const struct left *before)
{
	const u8 *image = before->image;
	struct world *w = world = calloc(1, sizeof(*w));

	w->p = *p;
	w->rand.state = p->seed * 7919 + 13;
	lay_out();
	w->disk = disk_new(HOME_BLOCKS + p->journal + p->journal / 50 + 1,
			   p->schedule * 31337 + 5);
	w->disk->cache = p->cache;
	w->disk->fua = p->fua;
	w->disk->fail_write = p->fail_write;
	w->disk->fail_flush = p->fail_flush;
	if (p->trace)
		w->disk->trace = trace_disk;
	if (p->progress)
		w->disk->io_ns = 300000;
	if (image) {
		take_over(image);
	} else {
		make_journal();
		make_blocks(w->meta_first, w->alloc_first - w->meta_first);
	}
	if (p->nvm)
		make_memory(before->pmem);
	for (u32 b = w->meta_first; b < w->alloc_first; b++)
		new_objects(b, 0);
	w->initial = malloc(w->disk->nr * sizeof(*w->initial));
	memcpy(w->initial, w->disk->seen, w->disk->nr * sizeof(*w->initial));
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
	/* Before it goes off, after it is on. */
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

		ino->vfs.i_sb = &world->sb;
		ino->vfs.i_ino = 100 + i;
		ino->vfs.i_mapping = &ino->vfs.i_data;
		ino->vfs.i_data.host = &ino->vfs;
		/* Two share a block, with strangers between. */
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

/* What a block in use holds, and of which file it is. */
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
		.live = world_live_options(p->seed / 4 % 2),
	};

	if (p->nvm) {
		options.nvm_path = "memory";
		options.nvm_blocks = p->nvm == 2;
		options.txninfo_max = p->info_max;
		options.nvm_check = p->seed % 2;
	}
	return zj_journal_configure(journal, &options);
}

static journal_t *init_journal(void)
{
	struct world *w = world;
	journal_t *journal = zj_journal_init_inode(&w->jnl_inode);

	if (IS_ERR(journal))
		return journal;
	journal->j_flags |= JBD2_BARRIER;
	if (w->p.data_err)
		journal->j_flags |= JBD2_ABORT_ON_SYNCDATA_ERR;
	journal->j_commit_interval = w->p.progress ? HZ / 10 :
				     1 + sim_below(&w->rand, HZ / 8);
	journal->j_commit_callback = commit_callback;
	journal->j_submit_inode_data_buffers = submit_data;
	journal->j_finish_inode_data_buffers = finish_data;
	to_zj(journal)->batch_size = clamp(w->p.batch, 1U, (u32)ZJ_BATCH_SIZE);
	if (configure(journal))
		kl_fail("its options contradict each other");
	kl_buffer_read = w->p.seed % 3 ? zj_journal_buffer_read : NULL;
	return journal;
}

/* One attempt; -EIO and -ENOMEM may be meant. */
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

	w->sb.s_bdev = &w->disk->bdev;
	w->sb.s_blocksize = DISK_BLOCK;
	w->sb.s_blocksize_bits = 10;
	memcpy(w->sb.s_uuid.b, SIM_UUID, 16);
	w->jnl_inode.i_sb = &w->sb;
	w->jnl_inode.i_ino = 8;
	w->jnl_inode.i_size = (loff_t)w->p.journal * DISK_BLOCK;
	w->jnl_inode.map = journal_map;
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

	/* As umount does: data is written, then inodes go, then the journal. */
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

/* ---- what the journal calls ---- */

int bmap(struct inode *inode, sector_t *block)
{
	*block = inode->map(inode, *block);
	return 0;
}

void iput(struct inode *inode)
{
}

static struct zj_journal *loaded;

/* What stands in the way of whom, by the printers that debugfs has (docs/looking-inside.md). */
static void print_journal(void)
{
	static char text[1 << 20];
	struct seq_buf out;

	seq_buf_init(&out, text, sizeof(text));
	zj_journal_to_text(&out, loaded);
	fprintf(stderr, "%.*s", (int)seq_buf_used(&out), text);
}

void zj_proc_add(struct zj_journal *zj)
{
	loaded = zj;
	sim_report = print_journal;
}

void zj_proc_remove(struct zj_journal *zj)
{
	sim_report = NULL;
}

int filemap_fdatawrite_range(struct address_space *mapping, loff_t start,
			     loff_t end)
{
	struct jbd2_inode range = { .i_vfs_inode = mapping->host,
				    .i_dirty_start = start, .i_dirty_end = end };

	return submit_data(&range);
}

int filemap_fdatawait_range_keep_errors(struct address_space *mapping,
					loff_t start, loff_t end)
{
	struct jbd2_inode range = { .i_vfs_inode = mapping->host,
				    .i_dirty_start = start, .i_dirty_end = end };

	return finish_data(&range);
}
