// SPDX-License-Identifier: GPL-2.0-only
/* Numbers in comments are the steps of "Recovery" in docs/internals/format.md. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "ref_graph.h"

#define SECTOR		512
#define HEADER		128
#define TAG		24
#define LOG_SUPER	1
#define CKPT		2
#define FLAG_JBD2	1
#define FLAG_CHUNK	2

#define LINE		64
#define WHOLE		(~0ULL)
#define MAX_IMAGES	(64 * REF_MAX_BLOCKS)

struct image {
	uint64_t block, stamp, lines;
	uint32_t at, flags;
	uint32_t data;		/* of a line tag: where its lines begin in the header block */
};

struct state {
	const struct ref_log *log;
	struct ref_result *res;
	uint64_t generation;
	uint32_t seed;
	uint32_t first, segs, lanes;
	struct ref_graph graph;
	uint32_t nr_images;	/* of committed components */
	struct image image[MAX_IMAGES];
};

static struct state s;

/* The checksum at byte 4 of what it covers. */
static bool sealed(uint32_t seed, const uint8_t *p, uint32_t len)
{
	return ref_crc_without(seed, p, len, 4) == le32(p + 4);
}

static bool damage(struct state *s, const char *why)
{
	return ref_damage(s->res, why);
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
	if (!le32(b + 8) || le32(b + 8) > 3 || le32(b + 0xc) != size ||
	    le32(b + 0x3c) || !all_zero(b + 0x48, SECTOR - 0x48) || s->first < 4 ||
	    s->res->seg_blocks < 2 || s->res->seg_blocks > max_seg ||
	    !s->segs || !s->lanes || s->lanes > 256 ||
	    total > s->log->journal_blocks ||
	    s->first + (uint64_t)s->segs * s->res->seg_blocks > total)
		return damage(s, "log super block: values");
	s->generation = le64(b + 0x20);
	s->res->ckpt_stamp = le64(b + 0x40);
	memcpy(seed, b + 0x10, 24);
	s->seed = ref_crc(~0U, seed, 24);
	return true;
}

static void raise_to(uint64_t *stamp, uint64_t other)
{
	if (*stamp < other)
		*stamp = other;
}

/* 1: the checkpoint stamp */
static bool read_ckpt(struct state *s)
{
	bool good[2], claimed[2];
	uint64_t seq[2], stamp[2];

	for (int i = 0; i < 2; i++) {
		const uint8_t *b = block(s, CKPT + i);

		claimed[i] = le32(b) == 0x52544a5a &&
			     le64(b + 8) == s->generation;
		good[i] = claimed[i] && sealed(s->seed, b, SECTOR);
		seq[i] = le64(b + 0x10);
		stamp[i] = le64(b + 0x18);
		if (good[i] && (!all_zero(b + 0x20, SECTOR - 0x20) ||
				(seq[i] & 1) != i))
			return damage(s, "checkpoint slot: place or reserved fields");
	}
	if (claimed[0] && claimed[1] && !good[0] && !good[1])
		return damage(s, "checkpoint slots: checksums");
	if (good[0] && good[1]) {
		int newer = seq[1] > seq[0];

		if (seq[0] == seq[1] || stamp[newer] < stamp[!newer])
			return damage(s, "checkpoint slots: contradiction");
		raise_to(&s->res->ckpt_stamp, stamp[newer]);
	} else if (good[0] || good[1]) {
		raise_to(&s->res->ckpt_stamp, stamp[good[1]]);
	}
	return true;
}

static const uint8_t *tag(const struct ref_chunk *c, uint32_t i)
{
	return c->block + HEADER + 8 * (c->deps + c->revokes) + TAG * i;
}

static uint32_t unit(const struct state *s)
{
	return s->log->block_size > 64 * LINE ? s->log->block_size / 64 : LINE;
}

static uint32_t bytes_of(const struct state *s, uint64_t lines)
{
	return __builtin_popcountll(lines) * unit(s);
}

static uint32_t line_tags(const struct ref_chunk *c)
{
	return le32(c->block + 0x54);
}

/* There are as many line tags as the header says, with lines that a block has and that fit. */
static bool line_tags_sane(const struct state *s, const struct ref_chunk *c)
{
	uint32_t size = s->log->block_size, nr = 0, left = size, entries;

	entries = HEADER + 8 * (c->deps + c->revokes) + TAG * c->tags;
	for (uint32_t i = 0; i < c->tags; i++) {
		uint64_t lines = le64(tag(c, i) + 8);

		if (lines == WHOLE)
			continue;
		nr++;
		if (!lines || bytes_of(s, lines) > (size - HEADER) / 2 - TAG ||
		    bytes_of(s, lines) > left - entries)
			return false;
		for (uint32_t bit = size / unit(s); bit < 64; bit++)
			if (lines >> bit & 1)
				return false;
		left -= bytes_of(s, lines);
	}
	return nr == line_tags(c);
}

static bool header_sane(struct state *s, const struct ref_chunk *c, uint32_t seg,
			uint32_t pos)
{
	const uint8_t *b = c->block;
	uint64_t entries = 8ULL * c->deps + 8ULL * c->revokes +
			   (uint64_t)TAG * c->tags;

	return le32(b + 0x18) == seg && le32(b + 0x1c) == pos &&
	       !le32(b + 0x50) && all_zero(b + 0x60, HEADER - 0x60) &&
	       c->stamp > le64(b + 0x58) &&
	       c->lane < s->lanes && c->members && c->members <= s->lanes &&
	       c->deps <= s->lanes &&
	       c->index < c->chunks &&
	       HEADER + entries <= s->log->block_size && line_tags(c) <= c->tags &&
	       pos + 1ULL + c->tags - line_tags(c) <= s->res->seg_blocks && line_tags_sane(s, c);
}

static bool entries_sane(struct state *s, const struct ref_chunk *c)
{
	for (uint32_t i = 0; i < c->deps; i++)
		if (ref_dep(c, i) >= c->stamp)
			return damage(s, "dependency not lower");
	for (uint32_t i = 0; i < c->revokes; i++)
		if (ref_revoke(c, i) >= s->log->device_blocks)
			return damage(s, "revoke beyond the device");
	for (uint32_t i = 0; i < c->tags; i++) {
		const uint8_t *t = tag(c, i);
		uint32_t flags = le(t + 0x14, 2);

		if (le64(t) >= s->log->device_blocks ||
		    (le64(t + 8) != WHOLE && (flags || le32(t + 0x10))) ||
		    flags > FLAG_CHUNK || le(t + 0x16, 2))
			return damage(s, "tag");
	}
	return true;
}

/* 2: the images of a chunk; false if it is torn or damaged */
static bool images_good(struct state *s, const struct ref_chunk *c)
{
	bool torn = false, escape_bad = false;
	uint32_t at = c->at;

	for (uint32_t i = 0; i < c->tags; i++) {
		const uint8_t *t = tag(c, i), *image;

		if (le64(t + 8) != WHOLE)
			continue;
		image = block(s, ++at);
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

static void read_header(struct ref_chunk *c)
{
	const uint8_t *b = c->block;

	c->entries = b + HEADER;
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

static bool is_header(const struct state *s, const uint8_t *b)
{
	return le32(b) == 0x48434a5a && le64(b + 8) == s->generation &&
	       sealed(s->seed, b, s->log->block_size);
}

/* 2: the durable stamps of good headers that the walk did not come to */
static void scan_rest(struct state *s, uint32_t seg, uint32_t pos)
{
	for (; pos < s->res->seg_blocks; pos++) {
		uint32_t at = s->first + seg * s->res->seg_blocks + pos;
		struct ref_chunk c = { .block = block(s, at) };

		if (!is_header(s, c.block))
			continue;
		read_header(&c);
		if (header_sane(s, &c, seg, pos))
			raise_to(&s->res->committed_stamp, le64(c.block + 0x58));
	}
}

/* 2: one segment */
static bool scan_segment(struct state *s, uint32_t seg)
{
	uint32_t pos, lane = 0;
	uint64_t tenure = 0, stamp = 0;

	for (pos = 0; pos < s->res->seg_blocks; ) {
		struct ref_chunk c = { 0 };

		c.at = s->first + seg * s->res->seg_blocks + pos;
		c.block = block(s, c.at);
		if (!pos && (le32(c.block) != 0x48434a5a ||
			     le64(c.block + 8) != s->generation))
			return true;
		if (!is_header(s, c.block))
			break;
		read_header(&c);
		if (!header_sane(s, &c, seg, pos))
			return damage(s, "header");
		if (!pos) {
			tenure = le64(c.block + 0x10);
			lane = c.lane;
		}
		if (le64(c.block + 0x10) != tenure)
			break;
		if (c.lane != lane || c.stamp < stamp)
			return damage(s, "tenure");
		stamp = c.stamp;
		raise_to(&s->res->committed_stamp, le64(c.block + 0x58));
		pos += 1 + c.tags - line_tags(&c);
		if (stamp <= s->res->ckpt_stamp)
			continue;
		if (!entries_sane(s, &c))
			return false;
		if (images_good(s, &c)) {
			s->graph.chunk[s->graph.nr++] = c;
			s->res->entries += c.deps + c.revokes;
		} else if (s->res->damage) {
			return false;
		}
	}
	scan_rest(s, seg, pos);
	return true;
}

static int compare_images(const void *pa, const void *pb)
{
	const struct image *a = pa, *b = pb;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->stamp < b->stamp ? -1 : a->stamp > b->stamp;
}

/* 5: the images of committed components, by block and stamp */
static bool collect(struct state *s)
{
	for (uint32_t i = 0; i < s->graph.nr; i++) {
		const struct ref_chunk *c = &s->graph.chunk[i];
		uint32_t at = c->at, data = s->log->block_size;

		for (uint32_t k = 0; c->committed && k < c->tags; k++) {
			uint64_t lines = le64(tag(c, k) + 8);
			bool whole = lines == WHOLE;

			if (s->nr_images == MAX_IMAGES)
				abort();
			data -= whole ? 0 : bytes_of(s, lines);
			s->image[s->nr_images++] = (struct image) {
				.block = le64(tag(c, k)),
				.stamp = c->stamp,
				.lines = lines,
				.at = whole ? ++at : c->at,
				.flags = le(tag(c, k) + 0x14, 2),
				.data = whole ? 0 : data,
			};
		}
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

/* 5: one block, of which there are images or lines @first to @last */
static void choose(struct state *s, uint32_t first, uint32_t last)
{
	uint64_t block = s->image[first].block, revoked = ref_revoked(&s->graph, block);
	uint32_t from;

	for (; first <= last && s->image[first].stamp <= revoked; first++)
		s->res->revoked++;
	if (first > last)
		return;
	for (from = last; from > first && s->image[from].data; from--)
		;
	if (s->image[from].data)
		return;
	s->res->write[s->res->nr_writes++] = (struct ref_write) {
		block, from, last - from + 1,
	};
}

static void choose_all(struct state *s)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < s->nr_images; i++)
		if (i + 1 == s->nr_images || s->image[i + 1].block != s->image[i].block) {
			choose(s, first, i);
			first = i + 1;
		}
}

void ref_read(const struct ref_log *log, struct ref_result *res)
{
	s.nr_images = 0;
	s.graph.nr = 0;
	s.graph.res = res;
	s.log = log;
	s.res = res;
	memset(res, 0, offsetof(struct ref_result, write));
	if (!read_super(&s) || !read_ckpt(&s))
		return;
	s.graph.lanes = s.lanes;
	for (uint32_t seg = 0; seg < s.segs; seg++)
		if (!scan_segment(&s, seg))
			return;
	res->chunks = s.graph.nr;
	if (!ref_judge(&s.graph))
		return;
	for (uint64_t at = res->ckpt_stamp; at < res->committed_stamp; at++)
		if (!ref_stamp_committed(&s.graph, at + 1)) {
			damage(&s, "a committed stamp is not committed");
			return;
		}
	if (collect(&s))
		choose_all(&s);
}

/* 5: an image, and lines over it */
void ref_image(const struct ref_log *log, const struct ref_write *w, uint8_t *image)
{
	const struct image *from = &s.image[w->log_block];

	memcpy(image, log->block(log->ctx, from->at), log->block_size);
	if (from->flags)
		memcpy(image, from->flags == FLAG_JBD2 ? "\xc0\x3b\x39\x98" : "ZJCH", 4);
	for (uint32_t n = 1; n < w->flags; n++) {
		const uint8_t *data = (const uint8_t *)log->block(log->ctx, from[n].at) + from[n].data;

		for (uint32_t bit = 0; bit < 64; bit++) {
			if (!(from[n].lines >> bit & 1))
				continue;
			memcpy(image + bit * unit(&s), data, unit(&s));
			data += unit(&s);
		}
	}
}
