// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is in force: what has become of the mount options and of their defaults, for the kernel
 * log and /proc/mounts.
 */
#include <linux/ratelimit.h>
#include "ext4.h"
#include "ext4_jbd2.h"

/**
 * zext4_in_force() - return what an option's value has become
 * @sb: mounted, or being mounted
 * @option: its index in the table
 *
 * Return: the value that would do the same if it was given: auto only where that leaves the
 * choice open, as for each fsync.  Without a journal, what was given.
 */
u32 zext4_in_force(struct super_block *sb, int option)
{
	u32 value = READ_ONCE(EXT4_SB(sb)->s_zj.value[option]);
	journal_t *journal = EXT4_SB(sb)->s_journal;

	if (!journal)
		return value;
	switch (option) {
	case ZEXT4_LANES:
		return zj_journal_lanes(journal);
	case ZEXT4_LOG:
		return zj_journal_options(journal)->log == ZJ_LOG_JBD2 ?
			ZEXT4_LOG_JBD2 : ZEXT4_LOG_ZJ;
	case ZEXT4_ALLOC:
		return zext4_has_regions(sb) ? ZEXT4_ALLOC_CORE : ZEXT4_ALLOC_STOCK;
	case ZEXT4_PIPELINE:
		return zj_journal_options(journal)->pipeline ?
			ZEXT4_PIPELINE_ON : ZEXT4_PIPELINE_OFF;
	}
	return value;
}

/**
 * zext4_always_shown() - is an option shown even if it was not given?
 * @sb: mounted
 * @option: its index in the table
 *
 * The number of lanes is, and the format of the log with it, because a single lane that was
 * asked for has another one than a single lane on a disk with one head.  As the type ext4 nothing
 * is that stock ext4 does not know, because programs copy the options to where another kernel
 * reads them.
 */
bool zext4_always_shown(struct super_block *sb, int option)
{
	journal_t *journal = EXT4_SB(sb)->s_journal;

	if (!journal || zext4_serves_ext4())
		return false;
	return option == ZEXT4_LANES ||
	       (option == ZEXT4_LOG && zj_journal_options(journal)->log != ZJ_LOG_NVM);
}

/* ---- the message of a mount ---- */

static int measured(const struct zext4_reads *took, char *text, size_t size)
{
	return scnprintf(text, size, ": four reads took %llu ms in turn, %llu ms together",
			 div_u64(took->in_turn, NSEC_PER_MSEC),
			 div_u64(took->together, NSEC_PER_MSEC));
}

/* Why are there so many lanes? */
static void say_why(struct super_block *sb, char *text, size_t size)
{
	journal_t *journal = EXT4_SB(sb)->s_journal;
	const struct zj_options *in_force = zj_journal_options(journal);
	const struct zext4_reads *took = &EXT4_SB(sb)->s_zj_reads;
	u32 asked = EXT4_SB(sb)->s_zj.value[ZEXT4_LANES];
	int n;

	if (in_force->log == ZJ_LOG_JBD2) {
		strscpy(text, "all that stock's format has", size);
	} else if (asked > zj_journal_lanes(journal)) {
		snprintf(text, size, "the journal is too small for %u", asked);
	} else if (asked) {
		strscpy(text, "as given", size);
	} else if (in_force->lanes == 1) {
		n = scnprintf(text, size, "the disk has one head");
		measured(took, text + n, size - n);
	} else {
		n = scnprintf(text, size, "one for each CPU");
		if (zj_journal_lanes(journal) < num_online_cpus())
			n = scnprintf(text, size, "the journal is too small for one for each CPU");
		if (took->in_turn)
			measured(took, text + n, size - n);
	}
}

static const char *who_recovers(enum zj_log_format log)
{
	switch (log) {
	case ZJ_LOG_JBD2:
		return "log=jbd2 (after a crash stock ext4 recovers it, too)";
	case ZJ_LOG_NVM:
		return "log in persistent memory (after a crash only zext4 and zjctl recover it, with this device)";
	default:
		return "log=zj (after a crash only zext4 and zjctl recover it)";
	}
}

/**
 * zext4_say_in_force() - tell the kernel log what the mount has decided
 * @sb: mounted
 */
void zext4_say_in_force(struct super_block *sb)
{
	/* The limit of the message that stock ext4 prints at each mount. */
	static DEFINE_RATELIMIT_STATE(limit, 30 * HZ, 64);
	journal_t *journal = EXT4_SB(sb)->s_journal;
	char why[120], size[24] = "";
	enum zj_log_format log;

	if (!journal || !__ratelimit(&limit))
		return;
	log = zj_journal_options(journal)->log;
	say_why(sb, why, sizeof(why));
	if (log != ZJ_LOG_NVM)
		snprintf(size, sizeof(size), ", journal of %u MiB",
			 journal->j_total_len >> (20 - sb->s_blocksize_bits));
	ext4_msg(sb, KERN_INFO, "in force: lanes=%u (%s), %s%s, alloc=%s, fsync=%s",
		 zj_journal_lanes(journal), why, who_recovers(log), size,
		 zext4_has_regions(sb) ? "core" : "stock",
		 EXT4_SB(sb)->s_zj.value[ZEXT4_FSYNC] == ZEXT4_FSYNC_ALL ? "all" : "own");
}
