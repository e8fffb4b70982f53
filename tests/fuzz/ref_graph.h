/* SPDX-License-Identifier: GPL-2.0-only */
/* Steps 3 to 5 of "Recovery" in docs/internals/format.md, the same for two of the formats. */
#ifndef ZJ_FUZZ_REF_GRAPH_H
#define ZJ_FUZZ_REF_GRAPH_H

#include "ref_bits.h"

/**
 * struct ref_chunk - a good chunk with a stamp above the checkpoint stamp
 */
struct ref_chunk {
	const uint8_t *block;	/* the header block; in memory: the TxnInfo */
	const uint8_t *entries;	/* dependencies, then revokes */
	uint64_t stamp;
	uint32_t at;		/* journal block of the header; in memory: first line */
	uint32_t tid, lane, members, index, chunks;
	uint32_t deps, revokes, tags;
	bool	committed;	/* its component is */
};

/**
 * struct ref_graph - all of them
 */
struct ref_graph {
	struct ref_result *res;
	uint32_t lanes;
	uint32_t nr;
	struct ref_chunk chunk[REF_MAX_BLOCKS];
};

/* Judge all components, oldest first; false: damage. */
bool ref_judge(struct ref_graph *g);
/* Is what this stamp stands for home, or committed? */
bool ref_stamp_committed(const struct ref_graph *g, uint64_t stamp);
/* The highest stamp of a committed revoke of @block; 0: none. */
uint64_t ref_revoked(const struct ref_graph *g, uint64_t block);

static inline uint64_t ref_dep(const struct ref_chunk *c, uint32_t i)
{
	return le64(c->entries + 8 * i);
}

static inline uint64_t ref_revoke(const struct ref_chunk *c, uint32_t i)
{
	return ref_dep(c, c->deps + i);
}

#endif
