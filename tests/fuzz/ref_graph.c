// SPDX-License-Identifier: GPL-2.0-only
/* Numbers in comments are the steps of "Recovery" in docs/internals/format.md. */
#include "ref_graph.h"

uint32_t ref_crc(uint32_t seed, const uint8_t *p, uint32_t len)
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

uint32_t ref_crc_without(uint32_t seed, const uint8_t *p, uint32_t len, uint32_t hole)
{
	static const uint8_t zero[4];
	uint32_t sum = ref_crc(ref_crc(seed, p, hole), zero, 4);

	return ref_crc(sum, p + hole + 4, len - hole - 4);
}

bool ref_damage(struct ref_result *res, const char *why)
{
	if (!res->damage)
		res->damage = why;
	return false;
}

bool ref_stamp_committed(const struct ref_graph *g, uint64_t stamp)
{
	if (stamp <= g->res->ckpt_stamp)
		return true;
	for (uint32_t i = 0; i < g->nr; i++)
		if (g->chunk[i].stamp == stamp)
			return g->chunk[i].committed;
	return false;
}

static bool pair_sane(struct ref_graph *g, const struct ref_chunk *a,
		      const struct ref_chunk *b)
{
	if (a->members != b->members)
		return ref_damage(g->res, "nr_members differ");
	if (a->lane == b->lane &&
	    (a->tid != b->tid || a->chunks != b->chunks ||
	     a->index == b->index))
		return ref_damage(g->res, "chunks of one member contradict each other");
	return true;
}

/* 3 and 4: the component with this stamp; all lower ones are judged */
static bool judge(struct ref_graph *g, uint64_t stamp)
{
	uint32_t lanes = 0, here = 0, members = 0;
	uint64_t due = 0, deps = 0;
	bool committed = true;

	for (uint32_t i = 0; i < g->nr; i++) {
		const struct ref_chunk *c = &g->chunk[i];
		bool first = true;

		if (c->stamp != stamp)
			continue;
		for (uint32_t k = 0; k < i; k++) {
			if (g->chunk[k].stamp != stamp)
				continue;
			if (!pair_sane(g, &g->chunk[k], c))
				return false;
			first &= g->chunk[k].lane != c->lane;
		}
		here++;
		lanes += first;
		due += first ? c->chunks : 0;
		members = c->members;
		deps += c->deps;
		for (uint32_t k = 0; k < c->deps; k++)
			committed &= ref_stamp_committed(g, ref_dep(c, k));
	}
	if (lanes > members)
		return ref_damage(g->res, "more lanes than nr_members");
	if (deps > g->lanes)
		return ref_damage(g->res, "more dependencies than lanes");
	committed &= lanes == members && here == due;
	for (uint32_t i = 0; i < g->nr; i++)
		if (g->chunk[i].stamp == stamp)
			g->chunk[i].committed = committed;

	g->res->components++;
	g->res->committed += committed;
	g->res->transactions += committed ? lanes : 0;
	g->res->discarded += committed ? 0 : lanes;
	if (committed)
		g->res->newest_stamp = stamp;
	return true;
}

/* The lowest stamp above @last; 0 if there is none. */
static uint64_t next_stamp(const struct ref_graph *g, uint64_t last)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < g->nr; i++) {
		uint64_t stamp = g->chunk[i].stamp;

		if (stamp > last && (!next || stamp < next))
			next = stamp;
	}
	return next;
}

bool ref_judge(struct ref_graph *g)
{
	for (uint64_t at = next_stamp(g, 0); at; at = next_stamp(g, at))
		if (!judge(g, at))
			return false;
	return true;
}

uint64_t ref_revoked(const struct ref_graph *g, uint64_t block)
{
	uint64_t stamp = 0;

	for (uint32_t i = 0; i < g->nr; i++) {
		const struct ref_chunk *c = &g->chunk[i];

		for (uint32_t k = 0; c->committed && k < c->revokes; k++)
			if (ref_revoke(c, k) == block && c->stamp > stamp)
				stamp = c->stamp;
	}
	return stamp;
}
