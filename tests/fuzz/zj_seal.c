// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <linux/crc32c.h>
#include "format/codec.h"
#include "zj_seal.h"

static const struct zj_log_super *super_of(const struct input *in)
{
	return (const void *)in_peek(in, ZJ_BLOCK_LOG_SUPER);
}

struct zj_log_geometry seal_geometry(const struct input *in)
{
	const struct zj_log_super *sb = super_of(in);
	struct zj_log_geometry geo = {
		.generation = le64_to_cpu(sb->generation),
		.block_size = le32_to_cpu(sb->block_size),
		.total_blocks = le32_to_cpu(sb->total_blocks),
		.log_first = le32_to_cpu(sb->log_first),
		.seg_blocks = le32_to_cpu(sb->seg_blocks),
		.nr_segs = le32_to_cpu(sb->nr_segs),
		.nr_lanes = le32_to_cpu(sb->nr_lanes),
		.ckpt_stamp = le64_to_cpu(sb->ckpt_stamp),
	};

	memcpy(geo.uuid, sb->uuid, sizeof(geo.uuid));
	return geo;
}

bool seal_is_header(const struct input *in, u32 at)
{
	const struct zj_chunk_header *h = (const void *)in->block[at];

	return h && le32_to_cpu(h->magic) == ZJ_CHUNK_MAGIC;
}

bool seal_counts_fit(const struct input *in, const struct zj_chunk_header *h)
{
	return sizeof(*h) + 8ULL * le32_to_cpu(h->nr_deps) +
	       8ULL * le32_to_cpu(h->nr_revokes) +
	       24ULL * le32_to_cpu(h->nr_tags) <= in->block_size;
}

u32 seal_segment_start(const struct input *in, u32 seg)
{
	struct zj_log_geometry geo = seal_geometry(in);

	if (geo.nr_segs)
		seg %= geo.nr_segs;
	return geo.log_first + seg * geo.seg_blocks;
}

u32 seal_images(const struct zj_chunk_header *h)
{
	return le32_to_cpu(h->nr_tags) - le32_to_cpu(h->nr_line_tags);
}

void seal_place(struct input *in, u32 at)
{
	struct zj_chunk_header *h = (void *)in_block(in, at);
	struct zj_log_geometry geo = seal_geometry(in);

	if (at < geo.log_first || !geo.seg_blocks)
		return;
	h->seg_index = cpu_to_le32((at - geo.log_first) / geo.seg_blocks);
	h->seg_block = cpu_to_le32((at - geo.log_first) % geo.seg_blocks);
}

void seal_block_size(struct input *in)
{
	struct zj_log_super *sb = (void *)in_block(in, ZJ_BLOCK_LOG_SUPER);

	sb->block_size = cpu_to_le32(in->block_size);
}

static void seal_tags(struct input *in, u32 at, u32 seed)
{
	struct zj_chunk_header *h = (void *)in->block[at];
	struct zj_tag *tag;

	if (!seal_counts_fit(in, h))
		return;
	tag = zj_chunk_tags(h, le32_to_cpu(h->nr_deps),
			    le32_to_cpu(h->nr_revokes));
	for (u32 i = 0; i < le32_to_cpu(h->nr_tags); i++)
		if (zj_tag_has_lines(&tag[i]))
			tag[i].csum = 0;
		else if (++at < in->journal_blocks)
			tag[i].csum = cpu_to_le32(zj_image_csum(seed, in_peek(in, at),
								in->block_size));
}

static void seal_headers(struct input *in, u32 what)
{
	struct zj_log_geometry geo = seal_geometry(in);
	u32 seed = zj_seed(geo.uuid, geo.generation);

	for (u32 at = ZJ_LOG_FIRST; at < in->journal_blocks; at++) {
		struct zj_chunk_header *h = (void *)in->block[at];

		if (!seal_is_header(in, at))
			continue;
		if (what & SEAL_GENERATION)
			h->generation = cpu_to_le64(geo.generation);
		if (what & SEAL_IMAGES)
			seal_tags(in, at, seed);
		if (what & SEAL_HEADERS) {
			h->csum = 0;
			h->csum = cpu_to_le32(crc32c(seed, h, in->block_size));
		}
	}
}

void seal(struct input *in, u32 what)
{
	struct zj_log_geometry geo = seal_geometry(in);
	u32 seed = zj_seed(geo.uuid, geo.generation);
	struct zj_log_super *sb;

	if (in->journal_blocks <= ZJ_LOG_FIRST)
		return;
	sb = (void *)in_block(in, ZJ_BLOCK_LOG_SUPER);
	if (what & SEAL_SUPER) {
		sb->csum = 0;
		sb->csum = cpu_to_le32(crc32c(~0U, sb, sizeof(*sb)));
	}
	for (u32 i = 0; i < ZJ_CKPT_SLOTS; i++) {
		struct zj_ckpt_slot *slot = (void *)in->block[ZJ_BLOCK_CKPT + i];

		if (!slot || le32_to_cpu(slot->magic) != ZJ_CKPT_MAGIC)
			continue;
		if (what & SEAL_GENERATION)
			slot->generation = cpu_to_le64(geo.generation);
		if (what & SEAL_CKPT) {
			slot->csum = 0;
			slot->csum = cpu_to_le32(crc32c(seed, slot, sizeof(*slot)));
		}
	}
	seal_headers(in, what);
}
