// SPDX-License-Identifier: GPL-2.0-only
/* zjctl convert: make sure that stock ext4 and its tools accept the file system. */
#include <errno.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include <blkid/blkid.h>
#include "format/codec.h"
#include "fsinfo.h"
#include "log_view.h"

static const char help[] =
	"usage: zjctl convert --check [--json] DEV\n"
	"       zjctl convert --to-ext4 [--json] DEV\n\n"
	"A cleanly unmounted zext4 is a plain ext4. --check reports anything that stock\n"
	"kernels and tools would not accept; --to-ext4 corrects it and wipes what zjournal\n"
	"has left in the empty log. The opposite direction needs no conversion: mount -t\n"
	"zext4 accepts any clean ext4.\n\n"
	"  --check      report what would have to be corrected, write nothing\n"
	"  --to-ext4    correct what is found, wipe what is left in the empty log\n\n"
	"Exit status: 0 nothing to correct, 1 corrected, 4 something must be corrected,\n"
	"8 failed or refused (mounted), 16 usage.\n\n"
	"Examples:\n"
	"  zjctl convert --check /dev/sdb1\n"
	"  zjctl convert --to-ext4 /dev/sdb1\n";

static const struct option options[] = {
	{ "to-ext4", no_argument, NULL, 'w' },
	{ "check", no_argument, NULL, 'c' },
	ZX_OPTIONS,
	{ 0 }
};

/* One thing that was found, and whether it stops stock ext4. */
static void finding(const char *id, bool obstacle, const char *text)
{
	js_object(NULL);
	js_text("id", id);
	js_bool("obstacle", obstacle);
	js_text("text", text);
	js_end();
	if (!zx_json)
		printf("  %s%s%s\n", zx_on(obstacle ? ZX_RED : ZX_YELLOW), zx_text(text),
		       zx_off());
}

/* Stock ext4 ignores our records in the empty journal, so they do no harm. */
static bool is_mark(const void *block)
{
	u32 magic = le32_to_cpu(*(const __le32 *)block);

	return magic == ZJ_LOG_SUPER_MAGIC || magic == ZJ_CKPT_MAGIC || magic == ZJ_CHUNK_MAGIC;
}

/* Returns the number of records found (and wiped, if @wipe), or a negative errno. */
static int marks(struct ext_image *img, bool wipe)
{
	void *block = malloc(img->block_size), *zero = calloc(1, img->block_size);
	int found = 0, err = block && zero ? 0 : -ENOMEM;

	for (u32 i = ZJ_BLOCK_LOG_SUPER; !err && i < img->journal_blocks; i++) {
		zx_progress(wipe ? "wiping the log" : "reading the journal", i,
			    img->journal_blocks);
		err = ext_ops.read_log(img, i, 1, block);
		if (err || !is_mark(block))
			continue;
		found++;
		if (wipe)
			err = ext_write_journal(img, i, zero);
	}
	if (!err && wipe && found)
		err = ext_flush_journal(img);
	zx_progress(NULL, 0, 0);
	free(block);
	free(zero);
	return err ? err : found;
}

/* A boot without the zext4 module would stop at such a line. */
static void check_fstab(const struct zx_target *t)
{
	FILE *f = setmntent("/etc/fstab", "r");
	struct mntent *m;
	char text[512];

	while (f && (m = getmntent(f))) {
		char *device = strcmp(m->mnt_type, "zext4") ? NULL :
			       blkid_evaluate_spec(m->mnt_fsname, NULL);

		if (device && !strcmp(device, t->path)) {
			snprintf(text, sizeof(text),
				 "/etc/fstab mounts it as zext4 at %.200s; change the type to ext4",
				 m->mnt_dir);
			finding("fstab", false, text);
		}
		free(device);
	}
	if (f)
		endmntent(f);
}

/* Refuses what only recovery, stock's or ours, may correct. */
static int refuse_unclean(struct ext_image *img, struct zj_jbd2_super *block0,
			  enum zx_state state)
{
	if (state == ZX_LANES) {
		finding("live-lanes", true, "the journal holds lanes: the file system has crashed");
		return log_refuse_due(img, block0);
	}
	if (state == ZX_STOCK_LOG) {
		finding("stock-log", true, "the journal holds a log in stock ext4's format");
		return zx_fail(ZX_UNCORRECTED, "%s: is not clean; run first: %s %s, or mount it once as ext4",
			       img->path, zx_is_due(img, state) ? "zjctl recover" : "e2fsck",
			       img->path);
	}
	return 0;
}

static int convert(struct ext_image *img, const struct zx_target *t, bool write)
{
	int nr, code = 0;

	if (img->needs_recovery) {
		finding("needs-recovery", true,
			"needs_recovery is set, though the journal is empty");
		code = ZX_UNCORRECTED;
		if (write)
			code = ext_clear_needs_recovery(img) ? ZX_FAILED : ZX_CORRECTED;
	}
	nr = marks(img, write);
	if (nr < 0)
		return zx_fail(ZX_FAILED, "%s: the journal cannot be %s (%s); check the device",
			       t->path, write ? "wiped" : "read", strerror(-nr));
	if (nr) {
		finding("marks", false, write ?
			"wiped what zjournal had left in the empty log" :
			"the empty log still has records of zjournal; stock ext4 ignores them");
		if (write)
			code |= ZX_CORRECTED;
	}
	return code;
}

static int open_and_convert(const struct zx_target *t, bool write)
{
	enum zx_state state = ZX_CLEAN;
	struct ext_image img;
	void *block0;
	int code;

	code = zx_open(&img, t, write ? EXT_WRITE : EXT_READ);
	if (code)
		return code;
	js_array("findings");
	block0 = malloc(img.block_size);
	code = block0 ? zx_read_block0(&img, block0, false, &state) :
	       zx_fail(ZX_FAILED, "out of memory; try again with more");
	if (!code)
		code = refuse_unclean(&img, block0, state);
	free(block0);
	if (!code) {
		code = convert(&img, t, write);
		check_fstab(t);
	}
	js_end();
	ext_close(&img);
	js_bool("plain_ext4", !(code & ~ZX_CORRECTED));
	if (!(code & ~ZX_CORRECTED) && !zx_json)
		printf("%s: %sa plain ext4 for stock kernels and tools%s\n", zx_text(t->path),
		       zx_on(ZX_GREEN), zx_off());
	return code;
}

static int run(int argc, char **argv)
{
	bool write = false, check = false;
	struct zx_target target;
	const char *name;
	int c;

	while ((c = zx_getopt(argc, argv)) != -1) {
		if (c == 'w')
			write = true;
		else if (c == 'c')
			check = true;
		else
			return ZX_USAGE;
	}
	if (write == check)
		return zx_usage("one of --check and --to-ext4 is needed");
	name = zx_operand(argc, argv, "device");
	if (!name)
		return ZX_USAGE;
	c = zx_find(name, &target);
	if (!c)
		c = zx_refuse_mounted(&target);
	return c ? c : open_and_convert(&target, write);
}

const struct zx_command cmd_convert = {
	.name = "convert",
	.brief = "make sure that stock ext4 accepts the file system",
	.help = help,
	.shorts = "",
	.options = options,
	.operand = "device",
	.run = run,
};
