// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of a log of lanes: reads the log's fixed blocks, and runs the passes
 * in order.
 */
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/xxhash.h>
#include <asm/byteorder.h>
#include "recovery/recovery_int.h"

#define ZJ_VEC_FIRST	64	/* entries that a vector begins with; the room then doubles */
#define ZJ_SORT_YIELD	4096	/* comparisons between two calls of zj_yield() */

/*
 * kvmalloc() cannot allocate more than 2 GiB, but the arrays of a large log may
 * be larger.
 */
static void *zj_alloc_large(u64 nr, u32 size, gfp_t flags)
{
	u64 bytes = nr * size;

	if (bytes != (size_t)bytes)
		return NULL;
	flags |= GFP_KERNEL | __GFP_NOWARN;
	return bytes > INT_MAX ? __vmalloc(bytes, flags) : kvmalloc(bytes, flags);
}

void *zj_vec_add(struct zj_vec *v)
{
	u32 room = v->room ? v->room * 2 : ZJ_VEC_FIRST;
	void *items;

	if (v->nr == v->room) {
		if (room <= v->room)
			return NULL;
		items = zj_alloc_large(room, v->size, 0);
		if (!items)
			return NULL;
		if (v->nr)
			memcpy(items, v->items, (size_t)v->nr * v->size);
		kvfree(v->items);
		v->items = items;
		v->room = room;
	}
	return v->items + (size_t)v->nr++ * v->size;
}

/**
 * struct zj_sorting - one call of zj_sort(); on its stack
 */
struct zj_sorting {
	int	(*cmp)(const void *a, const void *b);
	u32	calls;		/* number of calls of @cmp */
	int	err;		/* -EINTR if the task is being killed */
};

static int zj_cmp_yielding(const void *a, const void *b, const void *priv)
{
	struct zj_sorting *s = (void *)priv;

	if (!s->err && !(++s->calls % ZJ_SORT_YIELD))
		s->err = zj_yield();
	/*
	 * The sort cannot be stopped, but it ends soon if all elements seem
	 * equal.
	 */
	return s->err ? 0 : s->cmp(a, b);
}

/*
 * The kernel's sort neither lets others run nor ends early, so the comparisons
 * have to do this.
 */
int zj_sort(struct zj_vec *v, int (*cmp)(const void *a, const void *b))
{
	struct zj_sorting s = { .cmp = cmp };

	sort_r(v->items, v->nr, v->size, zj_cmp_yielding, NULL, &s);
	return s.err;
}

/* ---- tables ---- */

int zj_table_init(struct zj_table *t, u32 nr)
{
	t->bits = ilog2(max(nr, 1U)) + 2;
	t->salt = (u64)get_random_u32() << 32 | get_random_u32();
	t->slots = zj_alloc_large(1ULL << t->bits, sizeof(*t->slots), __GFP_ZERO);
	return t->slots ? 0 : -ENOMEM;
}

/* Returns the slot of @key, or the free one where it belongs. */
static struct zj_table_slot *zj_table_slot(struct zj_table *t, u64 key)
{
	u64 i = xxh64(&key, sizeof(key), t->salt) >> (64 - t->bits);

	for (;; i = (i + 1) & ((1ULL << t->bits) - 1)) {
		t->steps++;
		if (!t->slots[i].at || t->slots[i].key == key)
			return &t->slots[i];
	}
}

void zj_table_add(struct zj_table *t, u64 key, u32 index)
{
	struct zj_table_slot *slot = zj_table_slot(t, key);

	slot->key = key;
	slot->at = index + 1;
}

s64 zj_table_find(struct zj_table *t, u64 key)
{
	return (s64)zj_table_slot(t, key)->at - 1;
}

void zj_table_free(struct zj_table *t)
{
	kvfree(t->slots);
	t->slots = NULL;
}

/* ---- the log's fixed blocks ---- */

static int zj_read_failed(struct zj_recovery *r, int err, u32 block, u32 nr)
{
	r->ops->msg(r->ctx, 0,
		    "error %d reading the log at journal block %u (%u blocks); nothing is lost yet: check the device, copy it, try again",
		    err, block, nr);
	return err;
}

int zj_read_log(struct zj_recovery *r, u32 block, u32 nr, void *buf)
{
	int err = r->ops->read_log(r->ctx, block, nr, buf);

	return err ? zj_read_failed(r, err, block, nr) : 0;
}

/* Is it the block that cannot be read, and not the host that is short of something? */
static bool zj_unreadable(int err)
{
	return err && err != -EINTR && err != -ENOMEM;
}

static void zj_note_unread(struct zj_recovery *r, u32 block, u32 at)
{
	r->unread[at / 64] |= 1ULL << at % 64;
	if (!r->stats->unread_blocks++)
		r->unread_first = block;
}

static int zj_read_one(struct zj_recovery *r, u32 block, u32 at, void *buf)
{
	int err = r->ops->read_log(r->ctx, block, 1, buf);

	if (!zj_unreadable(err))
		return err ? zj_read_failed(r, err, block, 1) : 0;
	memset(buf, 0, r->geo.block_size);
	zj_note_unread(r, block, at);
	return 0;
}

/**
 * zj_read_blocks() - read blocks of a piece, and go on behind those that cannot be read
 * @r: the recovery
 * @block: first journal block
 * @nr: number of blocks
 * @at: place of the first one in the piece
 * @buf: memory for them
 *
 * A block that cannot be read is noted in @r->unread, and is all zeros in
 * memory. So it is no header, and an image in it is torn.
 *
 * Return: 0, or an error of the host, which was reported.
 */
int zj_read_blocks(struct zj_recovery *r, u32 block, u32 nr, u32 at, void *buf)
{
	int err = r->ops->read_log(r->ctx, block, nr, buf);
	u32 i;

	if (!zj_unreadable(err))
		return err ? zj_read_failed(r, err, block, nr) : 0;
	for (i = 0; i < nr; i++, buf += r->geo.block_size) {
		err = zj_yield() ?: zj_read_one(r, block + i, at + i, buf);
		if (err)
			return err;
	}
	return 0;
}

int zj_no_memory(struct zj_recovery *r)
{
	r->ops->msg(r->ctx, 0,
		    "out of memory reading the log; nothing was written, try again with more memory");
	return -ENOMEM;
}

static int zj_read_log_super(struct zj_recovery *r, const u8 *uuid,
			     u32 block_size, u32 journal_blocks)
{
	const char *wrong;
	int err;

	err = zj_read_log(r, ZJ_BLOCK_LOG_SUPER, 1, r->buf);
	if (err)
		return err;
	wrong = zj_decode_log_super(r->buf, &r->geo);
	if (wrong)
		return zj_corrupt(r, "log super block (journal block %u): %s",
				  ZJ_BLOCK_LOG_SUPER, wrong);
	if (r->geo.block_size != block_size)
		return zj_corrupt(r, "its block size is %u, but the file system's is %u",
				  r->geo.block_size, block_size);
	if (memcmp(r->geo.uuid, uuid, sizeof(r->geo.uuid)))
		/*
		 * tune2fs -U may have changed the UUID while the log was live.
		 */
		r->ops->msg(r->ctx, 1, "log: written when the file system had another UUID");
	if (r->geo.total_blocks > journal_blocks)
		return zj_corrupt(r, "it is %u blocks long, but the journal only %u",
				  r->geo.total_blocks, journal_blocks);
	r->seed = zj_seed(r->geo.uuid, r->geo.generation);
	return 0;
}

/*
 * Tells whether a block was meant as a checkpoint slot of this log, whatever
 * its checksum.
 */
static bool zj_claims_ckpt(const struct zj_recovery *r)
{
	const struct zj_ckpt_slot *slot = r->buf;

	return le32_to_cpu(slot->magic) == ZJ_CKPT_MAGIC &&
	       le64_to_cpu(slot->generation) == r->geo.generation;
}

/*
 * Tells whether a slot with a valid checksum differs from what we would write
 * to slot @i.
 */
static bool zj_ckpt_strange(const struct zj_recovery *r, u32 i, u64 seq)
{
	const struct zj_ckpt_slot *slot = r->buf;

	return seq % ZJ_CKPT_SLOTS != i ||
	       memchr_inv(slot->reserved, 0, sizeof(slot->reserved));
}

/*
 * The slot with the higher number holds the checkpoint stamp. The slots are
 * written in turn, so a crash leaves at most one of them damaged. One that cannot
 * be read is damaged. If it was the newer one, components whose space was used
 * again seem to be missing (D5): what is there now names them as committed, unless
 * its header is torn.
 */
static int zj_read_ckpt(struct zj_recovery *r)
{
	u64 seq[ZJ_CKPT_SLOTS], stamp[ZJ_CKPT_SLOTS];
	bool good[ZJ_CKPT_SLOTS];
	u32 i, bad = 0, newer;
	int err;

	for (i = 0; i < ZJ_CKPT_SLOTS; i++) {
		err = zj_read_blocks(r, ZJ_BLOCK_CKPT + i, 1, i, r->buf);
		if (err)
			return err;
		if (zj_is_unread(r, i))
			r->unread_slot = ZJ_BLOCK_CKPT + i;
		good[i] = zj_decode_ckpt(&r->geo, r->buf, &seq[i], &stamp[i]);
		bad += zj_is_unread(r, i) || (!good[i] && zj_claims_ckpt(r));
		if (good[i] && zj_ckpt_strange(r, i, seq[i]))
			return zj_corrupt(r, "the checkpoint slot (journal block %u) has a correct checksum, but belongs in the other slot or has unknown fields",
					  ZJ_BLOCK_CKPT + i);
	}
	if (bad == ZJ_CKPT_SLOTS)
		return zj_corrupt(r, "both checkpoint slots (journal blocks %u and %u) have a wrong checksum or cannot be read",
				  ZJ_BLOCK_CKPT, ZJ_BLOCK_CKPT + 1);
	r->ckpt_stamp = r->geo.ckpt_stamp;
	if (good[0] && good[1]) {
		newer = seq[1] > seq[0];
		if (stamp[newer] < stamp[!newer])
			return zj_corrupt(r, "the checkpoint slots (journal blocks %u and %u) contradict each other",
					  ZJ_BLOCK_CKPT, ZJ_BLOCK_CKPT + 1);
		r->ckpt_stamp = max(r->ckpt_stamp, stamp[newer]);
	} else if (good[0] || good[1]) {
		r->ckpt_stamp = max(r->ckpt_stamp, stamp[good[1]]);
	}
	r->stats->ckpt_stamp = r->ckpt_stamp;
	return 0;
}

static int zj_open_log(struct zj_recovery *r, const u8 *uuid, u32 block_size)
{
	u32 journal_blocks = r->journal_blocks;
	int err;

	if (block_size < 1024 || block_size > 65536 ||
	    !is_power_of_2(block_size) || journal_blocks <= ZJ_LOG_FIRST) {
		r->ops->msg(r->ctx, 0,
			    "a journal of %u blocks of %u bytes cannot hold a log; nothing was written, run e2fsck",
			    journal_blocks, block_size);
		return -EINVAL;
	}
	r->buf = kvmalloc(block_size, GFP_KERNEL);
	if (!r->buf)
		return zj_no_memory(r);
	err = zj_read_log_super(r, uuid, block_size, journal_blocks);
	if (!err)
		err = zj_read_ckpt(r);
	if (err)
		return err;
	r->whole = ZJ_TAG_ALL_LINES;
	r->built = kvmalloc(block_size, GFP_KERNEL);
	if (!r->built)
		return zj_no_memory(r);
	return zj_ahead_begin(r, r->geo.seg_blocks, r->geo.nr_segs);
}

/* Tells of blocks that cannot be read, when recovery has found out that it can do without. */
void zj_report_unread(struct zj_recovery *r)
{
	if (r->stats->unread_blocks)
		r->ops->msg(r->ctx, 1,
			    "%u blocks of the log cannot be read, the first is journal block %u; they hold nothing that is replayed",
			    r->stats->unread_blocks, r->unread_first);
}

static void zj_summary(struct zj_recovery *r)
{
	struct zj_recovery_stats *s = r->stats;

	r->ops->msg(r->ctx, 1,
		    "log: %u transactions in %u components to replay, %u blocks; discarded as incomplete: %u transactions, %u torn chunks",
		    s->transactions, s->committed_components, s->replayed,
		    s->discarded, s->torn_chunks);
	zj_report_unread(r);
}

void zj_recovery_begin(struct zj_recovery *r, const struct zj_recovery_args *args)
{
	*r = (struct zj_recovery) {
		.ops = args->ops,
		.ctx = args->ctx,
		.stats = args->stats,
		.journal_blocks = args->journal_blocks,
		.home_blocks = args->fs_blocks,
		.flags = args->flags,
		.chunks.size = sizeof(struct zj_rec_chunk),
		.images.size = sizeof(struct zj_rec_image),
		.kept.size = sizeof(void *),
		.entries.size = sizeof(u64),
		.components.size = sizeof(struct zj_rec_component),
	};
	memset(args->stats, 0, sizeof(*args->stats));
}

void zj_recovery_end(struct zj_recovery *r)
{
	void **kept = r->kept.items;

	zj_ahead_stop(r);
	while (r->kept.nr)
		kvfree(kept[--r->kept.nr]);
	kvfree(r->kept.items);
	kvfree(r->again);
	kvfree(r->buf);
	kvfree(r->built);
	kvfree(r->info);
	kvfree(r->chunks.items);
	kvfree(r->images.items);
	kvfree(r->entries.items);
	kvfree(r->components.items);
	zj_table_free(&r->by_stamp);
	zj_table_free(&r->by_block);
}

int zj_recover(const struct zj_recovery_args *args, const u8 *uuid)
{
	struct zj_recovery r;
	int err;

	zj_recovery_begin(&r, args);
	err = zj_open_log(&r, uuid, args->block_size);
	if (!err)
		err = zj_scan(&r);
	if (!err)
		err = zj_graph(&r);
	if (!err)
		err = zj_choose(&r);
	if (!err)
		zj_summary(&r);
	if (!err && !(args->flags & ZJ_RECOVER_DRY_RUN))
		err = zj_replay(&r);

	zj_recovery_end(&r);
	return err;
}
