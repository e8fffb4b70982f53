// SPDX-License-Identifier: GPL-2.0-only
/*
 * Advice where the layout of the file system ties lanes together or gives them too little
 * space, with the command that corrects it. A command that loses data is never printed: it
 * would be one paste away from being run.
 */
#include <stdarg.h>
#include <string.h>
#include "fsinfo.h"

/* Percent of fsyncs per second that were lost: the largest figures of docs/compatibility.md. */
#define ORPHAN_LIST_COST	2
#define QUOTA_COST		23
#define PROJECT_COST		20
#define DESCRIPTORS_COST	10
#define SMALL_COST		12

#define COMMAND	(2 * 4096 + 128)	/* room for two paths */

static bool any, any_command;

/* @command is NULL where there is none that would help. */
static void __printf(3, 4) advise(const char *id, const char *command, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	js_object(NULL);
	js_text("id", id);
	js_text("text", text);
	if (command)
		js_text("command", command);
	js_end();
	if (zx_json)
		return;
	printf("%s%s", any ? "\n" : "\nAdvice\n", zx_on(ZX_YELLOW));
	zx_line(2, "%s", zx_text(text));
	fputs(zx_off(), stdout);
	any = true;
	if (!command)
		return;
	any_command = true;
	/* Never wrapped: a command is copied as it stands. */
	printf("    to fix it: %s%s%s\n", zx_on(ZX_BOLD), zx_text(command), zx_off());
}

static void advise_journal(const char *path, const struct fs_info *fs, u32 journal_blocks,
			   u32 cpus)
{
	u32 lanes;
	char cmd[COMMAND];
	u64 bytes;

	if (!fs->has_journal) {
		snprintf(cmd, sizeof(cmd), "tune2fs -O has_journal %s", path);
		advise("no-journal", cmd, "There is no journal: the file system may be damaged by a crash.");
		return;
	}
	/* One on a device of its own is as long as that. */
	if (!fs->journal_inode)
		return;
	bytes = (u64)journal_blocks * fs->block_size;
	if (!bytes || bytes >> 20 >= zx_journal_mib(cpus, fs->blocks * fs->block_size,
						   fs->block_size))
		return;
	/* Without a number it would be for this machine's CPUs. */
	if (cpus == zx_cpus())
		snprintf(cmd, sizeof(cmd), "zjctl resize-journal %s", path);
	else
		snprintf(cmd, sizeof(cmd), "zjctl resize-journal --lanes %u %s", cpus, path);
	lanes = zx_lanes_that_fit(journal_blocks, fs->block_size, cpus);
	if (lanes < cpus)
		advise("journal-small", cmd,
		       "The journal is small: %s has room for %s, not for one for each of %u CPUs; CPUs will share lanes.",
		       zx_size(bytes), zx_count(lanes, "lane"), cpus);
	else if (bytes >> 20 < 4ULL * cpus)
		advise("journal-small", cmd,
		       "The journal is small: %s for %s, less than 4 MiB for each lane; writers will often wait for space.",
		       zx_size(bytes), zx_count(cpus, "CPU"));
}

/* All group descriptors of a small file system are in one or two blocks. */
static void advise_descriptors(const struct fs_info *fs, u32 cpus)
{
	u64 per_group = zx_group_blocks(fs->blocks, fs->descs_per_block, cpus);

	if (fs->desc_blocks >= cpus)
		return;
	if (!per_group) {
		advise("small", NULL,
		       "The file system is small: all group descriptors are in %s for %u CPUs, so lanes that allocate at the same time must commit together. Tasks that fsync were up to %d %% slower. Only a larger file system changes that.",
		       zx_count(fs->desc_blocks, "block"), cpus, SMALL_COST);
		return;
	}
	advise("few-descriptor-blocks", NULL,
	       "All group descriptors are in %s for %u CPUs: every allocation changes one of them, so lanes that allocate at the same time must commit together. Tasks that fsync were up to %d %% slower. Only a file system that is made anew with smaller groups (option -g %llu of mke2fs) changes that.",
	       zx_count(fs->desc_blocks, "block"), cpus, DESCRIPTORS_COST, per_group);
}

static void advise_inodes(const char *path, const struct fs_info *fs)
{
	char cmd[COMMAND];

	if (fs->inode_size > 128)
		return;
	snprintf(cmd, sizeof(cmd), "tune2fs -I 256 %s", path);
	advise("small-inodes", fs->flex_bg ? NULL : cmd,
	       "Inodes of 128 bytes: %u of them share a block, twice as many as with 256 bytes, and lanes that change inodes in the same block must commit together.%s",
	       fs->block_size / 128,
	       fs->flex_bg ? " With flex_bg only a file system that is made anew (option -I 256 of mke2fs) changes that." : "");
}

void fs_advise_damaged(void)
{
	js_array("advice");
	advise("damaged", NULL,
	       "The log is damaged, and holds changes that are nowhere else. Copy the whole device (and the memory, if the log is in memory) before anything writes to it, then run zjctl recover on the copy. zjournal-messages(7), \"A damaged log\", says what else there is.");
	js_end();
}

void fs_advise(const struct zx_target *t, const struct fs_info *fs, u32 journal_blocks,
	       u32 cpus)
{
	char cmd[COMMAND];

	js_array("advice");
	if (fs->errors) {
		snprintf(cmd, sizeof(cmd), "e2fsck -f %s", t->path);
		advise("errors", cmd, "The file system is marked as having errors.");
	}
	advise_journal(t->path, fs, journal_blocks, cpus);
	if (!fs->orphan_file) {
		snprintf(cmd, sizeof(cmd), "tune2fs -O orphan_file %s", t->path);
		advise("no-orphan-file", cmd,
		       "orphan_file is off: every unlink and truncate changes the superblock, so lanes that do so at the same time must commit together. Tasks that fsync were up to %d %% slower.",
		       ORPHAN_LIST_COST);
	}
	if (fs->quota) {
		snprintf(cmd, sizeof(cmd), "tune2fs -O %s^quota %s",
			 fs->project ? "^project," : "", t->path);
		advise("quota", cmd,
		       "Journaled quota is on: lanes that charge the same user, group or project must commit together. Tasks of one user that fsync were up to %d %% slower. Turn it off if you do not need it.",
		       fs->project ? PROJECT_COST : QUOTA_COST);
	}
	advise_descriptors(fs, cpus);
	advise_inodes(t->path, fs);
	js_end();
	if (!any_command || zx_json)
		return;
	if (t->mounted_at[0])
		printf("\n  (unmount first: umount %s)\n", zx_text(t->mounted_at));
	else if (fs->needs_recovery)
		printf("\n  (recover first: zjctl recover %s)\n", zx_text(t->path));
}
