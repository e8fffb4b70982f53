// SPDX-License-Identifier: GPL-2.0-only
/*
 * Second pass: chunks of one stamp are a component.  It is valid if it is whole
 * and everything that it depends on is trimmed or valid.  Dependencies go to
 * lower stamps only, so one walk in stamp order decides all.
 */
#include <linux/sort.h>
#include "recovery_int.h"

static int zj_cmp_chunk(const void *pa, const void *pb)
{
	const struct zj_rec_chunk *a = pa, *b = pb;
	int c = zj_cmp(a->stamp, b->stamp);

	if (!c)
		c = zj_cmp(a->lane, b->lane);
	if (!c)
		c = zj_cmp(a->chunk_index, b->chunk_index);
	return c;
}

/* @b follows @a in the sorted chunks of one component. */
static int zj_check_pair(struct zj_recovery *r, const struct zj_rec_chunk *a,
			 const struct zj_rec_chunk *b)
{
	const char *what;

	if (a->nr_members != b->nr_members)
		what = "disagree on the number of members";
	else if (a->lane != b->lane)
		return 0;
	else if (a->tid != b->tid)
		what = "are two transactions of one lane";
	else if (a->nr_chunks != b->nr_chunks)
		what = "disagree on the number of chunks";
	else if (a->chunk_index == b->chunk_index)
		what = "are the same chunk of one transaction";
	else
		return 0;
	return zj_corrupt(r, "stamp %llu: segment %u block %u and segment %u block %u %s",
			  a->stamp,
			  zj_seg_of(r, a->log_block),
			  zj_seg_block_of(r, a->log_block),
			  zj_seg_of(r, b->log_block),
			  zj_seg_block_of(r, b->log_block), what);
}

/* Are all members there, each with all its chunks?  1, 0 or -EUCLEAN. */
static int zj_check_whole(struct zj_recovery *r, struct zj_rec_component *comp)
{
	const struct zj_rec_chunk *c = r->chunks.items;
	u64 chunks_due = 0;
	u32 i;
	int err;

	c += comp->first_chunk;
	for (i = 0; i < comp->nr_chunks; i++) {
		if (i) {
			err = zj_check_pair(r, &c[i - 1], &c[i]);
			if (err)
				return err;
		}
		if (!i || c[i].lane != c[i - 1].lane) {
			comp->members++;
			chunks_due += c[i].nr_chunks;
		}
	}
	if (comp->members > c->nr_members)
		return zj_corrupt(r, "stamp %llu: %u members, of which segment %u block %u knows only %u",
				  comp->stamp, comp->members,
				  zj_seg_of(r, c->log_block),
				  zj_seg_block_of(r, c->log_block),
				  c->nr_members);
	/* No chunk is there twice, so the numbers suffice. */
	return comp->members == c->nr_members && comp->nr_chunks == chunks_due;
}

static bool zj_stamp_valid(const struct zj_recovery *r, u64 stamp)
{
	const struct zj_rec_component *comp = r->components.items;
	u32 lo = 0, hi = r->components.nr, mid;

	if (stamp <= r->trim_stamp)
		return true;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (comp[mid].stamp == stamp)
			return comp[mid].valid;
		if (comp[mid].stamp < stamp)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

static bool zj_deps_valid(const struct zj_recovery *r,
			  const struct zj_rec_component *comp)
{
	const struct zj_rec_chunk *chunk = r->chunks.items;
	const u64 *entries = r->entries.items;
	u32 i, k;

	for (i = comp->first_chunk; i < comp->first_chunk + comp->nr_chunks; i++)
		for (k = 0; k < chunk[i].nr_deps; k++)
			if (!zj_stamp_valid(r, entries[chunk[i].first_dep + k]))
				return false;
	return true;
}

static int zj_judge(struct zj_recovery *r, struct zj_rec_component *comp)
{
	int whole = zj_check_whole(r, comp);

	if (whole < 0)
		return whole;
	comp->valid = whole && zj_deps_valid(r, comp);
	r->stats->components++;
	if (comp->valid) {
		r->stats->valid_components++;
		r->stats->transactions += comp->members;
		r->stats->newest_stamp = comp->stamp;
	} else {
		r->stats->discarded += comp->members;
	}
	return 0;
}

int zj_graph(struct zj_recovery *r)
{
	struct zj_rec_chunk *chunks = r->chunks.items;
	struct zj_rec_component *comp;
	u32 i, end;
	int err;

	sort(chunks, r->chunks.nr, sizeof(*chunks), zj_cmp_chunk, NULL);
	for (i = 0; i < r->chunks.nr; i = end) {
		for (end = i + 1; end < r->chunks.nr; end++)
			if (chunks[end].stamp != chunks[i].stamp)
				break;
		comp = zj_vec_add(&r->components);
		if (!comp)
			return zj_no_memory(r);
		*comp = (struct zj_rec_component) {
			.stamp = chunks[i].stamp,
			.first_chunk = i,
			.nr_chunks = end - i,
		};
		err = zj_judge(r, comp);
		if (err)
			return err;
	}
	return 0;
}
