// SPDX-License-Identifier: GPL-2.0-only
/*
 * Advice where the layout of the file system ties lanes together or gives them too little
 * space, with the command that corrects it.
 */
#include <stdarg.h>
#include <string.h>
#include "fsinfo.h"

/* Percent of fsyncs per second that were lost: the largest figures of docs/features.md. */
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
	printf("%s  %s%s%s\n", any ? "\n" : "\nAdvice\n", zx_on(ZX_YELLOW),
	       zx_text(text), zx_off());
	any = true;
	if (!command)
		return;
	any_command = true;
	printf("    %s%s%s%s\n", strncmp(command, "mke2fs", 6) ? "to fix it: " :
	       "a new file system, in place of this one and all that it holds: ",
	       zx_on(ZX_BOLD), zx_text(command), zx_off());
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
		       "The journal is small: %s has room for %u lanes, not for one for each of %u CPUs; CPUs will share lanes.",
		       zx_size(bytes), lanes, cpus);
	else if (bytes >> 20 < 4ULL * cpus)
		advise("journal-small", cmd,
		       "The journal is small: %s for %u CPUs, less than 4 MiB for each lane; writers will often wait for space.",
		       zx_size(bytes), cpus);
}

/* All group descriptors of a small file system are in one or two blocks. */
static void advise_descriptors(const char *path, const struct fs_info *fs, u32 cpus)
{
	u64 per_group = zx_group_blocks(fs->blocks, fs->descs_per_block, cpus);
	char cmd[COMMAND];

	if (fs->desc_blocks >= cpus)
		return;
	if (!per_group) {
		advise("small", NULL,
		       "The file system is small: all group descriptors are in %u block(s) for %u CPUs, so lanes that allocate at the same time must commit together. Tasks that fsync were up to %d %% slower. Only a larger file system changes that.",
		       fs->desc_blocks, cpus, SMALL_COST);
		return;
	}
	snprintf(cmd, sizeof(cmd), "mke2fs -t ext4 -g %llu %s", per_group, path);
	advise("few-descriptor-blocks", cmd,
	       "All group descriptors are in %u block(s) for %u CPUs: every allocation changes one of them, so lanes that allocate at the same time must commit together. Tasks that fsync were up to %d %% slower. Only a new file system with smaller groups changes that, and making one LOSES ALL DATA: copy it away first.",
	       fs->desc_blocks, cpus, DESCRIPTORS_COST);
}

static void advise_inodes(const char *path, const struct fs_info *fs)
{
	char cmd[COMMAND];

	if (fs->inode_size > 128)
		return;
	if (fs->flex_bg)
		snprintf(cmd, sizeof(cmd), "mke2fs -t ext4 -I 256 %s", path);
	else
		snprintf(cmd, sizeof(cmd), "tune2fs -I 256 %s", path);
	advise("small-inodes", cmd,
	       "Inodes of 128 bytes: %u of them share a block, twice as many as with 256 bytes, and lanes that change inodes in the same block must commit together.%s",
	       fs->block_size / 128,
	       fs->flex_bg ? " With flex_bg only a new file system changes that, and making one LOSES ALL DATA: copy it away first." : "");
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
	advise_descriptors(t->path, fs, cpus);
	advise_inodes(t->path, fs);
	js_end();
	if (!any_command || zx_json)
		return;
	if (t->mounted_at[0])
		printf("\n  (unmount first: umount %s)\n", zx_text(t->mounted_at));
	else if (fs->needs_recovery)
		printf("\n  (recover first: zjctl recover %s)\n", zx_text(t->path));
}
