// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations of formats that have no use for them (struct zj_log_ops).
 *
 * Such a format is in the journal inode, sends nothing out before the data is durable,
 * and has no limit to what a transaction modifies but its space.
 */
#include "core/journal.h"
#include "format/codec_nvm.h"
#include "log/log_default.h"
#include "log/group_commit.h"

/**
 * zj_log_default_open() - the log is in the journal inode, which is open
 * @zj: the journal; block 0 is known
 *
 * A live log in memory cannot be recovered without that memory.
 *
 * Return: 0; or -EINVAL, which was explained.
 */
int zj_log_default_open(struct zj_journal *zj)
{
	if (!zj_is_nvm_log(zj->public.j_superblock))
		return 0;
	zj_err(zj, "the log is in the memory %pU: mount with journal_nvm=<its device>; nothing was written\n",
	       zj_nvm_mark_of(zj->public.j_superblock)->uuid);
	return -EINVAL;
}

/**
 * zj_log_default_release() - nothing to release
 * @zj: the journal
 */
void zj_log_default_release(struct zj_journal *zj)
{
}

/**
 * zj_log_default_issue() - send nothing before the data is durable
 * @txn: sealed; by its lane's thread
 *
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
 * zj_log_default_written() - nothing was sent to wait for
 * @txn: issued
 *
 * Return: 0
 */
int zj_log_default_written(struct zj_txn *txn)
{
	return 0;
}

/**
 * zj_log_default_close() - a run has nothing of its own in the log
 * @lane: the lane
 */
void zj_log_default_close(struct zj_lane *lane)
{
}

/**
 * zj_log_default_begin() - a run has nothing to send before its flush
 * @run: closed
 */
void zj_log_default_begin(struct zj_run *run)
{
}

/**
 * zj_log_default_begun() - nothing was sent to wait for
 * @run: begun
 *
 * Return: 0
 */
int zj_log_default_begun(struct zj_run *run)
{
	return 0;
}

/**
 * zj_log_default_full() - only credits limit a transaction
 * @txn: running
 *
 * Return: false
 */
bool zj_log_default_full(const struct zj_txn *txn)
{
	return false;
}
