// SPDX-License-Identifier: GPL-2.0-only
/* The reference reader of "A log in memory" in docs/internals/format.md. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "ref_graph.h"

#define LINE		64
#define HEAD		4096
#define CKPT		8192
#define TAILS		16384
#define FIRST		(65536 / LINE)
#define INFO		128		/* bytes of struct zj_txninfo */
#define INFO_MAX	2048		/* lines of a whole TxnInfo */
#define LAST		1
#define MAX_RECORDS	16384

struct record {
	uint64_t block, lines, stamp;
	uint32_t at;		/* its first line in the log */
};

struct state {
	const struct ref_log *log;
	struct ref_result *res;
	uint64_t generation;
	uint32_t seed;
	uint32_t total, first, seg_lines, segs, lanes;
	uint64_t lines;		/* of the chunks that were seen */
	struct ref_graph graph;
	uint32_t nr;
	struct record record[MAX_RECORDS];	/* of committed components; at last by block, stamp */
};

static struct state s;

static bool damage(const char *why)
{
	return ref_damage(s.res, why);
}

static const uint8_t *line(uint64_t at)
{
	return s.log->memory + at * LINE;
}

/* Bytes that a bit stands for. */
static uint32_t unit(void)
{
	return s.log->block_size > 4096 ? s.log->block_size / 64 : LINE;
}

static uint64_t whole(void)
{
	uint32_t bits = s.log->block_size / unit();

	return bits == 64 ? ~0ULL : (1ULL << bits) - 1;
}

static uint32_t lines_of(uint64_t bits)
{
	uint32_t n = 0;

	for (; bits; bits &= bits - 1)
		n++;
	return n * (unit() / LINE);
}

static bool read_head(void)
{
	const uint8_t *h = s.log->memory + HEAD;
	uint32_t size = le32(h + 0x20);
	uint8_t seed[24];

	s.generation = le64(h + 0x18);
	s.total = le32(h + 0x24);
	s.first = le32(h + 0x28);
	s.seg_lines = le32(h + 0x2c);
	s.segs = le32(h + 0x30);
	s.lanes = le32(h + 0x34);
	if (le32(h) != 0x484e4a5a || ref_crc_without(~0U, h, 64, 4) != le32(h + 4))
		return damage("head: magic or checksum");
	if (le64(h + 0x38) || s.total > s.log->memory_bytes / LINE || s.first < FIRST ||
	    s.seg_lines < size / LINE || !s.segs ||
	    s.first + (uint64_t)s.segs * s.seg_lines > s.total ||
	    !s.lanes || s.lanes > 256)
		return damage("head: values");
	if (size != s.log->block_size || s.generation != s.log->generation)
		return damage("head: of another log");
	memcpy(seed, h + 8, 24);
	s.seed = ref_crc(~0U, seed, 24);
	s.res->ckpt_stamp = le64(s.log->memory + CKPT);
	s.graph.lanes = s.lanes;
	return true;
}

/**
 * struct info - a TxnInfo
 */
struct info {
	const uint8_t *t;	/* its last 128 bytes */
	uint64_t stamp, prev_stamp, hash;
	uint32_t prev, start, end, lines, data_lines, flags;
	struct ref_chunk c;
};

static void decode(struct info *i)
{
	const uint8_t *t = i->t;

	i->stamp = le64(t + 0x08);
	i->prev_stamp = le64(t + 0x10);
	i->prev = le32(t + 0x18);
	i->start = le32(t + 0x1c);
	i->flags = le32(t + 0x30);
	i->data_lines = le32(t + 0x3c);
	i->hash = le64(t + 0x40);
	i->c = (struct ref_chunk) {
		.block = t,
		.entries = line(i->end - i->lines),
		.stamp = i->stamp,
		.at = i->start,
		.tid = le32(t + 0x20),
		.lane = le32(t + 0x24),
		.members = le32(t + 0x28),
		.index = le32(t + 0x2c),
		.deps = le32(t + 0x34),
		.revokes = le32(t + 0x38),
		.tags = le32(t + 0x78),
	};
}

/* The TxnInfo before line @end, good as far as its checksum says. */
static bool read_info(struct info *i, uint32_t end)
{
	if (end < s.first + 2 || end > s.first + s.segs * s.seg_lines)
		return damage("no place for a TxnInfo");
	i->end = end;
	i->t = line(end) - INFO;
	if (le32(i->t + 0x7c) != 0x49544a5a || le64(i->t) != s.generation)
		return damage("no TxnInfo");
	i->lines = le32(i->t + 0x70);
	if (i->lines < 2 || i->lines > INFO_MAX || i->lines > end - s.first)
		return damage("length of a TxnInfo");
	if (ref_crc_without(s.seed, line(end - i->lines), i->lines * LINE,
			    i->lines * LINE - INFO + 0x6c) != le32(i->t + 0x6c))
		return damage("checksum of a TxnInfo");
	decode(i);
	if (i->flags > LAST || !all_zero(i->t + 0x50, 28) || le32(i->t + 0x74) != end ||
	    i->start < s.first || i->start >= end ||
	    (i->start - s.first) / s.seg_lines != (end - 1 - s.first) / s.seg_lines ||
	    (uint64_t)i->start + i->data_lines + i->lines != end ||
	    !i->stamp || i->prev_stamp > i->stamp || !i->prev != !i->prev_stamp ||
	    i->c.lane >= s.lanes || !i->c.members || i->c.members > s.lanes ||
	    i->c.index == ~0U ||
	    8ULL * i->c.deps + 8ULL * i->c.revokes + 16ULL * i->c.tags >
	    (uint64_t)i->lines * LINE - INFO)
		return damage("numbers of a TxnInfo");
	return true;
}

static const uint8_t *described(const struct ref_chunk *c, uint32_t i)
{
	return c->entries + 8 * ((uint64_t)c->deps + c->revokes) + 16 * (uint64_t)i;
}

static bool records_sane(const struct info *i)
{
	uint32_t at = i->start, left = i->data_lines;
	uint64_t hash = s.seed;

	for (uint32_t n = 0; n < i->c.tags; n++) {
		uint64_t block = le64(described(&i->c, n));
		uint64_t bits = le64(described(&i->c, n) + 8);

		if (block >= s.log->device_blocks || !bits || bits & ~whole() ||
		    lines_of(bits) > left)
			return damage("record");
		left -= lines_of(bits);
		for (uint32_t bit = 0; bit < 64; ) {
			uint32_t run = 0;

			while (bit + run < 64 && bits >> (bit + run) & 1)
				run++;
			if (run)
				hash = XXH64(line(at), run * unit(), hash);
			at += run * (unit() / LINE);
			bit += run + 1;
		}
	}
	return (!left && hash == i->hash) || damage("records are others");
}

static bool entries_sane(const struct info *i)
{
	for (uint32_t k = 0; k < i->c.deps; k++)
		if (ref_dep(&i->c, k) >= i->stamp)
			return damage("dependency not lower");
	for (uint32_t k = 0; k < i->c.revokes; k++)
		if (ref_revoke(&i->c, k) >= s.log->device_blocks)
			return damage("revoke beyond the device");
	return records_sane(i);
}

/* Checks the order in which chunks must come, from the tail backwards. */
static bool in_place(const struct info *i, uint32_t lane, uint64_t stamp, bool inside,
		     uint32_t index)
{
	if (i->c.lane != lane || i->stamp != stamp)
		return damage("a chunk of something else");
	if (!(i->flags & LAST) != inside || (inside && i->c.index != index))
		return damage("order in a transaction");
	s.lines += i->end - i->start;
	return s.lines <= s.total || damage("chunks overlap");
}

static bool read_lane(uint32_t lane)
{
	uint64_t tail = le64(s.log->memory + TAILS + lane * LINE), stamp;
	uint32_t below = (uint32_t)s.res->ckpt_stamp - (uint32_t)(tail >> 32);
	uint32_t index = 0, chunks = 0;
	bool inside = false;
	struct info i;

	if (!tail || below <= 1U << 31)
		return true;
	if (!read_info(&i, (uint32_t)tail))
		return false;
	if ((uint32_t)i.stamp != tail >> 32)
		return damage("the tail is of another stamp");
	for (stamp = i.stamp; ; ) {
		if (!in_place(&i, lane, stamp, inside, index))
			return false;
		/* A tail whose stamp is not above the checkpoint stamp after all. */
		if (stamp <= s.res->ckpt_stamp)
			return true;
		if (!entries_sane(&i))
			return false;
		if (!inside)
			chunks = i.c.index + 1;
		i.c.chunks = chunks;
		if (s.graph.nr == REF_MAX_BLOCKS)
			abort();
		s.graph.chunk[s.graph.nr++] = i.c;
		inside = i.c.index;
		index = i.c.index - 1;
		if (inside != (i.prev_stamp == stamp))
			return damage("a transaction without its beginning, or two of one stamp");
		stamp = i.prev_stamp;
		if (stamp <= s.res->ckpt_stamp)
			return true;
		if (!read_info(&i, i.prev))
			return false;
	}
}

static int compare(const void *pa, const void *pb)
{
	const struct record *a = pa, *b = pb;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->stamp < b->stamp ? -1 : a->stamp > b->stamp;
}

static bool collect(void)
{
	for (uint32_t n = 0; n < s.graph.nr; n++) {
		const struct ref_chunk *c = &s.graph.chunk[n];
		uint32_t at = c->at;

		for (uint32_t k = 0; c->committed && k < c->tags; k++) {
			uint64_t bits = le64(described(c, k) + 8);

			if (s.nr == MAX_RECORDS)
				abort();
			s.record[s.nr++] = (struct record) {
				le64(described(c, k)), bits, c->stamp, at,
			};
			at += lines_of(bits);
		}
	}
	qsort(s.record, s.nr, sizeof(s.record[0]), compare);
	for (uint32_t n = 0; n < s.nr; n++) {
		if (n && !compare(&s.record[n - 1], &s.record[n]))
			return damage("two records of one block");
		if (s.log->is_log(s.log->ctx, s.record[n].block))
			return damage("record of a block of the journal");
	}
	s.res->images = s.nr;
	return true;
}

/* One block, whose records are @first to @last. */
static bool choose(uint32_t first, uint32_t last)
{
	uint64_t block = s.record[first].block, revoked = ref_revoked(&s.graph, block);
	uint32_t from;

	for (; first <= last && s.record[first].stamp <= revoked; first++)
		s.res->revoked++;
	if (first > last)
		return true;
	for (from = last; from > first && s.record[from].lines != whole(); from--)
		;
	if (revoked && s.record[from].lines != whole())
		return damage("a part after a revoke");
	s.res->write[s.res->nr_writes++] = (struct ref_write) {
		block, from, last - from + 1,
	};
	return true;
}

void ref_read(const struct ref_log *log, struct ref_result *res)
{
	uint32_t first = 0;

	s.log = log;
	s.res = res;
	s.lines = 0;
	s.nr = 0;
	s.graph.nr = 0;
	s.graph.res = res;
	memset(res, 0, offsetof(struct ref_result, write));
	if (!read_head())
		return;
	for (uint32_t lane = 0; lane < s.lanes; lane++)
		if (!read_lane(lane))
			return;
	res->chunks = s.graph.nr;
	if (!ref_judge(&s.graph) || !collect())
		return;
	for (uint32_t n = 0; n < s.nr; n++)
		if (n + 1 == s.nr || s.record[n + 1].block != s.record[n].block) {
			if (!choose(first, n))
				return;
			first = n + 1;
		}
}

/* What is home, and the records over it. */
void ref_image(const struct ref_log *log, const struct ref_write *w, uint8_t *image)
{
	memcpy(image, log->home(log->ctx, w->block), log->block_size);
	for (uint32_t n = w->log_block; n < w->log_block + w->flags; n++) {
		const uint8_t *from = line(s.record[n].at);

		for (uint32_t bit = 0; bit < 64; bit++) {
			if (!(s.record[n].lines >> bit & 1))
				continue;
			memcpy(image + bit * unit(), from, unit());
			from += unit();
		}
	}
}
