// SPDX-License-Identifier: GPL-2.0-only
/* The reference reader of "A log in stock's format" in docs/internals/format.md, and that format's blocks. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "ref_bits.h"

#define MAGIC		0xc03b3998
#define DESCRIPTOR	1
#define COMMIT		2
#define REVOKE		5
#define ESCAPED		1
#define SAME_UUID	2
#define LAST		8
#define MAX_REVOKES	(1 << 20)

struct image {
	uint64_t block;
	uint32_t txn;		/* from 1 on */
	uint32_t at;		/* journal block */
	uint32_t escaped;
	bool	bad;		/* wrong checksum */
};

struct revoke {
	uint64_t block;
	uint32_t txn;
};

struct state {
	const struct ref_log *log;
	struct ref_result *res;
	bool	b64, csum1, csum2, csum3, async;
	uint32_t first, last, tail, seed;
	uint32_t pos, left;	/* the ring: where to go on, for how long */
	uint32_t sequence;
	uint32_t txn;		/* number of the one at hand, from 1 on */
	uint32_t crc;		/* of it, checksums of version 1 */
	uint64_t time;		/* of the last good commit block */
	bool	doubtful, misfit, broken;
	uint32_t nr_images, kept_images;
	struct image image[REF_MAX_BLOCKS];
	uint32_t nr_revokes, kept_revokes;
	struct revoke revoke[MAX_REVOKES];
};

static struct state s;

static const uint8_t *block(uint32_t at)
{
	return s.log->block(s.log->ctx, at);
}

static uint32_t crc32_be(uint32_t crc, const uint8_t *p, uint32_t len)
{
	static uint32_t table[256];

	if (!table[1])
		for (uint32_t b = 0; b < 256; b++) {
			table[b] = b << 24;
			for (int i = 0; i < 8; i++)
				table[b] = table[b] << 1 ^
					   (table[b] >> 31 ? 0x04c11db7 : 0);
		}
	while (len--)
		crc = crc << 8 ^ table[crc >> 24 ^ *p++];
	return crc;
}

static bool damage(const char *why)
{
	return ref_damage(s.res, why);
}

static bool read_super(void)
{
	const uint8_t *b = block(0);
	uint32_t incompat = be32(b + 0x28), fast = be32(b + 0x54);

	s.b64 = incompat & 2;
	s.async = incompat & 4;
	s.csum2 = incompat & 8;
	s.csum3 = incompat & 16;
	s.csum1 = be32(b + 0x24) & 1;
	s.tail = s.csum2 || s.csum3 ? 4 : 0;
	s.seed = ref_crc(~0U, b + 0x30, 16);
	s.first = be32(b + 0x14);
	s.last = be32(b + 0x10);
	if (incompat & 32) {
		if (!fast)
			fast = 256;
		s.last = fast < s.last ? s.last - fast : 0;
	}
	s.pos = be32(b + 0x1c);
	s.sequence = be32(b + 0x18);
	if (s.first >= s.last || s.pos < s.first || s.pos >= s.last)
		return damage("start outside the ring");
	if (s.csum1 + s.csum2 + s.csum3 > 1)
		return damage("two kinds of checksums");
	s.left = s.last - s.first;
	return true;
}

/* The next block of the ring; the caller has seen that there is one. */
static uint32_t step(void)
{
	uint32_t at = s.pos++;

	if (s.pos == s.last)
		s.pos = s.first;
	s.left--;
	return at;
}

static bool sealed(const uint8_t *b)
{
	uint32_t at = s.log->block_size - 4;

	return !s.tail || ref_crc_without(s.seed, b, s.log->block_size, at) == be32(b + at);
}

static void read_image(struct image *image, const uint8_t *tag)
{
	uint32_t size = s.log->block_size, sum;
	const uint8_t *b;
	uint8_t seq[4] = { s.sequence >> 24, s.sequence >> 16, s.sequence >> 8, s.sequence };

	image->at = step();
	b = block(image->at);
	sum = ref_crc(ref_crc(s.seed, seq, 4), b, size);
	if (s.csum3)
		image->bad = sum != be32(tag + 12);
	else if (s.csum2)
		image->bad = (sum & 0xffff) != be(tag + 4, 2);
	if (s.csum1)
		s.crc = crc32_be(s.crc, b, size);
}

/* False: the log ends here. */
static bool descriptor(const uint8_t *b)
{
	uint32_t bytes = s.csum3 ? 16 : 8 + (s.b64 ? 4 : 0) + (s.csum2 ? 2 : 0);
	const uint8_t *tags[REF_MAX_BLOCKS];
	uint32_t nr = 0, flags;

	s.doubtful |= !sealed(b);
	if (s.csum1)
		s.crc = crc32_be(s.crc, b, s.log->block_size);
	for (uint32_t at = 12; at + bytes <= s.log->block_size - s.tail; at += bytes) {
		flags = be(b + at + 6, 2);
		tags[nr++] = b + at;
		if (flags & LAST)
			break;
		if (!(flags & SAME_UUID))
			at += 16;
	}
	if (nr > s.left) {
		s.nr_images += !!nr;
		return false;
	}
	for (uint32_t i = 0; i < nr; i++) {
		struct image *image = &s.image[s.nr_images++];

		memset(image, 0, sizeof(*image));
		image->txn = s.txn;
		image->block = be32(tags[i]);
		if (s.b64)
			image->block |= be(tags[i] + 8, 4) << 32;
		image->escaped = be(tags[i] + 6, 2) & ESCAPED;
		read_image(image, tags[i]);
	}
	return true;
}

static void revokes(const uint8_t *b)
{
	uint32_t used = be32(b + 12), bytes = s.b64 ? 8 : 4;

	s.doubtful |= !sealed(b);
	if (used > s.log->block_size - s.tail) {
		s.misfit = true;
		return;
	}
	for (uint32_t at = 16; at + bytes <= used; at += bytes) {
		struct revoke r = { be(b + at, bytes), s.txn };

		/* A block may say the same a thousand times. */
		if (s.nr_revokes > s.kept_revokes &&
		    s.revoke[s.nr_revokes - 1].block == r.block)
			continue;
		if (s.nr_revokes == MAX_REVOKES)
			abort();
		s.revoke[s.nr_revokes++] = r;
	}
}

static bool commit_good(const uint8_t *b)
{
	uint8_t half[8192] = { 0 };
	uint32_t size = s.log->block_size;

	if (s.csum1)
		return (!b[12] && !b[13] && !be32(b + 16)) ||
		       (b[12] == 1 && b[13] == 4 && be32(b + 16) == s.crc);
	if (!s.tail)
		return true;
	/* Cut off in its middle, it was made with zeros there. */
	memcpy(half, b, 64);
	return ref_crc_without(s.seed, b, size, 16) == be32(b + 16) ||
	       ref_crc_without(s.seed, half, size, 16) == be32(b + 16);
}

static void begin(void)
{
	s.kept_images = s.nr_images;
	s.kept_revokes = s.nr_revokes;
	s.crc = ~0U;
	s.doubtful = s.misfit = false;
}

/* False: the log ends here, or is damaged. */
static bool commit(const uint8_t *b)
{
	uint64_t time = be(b + 48, 8);
	bool good = commit_good(b);

	if (s.doubtful || (!good && !s.broken && (!s.async || time < s.time)))
		return time < s.time ? false : damage("checksum");
	if (s.broken)
		return damage("good after bad");
	if (!good && !s.csum1)
		return false;
	s.sequence++;
	if (!good) {
		s.nr_images = s.kept_images;
		s.nr_revokes = s.kept_revokes;
		s.broken = true;
		begin();
		return true;
	}
	if (s.misfit)
		return damage("revoke block");
	for (uint32_t i = s.kept_images; i < s.nr_images; i++)
		if (s.image[i].block >= s.log->device_blocks)
			return damage("image beyond the device");
	s.time = time;
	s.txn++;
	begin();
	return true;
}

static void walk(void)
{
	bool more = true;

	while (more && s.left) {
		const uint8_t *b = block(step());

		if (be32(b) != MAGIC || be32(b + 8) != s.sequence)
			break;
		switch (be32(b + 4)) {
		case DESCRIPTOR:
			more = descriptor(b);
			break;
		case REVOKE:
			revokes(b);
			break;
		case COMMIT:
			more = commit(b);
			break;
		default:
			more = false;
		}
	}
	s.res->discarded = s.broken || s.nr_images > s.kept_images ||
			   s.nr_revokes > s.kept_revokes;
	s.nr_images = s.kept_images;
	s.nr_revokes = s.kept_revokes;
	s.sequence -= s.broken;
	s.txn--;
}

/*
 * How many blocks the host replays, by jbd2.c's rules; if it finds the first fast commit broken,
 * none.
 */
static uint32_t host_takes(uint32_t at, uint32_t end)
{
	uint32_t first = at;

	while (at < end && (block(at)[12] & 3) % 3)
		at++;
	return at < end && (block(at)[12] & 3) == 3 ? 0 : at - first;
}

static void fast_commits(void)
{
	const uint8_t *b = block(0);
	uint32_t maxlen = be32(b + 0x10);

	if (!(be32(b + 0x28) & 32) || s.last + 1 >= maxlen)
		return;
	b = block(s.last + 1);
	if (le(b, 2) == 9 && le32(b + 8) == s.sequence)
		s.res->fast_blocks = host_takes(s.last + 1, maxlen);
}

static bool revoked(const struct image *image)
{
	for (uint32_t i = 0; i < s.nr_revokes; i++)
		if (s.revoke[i].txn >= image->txn && s.revoke[i].block == image->block)
			return true;
	return false;
}

static void choose(void)
{
	for (uint32_t i = 0; i < s.nr_images; i++) {
		const struct image *image = &s.image[i];
		struct ref_write *w = s.res->write;
		uint32_t at = 0;

		if (s.log->is_log(s.log->ctx, image->block))
			damage("image of a block of the journal");
		if (revoked(image)) {
			s.res->revoked++;
			continue;
		}
		if (image->bad)
			damage("checksum of an image");
		/* In block order; a later one takes the place of an older one. */
		while (at < s.res->nr_writes && w[at].block < image->block)
			at++;
		if (at == s.res->nr_writes || w[at].block != image->block) {
			memmove(&w[at + 1], &w[at], (s.res->nr_writes - at) * sizeof(*w));
			s.res->nr_writes++;
		}
		w[at] = (struct ref_write) { image->block, image->at, image->escaped };
	}
}

void ref_read(const struct ref_log *log, struct ref_result *res)
{
	memset(&s, 0, offsetof(struct state, image));
	s.nr_revokes = s.kept_revokes = 0;
	memset(res, 0, offsetof(struct ref_result, write));
	s.log = log;
	s.res = res;
	s.txn = 1;
	if (!read_super())
		return;
	begin();
	walk();
	fast_commits();
	choose();
	res->chunks = res->components = res->committed = s.txn;
	res->transactions = res->newest_stamp = s.txn;
	res->images = s.nr_images;
	res->sequence = s.sequence;
}

void ref_image(const struct ref_log *log, const struct ref_write *w, uint8_t *image)
{
	memcpy(image, log->block(log->ctx, w->log_block), log->block_size);
	if (w->flags)
		memcpy(image, "\xc0\x3b\x39\x98", 4);
}
