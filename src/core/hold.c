// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes are held while a copy of the memory exists that is to be resumed (L3).
 *
 * A hibernation copies the memory, and then goes on running for as long as it takes to write the
 * copy. Whatever the disk gets meanwhile the resumed system knows nothing of: it would give out the
 * same stamps and the same places in the log again. So no write of any journal begins as long as
 * writes are held, no matter in which thread (docs/decisions/0054).
 */
#include "core/hold.h"
#include <linux/compiler.h>
#include <linux/wait.h>

/* One for all journals, as the memory is copied as a whole. */
static bool held;
static DECLARE_WAIT_QUEUE_HEAD(wait_release);

/**
 * zj_writes_hold() - let no write begin any more
 *
 * A write that begins at this moment may still go out. That does no harm: the copy has it as one
 * that is on its way, with the same contents, and sends it again.
 *
 * Context: any. No task that can be frozen is at work, so that no freezing waits for a commit.
 */
void zj_writes_hold(void)
{
	WRITE_ONCE(held, true);
}

/**
 * zj_writes_release() - let writes go on
 *
 * Context: any.
 */
void zj_writes_release(void)
{
	WRITE_ONCE(held, false);
	wake_up_all(&wait_release);
}

/**
 * zj_writes_wait() - wait until writes are not held
 *
 * Called right before each write, whose contents and place are decided by then. One that has none
 * of its own to decide, because it writes home what is committed, need not call it.
 *
 * Context: sleeps, possibly for as long as a hibernation takes; mutexes of the journal may be held.
 */
void zj_writes_wait(void)
{
	/* Idle, as nobody is to report a hung task. */
	wait_event_idle(wait_release, !READ_ONCE(held));
}
