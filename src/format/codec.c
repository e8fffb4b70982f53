// SPDX-License-Identifier: GPL-2.0-only
/* Encodes and decodes the structures of format.h. */
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/xxhash.h>
#include <asm/byteorder.h>
#include "format/codec.h"
#include "format/codec_jbd2.h"
#include "format/line_set.h"

#define ZJ_MIN_BLOCK_SIZE	1024
#define ZJ_MAX_BLOCK_SIZE	65536
/*
 * A segment has 1 MiB, or 64 blocks if that is more. It is made smaller, down to 64 blocks, to have
 * ZJ_SEGS_PER_LANE, and down to 8 blocks to have ZJ_MIN_SEGS in all.
 */
#define ZJ_SEG_BYTES		(1U << 20)
#define ZJ_SEG_BLOCKS		64
#define ZJ_SEG_BLOCKS_TINY	8
#define ZJ_MIN_SEGS		8
#define ZJ_SEGS_PER_LANE	4
/* Blocks besides images: a header, one if revokes spill over, one lost at a segment's end. */
#define ZJ_TXN_OVERHEAD		3
/* Smallest journal that stock makes, in blocks; those of our tests may be smaller. */
#define ZJ_STOCK_MIN_BLOCKS	1024

static bool zj_block_size_ok(u32 block_size)
{
	return block_size >= ZJ_MIN_BLOCK_SIZE &&
	       block_size <= ZJ_MAX_BLOCK_SIZE && is_power_of_2(block_size);
}

static u32 zj_max_seg_blocks(u32 block_size)
{
	return max_t(u32, ZJ_SEG_BYTES / block_size, ZJ_SEG_BLOCKS);
}

u32 zj_crc_without(u32 seed, const void *buf, u32 len, u32 hole)
{
	static const u8 zero[4];
	u32 crc;

	crc = crc32c(seed, buf, hole);
	crc = crc32c(crc, zero, sizeof(zero));
	return crc32c(crc, buf + hole + 4, len - hole - 4);
}

u32 zj_seed(const u8 *uuid, u64 generation)
{
	__le64 gen = cpu_to_le64(generation);

	return crc32c(crc32c(~0U, uuid, 16), &gen, sizeof(gen));
}

/* Uses no seed, because this block is read before uuid and generation are known. */
static u32 zj_log_super_csum(const struct zj_log_super *sb)
{
	return zj_crc_without(~0U, sb, sizeof(*sb),
			      offsetof(struct zj_log_super, csum));
}

void zj_encode_log_super(const struct zj_log_geometry *geo, void *block)
{
	struct zj_log_super *sb = block;

	memset(block, 0, geo->block_size);
	sb->magic = cpu_to_le32(ZJ_LOG_SUPER_MAGIC);
	sb->version = cpu_to_le32(ZJ_FORMAT_VERSION);
	sb->block_size = cpu_to_le32(geo->block_size);
	memcpy(sb->uuid, geo->uuid, sizeof(sb->uuid));
	sb->generation = cpu_to_le64(geo->generation);
	sb->total_blocks = cpu_to_le32(geo->total_blocks);
	sb->log_first = cpu_to_le32(geo->log_first);
	sb->seg_blocks = cpu_to_le32(geo->seg_blocks);
	sb->nr_segs = cpu_to_le32(geo->nr_segs);
	sb->nr_lanes = cpu_to_le32(geo->nr_lanes);
	sb->ckpt_stamp = cpu_to_le64(geo->ckpt_stamp);
	sb->csum = cpu_to_le32(zj_log_super_csum(sb));
}

static const char *zj_check_geometry(const struct zj_log_geometry *geo)
{
	if (!zj_block_size_ok(geo->block_size))
		return "block size out of range";
	if (geo->log_first < ZJ_LOG_FIRST)
		return "segments overlap the fixed blocks";
	if (geo->seg_blocks < 2 ||
	    geo->seg_blocks > zj_max_seg_blocks(geo->block_size))
		return "segment size out of range";
	if (!geo->nr_segs)
		return "no segments";
	if ((u64)geo->nr_segs * geo->seg_blocks + geo->log_first >
	    geo->total_blocks)
		return "segments reach past the end of the log";
	if (!geo->nr_lanes || geo->nr_lanes > ZJ_MAX_LANES)
		return "number of lanes out of range";
	return NULL;
}

const char *zj_decode_log_super(const void *block, struct zj_log_geometry *geo)
{
	const struct zj_log_super *sb = block;

	if (le32_to_cpu(sb->magic) != ZJ_LOG_SUPER_MAGIC)
		return "wrong magic number";
	if (le32_to_cpu(sb->csum) != zj_log_super_csum(sb))
		return "wrong checksum";
	if (le32_to_cpu(sb->version) < ZJ_FORMAT_OLDEST ||
	    le32_to_cpu(sb->version) > ZJ_FORMAT_VERSION)
		return "unknown format version; use the version of zjournal that wrote it";
	if (sb->reserved0 || memchr_inv(sb->reserved, 0, sizeof(sb->reserved)))
		return "reserved fields are not zero";

	memcpy(geo->uuid, sb->uuid, sizeof(geo->uuid));
	geo->generation = le64_to_cpu(sb->generation);
	geo->version = le32_to_cpu(sb->version);
	geo->block_size = le32_to_cpu(sb->block_size);
	geo->total_blocks = le32_to_cpu(sb->total_blocks);
	geo->log_first = le32_to_cpu(sb->log_first);
	geo->seg_blocks = le32_to_cpu(sb->seg_blocks);
	geo->nr_segs = le32_to_cpu(sb->nr_segs);
	geo->nr_lanes = le32_to_cpu(sb->nr_lanes);
	geo->ckpt_stamp = le64_to_cpu(sb->ckpt_stamp);
	return zj_check_geometry(geo);
}

int zj_make_geometry(struct zj_log_geometry *geo, u32 journal_blocks,
		     u32 block_size, u32 nr_lanes)
{
	u32 want, seg, room;

	if (!zj_block_size_ok(block_size) || !nr_lanes ||
	    nr_lanes > ZJ_MAX_LANES)
		return -EINVAL;
	if (journal_blocks < ZJ_LOG_FIRST + ZJ_MIN_SEGS * ZJ_SEG_BLOCKS_TINY)
		return -ENOSPC;

	room = journal_blocks - ZJ_LOG_FIRST;
	want = max_t(u32, ZJ_MIN_SEGS, ZJ_SEGS_PER_LANE * nr_lanes);
	seg = zj_max_seg_blocks(block_size);
	while (seg > ZJ_SEG_BLOCKS && room / seg < want)
		seg /= 2;
	while (seg > ZJ_SEG_BLOCKS_TINY && room / seg < ZJ_MIN_SEGS)
		seg /= 2;

	geo->version = ZJ_FORMAT_VERSION;
	geo->block_size = block_size;
	geo->total_blocks = journal_blocks;
	geo->log_first = ZJ_LOG_FIRST;
	geo->seg_blocks = seg;
	geo->nr_segs = room / seg;
	geo->nr_lanes = nr_lanes;
	return 0;
}

u32 zj_txn_blocks(const struct zj_log_geometry *geo, u32 n)
{
	u32 room = zj_chunk_room(geo->block_size);

	n += n / (room / sizeof(struct zj_tag)) + ZJ_TXN_OVERHEAD +
	     geo->nr_lanes * sizeof(__le64) / room;
	/* At a segment's end a header is needed anew, and a block may stay unused. */
	return n + 2 * (n / (geo->seg_blocks - 2) + 1);
}

u32 zj_largest_handle(u32 journal_blocks, u32 block_size)
{
	/* Stock's revoke blocks may hold block numbers of 4 bytes, ours hold 8 bytes. */
	u32 stock = (block_size - 16) / sizeof(__le32);
	u32 ours = zj_chunk_room(block_size) / sizeof(__le64);
	u32 images = journal_blocks / 3, revokes;

	if (journal_blocks < ZJ_STOCK_MIN_BLOCKS)
		return journal_blocks / 4 - journal_blocks / 32;
	revokes = DIV_ROUND_UP(min(images, ZJ_LARGEST_HANDLE) * stock, ours);
	return max(images, min(revokes, ZJ_LARGEST_HANDLE));
}

/*
 * Returns whether the largest handle and an empty transaction fit beside the segments that
 * all other lanes may hold.
 */
static bool zj_has_room(const struct zj_log_geometry *geo)
{
	u32 largest = zj_largest_handle(geo->total_blocks, geo->block_size);

	return geo->nr_segs >= ZJ_SEGS_HELD * (geo->nr_lanes - 1) +
	       DIV_ROUND_UP(zj_txn_blocks(geo, largest) + zj_txn_blocks(geo, 0),
			    geo->seg_blocks);
}

u32 zj_fit_lanes(struct zj_log_geometry *geo, u32 journal_blocks,
		 u32 block_size, u32 wanted)
{
	u32 lanes;

	for (lanes = wanted; lanes; lanes--) {
		if (zj_make_geometry(geo, journal_blocks, block_size, lanes))
			continue;
		/* With smaller segments the other lanes hold less of the log. */
		while (!zj_has_room(geo) && geo->seg_blocks > ZJ_SEG_BLOCKS) {
			geo->seg_blocks /= 2;
			geo->nr_segs = (journal_blocks - ZJ_LOG_FIRST) /
				       geo->seg_blocks;
		}
		if (zj_has_room(geo))
			break;
	}
	return lanes;
}

static u32 zj_ckpt_csum(const struct zj_log_geometry *geo,
			const struct zj_ckpt_slot *slot)
{
	return zj_crc_without(zj_seed(geo->uuid, geo->generation), slot,
			      sizeof(*slot),
			      offsetof(struct zj_ckpt_slot, csum));
}

void zj_encode_ckpt(const struct zj_log_geometry *geo, u64 seq, u64 ckpt_stamp,
		    void *block)
{
	struct zj_ckpt_slot *slot = block;

	memset(block, 0, geo->block_size);
	slot->magic = cpu_to_le32(ZJ_CKPT_MAGIC);
	slot->generation = cpu_to_le64(geo->generation);
	slot->seq = cpu_to_le64(seq);
	slot->ckpt_stamp = cpu_to_le64(ckpt_stamp);
	slot->csum = cpu_to_le32(zj_ckpt_csum(geo, slot));
}

bool zj_decode_ckpt(const struct zj_log_geometry *geo, const void *block,
		    u64 *seq, u64 *ckpt_stamp)
{
	const struct zj_ckpt_slot *slot = block;

	if (le32_to_cpu(slot->magic) != ZJ_CKPT_MAGIC ||
	    le64_to_cpu(slot->generation) != geo->generation ||
	    le32_to_cpu(slot->csum) != zj_ckpt_csum(geo, slot))
		return false;
	*seq = le64_to_cpu(slot->seq);
	*ckpt_stamp = le64_to_cpu(slot->ckpt_stamp);
	return true;
}

static u32 zj_chunk_csum(u32 seed, const void *block, u32 block_size)
{
	return zj_crc_without(seed, block, block_size,
			      offsetof(struct zj_chunk_header, csum));
}

void zj_encode_chunk(const struct zj_log_geometry *geo, u32 seed,
		     const struct zj_chunk *chunk, void *block)
{
	struct zj_chunk_header *h = block;

	memset(h, 0, sizeof(*h));
	h->magic = cpu_to_le32(ZJ_CHUNK_MAGIC);
	h->generation = cpu_to_le64(geo->generation);
	h->seg_seq = cpu_to_le64(chunk->seg_seq);
	h->seg_index = cpu_to_le32(chunk->seg_index);
	h->seg_block = cpu_to_le32(chunk->seg_block);
	h->stamp = cpu_to_le64(chunk->stamp);
	h->tid = cpu_to_le32(chunk->tid);
	h->lane = cpu_to_le32(chunk->lane);
	h->nr_members = cpu_to_le32(chunk->nr_members);
	h->chunk_index = cpu_to_le32(chunk->chunk_index);
	h->nr_chunks = cpu_to_le32(chunk->nr_chunks);
	h->nr_deps = cpu_to_le32(chunk->nr_deps);
	h->nr_revokes = cpu_to_le32(chunk->nr_revokes);
	h->nr_tags = cpu_to_le32(chunk->nr_tags);
	h->nr_line_tags = cpu_to_le32(chunk->nr_line_tags);
	h->commit_sec = cpu_to_le64(chunk->commit_sec);
	h->committed_stamp = cpu_to_le64(chunk->committed_stamp);
	h->csum = cpu_to_le32(zj_chunk_csum(seed, block, geo->block_size));
}

bool zj_chunk_csum_good(const struct zj_log_geometry *geo, u32 seed,
			const void *block)
{
	const struct zj_chunk_header *h = block;

	return le32_to_cpu(h->magic) == ZJ_CHUNK_MAGIC &&
	       le64_to_cpu(h->generation) == geo->generation &&
	       le32_to_cpu(h->csum) ==
			zj_chunk_csum(seed, block, geo->block_size);
}

void zj_tag_walk_begin(struct zj_tag_walk *walk, const struct zj_log_geometry *geo,
		       const struct zj_chunk *chunk, const void *block)
{
	*walk = (struct zj_tag_walk){
		.tag = zj_chunk_tags((void *)block, chunk->nr_deps, chunk->nr_revokes) - 1,
		.left = chunk->nr_tags,
		.data = geo->block_size,
		.block_size = geo->block_size,
	};
}

bool zj_tag_walk_next(struct zj_tag_walk *walk)
{
	if (!walk->left)
		return false;
	walk->left--;
	walk->tag++;
	if (zj_tag_has_lines(walk->tag))
		walk->data -= zj_lines_bytes(le64_to_cpu(walk->tag->lines),
					     walk->block_size);
	else
		walk->image++;
	return true;
}

static u64 zj_entry_bytes(const struct zj_chunk *c)
{
	return 8ULL * c->nr_deps + 8ULL * c->nr_revokes +
	       (u64)sizeof(struct zj_tag) * c->nr_tags;
}

/*
 * Returns false if no writer can have written tags with such lines. The entries fit into the
 * header.
 */
static bool zj_line_tags_sane(const struct zj_log_geometry *geo, const struct zj_chunk *c,
			      const void *block)
{
	u32 room = zj_chunk_room(geo->block_size) - zj_entry_bytes(c);
	u32 most = zj_lines_max(geo->block_size), bytes, nr = 0;
	u64 lines, all = zj_lines_all(geo->block_size);
	struct zj_tag_walk walk;

	zj_tag_walk_begin(&walk, geo, c, block);
	while (zj_tag_walk_next(&walk)) {
		if (!zj_tag_has_lines(walk.tag))
			continue;
		lines = le64_to_cpu(walk.tag->lines);
		bytes = zj_lines_bytes(lines, geo->block_size);
		if (!lines || lines & ~all || bytes > min(most, room))
			return false;
		room -= bytes;
		nr++;
	}
	return nr == c->nr_line_tags;
}

/* Returns false if no writer of this log can have written such numbers. */
static bool zj_chunk_sane(const struct zj_log_geometry *geo,
			  const struct zj_chunk *c)
{
	return c->stamp > c->committed_stamp && c->nr_deps <= geo->nr_lanes &&
	       zj_entry_bytes(c) <= zj_chunk_room(geo->block_size) &&
	       c->seg_block < geo->seg_blocks &&
	       c->nr_line_tags <= c->nr_tags &&
	       zj_chunk_images(c) < geo->seg_blocks - c->seg_block &&
	       c->lane < geo->nr_lanes && c->nr_members &&
	       c->nr_members <= geo->nr_lanes && c->chunk_index < c->nr_chunks;
}

bool zj_decode_chunk(const struct zj_log_geometry *geo, u32 seed, u32 seg_index,
		     u32 seg_block, const void *block, struct zj_chunk *chunk)
{
	const struct zj_chunk_header *h = block;

	if (!zj_chunk_csum_good(geo, seed, block))
		return false;
	chunk->seg_seq = le64_to_cpu(h->seg_seq);
	chunk->seg_index = le32_to_cpu(h->seg_index);
	chunk->seg_block = le32_to_cpu(h->seg_block);
	chunk->stamp = le64_to_cpu(h->stamp);
	chunk->tid = le32_to_cpu(h->tid);
	chunk->lane = le32_to_cpu(h->lane);
	chunk->nr_members = le32_to_cpu(h->nr_members);
	chunk->chunk_index = le32_to_cpu(h->chunk_index);
	chunk->nr_chunks = le32_to_cpu(h->nr_chunks);
	chunk->nr_deps = le32_to_cpu(h->nr_deps);
	chunk->nr_revokes = le32_to_cpu(h->nr_revokes);
	chunk->nr_tags = le32_to_cpu(h->nr_tags);
	chunk->nr_line_tags = le32_to_cpu(h->nr_line_tags);
	chunk->commit_sec = le64_to_cpu(h->commit_sec);
	chunk->committed_stamp = le64_to_cpu(h->committed_stamp);
	return chunk->seg_index == seg_index && chunk->seg_block == seg_block &&
	       !h->flags &&
	       !memchr_inv(h->reserved, 0, sizeof(h->reserved)) &&
	       zj_chunk_sane(geo, chunk) && zj_line_tags_sane(geo, chunk, block);
}

/*
 * Uses no CRC, because a CRC is linear. Over a block that ends with its own crc32c, as
 * ext4's extent blocks do, it would be the same whatever the block holds.
 */
u32 zj_image_csum(u32 seed, const void *image, u32 block_size)
{
	return xxh64(image, block_size, seed);
}

static u16 escape_flag(const void *image)
{
	const __be32 jbd2 = cpu_to_be32(ZJ_JBD2_MAGIC);
	const __le32 chunk = cpu_to_le32(ZJ_CHUNK_MAGIC);

	if (!memcmp(image, &jbd2, sizeof(jbd2)))
		return ZJ_TAG_ESC_JBD2;
	if (!memcmp(image, &chunk, sizeof(chunk)))
		return ZJ_TAG_ESC_CHUNK;
	return 0;
}

bool zj_needs_escape(const void *image)
{
	return escape_flag(image);
}

u16 zj_escape(void *image)
{
	u16 flags = escape_flag(image);

	if (flags)
		memset(image, 0, sizeof(__le32));
	return flags;
}

void zj_unescape(void *image, u16 flags)
{
	const __be32 jbd2 = cpu_to_be32(ZJ_JBD2_MAGIC);
	const __le32 chunk = cpu_to_le32(ZJ_CHUNK_MAGIC);

	if (flags & ZJ_TAG_ESC_JBD2)
		memcpy(image, &jbd2, sizeof(jbd2));
	else if (flags & ZJ_TAG_ESC_CHUNK)
		memcpy(image, &chunk, sizeof(chunk));
}

__be32 zj_jbd2_super_csum(const struct zj_jbd2_super *sb)
{
	return cpu_to_be32(zj_crc_without(~0U, sb, sizeof(*sb),
					  offsetof(struct zj_jbd2_super,
						   s_checksum)));
}

static bool zj_has_csum(const struct zj_jbd2_super *sb)
{
	return sb->s_feature_incompat &
	       cpu_to_be32(ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_CSUM_V3);
}

void zj_jbd2_super_set_csum(struct zj_jbd2_super *sb)
{
	if (zj_has_csum(sb))
		sb->s_checksum = zj_jbd2_super_csum(sb);
}

/* Only one kind of checksums is possible, and those of versions 2 and 3 are crc32c. */
static const char *check_csum(const struct zj_jbd2_super *sb, bool in_use)
{
	const __be32 both = cpu_to_be32(ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_CSUM_V3);

	if (!zj_has_csum(sb))
		return NULL;
	if ((sb->s_feature_incompat & both) == both ||
	    sb->s_feature_compat & cpu_to_be32(ZJ_JBD2_COMPAT_CHECKSUM))
		return "asks for two kinds of checksums";
	if (sb->s_checksum_type != ZJ_JBD2_CRC32C)
		return "asks for an unknown kind of checksums";
	if (!in_use && sb->s_checksum != zj_jbd2_super_csum(sb))
		return "has a wrong checksum";
	return NULL;
}

const char *zj_check_jbd2_super(const struct zj_jbd2_super *sb, u32 block_size,
				u32 journal_blocks, bool in_use)
{
	u32 maxlen = be32_to_cpu(sb->s_maxlen), first = be32_to_cpu(sb->s_first);
	bool old = sb->s_blocktype == cpu_to_be32(ZJ_JBD2_SUPERBLOCK_V1);

	if (be32_to_cpu(sb->s_magic) != ZJ_JBD2_MAGIC)
		return "is not a journal superblock";
	if (!old && be32_to_cpu(sb->s_blocktype) != ZJ_JBD2_SUPERBLOCK_V2)
		return "is not of version 1 or 2";
	if (be32_to_cpu(sb->s_blocksize) != block_size)
		return "has a block size that differs from the file system's";
	if (maxlen > journal_blocks)
		return "says that the journal is longer than its inode or device";
	if (!first || first >= maxlen)
		return "has a bad first block";
	return old ? NULL : check_csum(sb, in_use);
}

bool zj_jbd2_too_short(const struct zj_jbd2_super *sb)
{
	u32 maxlen = be32_to_cpu(sb->s_maxlen);
	u32 fast = be32_to_cpu(sb->s_num_fc_blks) ?: ZJ_JBD2_FC_BLOCKS;

	if (!(sb->s_feature_incompat & cpu_to_be32(ZJ_JBD2_INCOMPAT_FAST_COMMIT)))
		fast = 0;
	return maxlen < ZJ_STOCK_MIN_BLOCKS || maxlen - ZJ_STOCK_MIN_BLOCKS < fast ||
	       (u64)be32_to_cpu(sb->s_first) + ZJ_STOCK_MIN_BLOCKS > maxlen + 1ULL;
}

void zj_upgrade_jbd2_super(struct zj_jbd2_super *sb)
{
	if (sb->s_blocktype != cpu_to_be32(ZJ_JBD2_SUPERBLOCK_V1))
		return;
	sb->s_blocktype = cpu_to_be32(ZJ_JBD2_SUPERBLOCK_V2);
	sb->s_feature_compat = 0;
	sb->s_feature_incompat = 0;
	sb->s_feature_ro_compat = 0;
	memset((u8 *)sb + offsetof(struct zj_jbd2_super, s_dynsuper), 0,
	       offsetof(struct zj_jbd2_super, s_users) - offsetof(struct zj_jbd2_super, s_dynsuper));
}

void zj_clean_jbd2_super(struct zj_jbd2_super *sb)
{
	if (zj_is_nvm_log(sb))
		memset(zj_nvm_mark_of(sb), 0, sizeof(struct zj_nvm_mark));
	sb->s_feature_incompat &= ~cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES |
					       ZJ_JBD2_INCOMPAT_NVM);
	sb->s_start = 0;
	sb->s_head = 0;
	/* Stock must not take a leftover of an older log for its next transaction. */
	be32_add_cpu(&sb->s_sequence, 1);
}

void zj_set_nvm_mark(struct zj_jbd2_super *sb, const u8 *uuid, u64 generation)
{
	struct zj_nvm_mark *mark = zj_nvm_mark_of(sb);

	memcpy(mark->uuid, uuid, sizeof(mark->uuid));
	mark->generation = cpu_to_be64(generation);
	sb->s_feature_incompat |= cpu_to_be32(ZJ_JBD2_INCOMPAT_NVM);
}
