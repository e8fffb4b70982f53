// SPDX-License-Identifier: GPL-2.0-only
/* The options of a journal: checked, completed with the defaults, and kept. */
#include "core/journal.h"
#include "log/log_lanes.h"
#include "log/log_jbd2.h"
#include "journal/configure.h"
#include "journal/lane.h"
#include "nvm/nvm.h"
#include <linux/log2.h>
#include <linux/module.h>

static const struct zj_log_ops *const log_formats[ZJ_NR_LOG_FORMATS] = {
	[ZJ_LOG_LANES] = &zj_log_lanes,
	[ZJ_LOG_JBD2] = &zj_log_jbd2,
	[ZJ_LOG_NVM] = &zj_log_nvm,
};

/* Copies word by word, because commits read the options meanwhile. */
static void keep_live(struct zj_live_options *now, struct zj_live_options live)
{
	const u32 *from = (const u32 *)&live;
	u32 *to = (u32 *)now;
	int i;

	live.flush_batch = live.flush_batch ?: ZJ_FLUSH_BATCH;
	live.versions = live.versions ?: ZJ_VERSIONS;
	for (i = 0; i < sizeof(live) / sizeof(u32); i++)
		WRITE_ONCE(to[i], from[i]);
}

static void keep_options(struct zj_journal *zj, const struct zj_options *options)
{
	struct zj_options *now = &zj->options;

	*now = *options;
	keep_live(&now->live, options->live);
	if (now->log == ZJ_LOG_JBD2)
		now->lanes = 1;
	zj->log_ops = log_formats[now->log];
	zj->nvm.path = now->nvm_path;
	zj->nvm.info_max = now->txninfo_max ?: ZJ_TXNINFO_BYTES;
	zj->nvm.one_info = now->txninfo_max;
}

/**
 * zj_options_default() - set the options that hold until the journal is
 * configured
 * @zj: a new journal
 */
void zj_options_default(struct zj_journal *zj)
{
	keep_options(zj, &(struct zj_options){ 0 });
}

static const char *what_is_wrong(const struct zj_journal *zj,
				 const struct zj_options *options)
{
	bool memory = options->log == ZJ_LOG_NVM;
	u32 info_max = options->txninfo_max;

	if (options->log >= ZJ_NR_LOG_FORMATS)
		return "unknown log format";
	if (options->log == ZJ_LOG_JBD2 && options->lanes > 1)
		return "a log in stock ext4's format can have only one lane";
	if (memory != !!options->nvm_path)
		return "a log in persistent memory needs a memory device, and no other log may have one";
	if (memory && zj_log_apart(zj))
		return "a log in persistent memory needs a journal in the file system, not on a device of its own";
	if (!memory && info_max)
		return "options for persistent memory are given, but the log is not there";
	if (info_max && (info_max < ZJ_TXNINFO_MAX_MIN || info_max > ZJ_TXNINFO_MAX_MAX ||
			 !is_power_of_2(info_max)))
		return "this size of TxnInfo is not possible";
	return NULL;
}

/**
 * zj_journal_configure() - set the options that the file system wants
 * @journal: the journal, not loaded
 * @options: copied; a string that it points to must stay as long as the journal
 *	exists
 *
 * Without a call the defaults hold: all fields zero. A second call replaces
 * everything that the first one has set.
 *
 * Return: 0, or -EINVAL after a message if options contradict each other;
 * nothing has changed then.
 */
int zj_journal_configure(journal_t *journal, const struct zj_options *options)
{
	struct zj_journal *zj = to_zj(journal);
	const char *wrong = what_is_wrong(zj, options);
	unsigned long flags = (options->data_reported ? ZJ_DATA_REPORTED : 0) |
			      (options->data_journaled ? ZJ_DATA_JOURNALED : 0);

	if (wrong) {
		zj_err(zj, "these options contradict each other: %s\n", wrong);
		return -EINVAL;
	}
	keep_options(zj, options);
	write_lock(&journal->j_state_lock);
	WRITE_ONCE(journal->j_flags, flags |
		   (journal->j_flags & ~(ZJ_DATA_REPORTED | ZJ_DATA_JOURNALED)));
	write_unlock(&journal->j_state_lock);
	return 0;
}
EXPORT_SYMBOL_GPL(zj_journal_configure);

/**
 * zj_journal_options() - return the options in force
 * @journal: the journal, configured
 *
 * Return: valid as long as the journal exists; zj_journal_reconfigure() changes
 * those that are live.
 */
const struct zj_options *zj_journal_options(journal_t *journal)
{
	return &to_zj(journal)->options;
}
EXPORT_SYMBOL_GPL(zj_journal_options);

/**
 * zj_journal_reconfigure() - change the options that may change at any time
 * @journal: the journal, loaded or not
 * @live: the new values of all of these
 *
 * Context: sleeps; one caller at a time.
 */
void zj_journal_reconfigure(journal_t *journal, const struct zj_live_options *live)
{
	struct zj_journal *zj = to_zj(journal);
	struct zj_live_options *now = &zj->options.live;
	bool moves = now->unpinned != live->unpinned;

	keep_live(now, *live);
	if (moves)
		zj_lanes_place(zj);
}
EXPORT_SYMBOL_GPL(zj_journal_reconfigure);
