// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mount options that zext4 has in addition to those of ext4: parses, checks, keeps and
 * shows them, and passes them on to the journal.
 */
#include <linux/seq_file.h>
#include "ext4.h"
#include "ext4_jbd2.h"

/* What a switch may be about, and how to get it. */
enum zext4_with { ZEXT4_WITH_ANY, ZEXT4_WITH_PIPELINE, ZEXT4_WITH_STOCK_LOG, ZEXT4_WITH_LINES };
static const char *const with_names[] = {
	[ZEXT4_WITH_ANY]	= NULL,
	[ZEXT4_WITH_PIPELINE]	= "pipelined lanes (tune=pipeline:on)",
	[ZEXT4_WITH_STOCK_LOG]	= "a log in stock's format (log=jbd2)",
	[ZEXT4_WITH_LINES]	= "a log that is not in stock's format (log=zj)",
};

/**
 * struct zext4_option_spec - the specification of one option
 *
 * tools/option-doc reads the table, too. It makes the lists in man/zext4.5 from it, and
 * the tests of refused options.
 */
struct zext4_option_spec {
	const char	*name;
	const char	*const *words;	/* its values, the default first; or NULL */
	u32		min, max;	/* a number between these, or auto; 0: a path */
	bool		power;		/* the number is a power of two */
	const char	*standard;	/* what auto stands for, if the value is a number */
	const char	*meaning;	/* what the option does; a sentence without full stop */
	bool		tune;		/* given as NAME:VALUE in tune=; for benchmarks and tests */
	bool		fixed;		/* a remount cannot change it */
	bool		of_log;		/* refused where no journal is loaded */
	u32		needs;		/* bits: options that must be given with it */
	u32		excludes;	/* bits: options that must not be given with it */
	struct {
		u32	value;		/* if the option has this value, and it is not 0, */
		enum zext4_option other; /* then this other option, if it is given, */
		u32	number;		/* must be this number */
	} implies;
	enum zext4_with	with;		/* what it has no effect without; that depends on the
					 * disk, too, so it is said and not refused
					 */
	size_t		field;		/* offset in struct zj_options of the u32 that gets the
					 * value; 0: none, zext4 uses the value itself
					 */
};

#define WORDS(...)	((const char *const []){ __VA_ARGS__, NULL })
#define FIELD(name)	offsetof(struct zj_options, name)

/* The options, in the order in which they are shown. */
static const struct zext4_option_spec specs[] = {
	[ZEXT4_LANES] = {
		.name = "lanes", .min = 1, .max = ZJ_MAX_LANES,
		.standard = "one lane for each online CPU, or a single lane on a disk with one head",
		.meaning = "The journal is split into N lanes, which collect changes and commit them in parallel",
		.fixed = true, .of_log = true,
	},
	[ZEXT4_LANE_BY] = {
		.name = "lane_by", .words = WORDS("cpu", "cgroup", "dir"),
		.meaning = "A change goes to the lane of the CPU on which it is made (cpu), of the task's cgroup in cgroup v2 (cgroup), or of the top-level directory that it is made in (dir)",
	},
	[ZEXT4_LOG] = {
		.name = "log", .words = WORDS("auto", "zj", "jbd2"),
		.meaning = "The log is in zext4's own format, for any number of lanes (zj), or in that of stock ext4, which then recovers it after a crash (jbd2); auto means jbd2 with lanes=1, or if zext4 is registered as ext4 and lanes= is not given",
		.fixed = true, .of_log = true,
		.implies = { ZEXT4_LOG_JBD2, ZEXT4_LANES, 1 },
	},
	[ZEXT4_JOURNAL_NVM] = {
		.name = "journal_nvm",
		.meaning = "The log is kept in this persistent memory device, such as /dev/pmem0, which must support DAX and must have been prepared for this file system with zjctl nvm-format",
		.fixed = true, .of_log = true,
		.excludes = BIT(ZEXT4_LOG),
	},
	[ZEXT4_FSYNC] = {
		.name = "fsync", .words = WORDS("own", "all"),
		.meaning = "An fsync makes durable the changes of the file or directory and all changes that they depend on (own), or every change that any lane has made before (all)",
	},
	[ZEXT4_ALLOC] = {
		.name = "alloc", .words = WORDS("auto", "core", "stock"),
		.meaning = "The search for free inodes and blocks begins in a region of the disk that belongs to the lane (core), so that lanes with separate files share no bitmaps, or where stock ext4 begins it (stock); auto means core unless the disk has one head",
	},
	[ZEXT4_DATA_FUA] = {
		.name = "data_fua", .words = WORDS("auto", "never"), .tune = true,
		.meaning = "An fsync of a small amount of data (up to four writes of 64 KiB) writes the data with FUA if the device supports it and no older data of the file needs a flush (auto), or without FUA (never)",
	},
	[ZEXT4_FSYNC_DATA] = {
		.name = "fsync_data", .words = WORDS("auto", "beside", "before"), .tune = true,
		.meaning = "With data=ordered, an fsync of little data logs it with the metadata, if there is any to commit (auto), or writes it in place, with log=jbd2 at the same time as the log blocks (beside), or before them (before)",
	},
	[ZEXT4_LOG_FUA] = {
		.name = "log_fua", .words = WORDS("auto", "never"), .tune = true,
		.meaning = "The log blocks of a transaction of up to 64 blocks are written with FUA if that is hardly slower than a plain write, which saves the flush before the commit block (auto), or without FUA (never)",
		.with = ZEXT4_WITH_STOCK_LOG,
	},
	[ZEXT4_PIPELINE] = {
		.name = "pipeline", .words = WORDS("auto", "on", "off"), .tune = true,
		.meaning = "A lane starts to write a transaction to the log while it is still writing others, and transactions that wait together share their flushes (on), or it writes them one after the other (off); auto means on with log=jbd2",
		.fixed = true,
	},
	{
		.name = "flush_batch", .min = 1, .max = 1024, .tune = true,
		.standard = __stringify(ZJ_FLUSH_BATCH),
		.meaning = "At most N transactions share their flushes; 1 means that each has its own",
		.with = ZEXT4_WITH_PIPELINE,
		.field = FIELD(live.flush_batch),
	},
	{
		.name = "versions", .min = 1, .max = 64, .tune = true,
		.standard = __stringify(ZJ_VERSIONS),
		.meaning = "At most N images of one block are being written to the log at a time",
		.with = ZEXT4_WITH_PIPELINE,
		.field = FIELD(live.versions),
	},
	{
		.name = "coalesce", .words = WORDS("on", "off"), .tune = true,
		.meaning = "A commit that would exceed the limit set by versions is deferred, for 10 ms at most, while other changes join its transaction (on), or it is not deferred and these changes have to wait (off)",
		.with = ZEXT4_WITH_PIPELINE,
		.field = FIELD(live.no_coalesce),
	},
	{
		.name = "commit_by", .words = WORDS("task", "thread"), .tune = true,
		.meaning = "An fsync that finds its lane idle commits its transaction itself (task), or the lane's thread does (thread); with pipelined lanes it always does",
		.field = FIELD(live.by_thread),
	},
	{
		/* The words are in the order of enum zj_frozen_copy. */
		.name = "frozen_copy", .words = WORDS("auto", "always", "never"), .tune = true,
		.meaning = "Before a commit writes blocks to the log, it copies all of them (always), none (never), or those that another handle is likely to want meanwhile, as earlier commits have shown (auto); file data, the superblock and blocks that must be escaped are always copied",
		.field = FIELD(live.frozen_copy),
	},
	{
		.name = "log_unit", .words = WORDS("line", "block"), .tune = true,
		.meaning = "The log records only the lines of 64 bytes that have changed of a block that it has already (line), or whole blocks (block)",
		.fixed = true, .with = ZEXT4_WITH_LINES,
		.field = FIELD(log_blocks),
	},
	{
		.name = "txninfo_max", .tune = true, .power = true,
		.min = ZJ_TXNINFO_MAX_MIN, .max = ZJ_TXNINFO_MAX_MAX,
		.standard = "a transaction takes handles regardless, and has several descriptions of at most " __stringify(ZJ_TXNINFO_BYTES) " bytes if need be",
		.meaning = "The description of a transaction (TxnInfo) takes at most N bytes in persistent memory, 16 for each logged block and 8 for each revoked block; a transaction whose description is full takes no more handles",
		.fixed = true, .needs = BIT(ZEXT4_JOURNAL_NVM),
		.field = FIELD(txninfo_max),
	},
	{
		.name = "log_check", .words = WORDS("off", "on"), .tune = true,
		.meaning = "Each logged block of which ext4 declares the ranges that it changes (inodes, bitmaps, descriptors) is compared with a copy, and the journal is aborted if an undeclared line has changed (on), or not (off, and always with log_unit:block)",
		.fixed = true, .with = ZEXT4_WITH_LINES,
		.field = FIELD(log_check),
	},
};

static_assert(ARRAY_SIZE(specs) <= ZEXT4_MAX_OPTIONS);

/* ---- parsing ---- */

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

static int parse_word(const struct zext4_option_spec *spec, const char *text,
		      u32 *value)
{
	for (*value = 0; spec->words[*value]; ++*value)
		if (!strcmp(text, spec->words[*value]))
			return 0;
	return -EINVAL;
}

static void explain(const struct zext4_option_spec *spec)
{
	const char *before = spec->tune ? "tune=" : "";
	const char *after = spec->tune ? ":" : "=";
	char values[80] = "the path of a device";
	int i, n = 0;

	for (i = 0; spec->words && spec->words[i]; i++)
		n += scnprintf(values + n, sizeof(values) - n, "%s%s",
			       i ? " or " : "", spec->words[i]);
	if (spec->max)
		snprintf(values, sizeof(values), "%s from %u to %u or auto",
			 spec->power ? "a power of two" : "a number",
			 spec->min, spec->max);
	ext4_msg(NULL, KERN_ERR, "%s%s%s must be %s: %s", before, spec->name,
		 after, values, spec->meaning);
}

static int parse_value(int i, const char *text, struct zext4_options *options)
{
	const struct zext4_option_spec *spec = &specs[i];
	u32 *value = &options->value[i];
	int err;

	if (spec->words)
		err = parse_word(spec, text, value);
	else if (spec->max)
		err = parse_number(spec, text, value);
	else
		err = parse_path(text, options->nvm_path);
	if (err)
		explain(spec);
	options->given |= BIT(i);
	return err;
}

static int find(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(specs); i++)
		if (!strcmp(name, specs[i].name))
			return i;
	return -1;
}

/* Parses NAME:VALUE, or several of these joined by +, because mount splits at commas. */
static int parse_tune(char *list, struct zext4_options *options)
{
	char *item, *name;
	int i, err = 0;

	while (!err && (item = strsep(&list, "+"))) {
		name = strsep(&item, ":");
		i = find(name);
		if (i >= 0 && specs[i].tune && item) {
			err = parse_value(i, item, options);
			continue;
		}
		ext4_msg(NULL, KERN_ERR,
			 "tune= must be NAME:VALUE, or several of these joined by +; \"%*pE\" is not such an option",
			 (int)strlen(name), name);
		err = -EINVAL;
	}
	return err;
}

/**
 * zext4_parse_option() - parse a mount option if it is one of zext4's own
 * @param: as given; the value of tune= is cut into pieces
 * @options: where the value is kept
 * @err: set if it is one of zext4's: 0, or -EINVAL after a message that explains it
 */
bool zext4_parse_option(struct fs_parameter *param,
			struct zext4_options *options, int *err)
{
	char none[] = "";
	char *text = param->type == fs_value_is_string ? param->string : none;
	int i;

	if (!strcmp(param->key, "tune")) {
		*err = parse_tune(text, options);
		return true;
	}
	i = find(param->key);
	if (i < 0)
		return false;
	if (!specs[i].tune) {
		*err = parse_value(i, text, options);
		return true;
	}
	ext4_msg(NULL, KERN_ERR, "%s is an option for benchmarks and tests: give it as tune=%s:%s",
		 param->key, param->key, text);
	*err = -EINVAL;
	return true;
}

/* ---- refusals ---- */

/* Returns the name of the first of these options, or NULL for none. */
static const char *first_of(u32 bits)
{
	return bits ? specs[__ffs(bits)].name : NULL;
}

static int check_one(struct super_block *sb, const struct zext4_options *options,
		     const struct zext4_option_spec *spec, u32 value)
{
	const char *missing = first_of(spec->needs & ~options->given);
	const char *clash = first_of(spec->excludes & options->given);
	u32 other = spec->implies.other, number = spec->implies.number;

	if (missing)
		ext4_msg(sb, KERN_ERR, "%s requires %s=", spec->name, missing);
	else if (clash)
		ext4_msg(sb, KERN_ERR, "%s cannot be combined with %s=; remove one of them",
			 spec->name, clash);
	else if (spec->implies.value && value == spec->implies.value &&
		 options->given & BIT(other) && options->value[other] != number)
		ext4_msg(sb, KERN_ERR, "%s=%s requires %s=%u; give that, or remove one of the two options",
			 spec->name, spec->words[value], specs[other].name, number);
	else
		return 0;
	return -EINVAL;
}

/**
 * zext4_check_options() - refuse options that contradict each other
 * @sb: being mounted, all options known
 * @has_log: a journal will be loaded
 */
int zext4_check_options(struct super_block *sb, bool has_log)
{
	const struct zext4_options *options = &EXT4_SB(sb)->s_zj;
	int i;

	for (i = 0; i < ARRAY_SIZE(specs); i++) {
		if (!(options->given & BIT(i)))
			continue;
		if (check_one(sb, options, &specs[i], options->value[i]))
			return -EINVAL;
		if (!specs[i].of_log || has_log)
			continue;
		ext4_msg(sb, KERN_ERR, "can't mount with %s=, fs mounted w/o journal",
			 specs[i].name);
		return -EINVAL;
	}
	return 0;
}

/* What was asked for, as in /etc/fstab, and what is shown, as in /proc/mounts, change nothing. */
static bool is_changed(struct super_block *sb, const struct zext4_options *options, int i)
{
	const struct zext4_options *now = &EXT4_SB(sb)->s_zj;

	if (i == ZEXT4_JOURNAL_NVM && strcmp(options->nvm_path, now->nvm_path))
		return true;
	return options->value[i] != now->value[i] &&
	       options->value[i] != zext4_in_force(sb, i);
}

/**
 * zext4_check_remount() - refuse or drop options that a remount cannot change
 * @fc: the remount
 * @options: those of the remount
 *
 * A boot mounts the root read-only without the options of /etc/fstab, and gives these when
 * it makes the root writable. To refuse that remount would end the boot, so it goes on
 * without such an option.
 *
 * Return: 0; -EINVAL if an option is refused.
 */
int zext4_check_remount(struct fs_context *fc, struct zext4_options *options)
{
	struct super_block *sb = fc->root->d_sb;
	bool becomes_writable = sb_rdonly(sb) && !(fc->sb_flags & SB_RDONLY);
	int i;

	for (i = 0; i < ARRAY_SIZE(specs); i++) {
		if (!specs[i].fixed || !(options->given & BIT(i)))
			continue;
		if (!is_changed(sb, options, i)) {
			options->given &= ~BIT(i);
		} else if (becomes_writable) {
			ext4_msg(sb, KERN_WARNING, "%s is ignored: only the first mount decides on it; for the root, store it in the file system (tune2fs -E mount_opts=)",
				 specs[i].name);
			options->given &= ~BIT(i);
		} else {
			ext4_msg(sb, KERN_ERR, "%s cannot be changed by a remount; unmount the file system and mount it with the new value",
				 specs[i].name);
			return -EINVAL;
		}
	}
	return 0;
}

/**
 * zext4_check_image_options() - refuse options that a file system must not choose itself
 * @sb: being mounted
 * @options: those in its super block
 *
 * Otherwise the maker of an image could choose a device of this machine for the journal
 * to write to. The mount fails, because ignoring the option could miss a log on the device.
 */
int zext4_check_image_options(struct super_block *sb,
			      const struct zext4_options *options)
{
	if (!(options->given & BIT(ZEXT4_JOURNAL_NVM)))
		return 0;
	ext4_msg(sb, KERN_ERR,
		 "the mount options stored in the superblock name a device (journal_nvm=%*pE), which is not allowed there; clear them (tune2fs -E mount_opts=) and pass journal_nvm= to mount instead",
		 (int)strlen(options->nvm_path), options->nvm_path);
	return -EINVAL;
}

/* ---- options in force ---- */

/**
 * zext4_journal_options() - fill in the options that are passed on to the journal
 * @sb: being mounted, mounted or remounted
 * @wanted: gets all options that a remount may change, and those that only the journal
 *	uses; zext4_set_up_journal() fills in the rest
 */
void zext4_journal_options(struct super_block *sb, struct zj_options *wanted)
{
	const u32 *value = EXT4_SB(sb)->s_zj.value;
	int i;

	for (i = 0; i < ARRAY_SIZE(specs); i++)
		if (specs[i].field)
			*(u32 *)((char *)wanted + specs[i].field) = value[i];
	wanted->live.unpinned = value[ZEXT4_LANE_BY] != ZEXT4_LANE_BY_CPU;
	wanted->live.log_fua = value[ZEXT4_LOG_FUA] == ZEXT4_LOG_FUA_AUTO;
}

static bool has_effect(const struct zext4_option_spec *spec,
		       const struct zj_options *in_force)
{
	switch (spec->with) {
	case ZEXT4_WITH_PIPELINE:
		return in_force->pipeline;
	case ZEXT4_WITH_STOCK_LOG:
		return in_force->log == ZJ_LOG_JBD2;
	case ZEXT4_WITH_LINES:
		return in_force->log != ZJ_LOG_JBD2;
	default:
		return true;
	}
}

/**
 * zext4_note_idle_options() - say which options have no effect
 * @sb: being mounted or remounted
 * @journal: its journal, configured
 * @given: bits: those that were given now
 *
 * A benchmark that compares such an option's values compares nothing.
 */
void zext4_note_idle_options(struct super_block *sb, journal_t *journal, u32 given)
{
	const struct zj_options *in_force = zj_journal_options(journal);
	int i;

	for (i = 0; i < ARRAY_SIZE(specs); i++)
		if (given & BIT(i) && !has_effect(&specs[i], in_force))
			ext4_msg(sb, KERN_NOTICE, "tune=%s has no effect without %s",
				 specs[i].name, with_names[specs[i].with]);
}

/* Passes a remount's changes on; at a mount there is no journal yet, or there is none at all. */
static void follow_remount(struct super_block *sb, u32 given)
{
	struct zj_options wanted = { 0 };

	if (!EXT4_SB(sb)->s_journal)
		return;
	zext4_note_idle_options(sb, EXT4_SB(sb)->s_journal, given);
	zext4_journal_options(sb, &wanted);
	zj_journal_reconfigure(EXT4_SB(sb)->s_journal, &wanted.live);
}

/**
 * zext4_apply_options() - keep the options, and switch off those that lanes do not support
 */
void zext4_apply_options(struct super_block *sb,
			 const struct zext4_options *options)
{
	struct zext4_options *now = &EXT4_SB(sb)->s_zj;
	int i;

	for (i = 0; i < ARRAY_SIZE(specs); i++)
		if (options->given & BIT(i))
			WRITE_ONCE(now->value[i], options->value[i]);
	if (options->given & BIT(ZEXT4_JOURNAL_NVM))
		strscpy(now->nvm_path, options->nvm_path, ZEXT4_PATH_MAX);
	now->given |= options->given;
	follow_remount(sb, options->given);
	if (test_opt2(sb, JOURNAL_FAST_COMMIT)) {
		ext4_msg(sb, KERN_INFO,
			 "fast_commit is ignored: zext4 does not use fast commits");
		clear_opt2(sb, JOURNAL_FAST_COMMIT);
	}
}

/**
 * zext4_restore_options() - restore the options after a failed remount
 * @sb: mounted
 * @options: those that were in force before
 */
void zext4_restore_options(struct super_block *sb,
			   const struct zext4_options *options)
{
	struct zext4_options *now = &EXT4_SB(sb)->s_zj;
	int i;

	/* Fixed options have not changed; journal_nvm= is one, so nvm_path stays. */
	for (i = 0; i < ARRAY_SIZE(specs); i++)
		WRITE_ONCE(now->value[i], options->value[i]);
	now->given = options->given;
	follow_remount(sb, 0);
}

static void show_value(struct seq_file *seq, struct super_block *sb, int i)
{
	u32 value = zext4_in_force(sb, i);

	if (specs[i].words)
		seq_puts(seq, specs[i].words[value]);
	else if (!specs[i].max)
		seq_escape(seq, EXT4_SB(sb)->s_zj.nvm_path, " \t\n\\,#");
	else if (value)
		seq_printf(seq, "%u", value);
	else
		seq_puts(seq, "auto");
}

/**
 * zext4_show_options() - print the options for /proc/mounts and sysfs
 * @seq: the file to print to
 * @sep: character to print before each option
 * @sb: mounted
 *
 * Of what was asked for this shows what is in force.  A mount with the options shown does the
 * same, and a remount with them, as mount(8) makes it, changes nothing.
 */
void zext4_show_options(struct seq_file *seq, char sep, struct super_block *sb)
{
	const struct zext4_options *now = &EXT4_SB(sb)->s_zj;
	bool tuned = false;
	int i;

	for (i = 0; i < ARRAY_SIZE(specs); i++) {
		if (!(now->given & BIT(i)) && !zext4_always_shown(sb, i))
			continue;
		if (!specs[i].tune)
			seq_printf(seq, "%c%s=", sep, specs[i].name);
		else if (tuned)
			seq_printf(seq, "+%s:", specs[i].name);
		else
			seq_printf(seq, "%ctune=%s:", sep, specs[i].name);
		tuned |= specs[i].tune;
		show_value(seq, sb, i);
	}
}
