// SPDX-License-Identifier: GPL-2.0-only
/*
 * Abort: a flag that stops the journal of the file system for good.
 *
 * After an abort no record is written, the checkpoint stamp does not advance,
 * and the log is not marked as empty, so that recovery finds what was
 * committed. Waiters get -EIO, new handles -EROFS.
 */
#include "core/core.h"
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>

static void wake_everybody(struct zj_journal *zj)
{
	/* Pairs with zj_lanes_start(). */
	struct zj_lane *lanes = smp_load_acquire(&zj->lanes);
	struct zj_tid_chain *chain;
	struct zj_txn *txn;
	unsigned int i;

	for (i = 0; lanes && i < zj->nr_lanes; i++) {
		wake_up_all(&lanes[i].wait_space);
		wake_up_all(&lanes[i].wait_start);
		wake_up_all(&lanes[i].wait_idle);
	}
	rcu_read_lock();
	zj_for_each_live(zj, chain, txn)
		wake_up_var(&txn->stage);
	rcu_read_unlock();
	wake_up_all(&zj->wait_submit);
	wake_up_all(&zj->wait_progress);
	wake_up_all(&zj->wait_barrier);
	wake_up_all(&zj->wait_ckpt);
}

/* A shutdown is not an error of the file system, so it is recorded as 0. */
static void record_errno(struct zj_journal *zj)
{
	int err = READ_ONCE(zj->public.j_errno);

	if (err == -ESHUTDOWN)
		err = 0;
	mutex_lock(&zj->super_lock);
	zj->public.j_superblock->s_errno = cpu_to_be32(err);
	if (zj_flag(zj, JBD2_LOADED))
		zj_super_note_errno(zj);
	mutex_unlock(&zj->super_lock);
}

bool zj_panic_on_assert;

/*
 * Stops all writing at once. The caller may hold any spinlock, so block 0
 * cannot be written here; the checkpoint thread does that.
 */
void zj_assertion_failed(struct zj_journal *zj)
{
	journal_t *journal = &zj->public;
	bool first;

	if (zj_panic_on_assert)
		panic("zjournal: assertion failed\n");
	write_lock(&journal->j_state_lock);
	first = !(journal->j_flags & JBD2_ABORT);
	WRITE_ONCE(journal->j_flags, journal->j_flags | JBD2_ABORT);
	if (!journal->j_errno)
		WRITE_ONCE(journal->j_errno, -EIO);
	/* Beside the flag: an abort that finds that set sees what is owed. */
	if (first)
		WRITE_ONCE(zj->errno_owed, true);
	write_unlock(&journal->j_state_lock);
	if (!first)
		return;
	zj_err(zj, "aborted: an assertion failed, which is a bug in zjournal; unmount the file system and run e2fsck -f\n");
	/*
	 * Pairs with the conditions that sleepers check: a task that does not
	 * see the flag is woken.
	 */
	smp_mb();
	wake_everybody(zj);
	zj_checkpoint_kick(zj);
}

/**
 * zj_abort_finish() - write the error to block 0 for an abort that could not
 * sleep
 * @zj: the journal, aborted
 *
 * Context: the checkpoint thread, and once more when it has ended; sleeps.
 */
void zj_abort_finish(struct zj_journal *zj)
{
	mutex_lock(&zj->abort_lock);
	if (READ_ONCE(zj->errno_owed)) {
		WRITE_ONCE(zj->errno_owed, false);
		record_errno(zj);
	}
	mutex_unlock(&zj->abort_lock);
}

/* Only the first abort says it; what failed has been said before. */
static void say_why(struct zj_journal *zj, int err)
{
	if (err == -ESHUTDOWN)
		zj_err(zj, "stopped, because the file system was shut down on request; unmount it and mount it again\n");
	else
		zj_err(zj, "aborted: error %d; nothing more is committed: see the messages before this one, unmount the file system, and run fsck.zext4 -f before the next mount\n",
		       err);
}

/**
 * zj_journal_abort() - stop journaling for good
 * @journal: the journal
 * @err: why, a negative errno; 0 records nothing
 *
 * -ESHUTDOWN takes the place of an earlier error. On return the error is in
 * block 0, unless the device fails.
 *
 * Context: sleeps; the caller may hold any of ext4's locks and have a handle
 * open.
 */
void zj_journal_abort(journal_t *journal, int err)
{
	struct zj_journal *zj = to_zj(journal);
	bool first, record;

	mutex_lock(&zj->abort_lock);
	write_lock(&journal->j_state_lock);
	first = !(journal->j_flags & JBD2_ABORT);
	record = err && (first || !journal->j_errno ||
			 (err == -ESHUTDOWN && journal->j_errno != err));
	/*
	 * The flag comes first: a task that sees the error also finds the
	 * journal aborted.
	 */
	WRITE_ONCE(journal->j_flags, journal->j_flags | JBD2_ABORT);
	if (record)
		WRITE_ONCE(journal->j_errno, err);
	/* The error of an assertion may still be on its way to block 0. */
	record |= READ_ONCE(zj->errno_owed);
	WRITE_ONCE(zj->errno_owed, false);
	write_unlock(&journal->j_state_lock);
	if (first) {
		say_why(zj, err);
		/*
		 * Pairs with the conditions that sleepers check: a task that
		 * does not see the flag is woken.
		 */
		smp_mb();
		wake_everybody(zj);
	}
	if (record)
		record_errno(zj);
	mutex_unlock(&zj->abort_lock);
}
EXPORT_SYMBOL_GPL(zj_journal_abort);

void zj_abort(struct zj_journal *zj, int err)
{
	zj_journal_abort(&zj->public, err);
}

int zj_journal_errno(journal_t *journal)
{
	int err;

	read_lock(&journal->j_state_lock);
	err = journal->j_flags & JBD2_ABORT ? -EROFS : journal->j_errno;
	read_unlock(&journal->j_state_lock);
	return err;
}
EXPORT_SYMBOL_GPL(zj_journal_errno);

int zj_journal_clear_err(journal_t *journal)
{
	int err = 0;

	write_lock(&journal->j_state_lock);
	if (journal->j_flags & JBD2_ABORT)
		err = -EROFS;
	else
		WRITE_ONCE(journal->j_errno, 0);
	write_unlock(&journal->j_state_lock);
	return err;
}
EXPORT_SYMBOL_GPL(zj_journal_clear_err);

void zj_journal_update_sb_errno(journal_t *journal)
{
	record_errno(to_zj(journal));
}
EXPORT_SYMBOL_GPL(zj_journal_update_sb_errno);
