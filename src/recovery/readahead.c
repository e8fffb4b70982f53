// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps the device busy during recovery: pieces of the log are read ahead of
 * the scan, and images stay in memory until they are written home, or are read
 * again many at a time.
 *
 * Both need bounded memory: the pieces ZJ_AHEAD_BYTES, the images what the host
 * has room for.
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include "recovery/recovery_int.h"

/* More than a device of 4 GB/s delivers in a millisecond. A piece has 4 MiB at most. */
#define ZJ_AHEAD_BYTES	(8U << 20)
#define ZJ_KEPT_BYTES	(1U << 20)	/* size of one allocation for images */

/* ---- reading ahead of the scan ---- */

/**
 * zj_ahead_begin() - allocate memory for pieces of the log
 * @r: the recovery, its block size known
 * @piece: blocks of a piece
 * @nr: number of pieces in the log
 *
 * With little memory less is read ahead.
 *
 * Return: 0 or -ENOMEM.
 */
int zj_ahead_begin(struct zj_recovery *r, u32 piece, u32 nr)
{
	u32 size = r->geo.block_size;

	r->piece = piece;
	r->depth = 1;
	if (r->ops->start_read)
		r->depth = min3(ZJ_AHEAD_BYTES / size / piece, nr, (u32)ZJ_READ_SLOTS);
	if (r->ops->room)
		r->room = r->ops->room(r->ctx);
	kvfree(r->buf);
	do {
		r->buf = kvmalloc_array(r->depth * piece, size,
					GFP_KERNEL | __GFP_NOWARN);
	} while (!r->buf && (r->depth /= 2));
	if (!r->buf)
		return zj_no_memory(r);
	r->again_room = r->ops->start_read ? r->depth * piece : 1;
	r->again = kvmalloc_array(r->again_room, sizeof(*r->again), GFP_KERNEL);
	return r->again ? 0 : zj_no_memory(r);
}

/*
 * Begins to read journal blocks into a piece, behind those that were asked for
 * before.
 */
void zj_ahead_ask(struct zj_recovery *r, u32 slot, u32 block, u32 nr)
{
	if (!r->ops->start_read)
		return;
	r->ops->start_read(r->ctx, slot, block, nr, zj_piece(r, slot) +
			   (size_t)r->asked[slot] * r->geo.block_size);
	r->asked[slot] += nr;
}

/*
 * Waits for a piece. Returns the number of its blocks, or 0 if any of them
 * could not be read.
 */
u32 zj_ahead_end(struct zj_recovery *r, u32 slot)
{
	u32 nr = r->asked[slot];

	r->asked[slot] = 0;
	return nr && !r->ops->end_read(r->ctx, slot) ? nr : 0;
}

/*
 * Waits for all reads, because the memory must not be freed before they have
 * ended.
 */
void zj_ahead_stop(struct zj_recovery *r)
{
	u32 slot;

	for (slot = 0; slot < ZJ_READ_SLOTS; slot++)
		zj_ahead_end(r, slot);
}

/* ---- images ---- */

static bool zj_more_room(struct zj_recovery *r)
{
	u32 bytes = max(ZJ_KEPT_BYTES, r->geo.block_size);
	void *memory, **item;

	if (r->room < bytes)
		return false;
	memory = kvmalloc(bytes, GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	item = memory ? zj_vec_add(&r->kept) : NULL;
	if (!item) {
		/*
		 * Memory is short, so leave the rest to others, and keep no
		 * more images.
		 */
		kvfree(memory);
		r->room = 0;
		return false;
	}
	*item = memory;
	r->room -= bytes;
	r->kept_left = bytes;
	return true;
}

/* Returns a copy of an image for replay, or NULL if there is no room for it. */
void *zj_keep_image(struct zj_recovery *r, const void *image)
{
	u32 size = r->geo.block_size;
	void **kept;

	if (r->kept_left < size && !zj_more_room(r))
		return NULL;
	kept = r->kept.items;
	r->kept_left -= size;
	return memcpy(kept[r->kept.nr - 1] + r->kept_left, image, size);
}

static int zj_cmp_place(const void *pa, const void *pb)
{
	const struct zj_rec_image *const *a = pa, *const *b = pb;

	return zj_cmp((*a)->log_block, (*b)->log_block);
}

/* Reads all images at once, in the order of the log; neighbours in one read. */
static int zj_read_together(struct zj_recovery *r, u32 nr)
{
	struct zj_rec_image **image = r->again;
	u32 i, n;

	if (!r->ops->start_read)
		return -EOPNOTSUPP;
	for (i = 0; i < nr; i += n) {
		n = 1;
		while (i + n < nr &&
		       image[i + n]->log_block == image[i]->log_block + n)
			n++;
		r->ops->start_read(r->ctx, 0, image[i]->log_block, n, image[i]->kept);
	}
	return r->ops->end_read(r->ctx, 0);
}

static bool zj_reads_alike(const struct zj_recovery *r, const struct zj_rec_image *image)
{
	const struct zj_chunk_header *header = image->kept;

	if (!image->data)
		return zj_image_csum(r->seed, image->kept, r->geo.block_size) == image->csum;
	return zj_chunk_csum_good(&r->geo, r->seed, header) &&
	       le32_to_cpu(header->csum) == image->csum;
}

static int zj_read_again(struct zj_recovery *r, u32 nr)
{
	struct zj_rec_image **image = r->again;
	u32 i, size = r->geo.block_size;
	int err;

	sort(image, nr, sizeof(*image), zj_cmp_place, NULL);
	for (i = 0; i < nr; i++)
		image[i]->kept = r->buf + (size_t)i * size;
	if (zj_read_together(r, nr)) {
		for (i = 0; i < nr; i++) {
			err = zj_read_log(r, image[i]->log_block, 1, image[i]->kept);
			if (err)
				return err;
		}
	}
	for (i = 0; i < nr; i++)
		if (!zj_reads_alike(r, image[i])) {
			r->ops->msg(r->ctx, 0,
				    "journal block %u reads differently the second time; the log is kept: check the device, then mount or recover again",
				    image[i]->log_block);
			return -EIO;
		}
	return 0;
}

/**
 * zj_read_images() - read images again that were not kept in memory
 * @r: the recovery; nothing is being read ahead any more
 * @first: index of the first image that is wanted
 * @end: set to the index of the first image that is not in memory
 *
 * Images are wanted in the order of their home blocks, so few of them are
 * neighbours in the log. That is why many are read at a time. They stay in
 * memory until the next call.
 *
 * Return: 0, or an error that was reported.
 */
int zj_read_images(struct zj_recovery *r, u32 first, u32 *end)
{
	struct zj_rec_image *image = r->images.items;
	u32 i, nr = 0;

	for (i = first; i < r->images.nr && (image[i].kept || nr < r->again_room); i++)
		if (!image[i].kept)
			r->again[nr++] = &image[i];
	*end = i;
	return nr ? zj_read_again(r, nr) : 0;
}
