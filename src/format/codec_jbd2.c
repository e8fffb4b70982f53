// SPDX-License-Identifier: GPL-2.0-only
/* Encodes and decodes the blocks of a stock JBD2 log. */
#include <linux/crc32c.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include "format/codec.h"
#include "format/codec_jbd2.h"

static bool has_incompat(const struct zj_jbd2_super *sb, u32 incompat)
{
	return sb->s_feature_incompat & cpu_to_be32(incompat);
}

/**
 * zj_jbd2_geo_of() - find out the geometry and features of a journal's log
 * @sb: block 0 of the journal, which was checked
 * @log: where the result goes
 */
void zj_jbd2_geo_of(const struct zj_jbd2_super *sb, struct zj_jbd2_geo *log)
{
	bool csum2 = has_incompat(sb, ZJ_JBD2_INCOMPAT_CSUM_V2);
	u32 fast = be32_to_cpu(sb->s_num_fc_blks) ?: ZJ_JBD2_FC_BLOCKS;

	memset(log, 0, sizeof(*log));
	log->block_size = be32_to_cpu(sb->s_blocksize);
	log->first = be32_to_cpu(sb->s_first);
	log->last = be32_to_cpu(sb->s_maxlen);
	if (has_incompat(sb, ZJ_JBD2_INCOMPAT_FAST_COMMIT))
		log->last -= min(fast, log->last);
	log->b64 = has_incompat(sb, ZJ_JBD2_INCOMPAT_64BIT);
	log->csum1 = sb->s_feature_compat & cpu_to_be32(ZJ_JBD2_COMPAT_CHECKSUM);
	log->csum3 = has_incompat(sb, ZJ_JBD2_INCOMPAT_CSUM_V3);
	if (log->csum3)
		log->tag_bytes = sizeof(struct zj_jbd2_tag3);
	else
		log->tag_bytes = (log->b64 ? 12 : 8) + (csum2 ? 2 : 0);
	if (log->csum3 || csum2)
		log->tail_bytes = sizeof(struct zj_jbd2_tail);
	log->revoke_bytes = log->b64 ? 8 : 4;
	memcpy(log->uuid, sb->s_uuid, sizeof(log->uuid));
	log->seed = crc32c(~0U, sb->s_uuid, sizeof(sb->s_uuid));
}

u32 zj_jbd2_tags_per_block(const struct zj_jbd2_geo *log)
{
	return (log->block_size - sizeof(struct zj_jbd2_header) -
		ZJ_JBD2_UUID_BYTES - log->tail_bytes) / log->tag_bytes;
}

u32 zj_jbd2_revokes_per_block(const struct zj_jbd2_geo *log)
{
	return (log->block_size - sizeof(struct zj_jbd2_revoke) -
		log->tail_bytes) / log->revoke_bytes;
}

u32 zj_jbd2_image_csum(const struct zj_jbd2_geo *log, u32 sequence,
		       const void *image)
{
	__be32 seq = cpu_to_be32(sequence);
	u32 crc;

	if (!log->tail_bytes)
		return 0;
	crc = crc32c(log->seed, &seq, sizeof(seq));
	crc = crc32c(crc, image, log->block_size);
	return log->csum3 ? crc : crc & 0xffff;
}

/* ---- encode ---- */

bool zj_jbd2_escape(void *image)
{
	const __be32 magic = cpu_to_be32(ZJ_JBD2_MAGIC);

	if (memcmp(image, &magic, sizeof(magic)))
		return false;
	memset(image, 0, sizeof(magic));
	return true;
}

void zj_jbd2_put_header(void *block, u32 type, u32 sequence)
{
	struct zj_jbd2_header *h = block;

	h->magic = cpu_to_be32(ZJ_JBD2_MAGIC);
	h->type = cpu_to_be32(type);
	h->sequence = cpu_to_be32(sequence);
}

void zj_jbd2_put_tag(const struct zj_jbd2_geo *log, void *block, u32 i,
		     bool last, const struct zj_jbd2_image *image)
{
	u32 flags = image->flags | (i ? ZJ_JBD2_TAG_SAME_UUID : 0) |
		    (last ? ZJ_JBD2_TAG_LAST : 0);
	void *at = block + sizeof(struct zj_jbd2_header) + i * log->tag_bytes;

	if (i)
		at += ZJ_JBD2_UUID_BYTES;
	else
		memcpy(at + log->tag_bytes, log->uuid, sizeof(log->uuid));
	if (log->csum3) {
		const struct zj_jbd2_tag3 tag = {
			.block = cpu_to_be32(image->block),
			.flags = cpu_to_be32(flags),
			.block_high = cpu_to_be32(image->block >> 32),
			.csum = cpu_to_be32(image->csum),
		};

		memcpy(at, &tag, sizeof(tag));
	} else {
		const struct zj_jbd2_tag tag = {
			.block = cpu_to_be32(image->block),
			.csum = cpu_to_be16(image->csum),
			.flags = cpu_to_be16(flags),
			.block_high = cpu_to_be32(image->block >> 32),
		};

		memcpy(at, &tag, log->b64 ? sizeof(tag) : 8);
	}
}

void zj_jbd2_put_revoke(const struct zj_jbd2_geo *log, void *block, u32 i,
			u64 revoked)
{
	struct zj_jbd2_revoke *head = block;
	void *at = block + sizeof(*head) + i * log->revoke_bytes;
	__be64 wide = cpu_to_be64(revoked);
	__be32 narrow = cpu_to_be32(revoked);

	memcpy(at, log->b64 ? (void *)&wide : &narrow, log->revoke_bytes);
	head->used = cpu_to_be32(sizeof(*head) + (i + 1) * log->revoke_bytes);
}

static __be32 *tail_of(const struct zj_jbd2_geo *log, const void *block)
{
	return (void *)block + log->block_size - sizeof(struct zj_jbd2_tail);
}

static u32 block_csum(const struct zj_jbd2_geo *log, const void *block)
{
	return zj_crc_without(log->seed, block, log->block_size,
			      log->block_size - sizeof(struct zj_jbd2_tail));
}

void zj_jbd2_set_csum(const struct zj_jbd2_geo *log, void *block)
{
	if (log->tail_bytes)
		*tail_of(log, block) = cpu_to_be32(block_csum(log, block));
}

static u32 commit_csum(const struct zj_jbd2_geo *log, const void *block, u32 len)
{
	return zj_crc_without(log->seed, block, len,
			      offsetof(struct zj_jbd2_commit, chksum));
}

/*
 * Leaves out the checksum of version 1, as the format allows. Nothing depends on it,
 * because log blocks are durable before their commit block is written (C1).
 */
void zj_jbd2_put_commit(const struct zj_jbd2_geo *log, void *block, u32 sequence,
			u64 sec, u32 nsec)
{
	struct zj_jbd2_commit *commit = block;

	zj_jbd2_put_header(block, ZJ_JBD2_COMMIT, sequence);
	commit->sec = cpu_to_be64(sec);
	commit->nsec = cpu_to_be32(nsec);
	if (log->tail_bytes)
		commit->chksum[0] = cpu_to_be32(commit_csum(log, block,
							    log->block_size));
}

/* ---- decode ---- */

u32 zj_jbd2_type(const void *block, u32 sequence)
{
	const struct zj_jbd2_header *h = block;

	if (h->magic != cpu_to_be32(ZJ_JBD2_MAGIC) ||
	    h->sequence != cpu_to_be32(sequence))
		return 0;
	return be32_to_cpu(h->type);
}

bool zj_jbd2_get_tag(const struct zj_jbd2_geo *log, const void *block, u32 *at,
		     struct zj_jbd2_image *image)
{
	u32 pos = *at ?: sizeof(struct zj_jbd2_header);
	struct zj_jbd2_tag3 tag3 = { };
	struct zj_jbd2_tag tag = { };

	if (pos + log->tag_bytes > log->block_size - log->tail_bytes)
		return false;
	if (log->csum3) {
		memcpy(&tag3, block + pos, sizeof(tag3));
		/* Like stock, this looks only at the lower half of the flags. */
		image->flags = be32_to_cpu(tag3.flags) & 0xffff;
		image->csum = be32_to_cpu(tag3.csum);
		tag.block_high = tag3.block_high;
		tag.block = tag3.block;
	} else {
		memcpy(&tag, block + pos, log->b64 ? sizeof(tag) : 8);
		image->flags = be16_to_cpu(tag.flags);
		image->csum = be16_to_cpu(tag.csum);
	}
	image->block = be32_to_cpu(tag.block);
	if (log->b64)
		image->block |= (u64)be32_to_cpu(tag.block_high) << 32;
	pos += log->tag_bytes;
	if (!(image->flags & ZJ_JBD2_TAG_SAME_UUID))
		pos += ZJ_JBD2_UUID_BYTES;
	*at = image->flags & ZJ_JBD2_TAG_LAST ? log->block_size : pos;
	return true;
}

int zj_jbd2_nr_revokes(const struct zj_jbd2_geo *log, const void *block)
{
	const struct zj_jbd2_revoke *head = block;
	u32 used = be32_to_cpu(head->used);

	if (used > log->block_size - log->tail_bytes)
		return -1;
	return used < sizeof(*head) ? 0 : (used - sizeof(*head)) / log->revoke_bytes;
}

u64 zj_jbd2_get_revoke(const struct zj_jbd2_geo *log, const void *block, u32 i)
{
	const void *at = block + sizeof(struct zj_jbd2_revoke) +
			 i * log->revoke_bytes;
	__be64 wide;
	__be32 narrow;

	if (!log->b64) {
		memcpy(&narrow, at, sizeof(narrow));
		return be32_to_cpu(narrow);
	}
	memcpy(&wide, at, sizeof(wide));
	return be64_to_cpu(wide);
}

bool zj_jbd2_csum_good(const struct zj_jbd2_geo *log, const void *block)
{
	return !log->tail_bytes ||
	       *tail_of(log, block) == cpu_to_be32(block_csum(log, block));
}

/*
 * If a commit block was torn, its first sector still has all that matters, but the
 * checksum was computed with zeros behind it. So this also tries it with zeros there.
 */
bool zj_jbd2_commit_good(const struct zj_jbd2_geo *log, const void *block)
{
	const struct zj_jbd2_commit *commit = block;
	static const u8 zero[64];
	u32 left = log->block_size - sizeof(*commit), n, crc;

	if (!log->tail_bytes ||
	    commit->chksum[0] == cpu_to_be32(commit_csum(log, block,
							 log->block_size)))
		return true;
	crc = commit_csum(log, block, sizeof(*commit));
	for (; left; left -= n) {
		n = min_t(u32, left, sizeof(zero));
		crc = crc32c(crc, zero, n);
	}
	return commit->chksum[0] == cpu_to_be32(crc);
}
