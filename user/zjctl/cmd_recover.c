// SPDX-License-Identifier: GPL-2.0-only
/* zjctl recover: replay without a mount, and leave a clean, plain ext4. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <asm/byteorder.h>
#include "fsinfo.h"
#include "memory.h"
#include "replay_io.h"

static const char help[] =
	"usage: zjctl recover [-n] [--no-fsck] [--drop-damaged] [--nvm=NVM] [--json] DEV\n\n"
	"Replay the log of a crashed zext4, or one in stock ext4's format, as a mount\n"
	"would, and leave the file system clean for stock ext4 and e2fsck. Everything is\n"
	"read and checked before the first write. If it is interrupted, run it again: the\n"
	"result is the same.\n\n"
	"  -n         show what would be done, write nothing\n"
	"  --no-fsck  leave files that were half deleted or truncated to the next mount;\n"
	"             without it, e2fsck finishes them if there are any\n"
	"  --drop-damaged\n"
	"             where the device has lost a part of the log, or cannot read it: replay\n"
	"             what is older and discard the rest; copy the device first, run\n"
	"             e2fsck -f afterwards\n"
	ZX_NVM_HELP "\n"
	"Exit status: 0 nothing to do, 1 recovered, 4 the log is damaged, or ends with fast\n"
	"commits of stock ext4, which only a mount replays (nothing was written), 8 failed or\n"
	"refused (mounted), 16 usage, 32 interrupted.\n\n"
	"Examples:\n"
	"  zjctl recover -n /dev/sdb1\n"
	"  zjctl recover /dev/sdb1\n"
	"  zjctl recover --nvm=/dev/pmem0 /dev/sdb1\n";

static const struct option options[] = {
	{ "dry-run", no_argument, NULL, 'n' },
	{ "no-fsck", no_argument, NULL, 'F' },
	{ "drop-damaged", no_argument, NULL, 'D' },
	ZX_NVM_OPTION,
	ZX_OPTIONS,
	{ 0 }
};

/**
 * struct job - one recovery
 */
struct job {
	const char *nvm;	/* --nvm, or NULL */
	bool	dry_run;	/* -n */
	bool	fsck;		/* not --no-fsck */
	bool	drop;		/* --drop-damaged */
	struct ext_image img;
	struct zj_jbd2_super *block0;
	enum zx_state state;	/* as block 0 says */
	struct zx_memory memory; /* open if the log is there */
	struct zj_recovery_stats stats;
};

/* ---- recovery's I/O, with progress and a way out ---- */

static volatile sig_atomic_t stopped;
static const struct zj_recovery_stats *counts;

static void stop(int sig)
{
	stopped = 1;
}

static int read_log(void *ctx, u32 block, u32 nr, void *buf)
{
	if (stopped)
		return -EINTR;
	return ext_ops.read_log(ctx, block, nr, buf);
}

static void start_read(void *ctx, u32 slot, u32 block, u32 nr, void *buf)
{
	rio_start_read(slot, block, nr, buf);
}

/* After an interrupt every read fails, which ends the recovery. */
static int end_read(void *ctx, u32 slot)
{
	int err = rio_end_read(slot);

	return stopped ? -EINTR : err;
}

static int write_home(void *ctx, u64 block, const void *buf)
{
	if (stopped)
		return -EINTR;
	return rio_write_home(block, buf);
}

static int flush_home(void *ctx)
{
	return rio_flush_home();
}

/*
 * Everything is home, and this empties the log. Only the log shows that a part was
 * discarded, so the mark for e2fsck must be durable before.
 */
static int write_log(void *ctx, u32 block, const void *buf)
{
	if (counts->lost_stamp && ext_mark_errors(ctx))
		return -EIO;
	return ext_ops.write_log(ctx, block, buf);
}

static void show_progress(void *ctx, const char *what, u32 done, u32 total)
{
	zx_progress(what, done, total);
}

static u64 room(void *ctx)
{
	return rio_room();
}

static void __printf(3, 4) message(void *ctx, int level, const char *fmt, ...)
{
	const struct ext_image *img = ctx;
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* The summary is printed from the counts; an interruption is not an I/O error. */
	if (!level && !stopped)
		zx_say(ZX_ERROR, "%s: %s", img->path, text);
	else if (level && strncmp(text, "log: ", 5) && strncmp(text, "log in memory: ", 15))
		zx_say(ZX_NOTE, "%s: %s", img->path, text);
}

static unsigned int flags_of(const struct job *j)
{
	return (j->dry_run ? ZJ_RECOVER_DRY_RUN : 0) |
	       (j->drop ? ZJ_RECOVER_DROP_DAMAGED : 0);
}

/* For a log in stock's format, the number in block 0 continues after that log. */
static int run_recovery(const struct zj_io_ops *ops, struct job *j)
{
	struct ext_image *img = &j->img;
	const struct zj_recovery_args args = {
		.ops = ops,
		.ctx = img,
		.block_size = img->block_size,
		.journal_blocks = img->journal_blocks,
		.fs_blocks = img->device_blocks,
		.flags = flags_of(j),
		.stats = &j->stats,
	};
	u32 sequence;
	int err;

	if (j->memory.base)
		return zj_recover_nvm(&args, &j->memory.area);
	if (j->state == ZX_LANES)
		return zj_recover(&args, img->uuid);
	err = zj_recover_jbd2(&args, j->block0, &sequence);
	if (!err && !j->dry_run && j->stats.lost_stamp && ext_mark_errors(img))
		err = -EIO;
	if (!err)
		j->block0->s_sequence = cpu_to_be32(sequence);
	return err;
}

static int replay(struct job *j)
{
	struct sigaction act = { .sa_handler = stop }, old_int, old_term;
	struct zj_io_ops ops = ext_ops;
	int err;

	ops.read_log = read_log;
	ops.write_log = write_log;
	ops.write_home = write_home;
	ops.flush_home = flush_home;
	ops.start_read = start_read;
	ops.end_read = end_read;
	ops.room = j->dry_run ? NULL : room;
	ops.progress = show_progress;
	ops.msg = message;
	counts = &j->stats;
	sigaction(SIGINT, &act, &old_int);
	sigaction(SIGTERM, &act, &old_term);
	rio_start(&j->img);
	err = run_recovery(&ops, j);
	rio_end();
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	zx_progress(NULL, 0, 0);
	if (!err)
		return 0;
	if (stopped)
		return zx_fail(ZX_CANCELLED, "%s: interrupted, the log is kept; run it again to finish",
			       j->img.path);
	return err == -EUCLEAN || err == -EOPNOTSUPP ? ZX_UNCORRECTED : ZX_FAILED;
}

static void show(const struct job *j)
{
	const struct zj_recovery_stats *s = &j->stats;
	const struct ext_image *img = &j->img;
	bool dry_run = j->dry_run;
	char in[64] = "";

	js_bool("dry_run", dry_run);
	js_u64("components", s->components);
	js_u64("committed_components", s->committed_components);
	js_u64("transactions", s->transactions);
	js_u64("discarded_transactions", s->discarded);
	js_u64("torn_records", s->torn_chunks);
	if (j->state == ZX_LANES && !j->memory.base)
		js_u64("lost_stamp", s->lost_stamp);
	js_u64("unread_blocks", s->unread_blocks);
	js_u64("revoked_images", s->revoked);
	js_u64("blocks_written", dry_run ? 0 : s->replayed);
	js_u64("blocks_to_write", s->replayed);
	if (zx_json)
		return;
	if (j->state == ZX_LANES)
		snprintf(in, sizeof(in), " in %s", zx_count(s->committed_components, "component"));
	/* A line each, for whoever looks for them in the log of a boot. */
	printf("%s: %s %s%s, %s %s home\n", zx_text(img->path),
	       dry_run ? "would replay" : "replayed", zx_count(s->transactions, "transaction"), in,
	       zx_count(s->replayed, "block"), dry_run ? "to write" : "written");
	if (s->lost_stamp && j->state == ZX_STOCK_LOG)
		printf("%s: discarded: what may follow where the log cannot be read\n", zx_text(img->path));
	else if (s->lost_stamp)
		printf("%s: discarded: stamp %llu, which the device has lost or cannot read, and all newer ones: %s, %s\n",
		       zx_text(img->path), s->lost_stamp, zx_count(s->discarded, "transaction"),
		       zx_count(s->torn_chunks, "torn record"));
	else if (s->discarded || s->torn_chunks)
		printf("%s: discarded as incomplete when the system crashed: %s, %s\n",
		       zx_text(img->path), zx_count(s->discarded, "transaction"),
		       zx_count(s->torn_chunks, "torn record"));
}

/* ---- afterwards ---- */

/*
 * Lanes: needs_recovery first. As long as block 0 names lanes, a crash here leaves a
 * file system that nobody but recovery touches.  If it cannot be cleared, e2fsck
 * must still get in, so block 0 is made clean all the same.
 *
 * Stock's format: block 0 first, as stock does. A log without needs_recovery would be
 * thrown away by one and replayed by the other; an empty one with it is clear to all.
 */
static int finish(struct ext_image *img, void *block0, enum zx_state state)
{
	bool cleared;
	int code;

	if (state == ZX_STOCK_LOG) {
		code = zx_make_clean(img, block0);
		return code ? code : ext_clear_needs_recovery(img) ? ZX_UNCORRECTED : 0;
	}
	cleared = !ext_clear_needs_recovery(img);
	code = zx_make_clean(img, block0);
	return code || cleared ? code : ZX_UNCORRECTED;
}

/* Runs e2fsck in a child and returns its exit status. Its output goes to stderr. */
static int run_e2fsck(const char *options, const char *path)
{
	/* The journal is empty, and e2fsck would look for it all the same. */
	const char *journal = zx_journal ? "-j" : path;
	const char *last = zx_journal ? path : NULL;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execlp("e2fsck", "e2fsck", options, journal, zx_journal, last, NULL);
		execl("/usr/sbin/e2fsck", "e2fsck", options, journal, zx_journal, last, NULL);
		execl("/sbin/e2fsck", "e2fsck", options, journal, zx_journal, last, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return 127;
	return WEXITSTATUS(status);
}

/*
 * e2fsck empties an orphan file only if it checks everything, and a later mount takes the
 * entries that it leaves for damage.
 */
static int finish_orphans(const char *path)
{
	const char *options;
	struct fs_info fs;
	u32 harmed;
	int rc;

	if (fs_read_info(path, &fs))
		return ZX_FAILED;
	js_bool("orphans", fs.orphan_list || fs.orphans_in_file);
	if (!fs.orphan_list && !fs.orphans_in_file)
		return 0;
	harmed = orphans_harmed(path);
	if (harmed) {
		zx_say(ZX_WARNING, "%s: files that were being truncated are left to the next mount, as zext4 or ext4, because e2fsck would remove the attributes of %u of them",
		       path, harmed);
		return 0;
	}
	options = fs.orphans_in_file ? "-fp" : "-p";
	if (!zx_json)
		printf("%s: e2fsck %s finishes files that were being deleted or truncated\n", zx_text(path),
		       options);
	rc = run_e2fsck(options, path);
	if (rc == 127)
		return zx_fail(ZX_UNCORRECTED, "%s: is recovered, but e2fsck could not be run to finish deleted files; mount it once, or run e2fsck -fp %s",
			       path, path);
	if (rc & ~3)
		return zx_fail(ZX_UNCORRECTED, "%s: is recovered, but e2fsck %s ended with %d; run e2fsck -f %s",
			       path, options, rc, path);
	return ZX_CORRECTED;
}

static void warn_of_abort(const struct ext_image *img, const struct zj_jbd2_super *sb)
{
	if (sb->s_errno)
		zx_say(ZX_WARNING, "%s: the journal was aborted with error %d before the crash; run e2fsck -f",
		       img->path, (int)be32_to_cpu(sb->s_errno));
}

static int recover_log(struct job *j)
{
	int code = replay(j);

	if (code)
		return code;
	show(j);
	warn_of_abort(&j->img, j->block0);
	if (j->dry_run)
		return 0;
	code = finish(&j->img, j->block0, j->state);
	if (j->stats.lost_stamp)
		return zx_fail(ZX_UNCORRECTED, "%s: a part of the log was discarded; the file system is marked for a check: run e2fsck -f %s",
			       j->img.path, j->img.path);
	return code ? code : ZX_CORRECTED;
}

/* As stock does. A recovery that was interrupted also leaves this state. */
static int clear_flag(struct ext_image *img, bool dry_run)
{
	js_bool("needs_recovery_cleared", !dry_run);
	if (!zx_json)
		printf("%s: the log is empty, but needs_recovery is set: %s\n", zx_text(img->path),
		       dry_run ? "would clear it" : "cleared");
	if (dry_run)
		return 0;
	return ext_clear_needs_recovery(img) ? ZX_UNCORRECTED : ZX_CORRECTED;
}

static int nothing_to_do(const struct ext_image *img, enum zx_state state)
{
	if (!zx_json)
		printf("%s: nothing to do: %s\n", zx_text(img->path), state == ZX_CLEAN ?
		       "the log is empty" :
		       "the journal holds an old log, but needs_recovery is not set: a mount discards it");
	return 0;
}

static int recover_by_state(struct job *j)
{
	js_text("state", j->state == ZX_LANES ? "crashed" :
		j->state == ZX_CLEAN ? "clean" : "stock-dirty");
	if (zx_is_due(&j->img, j->state))
		return recover_log(j);
	if (j->state == ZX_CLEAN && j->img.needs_recovery)
		return clear_flag(&j->img, j->dry_run);
	return nothing_to_do(&j->img, j->state);
}

/* A mount that ended in a crash has set it, and e2fsck checks a whole file system that has it. */
static bool orphan_present_is_idle(const char *path)
{
	struct fs_info fs;

	return !fs_read_info(path, &fs) && fs.orphan_present && !fs.orphan_list &&
	       !fs.orphans_in_file;
}

static bool has_work(const struct job *j)
{
	return zx_is_due(&j->img, j->state) ||
	       (j->state == ZX_CLEAN &&
		(j->img.needs_recovery || (j->fsck && orphan_present_is_idle(j->img.path))));
}

static int open_log(struct job *j, const struct zx_target *t, enum ext_how how)
{
	int code = zx_open(&j->img, t, how);

	if (code)
		return code;
	j->block0 = malloc(j->img.block_size);
	return j->block0 ? zx_read_block0(&j->img, j->block0, false, &j->state) :
	       zx_fail(ZX_FAILED, "out of memory; try again with more");
}

static void close_log(struct job *j)
{
	free(j->block0);
	j->block0 = NULL;
	ext_close(&j->img);
}

/* A writer may have to wait for other hosts (mmp), which is not worth it for nothing. */
static int open_for_work(struct job *j, const struct zx_target *t)
{
	int code = open_log(j, t, j->dry_run ? EXT_READ : EXT_LOCK);

	if (code || j->dry_run || !has_work(j))
		return code;
	close_log(j);
	return open_log(j, t, EXT_WRITE);
}

static int recover(const struct zx_target *t, struct job *j)
{
	bool to_the_end;
	int code = open_for_work(j, t);

	if (!code)
		code = zx_open_memory(&j->memory, j->nvm, &j->img, j->block0, !j->dry_run);
	if (!code)
		code = recover_by_state(j);
	zx_close_memory(&j->memory);
	/* Also for a clean log, because an earlier recovery may have been interrupted here. */
	to_the_end = !(code & ~ZX_CORRECTED) && (code || j->state != ZX_STOCK_LOG) && j->fsck &&
		     !j->dry_run;
	if (to_the_end && orphan_present_is_idle(t->path))
		code |= orphans_file_is_empty(t->path);
	/* e2fsck needs exclusive access to the device. */
	close_log(j);
	return to_the_end ? code | finish_orphans(t->path) : code;
}

static int run(int argc, char **argv)
{
	struct job job = { .fsck = true, .memory = ZX_NO_MEMORY, .img = EXT_CLOSED };
	struct zx_target target;
	const char *name;
	int c;

	while ((c = zx_getopt(argc, argv)) != -1) {
		if (c == 'n')
			job.dry_run = true;
		else if (c == 'F')
			job.fsck = false;
		else if (c == 'D')
			job.drop = true;
		else if (c == 'M')
			job.nvm = optarg;
		else
			return ZX_USAGE;
	}
	name = zx_operand(argc, argv, "device");
	if (!name)
		return ZX_USAGE;
	c = zx_find(name, &target);
	if (!c)
		c = zx_refuse_mounted(&target);
	return c ? c : recover(&target, &job);
}

const struct zx_command cmd_recover = {
	.name = "recover",
	.brief = "replay the log of a crashed file system without a mount",
	.help = help,
	.shorts = "n",
	.options = options,
	.operand = "device",
	.run = run,
};
