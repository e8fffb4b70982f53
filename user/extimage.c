// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <asm/byteorder.h>
#include "format/codec.h"
#include "extimage.h"
#include "mmp.h"

#include <et/com_err.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

static void print_message(const struct ext_image *img, int level, const char *text)
{
	fprintf(level ? stdout : stderr, "%s: %s\n", img->path, text);
}

void (*ext_message)(const struct ext_image *img, int level, const char *text) = print_message;

static int complain(const struct ext_image *img, const char *what, long err)
{
	char text[5120];

	if (err)
		snprintf(text, sizeof(text), "%s (%s)", what, error_message(err));
	ext_message(img, 0, err ? text : what);
	return -1;
}

static int read_all(int fd, void *buf, size_t len, off_t at)
{
	while (len) {
		ssize_t n = pread(fd, buf, len, at);

		if (n <= 0 && !(n < 0 && errno == EINTR))
			return n < 0 ? -errno : -EIO;
		if (n > 0) {
			buf += n;
			at += n;
			len -= n;
		}
	}
	return 0;
}

static int add_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t index,
		     blk64_t ref_block, int ref_offset, void *priv)
{
	struct ext_image *img = priv;

	if (index < 0)
		return 0;
	/* Behind a hole the rest does not matter. */
	if (index >= img->journal_blocks || index != img->map.blocks ||
	    *block >= img->device_blocks)
		return BLOCK_ABORT;
	img->map_err = zj_map_add(&img->map, *block, 1);
	return img->map_err ? BLOCK_ABORT : 0;
}

/*
 * An inode may claim any size at no cost, so the map gets as long as the journal's
 * own superblock says, and as what is there. Without a good one it has only block 0, for the
 * error message.
 */
static int bound_journal(struct ext_image *img, ext2_filsys fs, struct ext2_inode *inode)
{
	ext2_ino_t ino = fs->super->s_journal_inum;
	u64 blocks = EXT2_I_SIZE(inode) / fs->blocksize;
	struct zj_jbd2_super sb;
	blk64_t first = 0;
	long err;

	if (!blocks || blocks > ext2fs_blocks_count(fs->super) || blocks > U32_MAX)
		return complain(img, "the journal's size is absurd, run e2fsck", 0);
	err = ext2fs_bmap2(fs, ino, inode, NULL, 0, 0, NULL, &first);
	if (err)
		return complain(img, "cannot read the journal's block map, run e2fsck", err);
	if (!first || first >= ext2fs_blocks_count(fs->super))
		return complain(img, "the journal has holes, run e2fsck", 0);
	err = read_all(img->fd, &sb, sizeof(sb), (off_t)first * fs->blocksize);
	if (err)
		return complain(img, "cannot read journal block 0; check the device", -err);
	img->inode_blocks = blocks;
	img->journal_blocks = zj_check_jbd2_super(&sb, fs->blocksize, blocks, true) ? 1 :
			      be32_to_cpu(sb.s_maxlen);
	if (img->journal_blocks > img->device_blocks)
		return complain(img, "the journal's size is absurd, run e2fsck", 0);
	return 0;
}

/* ---- a journal on a device of its own ---- */

static bool find_no_journal(struct ext_image *img, const u8 *uuid, u32 dev)
{
	return false;
}

bool (*ext_find_journal)(struct ext_image *img, const u8 *uuid, u32 dev) = find_no_journal;

static int complain_of_journal(const struct ext_image *img, const char *what, long err)
{
	char text[4608];

	snprintf(text, sizeof(text), "its journal on %s %s", img->log_path, what);
	return complain(img, text, err);
}

/* The device's own super block: is it a journal, this one, whole, and how long? */
static int check_journal_device(struct ext_image *img, ext2_filsys fs, u64 *blocks)
{
	blk64_t room;
	ext2_filsys dev;
	long err;
	int ret = 0;

	err = ext2fs_open(img->log_path, EXT2_FLAG_64BITS | EXT2_FLAG_JOURNAL_DEV_OK, 0, 0,
			  unix_io_manager, &dev);
	if (err)
		return complain_of_journal(img, "cannot be read; is it the right device?", err);
	*blocks = ext2fs_blocks_count(dev->super);
	if (!ext2fs_has_feature_journal_dev(dev->super))
		ret = complain_of_journal(img, "is no journal device", 0);
	else if (memcmp(dev->super->s_uuid, fs->super->s_journal_uuid, sizeof(img->uuid)))
		ret = complain_of_journal(img, "is that of another file system", 0);
	else if (dev->blocksize != fs->blocksize)
		ret = complain_of_journal(img, "has another block size", 0);
	else if (ext2fs_get_device_size2(img->log_path, fs->blocksize, &room) || room < *blocks)
		ret = complain_of_journal(img, "is shorter than its superblock says; copy it again if it is a copy", 0);
	ext2fs_close_free(&dev);
	return ret;
}

/* Block 0 comes right behind the block with the device's own super block. */
static int read_own_block0(struct ext_image *img, u64 blocks)
{
	struct zj_jbd2_super sb;
	int err;

	img->log_start = 1024 / img->block_size + 1;
	err = read_all(img->log_fd, &sb, sizeof(sb), (off_t)img->log_start * img->block_size);
	if (err)
		return complain_of_journal(img, "cannot be read; check the device", -err);
	img->inode_blocks = blocks < U32_MAX ? blocks : U32_MAX;
	/* Without a good block 0 there is only that, for the error message. */
	img->log_blocks = zj_check_jbd2_super(&sb, img->block_size, img->inode_blocks, true) ?
			  img->log_start + 1 : be32_to_cpu(sb.s_maxlen);
	if (img->log_blocks > img->log_start + 1 &&
	    (sb.s_nr_users != cpu_to_be32(1) || memcmp(sb.s_users, img->uuid, sizeof(img->uuid))))
		return complain_of_journal(img, "is shared, or belongs to another file system (dumpe2fs shows which)", 0);
	return ext_number_blocks(img, true);
}

static int open_path(struct ext_image *img, const char *path, bool writable);

static int open_own_journal(struct ext_image *img, ext2_filsys fs, bool writable)
{
	u64 blocks = 0;

	if (!ext_find_journal(img, fs->super->s_journal_uuid, fs->super->s_journal_dev)) {
		char text[192], *at = text;

		at += sprintf(at, "has its journal on another device, which was not found; give its name with --journal=, its UUID is ");
		for (u32 i = 0; i < sizeof(img->uuid); i++)
			at += sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				      fs->super->s_journal_uuid[i]);
		return complain(img, text, 0);
	}
	img->log_fd = open_path(img, img->log_path, writable);
	if (img->log_fd < 0 || check_journal_device(img, fs, &blocks))
		return -1;
	return read_own_block0(img, blocks);
}

int ext_number_blocks(struct ext_image *img, bool lanes)
{
	u32 start = lanes ? img->log_start : 0;

	if (!img->log_start)
		return 0;
	img->journal_blocks = img->log_blocks - start;
	zj_map_clear(&img->map);
	if (zj_map_add(&img->map, img->log_start, 1) ||
	    (img->journal_blocks > 1 &&
	     zj_map_add(&img->map, start + 1, img->journal_blocks - 1)))
		return complain(img, "out of memory", 0);
	return 0;
}

/* ---- */

static int map_journal(struct ext_image *img, ext2_filsys fs, bool writable)
{
	ext2_ino_t ino = fs->super->s_journal_inum;
	struct ext2_inode inode;
	long err;

	if (!ext2fs_has_feature_journal(fs->super))
		return complain(img, "has no journal; make one: tune2fs -O has_journal", 0);
	if (!ino)
		return open_own_journal(img, fs, writable);
	img->log_fd = img->fd;
	err = ext2fs_read_inode(fs, ino, &inode);
	if (err)
		return complain(img, "cannot read the journal inode, run e2fsck", err);
	if (bound_journal(img, fs, &inode))
		return -1;
	err = ext2fs_block_iterate3(fs, ino, BLOCK_FLAG_READ_ONLY | BLOCK_FLAG_DATA_ONLY,
				    NULL, add_block, img);
	if (err)
		return complain(img, "cannot read the journal's block map, run e2fsck", err);
	if (img->map_err == -EFBIG)
		return complain(img, "the journal is in too many pieces; make a new one: zjctl resize-journal", 0);
	if (img->map_err)
		return complain(img, "out of memory", 0);
	if (img->map.blocks < img->journal_blocks)
		return complain(img, "the journal has holes, run e2fsck", 0);
	return 0;
}

static int read_layout(struct ext_image *img, bool writable)
{
	blk64_t device_blocks;
	ext2_filsys fs;
	long err;
	int ret;

	initialize_ext2_error_table();
	/* A crash may have left a wrong checksum that recovery will correct. */
	err = ext2fs_open(img->path, EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS,
			  0, 0, unix_io_manager, &fs);
	if (err)
		return complain(img, "cannot be read as an ext4 file system", err);
	img->block_size = fs->blocksize;
	img->needs_recovery = ext2fs_has_feature_journal_needs_recovery(fs->super);
	memcpy(img->uuid, fs->super->s_uuid, sizeof(img->uuid));
	err = ext2fs_get_device_size2(img->path, fs->blocksize, &device_blocks);
	img->device_blocks = device_blocks;
	ret = err ? complain(img, "cannot determine the device's size", err) :
		    map_journal(img, fs, writable);
	ext2fs_close_free(&fs);
	return ret;
}

bool ext_lock(int fd)
{
	const struct timespec pause = { .tv_nsec = 100000000 };

	for (u32 tries = 0; flock(fd, LOCK_EX | LOCK_NB); tries++) {
		if (errno != EINTR && (errno != EWOULDBLOCK || tries == 50))
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/*
 * A writer needs exclusive access: no mount, no volume manager, no second zjctl.
 * Returns a descriptor, or -1 with a message.
 */
static int open_path(struct ext_image *img, const char *path, bool writable)
{
	int flags = (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC, fd;
	struct stat st;
	char what[4400];

	if (writable && !stat(path, &st) && S_ISBLK(st.st_mode))
		flags |= O_EXCL;
	fd = open(path, flags);
	if (fd < 0) {
		snprintf(what, sizeof(what), "%s%s%s", path == img->path ? "" : "its journal on ",
			 path == img->path ? "" : path,
			 errno == EBUSY ? "is in use; unmount it, stop what uses it (see lsblk), then try again" :
			 "cannot be opened; check name and permissions");
		return complain(img, what, errno);
	}
	if (writable && !ext_lock(fd)) {
		close(fd);
		return complain(img, "is locked by another program, perhaps a second zjctl; wait until it ends", 0);
	}
	return fd;
}

int ext_open(struct ext_image *img, const char *path, enum ext_how how)
{
	bool writable = how != EXT_READ;
	int mounted = 0;

	memset(img, 0, sizeof(*img));
	img->path = path;
	img->fd = -1;
	img->log_fd = -1;
	if (writable && !ext2fs_check_if_mounted(path, &mounted) &&
	    (mounted & EXT2_MF_MOUNTED))
		return complain(img, "is mounted; unmount it first", 0);
	/* Others are kept away first, so that what is read does not change. */
	img->fd = open_path(img, path, writable);
	if (img->fd < 0 || (how == EXT_WRITE && mmp_announce(img)) || read_layout(img, writable)) {
		ext_close(img);
		return -1;
	}
	return 0;
}

void ext_close(struct ext_image *img)
{
	mmp_release();
	if (img->log_fd >= 0 && img->log_fd != img->fd)
		close(img->log_fd);
	if (img->fd >= 0)
		close(img->fd);
	zj_map_clear(&img->map);
	img->fd = -1;
	img->log_fd = -1;
}

static int change_super(struct ext_image *img, const char *failure,
			bool (*change)(ext2_filsys fs))
{
	ext2_filsys fs;
	long err;

	/* Other users, also on other hosts, were kept away when it was opened. */
	err = ext2fs_open(img->path, EXT2_FLAG_RW | EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP,
			  0, 0, unix_io_manager, &fs);
	if (err)
		return complain(img, failure, err);
	if (change(fs)) {
		fs->flags |= EXT2_FLAG_SUPER_ONLY | EXT2_FLAG_MASTER_SB_ONLY;
		ext2fs_mark_super_dirty(fs);
	}
	err = ext2fs_close_free(&fs);
	if (!err && fsync(img->fd))
		err = errno;
	return err ? complain(img, failure, err) : 0;
}

/*
 * ext4 logs the counts of the groups, and adds them up at each mount; those of the superblock
 * are from the last clean unmount, which e2fsck -n calls wrong. Left alone where a group's
 * count cannot be trusted.
 */
static void add_up_groups(ext2_filsys fs)
{
	u64 clusters = 0, inodes = 0, blocks;

	for (u32 i = 0; i < fs->group_desc_count; i++) {
		if (!ext2fs_group_desc_csum_verify(fs, i))
			return;
		clusters += ext2fs_bg_free_blocks_count(fs, i);
		inodes += ext2fs_bg_free_inodes_count(fs, i);
	}
	blocks = EXT2FS_C2B(fs, clusters);
	if (blocks > ext2fs_blocks_count(fs->super) || inodes > fs->super->s_inodes_count)
		return;
	ext2fs_free_blocks_count_set(fs->super, blocks);
	fs->super->s_free_inodes_count = inodes;
}

/* Recovery may have written an image in which it is set. */
static bool clear_flag(ext2_filsys fs)
{
	if (!ext2fs_has_feature_journal_needs_recovery(fs->super))
		return false;
	ext2fs_clear_feature_journal_needs_recovery(fs->super);
	add_up_groups(fs);
	return true;
}

static bool set_error(ext2_filsys fs)
{
	fs->super->s_state |= EXT2_ERROR_FS;
	return true;
}

int ext_clear_needs_recovery(struct ext_image *img)
{
	int err;

	err = change_super(img, "recovered, but cannot clear needs_recovery; e2fsck can",
			   clear_flag);
	if (!err)
		img->needs_recovery = false;
	return err;
}

int ext_mark_errors(struct ext_image *img)
{
	return change_super(img, "cannot be marked for e2fsck; the log is kept", set_error);
}

void ext_drop_cached_journal(struct ext_image *img)
{
	u64 at;
	u32 n;

	for (u32 i = 0; i < img->journal_blocks; i += n) {
		n = zj_map_look(&img->map, i, img->journal_blocks - i, &at);
		posix_fadvise(img->log_fd, (off_t)at * img->block_size,
			      (off_t)n * img->block_size, POSIX_FADV_DONTNEED);
	}
}

static u64 ext_log_home(void *ctx, u32 block)
{
	struct ext_image *img = ctx;

	/* A journal's own device is no place that an image could go to. */
	return img->log_start ? ~0ULL : zj_map_block(&img->map, block);
}

static int ext_read_log(void *ctx, u32 block, u32 nr, void *buf)
{
	struct ext_image *img = ctx;
	int err = 0;
	u64 at;

	while (nr && !err) {
		u32 n = zj_map_look(&img->map, block, nr, &at);
		size_t bytes = (size_t)n * img->block_size;

		err = read_all(img->log_fd, buf, bytes, (off_t)at * img->block_size);
		buf += bytes;
		block += n;
		nr -= n;
	}
	return err;
}

int ext_read_home(struct ext_image *img, u64 block, void *buf)
{
	return read_all(img->fd, buf, img->block_size, (off_t)block * img->block_size);
}

static int write_all(int fd, const void *buf, size_t left, off_t at)
{
	while (left) {
		ssize_t n = pwrite(fd, buf, left, at);

		if (n <= 0 && !(n < 0 && errno == EINTR))
			return n < 0 ? -errno : -EIO;
		if (n > 0) {
			buf += n;
			at += n;
			left -= n;
		}
	}
	return 0;
}

int ext_write_run(struct ext_image *img, u64 block, u32 nr, const void *buf)
{
	return write_all(img->fd, buf, (size_t)nr * img->block_size,
			 (off_t)block * img->block_size);
}

int ext_write_journal(struct ext_image *img, u32 block, const void *buf)
{
	return write_all(img->log_fd, buf, img->block_size,
			 (off_t)zj_map_block(&img->map, block) * img->block_size);
}

int ext_flush_journal(struct ext_image *img)
{
	return fsync(img->log_fd) ? -errno : 0;
}

static int ext_home(void *ctx, u64 block, void *buf)
{
	return ext_read_home(ctx, block, buf);
}

static void ext_ahead_home(void *ctx, u64 block)
{
	struct ext_image *img = ctx;

	posix_fadvise(img->fd, (off_t)block * img->block_size, img->block_size,
		      POSIX_FADV_WILLNEED);
}

static int ext_write_home(void *ctx, u64 block, const void *buf)
{
	return ext_write_run(ctx, block, 1, buf);
}

static int ext_flush_home(void *ctx)
{
	struct ext_image *img = ctx;

	return fsync(img->fd) ? -errno : 0;
}

static int ext_write_log(void *ctx, u32 block, const void *buf)
{
	int err = ext_write_journal(ctx, block, buf);

	return err ? err : ext_flush_journal(ctx);
}

static void __printf(3, 4) ext_msg(void *ctx, int level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ext_message(ctx, level, text);
}

const struct zj_io_ops ext_ops = {
	.log_home = ext_log_home,
	.read_log = ext_read_log,
	.write_log = ext_write_log,
	.write_home = ext_write_home,
	.flush_home = ext_flush_home,
	.read_home = ext_home,
	.ahead_home = ext_ahead_home,
	.msg = ext_msg,
};
