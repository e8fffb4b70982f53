// SPDX-License-Identifier: GPL-2.0-only
/*
 * Second pass: chunks with one stamp form a component. It is committed if it is
 * whole, and everything it depends on is reclaimed or committed. Dependencies
 * go to lower stamps only, so one walk in stamp order decides all.
 *
 * A component that is not committed was cut off by the crash if its stamp is
 * above the log's committed stamp. Otherwise it was committed once, and the
 * device has lost it. One with an image that cannot be read, behind a good header,
 * is lost in any case: it may have been durable.
 */
#include <linux/minmax.h>
#include "recovery/recovery_int.h"

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

/* Checks two neighbours among the sorted chunks of one component. */
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

/*
 * Returns 1 if all members are there, each with all its chunks, 0 if not, or
 * -EUCLEAN.
 */
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
		return zj_corrupt(r, "stamp %llu has %u members, but segment %u block %u names only %u",
				  comp->stamp, comp->members,
				  zj_seg_of(r, c->log_block),
				  zj_seg_block_of(r, c->log_block),
				  c->nr_members);
	/* No chunk is there twice, so it suffices to compare numbers. */
	return comp->members == c->nr_members && comp->nr_chunks == chunks_due;
}

/*
 * A component has at most one dependency for each lane. A log with more is
 * damaged, and would only make recovery slow.
 */
static int zj_count_deps(struct zj_recovery *r, const struct zj_rec_component *comp)
{
	const struct zj_rec_chunk *chunk = r->chunks.items;
	u64 deps = 0;
	u32 i;

	for (i = 0; i < comp->nr_chunks; i++)
		deps += chunk[comp->first_chunk + i].nr_deps;
	if (deps <= r->geo.nr_lanes)
		return 0;
	return zj_corrupt(r, "stamp %llu: %llu dependencies, in a log of %u lanes",
			  comp->stamp, deps, r->geo.nr_lanes);
}

static bool zj_stamp_committed(struct zj_recovery *r, u64 stamp)
{
	const struct zj_rec_component *comp = r->components.items;
	s64 i;

	if (stamp <= r->ckpt_stamp)
		return true;
	i = zj_table_find(&r->by_stamp, stamp);
	return i >= 0 && comp[i].committed;
}

static bool zj_deps_committed(struct zj_recovery *r,
			      const struct zj_rec_component *comp)
{
	const struct zj_rec_chunk *chunk = r->chunks.items;
	const u64 *entries = r->entries.items;
	u32 i, k;

	for (i = comp->first_chunk; i < comp->first_chunk + comp->nr_chunks; i++)
		for (k = 0; k < chunk[i].nr_deps; k++)
			if (!zj_stamp_committed(r, entries[chunk[i].first_dep + k]))
				return false;
	return true;
}

static int zj_judge(struct zj_recovery *r, struct zj_rec_component *comp)
{
	int whole = zj_check_whole(r, comp);
	int err = whole < 0 ? whole : zj_count_deps(r, comp);

	if (err)
		return err;
	comp->committed = whole && zj_deps_committed(r, comp);
	r->stats->components++;
	if (comp->committed) {
		r->stats->committed_components++;
		r->stats->transactions += comp->members;
		r->stats->newest_stamp = comp->stamp;
	} else {
		r->stats->discarded += comp->members;
	}
	return 0;
}

/* ---- lost components ---- */

/*
 * Returns the first stamp above the checkpoint stamp whose component was
 * committed before the crash and is not found to be so now; 0: none. Each stamp
 * was given to one component, so none may be missing. If a record cannot be
 * read, it may be of any stamp that is missing, and have been durable. The same goes
 * for a record that was overwritten, if only a checkpoint slot that cannot be read
 * would show that it was no longer needed: overwritten by something torn, or by
 * something that names no committed stamp, because barriers were off.
 */
static u64 zj_first_lost(const struct zj_recovery *r)
{
	const struct zj_rec_component *comp = r->components.items;
	u64 durable = r->doubt || r->overwritten ? U64_MAX :
						   max(r->committed_stamp, r->nameless);
	u64 stamp = r->ckpt_stamp;
	u32 i;

	for (i = 0; i < r->components.nr && stamp < durable; i++)
		if (comp[i].stamp != ++stamp || !comp[i].committed)
			return stamp;
	return stamp < durable ? stamp + 1 : 0;
}

/*
 * Drops all components from the lost one on. Older ones are whole, and depend
 * on nothing newer.
 */
static void zj_drop_from(struct zj_recovery *r, u64 lost)
{
	struct zj_rec_component *comp = r->components.items;
	struct zj_recovery_stats *st = r->stats;
	u32 i;

	st->newest_stamp = 0;
	for (i = 0; i < r->components.nr; i++) {
		if (comp[i].committed && comp[i].stamp < lost)
			st->newest_stamp = comp[i].stamp;
		if (!comp[i].committed || comp[i].stamp < lost)
			continue;
		comp[i].committed = false;
		st->committed_components--;
		st->transactions -= comp[i].members;
		st->discarded += comp[i].members;
	}
}

static int zj_report_lost(struct zj_recovery *r, u64 lost)
{
	if (r->unread_stamp == lost)
		return zj_corrupt(r, "stamp %llu: journal block %u cannot be read, which holds an image of it; " ZJ_HOW_TO_DROP,
				  lost, r->unread_image);
	if (lost > r->committed_stamp && !r->doubt && !r->overwritten)
		return zj_corrupt(r, "checkpoint slot (journal block %u) cannot be read, and stamp %llu, which is not in the log, or in part only, may have been home: what was written without barriers does not tell; " ZJ_HOW_TO_DROP,
				  r->unread_slot, lost);
	if (lost > r->committed_stamp && !r->doubt)
		return zj_corrupt(r, "checkpoint slot (journal block %u) cannot be read, and the torn header in journal block %u may have taken the place of a record that was home; " ZJ_HOW_TO_DROP,
				  r->unread_slot, r->overwritten);
	if (lost > r->committed_stamp)
		return zj_corrupt(r, "journal block %u cannot be read, and a record that was durable may begin there; " ZJ_HOW_TO_DROP,
				  r->doubt);
	if (r->torn_stamp == lost)
		return zj_corrupt(r, "stamp %llu: a block of segment %u block %u has a wrong checksum, though all up to stamp %llu was durable; " ZJ_HOW_TO_DROP,
				  lost, zj_seg_of(r, r->torn_block),
				  zj_seg_block_of(r, r->torn_block),
				  r->committed_stamp);
	if (r->unread_first)
		return zj_corrupt(r, "stamp %llu is not in the log, or in part only, though all up to stamp %llu was durable, and %u blocks of the log cannot be read, the first is journal block %u; " ZJ_HOW_TO_DROP,
				  lost, r->committed_stamp,
				  r->stats->unread_blocks, r->unread_first);
	return zj_corrupt(r, "stamp %llu is not in the log, or in part only, though all up to stamp %llu was durable; " ZJ_HOW_TO_DROP,
			  lost, r->committed_stamp);
}

static int zj_check_durable(struct zj_recovery *r)
{
	u64 lost = min_not_zero(zj_first_lost(r), r->unread_stamp);

	r->stats->lost_stamp = lost;
	if (!lost)
		return 0;
	if (!(r->flags & ZJ_RECOVER_DROP_DAMAGED))
		return zj_report_lost(r, lost);
	zj_drop_from(r, lost);
	return 0;
}

int zj_graph(struct zj_recovery *r)
{
	struct zj_rec_chunk *chunks = r->chunks.items;
	struct zj_rec_component *comp;
	u32 i, end;
	int err;

	if (zj_table_init(&r->by_stamp, r->chunks.nr))
		return zj_no_memory(r);
	err = zj_sort(&r->chunks, zj_cmp_chunk);
	if (err)
		return err;
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
		zj_table_add(&r->by_stamp, comp->stamp, r->components.nr - 1);
		err = zj_judge(r, comp) ?: zj_yield();
		if (err)
			return err;
	}
	return zj_check_durable(r);
}
