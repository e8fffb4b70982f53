// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read a log in stock's format, and keep what is cut off or damaged too.  A
 * transaction is a record and a component of its own; its place is its stamp.
 */
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include <linux/crc32.h>
#include "log_view.h"
#include "zjctl.h"

/**
 * struct ring_walk - where the walk round the ring is
 */
struct ring_walk {
	struct log *log;
	struct log_record txn;	/* the transaction at hand */
	u8	*block;		/* its block at hand */
	u8	*image;		/* one block */
	u32	pos;		/* ring block to be read next */
	u32	left;		/* ring blocks not read yet */
	u32	sequence;	/* number of the transaction at hand */
	u64	time;		/* of the last commit block that was good */
	u32	crc;		/* over the transaction so far, version 1 */
	bool	async;		/* the scan goes on behind a bad commit block */
};

static void begin_txn(struct ring_walk *w)
{
	w->txn = (struct log_record) {
		.chunk.stamp = w->log->records.nr + 1,
		.chunk.tid = w->sequence,
		.chunk.nr_members = 1,
		.chunk.nr_chunks = 1,
		.log_block = w->pos,
		.first_entry = w->log->entries.nr,
		.first_image = w->log->images.nr,
		.state = LOG_GOOD,
	};
	w->crc = ~0U;
}

static int keep_txn(struct ring_walk *w)
{
	struct log_record *r = zj_vec_add(&w->log->records);

	if (!r)
		return -ENOMEM;
	w->txn.chunk.nr_tags = w->log->images.nr - w->txn.first_image;
	w->txn.chunk.nr_revokes = w->log->entries.nr - w->txn.first_entry;
	*r = w->txn;
	if (r->state == LOG_GOOD)
		w->log->newest = r->chunk.stamp;
	w->sequence++;
	begin_txn(w);
	return 1;
}

/* Returns 1, or 0 with the reason at the end of the log. */
static int end_here(struct ring_walk *w, enum log_end why)
{
	w->log->ring.why = why;
	return 0;
}

/* Returns whether it could be read. */
static bool read_block(struct ring_walk *w, void *buf)
{
	bool unread;

	log_read_blocks(w->log, w->pos, 1, buf, &unread);
	w->left--;
	w->pos = zj_jbd2_step(&w->log->ring.how, w->pos, 1);
	zx_progress("reading the log", w->log->ring.how.last - w->left,
		    w->log->ring.how.last);
	return !unread;
}

static int keep_image(struct ring_walk *w, const struct zj_jbd2_image *tag)
{
	const struct zj_jbd2_geo *how = &w->log->ring.how;
	struct log_image *image = zj_vec_add(&w->log->images);

	if (!image)
		return -ENOMEM;
	*image = (struct log_image) {
		.block = tag->block,
		.log_block = w->pos,
		.flags = tag->flags & ZJ_JBD2_TAG_ESCAPED ? ZJ_TAG_ESC_JBD2 : 0,
	};
	image->good = read_block(w, w->image) &&
		      (!how->tail_bytes ||
		       zj_jbd2_image_csum(how, w->sequence, w->image) == tag->csum);
	w->txn.bad_images += !image->good;
	if (how->csum1)
		w->crc = crc32_be(w->crc, w->image, how->block_size);
	return 0;
}

static int walk_descriptor(struct ring_walk *w)
{
	const struct zj_jbd2_geo *how = &w->log->ring.how;
	struct zj_jbd2_image tag;
	u32 at = 0, n = 0;
	int err;

	if (!zj_jbd2_csum_good(how, w->block))
		w->txn.state = LOG_TORN;
	if (how->csum1)
		w->crc = crc32_be(w->crc, w->block, how->block_size);
	while (zj_jbd2_get_tag(how, w->block, &at, &tag))
		n++;
	if (n > w->left)
		return end_here(w, LOG_BAD_HEADER);
	at = 0;
	while (zj_jbd2_get_tag(how, w->block, &at, &tag)) {
		err = keep_image(w, &tag);
		if (err)
			return err;
	}
	return 1;
}

static int walk_revokes(struct ring_walk *w)
{
	const struct zj_jbd2_geo *how = &w->log->ring.how;
	int nr = zj_jbd2_nr_revokes(how, w->block);

	if (!zj_jbd2_csum_good(how, w->block) || nr < 0)
		w->txn.state = LOG_TORN;
	for (int i = 0; i < nr; i++) {
		u64 *entry = zj_vec_add(&w->log->entries);

		if (!entry)
			return -ENOMEM;
		*entry = zj_jbd2_get_revoke(how, w->block, i);
	}
	return 1;
}

static bool commit_good(const struct ring_walk *w)
{
	const struct zj_jbd2_commit *commit = (void *)w->block;
	u32 crc = be32_to_cpu(commit->chksum[0]);

	if (!w->log->ring.how.csum1)
		return zj_jbd2_commit_good(&w->log->ring.how, commit);
	if (!commit->chksum_type && !commit->chksum_size && !crc)
		return true;
	return commit->chksum_type == ZJ_JBD2_CRC32 &&
	       commit->chksum_size == sizeof(crc) && crc == w->crc;
}

static int walk_commit(struct ring_walk *w)
{
	const struct zj_jbd2_commit *commit = (void *)w->block;
	u64 time = be64_to_cpu(commit->sec);
	bool torn = w->txn.state == LOG_TORN, good = commit_good(w);
	int err;

	w->txn.chunk.commit_sec = time;
	if (torn || !good)
		w->txn.state = LOG_TORN;
	else
		w->time = time;
	err = keep_txn(w);
	if (err < 0 || (good && !torn))
		return err;
	/* Only there recovery goes on, to see whether it was cut off or is damaged. */
	if (!torn && w->async && w->log->ring.how.csum1 && time >= w->time)
		return err;
	return end_here(w, LOG_TORN_HEADER);
}

/* Returns 1 to go on, 0 at the end of the log, or a negative error. */
static int walk_block(struct ring_walk *w)
{
	const struct zj_jbd2_header *h = (void *)w->block;

	w->log->ring.end = w->pos;
	if (!w->left)
		return end_here(w, LOG_FULL);
	if (!read_block(w, w->block))
		return end_here(w, LOG_UNREADABLE);
	switch (zj_jbd2_type(w->block, w->sequence)) {
	case ZJ_JBD2_DESCRIPTOR:
		return walk_descriptor(w);
	case ZJ_JBD2_REVOKE:
		return walk_revokes(w);
	case ZJ_JBD2_COMMIT:
		return walk_commit(w);
	}
	if (be32_to_cpu(h->magic) != ZJ_JBD2_MAGIC)
		return end_here(w, LOG_UNUSED);
	return end_here(w, be32_to_cpu(h->sequence) == w->sequence ? LOG_BAD_HEADER :
			LOG_STALE);
}

/* What has no commit block is kept as well. */
static int walk(struct ring_walk *w)
{
	int err;

	begin_txn(w);
	do {
		err = walk_block(w);
	} while (err > 0);
	zx_progress(NULL, 0, 0);
	if (err || (w->log->images.nr == w->txn.first_image &&
		    w->log->entries.nr == w->txn.first_entry))
		return err;
	if (w->txn.state == LOG_GOOD)
		w->txn.state = LOG_UNCOMMITTED;
	err = keep_txn(w);
	return err < 0 ? err : 0;
}

static int open_ring(struct log *log, const struct zj_jbd2_super *sb)
{
	struct log_ring *ring = &log->ring;

	zj_jbd2_geo_of(sb, &ring->how);
	ring->used = true;
	ring->start = be32_to_cpu(sb->s_start);
	ring->sequence = be32_to_cpu(sb->s_sequence);
	log->geo = (struct zj_log_geometry) {
		.block_size = ring->how.block_size,
		.total_blocks = log->img->journal_blocks,
		.log_first = ring->how.first,
		.seg_blocks = 1,
		.nr_lanes = 1,
	};
	return ring->how.last > log->img->journal_blocks ||
	       ring->how.first >= ring->how.last || ring->start < ring->how.first ||
	       ring->start >= ring->how.last ? -EUCLEAN : 0;
}

static u32 used(const struct log_ring *ring)
{
	u32 room = ring->how.last - ring->how.first;

	return ring->why == LOG_FULL ? room : (ring->end + room - ring->start) % room;
}

int ring_read(struct log *log, const struct zj_jbd2_super *sb)
{
	struct ring_walk w = {
		.log = log,
		.async = sb->s_feature_incompat & cpu_to_be32(ZJ_JBD2_INCOMPAT_ASYNC_COMMIT),
	};
	int err = open_ring(log, sb);

	if (err)
		return err;
	w.block = malloc(log->geo.block_size);
	w.image = malloc(log->geo.block_size);
	w.pos = log->ring.start;
	w.sequence = log->ring.sequence;
	w.left = log->ring.how.last - log->ring.how.first;
	err = w.block && w.image ? walk(&w) : -ENOMEM;
	log->ring.blocks = used(&log->ring);
	free(w.block);
	free(w.image);
	return err;
}
