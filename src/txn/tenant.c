// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tenants: whoever shall have a lane of its own, a container or a directory, say.
 *
 * The caller names a tenant by a number; a new one gets the lane that the fewest
 * use.  Any lane is right for any handle, so the table is read and its times are
 * written without a lock, and may be wrong: that costs a meeting of lanes that
 * could have been avoided, nothing else.
 */
#include "core/journal.h"
#include "txn/tenant.h"
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/slab.h>

#define SET_BITS	6
#define WAYS		8	/* tenants that a set has room for */
#define TABLE_SIZE	(WAYS << SET_BITS)

/* Nobody writes a time more often than this. */
#define FRESH		(60 * HZ)
/* Who starts no handle for so long no longer counts, and may lose its place. */
#define IDLE		(10 * 60 * HZ)

static long idle_time(const struct zj_tenant *t)
{
	if (!READ_ONCE(t->tag))
		return LONG_MAX;
	/* Another CPU may be ahead of what we read of the clock. */
	return max((long)(jiffies - READ_ONCE(t->used)), 0L);
}

static struct zj_tenant *find(struct zj_tenant *set, u32 tag)
{
	int i;

	for (i = 0; i < WAYS; i++)
		if (READ_ONCE(set[i].tag) == tag)
			return &set[i];
	return NULL;
}

/* A free place, or that of who has been away longest; NULL if nobody has. */
static struct zj_tenant *vacant(struct zj_tenant *set)
{
	struct zj_tenant *best = set;
	int i;

	for (i = 1; i < WAYS; i++)
		if (idle_time(&set[i]) > idle_time(best))
			best = &set[i];
	return idle_time(best) > IDLE ? best : NULL;
}

static u32 least_used(const struct zj_journal *zj)
{
	u16 users[ZJ_MAX_LANES] = {};
	u32 i, best = 0;

	for (i = 0; i < TABLE_SIZE; i++)
		if (idle_time(&zj->tenants[i]) <= IDLE)
			users[zj->tenants[i].lane]++;
	for (i = 1; i < zj->nr_lanes; i++)
		if (users[i] < users[best])
			best = i;
	return best;
}

/* NULL if the set is full of busy ones; seen without the lock then. */
static struct zj_tenant *admit(struct zj_journal *zj, struct zj_tenant *set,
			       u32 tag)
{
	struct zj_tenant *t;

	if (!vacant(set))
		return NULL;
	spin_lock(&zj->tenant_lock);
	t = find(set, tag);
	if (!t)
		t = vacant(set);
	if (t && t->tag != tag) {
		WRITE_ONCE(t->lane, least_used(zj));
		WRITE_ONCE(t->used, jiffies);
		WRITE_ONCE(t->tag, tag);
	}
	spin_unlock(&zj->tenant_lock);
	return t;
}

/**
 * zj_journal_lane_of() - the lane of a tenant
 * @journal: the journal, loaded
 * @tenant: its number, not 0
 *
 * It stays the same while the tenant starts handles.  Of very many tenants some
 * share lanes that others do not use.
 *
 * Context: any but interrupts.  Writes nothing shared, but once a minute.
 * Return: for zj_journal_start_in().
 */
int zj_journal_lane_of(journal_t *journal, u64 tenant)
{
	struct zj_journal *zj = to_zj(journal);
	u32 tag = hash_64(tenant, 32) ?: 1;
	struct zj_tenant *set = &zj->tenants[(tag >> (32 - SET_BITS)) * WAYS];
	struct zj_tenant *t = find(set, tag) ?: admit(zj, set, tag);

	if (!t)
		return tag % zj->nr_lanes;
	if (idle_time(t) > FRESH)
		WRITE_ONCE(t->used, jiffies);
	return READ_ONCE(t->lane);
}
EXPORT_SYMBOL_GPL(zj_journal_lane_of);

/* Those who are still there are admitted anew. */
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
