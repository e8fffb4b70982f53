/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An ext4 file system on a file or device, not mounted: where its journal is,
 * perhaps on a device of its own, and recovery's I/O on it.
 */
#ifndef ZJ_EXTIMAGE_H
#define ZJ_EXTIMAGE_H

#include <linux/types.h>
#include <zjournal/recovery.h>
#include "format/journal_map.h"

/**
 * struct ext_image - an open file system
 */
struct ext_image {
	const char *path;
	int	fd;
	bool	needs_recovery;	/* the file system's feature */
	u8	uuid[16];	/* of the file system */
	u32	block_size;	/* bytes */
	u64	device_blocks;	/* that the device has room for */
	u32	inode_blocks;	/* length of the journal's inode or device */
	u32	journal_blocks;	/* length of the journal, as its block 0 says */
	struct zj_map map;	/* of the journal's blocks, on the device that it is on */
	int	map_err;	/* why the map ends before the journal, or 0 */
	int	log_fd;		/* that device: fd, or the journal's own */
	u32	log_start;	/* block of it that block 0 is; 0: the journal is in an inode */
	u32	log_blocks;	/* blocks that block 0 says this device has */
	char	log_path[4096];	/* the journal's own device, or "" */
};

/* May be closed. */
#define EXT_CLOSED	{ .fd = -1, .log_fd = -1 }

/*
 * Fills in img->log_path: the journal's own device, which has this uuid, and which the file
 * system last knew by this number. Returns false if there is none. The default knows none.
 */
extern bool (*ext_find_journal)(struct ext_image *img, const u8 *uuid, u32 dev);

/*
 * Numbers the blocks of a journal's own device as lanes do, or as stock does. 0, or -1 with a
 * message.
 */
int ext_number_blocks(struct ext_image *img, bool lanes);
/* Writes a block of the journal; need not be durable. 0 or a negative errno. */
int ext_write_journal(struct ext_image *img, u32 block, const void *buf);
/* Makes durable what was written to the journal; same returns. */
int ext_flush_journal(struct ext_image *img);

/*
 * Excludes other programs that lock the device. udev holds its shared lock for a moment
 * whenever a device appears, so a lock that is held is tried again for five seconds.
 */
bool ext_lock(int fd);

/* What others may do meanwhile. */
enum ext_how {
	EXT_READ,	/* anything */
	EXT_WRITE,	/* nothing, on other hosts neither (mmp.h) */
	EXT_LOCK,	/* nothing on this host: to see whether there is something to write */
};

/* 0, or -1 with a message. */
int ext_open(struct ext_image *img, const char *path, enum ext_how how);
void ext_close(struct ext_image *img);
/* Clear needs_recovery in the primary superblock, durably; same returns. */
int ext_clear_needs_recovery(struct ext_image *img);
/* The next e2fsck checks everything; same returns. */
int ext_mark_errors(struct ext_image *img);
/* Read the journal from the device, not from the page cache. */
void ext_drop_cached_journal(struct ext_image *img);

/* One block of the file system; 0 or a negative errno. */
int ext_read_home(struct ext_image *img, u64 block, void *buf);

/* Adjacent blocks, in one write; 0 or a negative errno. */
int ext_write_run(struct ext_image *img, u64 block, u32 nr, const void *buf);

/* Recovery's operations; the context is a struct ext_image. */
extern const struct zj_io_ops ext_ops;

/* Where messages go, one line each; @level as in zj_io_ops. Default: stderr, stdout. */
extern void (*ext_message)(const struct ext_image *img, int level, const char *text);

#endif /* ZJ_EXTIMAGE_H */
