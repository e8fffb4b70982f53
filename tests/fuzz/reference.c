// SPDX-License-Identifier: GPL-2.0-only
/* Numbers in comments are the steps of "Recovery" in docs/format.md. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "reference.h"

#define SECTOR		512
#define HEADER		128
#define TAG		24
#define LOG_SUPER	1
#define TRIM		2
#define FLAG_JBD2	1
#define FLAG_CHUNK	2

struct chunk {
	const uint8_t *block;	/* the header block */
	uint32_t at;		/* its journal block */
	uint64_t stamp;
	uint32_t tid, lane, members, index, chunks;
	uint32_t deps, revokes, tags;
	bool	valid;		/* its component is */
};

struct image {
	uint64_t block, stamp;
	uint32_t at, flags;
};

struct state {
	const struct ref_log *log;
	struct ref_result *res;
	uint64_t generation;
	uint32_t seed;
	uint32_t first, segs, lanes;
	uint32_t nr;		/* chunks */
	struct chunk chunk[REF_MAX_BLOCKS];
	uint32_t nr_images;	/* of valid components */
	struct image image[REF_MAX_BLOCKS];
};

static uint64_t le(const uint8_t *p, int bytes)
{
	uint64_t val = 0;

	while (bytes--)
		val = val << 8 | p[bytes];
	return val;
}

static uint32_t le32(const uint8_t *p)
{
	return le(p, 4);
}

static uint64_t le64(const uint8_t *p)
{
	return le(p, 8);
}

static uint32_t crc(uint32_t seed, const uint8_t *p, uint32_t len)
{
	static uint32_t table[256];

	if (!table[1])
		for (uint32_t b = 0; b < 256; b++) {
			table[b] = b;
			for (int i = 0; i < 8; i++)
				table[b] = table[b] >> 1 ^
					   (table[b] & 1 ? 0x82f63b78 : 0);
		}
	while (len--)
		seed = seed >> 8 ^ table[(seed ^ *p++) & 0xff];
	return seed;
}

/* The checksum at byte 4 of what it covers. */
static bool sealed(uint32_t seed, const uint8_t *p, uint32_t len)
{
	static const uint8_t zero[4];
	uint32_t sum = crc(crc(seed, p, 4), zero, 4);

	return crc(sum, p + 8, len - 8) == le32(p + 4);
}

static bool all_zero(const uint8_t *p, uint32_t len)
{
	while (len--)
		if (*p++)
			return false;
	return true;
}

static bool damage(struct state *s, const char *why)
{
	if (!s->res->damage)
		s->res->damage = why;
	return false;
}

static const uint8_t *block(const struct state *s, uint32_t at)
{
	return s->log->block(s->log->ctx, at);
}

/* 1: the log super block */
static bool read_super(struct state *s)
{
	const uint8_t *b = block(s, LOG_SUPER);
	uint32_t size = s->log->block_size, max_seg = (1 << 20) / size;
	uint32_t total = le32(b + 0x28);
	uint8_t seed[24];

	if (le32(b) != 0x42534a5a || !sealed(~0U, b, SECTOR))
		return damage(s, "log super block: magic or checksum");
	s->first = le32(b + 0x2c);
	s->res->seg_blocks = le32(b + 0x30);
	s->segs = le32(b + 0x34);
	s->lanes = le32(b + 0x38);
	if (max_seg < 64)
		max_seg = 64;
	if (le32(b + 8) != 1 || le32(b + 0xc) != size ||
	    !all_zero(b + 0x3c, SECTOR - 0x3c) || s->first < 4 ||
	    s->res->seg_blocks < 2 || s->res->seg_blocks > max_seg ||
	    !s->segs || !s->lanes || s->lanes > 256 ||
	    total > s->log->journal_blocks ||
	    s->first + (uint64_t)s->segs * s->res->seg_blocks > total)
		return damage(s, "log super block: values");
	s->generation = le64(b + 0x20);
	memcpy(seed, b + 0x10, 24);
	s->seed = crc(~0U, seed, 24);
	return true;
}

/* 1: S */
static bool read_trim(struct state *s)
{
	bool good[2], claimed[2];
	uint64_t seq[2], stamp[2];

	for (int i = 0; i < 2; i++) {
		const uint8_t *b = block(s, TRIM + i);

		claimed[i] = le32(b) == 0x52544a5a &&
			     le64(b + 8) == s->generation;
		good[i] = claimed[i] && sealed(s->seed, b, SECTOR);
		seq[i] = le64(b + 0x10);
		stamp[i] = le64(b + 0x18);
		if (good[i] && (!all_zero(b + 0x20, SECTOR - 0x20) ||
				(seq[i] & 1) != i))
			return damage(s, "trim slot: place or reserved fields");
	}
	if (claimed[0] && claimed[1] && !good[0] && !good[1])
		return damage(s, "trim slots: checksums");
	if (good[0] && good[1]) {
		int newer = seq[1] > seq[0];

		if (seq[0] == seq[1] || stamp[newer] < stamp[!newer])
			return damage(s, "trim slots: contradiction");
		s->res->trim_stamp = stamp[newer];
	} else if (good[0] || good[1]) {
		s->res->trim_stamp = stamp[good[1]];
	}
	return true;
}

static uint64_t dep(const struct chunk *c, uint32_t i)
{
	return le64(c->block + HEADER + 8 * i);
}

static uint64_t revoke(const struct chunk *c, uint32_t i)
{
	return dep(c, c->deps + i);
}

static const uint8_t *tag(const struct chunk *c, uint32_t i)
{
	return c->block + HEADER + 8 * (c->deps + c->revokes) + TAG * i;
}

static bool header_sane(struct state *s, const struct chunk *c, uint32_t seg,
			uint32_t pos)
{
	const uint8_t *b = c->block;
	uint64_t entries = 8ULL * c->deps + 8ULL * c->revokes +
			   (uint64_t)TAG * c->tags;

	return le32(b + 0x18) == seg && le32(b + 0x1c) == pos &&
	       all_zero(b + 0x50, HEADER - 0x50) && c->stamp &&
	       c->lane < s->lanes && c->members && c->members <= s->lanes &&
	       c->index < c->chunks &&
	       HEADER + entries <= s->log->block_size &&
	       pos + 1ULL + c->tags <= s->res->seg_blocks;
}

static bool entries_sane(struct state *s, const struct chunk *c)
{
	for (uint32_t i = 0; i < c->deps; i++)
		if (dep(c, i) >= c->stamp)
			return damage(s, "dependency not lower");
	for (uint32_t i = 0; i < c->revokes; i++)
		if (revoke(c, i) >= s->log->device_blocks)
			return damage(s, "revoke beyond the device");
	for (uint32_t i = 0; i < c->tags; i++) {
		const uint8_t *t = tag(c, i);
		uint32_t flags = le(t + 0x14, 2);

		if (le64(t) >= s->log->device_blocks || ~le64(t + 8) ||
		    flags > FLAG_CHUNK || le(t + 0x16, 2))
			return damage(s, "tag");
	}
	return true;
}

/* 2: the images of a chunk; false if it is torn or damaged */
static bool images_good(struct state *s, const struct chunk *c)
{
	bool torn = false, escape_bad = false;

	for (uint32_t i = 0; i < c->tags; i++) {
		const uint8_t *t = tag(c, i), *image = block(s, c->at + 1 + i);

		if ((uint32_t)XXH64(image, s->log->block_size, s->seed) !=
		    le32(t + 0x10))
			torn = true;
		else if (le(t + 0x14, 2) && le32(image))
			escape_bad = true;
	}
	/* The page does not say which of the two comes first. */
	if (torn && escape_bad)
		s->res->either = true;
	if (torn) {
		s->res->torn++;
		return false;
	}
	return escape_bad ? damage(s, "escaped image") : true;
}

static void read_header(struct chunk *c)
{
	const uint8_t *b = c->block;

	c->stamp = le64(b + 0x20);
	c->tid = le32(b + 0x28);
	c->lane = le32(b + 0x2c);
	c->members = le32(b + 0x30);
	c->index = le32(b + 0x34);
	c->chunks = le32(b + 0x38);
	c->deps = le32(b + 0x3c);
	c->revokes = le32(b + 0x40);
	c->tags = le32(b + 0x44);
}

/* 2: one segment */
static bool scan_segment(struct state *s, uint32_t seg)
{
	uint32_t pos, lane = 0;
	uint64_t tenure = 0, stamp = 0;

	for (pos = 0; pos < s->res->seg_blocks; ) {
		struct chunk c = { 0 };

		c.at = s->first + seg * s->res->seg_blocks + pos;
		c.block = block(s, c.at);
		if (le32(c.block) != 0x48434a5a ||
		    le64(c.block + 8) != s->generation ||
		    !sealed(s->seed, c.block, s->log->block_size))
			return true;
		read_header(&c);
		if (!header_sane(s, &c, seg, pos))
			return damage(s, "header");
		if (!pos) {
			tenure = le64(c.block + 0x10);
			lane = c.lane;
		}
		if (le64(c.block + 0x10) != tenure)
			return true;
		if (c.lane != lane || c.stamp < stamp)
			return damage(s, "tenure");
		stamp = c.stamp;
		pos += 1 + c.tags;
		if (stamp <= s->res->trim_stamp)
			continue;
		if (!entries_sane(s, &c))
			return false;
		if (images_good(s, &c)) {
			s->chunk[s->nr++] = c;
			s->res->entries += c.deps + c.revokes;
		} else if (s->res->damage) {
			return false;
		}
	}
	return true;
}

static bool stamp_valid(const struct state *s, uint64_t stamp)
{
	if (stamp <= s->res->trim_stamp)
		return true;
	for (uint32_t i = 0; i < s->nr; i++)
		if (s->chunk[i].stamp == stamp)
			return s->chunk[i].valid;
	return false;
}

static bool pair_sane(struct state *s, const struct chunk *a,
		      const struct chunk *b)
{
	if (a->members != b->members)
		return damage(s, "nr_members differ");
	if (a->lane == b->lane &&
	    (a->tid != b->tid || a->chunks != b->chunks ||
	     a->index == b->index))
		return damage(s, "chunks of one member contradict each other");
	return true;
}

/* 3 and 4: the component with this stamp; all lower ones are judged */
static bool judge(struct state *s, uint64_t stamp)
{
	uint32_t lanes = 0, here = 0, members = 0;
	uint64_t due = 0;
	bool valid = true;

	for (uint32_t i = 0; i < s->nr; i++) {
		const struct chunk *c = &s->chunk[i];
		bool first = true;

		if (c->stamp != stamp)
			continue;
		for (uint32_t k = 0; k < i; k++) {
			if (s->chunk[k].stamp != stamp)
				continue;
			if (!pair_sane(s, &s->chunk[k], c))
				return false;
			first &= s->chunk[k].lane != c->lane;
		}
		here++;
		lanes += first;
		due += first ? c->chunks : 0;
		members = c->members;
		for (uint32_t k = 0; k < c->deps; k++)
			valid &= stamp_valid(s, dep(c, k));
	}
	if (lanes > members)
		return damage(s, "more lanes than nr_members");
	valid &= lanes == members && here == due;
	for (uint32_t i = 0; i < s->nr; i++)
		if (s->chunk[i].stamp == stamp)
			s->chunk[i].valid = valid;

	s->res->components++;
	s->res->valid += valid;
	s->res->transactions += valid ? lanes : 0;
	s->res->discarded += valid ? 0 : lanes;
	if (valid)
		s->res->newest_stamp = stamp;
	return true;
}

/* The lowest stamp above @last; 0 if there is none. */
static uint64_t next_stamp(const struct state *s, uint64_t last)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < s->nr; i++) {
		uint64_t stamp = s->chunk[i].stamp;

		if (stamp > last && (!next || stamp < next))
			next = stamp;
	}
	return next;
}

static int compare_images(const void *pa, const void *pb)
{
	const struct image *a = pa, *b = pb;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->stamp < b->stamp ? -1 : a->stamp > b->stamp;
}

/* 5: the images of valid components, by block and stamp */
static bool collect(struct state *s)
{
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct chunk *c = &s->chunk[i];

		for (uint32_t k = 0; c->valid && k < c->tags; k++)
			s->image[s->nr_images++] = (struct image) {
				.block = le64(tag(c, k)),
				.stamp = c->stamp,
				.at = c->at + 1 + k,
				.flags = le(tag(c, k) + 0x14, 2),
			};
	}
	qsort(s->image, s->nr_images, sizeof(s->image[0]), compare_images);
	for (uint32_t i = 0; i < s->nr_images; i++) {
		if (i && !compare_images(&s->image[i - 1], &s->image[i]))
			return damage(s, "two images of one block");
		if (s->log->is_log(s->log->ctx, s->image[i].block))
			return damage(s, "image of a block of the journal");
	}
	s->res->images = s->nr_images;
	return true;
}

static bool revoked(const struct state *s, const struct image *image)
{
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct chunk *c = &s->chunk[i];

		for (uint32_t k = 0; c->valid && k < c->revokes; k++)
			if (c->stamp >= image->stamp &&
			    revoke(c, k) == image->block)
				return true;
	}
	return false;
}

/* 5 */
static void choose(struct state *s)
{
	for (uint32_t i = 0; i < s->nr_images; i++) {
		const struct image *image = &s->image[i];
		bool newest = i + 1 == s->nr_images ||
			      image[1].block != image->block;

		if (revoked(s, image))
			s->res->revoked++;
		else if (newest)
			s->res->write[s->res->nr_writes++] = (struct ref_write) {
				image->block, image->at, image->flags,
			};
	}
}

void ref_read(const struct ref_log *log, struct ref_result *res)
{
	static struct state s;

	memset(&s, 0, offsetof(struct state, chunk));
	s.nr_images = 0;
	s.log = log;
	s.res = res;
	memset(res, 0, offsetof(struct ref_result, write));
	if (!read_super(&s) || !read_trim(&s))
		return;
	for (uint32_t seg = 0; seg < s.segs; seg++)
		if (!scan_segment(&s, seg))
			return;
	res->chunks = s.nr;
	for (uint64_t at = next_stamp(&s, 0); at; at = next_stamp(&s, at))
		if (!judge(&s, at))
			return;
	if (collect(&s))
		choose(&s);
}
