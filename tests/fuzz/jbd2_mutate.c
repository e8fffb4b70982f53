// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutations that know stock's format: super block, headers, tags, revokes, whole
 * blocks and the ring's turn; afterwards most checksums are made right again.
 */
#include <string.h>
#include <linux/kernel.h>
#include <asm/byteorder.h>
#include "device.h"
#include "dice.h"
#include "jbd2_seal.h"

/**
 * struct mutation - an input being changed
 */
struct mutation {
	struct input in;
	struct zj_jbd2_geo log;
	u32	rand;
	u32	nr;			/* blocks with the magic number */
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

static bool find_headers(struct mutation *m)
{
	m->nr = 0;
	for (u32 at = 1; at < m->in.journal_blocks; at++)
		if (jbd2_is_header(&m->in, at))
			m->header[m->nr++] = at;
	return jbd2_log_of(&m->in, &m->log) && m->nr;
}

static u32 pick_at(struct mutation *m)
{
	return m->header[below(m, m->nr)];
}

/* A header of one type; any, if there seems to be none. */
static u8 *pick(struct mutation *m, u32 type)
{
	struct zj_jbd2_header *h;
	u32 n = 16;

	do {
		h = (void *)m->in.block[pick_at(m)];
	} while (h->type != cpu_to_be32(type) && --n);
	return (u8 *)h;
}

/* A value that is at the edge of something. */
static u32 edge(struct mutation *m, u32 old)
{
	const struct input *in = &m->in;
	const u32 values[] = {
		0, 1, 2, 4, 5, 8, 12, 15, 16, 17, 255, 256, 257, ~0U, ~0U - 1, ~0U - 15,
		1U << 31, (1U << 31) - 1, old + 1, old - 1, old ^ 1U << below(m, 32), old * 2,
		in->block_size, in->block_size - 4, in->block_size - 3, in->block_size + 1,
		in->journal_blocks, in->journal_blocks - 1, in->home_blocks,
		in->journal_blocks + in->home_blocks, in->journal_blocks + in->home_blocks - 1,
	};

	return one_in(m, 4) ? below(m, ~0U) : values[below(m, ARRAY_SIZE(values))];
}

static void change32(struct mutation *m, void *at)
{
	__be32 *field = at;

	*field = cpu_to_be32(edge(m, be32_to_cpu(*field)));
}

static u32 pick_block(struct mutation *m)
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

/* ---- fields ---- */

static void change_super(struct mutation *m)
{
	/* s_maxlen, s_first, s_sequence, s_start, s_num_fc_blks, features */
	static const u8 fields[] = { 0x10, 0x14, 0x18, 0x18, 0x1c, 0x1c, 0x54, 0x24, 0x28 };

	change32(m, in_block(&m->in, 0) + fields[below(m, ARRAY_SIZE(fields))]);
}

static void change_features(struct mutation *m)
{
	static const u32 known[] = {
		ZJ_JBD2_INCOMPAT_64BIT, ZJ_JBD2_INCOMPAT_ASYNC_COMMIT,
		ZJ_JBD2_INCOMPAT_CSUM_V2, ZJ_JBD2_INCOMPAT_CSUM_V3,
		ZJ_JBD2_INCOMPAT_FAST_COMMIT,
	};
	struct zj_jbd2_super *sb = (void *)in_block(&m->in, 0);

	if (one_in(m, 4)) {
		sb->s_feature_compat ^= cpu_to_be32(ZJ_JBD2_COMPAT_CHECKSUM);
		return;
	}
	sb->s_feature_incompat ^= cpu_to_be32(known[below(m, ARRAY_SIZE(known))]);
	if (one_in(m, 2))
		sb->s_feature_incompat &= cpu_to_be32(~JBD2_CSUMS);
}

static void change_type(struct mutation *m)
{
	static const u8 types[] = { 1, 2, 5, 3, 4, 0 };
	struct zj_jbd2_header *h = (void *)m->in.block[pick_at(m)];

	h->type = cpu_to_be32(types[below(m, ARRAY_SIZE(types))]);
}

static void change_sequence(struct mutation *m)
{
	struct zj_jbd2_header *h = (void *)m->in.block[pick_at(m)];
	const struct zj_jbd2_header *other = (void *)m->in.block[pick_at(m)];

	h->sequence = cpu_to_be32(be32_to_cpu(other->sequence) + below(m, 3) - 1);
}

/* Any tag, by its offset: the walk may take another one for the last. */
static void change_tag(struct mutation *m)
{
	u8 *tag = pick(m, ZJ_JBD2_DESCRIPTOR) + sizeof(struct zj_jbd2_header);
	__be32 block = cpu_to_be32(pick_block(m));
	u32 i = below(m, 6);

	tag += i * m->log.tag_bytes + (i ? ZJ_JBD2_UUID_BYTES : 0);
	switch (below(m, 8)) {
	case 0:		/* LAST, SAME_UUID, ESCAPED */
		tag[7] ^= 1 << below(m, 4);
		break;
	case 1:
		tag[7] = below(m, 16);
		break;
	case 2:		/* high half, or the checksum */
		tag[8 + below(m, 4)] = one_in(m, 2);
		break;
	default:
		memcpy(tag, &block, sizeof(block));
		break;
	}
}

static void change_revoke(struct mutation *m)
{
	u8 *block = pick(m, ZJ_JBD2_REVOKE);
	struct zj_jbd2_revoke *head = (void *)block;

	if (one_in(m, 3))
		change32(m, &head->used);
	else
		zj_jbd2_put_revoke(&m->log, block, below(m, 8), pick_block(m));
}

static void change_commit(struct mutation *m)
{
	struct zj_jbd2_commit *commit = (void *)pick(m, ZJ_JBD2_COMMIT);

	switch (below(m, 4)) {
	case 0:
		commit->sec = cpu_to_be64(be64_to_cpu(commit->sec) + below(m, 5) - 2);
		break;
	case 1:
		commit->chksum_type = below(m, 3);
		commit->chksum_size = below(m, 2) * 4;
		break;
	case 2:
		change32(m, &commit->chksum[0]);
		break;
	default:
		commit->sec = cpu_to_be64(edge(m, 0));
		break;
	}
}

/* ---- blocks ---- */

static u32 pick_place(struct mutation *m)
{
	return one_in(m, 4) ? below(m, m->in.journal_blocks) : pick_at(m) + below(m, 3);
}

static void copy_blocks(struct mutation *m, const struct input *from, u32 at, u32 nr)
{
	u32 to = pick_place(m);

	for (; nr && at < from->journal_blocks; nr--, at++, to++) {
		if (to >= m->in.journal_blocks)
			to = 1;
		memcpy(in_block(&m->in, to), in_peek(from, at), m->in.block_size);
	}
}

static void splice_own(struct mutation *m)
{
	copy_blocks(m, &m->in, pick_at(m), 1 + below(m, 6));
}

/* Gives an image a first word that looks like a header, escaped as it must be, or not. */
static void change_image(struct mutation *m)
{
	u32 at = pick_at(m) + 1 + below(m, 4);
	u8 *image;

	if (at >= m->in.journal_blocks)
		return;
	image = in_block(&m->in, at);
	if (one_in(m, 2))
		memcpy(image, in_peek(&m->in, pick_at(m)), 64);
	if (one_in(m, 2))
		memset(image, 0, 4);
	image[below(m, 32)] ^= 1 << below(m, 8);
}

static void damage_block(struct mutation *m)
{
	u32 at = pick_place(m);

	if (!at || at >= m->in.journal_blocks || !m->in.block[at])
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

/* Moves the log to another place in the ring. */
static void turn_ring(struct mutation *m)
{
	struct zj_jbd2_super *sb = (void *)in_block(&m->in, 0);
	u32 len = m->log.last - m->log.first, by = below(m, len), start;
	u8 *old[IN_MAX_BLOCKS];

	start = be32_to_cpu(sb->s_start);
	if (start < m->log.first || start >= m->log.last)
		return;
	memcpy(old, m->in.block, sizeof(old));
	for (u32 i = 0; i < len; i++)
		m->in.block[m->log.first + (i + by) % len] = old[m->log.first + i];
	sb->s_start = cpu_to_be32(zj_jbd2_step(&m->log, start, by));
}

/* A log that is full, or more than that. */
static void shrink_ring(struct mutation *m)
{
	struct zj_jbd2_super *sb = (void *)in_block(&m->in, 0);

	sb->s_first = cpu_to_be32(1 + below(m, 8));
	sb->s_maxlen = cpu_to_be32(17 + below(m, 32));
}

/* Shifts all sequence numbers, so that they wrap over 0, or by a random amount. */
static void renumber(struct mutation *m)
{
	struct zj_jbd2_super *sb = (void *)in_block(&m->in, 0);
	u32 by = (one_in(m, 4) ? below(m, ~0U) : -below(m, 4)) - be32_to_cpu(sb->s_sequence);

	sb->s_sequence = cpu_to_be32(be32_to_cpu(sb->s_sequence) + by);
	for (u32 i = 0; i < m->nr; i++) {
		struct zj_jbd2_header *h = (void *)m->in.block[m->header[i]];

		h->sequence = cpu_to_be32(be32_to_cpu(h->sequence) + by);
	}
}

static void put_fast_commit(struct mutation *m)
{
	const struct zj_jbd2_header *h = (void *)m->in.block[pick_at(m)];
	const __le16 tag = cpu_to_le16(9);
	__le32 tid = cpu_to_le32(be32_to_cpu(h->sequence) + below(m, 3) - 1);
	u8 *block;

	if (m->log.last + 1 >= m->in.journal_blocks)
		return;
	block = in_block(&m->in, m->log.last + 1);
	memcpy(block, &tag, sizeof(tag));
	memcpy(block + 8, &tid, sizeof(tid));
	/* How the host takes each block (jbd2.c). */
	for (u32 at = m->log.last + 1; at < m->in.journal_blocks; at++)
		in_block(&m->in, at)[12] = one_in(m, 4) ? below(m, 4) : 1;
}

static void change_head(struct mutation *m)
{
	switch (below(m, 8)) {
	case 0:
		m->in.journal_blocks = edge(m, m->in.journal_blocks) % IN_MAX_BLOCKS;
		break;
	case 1:
		m->in.home_blocks = edge(m, m->in.home_blocks) % IN_MAX_BLOCKS;
		break;
	case 2:
		m->in.block_size = 1024 << below(m, 3);
		break;
	default:
		m->in.failure = below(m, 7);
		m->in.when = below(m, 65536);
		break;
	}
}

/* ---- all of it ---- */

static void (*const mutations[])(struct mutation *m) = {
	change_super, change_features, change_type, change_sequence,
	change_tag, change_tag, change_tag, change_revoke, change_revoke,
	change_commit, splice_own, splice_own, change_image, damage_block,
	turn_ring, shrink_ring, renumber, put_fast_commit, change_head,
};

static void finish(struct mutation *m)
{
	if (!one_in(m, 4))
		jbd2_heal(&m->in, m->rand);
	/* One wrong field in a log that is correct otherwise. */
	if (one_in(m, 3) && find_headers(m))
		mutations[below(m, ARRAY_SIZE(mutations))](m);
	if (!one_in(m, 16))
		jbd2_seal(&m->in);
	if (one_in(m, 6) && find_headers(m))
		damage_block(m);
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
		if (find_headers(&m))
			mutations[below(&m, ARRAY_SIZE(mutations))](&m);
		else
			change_head(&m);
	}
	finish(&m);
	return in_pack(&m.in, data, max_size);
}

/* Some blocks of the second log among those of the first. */
size_t LLVMFuzzerCustomCrossOver(const u8 *data1, size_t size1,
				 const u8 *data2, size_t size2, u8 *out,
				 size_t max_size, unsigned int seed)
{
	static struct mutation m, from;

	m.rand = seed | 1;
	in_reset();
	in_unpack(&m.in, data1, size1);
	in_unpack(&from.in, data2, size2);
	if (find_headers(&m) && find_headers(&from))
		for (u32 n = 1 + below(&m, 4); n; n--)
			copy_blocks(&m, &from.in, from.header[below(&m, from.nr)],
				    1 + below(&m, 8));
	finish(&m);
	return in_pack(&m.in, out, max_size);
}
