// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log in stock's format: a ring, one lane, recovered by stock ext4 and e2fsck
 * (docs/decisions/0013).
 *
 *   revoke and descriptor blocks, images, zeros -> flush -> commit block -> durable
 *
 * To stock's recovery a commit block over a damaged log block is corruption, not
 * the end of the log: so it is written only when all before it is durable, and
 * after the commit block of the transaction before is durable too. What was left
 * of an older life of the journal in its place is overwritten with zeros first:
 * then a torn commit block is none, for readers that know no torn ones as well.
 *
 * A transaction's number is its component's stamp and a constant. The ring's tail
 * is in block 0; it moves over a transaction when that is home, in stamp order.
 */
#include "zj.h"

#define ZJ_RING_MIN	64U	/* blocks; e2fsprogs makes none below 1024 */

/**
 * struct zj_jbd2_write - a transaction on its way to the ring; on a stack
 */
struct zj_jbd2_write {
	struct zj_txn	*txn;
	struct zj_journal *zj;
	const struct zj_jbd2_log *log;
	u32		sequence;	/* of the transaction */
	u32		pos;		/* ring block to be written next */
	int		nr_images;	/* not placed yet */
	int		nr_revokes;	/* not placed yet */
	void		**own;		/* revoke and descriptor blocks */
	u32		nr_own;		/* of these */
	struct zj_log_io io;
};

static u32 sequence_of(const struct zj_journal *zj, u64 stamp)
{
	return zj->ring.sequence + (u32)stamp;
}

/* ---- space ---- */

/* What holds whatever features are set later on. */
static u32 images_per_block(u32 block_size)
{
	return (block_size - sizeof(struct zj_jbd2_header) -
		ZJ_JBD2_UUID_BYTES - sizeof(struct zj_jbd2_tail)) /
	       sizeof(struct zj_jbd2_tag3);
}

static u32 ring_fit(struct zj_journal *zj, u32 lanes)
{
	struct zj_jbd2_super *sb = zj->front.j_superblock;

	zj->geo.block_size = zj->front.j_blocksize;
	zj->geo.total_blocks = zj->front.j_total_len;
	zj->geo.log_first = be32_to_cpu(sb->s_first);
	zj->geo.seg_blocks = 1;
	zj->geo.nr_segs = zj->geo.total_blocks - zj->geo.log_first;
	zj->geo.nr_lanes = 1;
	return zj->geo.nr_segs >= ZJ_RING_MIN ? 1 : 0;
}

/* Images and revoke blocks are counted by credits, a commit block is added. */
static u32 ring_blocks(const struct zj_journal *zj, u32 credits)
{
	return credits + 1 +
	       DIV_ROUND_UP(credits, images_per_block(zj->geo.block_size));
}

static u32 ring_room(struct zj_lane *lane, u32 need)
{
	return READ_ONCE(lane->journal->nr_pool);
}

/* Nothing is in the log. Stock's fast commit area is part of the ring from now on. */
static int ring_init(struct zj_journal *zj)
{
	struct zj_jbd2_super *sb = zj->front.j_superblock;

	mutex_lock(&zj->super_lock);
	sb->s_feature_incompat &= ~cpu_to_be32(ZJ_JBD2_INCOMPAT_FAST_COMMIT);
	mutex_unlock(&zj->super_lock);
	zj->ring.sequence = be32_to_cpu(sb->s_sequence);
	zj->ring.head = zj->geo.log_first;
	zj->ring.tail = zj->geo.log_first;
	/* Head and tail meet when the ring is empty only. */
	zj->nr_pool = zj->geo.nr_segs - 1;
	return 0;
}

/* Blocks of the ring for the transaction at hand; its promise covers them. */
static int claim(struct zj_jbd2_write *w, u32 blocks)
{
	struct zj_lane *lane = w->txn->lane;
	struct zj_journal *zj = w->zj;
	int err = 0;

	spin_lock(&lane->lock);
	lane->limit = 0;
	spin_lock(&zj->pool_lock);
	if (blocks <= zj->nr_pool) {
		WRITE_ONCE(zj->nr_pool, zj->nr_pool - blocks);
		w->pos = zj->ring.head;
		zj->ring.head = zj_jbd2_step(w->log, w->pos, blocks);
	} else {
		err = -ENOSPC;
	}
	spin_unlock(&zj->pool_lock);
	spin_unlock(&lane->lock);
	return err;
}

/* ---- block 0 ---- */

static int ring_go_live(struct zj_journal *zj)
{
	struct zj_jbd2_super *sb = zj->front.j_superblock;

	lockdep_assert_held(&zj->super_lock);
	sb->s_feature_incompat |= cpu_to_be32(ZJ_JBD2_INCOMPAT_REVOKE);
	zj_jbd2_log_of(sb, &zj->ring.log);
	sb->s_start = cpu_to_be32(zj->ring.tail);
	sb->s_sequence = cpu_to_be32(sequence_of(zj, zj->trimmed + 1));
	return zj_super_write(zj);
}

static int write_tail(struct zj_journal *zj, u32 tail, u32 sequence)
{
	struct zj_jbd2_super *sb = zj->front.j_superblock;
	__be32 old_start, old_sequence;
	int err;

	mutex_lock(&zj->super_lock);
	if (!zj->live) {
		/* Somebody has seen the log empty before us, and said so. */
		mutex_unlock(&zj->super_lock);
		return 0;
	}
	old_start = sb->s_start;
	old_sequence = sb->s_sequence;
	sb->s_start = cpu_to_be32(tail);
	sb->s_sequence = cpu_to_be32(sequence);
	/* Its pre-flush makes the home writes durable. */
	err = zj_super_write(zj);
	if (err) {
		sb->s_start = old_start;
		sb->s_sequence = old_sequence;
	}
	mutex_unlock(&zj->super_lock);
	return err;
}

static int ring_trim(struct zj_journal *zj, const struct zj_component *last)
{
	struct zj_txn *txn = list_first_entry(&last->members, struct zj_txn,
					      comp_link);
	struct zj_ring *ring = &zj->ring;
	u32 tail = zj_jbd2_step(&ring->log, txn->record_at, 1), freed;
	int err;

	lockdep_assert_held(&zj->ckpt_lock);
	err = write_tail(zj, tail, sequence_of(zj, last->stamp + 1));
	if (err)
		return err;
	freed = tail > ring->tail ? tail - ring->tail :
		tail + zj->geo.nr_segs - ring->tail;
	ring->tail = tail;
	spin_lock(&zj->pool_lock);
	WRITE_ONCE(zj->nr_pool, zj->nr_pool + freed);
	spin_unlock(&zj->pool_lock);
	return 0;
}

/* ---- log blocks ---- */

static void *new_block(struct zj_journal *zj)
{
	return kmem_cache_zalloc(zj->frozen_cache, GFP_NOFS | __GFP_NOFAIL);
}

static void put_block(struct zj_jbd2_write *w, void *data)
{
	zj_log_io_add(&w->io, w->pos, data);
	w->pos = zj_jbd2_step(w->log, w->pos, 1);
}

static void *own_block(struct zj_jbd2_write *w, u32 type)
{
	void *block = new_block(w->zj);

	zj_jbd2_put_header(block, type, w->sequence);
	w->own[w->nr_own++] = block;
	return block;
}

static void put_revokes(struct zj_jbd2_write *w)
{
	u32 i, n, most = zj_jbd2_revokes_per_block(w->log);
	struct zj_revoke *revoke;

	revoke = list_first_entry(&w->txn->revokes, struct zj_revoke, txn_link);
	for (; w->nr_revokes; w->nr_revokes -= n) {
		void *block = own_block(w, ZJ_JBD2_REVOKE);

		n = min_t(u32, w->nr_revokes, most);
		for (i = 0; i < n; i++) {
			zj_jbd2_put_revoke(w->log, block, i, revoke->block);
			revoke = list_next_entry(revoke, txn_link);
		}
		zj_jbd2_seal(w->log, block);
		put_block(w, block);
	}
}

static void put_tag(struct zj_jbd2_write *w, void *block, u32 i, bool last,
		    struct zj_part *part)
{
	struct zj_jbd2_image image = { .block = part->jh->bh->b_blocknr };

	/* A live image has nothing to escape, and is not ours. */
	if (part->frozen && zj_jbd2_escape(part->frozen))
		image.flags = ZJ_JBD2_TAG_ESCAPED;
	image.csum = zj_jbd2_image_csum(w->log, w->sequence, part->image);
	zj_jbd2_put_tag(w->log, block, i, last, &image);
}

static void put_images(struct zj_jbd2_write *w)
{
	struct zj_part *part = zj_first_image(w->txn), *first;
	u32 i, n, most = zj_jbd2_tags_per_block(w->log);

	for (; w->nr_images; w->nr_images -= n) {
		void *block = own_block(w, ZJ_JBD2_DESCRIPTOR);

		n = min_t(u32, w->nr_images, most);
		first = part;
		for (i = 0; i < n; i++) {
			put_tag(w, block, i, i == n - 1, part);
			part = zj_next_image(w->txn, part);
		}
		zj_jbd2_seal(w->log, block);
		put_block(w, block);
		for (part = first; n--; part = zj_next_image(w->txn, part))
			put_block(w, part->image);
		n = i;
	}
}

/* ---- one transaction ---- */

static u32 count(struct zj_jbd2_write *w)
{
	struct zj_part *part;

	list_for_each_entry(part, &w->txn->parts, txn_link)
		w->nr_images += zj_part_test(part, ZJ_PART_MODIFIED);
	w->nr_revokes = w->txn->nr_revokes;
	return DIV_ROUND_UP(w->nr_images, zj_jbd2_tags_per_block(w->log)) +
	       DIV_ROUND_UP(w->nr_revokes, zj_jbd2_revokes_per_block(w->log));
}

static int put_all(struct zj_jbd2_write *w)
{
	struct zj_txn *txn = w->txn;

	zj_settle_images(txn);
	txn->record = new_block(w->zj);
	zj_log_io_begin(&w->io, w->zj, 0);
	put_revokes(w);
	put_images(w);
	txn->record_at = w->pos;
	put_block(w, txn->record);
	return zj_log_io_end(&w->io);
}

/**
 * jbd2_write() - write a transaction's log blocks, wait for the device
 * @txn: frozen; the caller is its lane's thread
 *
 * Return: 0; -ENOSPC if the promise was broken; an I/O error.
 */
static int jbd2_write(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	struct zj_jbd2_write w = {
		.txn = txn,
		.zj = zj,
		.log = &zj->ring.log,
		.sequence = sequence_of(zj, txn->comp->stamp),
	};
	struct zj_lane_stats *st = &txn->lane->stats;
	u32 nr_own = count(&w);
	int err;

	st->blocks += w.nr_images;
	st->headers += nr_own + 1;
	err = claim(&w, nr_own + w.nr_images + 1);
	if (err)
		return err;
	w.own = kvmalloc_array(nr_own + 1, sizeof(*w.own),
			       GFP_NOFS | __GFP_NOFAIL);
	err = put_all(&w);
	while (w.nr_own)
		kmem_cache_free(zj->frozen_cache, w.own[--w.nr_own]);
	kvfree(w.own);
	return err;
}

/**
 * jbd2_record() - write a transaction's commit block
 * @txn: its log blocks are written; the caller is its lane's thread
 *
 * Without FUA it is in the device's cache then: the caller's next flush makes it
 * durable, before it writes that of another transaction.
 *
 * Return: 0 or an I/O error.
 */
static int jbd2_record(struct zj_txn *txn)
{
	struct zj_journal *zj = txn_zj(txn);
	bool fua = zj_log_fua(zj);
	struct zj_log_io io;
	int err;

	/* File data, too: it was waited for. */
	err = zj_dev_flush(zj, txn->lane);
	if (err)
		return err;
	zj_jbd2_put_commit(&zj->ring.log, txn->record,
			   sequence_of(zj, txn->comp->stamp),
			   ktime_get_real_seconds(), 0);
	zj_log_io_begin(&io, zj, fua ? REQ_FUA : 0);
	zj_log_io_add(&io, txn->record_at, txn->record);
	err = zj_log_io_end(&io);
	txn->cached = !fua;
	kmem_cache_free(zj->frozen_cache, txn->record);
	txn->record = NULL;
	return err;
}

const struct zj_log_ops zj_log_jbd2 = {
	.name		= "jbd2",
	.fit		= ring_fit,
	.blocks		= ring_blocks,
	.room		= ring_room,
	.init		= ring_init,
	.go_live	= ring_go_live,
	.trim		= ring_trim,
	.write		= jbd2_write,
	.record		= jbd2_record,
};
