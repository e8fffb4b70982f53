// SPDX-License-Identifier: GPL-2.0-only
/* Encodes and decodes the structures of nvm_format.h. */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/xxhash.h>
#include <asm/byteorder.h>
#include "format/codec.h"
#include "nvm/nvm.h"

/* ---- records ---- */

u64 zj_nvm_hash(u64 hash, const void *run, u32 len)
{
	return xxh64(run, len, hash);
}

u64 zj_nvm_hash_record(u64 hash, const void *data, u64 lines, u32 unit)
{
	u32 first, nr;

	while ((nr = zj_lines_run(&lines, &first))) {
		hash = zj_nvm_hash(hash, data, nr * unit);
		data += nr * unit;
	}
	return hash;
}

/* ---- the memory's super block ---- */

static u32 nvm_super_csum(const struct zj_nvm_super *sb)
{
	return zj_crc_without(~0U, sb, sizeof(*sb),
			      offsetof(struct zj_nvm_super, csum));
}

void zj_encode_nvm_super(const u8 *uuid, const u8 *fs_uuid, u64 size,
			 struct zj_nvm_super *sb)
{
	memset(sb, 0, sizeof(*sb));
	sb->magic = cpu_to_le32(ZJ_NVM_SUPER_MAGIC);
	sb->version = cpu_to_le32(ZJ_NVM_VERSION);
	memcpy(sb->uuid, uuid, sizeof(sb->uuid));
	memcpy(sb->fs_uuid, fs_uuid, sizeof(sb->fs_uuid));
	sb->size = cpu_to_le64(size);
	sb->csum = cpu_to_le32(nvm_super_csum(sb));
}

const char *zj_check_nvm_super(const struct zj_nvm_super *sb, u64 size)
{
	if (le32_to_cpu(sb->magic) != ZJ_NVM_SUPER_MAGIC)
		return "was not formatted for a journal; run zjctl nvm-format";
	if (le32_to_cpu(sb->csum) != nvm_super_csum(sb))
		return "has a damaged superblock (wrong checksum)";
	if (le32_to_cpu(sb->version) != ZJ_NVM_VERSION)
		return "was formatted by another version of zjournal; use that version";
	if (sb->reserved0 || memchr_inv(sb->reserved, 0, sizeof(sb->reserved)))
		return "has a superblock with unknown fields";
	if (le64_to_cpu(sb->size) > size)
		return "is smaller than when it was formatted";
	if (le64_to_cpu(sb->size) < ZJ_NVM_MIN_SIZE)
		return "has a superblock with an impossible size";
	return NULL;
}

/* ---- geometry ---- */

/* Lines of a chunk at worst besides its data and entries: TxnInfo and rounding. */
#define CHUNK_LINES	(sizeof(struct zj_txninfo) / ZJ_NVM_LINE + 1)

u32 zj_nvm_txn_lines(const struct zj_log_geometry *geo, u32 info_max, u32 n)
{
	u32 whole = geo->block_size / ZJ_NVM_LINE, lines, chunks;
	u32 per_info = (info_max - sizeof(struct zj_txninfo)) /
		       sizeof(struct zj_nvm_record);

	chunks = n / per_info + 2 +
		 geo->nr_lanes * sizeof(__le64) /
			(info_max - sizeof(struct zj_txninfo));
	lines = n * whole + DIV_ROUND_UP(n, 4) +
		DIV_ROUND_UP(geo->nr_lanes, 8) + chunks * CHUNK_LINES;
	/* At a segment's end a TxnInfo is needed anew, and a block may not fit. */
	whole += 2 * CHUNK_LINES;
	return lines + whole * (lines / (geo->seg_blocks - whole) + 1);
}

/*
 * Returns whether the largest handle and an empty transaction fit beside the segments that
 * all other lanes may hold.
 */
static bool has_room(const struct zj_log_geometry *geo, u32 info_max,
		     u32 largest)
{
	return geo->nr_segs >= ZJ_SEGS_HELD * (geo->nr_lanes - 1) +
	       DIV_ROUND_UP(zj_nvm_txn_lines(geo, info_max, largest) +
			    zj_nvm_txn_lines(geo, info_max, 0),
			    geo->seg_blocks);
}

u32 zj_nvm_fit(struct zj_log_geometry *geo, u64 size, u32 block_size,
	       u32 info_max, u32 largest, u32 wanted)
{
	u32 whole = block_size / ZJ_NVM_LINE, lanes;
	u64 blocks;

	if (size < ZJ_NVM_MIN_SIZE)
		return 0;
	size = min(size, ZJ_NVM_MAX_SIZE);
	blocks = (size - ZJ_NVM_LOG_AT) / block_size + ZJ_LOG_FIRST;
	for (lanes = wanted; lanes; lanes--) {
		if (zj_make_geometry(geo, blocks, block_size, lanes))
			continue;
		geo->total_blocks = size / ZJ_NVM_LINE;
		geo->log_first = ZJ_NVM_LOG_AT / ZJ_NVM_LINE;
		geo->seg_blocks *= whole;
		if (has_room(geo, info_max, largest))
			break;
	}
	return lanes;
}

static u32 nvm_head_csum(const struct zj_nvm_head *head)
{
	return zj_crc_without(~0U, head, sizeof(*head),
			      offsetof(struct zj_nvm_head, csum));
}

void zj_encode_nvm_head(const struct zj_log_geometry *geo,
			struct zj_nvm_head *head)
{
	memset(head, 0, sizeof(*head));
	head->magic = cpu_to_le32(ZJ_NVM_HEAD_MAGIC);
	memcpy(head->fs_uuid, geo->uuid, sizeof(head->fs_uuid));
	head->generation = cpu_to_le64(geo->generation);
	head->block_size = cpu_to_le32(geo->block_size);
	head->total_lines = cpu_to_le32(geo->total_blocks);
	head->log_first = cpu_to_le32(geo->log_first);
	head->seg_lines = cpu_to_le32(geo->seg_blocks);
	head->nr_segs = cpu_to_le32(geo->nr_segs);
	head->nr_lanes = cpu_to_le32(geo->nr_lanes);
	head->csum = cpu_to_le32(nvm_head_csum(head));
}

const char *zj_decode_nvm_head(const struct zj_nvm_head *head, u64 size,
			       struct zj_log_geometry *geo)
{
	if (le32_to_cpu(head->magic) != ZJ_NVM_HEAD_MAGIC)
		return "wrong magic number";
	if (le32_to_cpu(head->csum) != nvm_head_csum(head))
		return "wrong checksum";
	if (head->reserved)
		return "reserved field is not zero";
	memcpy(geo->uuid, head->fs_uuid, sizeof(geo->uuid));
	geo->generation = le64_to_cpu(head->generation);
	geo->block_size = le32_to_cpu(head->block_size);
	geo->total_blocks = le32_to_cpu(head->total_lines);
	geo->log_first = le32_to_cpu(head->log_first);
	geo->seg_blocks = le32_to_cpu(head->seg_lines);
	geo->nr_segs = le32_to_cpu(head->nr_segs);
	geo->nr_lanes = le32_to_cpu(head->nr_lanes);
	if (geo->total_blocks > size / ZJ_NVM_LINE)
		return "it is longer than the device";
	if (geo->log_first < ZJ_NVM_LOG_AT / ZJ_NVM_LINE)
		return "segments overlap the fixed structures";
	if (geo->seg_blocks < geo->block_size / ZJ_NVM_LINE || !geo->nr_segs ||
	    (u64)geo->nr_segs * geo->seg_blocks + geo->log_first >
	    geo->total_blocks)
		return "segments out of range";
	if (!geo->nr_lanes || geo->nr_lanes > ZJ_MAX_LANES)
		return "number of lanes out of range";
	return NULL;
}

/* ---- TxnInfo ---- */

static struct zj_txninfo *end_of(void *info, u32 bytes)
{
	return info + bytes - sizeof(struct zj_txninfo);
}

static u32 txninfo_csum(u32 seed, const void *info, u32 bytes)
{
	return zj_crc_without(seed, info, bytes,
			      bytes - sizeof(struct zj_txninfo) +
			      offsetof(struct zj_txninfo, csum));
}

void zj_encode_txninfo(const struct zj_log_geometry *geo, u32 seed,
		       const struct zj_nvm_chunk *chunk, void *info)
{
	u32 bytes = zj_nvm_info_bytes(chunk->nr_deps, chunk->nr_revokes,
				      chunk->count);
	struct zj_txninfo *t = end_of(info, bytes);

	memset(t, 0, sizeof(*t));
	t->generation = cpu_to_le64(geo->generation);
	t->stamp = cpu_to_le64(chunk->stamp);
	t->prev_stamp = cpu_to_le64(chunk->prev_stamp);
	t->prev = cpu_to_le32(chunk->prev);
	t->start = cpu_to_le32(chunk->start);
	t->tid = cpu_to_le32(chunk->tid);
	t->lane = cpu_to_le32(chunk->lane);
	t->nr_members = cpu_to_le32(chunk->nr_members);
	t->chunk_index = cpu_to_le32(chunk->chunk_index);
	t->flags = cpu_to_le32(chunk->last ? ZJ_TXNINFO_LAST : 0);
	t->nr_deps = cpu_to_le32(chunk->nr_deps);
	t->nr_revokes = cpu_to_le32(chunk->nr_revokes);
	t->data_lines = cpu_to_le32(chunk->data_lines);
	t->data_hash = cpu_to_le64(chunk->data_hash);
	t->commit_sec = cpu_to_le64(chunk->commit_sec);
	t->info_lines = cpu_to_le32(bytes / ZJ_NVM_LINE);
	t->end = cpu_to_le32(chunk->end);
	t->count = cpu_to_le32(chunk->count);
	t->magic = cpu_to_le32(ZJ_TXNINFO_MAGIC);
	t->csum = cpu_to_le32(txninfo_csum(seed, info, bytes));
}

static void decode_txninfo(const struct zj_txninfo *t, struct zj_nvm_chunk *chunk)
{
	*chunk = (struct zj_nvm_chunk) {
		.stamp = le64_to_cpu(t->stamp),
		.prev_stamp = le64_to_cpu(t->prev_stamp),
		.prev = le32_to_cpu(t->prev),
		.start = le32_to_cpu(t->start),
		.end = le32_to_cpu(t->end),
		.tid = le32_to_cpu(t->tid),
		.lane = le32_to_cpu(t->lane),
		.nr_members = le32_to_cpu(t->nr_members),
		.chunk_index = le32_to_cpu(t->chunk_index),
		.last = t->flags & cpu_to_le32(ZJ_TXNINFO_LAST),
		.nr_deps = le32_to_cpu(t->nr_deps),
		.nr_revokes = le32_to_cpu(t->nr_revokes),
		.count = le32_to_cpu(t->count),
		.data_lines = le32_to_cpu(t->data_lines),
		.data_hash = le64_to_cpu(t->data_hash),
		.commit_sec = le64_to_cpu(t->commit_sec),
	};
}

/* Returns false if no writer of this log can have written such numbers. */
static bool chunk_sane(const struct zj_log_geometry *geo,
		       const struct zj_nvm_chunk *c, u32 end)
{
	u32 start = c->start - geo->log_first, last = end - 1 - geo->log_first;

	return c->end == end && c->start >= geo->log_first && c->start < end &&
	       start / geo->seg_blocks == last / geo->seg_blocks &&
	       c->stamp && c->lane < geo->nr_lanes && c->nr_members &&
	       c->nr_members <= geo->nr_lanes && c->chunk_index < U32_MAX &&
	       c->prev_stamp <= c->stamp && !c->prev == !c->prev_stamp;
}

const char *zj_txninfo_place(const struct zj_log_geometry *geo, u32 end)
{
	u32 first = geo->log_first + sizeof(struct zj_txninfo) / ZJ_NVM_LINE;
	u32 limit = geo->log_first + geo->nr_segs * geo->seg_blocks;

	return end < first || end > limit ? "no place in the log" : NULL;
}

const char *zj_txninfo_length(const struct zj_log_geometry *geo,
			      const struct zj_txninfo *t, u32 end, u32 *lines)
{
	if (le32_to_cpu(t->magic) != ZJ_TXNINFO_MAGIC ||
	    le64_to_cpu(t->generation) != geo->generation)
		return "no TxnInfo of this log";
	*lines = le32_to_cpu(t->info_lines);
	if (*lines < sizeof(*t) / ZJ_NVM_LINE ||
	    *lines > ZJ_TXNINFO_MAX_MAX / ZJ_NVM_LINE ||
	    *lines > end - geo->log_first)
		return "a TxnInfo of impossible length";
	return NULL;
}

const char *zj_check_txninfo(const struct zj_log_geometry *geo, u32 seed,
			     const void *info, u32 lines, u32 end,
			     struct zj_nvm_chunk *chunk)
{
	const struct zj_txninfo *t = info + lines * ZJ_NVM_LINE - sizeof(*t);

	if (le32_to_cpu(t->csum) !=
	    txninfo_csum(seed, info, lines * ZJ_NVM_LINE))
		return "a TxnInfo with a wrong checksum";
	decode_txninfo(t, chunk);
	if ((le32_to_cpu(t->flags) & ~ZJ_TXNINFO_LAST) ||
	    memchr_inv(t->reserved, 0, sizeof(t->reserved)) ||
	    !chunk_sane(geo, chunk, end) ||
	    (u64)chunk->start + chunk->data_lines + lines != end)
		return "a TxnInfo with impossible numbers";
	if (8ULL * chunk->nr_deps + 8ULL * chunk->nr_revokes +
	    (u64)sizeof(struct zj_nvm_record) * chunk->count >
	    (u64)lines * ZJ_NVM_LINE - sizeof(*t))
		return "a TxnInfo with more entries than it can hold";
	return NULL;
}

const char *zj_read_txninfo(const struct zj_log_geometry *geo, u32 seed,
			    const void *area, u32 end,
			    struct zj_nvm_chunk *chunk)
{
	const void *behind = area + (u64)end * ZJ_NVM_LINE;
	const char *wrong = zj_txninfo_place(geo, end);
	u32 lines;

	if (!wrong)
		wrong = zj_txninfo_length(geo, behind - sizeof(struct zj_txninfo),
					  end, &lines);
	if (!wrong)
		wrong = zj_check_txninfo(geo, seed, behind - lines * ZJ_NVM_LINE,
					 lines, end, chunk);
	return wrong;
}
