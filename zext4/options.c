// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mount options of zext4 that ext4 does not have: parsed, checked, kept, shown.
 */
#include <linux/seq_file.h>
#include "ext4.h"
#include "ext4_jbd2.h"

/**
 * struct zext4_option_spec - one option
 */
struct zext4_option_spec {
	const char	*name;
	const char	*const *words;	/* its values, the default first; or NULL */
	u32		min, max;	/* a number between these, or auto; 0: a path */
	bool		power;		/* the number is a power of two */
	const char	*help;		/* what it takes */
	bool		fixed;		/* not to be changed by a remount */
};

static const char *const fsync_words[] = { "own", "all", NULL };
static const char *const alloc_words[] = { "auto", "core", "stock", NULL };
static const char *const data_fua_words[] = { "auto", "never", NULL };
static const char *const log_fua_words[] = { "auto", "never", NULL };
static const char *const fsync_data_words[] = { "auto", "before", NULL };
static const char *const lane_by_words[] = { "cpu", "cgroup", "dir", NULL };

/* In the order of enum zj_frozen_copy. */
static const char *const frozen_copy_words[] = { "auto", "always", "never", NULL };

/* In the order of enum zext4_pipeline, enum zext4_coalesce. */
static const char *const pipeline_words[] = { "auto", "on", "off", NULL };
static const char *const coalesce_words[] = { "on", "off", NULL };

static const char *const log_words[] = { "auto", "zj", "jbd2", NULL };

static const char *const nvm_unit_words[] = { "line", "block", NULL };
static const char *const nvm_check_words[] = { "off", "on", NULL };

static const struct zext4_option_spec specs[ZEXT4_NR_OPTIONS] = {
	[ZEXT4_LANES] = {
		.name = "lanes", .fixed = true, .min = 1, .max = ZJ_MAX_LANES,
		.help = "a number from 1 to " __stringify(ZJ_MAX_LANES)
			", or auto (one per CPU, but one in all on a disk with one head)",
	},
	[ZEXT4_FSYNC] = {
		.name = "fsync", .words = fsync_words,
		.help = "own (the file's changes) or all (every lane's)",
	},
	[ZEXT4_ALLOC] = {
		.name = "alloc", .words = alloc_words,
		.help = "core (a region of the disk for each lane), stock (ext4's way) or auto (core unless the disk rotates)",
	},
	[ZEXT4_LANE_BY] = {
		.name = "lane_by", .words = lane_by_words,
		.help = "cpu, cgroup (the writer's) or dir (at the top level)",
	},
	[ZEXT4_FROZEN_COPY] = {
		.name = "frozen_copy", .words = frozen_copy_words,
		.help = "auto, always or never",
	},
	[ZEXT4_DATA_FUA] = {
		.name = "data_fua", .words = data_fua_words,
		.help = "auto (an fsync's data, if it is little) or never",
	},
	[ZEXT4_LOG_FUA] = {
		.name = "log_fua", .words = log_fua_words,
		.help = "auto (log=jbd2: a transaction's log blocks, if they are few) or never",
	},
	[ZEXT4_FSYNC_DATA] = {
		.name = "fsync_data", .words = fsync_data_words,
		.help = "auto (log=jbd2: beside the log blocks, if it is little) or before (all of the log)",
	},
	[ZEXT4_LOG] = {
		.name = "log", .words = log_words, .fixed = true,
		.help = "zj, jbd2 (stock's format; takes lanes=1) or auto (jbd2 if lanes=1 is given)",
	},
	[ZEXT4_PIPELINE] = {
		.name = "pipeline", .words = pipeline_words, .fixed = true,
		.help = "on (commits overlap), off or auto (on with one lane)",
	},
	[ZEXT4_VERSIONS] = {
		.name = "versions", .min = 1, .max = 64,
		.help = "a number from 1 to 64, or auto ("
			__stringify(ZJ_VERSIONS) ")",
	},
	[ZEXT4_FLUSH_BATCH] = {
		.name = "flush_batch", .min = 1, .max = 1024,
		.help = "a number from 1 to 1024, or auto ("
			__stringify(ZJ_FLUSH_BATCH) ")",
	},
	[ZEXT4_COALESCE] = {
		.name = "coalesce", .words = coalesce_words,
		.help = "on or off",
	},
	[ZEXT4_JOURNAL_NVM] = {
		.name = "journal_nvm", .fixed = true,
		.help = "a device of persistent memory, as /dev/pmem0",
	},
	[ZEXT4_NVM_UNIT] = {
		.name = "nvm_unit", .words = nvm_unit_words, .fixed = true,
		.help = "line (log what has changed) or block (log whole blocks)",
	},
	[ZEXT4_TXNINFO_MAX] = {
		.name = "txninfo_max", .fixed = true, .power = true,
		.min = ZJ_TXNINFO_MAX_MIN, .max = ZJ_TXNINFO_MAX_MAX,
		.help = "bytes, a power of two from 256 to 131072, or auto (8192)",
	},
	[ZEXT4_NVM_CHECK] = {
		.name = "nvm_check", .words = nvm_check_words, .fixed = true,
		.help = "off or on (compare what is logged with what has changed)",
	},
};

static int parse_number(const struct zext4_option_spec *spec, const char *text,
			u32 *value)
{
	*value = 0;
	if (!strcmp(text, "auto"))
		return 0;
	if (kstrtouint(text, 10, value) || *value < spec->min ||
	    *value > spec->max || (spec->power && !is_power_of_2(*value)))
		return -EINVAL;
	return 0;
}

static int parse_path(const char *text, char *path)
{
	return *text && strscpy(path, text, ZEXT4_PATH_MAX) > 0 ? 0 : -EINVAL;
}

static int parse_value(const struct zext4_option_spec *spec, const char *text,
		       u32 *value)
{
	if (spec->max)
		return parse_number(spec, text, value);
	for (*value = 0; spec->words[*value]; ++*value)
		if (!strcmp(text, spec->words[*value]))
			return 0;
	return -EINVAL;
}

/**
 * zext4_parse_option() - is it one of ours?
 * @param: as given
 * @options: where it is noted
 * @err: set if it is: 0, or -EINVAL, which was explained
 */
bool zext4_parse_option(struct fs_parameter *param,
			struct zext4_options *options, int *err)
{
	const char *text = param->type == fs_value_is_string ? param->string : "";
	int i;

	for (i = 0; i < ZEXT4_NR_OPTIONS; i++)
		if (!strcmp(param->key, specs[i].name))
			break;
	if (i == ZEXT4_NR_OPTIONS)
		return false;
	if (i == ZEXT4_JOURNAL_NVM)
		*err = parse_path(text, options->nvm_path);
	else
		*err = parse_value(&specs[i], text, &options->value[i]);
	if (*err)
		ext4_msg(NULL, KERN_ERR, "%s= takes %s", specs[i].name,
			 specs[i].help);
	options->given |= BIT(i);
	return true;
}

/**
 * zext4_check_remount() - refuse what a remount cannot change
 * @sb: mounted
 * @options: of the remount
 */
int zext4_check_remount(struct super_block *sb,
			const struct zext4_options *options)
{
	const struct zext4_options *now = &EXT4_SB(sb)->s_zj;
	int i;

	for (i = 0; i < ZEXT4_NR_OPTIONS; i++) {
		if (!specs[i].fixed || !(options->given & BIT(i)) ||
		    (options->value[i] == now->value[i] &&
		     (i != ZEXT4_JOURNAL_NVM ||
		      !strcmp(options->nvm_path, now->nvm_path))))
			continue;
		ext4_msg(sb, KERN_ERR,
			 "can't change %s= on remount; unmount first",
			 specs[i].name);
		return -EINVAL;
	}
	return 0;
}

/**
 * zext4_check_image_options() - refuse what a file system must not ask for itself
 * @sb: being mounted
 * @options: out of its super block
 *
 * Whoever made the image would choose a device of this machine, and the journal would
 * write to it. The mount fails: without the option, a log that is there would be missed.
 */
int zext4_check_image_options(struct super_block *sb,
			      const struct zext4_options *options)
{
	if (!(options->given & BIT(ZEXT4_JOURNAL_NVM)))
		return 0;
	ext4_msg(sb, KERN_ERR,
		 "the mount options in the super block name a device (journal_nvm=%s), which only whoever mounts may do; clear them (tune2fs -E mount_opts=) and give the option to mount",
		 options->nvm_path);
	return -EINVAL;
}

/**
 * zext4_tell_journal() - options that are the journal's to follow
 * @sb: being mounted or remounted
 * @journal: its journal, loaded or about to be
 */
void zext4_tell_journal(struct super_block *sb, journal_t *journal)
{
	const u32 *value = EXT4_SB(sb)->s_zj.value;

	zj_journal_set_roaming(journal, value[ZEXT4_LANE_BY] != ZEXT4_LANE_BY_CPU);
	zj_journal_set_frozen_copy(journal, value[ZEXT4_FROZEN_COPY]);
	zj_journal_set_versions(journal, value[ZEXT4_VERSIONS] ?: ZJ_VERSIONS);
	zj_journal_set_flush_batch(journal,
				   value[ZEXT4_FLUSH_BATCH] ?: ZJ_FLUSH_BATCH);
	zj_journal_set_log_fua(journal,
			       value[ZEXT4_LOG_FUA] == ZEXT4_LOG_FUA_AUTO);
	zj_journal_set_coalesce(journal,
				value[ZEXT4_COALESCE] == ZEXT4_COALESCE_ON);
}

/**
 * zext4_apply_options() - keep what was given, and switch off what lanes cannot do
 */
void zext4_apply_options(struct super_block *sb,
			 const struct zext4_options *options)
{
	struct zext4_options *now = &EXT4_SB(sb)->s_zj;
	int i;

	for (i = 0; i < ZEXT4_NR_OPTIONS; i++)
		if (options->given & BIT(i))
			WRITE_ONCE(now->value[i], options->value[i]);
	if (options->given & BIT(ZEXT4_JOURNAL_NVM))
		strscpy(now->nvm_path, options->nvm_path, ZEXT4_PATH_MAX);
	now->given |= options->given;
	/* A remount; a mount has no journal yet. */
	if (EXT4_SB(sb)->s_journal)
		zext4_tell_journal(sb, EXT4_SB(sb)->s_journal);
	if (test_opt2(sb, JOURNAL_FAST_COMMIT)) {
		ext4_msg(sb, KERN_INFO,
			 "fast_commit is switched off: zext4 has lanes instead");
		clear_opt2(sb, JOURNAL_FAST_COMMIT);
	}
}

/**
 * zext4_restore_options() - a remount has failed
 * @sb: mounted
 * @options: what was in force before
 */
void zext4_restore_options(struct super_block *sb,
			   const struct zext4_options *options)
{
	struct zext4_options *now = &EXT4_SB(sb)->s_zj;
	int i;

	/* None that is fixed has changed, journal_nvm= among them. */
	for (i = 0; i < ZEXT4_NR_OPTIONS; i++)
		WRITE_ONCE(now->value[i], options->value[i]);
	now->given = options->given;
	if (EXT4_SB(sb)->s_journal)
		zext4_tell_journal(sb, EXT4_SB(sb)->s_journal);
}

/**
 * zext4_show_options() - for /proc/mounts and sysfs
 * @seq: where to
 * @sep: what stands before each
 * @sb: mounted
 */
void zext4_show_options(struct seq_file *seq, char sep, struct super_block *sb)
{
	const struct zext4_options *now = &EXT4_SB(sb)->s_zj;
	int i;

	for (i = 0; i < ZEXT4_NR_OPTIONS; i++) {
		u32 value = now->value[i];

		if (!(now->given & BIT(i)))
			continue;
		seq_printf(seq, "%c%s=", sep, specs[i].name);
		if (i == ZEXT4_JOURNAL_NVM)
			seq_escape(seq, now->nvm_path, " \t\n\\,#");
		else if (specs[i].words)
			seq_puts(seq, specs[i].words[value]);
		else if (value)
			seq_printf(seq, "%u", value);
		else
			seq_puts(seq, "auto");
	}
}
