// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <linux/minmax.h>
#include "format/codec.h"
#include "format/line_set.h"
#include "device.h"
#include "zj_heal.h"
#include "zj_seal.h"

#define SEG_BLOCKS	8
#define LANES		8

/**
 * struct healing - a log being healed
 */
struct healing {
	struct input *in;
	struct zj_log_geometry geo;
	u32	dice;
	u32	nr;			/* chunks that a scan will see */
	struct zj_chunk_header *chunk[IN_MAX_BLOCKS];
	u32	nr_images;		/* of these chunks, as far as healed */
	struct {
		__le64	stamp;
		u64	block;
	} image[IN_MAX_BLOCKS];
};

static bool rarely(struct healing *h)
{
	h->dice = h->dice * 1664525 + 1013904223;
	return h->dice >> 28 == 0;
}

static void heal_super(struct input *in)
{
	struct zj_log_super *sb = (void *)in_block(in, ZJ_BLOCK_LOG_SUPER);
	struct zj_log_geometry geo = seal_geometry(in);

	if (in->journal_blocks < ZJ_LOG_FIRST + 2 * SEG_BLOCKS)
		in->journal_blocks = ZJ_LOG_FIRST + 16 * SEG_BLOCKS;
	seal(in, SEAL_SUPER);
	/* The decoder is under test: what keeps us within bounds is said again. */
	if (!zj_decode_log_super(sb, &geo) &&
	    geo.log_first + (u64)geo.nr_segs * geo.seg_blocks <=
	    in->journal_blocks && geo.total_blocks <= in->journal_blocks &&
	    geo.block_size == in->block_size)
		return;
	geo.block_size = in->block_size;
	geo.total_blocks = in->journal_blocks;
	geo.log_first = ZJ_LOG_FIRST;
	geo.seg_blocks = SEG_BLOCKS;
	geo.nr_segs = (in->journal_blocks - ZJ_LOG_FIRST) / SEG_BLOCKS;
	geo.nr_lanes = LANES;
	zj_encode_log_super(&geo, sb);
}

static void heal_ckpt(struct input *in)
{
	u64 stamp[ZJ_CKPT_SLOTS], seq[ZJ_CKPT_SLOTS];

	for (u32 i = 0; i < ZJ_CKPT_SLOTS; i++) {
		struct zj_ckpt_slot *slot =
			(void *)in_block(in, ZJ_BLOCK_CKPT + i);

		memset(slot->reserved, 0, sizeof(slot->reserved));
		seq[i] = le64_to_cpu(slot->seq);
		stamp[i] = le64_to_cpu(slot->ckpt_stamp);
		if (seq[i] % ZJ_CKPT_SLOTS != i)
			slot->seq = cpu_to_le64(seq[i] ^ 1);
	}
	if (stamp[seq[1] > seq[0]] < stamp[seq[1] <= seq[0]])
		in->block[ZJ_BLOCK_CKPT] = NULL;
}

/* ---- one header ---- */

static void clamp32(__le32 *field, u32 low, u32 high)
{
	u32 val = le32_to_cpu(*field);

	if (val < low || val > high)
		*field = cpu_to_le32(low + val % (high - low + 1));
}

static void heal_counts(struct healing *h, struct zj_chunk_header *c, u32 pos)
{
	clamp32(&c->nr_tags, 0, h->geo.seg_blocks - pos - 1 + 8);
	clamp32(&c->nr_deps, 0, min_t(u32, 8, h->geo.nr_lanes));
	clamp32(&c->nr_revokes, 0, 8);
	if (!seal_counts_fit(h->in, c))
		c->nr_tags = 0;
}

static bool image_is_there(struct healing *h, __le64 stamp, u64 block)
{
	for (u32 i = 0; i < h->nr_images; i++)
		if (h->image[i].stamp == stamp && h->image[i].block == block)
			return true;
	return false;
}

/* The tag keeps its lines if its lines fit into what is @left of the header's end. */
static bool heal_lines(const struct healing *h, struct zj_tag *tag, u32 *left)
{
	u32 size = h->geo.block_size;
	u64 lines = le64_to_cpu(tag->lines) & zj_lines_all(size);

	if (!zj_tag_has_lines(tag) || !lines)
		return false;
	while (zj_lines_bytes(lines, size) > zj_lines_max(size))
		lines &= lines - 1;
	if (zj_lines_bytes(lines, size) > *left)
		return false;
	*left -= zj_lines_bytes(lines, size);
	tag->lines = cpu_to_le64(lines);
	tag->flags = 0;
	return true;
}

/* @image is the tag's image; NULL: it has lines */
static void heal_tag(struct healing *h, const struct zj_chunk_header *c,
		     struct zj_tag *tag, u8 *image)
{
	u64 block = le64_to_cpu(tag->block) % (h->in->home_blocks / 4);

	/* The device has no journal in its first quarter. */
	for (u32 i = 0; i < h->in->home_blocks / 4; i++) {
		if (!image_is_there(h, c->stamp, block))
			break;
		block = (block + 1) % (h->in->home_blocks / 4);
	}
	h->image[h->nr_images].stamp = c->stamp;
	h->image[h->nr_images++].block = block;
	tag->block = cpu_to_le64(block);
	tag->reserved = 0;
	if (!image)
		return;
	tag->lines = cpu_to_le64(ZJ_TAG_ALL_LINES);
	tag->flags = cpu_to_le16(zj_escape(image));
}

static void heal_entries(struct healing *h, struct zj_chunk_header *c, u32 at)
{
	u32 nr_deps = le32_to_cpu(c->nr_deps);
	u32 nr_revokes = le32_to_cpu(c->nr_revokes);
	u32 device = h->in->home_blocks + h->in->journal_blocks;
	__le64 *deps = zj_chunk_deps(c);
	__le64 *revokes = zj_chunk_revokes(c, nr_deps);
	struct zj_tag *tag = zj_chunk_tags(c, nr_deps, nr_revokes);
	u32 pos = le32_to_cpu(c->seg_block), line_tags = 0, i;
	u32 left = h->geo.block_size - ((u8 *)(tag + le32_to_cpu(c->nr_tags)) - (u8 *)c);
	u64 stamp = le64_to_cpu(c->stamp);

	for (u32 i = 0; i < nr_deps; i++)
		if (le64_to_cpu(deps[i]) >= stamp)
			deps[i] = cpu_to_le64(stamp - 1);
	for (u32 i = 0; i < nr_revokes; i++)
		if (le64_to_cpu(revokes[i]) >= device)
			revokes[i] = cpu_to_le64(le64_to_cpu(revokes[i]) % device);
	for (i = 0; i < le32_to_cpu(c->nr_tags); i++) {
		if (heal_lines(h, &tag[i], &left)) {
			heal_tag(h, c, &tag[i], NULL);
			line_tags++;
		} else if (pos + 1 + i - line_tags < h->geo.seg_blocks) {
			heal_tag(h, c, &tag[i], in_block(h->in, at + 1 + i - line_tags));
		} else {
			break;
		}
	}
	c->nr_tags = cpu_to_le32(i);
	c->nr_line_tags = cpu_to_le32(line_tags);
}

/* All chunks of a tenure belong to the lane of the first one, in stamp order. */
static void heal_header(struct healing *h, struct zj_chunk_header *c, u32 at,
			const struct zj_chunk_header *first, u64 *stamp)
{
	seal_place(h->in, at);
	clamp32(&c->lane, 0, h->geo.nr_lanes - 1);
	c->lane = first->lane;
	if (!rarely(h))
		c->seg_seq = first->seg_seq;
	if (le64_to_cpu(c->stamp) - *stamp > 16)
		c->stamp = cpu_to_le64(*stamp + le64_to_cpu(c->stamp) % 4);
	if (!c->stamp)
		c->stamp = cpu_to_le64(1);
	*stamp = le64_to_cpu(c->stamp);
	c->flags = 0;
	memset(c->reserved, 0, sizeof(c->reserved));
	/*
	 * Otherwise most logs would be refused, as some component below that stamp is usually
	 * missing.
	 */
	if (!rarely(h) || le64_to_cpu(c->committed_stamp) >= *stamp)
		c->committed_stamp = 0;
	heal_counts(h, c, le32_to_cpu(c->seg_block));
	heal_entries(h, c, at);
	h->chunk[h->nr++] = c;
}

static void heal_segment(struct healing *h, u32 seg)
{
	u32 start = h->geo.log_first + seg * h->geo.seg_blocks, at = start;
	struct zj_chunk_header *first = (void *)h->in->block[start];
	u64 stamp;

	if (!seal_is_header(h->in, start))
		return;
	stamp = le64_to_cpu(first->stamp);
	while (at < start + h->geo.seg_blocks && seal_is_header(h->in, at)) {
		struct zj_chunk_header *c = (void *)h->in->block[at];

		heal_header(h, c, at, first, &stamp);
		if (c->seg_seq != first->seg_seq)
			break;
		at += 1 + seal_images(c);
	}
}

/* ---- components ---- */

/* Number the chunks of a member; now and then one is missing. */
static void heal_member(struct healing *h, const struct zj_chunk_header *of)
{
	u32 nr = 0, missing = rarely(h);

	for (u32 i = 0; i < h->nr; i++) {
		struct zj_chunk_header *c = h->chunk[i];

		if (c->stamp != of->stamp || c->lane != of->lane)
			continue;
		c->tid = of->tid;
		c->chunk_index = cpu_to_le32(nr++);
	}
	for (u32 i = 0; i < h->nr; i++)
		if (h->chunk[i]->stamp == of->stamp &&
		    h->chunk[i]->lane == of->lane)
			h->chunk[i]->nr_chunks = cpu_to_le32(nr + missing);
}

static bool is_first(const struct healing *h, u32 i, bool of_member)
{
	for (u32 k = 0; k < i; k++)
		if (h->chunk[k]->stamp == h->chunk[i]->stamp &&
		    (!of_member || h->chunk[k]->lane == h->chunk[i]->lane))
			return false;
	return true;
}

static void heal_component(struct healing *h, u32 first)
{
	__le64 stamp = h->chunk[first]->stamp;
	u32 members = rarely(h);

	for (u32 i = first; i < h->nr; i++)
		if (h->chunk[i]->stamp == stamp && is_first(h, i, true)) {
			heal_member(h, h->chunk[i]);
			members++;
		}
	if (members > h->geo.nr_lanes)
		members = h->geo.nr_lanes;
	for (u32 i = first; i < h->nr; i++)
		if (h->chunk[i]->stamp == stamp)
			h->chunk[i]->nr_members = cpu_to_le32(members);
}

void heal(struct input *in, u32 dice)
{
	static struct healing h;

	h.in = in;
	h.dice = dice;
	h.nr = 0;
	h.nr_images = 0;
	if (in->home_blocks < 64)
		in->home_blocks = 128;
	heal_super(in);
	heal_ckpt(in);
	h.geo = seal_geometry(in);
	for (u32 seg = 0; seg < h.geo.nr_segs; seg++)
		heal_segment(&h, seg);
	for (u32 i = 0; i < h.nr; i++)
		if (is_first(&h, i, false))
			heal_component(&h, i);
}
