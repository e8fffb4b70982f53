// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of a log in stock's format: ours with log=jbd2, or one that stock
 * ext4 left.
 *
 * The rules are those of stock, with two differences: the whole log is read and
 * checked before the first block is written, and a damaged image is an error,
 * instead of being skipped. A transaction becomes a component of its own; its
 * place in the log is its stamp. replay.c chooses the images and writes them.
 */
#include <linux/crc32.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include "format/codec_jbd2.h"
#include "recovery/recovery_int.h"

#define ZJ_JBD2_PIECE	(256U << 10)	/* bytes read at a time */

/*
 * Layout of the first block of the fast commit area: tag and length, then
 * struct ext4_fc_head.
 */
#define EXT4_FC_HEAD	9
#define EXT4_FC_TID_AT	8

/**
 * struct zj_jbd2_scan - the position of the scan
 */
struct zj_jbd2_scan {
	struct zj_recovery *r;
	struct zj_jbd2_geo log;
	struct zj_rec_chunk txn; /* the current transaction */
	const void *block;	/* the current block; valid until the next one is read */
	u32	blocks;		/* blocks of the ring */
	u32	start;		/* ring block at which the log starts */
	u32	pos;		/* next ring block to be read */
	u32	at;		/* place in its piece of what was read last */
	u32	next;		/* next piece of the ring to be read ahead */
	u32	have;		/* blocks of the current piece that are in memory; 0: read them
				 * directly
				 */
	u32	left;		/* ring blocks that are not read yet */
	u32	sequence;	/* number of the current transaction */
	u64	time;		/* time in the last valid commit block */
	u32	crc;		/* checksum of the current transaction so far, version 1 */
	u32	unread;		/* block of an image of the transaction that cannot be read; 0:
				 * none
				 */
	u32	fast_first;	/* first block of the fast commit area */
	u32	fast_end;	/* the block after it; at most fast_first: no area */
	bool	async;		/* commit blocks may be in the log before their log blocks */
	bool	doubtful;	/* a block of the transaction has a wrong checksum */
	bool	misfit;		/* a revoke block of the transaction claims more than
				 * fits into it
				 */
	bool	broken;		/* the previous transaction was incomplete */
	bool	fast;		/* fast commits follow the last transaction */
};

static void begin_txn(struct zj_jbd2_scan *s)
{
	struct zj_recovery *r = s->r;

	s->txn = (struct zj_rec_chunk) {
		.stamp = r->components.nr + 1,
		.first_revoke = r->entries.nr,
		.first_image = r->images.nr,
	};
	s->crc = ~0U;
	s->doubtful = false;
	s->misfit = false;
	s->unread = 0;
}

static void drop_txn(struct zj_jbd2_scan *s)
{
	s->r->images.nr = s->txn.first_image;
	s->r->entries.nr = s->txn.first_revoke;
}

/* ---- reading the ring ahead ---- */

/* Begins to read a piece of the ring, which may wrap at the ring's end. */
static void ask_piece(struct zj_jbd2_scan *s, u32 piece)
{
	u32 at = piece * s->r->piece;
	u32 nr = min(s->r->piece, s->blocks - at), n;
	u32 pos = zj_jbd2_step(&s->log, s->start, at);

	for (; nr; nr -= n, pos = s->log.first) {
		n = min(nr, s->log.last - pos);
		zj_ahead_ask(s->r, piece % s->r->depth, pos, n);
	}
}

/* Waits for a piece of the ring, and begins to read those behind it. */
static void get_piece(struct zj_jbd2_scan *s, u32 piece)
{
	u32 pieces = DIV_ROUND_UP(s->blocks, s->r->piece);

	while (s->next < min(piece + s->r->depth, pieces))
		ask_piece(s, s->next++);
	s->have = zj_ahead_end(s->r, piece % s->r->depth);
}

/*
 * Returns blocks from s->pos on that are neighbours, *@nr at most, and advances
 * past them.
 */
static int read_ring(struct zj_jbd2_scan *s, u32 *nr, const void **data)
{
	struct zj_recovery *r = s->r;
	u32 done = s->pos - s->start + (s->pos < s->start ? s->blocks : 0);
	u32 at = done % r->piece;
	void *buf = zj_piece(r, done / r->piece % r->depth) +
		    (size_t)at * r->geo.block_size;
	int err = 0;

	if (!at) {
		get_piece(s, done / r->piece);
		memset(r->unread, 0, sizeof(r->unread));
	}
	*nr = min3(*nr, r->piece - at, s->log.last - s->pos);
	*data = buf;
	s->at = at;
	if (!s->have)
		err = zj_read_blocks(r, s->pos, *nr, at, buf);
	s->pos = zj_jbd2_step(&s->log, s->pos, *nr);
	return err;
}

/*
 * A block that cannot be read, and without which nobody knows where the log
 * ends. Returns 0 to let it end there, or -EUCLEAN.
 */
static int unread_block(struct zj_jbd2_scan *s, u32 block, const char *what)
{
	struct zj_recovery *r = s->r;

	if (!(r->flags & ZJ_RECOVER_DROP_DAMAGED))
		return zj_corrupt(r, "transaction %u: journal block %u cannot be read, %s; "
				  ZJ_HOW_TO_DROP, s->sequence, block, what);
	r->stats->lost_stamp = s->txn.stamp;
	return 0;
}

/* ---- descriptor blocks and their images ---- */

static void look_at_image(struct zj_jbd2_scan *s, struct zj_rec_image *image,
			  const void *data, bool unread)
{
	u32 size = s->log.block_size;

	image->unread = unread;
	if (unread && !s->unread)
		s->unread = image->log_block;
	image->bad = s->log.tail_bytes &&
		     zj_jbd2_image_csum(&s->log, s->sequence, data) != image->csum;
	if (s->log.csum1)
		s->crc = crc32_be(s->crc, data, size);
	/*
	 * From here on the checksum is recovery's own, for an image that is
	 * read again.
	 */
	image->csum = zj_image_csum(s->r->seed, data, size);
	image->kept = zj_keep_image(s->r, data);
}

static int read_images(struct zj_jbd2_scan *s, u32 i)
{
	struct zj_recovery *r = s->r;
	struct zj_rec_image *image = r->images.items;
	const void *data;
	u32 pos, n, k;
	int err;

	for (; i < r->images.nr; i += n) {
		pos = s->pos;
		n = r->images.nr - i;
		err = read_ring(s, &n, &data);
		if (err)
			return err;
		for (k = 0; k < n; k++) {
			image[i + k].log_block = pos + k;
			look_at_image(s, &image[i + k],
				      data + (size_t)k * s->log.block_size,
				      zj_is_unread(r, s->at + k));
		}
		err = zj_yield();
		if (err)
			return err;
	}
	return 1;
}

static int scan_descriptor(struct zj_jbd2_scan *s)
{
	struct zj_recovery *r = s->r;
	u32 at = 0, first = r->images.nr, n;
	struct zj_jbd2_image tag;

	if (!zj_jbd2_csum_good(&s->log, s->block))
		s->doubtful = true;
	if (s->log.csum1)
		s->crc = crc32_be(s->crc, s->block, s->log.block_size);
	while (zj_jbd2_get_tag(&s->log, s->block, &at, &tag)) {
		struct zj_rec_image *image = zj_vec_add(&r->images);

		if (!image)
			return zj_no_memory(r);
		*image = (struct zj_rec_image) {
			.block = tag.block,
			.stamp = s->txn.stamp,
			.csum = tag.csum,
			.order = r->images.nr,
			.flags = tag.flags & ZJ_JBD2_TAG_ESCAPED ?
				 ZJ_TAG_ESC_JBD2 : 0,
		};
	}
	n = r->images.nr - first;
	if (n > s->left)
		return 0;
	s->left -= n;
	return read_images(s, first);
}

static int scan_revokes(struct zj_jbd2_scan *s)
{
	int i, nr = zj_jbd2_nr_revokes(&s->log, s->block);
	u64 *entry;

	if (!zj_jbd2_csum_good(&s->log, s->block))
		s->doubtful = true;
	if (nr < 0)
		s->misfit = true;
	for (i = 0; i < nr; i++) {
		entry = zj_vec_add(&s->r->entries);
		if (!entry)
			return zj_no_memory(s->r);
		*entry = zj_jbd2_get_revoke(&s->log, s->block, i);
	}
	return 1;
}

/* ---- commit blocks ---- */

static bool commit_good(const struct zj_jbd2_scan *s)
{
	const struct zj_jbd2_commit *commit = s->block;
	u32 crc = be32_to_cpu(commit->chksum[0]);

	if (!s->log.csum1)
		return zj_jbd2_commit_good(&s->log, s->block);
	/* A writer may leave the checksum out. */
	if (!commit->chksum_type && !commit->chksum_size && !crc)
		return true;
	return commit->chksum_type == ZJ_JBD2_CRC32 &&
	       commit->chksum_size == sizeof(crc) && crc == s->crc;
}

/*
 * Decides what a wrong checksum means. A commit block older than the one before
 * it is a leftover of an earlier use of the journal, and ends the log.
 * Everything else is damage. Returns 0 or -EUCLEAN.
 */
static int stale_or_damaged(struct zj_jbd2_scan *s, u64 time, const char *what)
{
	if (time < s->time)
		return 0;
	return zj_corrupt(s->r, "transaction %u: wrong checksum of its %s",
			  s->sequence, what);
}

static int check_txn(struct zj_jbd2_scan *s)
{
	struct zj_recovery *r = s->r;
	const struct zj_rec_image *image = r->images.items;
	u32 i;

	if (s->misfit)
		return zj_corrupt(r, "transaction %u: a revoke block has an impossible length",
				  s->sequence);
	for (i = s->txn.first_image; i < r->images.nr; i++)
		if (image[i].block >= r->home_blocks)
			return zj_corrupt(r, "transaction %u: image of block %llu, but the device has %llu blocks",
					  s->sequence, image[i].block,
					  r->home_blocks);
	return 0;
}

static int keep_txn(struct zj_jbd2_scan *s)
{
	struct zj_recovery *r = s->r;
	struct zj_rec_component *comp = zj_vec_add(&r->components);
	struct zj_rec_chunk *chunk = zj_vec_add(&r->chunks);
	int err;

	if (!comp || !chunk)
		return zj_no_memory(r);
	err = check_txn(s);
	if (err)
		return err;
	s->txn.nr_images = r->images.nr - s->txn.first_image;
	s->txn.nr_revokes = r->entries.nr - s->txn.first_revoke;
	*chunk = s->txn;
	*comp = (struct zj_rec_component) {
		.stamp = s->txn.stamp,
		.first_chunk = r->chunks.nr - 1,
		.nr_chunks = 1,
		.committed = true,
	};
	return 0;
}

static int scan_commit(struct zj_jbd2_scan *s)
{
	const struct zj_jbd2_commit *commit = s->block;
	u64 time = be64_to_cpu(commit->sec);
	int err;

	if (s->doubtful)
		return stale_or_damaged(s, time, "log blocks");
	if (s->broken)
		return zj_corrupt(s->r, "transaction %u is damaged, but one after it is not",
				  s->sequence - 1);
	/* Without the image version 1's checksum of the transaction cannot be computed. */
	if (s->unread && (s->log.csum1 || s->r->flags & ZJ_RECOVER_DROP_DAMAGED))
		return unread_block(s, s->unread, "which holds an image of it");
	if (!commit_good(s)) {
		if (!s->async || time < s->time)
			return stale_or_damaged(s, time, "commit block");
		if (!s->log.csum1)
			return 0;
		/*
		 * The crash has cut this transaction off, unless a later one
		 * follows.
		 */
		drop_txn(s);
		s->broken = true;
	} else {
		s->time = time;
		err = keep_txn(s);
		if (err)
			return err;
	}
	s->sequence++;
	begin_txn(s);
	return 1;
}

/* ---- blocks of the ring ---- */

/* Returns 1 to go on, 0 at the end of the log, or a negative error. */
static int scan_block(struct zj_jbd2_scan *s)
{
	u32 one = 1, pos = s->pos;
	int err;

	if (!s->left)
		return 0;
	err = read_ring(s, &one, &s->block);
	if (err)
		return err;
	s->left--;
	if (zj_is_unread(s->r, s->at))
		return unread_block(s, pos, "where the log goes on or ends");
	switch (zj_jbd2_type(s->block, s->sequence)) {
	case ZJ_JBD2_DESCRIPTOR:
		return scan_descriptor(s);
	case ZJ_JBD2_REVOKE:
		return scan_revokes(s);
	case ZJ_JBD2_COMMIT:
		return scan_commit(s);
	}
	return 0;
}

static int scan_ring(struct zj_jbd2_scan *s)
{
	int err;

	begin_txn(s);
	do {
		zj_tell(s->r, ZJ_READING_LOG, s->blocks - s->left, s->blocks);
		err = zj_yield() ?: scan_block(s);
	} while (err > 0);
	if (err)
		return err;
	s->r->stats->discarded = s->broken || s->r->images.nr > s->txn.first_image ||
				 s->r->entries.nr > s->txn.first_revoke;
	drop_txn(s);
	if (s->broken)
		s->sequence--;
	s->r->stats->chunks = s->r->chunks.nr;
	s->r->stats->components = s->r->components.nr;
	s->r->stats->committed_components = s->r->components.nr;
	s->r->stats->transactions = s->r->components.nr;
	s->r->stats->newest_stamp = s->r->components.nr;
	return 0;
}

/* ---- fast commits ---- */

/*
 * Are there fast commits that continue the last transaction? Those of an older
 * transaction are leftovers. Returns 1, 0 or a negative error.
 */
static int find_fast_commits(struct zj_jbd2_scan *s)
{
	const u8 *head = s->r->buf;
	__le16 tag;
	__le32 tid;
	int err;

	if (s->fast_first >= s->fast_end)
		return 0;
	memset(s->r->unread, 0, sizeof(s->r->unread));
	err = zj_read_blocks(s->r, s->fast_first, 1, 0, s->r->buf);
	if (err)
		return err;
	if (zj_is_unread(s->r, 0))
		return unread_block(s, s->fast_first, "where fast commits of stock ext4 may begin");
	memcpy(&tag, head, sizeof(tag));
	memcpy(&tid, head + EXT4_FC_TID_AT, sizeof(tid));
	return le16_to_cpu(tag) == EXT4_FC_HEAD && le32_to_cpu(tid) == s->sequence;
}

/*
 * Gives one block of the area to the host. Fast commits may fill the area up to
 * its last block, so a block of zeros follows, which shows the host the end.
 * Returns 1 to go on, 0 at the end, or a negative error.
 */
static int give_fast_commit(struct zj_jbd2_scan *s, u32 index, bool replay)
{
	struct zj_recovery *r = s->r;
	u32 block = s->fast_first + index;
	int err = zj_yield();

	if (!err && block < s->fast_end)
		err = zj_read_log(r, block, 1, r->buf);
	else
		memset(r->buf, 0, r->geo.block_size);
	if (err)
		return err;
	err = r->ops->fast_commit(r->ctx, replay, index, r->buf, s->sequence);
	if (err < 0 && (replay || err != -EBADMSG))
		r->ops->msg(r->ctx, 0,
			    "fast commits of transaction %u: error %d when block %u of the journal was %s%s",
			    s->sequence, err, block, replay ? "replayed" : "read",
			    replay ? "" : "; nothing was written");
	return block < s->fast_end ? err : min(err, 0);
}

/* Returns how many blocks of the area the host has used, or a negative error. */
static int pass_fast_commits(struct zj_jbd2_scan *s, bool replay)
{
	u32 i = 0;
	int err;

	while ((err = give_fast_commit(s, i, replay)) > 0)
		i++;
	return err ?: i;
}

/* Before anything is written: finds fast commits, and whether they can be replayed. */
static int check_fast_commits(struct zj_jbd2_scan *s)
{
	struct zj_recovery *r = s->r;
	int err;

	/* They are discarded with the rest: no mount would come as far as they are. */
	if (r->stats->lost_stamp)
		return 0;
	err = find_fast_commits(s);
	if (err <= 0)
		return err;
	if (!r->ops->fast_commit) {
		r->ops->msg(r->ctx, 0,
			    "the log ends with fast commits of stock ext4, which a mount replays; nothing was written: mount it once, as zext4 or ext4, or run e2fsck");
		return -EOPNOTSUPP;
	}
	err = pass_fast_commits(s, false);
	if (err == -EBADMSG) {
		/* It was being written at the crash, so no fsync relies on it. */
		r->ops->msg(r->ctx, 1,
			    "transaction %u: the first fast commit is not whole and is left out",
			    s->sequence);
		return 0;
	}
	s->fast = err >= 0;
	return min(err, 0);
}

/* The images are home. Fast commits change what they have brought there. */
static int replay_fast_commits(struct zj_jbd2_scan *s)
{
	int nr;

	if (!s->fast)
		return 0;
	nr = pass_fast_commits(s, true);
	if (nr < 0)
		return nr;
	s->r->stats->fast_blocks = nr;
	s->r->ops->msg(s->r->ctx, 1, "%u blocks of fast commits replayed", nr);
	return zj_flush_home(s->r);
}

static int check_super(struct zj_recovery *r, const struct zj_jbd2_super *sb,
		       const struct zj_jbd2_geo *log)
{
	u32 incompat = be32_to_cpu(sb->s_feature_incompat);
	u32 start = be32_to_cpu(sb->s_start);

	/*
	 * This also refuses a log without blocks, because it could start at
	 * none of them.
	 */
	if (log->last > r->journal_blocks || start < log->first ||
	    start >= log->last)
		return zj_corrupt(r, "it starts at block %u, which is not one of its blocks, %u to %u",
				  start, log->first, log->last - 1);
	if (!!(incompat & ZJ_JBD2_INCOMPAT_CSUM_V2) + log->csum3 + log->csum1 > 1)
		return zj_corrupt(r, "block 0 asks for two kinds of checksums");
	return 0;
}

static int scan_log(struct zj_jbd2_scan *s)
{
	struct zj_recovery *r = s->r;
	u32 piece = max(ZJ_JBD2_PIECE / s->log.block_size, 1U);
	int err;

	err = zj_ahead_begin(r, piece, DIV_ROUND_UP(s->blocks, piece));
	if (!err)
		err = scan_ring(s);
	/*
	 * The log may have ended before the pieces that are being read ahead.
	 */
	zj_ahead_stop(r);
	if (!err)
		err = check_fast_commits(s);
	if (!err)
		err = zj_choose(r);
	if (err)
		return err;
	r->ops->msg(r->ctx, 1, "log: %u transactions to replay, %u blocks",
		    r->stats->transactions, r->stats->replayed);
	zj_report_unread(r);
	if (r->flags & ZJ_RECOVER_DRY_RUN)
		return 0;
	return zj_write_home(r) ?: replay_fast_commits(s);
}

/**
 * zj_recover_jbd2() - replay a stock JBD2 log; see recovery.h
 */
int zj_recover_jbd2(const struct zj_recovery_args *args, const struct zj_jbd2_super *sb,
		    u32 *sequence)
{
	struct zj_recovery r;
	struct zj_jbd2_scan s = {
		.r = &r,
		.start = be32_to_cpu(sb->s_start),
		.pos = be32_to_cpu(sb->s_start),
		.sequence = be32_to_cpu(sb->s_sequence),
		.async = sb->s_feature_incompat &
			 cpu_to_be32(ZJ_JBD2_INCOMPAT_ASYNC_COMMIT),
	};
	int err;

	zj_recovery_begin(&r, args);
	zj_jbd2_geo_of(sb, &s.log);
	s.blocks = s.log.last - s.log.first;
	s.left = s.blocks;
	/* Stock leaves one block free between the ring and the area. */
	s.fast_first = s.log.last + 1;
	s.fast_end = be32_to_cpu(sb->s_maxlen);
	/* For messages, the whole log is one segment. */
	r.geo.block_size = s.log.block_size;
	r.geo.seg_blocks = args->journal_blocks;
	err = check_super(&r, sb, &s.log);
	if (!err)
		err = scan_log(&s);
	*sequence = s.sequence;
	/* What was dropped is whole, and must not seem to follow what is written next. */
	if (args->stats->lost_stamp)
		*sequence += s.blocks;
	zj_recovery_end(&r);
	return err;
}
