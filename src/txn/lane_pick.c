// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tenants: containers or directories that have lanes of their own.
 *
 * The caller names a tenant by a number. A new tenant gets the lane that has the fewest
 * tenants. Every lane is correct for every handle, so the table is read, and its times are
 * written, without a lock. A wrong value may bring two tenants into one lane, but does
 * no other harm.
 */
#include "core/core.h"
#include "txn/txn.h"
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/slab.h>

#define SET_BITS	6
#define WAYS		8	/* tenants that a set has room for */
#define TABLE_SIZE	(WAYS << SET_BITS)

/* A tenant's time is written no more often than this, so that its cache line is rarely dirtied. */
#define FRESH		(60 * HZ)
/* A tenant that has started no handle for this time is not counted, and may lose its place. */
#define IDLE		(10 * 60 * HZ)

static long idle_time(const struct zj_tenant *t)
{
	if (!READ_ONCE(t->tag))
		return LONG_MAX;
	/* Another CPU may have written a later time than our jiffies. */
	return max((long)(jiffies - READ_ONCE(t->used)), 0L);
}

static struct zj_tenant *find_tenant(struct zj_tenant *set, u32 tag)
{
	int i;

	for (i = 0; i < WAYS; i++)
		if (READ_ONCE(set[i].tag) == tag)
			return &set[i];
	return NULL;
}

/* Returns a free place, or that of the tenant that was idle for longest; NULL if none is. */
static struct zj_tenant *vacant_tenant(struct zj_tenant *set)
{
	struct zj_tenant *best = set;
	int i;

	for (i = 1; i < WAYS; i++)
		if (idle_time(&set[i]) > idle_time(best))
			best = &set[i];
	return idle_time(best) > IDLE ? best : NULL;
}

static u32 least_used(struct zj_journal *zj)
{
	u16 users[ZJ_MAX_LANES] = {};
	u32 i, best = 0;

	for (i = 0; i < TABLE_SIZE; i++) {
		if (!ZJ_ASSERT(zj, zj->tenants[i].lane < zj->nr_lanes))
			continue;
		if (idle_time(&zj->tenants[i]) <= IDLE)
			users[zj->tenants[i].lane]++;
	}
	for (i = 1; i < zj->nr_lanes; i++)
		if (users[i] < users[best])
			best = i;
	return best;
}

/* Gives a tenant a place in its set, or returns NULL without the lock if all are busy. */
static struct zj_tenant *admit_tenant(struct zj_journal *zj, struct zj_tenant *set,
				      u32 tag)
{
	struct zj_tenant *t;

	if (!vacant_tenant(set))
		return NULL;
	spin_lock(&zj->tenant_lock);
	t = find_tenant(set, tag);
	if (!t)
		t = vacant_tenant(set);
	if (t && t->tag != tag) {
		WRITE_ONCE(t->lane, least_used(zj));
		WRITE_ONCE(t->used, jiffies);
		WRITE_ONCE(t->tag, tag);
	}
	spin_unlock(&zj->tenant_lock);
	return t;
}

/**
 * zj_journal_lane_of() - get the lane of a tenant
 * @journal: the journal, loaded
 * @tenant: its number, not 0
 *
 * The lane stays the same while the tenant goes on starting handles. A tenant that finds
 * no place in the table gets a lane by its number, even if another one is unused.
 *
 * Context: any but interrupts. Writes to shared memory only once a minute.
 * Return: a lane for zj_journal_start_in().
 */
int zj_journal_lane_of(journal_t *journal, u64 tenant)
{
	struct zj_journal *zj = to_zj(journal);
	u32 tag = hash_64(tenant, 32) ?: 1;
	struct zj_tenant *set = &zj->tenants[(tag >> (32 - SET_BITS)) * WAYS];
	struct zj_tenant *t = find_tenant(set, tag) ?: admit_tenant(zj, set, tag);

	if (!t)
		return tag % zj->nr_lanes;
	if (idle_time(t) > FRESH)
		WRITE_ONCE(t->used, jiffies);
	return READ_ONCE(t->lane);
}
EXPORT_SYMBOL_GPL(zj_journal_lane_of);

/* Empties the table; tenants that go on starting handles get new places. */
void zj_tenants_forget(struct zj_journal *zj)
{
	int i;

	spin_lock(&zj->tenant_lock);
	for (i = 0; i < TABLE_SIZE; i++)
		WRITE_ONCE(zj->tenants[i].tag, 0);
	spin_unlock(&zj->tenant_lock);
}

int zj_tenants_init(struct zj_journal *zj)
{
	spin_lock_init(&zj->tenant_lock);
	zj->tenants = kvcalloc(TABLE_SIZE, sizeof(*zj->tenants), GFP_KERNEL);
	return zj->tenants ? 0 : -ENOMEM;
}

void zj_tenants_exit(struct zj_journal *zj)
{
	kvfree(zj->tenants);
	zj->tenants = NULL;
}
