// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutations that know the format: fields of the headers, entries, whole chunks and
 * segments; afterwards most checksums are made right again, or no mutation would
 * get past the first of them.
 */
#include <string.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <asm/byteorder.h>
#include <linux/crc32c.h>
#include "format/codec.h"
#include "device.h"
#include "dice.h"
#include "zj_heal.h"
#include "zj_seal.h"

#define MAX_GROWTH	48	/* blocks that a mutation may add to a log */

/**
 * struct mutation - an input being changed
 */
struct mutation {
	struct input in;
	u32	rand;
	u32	nr;			/* chunk headers */
	u32	header[IN_MAX_BLOCKS];	/* their journal blocks */
};

static u32 below(struct mutation *m, u32 n)
{
	return dice_below(&m->rand, n);
}

static bool one_in(struct mutation *m, u32 n)
{
	return !below(m, n);
}

static void find_headers(struct mutation *m)
{
	m->nr = 0;
	for (u32 at = ZJ_LOG_FIRST; at < m->in.journal_blocks; at++)
		if (seal_is_header(&m->in, at))
			m->header[m->nr++] = at;
}

static struct zj_chunk_header *pick_header(struct mutation *m)
{
	return (void *)m->in.block[m->header[below(m, m->nr)]];
}

/* A value that is at the edge of something. */
static u64 edge(struct mutation *m, u64 old)
{
	const struct input *in = &m->in;
	u32 device = in->journal_blocks + in->home_blocks;
	const u64 values[] = {
		0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 255, 256, 257, ~0ULL, ~0U,
		1ULL << 31, 1ULL << 32, 1ULL << 63, ~0ULL / 8, ~0U / 24 + 1,
		old + 1, old - 1, old ^ 1ULL << below(m, 64), old * 2,
		in->block_size, in->journal_blocks, in->home_blocks, device,
		device - 1, device + 1, in->block_size / 8 - 16,
		(in->block_size - 128) / 24,
	};

	return one_in(m, 4) ? below(m, ~0U) : values[below(m, ARRAY_SIZE(values))];
}

/* ---- fields ---- */

/* Offset and size of every field of a chunk header. */
static const struct {
	u8 at, size;
} header_fields[] = {
	{ 0x00, 4 }, { 0x08, 8 }, { 0x10, 8 }, { 0x18, 4 }, { 0x1c, 4 },
	{ 0x20, 8 }, { 0x28, 4 }, { 0x2c, 4 }, { 0x30, 4 }, { 0x34, 4 },
	{ 0x38, 4 }, { 0x3c, 4 }, { 0x40, 4 }, { 0x44, 4 }, { 0x48, 8 },
	{ 0x50, 4 }, { 0x54, 4 }, { 0x58, 8 }, { 0x60, 8 },
};

static void change(struct mutation *m, u8 *field, u32 size, const u8 *same)
{
	u64 val = 0;

	if (same && one_in(m, 2)) {
		memmove(field, same, size);
		return;
	}
	memcpy(&val, field, size);
	val = edge(m, val);
	memcpy(field, &val, size);
}

/* A field, at the edge of its range or as another header has it. */
static void change_header(struct mutation *m)
{
	u32 i = below(m, ARRAY_SIZE(header_fields)), at = header_fields[i].at;

	change(m, (u8 *)pick_header(m) + at, header_fields[i].size,
	       (u8 *)pick_header(m) + at);
}

static void change_super(struct mutation *m)
{
	static const u8 fields[] = { 0x00, 0x08, 0x0c, 0x10, 0x20, 0x24, 0x28,
				     0x2c, 0x30, 0x34, 0x38, 0x3c, 0x40, 0x44, 0x48 };

	change(m, in_block(&m->in, ZJ_BLOCK_LOG_SUPER) +
	       fields[below(m, ARRAY_SIZE(fields))], 4, NULL);
}

static void change_slot(struct mutation *m)
{
	u8 *block = in_block(&m->in, ZJ_BLOCK_CKPT + below(m, ZJ_CKPT_SLOTS));

	change(m, block + 4 * below(m, 10), one_in(m, 2) ? 8 : 4, NULL);
}

/* A good slot, mostly in its place, with a checkpoint stamp that matters. */
static void change_ckpt(struct mutation *m)
{
	u64 seq = below(m, 5);
	struct zj_log_geometry geo;
	u32 at = ZJ_BLOCK_CKPT + (one_in(m, 8) ? below(m, 2) : seq & 1);

	geo = seal_geometry(&m->in);
	geo.block_size = m->in.block_size;
	zj_encode_ckpt(&geo, seq, le64_to_cpu(pick_header(m)->stamp) -
		       below(m, 2), in_block(&m->in, at));
}

static u64 pick_block(struct mutation *m)
{
	struct device d = {
		.journal_blocks = m->in.journal_blocks,
		.home_blocks = m->in.home_blocks,
	};

	if (one_in(m, 8))
		return edge(m, 0);
	if (one_in(m, 8) && d.journal_blocks)
		return dev_log_home(&d, below(m, d.journal_blocks));
	return below(m, 16);
}

/* ---- entries ---- */

static u32 entry_bytes(const struct zj_chunk_header *h)
{
	return 8 * (le32_to_cpu(h->nr_deps) + le32_to_cpu(h->nr_revokes)) +
	       sizeof(struct zj_tag) * le32_to_cpu(h->nr_tags);
}

static bool has_room(const struct mutation *m, const struct zj_chunk_header *h,
		     u32 bytes)
{
	return seal_counts_fit(&m->in, h) && sizeof(*h) + entry_bytes(h) +
	       bytes <= m->in.block_size;
}

/* Open a gap for one more dependency or revoke, in front of the others. */
static __le64 *insert_entry(struct zj_chunk_header *h, u32 offset)
{
	u8 *at = (u8 *)(h + 1) + offset;

	memmove(at + 8, at, entry_bytes(h) - offset);
	return (void *)at;
}

static void add_dependency(struct mutation *m)
{
	struct zj_chunk_header *h = pick_header(m);
	u64 stamp = le64_to_cpu(pick_header(m)->stamp);

	if (!has_room(m, h, 8))
		return;
	*insert_entry(h, 0) = cpu_to_le64(one_in(m, 8) ? edge(m, stamp) : stamp);
	le32_add(&h->nr_deps, 1);
}

static void add_revoke(struct mutation *m)
{
	struct zj_chunk_header *h = pick_header(m);

	if (!has_room(m, h, 8))
		return;
	*insert_entry(h, 8 * le32_to_cpu(h->nr_deps)) =
		cpu_to_le64(pick_block(m));
	le32_add(&h->nr_revokes, 1);
}

/* Take one entry away; the rest of the block stays zero. */
static void drop_entry(struct mutation *m)
{
	struct zj_chunk_header *h = pick_header(m);
	u32 deps = le32_to_cpu(h->nr_deps), revokes = le32_to_cpu(h->nr_revokes);
	u8 *first = (u8 *)(h + 1);
	u32 i;

	if (!seal_counts_fit(&m->in, h) || !(deps + revokes))
		return;
	i = below(m, deps + revokes);
	memmove(first + 8 * i, first + 8 * i + 8, entry_bytes(h) - 8 * i - 8);
	memset(first + entry_bytes(h) - 8, 0, 8);
	le32_add(i < deps ? &h->nr_deps : &h->nr_revokes, -1);
}

static void change_entry(struct mutation *m)
{
	struct zj_chunk_header *h = pick_header(m);
	u32 deps = le32_to_cpu(h->nr_deps), revokes = le32_to_cpu(h->nr_revokes);
	u32 i;

	if (!seal_counts_fit(&m->in, h) || !(deps + revokes))
		return;
	i = below(m, deps + revokes);
	((__le64 *)(h + 1))[i] =
		cpu_to_le64(i >= deps ? pick_block(m) : one_in(m, 4) ?
			    edge(m, le64_to_cpu(h->stamp)) :
			    le64_to_cpu(pick_header(m)->stamp));
}

static void change_tag(struct mutation *m)
{
	struct zj_chunk_header *h = pick_header(m);
	struct zj_tag *tag;

	if (!seal_counts_fit(&m->in, h) || !h->nr_tags)
		return;
	tag = zj_chunk_tags(h, le32_to_cpu(h->nr_deps), le32_to_cpu(h->nr_revokes));
	tag += below(m, le32_to_cpu(h->nr_tags));
	switch (below(m, 8)) {
	case 0:
		tag->lines = cpu_to_le64(edge(m, ~0ULL));
		break;
	case 1:
		tag->flags = cpu_to_le16(below(m, 5));
		break;
	case 2:
		tag->flags = cpu_to_le16(edge(m, 0));
		tag->reserved = cpu_to_le16(edge(m, 0));
		break;
	default:
		tag->block = cpu_to_le64(pick_block(m));
		break;
	}
}

/* The blocks behind @at in its segment move one place ahead. */
static void close_gap(struct mutation *m, u32 at)
{
	struct zj_log_geometry geo = seal_geometry(&m->in);
	u32 end = geo.seg_blocks ? at + geo.seg_blocks - (at - geo.log_first) % geo.seg_blocks : 0;

	for (; at + 1 < min(end, m->in.journal_blocks); at++) {
		m->in.block[at] = m->in.block[at + 1];
		m->in.block[at + 1] = NULL;
		if (m->in.block[at] && seal_is_header(&m->in, at))
			seal_place(&m->in, at);
	}
}

/* Makes an image lines of its block, or of a block that is in another chunk. */
static void make_part(struct mutation *m)
{
	u32 at = m->header[below(m, m->nr)], i, k, image = at;
	struct zj_chunk_header *h = (void *)m->in.block[at], *other = pick_header(m);
	struct zj_tag *tag = zj_chunk_tags(h, le32_to_cpu(h->nr_deps), le32_to_cpu(h->nr_revokes));

	if (!seal_counts_fit(&m->in, h) || !h->nr_tags)
		return;
	i = below(m, le32_to_cpu(h->nr_tags));
	for (k = 0; k <= i; k++)
		image += !zj_tag_has_lines(&tag[k]);
	if (zj_tag_has_lines(&tag[i]))
		return;
	if (one_in(m, 2) && seal_counts_fit(&m->in, other) && other->nr_tags)
		tag[i].block = zj_chunk_tags(other, le32_to_cpu(other->nr_deps),
					     le32_to_cpu(other->nr_revokes))->block;
	tag[i].lines = cpu_to_le64(1ULL << below(m, 16) | 1ULL << below(m, 16) |
				   1ULL << below(m, one_in(m, 8) ? 64 : 4));
	le32_add(&h->nr_line_tags, 1);
	for (k = 0; k < 8; k++)
		((u8 *)h)[m->in.block_size - 1 - below(m, 256)] = below(m, 256);
	if (image < m->in.journal_blocks)
		close_gap(m, image);
}

/* ---- blocks and chunks ---- */

/* Gives an image a special first word, escaped as a writer does it, or not. */
static void change_image(struct mutation *m)
{
	static const char *const magic[] = {
		"\xc0\x3b\x39\x98", "ZJCH", "\0\0\0\0", "ZJSB", "ZJTR",
	};
	u32 at = m->header[below(m, m->nr)];
	struct zj_chunk_header *h = (void *)m->in.block[at];
	u32 i = below(m, le32_to_cpu(h->nr_tags));
	struct zj_tag *tag;
	u8 *image;

	if (!seal_counts_fit(&m->in, h) || !h->nr_tags)
		return;
	image = in_block(&m->in, at + 1 + i);
	memcpy(image, magic[below(m, ARRAY_SIZE(magic))], 4);
	tag = zj_chunk_tags(h, le32_to_cpu(h->nr_deps), le32_to_cpu(h->nr_revokes));
	if (!one_in(m, 8))
		tag[i].flags = cpu_to_le16(zj_escape(image));
}

static void damage_block(struct mutation *m)
{
	u32 at = below(m, m->in.journal_blocks);

	if (one_in(m, 2))
		at = m->header[below(m, m->nr)] + below(m, 3);
	if (at >= m->in.journal_blocks || !m->in.block[at])
		return;
	switch (below(m, 4)) {
	case 0:
		m->in.block[at] = NULL;
		break;
	case 1:
		memset(m->in.block[at] + ZJ_SECTOR * below(m, 2), 0, ZJ_SECTOR);
		break;
	case 2:
		m->in.block[at][below(m, m->in.block_size)] ^= 1 << below(m, 8);
		break;
	default:
		LLVMFuzzerMutate(m->in.block[at], 256, 256);
		break;
	}
}

/* Copy a chunk, @nr blocks from block @from of @source on, to @to. */
static void copy_chunk(struct mutation *m, const struct input *source, u32 from,
		       u32 to, u32 nr)
{
	for (u32 i = 0; i < nr && from + i < source->journal_blocks &&
	     to + i < m->in.journal_blocks; i++)
		memmove(in_block(&m->in, to + i), in_peek(source, from + i),
			m->in.block_size);
	if (!one_in(m, 8))
		seal_place(&m->in, to);
}

/* The block behind the last chunk of a segment, or any. */
static u32 pick_place(struct mutation *m)
{
	u32 at = m->header[below(m, m->nr)];

	if (one_in(m, 8))
		return ZJ_LOG_FIRST + below(m, m->in.journal_blocks);
	if (one_in(m, 4))
		return seal_segment_start(&m->in, below(m, 64));
	return at + 1 + seal_images((struct zj_chunk_header *)m->in.block[at]);
}

/* A chunk elsewhere, with something of its own. */
static void splice(struct mutation *m, const struct input *source, u32 from)
{
	const struct zj_chunk_header *h = (const void *)in_peek(source, from);
	u32 to = pick_place(m), nr = 1 + seal_images(h);
	struct zj_chunk_header *new;
	u32 i;

	if (!nr || nr > MAX_GROWTH || to < ZJ_LOG_FIRST ||
	    to >= m->in.journal_blocks)
		return;
	copy_chunk(m, source, from, to, nr);
	new = (void *)m->in.block[to];
	if (one_in(m, 2))	/* as the neighbours there */
		new->seg_seq = pick_header(m)->seg_seq;
	if (one_in(m, 2))
		le64_add(&new->stamp, 1 + below(m, 3));
	if (one_in(m, 2))
		new->lane = pick_header(m)->lane;
	for (i = below(m, 3); i; i--)
		change(m, (u8 *)new + header_fields[below(m, 15)].at, 4, NULL);
}

static void splice_own(struct mutation *m)
{
	splice(m, &m->in, m->header[below(m, m->nr)]);
}

/* Makes two chunks look like members of one component. */
static void unite(struct mutation *m)
{
	struct zj_chunk_header *a = pick_header(m), *b = pick_header(m);

	a->stamp = b->stamp;
	a->nr_members = b->nr_members = cpu_to_le32(1 + below(m, 3));
	if (one_in(m, 2))
		a->lane = cpu_to_le32(le32_to_cpu(b->lane) + 1);
}

static void change_head(struct mutation *m)
{
	switch (below(m, 6)) {
	case 0:
		m->in.journal_blocks = edge(m, m->in.journal_blocks) % IN_MAX_BLOCKS;
		break;
	case 1:
		m->in.home_blocks = edge(m, m->in.home_blocks) % IN_MAX_BLOCKS;
		break;
	case 2:
		m->in.block_size = 1024 << below(m, 3);
		seal_block_size(&m->in);
		break;
	default:
		m->in.failure = below(m, 7);
		m->in.when = below(m, 65536);
		break;
	}
}

/* ---- all of it ---- */

static void (*const mutations[])(struct mutation *m) = {
	change_header, change_header, change_header, change_super, change_slot,
	change_ckpt,
	add_dependency, add_revoke, drop_entry, change_entry, change_entry,
	change_tag, change_tag, make_part, make_part, change_image, damage_block, splice_own,
	splice_own, unite, change_head,
};

/* Does what a crash may do: loses a block of a chunk, or half of it. */
static void lose_block(struct mutation *m)
{
	u32 at = m->header[below(m, m->nr)] + below(m, 3);

	if (at >= m->in.journal_blocks || !m->in.block[at])
		return;
	if (one_in(m, 2))
		m->in.block[at] = NULL;
	else
		memset(m->in.block[at] + ZJ_SECTOR * below(m, 2), 0, ZJ_SECTOR);
}

static void finish(struct mutation *m)
{
	u32 what = SEAL_ALL;

	if (one_in(m, 16))
		what = below(m, SEAL_ALL + 1);
	if (one_in(m, 2))
		heal(&m->in, m->rand);
	seal(&m->in, what);
	for (u32 n = below(m, 6); n > 3; n--) {
		find_headers(m);
		if (m->nr)
			lose_block(m);
	}
}

size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max_size,
			       unsigned int seed)
{
	static struct mutation m;

	if (seed % 64 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	m.rand = seed | 1;
	in_reset();
	in_unpack(&m.in, data, size);
	for (u32 n = 1 + below(&m, 4); n; n--) {
		find_headers(&m);
		if (!m.nr)
			change_head(&m);
		else
			mutations[below(&m, ARRAY_SIZE(mutations))](&m);
	}
	finish(&m);
	return in_pack(&m.in, data, max_size);
}

/* Some chunks of the second log among those of the first. */
size_t LLVMFuzzerCustomCrossOver(const u8 *data1, size_t size1,
				 const u8 *data2, size_t size2, u8 *out,
				 size_t max_size, unsigned int seed)
{
	static struct mutation m, from;

	m.rand = seed | 1;
	in_reset();
	in_unpack(&m.in, data1, size1);
	in_unpack(&from.in, data2, size2);
	find_headers(&m);
	find_headers(&from);
	for (u32 n = 1 + below(&m, 4); n && m.nr && from.nr; n--) {
		splice(&m, &from.in, from.header[below(&m, from.nr)]);
		find_headers(&m);
	}
	finish(&m);
	return in_pack(&m.in, out, max_size);
}
