// SPDX-License-Identifier: GPL-2.0-only
/*
 * What must never happen. Every state is a crash point, with any subset of what was
 * not durable, and recovery itself may be interrupted anywhere.
 */
#include <string.h>
#include "model.h"

/* ---- judging what is left ---- */

/* The contents of a block do not matter if a handle has freed it and none has reused it. */
static bool is_dead(const struct state *s, int block, int present)
{
	const struct block *b = &s->block[block];

	if (b->freer == NOBODY || !(present & BIT(b->freer)))
		return false;
	for (int h = 0; h < cfg->handles; h++)
		if (present & BIT(h) & ~b->before &&
		    s->handle[h].writes & BIT(block))
			return false;
	return true;
}

static bool is_content(int c)
{
	return !(c & (C_DATA | C_TORN));
}

/* Returns the handles of which any change is there. */
int present_handles(const struct state *s, const u8 *out)
{
	int present = 0;

	for (int b = 0; b < cfg->blocks; b++)
		if (is_content(out[b]))
			present |= out[b] & C_HANDLES;
	/* The contents of a freed block are not a change of any handle. */
	for (int b = 0; b < cfg->blocks; b++) {
		int stale = is_content(out[b]) ? out[b] & C_HANDLES : 0, others = 0;

		if (!is_dead(s, b, present))
			continue;
		for (int c = 0; c < cfg->blocks; c++)
			if (c != b && is_content(out[c]))
				others |= out[c];
		present &= ~(stale & ~others);
	}
	return present;
}

/* Returns the blocks that must show a handle, given what else is there. */
static int blocks_due(const struct state *s, int h, int present)
{
	int due = s->handle[h].writes;

	for (int b = 0; b < cfg->blocks; b++)
		if (s->block[b].freer != NOBODY &&
		    present & BIT(s->block[b].freer) &&
		    s->block[b].before & BIT(h))
			due &= ~BIT(b);
	return due;
}

static int blocks_showing(const u8 *out, int h, int due)
{
	int shown = 0;

	for (int b = 0; b < cfg->blocks; b++)
		if (due & BIT(b) && is_content(out[b]) && out[b] & BIT(h))
			shown |= BIT(b);
	return shown;
}

/* With .file the data of a handle may be in the block by a write in place or by an image. */
static bool data_is_there(const struct handle *handle, const u8 *out)
{
	if (!cfg->file)
		return handle->data == 3;
	return is_content(out[FILE_BLOCK]) && out[FILE_BLOCK] & C_STORE;
}

static const char *judge_handle(const struct state *s, const u8 *out, int h,
				int present)
{
	const struct handle *handle = &s->handle[h];
	int due = blocks_due(s, h, present);
	int shown = blocks_showing(out, h, due);

	if (s->reported & BIT(h) && shown != due)
		return "a handle that was reported committed is lost";
	if (!(present & BIT(h)))
		return NULL;
	if (handle->state == H_DEAD)
		return "a handle that recovery had discarded is back";
	if (handle->state < H_STOPPED)
		return "an unfinished handle is there";
	if (shown != due)
		return "half of a handle is there";
	if (handle->data && !data_is_there(handle, out))
		return "metadata points at data that is not there";
	for (int g = 0; g < cfg->handles; g++)
		if (handle->after & BIT(g) && !(present & BIT(g)) &&
		    blocks_due(s, g, present))
			return "a handle is there, one that it builds on is not";
	return NULL;
}

/* Return: what is wrong with the contents after recovery, or NULL. */
const char *judge(const struct state *s, const u8 *out)
{
	int present = present_handles(s, out);
	const char *bad;

	for (int b = 0; b < cfg->blocks; b++) {
		if (s->block[b].free == B_DATA && out[b] != C_DATA)
			return "file data on a reused block is overwritten";
		if (out[b] & C_TORN && out[b] != C_DATA &&
		    !is_dead(s, b, present))
			return "a half-written block is left";
	}
	for (int h = 0; h < cfg->handles; h++) {
		bad = judge_handle(s, out, h, present);
		if (bad)
			return bad;
	}
	return cfg->file ? judge_file(s, out) : NULL;
}

/* ---- crashes ---- */

/* Finds what is certainly there, and which records may be there in addition. */
void disk_now(const struct state *s, struct disk *disk, int *may_records)
{
	memset(disk, 0, sizeof(*disk));
	*may_records = 0;
	disk->reclaimed = s->reclaimed;
	for (int t = 0; t < nr_txns(); t++) {
		if (s->txn[t].record == REC_DURABLE)
			disk->records |= BIT(t);
		if (s->txn[t].record == REC_SENT ||
		    s->txn[t].record == REC_CACHED)
			*may_records |= BIT(t);
	}
	for (int b = 0; b < MAX_BLOCKS; b++)
		disk->home[b] = s->block[b].home;
}

/* Recovery may have written any part when the power fails again. */
static const char *check_again(const struct state *s, const struct disk *disk,
			       const u8 *out, int replayed)
{
	u8 again[MAX_BLOCKS];
	struct disk cut = *disk;
	int lanes = BIT(cfg->lanes) - 1;

	for (int b = 0; b < MAX_BLOCKS; b++)
		if (replayed & BIT(b))
			cut.home[b] = C_TORN;
	recover(s, &cut, again);
	if (memcmp(again, out, cfg->blocks))
		return "recovery that was cut does not end the same";
	/* The log is emptied in one step, when the home writes are durable. */
	memcpy(cut.home, on(REC_FLUSH) ? out : disk->home, cfg->blocks);
	for (int reset = 1; reset <= lanes; reset++) {
		const char *bad;

		if (on(REC_RESET) && reset != lanes)
			continue;
		cut.lanes_reset = reset;
		recover(s, &cut, again);
		if (!memcmp(again, out, cfg->blocks))
			continue;
		bad = judge(s, again);
		return bad ? bad : "recovery twice is not recovery once";
	}
	return NULL;
}

static const char *check_disk(const struct state *s, const struct disk *disk)
{
	u8 out[MAX_BLOCKS];
	int replayed = recover(s, disk, out);
	const char *bad = judge(s, out);

	return bad ? bad : check_again(s, disk, out, replayed);
}

/**
 * struct homes - what each block's home may hold
 */
struct homes {
	u8	may[MAX_BLOCKS][4];
	u8	nr[MAX_BLOCKS];
	int	mixtures;
};

static void homes_now(const struct state *s, struct homes *homes)
{
	homes->mixtures = 1;
	for (int b = 0; b < MAX_BLOCKS; b++) {
		const struct block *block = &s->block[b];
		u8 *may = homes->may[b];
		int nr = 0;

		may[nr++] = block->home;
		if (b < cfg->blocks && block->cached != C_NONE)
			may[nr++] = block->cached;
		if (block->home_io)
			may[nr++] = block->live;
		if (nr > 1)
			may[nr++] = C_TORN;
		homes->nr[b] = nr;
		homes->mixtures *= nr;
	}
}

static const char *check_homes(const struct state *s, struct disk *disk,
			       const struct homes *homes)
{
	const char *bad = NULL;

	for (int i = 0; i < homes->mixtures && !bad; i++) {
		int rest = i;

		for (int b = 0; b < MAX_BLOCKS; b++) {
			disk->home[b] = homes->may[b][rest % homes->nr[b]];
			rest /= homes->nr[b];
		}
		bad = check_disk(s, disk);
	}
	return bad;
}

/*
 * Many states differ only in memory. So the contents of the disk and what is required
 * of it are kept, and each such pair is judged once.
 */
void crash_key(const struct state *s, struct state *key)
{
	memcpy(key, s, state_size());
	for (int t = 0; t < MAX_TXNS; t++) {
		struct txn *txn = &key->txn[t];

		txn->state = txn->try = txn->entry = txn->held = 0;
		txn->durable = txn->sealed = 0;
		if (txn->record < REC_SENT) {
			memset(txn, 0, sizeof(*txn));
			continue;
		}
		for (int b = 0; b < MAX_BLOCKS; b++)
			txn->part[b].bits &= PART_IMAGE;
	}
	for (int b = 0; b < MAX_BLOCKS; b++) {
		key->block[b].free = s->block[b].free == B_DATA;
		if (!s->block[b].home_io)
			key->block[b].live = 0;
	}
	for (int h = 0; h < MAX_HANDLES; h++) {
		struct handle *handle = &key->handle[h];

		handle->txn = handle->done = handle->op = handle->step = 0;
		handle->old = handle->data_txn = 0;
	}
	key->stamp = key->seals = key->slot = key->claim = key->core = 0;
	key->moves = key->moved = 0;
	key->dquot_claim = key->charged = key->given = key->dirty = 0;
	key->synced = key->fsync = key->fsync_txn = key->fsync_for = 0;
	key->flush = key->flush_covers = 0;
	key->folio = key->stale = key->left = 0;
	if (s->store != S_SYNCED)
		key->store = S_NONE;
}

/* Return: what some crash in this state breaks, or NULL. */
const char *check_crashes(const struct state *s)
{
	int may, sure, extra = 0;
	const char *bad = NULL;
	struct homes homes;
	struct disk disk;

	homes_now(s, &homes);
	disk_now(s, &disk, &may);
	sure = disk.records;
	do {
		disk.records = sure | extra;
		disk.reclaimed = s->reclaimed;
		bad = check_homes(s, &disk, &homes);
		if (!bad && s->reclaiming) {
			disk.reclaimed = s->reclaiming;
			bad = check_homes(s, &disk, &homes);
		}
		/* The next subset. */
		extra = (extra - may) & may;
	} while (!bad && extra);
	return bad;
}

/* ---- the state itself ---- */

static bool dep_order_holds(const struct state *s)
{
	for (int t = 0; t < nr_txns(); t++)
		for (int d = 0; d < nr_txns(); d++)
			if (s->txn[t].deps & BIT(d) && s->txn[t].sealed &&
			    s->txn[d].stamp >= s->txn[t].stamp)
				return false;
	return true;
}

/* In one component a block has one part, and not both a revoke and an image. */
static bool one_image(const struct state *s)
{
	for (int t = 0; t < nr_txns(); t++)
		for (int b = 0; b < cfg->blocks; b++) {
			int parts = 0, revokes = 0;

			for (int m = 0; m < nr_txns(); m++)
				if (s->txn[t].comp & BIT(m)) {
					int kind = s->txn[m].part[b].bits & PART_KIND;

					parts += kind == PART_CLEAN || kind == PART_DIRTY;
					revokes += !!(s->txn[m].revokes & BIT(b));
				}
			if (parts > 1 || (parts && revokes))
				return false;
		}
	return true;
}

/* Return: what is wrong with the last step or the state itself, or NULL. */
const char *check_step(const struct state *s)
{
	if (s->stale)
		return "a read finds older file data than was there";
	if (s->delayed)
		return "a requested commit waits for a handle that started later";
	/* These hold only if no rule is left out. */
	if (!all_on())
		return NULL;
	if (!dep_order_holds(s))
		return "a dependency on a stamp that is not lower";
	if (!one_image(s))
		return "two images, or an image and a revoke, in one component";
	return NULL;
}
