/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recovery: scan all segments, find the committed components, write their newest
 * images home, then empty the log with one durable write.
 *
 * The code behind this header does no I/O of its own.  The module, zjctl, the
 * simulator and the fuzzer give it a table of operations.
 */
#ifndef ZJOURNAL_RECOVERY_H
#define ZJOURNAL_RECOVERY_H

#include <linux/types.h>
#include <zjournal/format.h>

#define ZJ_READ_SLOTS	16	/* reads of the log that are waited for one by one */

/**
 * struct zj_io_ops - the operations that recovery needs of its host
 * @log_home: return the block of the file system that journal block @block is; NULL if
 *	the journal is not within the file system
 * @read_log: read @nr journal blocks from @block on into @buf
 * @start_read: begin such a read, as one of the reads of @slot, which is below
 *	ZJ_READ_SLOTS. NULL for a host that reads nothing ahead
 * @end_read: wait for all reads of @slot. Return an error if any of them failed; then
 *	recovery reads the blocks that it needs once more with @read_log
 * @write_log: write one journal block; it is on stable storage on return (by FUA, or by
 *	a write and a flush)
 * @write_home: write one block of the file system; need not be durable
 * @flush_home: make everything durable that @write_home has written
 * @read_home: read one block of the file system; for logs in memory only
 * @ahead_home: begin to read this block, which @read_home will soon be asked for. NULL for
 *	a host that reads nothing ahead
 * @fast_commit: give one block of stock's fast commit area to the file system: with @replay
 *	false, to find out whether it can replay it, else to replay it. @index counts from
 *	the first block of the area, and @tid is the transaction that fast commits which
 *	count belong to. Return 1 to go on with the next block, 0 if this block and those
 *	after it hold nothing, -EBADMSG if not even the first fast commit is whole, or
 *	another negative errno. NULL for a host that cannot replay fast commits
 * @room: return how many bytes copies of images may take; images that find no room are
 *	read again. NULL: none
 * @progress: @done of @total parts of what takes long, @what, are done. Called often, so that
 *	the host decides when to tell. NULL for a host that tells nothing
 * @msg: print one line; @level is 0 for an error, 1 for a notice
 *
 * Operations that return int return 0 or a negative errno, and may sleep.  Recovery passes
 * @ctx on to them.
 */
struct zj_io_ops {
	u64 (*log_home)(void *ctx, u32 block);
	int (*read_log)(void *ctx, u32 block, u32 nr, void *buf);
	void (*start_read)(void *ctx, u32 slot, u32 block, u32 nr, void *buf);
	int (*end_read)(void *ctx, u32 slot);
	int (*write_log)(void *ctx, u32 block, const void *buf);
	int (*write_home)(void *ctx, u64 block, const void *buf);
	int (*flush_home)(void *ctx);
	int (*read_home)(void *ctx, u64 block, void *buf);
	void (*ahead_home)(void *ctx, u64 block);
	int (*fast_commit)(void *ctx, bool replay, u32 index, void *block, u32 tid);
	u64 (*room)(void *ctx);
	void (*progress)(void *ctx, const char *what, u32 done, u32 total);
	__printf(3, 4)
	void (*msg)(void *ctx, int level, const char *fmt, ...);
};

/**
 * struct zj_log_geometry - the log super block, decoded and checked
 */
struct zj_log_geometry {
	u8	uuid[16];	/* of the file system; seeds all checksums */
	u64	generation;	/* of the records that count */
	u32	version;	/* of the format, as it was read */
	u32	block_size;	/* bytes */
	u32	total_blocks;	/* journal blocks */
	u32	log_first;	/* journal block of segment 0 */
	u32	seg_blocks;	/* blocks per segment */
	u32	nr_segs;	/* segments */
	u32	nr_lanes;	/* lanes that wrote it */
	u64	ckpt_stamp;	/* the checkpoint stamp when this generation began */
};

/**
 * struct zj_recovery_stats - what a scan found and a replay did
 */
struct zj_recovery_stats {
	u64	ckpt_stamp;	/* components up to this stamp are home */
	u64	committed_stamp;	/* all up to this one were committed; 0: not known */
	u64	lost_stamp;	/* the first that the device has lost, or may have lost; 0: none */
	u64	newest_stamp;	/* highest stamp of a committed component; 0: none */
	u32	chunks;		/* good chunks above the checkpoint stamp */
	u32	torn_chunks;	/* headers good, an image's checksum bad */
	u32	components;	/* components above the checkpoint stamp, in any state */
	u32	committed_components;	/* those that are replayed */
	u32	transactions;	/* members of committed components */
	u32	discarded;	/* members seen of components that are not committed */
	u32	images;		/* images in committed components */
	u32	revoked;	/* images suppressed by a revoke */
	u32	replayed;	/* blocks to write home; written unless dry_run */
	u32	fast_blocks;	/* blocks of fast commits that were replayed */
	u32	unread_blocks;	/* blocks of the log that cannot be read */
};

#define ZJ_RECOVER_DRY_RUN	0x1	/* check and count only, write nothing */
/*
 * If the log is damaged below its committed stamp, or a block that cannot be read may hold
 * what was durable, replay the components that are older and give up the rest. If there is
 * a lost_stamp afterwards, the file system needs a full e2fsck, as some blocks of the
 * components that were given up may be home already.
 */
#define ZJ_RECOVER_DROP_DAMAGED	0x2

/**
 * struct zj_recovery_args - what recovery has to know, whatever the log's format is
 */
struct zj_recovery_args {
	const struct zj_io_ops *ops;	/* the host's I/O */
	void	*ctx;		/* passed through to @ops */
	u32	block_size;	/* bytes; the log must say the same */
	u32	journal_blocks;	/* length of the journal; the log must fit in it */
	u64	fs_blocks;	/* blocks that the device has room for, in units of @block_size; a
				 * tag beyond is corruption. Not the superblock's count: that may
				 * itself be in the log, larger, after an online resize.
				 */
	unsigned int flags;	/* ZJ_RECOVER_* */
	struct zj_recovery_stats *stats; /* filled in, also on error as far as known */
};

/**
 * zj_recover() - bring the file system to the newest committed state
 * @args: the device and what to do
 * @uuid: uuid of the file system, 16 bytes; if the log has another one, a notice is printed
 *
 * Call only if block 0 carries ZJ_JBD2_INCOMPAT_LANES.  Nothing is written
 * before everything is read and checked.  Restartable: a crash anywhere inside
 * and another call give the same file system.  On success the log super block
 * has a new generation, that is, the log is empty.
 *
 * Context: process context, sleeps.
 * Return: 0; -EUCLEAN with a message naming the damage when the log cannot be
 * trusted; -ENOMEM; or the error of a failed operation.
 */
int zj_recover(const struct zj_recovery_args *args, const u8 *uuid);

/**
 * zj_recover_jbd2() - the same for a log in stock's format
 * @args: the device and what to do; write_log() is not used
 * @sb: block 0 of the journal, checked against the block size, s_start not 0
 * @sequence: set to the number after the last transaction replayed
 *
 * Call only if block 0 does not carry ZJ_JBD2_INCOMPAT_LANES. On success all images are
 * home, and fast commits replayed, durably. The caller then empties the log with a new
 * block 0, and gives the next transaction a number above @sequence.
 *
 * Context: process context, sleeps.
 * Return: 0; -EUCLEAN with a message naming the damage; -EOPNOTSUPP with a message if
 * there are fast commits and the host cannot replay them; -ENOMEM; or the error of a
 * failed operation.
 */
int zj_recover_jbd2(const struct zj_recovery_args *args, const struct zj_jbd2_super *sb,
		    u32 *sequence);

/**
 * struct zj_nvm_area - memory that holds a log
 */
struct zj_nvm_area {
	const void *base;	/* all of it, mapped */
	u64	size;		/* bytes, as its super block says */
	u64	generation;	/* of the log, as block 0 says */
};

/**
 * zj_recover_nvm() - the same for a log in byte-addressable memory
 * @args: the device and what to do; read_home() is needed, read_log() and write_log() are
 *	not, and nothing that is damaged is dropped
 * @area: the memory, its super block checked against block 0
 *
 * Call only if block 0 carries ZJ_JBD2_INCOMPAT_NVM. Nothing is written before
 * everything is read and checked, and nothing is written to the memory at all. On success
 * all images are home, durably, and the caller empties the log with a new block 0.
 * Restartable.
 *
 * Context: process context, sleeps.
 * Return: 0; -EUCLEAN with a message naming the damage; -ENOMEM; or the error of a
 * failed operation.
 */
int zj_recover_nvm(const struct zj_recovery_args *args, const struct zj_nvm_area *area);

#endif /* ZJOURNAL_RECOVERY_H */
