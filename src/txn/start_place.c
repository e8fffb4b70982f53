// SPDX-License-Identifier: GPL-2.0-only
/*
 * The order of handle starts that wait in their lane (N11).
 *
 * A start that does not fit into the running transaction closes it, and needs the next one while
 * that is empty. So it takes a place, and the lane is closed to others until the start with the
 * first place has joined a transaction (docs/decisions/0056).
 */
#include "core/core.h"
#include "txn/txn.h"
#include <linux/atomic.h>
#include <linux/wait.h>

/*
 * The lane may open and close again this often before a start that waits for it takes a place. A
 * place costs all other starts of the lane the time of a wake-up, so it is for those that have come
 * too late by more than chance.
 */
#define ZJ_LOST_TURNS	8

/**
 * zj_place_has_lost() - has the lane opened too often without a start that waits for it?
 * @lane: the lane
 * @place: the caller's
 *
 * Return: true if it is to take a place.
 */
bool zj_place_has_lost(const struct zj_lane *lane, const struct zj_start_place *place)
{
	return place->waits && !place->queued &&
	       READ_ONCE(lane->opened) - place->since > ZJ_LOST_TURNS;
}

/**
 * zj_place_take() - let no other start of a lane pass the caller's from now on
 * @lane: the lane
 * @place: the caller's
 *
 * Context: takes lane->lock.
 */
void zj_place_take(struct zj_lane *lane, struct zj_start_place *place)
{
	spin_lock(&lane->lock);
	if (!place->queued)
		list_add_tail(&place->link, &lane->start_queue);
	place->queued = true;
	spin_unlock(&lane->lock);
}

/**
 * zj_place_leave() - a start has joined a transaction, or has given up
 * @lane: the lane
 * @place: the caller's
 *
 * Those that it has kept out may go on now, and so may a barrier.
 *
 * Context: takes lane->lock.
 */
void zj_place_leave(struct zj_lane *lane, struct zj_start_place *place)
{
	if (place->held_up && atomic_dec_and_test(&lane->journal->held_up))
		wake_up_all(&lane->journal->wait_barrier);
	if (!place->reserves && !place->queued)
		return;
	spin_lock(&lane->lock);
	if (place->reserves)
		list_del(&place->reserve);
	if (place->queued)
		list_del(&place->link);
	spin_unlock(&lane->lock);
	wake_up_all(&lane->wait_start);
}
