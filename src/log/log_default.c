// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations for formats that have no use for them (struct zj_log_ops).
 *
 * Such a format is in the journal's own blocks, writes nothing before the data is
 * durable, and limits a transaction by its space only.
 */
#include "core/journal.h"
#include "format/codec.h"
#include "log/log_default.h"
#include "log/group_commit.h"

/**
 * zj_log_default_open() - do nothing, because the journal's blocks are known
 * @zj: the journal; block 0 is known
 *
 * Refuses a log in persistent memory, which cannot be recovered without that
 * memory.
 *
 * Return: 0, or -EINVAL after a message.
 */
int zj_log_default_open(struct zj_journal *zj)
{
	if (!zj_is_nvm_log(zj->public.j_superblock))
		return 0;
	zj_err(zj, "the log is in the persistent memory %pU: mount with journal_nvm=<its device>; nothing was written\n",
	       zj_nvm_mark_of(zj->public.j_superblock)->uuid);
	return -EINVAL;
}

/**
 * zj_log_default_release() - do nothing, because nothing was opened
 * @zj: the journal
 */
void zj_log_default_release(struct zj_journal *zj)
{
}

/**
 * zj_log_default_issue() - send nothing before the data is durable
 * @txn: sealed
 *
 * Context: the lane's thread.
 * Return: 0
 */
int zj_log_default_issue(struct zj_txn *txn)
{
	spin_lock(&txn->lane->lock);
	zj_run_join(txn);
	spin_unlock(&txn->lane->lock);
	return 0;
}

/**
 * zj_log_default_close() - do nothing, because a run has no log blocks of its
 * own
 * @lane: the lane
 */
void zj_log_default_close(struct zj_lane *lane)
{
}

/**
 * zj_log_default_begin() - do nothing, because a run needs nothing before its
 * flush
 * @run: closed
 */
void zj_log_default_begin(struct zj_run *run)
{
}

/**
 * zj_log_default_begun() - do nothing, because nothing was sent
 * @run: begun
 *
 * Return: 0
 */
int zj_log_default_begun(struct zj_run *run)
{
	return 0;
}

/**
 * zj_log_default_can_leave() - the images of a component that is home are not needed
 * @comp: home, as are all older ones
 *
 * Return: true
 */
bool zj_log_default_can_leave(const struct zj_component *comp)
{
	return true;
}

/**
 * zj_log_default_full() - never full, because only credits limit a transaction
 * @txn: running
 *
 * Return: false
 */
bool zj_log_default_full(const struct zj_txn *txn)
{
	return false;
}
