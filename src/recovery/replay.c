// SPDX-License-Identifier: GPL-2.0-only
/*
 * Third pass: choose the newest committed image of every block that is not
 * revoked, write these home in the order of blocks, then empty the log.
 */
#include <linux/string.h>
#include "format/line_set.h"
#include "recovery/recovery_int.h"

static int zj_cmp_image(const void *pa, const void *pb)
{
	const struct zj_rec_image *a = pa, *b = pb;
	int c = zj_cmp(a->block, b->block);

	c = c ? c : zj_cmp(a->stamp, b->stamp);
	return c ? c : zj_cmp(a->order, b->order);
}

/* Drops the images of components that are not committed. */
static int zj_keep_committed_images(struct zj_recovery *r)
{
	const struct zj_rec_component *comp = r->components.items;
	const struct zj_rec_chunk *chunk = r->chunks.items;
	struct zj_rec_image *image = r->images.items;
	u32 i, c, k, kept = 0;
	int err;

	for (i = 0; i < r->components.nr; i++) {
		if (!comp[i].committed)
			continue;
		for (c = 0; c < comp[i].nr_chunks; c++) {
			const struct zj_rec_chunk *from =
				&chunk[comp[i].first_chunk + c];

			for (k = 0; k < from->nr_images; k++)
				image[from->first_image + k].committed = true;
			err = zj_yield();
			if (err)
				return err;
		}
	}
	for (i = 0; i < r->images.nr; i++)
		if (image[i].committed)
			image[kept++] = image[i];
	r->images.nr = kept;
	r->stats->images = kept;
	return 0;
}

static int zj_sort_images(struct zj_recovery *r)
{
	struct zj_rec_image *image = r->images.items;
	int err = zj_sort(&r->images, zj_cmp_image);
	u32 i;

	if (err)
		return err;
	for (i = 1; i < r->images.nr; i++)
		if (!zj_cmp_image(&image[i - 1], &image[i]))
			return zj_corrupt(r, "stamp %llu: two images of block %llu, in segment %u block %u and segment %u block %u",
					  image[i].stamp, image[i].block,
					  zj_seg_of(r, image[i - 1].log_block),
					  zj_seg_block_of(r, image[i - 1].log_block),
					  zj_seg_of(r, image[i].log_block),
					  zj_seg_block_of(r, image[i].log_block));
	return 0;
}

/* The newest image of a block is its last one in the sorted array. */
static int zj_index_images(struct zj_recovery *r)
{
	const struct zj_rec_image *image = r->images.items;
	u32 i;
	int err;

	if (zj_table_init(&r->by_block, r->images.nr))
		return zj_no_memory(r);
	for (i = 0; i < r->images.nr; i++) {
		if (i + 1 == r->images.nr || image[i + 1].block != image[i].block)
			zj_table_add(&r->by_block, image[i].block, i);
		err = zj_yield();
		if (err)
			return err;
	}
	return 0;
}

static struct zj_rec_image *zj_newest_image(struct zj_recovery *r, u64 block)
{
	struct zj_rec_image *image = r->images.items;
	s64 i = zj_table_find(&r->by_block, block);

	return i < 0 ? NULL : &image[i];
}

/* Components come in stamp order, so the highest stamp stays. */
static void zj_apply_revokes_of(struct zj_recovery *r, const struct zj_rec_chunk *chunk)
{
	const u64 *entries = r->entries.items;
	struct zj_rec_image *image;
	u32 i;

	for (i = 0; i < chunk->nr_revokes; i++) {
		image = zj_newest_image(r, entries[chunk->first_revoke + i]);
		if (image)
			image->revoked = chunk->stamp;
	}
}

/*
 * Notes at the newest image of each block the highest stamp that revokes the
 * block.
 */
static int zj_apply_revokes(struct zj_recovery *r)
{
	const struct zj_rec_component *comp = r->components.items;
	const struct zj_rec_chunk *chunk = r->chunks.items;
	u32 i, c;
	int err;

	for (i = 0; i < r->components.nr; i++) {
		if (!comp[i].committed)
			continue;
		for (c = 0; c < comp[i].nr_chunks; c++) {
			zj_apply_revokes_of(r, &chunk[comp[i].first_chunk + c]);
			err = zj_yield();
			if (err)
				return err;
		}
	}
	return 0;
}

/*
 * Returns the first of a block's images, @first to @last, that has to be
 * applied. The newest whole image makes all older ones superfluous, and a
 * revoke voids the images that it covers.
 */
static u32 zj_first_needed(const struct zj_recovery *r, u32 first, u32 last)
{
	const struct zj_rec_image *image = r->images.items;
	u32 i = last;

	while (i > first && image[i].lines != r->whole &&
	       image[i - 1].stamp > image[last].revoked)
		i--;
	return i;
}

/*
 * Drops of a block's images, @first to @last, those of which newer ones have all lines.
 * Returns the number of the others, which are moved to @to.
 */
static u32 zj_keep_lines(struct zj_recovery *r, u32 first, u32 last, u32 to)
{
	struct zj_rec_image *image = r->images.items;
	u64 newer = 0, lines;
	u32 i, nr = 0;

	for (i = last + 1; i-- > first;) {
		lines = image[i].lines;
		/* Without a whole image, the block at home would have to be read. */
		if (lines != r->whole && !(lines & ~newer))
			image[i].lines = 0;
		newer |= lines;
	}
	for (i = first; i <= last; i++)
		if (image[i].lines || !r->whole)
			image[to + nr++] = image[i];
	return nr;
}

/*
 * Keeps for each block the images to be written: the newest one, unless it is
 * revoked, and if it has only lines also those that it is built on. If the log
 * on a disk has lines of a block without the image that they are put over, the block is
 * home, as the image stays in the log until then (J2). Or a device without barriers has
 * lost the image, and there is nothing to be had.
 */
static int zj_keep_newest(struct zj_recovery *r)
{
	struct zj_rec_image *image = r->images.items;
	u32 i, first = 0, from, kept = 0;
	int err;

	for (i = 0; i < r->images.nr; i++) {
		const struct zj_rec_image *newest = &image[i];

		if (i + 1 < r->images.nr && image[i + 1].block == image[i].block)
			continue;
		err = zj_yield();
		if (err)
			return err;
		from = zj_first_needed(r, first, i);
		for (; first <= i; first++) {
			if (image[first].stamp <= newest->revoked)
				r->stats->revoked++;
			else if (image[first].unread)
				return zj_corrupt(r, "image of block %llu: journal block %u cannot be read; " ZJ_HOW_TO_DROP,
						  image[first].block,
						  image[first].log_block);
			else if (image[first].bad)
				return zj_corrupt(r, "image of block %llu in journal block %u: wrong checksum",
						  image[first].block,
						  image[first].log_block);
		}
		if (newest->stamp <= newest->revoked)
			continue;
		if (!r->memory && image[from].lines != r->whole)
			continue;
		if (newest->revoked && image[from].lines != r->whole)
			return zj_corrupt(r, "stamp %llu: lines of block %llu, which was revoked before",
					  image[from].stamp, image[from].block);
		r->stats->replayed++;
		kept += zj_keep_lines(r, from, i, kept);
	}
	r->images.nr = kept;
	return 0;
}

/*
 * An image of the journal's own blocks would overwrite the log that is still to
 * be read. The journal never logs any.
 */
static int zj_check_own_blocks(struct zj_recovery *r)
{
	const struct zj_rec_image *image;
	u32 i;
	int err;

	if (!r->ops->log_home || !r->images.nr)
		return 0;
	for (i = 0; i < r->journal_blocks; i++) {
		err = zj_yield();
		if (err)
			return err;
		image = zj_newest_image(r, r->ops->log_home(r->ctx, i));
		if (image)
			return zj_corrupt(r, "stamp %llu: segment %u block %u is an image of block %llu, which is the journal's own block %u",
					  image->stamp,
					  zj_seg_of(r, image->log_block),
					  zj_seg_block_of(r, image->log_block),
					  image->block, i);
	}
	return 0;
}

int zj_choose(struct zj_recovery *r)
{
	int err = zj_keep_committed_images(r);

	if (!err)
		err = zj_sort_images(r);
	if (!err)
		err = zj_index_images(r);
	if (!err)
		err = zj_check_own_blocks(r);
	if (!err)
		err = zj_apply_revokes(r);
	return err ?: zj_keep_newest(r);
}

/*
 * Reports a failed write. Everything written home so far is committed, so it is
 * safe to start again.
 */
int zj_write_failed(struct zj_recovery *r, int err, const char *what,
		    u64 block)
{
	r->ops->msg(r->ctx, 0,
		    "error %d writing %s (block %llu); the log is kept: check the device, then mount or recover again",
		    err, what, block);
	return err;
}

/*
 * Puts an image over the older ones of its block, and writes the block if there is no newer one.
 */
static int zj_replay_image(struct zj_recovery *r, u32 i)
{
	const struct zj_rec_image *image = (struct zj_rec_image *)r->images.items + i;
	bool newer = i + 1 < r->images.nr && image[1].block == image->block;
	void *block = r->built;
	int err;

	if (image->data) {
		zj_lines_apply(block, image->kept + image->data, image->lines,
			       r->geo.block_size);
	} else {
		zj_unescape(image->kept, image->flags);
		if (newer)
			memcpy(block, image->kept, r->geo.block_size);
		else
			block = image->kept;
	}
	if (newer)
		return 0;
	err = r->ops->write_home(r->ctx, image->block, block);
	return err ? zj_write_failed(r, err, "a block home", image->block) : 0;
}

/* Makes durable what was written home. */
int zj_flush_home(struct zj_recovery *r)
{
	int err = r->ops->flush_home(r->ctx);

	return err ? zj_write_failed(r, err, "the device's cache back", 0) : 0;
}

/* Writes the chosen images home durably. The log stays as it is. */
int zj_write_home(struct zj_recovery *r)
{
	u32 i, end = 0;
	int err;

	for (i = 0; i < r->images.nr; i++) {
		if (i == end) {
			err = zj_read_images(r, i, &end);
			if (err)
				return err;
		}
		zj_tell(r, ZJ_WRITING_HOME, i, r->images.nr);
		err = zj_replay_image(r, i) ?: zj_yield();
		if (err)
			return err;
	}
	return zj_flush_home(r);
}

int zj_replay(struct zj_recovery *r)
{
	int err = zj_write_home(r);

	if (err)
		return err;
	/* One sector with the next generation makes every record stale (D4). */
	r->geo.generation++;
	zj_encode_log_super(&r->geo, r->buf);
	err = r->ops->write_log(r->ctx, ZJ_BLOCK_LOG_SUPER, r->buf);
	return err ? zj_write_failed(r, err, "the log super block",
				     ZJ_BLOCK_LOG_SUPER) : 0;
}
