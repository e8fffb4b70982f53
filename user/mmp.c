// SPDX-License-Identifier: GPL-2.0-only
/*
 * Multi-mount protection: a program that writes says so in the MMP block, as e2fsck does, so
 * that no host mounts the file system meanwhile.
 *
 * The mark is taken back however the program ends, but by SIGKILL and crashes. So what has to
 * be written then is made beforehand, and a signal handler can do it.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include "extimage.h"
#include "mmp.h"

#include <et/com_err.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

/* Those that end a program unless it says something else. */
static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM };

static struct {
	int	fd;		/* of the device */
	off_t	at;		/* of the MMP block on it */
	struct mmp_struct busy;	/* as we have written it */
	struct mmp_struct clean; /* as it is to be left */
} mark = { .fd = -1 };

static int complain(const struct ext_image *img, const char *text)
{
	ext_message(img, 0, text);
	return -1;
}

/* Only calls what a signal handler may call. What is not ours any more is left alone. */
void mmp_release(void)
{
	struct mmp_struct now;
	int fd = mark.fd;

	if (fd < 0)
		return;
	mark.fd = -1;
	/* Another host's write is not in this one's page cache. */
	posix_fadvise(fd, mark.at, sizeof(now), POSIX_FADV_DONTNEED);
	if (pread(fd, &now, sizeof(now), mark.at) == sizeof(now) &&
	    !memcmp(&now, &mark.busy, sizeof(now)) &&
	    pwrite(fd, &mark.clean, sizeof(now), mark.at) == sizeof(now))
		fsync(fd);
	close(fd);
}

static void end_by_signal(int sig)
{
	mmp_release();
	/* SA_RESETHAND: this time it ends the program. */
	raise(sig);
}

static void catch_signals(void)
{
	struct sigaction act = { .sa_handler = end_by_signal, .sa_flags = SA_RESETHAND }, old;

	for (u32 i = 0; i < ARRAY_SIZE(signals); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &act, NULL);
}

static int refuse(const struct ext_image *img, const struct mmp_struct *mmp, long err)
{
	char text[4608];

	if (err == EXT2_ET_MMP_FAILED)
		snprintf(text, sizeof(text), "is in use on host %.64s (device %.32s); unmount it there",
			 mmp->mmp_nodename, mmp->mmp_bdevname);
	else if (err == EXT2_ET_MMP_FSCK_ON)
		snprintf(text, sizeof(text), "e2fsck or zjctl is running on it on host %.64s; if none is: tune2fs -E clear_mmp -f %s",
			 mmp->mmp_nodename, img->path);
	else
		snprintf(text, sizeof(text), "the multi-mount protection block cannot be used (%s); if no other host uses the device: tune2fs -E clear_mmp -f %s",
			 error_message(err), img->path);
	return complain(img, text);
}

/* The library waits this long before it takes a mark, and as long if one was left behind. */
static void tell_of_wait(const struct ext_image *img, ext2_filsys fs)
{
	u32 interval = max_t(u32, fs->super->s_mmp_update_interval, EXT4_MMP_MIN_CHECK_INTERVAL);
	u32 wait = min_t(u32, 2 * interval + 1, interval + 60);
	char text[128];

	if (!ext2fs_mmp_read(fs, fs->super->s_mmp_block, fs->mmp_buf) &&
	    ((struct mmp_struct *)fs->mmp_buf)->mmp_seq != EXT4_MMP_SEQ_CLEAN)
		wait *= 2;
	snprintf(text, sizeof(text), "waiting %u s to see whether another host uses it", wait);
	ext_message(img, 1, text);
}

static int remember(const struct ext_image *img, ext2_filsys fs)
{
	mark.at = (off_t)fs->super->s_mmp_block * fs->blocksize;
	mark.clean = *(struct mmp_struct *)fs->mmp_buf;
	mark.clean.mmp_seq = EXT4_MMP_SEQ_CLEAN;
	ext2fs_mmp_csum_set(fs, &mark.clean);
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		ext2fs_swap_mmp(&mark.clean);
	mark.fd = fcntl(img->fd, F_DUPFD_CLOEXEC, 0);
	if (mark.fd >= 0 &&
	    pread(mark.fd, &mark.busy, sizeof(mark.busy), mark.at) == sizeof(mark.busy))
		return 0;
	if (mark.fd >= 0)
		close(mark.fd);
	mark.fd = -1;
	return complain(img, "the multi-mount protection block cannot be read again");
}

/*
 * A kill while the library waits leaves a mark that is neither "in use" nor "checked": the
 * next one then waits twice as long. A mark that may be another host's is not touched.
 */
static int take_mark(const struct ext_image *img, ext2_filsys fs)
{
	long err;

	if (!ext2fs_has_feature_mmp(fs->super))
		return 0;
	err = ext2fs_get_mem(fs->blocksize, &fs->mmp_buf);
	if (err)
		return refuse(img, NULL, err);
	memset(fs->mmp_buf, 0, fs->blocksize);
	tell_of_wait(img, fs);
	err = ext2fs_mmp_start(fs);
	if (err)
		return refuse(img, fs->mmp_buf, err);
	if (remember(img, fs)) {
		ext2fs_mmp_stop(fs);
		return -1;
	}
	catch_signals();
	atexit(mmp_release);
	return 0;
}

#define OPEN_FLAGS (EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS | EXT2_FLAG_SKIP_MMP)

/* The library writes to no file system with a feature that it does not know. */
static int refuse_unknown(const struct ext_image *img, long err)
{
	ext2_filsys fs;
	int ret = 0;

	if (ext2fs_open(img->path, OPEN_FLAGS, 0, 0, unix_io_manager, &fs))
		return 0;	/* read_layout() will say it */
	if (ext2fs_has_feature_mmp(fs->super))
		ret = refuse(img, NULL, err);
	ext2fs_free(fs);
	return ret;
}

int mmp_announce(const struct ext_image *img)
{
	ext2_filsys fs;
	long err;
	int ret;

	initialize_ext2_error_table();
	err = ext2fs_open(img->path, EXT2_FLAG_RW | OPEN_FLAGS, 0, 0, unix_io_manager, &fs);
	if (err)
		return refuse_unknown(img, err);
	fs->flags &= ~EXT2_FLAG_SKIP_MMP;
	ret = take_mark(img, fs);
	/* Not ext2fs_close(): it takes the mark back, and writes the super block. */
	ext2fs_free(fs);
	return ret;
}
