// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cursor hands out what a member has for the log, piece by piece: its
 * dependencies, revokes and images. The writers of all formats use it.
 */
#include "core/journal.h"
#include "log/cursor.h"
#include "txn/part.h"

static u32 count_images(const struct zj_txn *txn)
{
	struct zj_part *part;
	u32 nr = 0;

	list_for_each_entry(part, &txn->parts, txn_link)
		nr += zj_part_test(part, ZJ_PART_MODIFIED);
	return nr;
}

/**
 * zj_cursor_init() - start at the beginning of a member
 * @cursor: is set
 * @txn: sealed, its parts are fixed; its images may be settled later, but
 *	before the first one is taken
 */
void zj_cursor_init(struct zj_cursor *cursor, struct zj_txn *txn)
{
	struct zj_component *comp = txn->comp;

	/*
	 * The cursor points to the entry taken last; the heads of the lists
	 * stand for "none yet".
	 */
	*cursor = (struct zj_cursor) {
		.dep = list_entry(&comp->deps, struct zj_dep, comp_link),
		.revoke = list_entry(&txn->revokes, struct zj_block_entry, txn_link),
		.part = list_entry(&txn->parts, struct zj_part, txn_link),
		.nr_revokes = txn->nr_revokes,
		.nr_images = count_images(txn),
	};
	/* The first member's record holds the component's dependencies. */
	if (list_is_first(&txn->comp_link, &comp->members))
		cursor->nr_deps = list_count_nodes(&comp->deps);
}

/**
 * zj_cursor_dep() - take a dependency
 * @cursor: has dependencies left
 *
 * Return: stamp of the component that this member's component depends on.
 */
u64 zj_cursor_dep(struct zj_cursor *cursor)
{
	cursor->nr_deps--;
	cursor->dep = list_next_entry(cursor->dep, comp_link);
	return cursor->dep->stamp;
}

/**
 * zj_cursor_revoke() - take a revoke
 * @cursor: has revokes left
 *
 * Return: the revoked block.
 */
u64 zj_cursor_revoke(struct zj_cursor *cursor)
{
	cursor->nr_revokes--;
	cursor->revoke = list_next_entry(cursor->revoke, txn_link);
	return cursor->revoke->block;
}

/**
 * zj_cursor_peek() - look at the next image, without taking it
 * @cursor: has images left, which are settled
 *
 * Return: the part that has it.
 */
struct zj_part *zj_cursor_peek(const struct zj_cursor *cursor)
{
	struct zj_part *part = list_next_entry(cursor->part, txn_link);

	/* A part without an image was forgotten. */
	while (!part->image)
		part = list_next_entry(part, txn_link);
	return part;
}

/**
 * zj_cursor_image() - take an image
 * @cursor: has images left, which are settled
 *
 * Return: the part that has it.
 */
struct zj_part *zj_cursor_image(struct zj_cursor *cursor)
{
	cursor->nr_images--;
	cursor->part = zj_cursor_peek(cursor);
	return cursor->part;
}
