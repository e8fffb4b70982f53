// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handles: start, one operation after the other, stop.
 * In the journal: src/txn/handle.c.
 */
#include "model.h"

/* Handles of the lane's earlier transactions must be there as well (R7). */
static int earlier_in_lane(const struct state *s, int txn)
{
	int mask = 0;

	for (int t = lane_of(txn) * cfg->txns; t < txn; t++)
		mask |= BIT(t);
	return handles_of(s, mask);
}

static void enter(struct state *s, int h, int txn)
{
	struct handle *handle = &s->handle[h];

	handle->state = H_OPEN;
	handle->txn = txn;
	handle->after |= earlier_in_lane(s, txn);
	if (!is_open(s, txn))
		say(", which is sealed");
}

static int open_txn(struct state *s, int lane)
{
	for (int t = lane * cfg->txns; t < (lane + 1) * cfg->txns; t++)
		if (s->txn[t].state == T_NONE) {
			s->txn[t].state = T_RUNNING;
			s->txn[t].comp = BIT(t);
			return t;
		}
	return -1;
}

static bool any_locked(const struct state *s, int mask)
{
	for (int t = 0; t < nr_txns(); t++)
		if (mask & BIT(t) && s->txn[t].state == T_LOCKED)
			return true;
	return false;
}

/* Handles and lanes are interchangeable: take them in order. */
static bool in_turn(const struct state *s, int h, int lane)
{
	if (s->handle[h].state != H_IDLE || (h && s->handle[h - 1].state == H_IDLE))
		return false;
	return !lane || s->txn[(lane - 1) * cfg->txns].state != T_NONE;
}

bool move_start(struct state *s, u8 h, u8 lane)
{
	bool reserved = cfg->reserved && h == cfg->handles - 1;
	int txn = running_of(s, lane);

	if (!in_turn(s, h, lane))
		return false;
	if (txn >= 0 && s->txn[txn].state == T_LOCKED && !reserved && on(GATE))
		return false;
	if (txn < 0)
		txn = open_txn(s, lane);
	if (txn < 0)
		return false;
	/* Progress: a requested commit does not wait for a handle that starts later. */
	if (!reserved && any_locked(s, s->txn[txn].comp))
		s->delayed = 1;
	if (!on(SEAL_STARTS)) {
		s->handle[h].state = H_LOOKED;
		s->handle[h].txn = txn;
		say("h%d looks up %s", h, tname(txn));
		return true;
	}
	say("h%d starts in %s", h, tname(txn));
	enter(s, h, txn);
	return true;
}

/* Only if checking the transaction and counting the handle are two steps. */
bool move_count_up(struct state *s, u8 h, u8 unused)
{
	(void)unused;
	if (s->handle[h].state != H_LOOKED)
		return false;
	say("h%d starts in %s", h, tname(s->handle[h].txn));
	enter(s, h, s->handle[h].txn);
	return true;
}

/* ---- operations ---- */

/* Blocks up to cfg->same are interchangeable as well. */
static bool block_in_turn(const struct state *s, int block)
{
	if (!block || block >= cfg->same)
		return true;
	if (s->block[block - 1].live || newest_owner(s, block - 1) >= 0)
		return true;
	for (int h = 0; h < cfg->handles; h++)
		if (s->handle[h].writes & BIT(block - 1) ||
		    (s->handle[h].op &&
		     OP_BLOCK(cfg->ops[s->handle[h].op - 1]) == block - 1))
			return true;
	return false;
}

/* Is a handle about to change it? ext4 does not free or reuse such a block. */
bool in_use(const struct state *s, int block)
{
	for (int h = 0; h < cfg->handles; h++)
		if (s->handle[h].op &&
		    OP_BLOCK(cfg->ops[s->handle[h].op - 1]) == block)
			return true;
	return false;
}

static int kinds_done(const struct handle *handle)
{
	int kinds = 0;

	for (int i = 0; i < cfg->nr_ops; i++)
		if (handle->done & BIT(i))
			kinds |= BIT(OP_KIND(cfg->ops[i]));
	return kinds;
}

static bool may_begin(const struct state *s, const struct handle *handle, int i)
{
	int op = cfg->ops[i], kind = OP_KIND(op), block = OP_BLOCK(op);
	int nr = __builtin_popcount(handle->done);

	if (handle->done & BIT(i) || nr >= cfg->max_ops ||
	    !block_in_turn(s, block))
		return false;
	/* A handle that changes nothing cannot be seen. */
	if (nr == cfg->max_ops - 1 && !handle->writes &&
	    kind != OP_WRITE && kind != OP_OUT && kind != OP_LOG && kind != OP_SETTLE)
		return false;
	switch (kind) {
	case OP_WRITE:
		return s->block[block].free != B_DATA &&
		       !(s->block[block].freer != NOBODY &&
			 handle == &s->handle[s->block[block].freer]);
	case OP_CORE:
	case OP_CHARGE:
	case OP_GIVE:
		/* The inode, or the dquot, must be written to its block after that, once. */
		return nr + 2 <= cfg->max_ops &&
		       !(kinds_done(handle) & BIT(OP_ENTRY));
	case OP_FREE:
		return s->block[block].live && s->block[block].free == B_USED &&
		       !(handle->writes & BIT(block)) && !in_use(s, block);
	case OP_READ:
		return s->block[block].live & ~BIT(handle - s->handle) &&
		       s->block[block].free == B_USED;
	case OP_LOG:
		return may_log(s);
	case OP_DATA:
		return !cfg->file || (s->store == S_NONE && may_store(s));
	default:
		return true;
	}
}

/* One step of the current operation; false: it must wait. */
static bool step_of(struct state *s, int h, bool *done)
{
	struct handle *handle = &s->handle[h];
	int op = cfg->ops[handle->op - 1], block = OP_BLOCK(op);

	*done = handle->step == 1;
	switch (OP_KIND(op)) {
	case OP_ACCESS:
	case OP_WRITE:
		if (!handle->step) {
			*done = OP_KIND(op) == OP_ACCESS;
			return touch(s, h, block);
		}
		change(s, h, block, BIT(h));
		return true;
	case OP_READ:
		*done = true;
		read_block(s, h, block);
		return true;
	case OP_FREE:
		*done = true;
		return free_block(s, h, block);
	case OP_DATA:
		if (cfg->file)
			return order_step(s, h, done);
		*done = true;
		file_data(s, h);
		return true;
	case OP_SYNC:
		return sync_step(s, h);
	case OP_CORE:
		return core_step(s, h);
	case OP_MOVE:
		return move_dir_step(s, h);
	case OP_OUT:
		return out_step(s, h, block);
	case OP_LOG:
		return log_step(s, h, done);
	case OP_SETTLE:
		return settle_step(s, h, done);
	case OP_CHARGE:
	case OP_GIVE:
		return dquot_step(s, h, OP_KIND(op) == OP_CHARGE);
	case OP_ENTRY:
		return entry_step(s, h, done);
	}
	return false;
}

static bool advance(struct state *s, int h)
{
	struct handle *handle = &s->handle[h];
	bool done;

	if (!step_of(s, h, &done))
		return false;
	handle->step++;
	if (done) {
		handle->done |= BIT(handle->op - 1);
		handle->op = 0;
		handle->step = 0;
		handle->old = 0;
	}
	return true;
}

bool move_op(struct state *s, u8 h, u8 i)
{
	struct handle *handle = &s->handle[h];
	int kinds = kinds_done(handle);
	int kind = OP_KIND(cfg->ops[i]);

	if (handle->state != H_OPEN || handle->op || !may_begin(s, handle, i))
		return false;
	/* After a change in core, writing it to its block comes next (N3, R12). */
	if ((kind == OP_OUT) != (kinds & BIT(OP_CORE) && !(kinds & BIT(OP_OUT))))
		return false;
	if ((kind == OP_ENTRY) != (kinds & (BIT(OP_CHARGE) | BIT(OP_GIVE)) &&
				   !(kinds & BIT(OP_ENTRY))))
		return false;
	handle->op = i + 1;
	say("h%d in %s ", h, tname(handle->txn));
	return advance(s, h);
}

bool move_step(struct state *s, u8 h, u8 unused)
{
	(void)unused;
	if (!s->handle[h].op)
		return false;
	say("h%d in %s ", h, tname(s->handle[h].txn));
	return advance(s, h);
}

bool move_stop(struct state *s, u8 h, u8 unused)
{
	struct handle *handle = &s->handle[h];
	int kinds = kinds_done(handle);

	(void)unused;
	if (handle->state != H_OPEN || handle->op ||
	    (!handle->writes && !(kinds & BIT(OP_SETTLE))) ||
	    __builtin_popcount(handle->done) < cfg->min_ops)
		return false;
	if (kinds & BIT(OP_CORE) && !(kinds & BIT(OP_OUT)) && on(WRITE_OUT))
		return false;
	if (kinds & (BIT(OP_CHARGE) | BIT(OP_GIVE)) && !(kinds & BIT(OP_ENTRY)))
		return false;
	say("h%d stops", h);
	handle->state = H_STOPPED;
	if (s->txn[handle->txn].state == T_LOCKED && !updates_of(s, handle->txn))
		s->txn[handle->txn].try = 1;
	return true;
}
