// SPDX-License-Identifier: GPL-2.0-only
/* zjctl resize-journal: a journal of a suitable size for the machine's CPUs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <et/com_err.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include "fsinfo.h"
#include "log_view.h"

static const char help[] =
	"usage: zjctl resize-journal [-n] [--lanes N] [--size MIB] [--json] DEV\n\n"
	"Replace the journal by one that has room for a lane per CPU. As with tune2fs, the\n"
	"old journal is removed and a new one made; the file system must be clean and not\n"
	"mounted. If it is interrupted, run e2fsck -f.\n\n"
	"  -n           show the suitable size, write nothing\n"
	"  --lanes N    for N lanes instead of the CPUs of this machine\n"
	"  --size MIB   this size instead of the suitable one\n\n"
	"Examples:\n"
	"  zjctl resize-journal -n /dev/sdb1\n"
	"  zjctl resize-journal --lanes 64 /dev/sdb1\n";

static const struct option options[] = {
	{ "dry-run", no_argument, NULL, 'n' },
	{ "lanes", required_argument, NULL, 'l' },
	{ "size", required_argument, NULL, 's' },
	ZX_OPTIONS,
	{ 0 }
};

/**
 * struct plan - what was requested, and what is done
 */
struct plan {
	bool	dry_run;
	u64	lanes;		/* 0: this machine's CPUs */
	u64	mib;		/* 0: the suitable size */
	u32	blocks;		/* of the new journal */
	u32	old_blocks;
};

static int remove_journal(ext2_filsys fs)
{
	ext2_ino_t ino = fs->super->s_journal_inum;
	struct ext2_inode inode;
	long err;

	err = ext2fs_read_inode(fs, ino, &inode);
	if (!err)
		err = ext2fs_punch(fs, ino, &inode, NULL, 0, ~0ULL);
	if (err)
		return err;
	memset(&inode, 0, sizeof(inode));
	fs->super->s_journal_inum = 0;
	memset(fs->super->s_jnl_blocks, 0, sizeof(fs->super->s_jnl_blocks));
	ext2fs_clear_feature_journal(fs->super);
	ext2fs_mark_super_dirty(fs);
	return ext2fs_write_inode(fs, ino, &inode);
}

/* ---- progress: the blocks of the new journal are zeroed through these ---- */

static u64 zeroed, to_zero;

static errcode_t zero_in_steps(io_channel io, unsigned long long block, unsigned long long count)
{
	const unsigned long long most = (16ULL << 20) / io->block_size;
	errcode_t err = 0;

	while (count && !err) {
		unsigned long long n = count < most ? count : most;

		zx_progress("making the journal", zeroed, to_zero);
		err = unix_io_manager->zeroout(io, block, n);
		zeroed += n;
		block += n;
		count -= n;
	}
	return err;
}

static errcode_t write_and_count(io_channel io, unsigned long long block, int count,
				 const void *data)
{
	zx_progress("making the journal", zeroed, to_zero);
	zeroed += count > 0 ? count : 0;
	return unix_io_manager->write_blk64(io, block, count, data);
}

/* Between the file system and its device. */
static void watch_writes(ext2_filsys fs, u32 blocks)
{
	static struct struct_io_manager manager;

	manager = *unix_io_manager;
	if (manager.zeroout)
		manager.zeroout = zero_in_steps;
	manager.write_blk64 = write_and_count;
	fs->io->manager = &manager;
	zeroed = 0;
	to_zero = blocks;
}

/*
 * Meanwhile the file system is marked as not clean, so that e2fsck checks it after a
 * crash.
 */
static int replace_journal(ext2_filsys fs, u32 blocks)
{
	struct ext2fs_journal_params params = { .num_journal_blocks = blocks };
	int state = fs->super->s_state;
	long err;

	err = ext2fs_read_bitmaps(fs);
	if (err)
		return err;
	fs->super->s_state &= ~EXT2_VALID_FS;
	ext2fs_mark_super_dirty(fs);
	err = ext2fs_flush(fs);
	if (!err)
		err = remove_journal(fs);
	if (!err)
		err = ext2fs_add_journal_inode3(fs, &params, ~0ULL,
						EXT2_MKJOURNAL_NO_MNT_CHECK);
	if (!err)
		err = ext2fs_flush(fs);
	if (err)
		return err;
	fs->super->s_state = state;
	ext2fs_mark_super_dirty(fs);
	return ext2fs_flush(fs);
}

/* Free blocks, including those of the old journal, minus a reserve for the new one's map. */
static bool has_room(ext2_filsys fs, const struct plan *p)
{
	u64 room = ext2fs_free_blocks_count(fs->super) + p->old_blocks;

	return p->blocks + p->blocks / 64 + 16 <= room;
}

static int resize(const struct zx_target *t, const struct plan *p)
{
	ext2_filsys fs;
	int code = 0;
	long err;

	/* open_and_resize() keeps others away. */
	err = ext2fs_open(t->path, EXT2_FLAG_RW | EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP, 0, 0,
			  unix_io_manager, &fs);
	if (err)
		return zx_fail(ZX_FAILED, "%s: cannot be opened (%s); run e2fsck -f", t->path,
			       error_message(err));
	if (!has_room(fs, p)) {
		code = zx_fail(ZX_FAILED, "%s: has no room for a journal of %u blocks (%llu are free); free some space, or use --size",
			       t->path, p->blocks,
			       (unsigned long long)ext2fs_free_blocks_count(fs->super));
		ext2fs_free(fs);
		return code;
	}
	watch_writes(fs, p->blocks);
	err = replace_journal(fs, p->blocks);
	zx_progress(NULL, 0, 0);
	if (err)
		code = zx_fail(ZX_FAILED, "%s: making the journal failed (%s); run e2fsck -f %s, then tune2fs -O has_journal %s",
			       t->path, error_message(err), t->path, t->path);
	if (ext2fs_close_free(&fs) && !code)
		code = zx_fail(ZX_FAILED, "%s: cannot be written back; run e2fsck -f", t->path);
	return code;
}

static int refuse_log(struct ext_image *img, const struct zx_target *t,
		      const struct fs_info *fs, struct zj_jbd2_super *block0,
		      enum zx_state state)
{
	if (state == ZX_LANES)
		return log_refuse_due(img, block0);
	if (state == ZX_STOCK_LOG || fs->needs_recovery)
		return zx_fail(ZX_UNCORRECTED, "%s: stock ext4's journal is not empty; first: %s %s",
			       t->path, fs->needs_recovery ? "zjctl recover" : "e2fsck", t->path);
	return 0;
}

/* Returns 0 if the file system is clean, or an exit code with a message that says what to do. */
static int refuse(struct ext_image *img, const struct zx_target *t, const struct fs_info *fs)
{
	enum zx_state state = ZX_CLEAN;
	void *block0 = malloc(img->block_size);
	int code;

	code = block0 ? zx_read_block0(img, block0, false, &state) :
	       zx_fail(ZX_FAILED, "out of memory; try again with more");
	if (!code)
		code = refuse_log(img, t, fs, block0, state);
	free(block0);
	if (!code && (fs->errors || fs->orphan_list || fs->orphans_in_file))
		code = zx_fail(ZX_UNCORRECTED, "%s: has %s; first: e2fsck -f %s", t->path,
			       fs->errors ? "errors" : "partly deleted files", t->path);
	return code;
}

static int choose_size(const struct zx_target *t, const struct fs_info *fs, struct plan *p)
{
	u32 lanes = p->lanes ? p->lanes : zx_cpus();
	u64 blocks;

	if (!p->mib)
		p->mib = zx_journal_mib(lanes, fs->blocks * fs->block_size, fs->block_size);
	blocks = (p->mib << 20) / fs->block_size;
	if (blocks < 1024)
		return zx_fail(ZX_USAGE, "a journal needs 1024 blocks at least: --size %u",
			       1024 * fs->block_size >> 20);
	if (blocks > fs->blocks / 2)
		return zx_fail(ZX_USAGE, "%s: a journal of %llu MiB would be more than half of the file system; use a smaller --size",
			       t->path, p->mib);
	p->blocks = blocks;
	return 0;
}

/* As zjctl info says it, and a mount that asks for the most lanes. */
static u32 room_for(u32 blocks, const struct fs_info *fs)
{
	return zx_lanes_that_fit(blocks, fs->block_size, ZJ_MAX_LANES);
}

static void warn(const struct zx_target *t, const struct fs_info *fs, const struct plan *p)
{
	u32 lanes = p->lanes ? p->lanes : zx_cpus();
	u32 fit = zx_lanes_that_fit(p->blocks, fs->block_size, lanes);

	if (fit < lanes)
		zx_say(ZX_WARNING, "%s: a journal of %s has room for only %u of %s", t->path,
		       zx_size((u64)p->blocks * fs->block_size), fit, zx_count(lanes, "lane"));
	if (p->blocks < p->old_blocks)
		zx_say(ZX_WARNING, "%s: this makes the journal smaller: writers will wait for space in it more often",
		       t->path);
}

static void show(const struct zx_target *t, const struct fs_info *fs, const struct plan *p,
		 bool same)
{
	u32 lanes = p->lanes ? p->lanes : zx_cpus();
	u32 fit = zx_lanes_that_fit(p->blocks, fs->block_size, lanes);

	js_u64("lanes_wanted", lanes);
	js_u64("old_blocks", p->old_blocks);
	js_u64("new_blocks", p->blocks);
	js_u64("lanes_that_fit", fit);
	js_u64("room_for_lanes", room_for(p->blocks, fs));
	js_bool("changed", !same && !p->dry_run);
	if (zx_json)
		return;
	if (same)
		zx_line(0, "%s: the journal of %s (room for %s) stays as it is: %s wanted",
			zx_text(t->path), zx_size((u64)p->old_blocks * fs->block_size),
			zx_count(room_for(p->old_blocks, fs), "lane"), zx_count(lanes, "lane"));
	else
		zx_line(0, "%s: the journal of %s (room for %s) %s %s (room for %s): %s wanted",
			zx_text(t->path), zx_size((u64)p->old_blocks * fs->block_size),
			zx_count(room_for(p->old_blocks, fs), "lane"),
			p->dry_run ? "would become" : "has become",
			zx_size((u64)p->blocks * fs->block_size),
			zx_count(room_for(p->blocks, fs), "lane"), zx_count(lanes, "lane"));
}

static int refuse_own_device(const struct zx_target *t)
{
	struct fs_info fs;
	int code = fs_read_info(t->path, &fs);

	if (!code && fs.has_journal && !fs.journal_inode)
		code = zx_fail(ZX_FAILED, "%s: has its journal on a device of its own, which is as long as that: tune2fs -O ^has_journal, mke2fs -O journal_dev on a larger one, tune2fs -J device=",
			       t->path);
	return code;
}

/* Nobody else uses the file system meanwhile. */
static int plan_and_resize(struct ext_image *img, const struct zx_target *t, struct plan *p)
{
	struct fs_info fs;
	bool same;
	int code;

	p->old_blocks = img->journal_blocks;
	code = fs_read_info(t->path, &fs);
	if (!code)
		code = refuse(img, t, &fs);
	if (!code)
		code = choose_size(t, &fs, p);
	if (code)
		return code;
	same = p->blocks == p->old_blocks;
	if (!same)
		warn(t, &fs, p);
	if (!same && !p->dry_run)
		code = resize(t, p);
	if (code)
		return code;
	show(t, &fs, p, same);
	return same || p->dry_run ? 0 : ZX_CORRECTED;
}

static int open_and_resize(const struct zx_target *t, struct plan *p)
{
	struct ext_image img;
	int code = refuse_own_device(t);

	if (!code)
		code = zx_open(&img, t, p->dry_run ? EXT_READ : EXT_WRITE);
	if (code)
		return code;
	code = plan_and_resize(&img, t, p);
	ext_close(&img);
	return code;
}

static int run(int argc, char **argv)
{
	struct plan p = { 0 };
	struct zx_target target;
	const char *name;
	int c;

	while ((c = zx_getopt(argc, argv)) != -1) {
		if (c == 'n')
			p.dry_run = true;
		else if (c == 'l' && zx_number(optarg, "--lanes", 1, ZJ_MAX_LANES, &p.lanes))
			;
		else if (c == 's' && zx_number(optarg, "--size", 1, 1 << 20, &p.mib))
			;
		else
			return ZX_USAGE;
	}
	name = zx_operand(argc, argv, "device");
	if (!name)
		return ZX_USAGE;
	c = zx_find(name, &target);
	if (!c)
		c = zx_refuse_mounted(&target);
	return c ? c : open_and_resize(&target, &p);
}

const struct zx_command cmd_resize_journal = {
	.name = "resize-journal",
	.brief = "a journal with room for a lane per CPU",
	.help = help,
	.shorts = "n",
	.options = options,
	.operand = "device",
	.run = run,
};
