// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <linux/crc32.h>
#include <linux/minmax.h>
#include <asm/byteorder.h>
#include "format/codec.h"
#include "dice.h"
#include "jbd2_seal.h"

/**
 * struct ring_walk - a reader's way through the ring
 */
struct ring_walk {
	struct input *in;
	struct zj_jbd2_geo log;
	u32	pos;		/* next block */
	u32	left;		/* blocks not seen yet */
	u32	crc;		/* over the transaction, checksums of version 1 */
	u32	dice;
	u64	time;		/* of the last commit block */
};

static struct zj_jbd2_super *super_of(const struct input *in)
{
	return (void *)in->block[0];
}

bool jbd2_is_header(const struct input *in, u32 at)
{
	const struct zj_jbd2_header *h = (const void *)in_peek(in, at);

	return h->magic == cpu_to_be32(ZJ_JBD2_MAGIC);
}

static u32 type_of(const struct input *in, u32 at)
{
	const struct zj_jbd2_header *h = (const void *)in_peek(in, at);

	return jbd2_is_header(in, at) ? be32_to_cpu(h->type) : 0;
}

bool jbd2_log_of(const struct input *in, struct zj_jbd2_geo *log)
{
	if (!in->journal_blocks || !in->block[0])
		return false;
	zj_jbd2_geo_of(super_of(in), log);
	return log->block_size == in->block_size && log->first &&
	       log->last <= in->journal_blocks && log->first < log->last;
}

/* ---- the tags of a descriptor block ---- */

/* Number of tags; each one's offset in @at. */
static u32 tags_of(const struct zj_jbd2_geo *log, const void *block, u32 *at)
{
	struct zj_jbd2_image tag;
	u32 next = 0, nr = 0;

	at[0] = sizeof(struct zj_jbd2_header);
	while (zj_jbd2_get_tag(log, block, &next, &tag))
		at[++nr] = next;
	return nr;
}

static void put_csum(const struct zj_jbd2_geo *log, u8 *tag, u32 sequence,
		     const u8 *image)
{
	u32 csum = zj_jbd2_image_csum(log, sequence, image);

	if (log->csum3)
		((struct zj_jbd2_tag3 *)tag)->csum = cpu_to_be32(csum);
	else if (log->tail_bytes) {
		__be16 half = cpu_to_be16(csum);

		memcpy(tag + offsetof(struct zj_jbd2_tag, csum), &half, sizeof(half));
	}
}

static void seal_descriptor(struct input *in, const struct zj_jbd2_geo *log, u32 at)
{
	struct zj_jbd2_header *h = (void *)in->block[at];
	u32 tag[IN_MAX_BLOCK_SIZE / 8 + 2], nr = tags_of(log, h, tag);

	for (u32 i = 0; i < nr && i < log->last - log->first; i++) {
		at = at + 1 < log->last ? at + 1 : log->first;
		put_csum(log, (u8 *)h + tag[i], be32_to_cpu(h->sequence),
			 in_peek(in, at));
	}
	zj_jbd2_set_csum(log, h);
}

static void seal_commit(const struct zj_jbd2_geo *log, void *block)
{
	struct zj_jbd2_commit *commit = block;

	if (log->tail_bytes)
		commit->chksum[0] = cpu_to_be32(zj_crc_without(log->seed, block,
						log->block_size,
						offsetof(struct zj_jbd2_commit, chksum)));
}

/* ---- along the ring ---- */

static bool rarely(struct ring_walk *w)
{
	return !dice_below(&w->dice, 16);
}

static u32 step(struct ring_walk *w)
{
	u32 at = w->pos;

	w->pos = zj_jbd2_step(&w->log, w->pos, 1);
	w->left--;
	if (w->log.csum1)
		w->crc = crc32_be(w->crc, in_peek(w->in, at), w->in->block_size);
	return at;
}

static void heal_block_number(struct ring_walk *w, u8 *tag)
{
	__be32 block;

	memcpy(&block, tag, sizeof(block));
	/* The device has no journal in its first quarter. */
	block = cpu_to_be32(be32_to_cpu(block) % (w->in->home_blocks / 4));
	if (!rarely(w))
		memcpy(tag, &block, sizeof(block));
	if (w->log.csum3)
		((struct zj_jbd2_tag3 *)tag)->block_high = 0;
	else if (w->log.b64)
		memset(tag + offsetof(struct zj_jbd2_tag, block_high), 0, 4);
}

static void set_last(const struct zj_jbd2_geo *log, u8 *tag)
{
	tag[offsetof(struct zj_jbd2_tag, flags) + 1] |= ZJ_JBD2_TAG_LAST;
}

static void heal_descriptor(struct ring_walk *w, u8 *block)
{
	u32 tag[IN_MAX_BLOCK_SIZE / 8 + 2], nr = tags_of(&w->log, block, tag);
	u32 most = min(w->left, 8U);

	if (nr > most && most && dice_below(&w->dice, 4)) {
		nr = most;
		set_last(&w->log, block + tag[nr - 1]);
	}
	for (u32 i = 0; i < nr; i++)
		heal_block_number(w, block + tag[i]);
}

static void heal_revokes(struct ring_walk *w, void *block)
{
	struct zj_jbd2_revoke *head = block;

	if (be32_to_cpu(head->used) > w->in->block_size - w->log.tail_bytes &&
	    dice_below(&w->dice, 4))
		head->used = cpu_to_be32(sizeof(*head) + be32_to_cpu(head->used) % 64);
}

static void heal_commit(struct ring_walk *w, void *block)
{
	struct zj_jbd2_commit *commit = block;

	if (be64_to_cpu(commit->sec) < w->time && !rarely(w))
		commit->sec = cpu_to_be64(w->time);
	w->time = be64_to_cpu(commit->sec);
}

static void heal_block(struct ring_walk *w, u32 at, u32 sequence)
{
	struct zj_jbd2_header *h = (void *)in_block(w->in, at);

	h->magic = cpu_to_be32(ZJ_JBD2_MAGIC);
	if (!rarely(w))
		h->sequence = cpu_to_be32(sequence);
	switch (be32_to_cpu(h->type)) {
	case ZJ_JBD2_DESCRIPTOR:
		heal_descriptor(w, (u8 *)h);
		break;
	case ZJ_JBD2_REVOKE:
		heal_revokes(w, h);
		break;
	case ZJ_JBD2_COMMIT:
		heal_commit(w, h);
		break;
	}
}

static bool begin(struct ring_walk *w, struct input *in)
{
	u32 start;

	memset(w, 0, sizeof(*w));
	w->in = in;
	if (!jbd2_log_of(in, &w->log))
		return false;
	start = be32_to_cpu(super_of(in)->s_start);
	if (start < w->log.first || start >= w->log.last)
		return false;
	w->pos = start;
	w->left = w->log.last - w->log.first;
	w->crc = ~0U;
	return true;
}

static void skip_images(struct ring_walk *w, const u8 *block)
{
	u32 tag[IN_MAX_BLOCK_SIZE / 8 + 2], nr = tags_of(&w->log, block, tag);

	while (nr-- && w->left)
		step(w);
}

static void heal_super(struct input *in, struct zj_jbd2_super *sb)
{
	u32 known = ZJ_JBD2_INCOMPAT_64BIT | ZJ_JBD2_INCOMPAT_ASYNC_COMMIT |
		    ZJ_JBD2_INCOMPAT_FAST_COMMIT | JBD2_CSUMS;
	u32 incompat = be32_to_cpu(sb->s_feature_incompat) & known;
	u32 first, last;

	sb->s_magic = cpu_to_be32(ZJ_JBD2_MAGIC);
	sb->s_blocktype = cpu_to_be32(ZJ_JBD2_SUPERBLOCK_V2);
	sb->s_blocksize = cpu_to_be32(in->block_size);
	if (be32_to_cpu(sb->s_maxlen) > in->journal_blocks || be32_to_cpu(sb->s_maxlen) < 16)
		sb->s_maxlen = cpu_to_be32(in->journal_blocks);
	last = be32_to_cpu(sb->s_maxlen);
	if (incompat & ZJ_JBD2_INCOMPAT_FAST_COMMIT) {
		if (be32_to_cpu(sb->s_num_fc_blks) > 8 || !sb->s_num_fc_blks)
			sb->s_num_fc_blks = cpu_to_be32(8);
		last -= be32_to_cpu(sb->s_num_fc_blks);
	}
	if (!sb->s_first || be32_to_cpu(sb->s_first) + 2 > last)
		sb->s_first = cpu_to_be32(1);
	first = be32_to_cpu(sb->s_first);
	if (be32_to_cpu(sb->s_start) < first || be32_to_cpu(sb->s_start) >= last)
		sb->s_start = cpu_to_be32(first + be32_to_cpu(sb->s_start) % (last - first));
	if ((incompat & JBD2_CSUMS) == JBD2_CSUMS)
		incompat &= ~ZJ_JBD2_INCOMPAT_CSUM_V2;
	if (incompat & JBD2_CSUMS)
		sb->s_feature_compat = 0;
	sb->s_feature_incompat = cpu_to_be32(incompat);
}

void jbd2_heal(struct input *in, u32 dice)
{
	struct ring_walk w;
	u32 at, sequence;

	if (in->journal_blocks < 16)
		in->journal_blocks = 100;
	if (in->home_blocks < 64)
		in->home_blocks = 256;
	heal_super(in, (void *)in_block(in, 0));
	if (!begin(&w, in))
		return;
	w.dice = dice | 1;
	sequence = be32_to_cpu(super_of(in)->s_sequence);
	while (w.left) {
		at = step(&w);
		/* Where there is no header the log ends. */
		if (!type_of(in, at))
			break;
		heal_block(&w, at, sequence);
		if (type_of(in, at) == ZJ_JBD2_DESCRIPTOR)
			skip_images(&w, in->block[at]);
		sequence += type_of(in, at) == ZJ_JBD2_COMMIT;
	}
}

/* Checksums of version 1: in each commit block one of the whole transaction. */
static void seal_ring(struct input *in)
{
	struct ring_walk w;
	u32 at, crc;

	if (!begin(&w, in) || !w.log.csum1)
		return;
	while (w.left) {
		crc = w.crc;
		at = step(&w);
		if (!type_of(in, at))
			break;
		if (type_of(in, at) == ZJ_JBD2_DESCRIPTOR)
			skip_images(&w, in->block[at]);
		if (type_of(in, at) == ZJ_JBD2_REVOKE)
			w.crc = crc;
		if (type_of(in, at) == ZJ_JBD2_COMMIT) {
			struct zj_jbd2_commit *commit = (void *)in->block[at];

			if (commit->chksum_type == ZJ_JBD2_CRC32 || commit->chksum[0]) {
				commit->chksum_type = ZJ_JBD2_CRC32;
				commit->chksum_size = 4;
				commit->chksum[0] = cpu_to_be32(crc);
			}
			w.crc = ~0U;
		}
	}
}

void jbd2_seal(struct input *in)
{
	struct zj_jbd2_geo log;

	if (!jbd2_log_of(in, &log))
		return;
	for (u32 at = 1; at < in->journal_blocks; at++) {
		switch (type_of(in, at)) {
		case ZJ_JBD2_DESCRIPTOR:
			seal_descriptor(in, &log, at);
			break;
		case ZJ_JBD2_REVOKE:
			zj_jbd2_set_csum(&log, in->block[at]);
			break;
		case ZJ_JBD2_COMMIT:
			seal_commit(&log, in->block[at]);
			break;
		}
	}
	seal_ring(in);
}
