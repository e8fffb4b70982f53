// SPDX-License-Identifier: GPL-2.0-only
/*
 * First pass: read every segment once and keep valid chunks with a stamp above
 * the checkpoint stamp, with their images, dependencies and revokes.
 *
 * A segment ends at the first block that is not a header of its tenure. Chunks
 * behind a lost header are of the same lane and not older: the crash has cut
 * them off as well, or they depend on a component that is lost. The committed
 * stamp is nevertheless taken from every valid header, because it tells whether
 * the crash or the device has lost something.
 *
 * A block that cannot be read is treated as a torn one. But if it may hold something
 * that was durable, and no other block could show that this is missing, recovery stops
 * unless the administrator has told it to go on (D5).
 */
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include "recovery/recovery_int.h"

/* The position of the scan in one segment. */
struct zj_scan_position {
	struct zj_chunk chunk;	/* the header at the position */
	void	*block;		/* the header block, with its images after it */
	u32	log_block;	/* journal block of the header */
	u64	seg_seq;	/* tenure of the segment's first chunk */
	u32	lane;		/* lane of the segment's first chunk */
	u64	stamp;		/* stamp of the previous chunk */
};

#define zj_corrupt_at(r, cur, fmt, ...)					\
	zj_corrupt(r, "segment %u block %u: " fmt,			\
		   zj_seg_of(r, (cur)->log_block),			\
		   zj_seg_block_of(r, (cur)->log_block), ##__VA_ARGS__)

/*
 * Everything up to the committed stamp that a header names was durable, even if
 * the header's own images are torn.
 */
static void zj_note_durable(struct zj_recovery *r, const struct zj_chunk *chunk)
{
	r->committed_stamp = max(r->committed_stamp, chunk->committed_stamp);
	r->stats->committed_stamp = r->committed_stamp;
	/* What it has overwritten was older. */
	if (r->unread_slot && !chunk->committed_stamp)
		r->nameless = max(r->nameless, chunk->stamp - 1);
}

/*
 * The block may be the header of the newest chunk, of which nothing else tells.
 */
static void zj_note_doubt(struct zj_recovery *r, u32 log_block)
{
	if (!r->doubt)
		r->doubt = log_block;
}

/*
 * Returns 1 for a header of this tenure, 0 at the segment's end, or -EUCLEAN.
 */
static int zj_scan_header(struct zj_recovery *r, struct zj_scan_position *cur)
{
	u32 seg_block = zj_seg_block_of(r, cur->log_block);
	struct zj_chunk *chunk = &cur->chunk;

	if (zj_is_unread(r, seg_block)) {
		zj_note_doubt(r, cur->log_block);
		return 0;
	}
	if (!zj_decode_chunk(&r->geo, r->seed, zj_seg_of(r, cur->log_block),
			     seg_block, cur->block, chunk)) {
		if (zj_chunk_csum_good(&r->geo, r->seed, cur->block))
			return zj_corrupt_at(r, cur, "chunk header with a correct checksum, but for another place or with impossible counts");
		if (r->unread_slot && !seg_block)
			r->overwritten = cur->log_block;
		return 0;
	}
	if (!seg_block) {
		cur->seg_seq = chunk->seg_seq;
		cur->lane = chunk->lane;
	}
	if (chunk->seg_seq != cur->seg_seq)
		return 0;
	if (chunk->lane != cur->lane)
		return zj_corrupt_at(r, cur, "chunk of lane %u in a segment of lane %u",
				     chunk->lane, cur->lane);
	if (chunk->stamp < cur->stamp)
		return zj_corrupt_at(r, cur, "stamp %llu after %llu",
				     chunk->stamp, cur->stamp);
	cur->stamp = chunk->stamp;
	zj_note_durable(r, chunk);
	return 1;
}

static int zj_check_tag(struct zj_recovery *r, const struct zj_scan_position *cur,
			const struct zj_tag *tag)
{
	u64 block = le64_to_cpu(tag->block);
	u16 flags = le16_to_cpu(tag->flags);

	if (block >= r->home_blocks)
		return zj_corrupt_at(r, cur, "image of block %llu, but the device has %llu blocks",
				     block, r->home_blocks);
	if ((flags & ~ZJ_TAG_FLAGS) || flags == ZJ_TAG_FLAGS || tag->reserved)
		return zj_corrupt_at(r, cur, "image of block %llu with unknown flags %#x",
				     block, flags);
	if (zj_tag_has_lines(tag) && (flags || tag->csum))
		return zj_corrupt_at(r, cur, "lines of block %llu with the flags or checksum of an image",
				     block);
	return 0;
}

/*
 * Checks all entries that the header's own checksum covers. They are as they
 * were written, so a wrong one is not the work of a crash.
 */
static int zj_check_entries(struct zj_recovery *r, const struct zj_scan_position *cur)
{
	const struct zj_chunk *chunk = &cur->chunk;
	const __le64 *deps = zj_chunk_deps(cur->block);
	const __le64 *revokes = zj_chunk_revokes(cur->block, chunk->nr_deps);
	const struct zj_tag *tags = zj_chunk_tags(cur->block, chunk->nr_deps,
						  chunk->nr_revokes);
	u32 i;
	int err;

	for (i = 0; i < chunk->nr_deps; i++)
		if (le64_to_cpu(deps[i]) >= chunk->stamp)
			return zj_corrupt_at(r, cur, "stamp %llu depends on %llu, which is not older",
					     chunk->stamp, le64_to_cpu(deps[i]));
	for (i = 0; i < chunk->nr_revokes; i++)
		if (le64_to_cpu(revokes[i]) >= r->home_blocks)
			return zj_corrupt_at(r, cur, "revoke of block %llu, but the device has %llu blocks",
					     le64_to_cpu(revokes[i]),
					     r->home_blocks);
	for (i = 0; i < chunk->nr_tags; i++) {
		err = zj_check_tag(r, cur, &tags[i]);
		if (err)
			return err;
	}
	return 0;
}

/* The image of a tag that has one. */
static void *image_of(const struct zj_recovery *r, const struct zj_scan_position *cur,
		      const struct zj_tag_walk *walk)
{
	return cur->block + (size_t)walk->image * r->geo.block_size;
}

/*
 * Returns 1 if the checksums of all images match, 0 if the chunk is torn, or
 * -EUCLEAN.
 */
static int zj_check_images(struct zj_recovery *r, const struct zj_scan_position *cur)
{
	struct zj_tag_walk walk;
	const void *image;

	zj_tag_walk_begin(&walk, &r->geo, &cur->chunk, cur->block);
	while (zj_tag_walk_next(&walk)) {
		if (zj_tag_has_lines(walk.tag))
			continue;
		image = image_of(r, cur, &walk);
		if (zj_image_csum(r->seed, image, r->geo.block_size) !=
		    le32_to_cpu(walk.tag->csum))
			return 0;
		if (walk.tag->flags && *(const __le32 *)image)
			return zj_corrupt_at(r, cur, "image of block %llu is marked as escaped, but is not",
					     le64_to_cpu(walk.tag->block));
	}
	return 1;
}

/* Keeps dependencies and revokes, which are neighbours in a chunk's header. */
int zj_keep_entries(struct zj_recovery *r, const __le64 *from, u32 nr)
{
	u64 *entry;
	u32 i;

	for (i = 0; i < nr; i++) {
		entry = zj_vec_add(&r->entries);
		if (!entry)
			return zj_no_memory(r);
		*entry = le64_to_cpu(from[i]);
	}
	return 0;
}

static int zj_keep_images(struct zj_recovery *r, const struct zj_scan_position *cur)
{
	const struct zj_chunk *chunk = &cur->chunk;
	const struct zj_chunk_header *header = cur->block;
	void *lines = chunk->nr_line_tags ? zj_keep_image(r, cur->block) : NULL;
	struct zj_rec_image *image;
	struct zj_tag_walk walk;

	zj_tag_walk_begin(&walk, &r->geo, chunk, cur->block);
	while (zj_tag_walk_next(&walk)) {
		bool has_lines = zj_tag_has_lines(walk.tag);

		image = zj_vec_add(&r->images);
		if (!image)
			return zj_no_memory(r);
		*image = (struct zj_rec_image) {
			.block = le64_to_cpu(walk.tag->block),
			.lines = le64_to_cpu(walk.tag->lines),
			.stamp = chunk->stamp,
			.kept = has_lines ? lines :
					    zj_keep_image(r, image_of(r, cur, &walk)),
			.log_block = cur->log_block + (has_lines ? 0 : walk.image),
			.csum = le32_to_cpu(has_lines ? header->csum : walk.tag->csum),
			.data = has_lines ? walk.data : 0,
			.flags = le16_to_cpu(walk.tag->flags),
		};
	}
	return 0;
}

static int zj_keep_chunk(struct zj_recovery *r, const struct zj_scan_position *cur)
{
	const struct zj_chunk *chunk = &cur->chunk;
	struct zj_rec_chunk *kept = zj_vec_add(&r->chunks);
	int err;

	if (!kept)
		return zj_no_memory(r);
	*kept = (struct zj_rec_chunk) {
		.stamp = chunk->stamp,
		.lane = chunk->lane,
		.tid = chunk->tid,
		.nr_members = chunk->nr_members,
		.chunk_index = chunk->chunk_index,
		.nr_chunks = chunk->nr_chunks,
		.log_block = cur->log_block,
		.first_dep = r->entries.nr,
		.nr_deps = chunk->nr_deps,
		.first_revoke = r->entries.nr + chunk->nr_deps,
		.nr_revokes = chunk->nr_revokes,
		.first_image = r->images.nr,
		.nr_images = chunk->nr_tags,
	};
	r->stats->chunks++;
	err = zj_keep_entries(r, zj_chunk_deps(cur->block),
			      chunk->nr_deps + chunk->nr_revokes);
	return err ? err : zj_keep_images(r, cur);
}

/*
 * A chunk with an image that cannot be read is torn, too. But the crash need not
 * have torn it, as its header is good.
 */
static void zj_note_unread_image(struct zj_recovery *r, const struct zj_scan_position *cur)
{
	u32 first = zj_seg_block_of(r, cur->log_block) + 1, i;

	if (r->unread_stamp && r->unread_stamp <= cur->chunk.stamp)
		return;
	for (i = 0; i < zj_chunk_images(&cur->chunk); i++)
		if (zj_is_unread(r, first + i)) {
			r->unread_stamp = cur->chunk.stamp;
			r->unread_image = cur->log_block + 1 + i;
			return;
		}
}

static void zj_note_torn(struct zj_recovery *r, const struct zj_scan_position *cur)
{
	zj_note_unread_image(r, cur);
	r->stats->torn_chunks++;
	if (!r->torn_stamp || cur->chunk.stamp < r->torn_stamp) {
		r->torn_stamp = cur->chunk.stamp;
		r->torn_block = cur->log_block;
	}
}

static int zj_scan_chunk(struct zj_recovery *r, const struct zj_scan_position *cur)
{
	int err;

	if (cur->chunk.stamp <= r->ckpt_stamp)
		return 0;
	err = zj_check_entries(r, cur);
	if (err)
		return err;
	err = zj_check_images(r, cur);
	if (err < 0)
		return err;
	if (!err) {
		zj_note_torn(r, cur);
		return 0;
	}
	return zj_keep_chunk(r, cur);
}

/* Looks for valid headers, of any tenure, behind the segment's end. */
static void zj_scan_rest(struct zj_recovery *r, u32 seg, const void *buf, u32 pos)
{
	struct zj_chunk chunk;

	for (; pos < r->geo.seg_blocks; pos++)
		if (zj_decode_chunk(&r->geo, r->seed, seg, pos,
				    buf + (size_t)pos * r->geo.block_size,
				    &chunk))
			zj_note_durable(r, &chunk);
}

static int zj_scan_blocks(struct zj_recovery *r, u32 seg, void *buf)
{
	struct zj_scan_position cur = {};
	u32 pos = 0;
	int err;

	while (pos < r->geo.seg_blocks) {
		cur.log_block = zj_seg_first(r, seg) + pos;
		cur.block = buf + (size_t)pos * r->geo.block_size;
		err = zj_scan_header(r, &cur);
		if (err < 0)
			return err;
		if (!err)
			break;
		err = zj_scan_chunk(r, &cur);
		if (err)
			return err;
		pos += 1 + zj_chunk_images(&cur.chunk);
	}
	zj_scan_rest(r, seg, buf, pos);
	return 0;
}

/* ---- reading segments ahead ---- */

/*
 * Tells whether a block was once a header of this log, whatever its checksum.
 */
static bool zj_claims_chunk(const struct zj_recovery *r, const void *block)
{
	const struct zj_chunk_header *h = block;

	return le32_to_cpu(h->magic) == ZJ_CHUNK_MAGIC &&
	       le64_to_cpu(h->generation) == r->geo.generation;
}

/*
 * Most segments are free or stale, and their first block tells. So only this
 * block of segments ahead is read, except of the next @used ones, which are
 * expected to be in use.
 */
static void zj_look_ahead(struct zj_recovery *r, u32 seg, u32 used)
{
	u32 i, end = min(r->depth, r->geo.nr_segs - seg);

	for (i = 0; i < end; i++) {
		u32 slot = (seg + i) % r->depth;
		u32 have = r->asked[slot];
		u32 want = i < used ? r->geo.seg_blocks : 1;

		if (have < want)
			zj_ahead_ask(r, slot, zj_seg_first(r, seg + i) + have,
				     want - have);
	}
}

/*
 * Returns 1 with the segment in memory, 0 if it is free or stale, or an error. If
 * its first block cannot be read, the others may tell what is durable.
 */
static int zj_read_segment(struct zj_recovery *r, u32 seg, void *buf)
{
	u32 first = zj_seg_first(r, seg), have = zj_ahead_end(r, seg % r->depth);
	int err = 0;

	memset(r->unread, 0, sizeof(r->unread));
	if (!have)
		err = zj_read_blocks(r, first, 1, 0, buf);
	if (err || (!zj_claims_chunk(r, buf) && !zj_is_unread(r, 0)))
		return err;
	if (have < r->geo.seg_blocks)
		err = zj_read_blocks(r, first + 1, r->geo.seg_blocks - 1, 1,
				     buf + r->geo.block_size);
	return err ?: 1;
}

int zj_scan(struct zj_recovery *r)
{
	u32 seg, used = 0;
	int err;

	for (seg = 0; seg < r->geo.nr_segs; seg++) {
		void *buf = zj_piece(r, seg % r->depth);

		zj_tell(r, ZJ_READING_LOG, seg, r->geo.nr_segs);
		zj_look_ahead(r, seg, used);
		err = zj_read_segment(r, seg, buf);
		/*
		 * The next segments are probably as this one is. The more in a
		 * row were in use, the more are read ahead.
		 */
		used = err > 0 ? min(2 * used + 1, r->depth) : 0;
		if (err > 0)
			err = zj_scan_blocks(r, seg, buf);
		err = err ?: zj_yield();
		if (err)
			return err;
	}
	return 0;
}
