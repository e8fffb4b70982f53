/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zjctl: the functions that its commands share.  There is one file for each command
 * (cmd_*.c); log_view.c reads the log and judge.c evaluates it, the recovery itself is
 * that of src/.
 */
#ifndef ZJCTL_H
#define ZJCTL_H

#include <getopt.h>
#include <setjmp.h>
#include <stdio.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include "extimage.h"

/* Exit codes are e2fsck's; they may be or'ed. */
#define ZX_OK		0
#define ZX_CORRECTED	1	/* something was corrected */
#define ZX_UNCORRECTED	4	/* damage or obstacles found and left */
#define ZX_FAILED	8	/* could not do it: I/O, mounted, no such device */
#define ZX_USAGE	16
#define ZX_CANCELLED	32

/**
 * struct zx_command - one word after "zjctl"
 */
struct zx_command {
	const char *name;
	const char *brief;	/* one line for the list of commands */
	const char *help;	/* usage, options, examples */
	const char *shorts;	/* options, as for getopt_long() */
	const struct option *options;	/* the same */
	const char *operand;	/* "device", "mounted", "memory" or "": for completion */
	int (*run)(int argc, char **argv);
	bool many_documents;	/* writes its own JSON documents */
};

extern const struct zx_command cmd_status, cmd_info, cmd_dump, cmd_check, cmd_recover,
	cmd_convert, cmd_resize_journal, cmd_stats, cmd_top, cmd_stalls, cmd_nvm_format,
	cmd_kernels, cmd_report;

/* ---- main.c ---- */

extern const struct zx_command *zx_command;	/* the one that runs */

#define ZX_PLAIN_OPTIONS						\
	{ "json", no_argument, NULL, 'J' },				\
	{ "color", required_argument, NULL, 'C' },			\
	{ "help", no_argument, NULL, 'H' }
/* Of commands that open a journal on a device. */
#define ZX_OPTIONS							\
	ZX_PLAIN_OPTIONS,						\
	{ "journal", required_argument, NULL, 'E' }

/* getopt_long() with the command's options, which deals with ZX_OPTIONS; '?' is an error. */
int zx_getopt(int argc, char **argv);
/* The one operand of a command; NULL with a message. */
const char *zx_operand(int argc, char **argv, const char *what);
/* A whole number from @min to @max; false with a message naming @option. */
bool zx_number(const char *text, const char *option, u64 min, u64 max, u64 *value);
int zx_usage(const char *fmt, ...) __printf(1, 2);

/* ---- out.c ---- */

enum zx_level { ZX_ERROR, ZX_WARNING, ZX_NOTE };
enum zx_colour { ZX_RED = 31, ZX_GREEN = 32, ZX_YELLOW = 33, ZX_BOLD = 1 };

extern bool zx_json;		/* --json was given */

/* 0: never, 1: always, -1: on a terminal, unless NO_COLOR is set. */
void zx_set_colour(int when);
/* Escape sequences, or "" without colours. */
const char *zx_on(enum zx_colour colour);
const char *zx_off(void);
/* NULL, or what gives the terminal back before a message is printed. */
extern void (*zx_before_message)(void);
/* To stderr, and into the JSON document's messages. */
void zx_say(enum zx_level level, const char *fmt, ...) __printf(2, 3);
/* An error; returns @code. */
int zx_fail(int code, const char *fmt, ...) __printf(2, 3);
/* Route a message of extimage.c to zx_say(). */
void zx_image_message(const struct ext_image *img, int level, const char *text);
/*
 * Text that may come from a file system or from a user, for a terminal: what would control
 * that is shown in octal, as ls -b does. Static buffers, four calls may be in one printf.
 */
const char *zx_text(const char *s);
/* Columns of the terminal that @to is, 80 if it is none. */
u32 zx_width(FILE *to);
/*
 * Text that begins in @column, wrapped at the width of @to and ended; its further lines
 * begin in column @indent.
 */
void zx_wrap(FILE *to, u32 column, u32 indent, const char *text);
/* A line of stdout, wrapped, all lines indented by @indent. */
void zx_line(u32 indent, const char *fmt, ...) __printf(2, 3);
/* "1 lane", "2 lanes", "3 blocks of the log"; eight calls may be in one printf. */
const char *zx_count(u64 n, const char *what);
/* "12.5 MiB"; the buffer is static, two calls may be in one printf. */
const char *zx_size(u64 bytes);

/* A bar on stderr, on a terminal, after half a second; @total 0: done. */
void zx_progress(const char *what, u64 done, u64 total);

/* ---- json.c: one document, written as it comes; nothing without --json ---- */

void js_start(const char *command);
void js_device(const char *path);
void js_finish(int code);
void js_object(const char *key);	/* key: NULL inside an array */
void js_array(const char *key);
void js_end(void);			/* of the innermost object or array */
void js_text(const char *key, const char *value);
void js_u64(const char *key, u64 value);
void js_float(const char *key, double value);
void js_bool(const char *key, bool value);
void js_null(const char *key);
void js_message(enum zx_level level, const char *text);

/* ---- device.c ---- */

/**
 * struct zx_target - the device or file system that the user named
 */
struct zx_target {
	char path[4096];	/* device or image file */
	char mounted_at[4096];	/* "" if not mounted */
	char directory[4096];	/* that was named, if it is not the mount point; or "" */
	char mount_type[64];	/* file system type of the mount */
	bool zext4;		/* zext4 has mounted it, whatever it calls itself (register_as=) */
	char proc_name[64];	/* e.g. "sda1-8", of /proc/fs/zjournal; or "" */
};

/* DEV, MOUNTPOINT, UUID=..., LABEL=...; 0 or an exit code with a message. */
int zx_find(const char *name, struct zx_target *target);
/* --journal, or NULL: the device of a journal that has one of its own. */
extern const char *zx_journal;
/* ext_find_journal() for zjctl: zx_journal, or the device that the file system names. */
bool zx_find_journal(struct ext_image *img, const u8 *uuid, u32 dev);
/* --journal= was given for a file system whose journal is inside, or that has none. */
int zx_refuse_journal_option(const char *path);
/* 0, or an exit code with a message that says how to unmount. */
int zx_refuse_mounted(const struct zx_target *target);
/* Is there a complete ext4 on it? Returns 0, or an exit code with a message. */
int zx_check_device(const char *path);
/* Open for recovery's I/O; 0 or an exit code with a message. */
int zx_open(struct ext_image *img, const struct zx_target *target, enum ext_how how);

/* ---- block0.c: the stock superblock in journal block 0 ---- */

enum zx_state {
	ZX_CLEAN,	/* stock's, empty */
	ZX_LANES,	/* live, or crashed; on the device or in memory */
	ZX_STOCK_LOG,	/* a log in stock's format is not empty: log=jbd2, or stock ext4's */
};

/*
 * Reads and checks it; 0 or an exit code with a message. @block: one block.
 * @in_use: of a mounted file system, where the checksum is made at write-out only.
 */
int zx_read_block0(struct ext_image *img, void *block, bool in_use, enum zx_state *state);
/* A uuid as people write it; @text: 37 bytes. */
void zx_uuid_text(const u8 *uuid, char *text);
/* What to run first, of a file system whose log is not empty; the buffer is static. */
const char *zx_how_to_recover(struct zj_jbd2_super *block0, const char *path);
/* Must the log be replayed? A log of lanes says so itself, stock's format needs the flag. */
bool zx_is_due(const struct ext_image *img, enum zx_state state);
/* Marks the log as empty, in stock's format, durably. 0 or an exit code. */
int zx_make_clean(struct ext_image *img, void *block);

/* ---- memory.c: where a load of memory goes that cannot be read ---- */

extern sigjmp_buf zx_way_out;
int zx_memory_lost(void);

/* ---- fit.c ---- */

#define ZX_LANE_MIB	16	/* of journal for each lane, which is enough */

/* Lanes that the module would start for @wanted CPUs; 0: too small for one. */
u32 zx_lanes_that_fit(u32 journal_blocks, u32 block_size, u32 wanted);
/* Journal size in MiB for @lanes on a file system of @fs_bytes. */
u32 zx_journal_mib(u32 lanes, u64 fs_bytes, u32 block_size);
u32 zx_cpus(void);
/* How many blocks the groups should have, so that descriptors are in a block for each CPU; 0: the file system is too small. */
u64 zx_group_blocks(u64 blocks, u32 descs_per_block, u32 cpus);

#endif /* ZJCTL_H */
