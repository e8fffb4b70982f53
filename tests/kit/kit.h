/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a file system that a journal uses, for every test that runs one: the simulator,
 * the schedules, the threads, the unit tests of the core, the yardstick.
 *
 * The kit has the super block, the journal's inode and its place on the disk, and the
 * functions of the kernel that a journal calls for a file system.  What files and blocks
 * hold, and what is done to them, is each test's own.
 *
 * It is compiled with each of these programs; JOURNAL_H is the journal's header.
 */
#ifndef ZJ_TESTS_KIT_H
#define ZJ_TESTS_KIT_H

#include JOURNAL_H

struct kl_disk;
struct zj_journal;

/**
 * struct kit - a file system, as its journal sees it
 */
struct kit {
	u32		first;		/* disk block that the journal's block 0 is */
	u32		blocks;		/* of the journal */
	u32		piece;		/* blocks of it in one piece, then comes another's; 0: all */
	struct block_device *dev;	/* of the journal's own; NULL: it is in an inode */
	bool		stock_numbers;	/* its blocks are numbered as those of the device */
	struct super_block sb;
	struct inode	journal;	/* the journal's inode; tests may change its map */
};

/* The block of a journal's own device that its block 0 is, with blocks of 1 KiB. */
#define KIT_START	2u

/* The disk block that a block of the journal is. */
u64 kit_place(const struct kit *kit, u64 block);
/* Blocks of the journal, as recovery counts them. */
u32 kit_log_blocks(const struct kit *kit);
/* Blocks of a disk whose last one is a journal's. */
u32 kit_disk_blocks(const struct kit *kit);
/* Super block and the journal's inode; first, blocks and piece are set. @uuid: 16 characters. */
void kit_init(struct kit *kit, struct block_device *bdev, u32 block_size, const char *uuid);
/*
 * An empty journal, as mke2fs leaves it: its first transaction will be @sequence, its
 * incompatible features are these.
 */
void kit_make_journal(const struct kit *kit, struct kl_disk *disk, u32 sequence, u32 features);
#define KIT_CSUM_V3	0x10u

/* An inode of the file system. */
void kit_inode(struct kit *kit, struct inode *inode, unsigned long number);
/* The journal, with barriers, not loaded yet; or an error. */
journal_t *kit_open(struct kit *kit);
/* It calls what is declared below. */
void kit_call_back(journal_t *journal);
/* A buffer of the file system, up to date; sleeps. */
struct buffer_head *kit_read(const struct kit *kit, u32 block);
/* Data of one block, past the journal; bi_end_io is set. */
void kit_write(const struct kit *kit, struct bio *bio, u32 block, void *data);

/* ---- what each test has of its own ---- */

/* The data of an inode in a range: begin to write it; wait for it. */
int submit_data(struct jbd2_inode *range);
int finish_data(struct jbd2_inode *range);
void commit_callback(journal_t *journal, transaction_t *txn);

/* Called when a journal has been loaded, or with NULL before it is freed; may be NULL. */
extern void (*kit_loaded)(struct zj_journal *zj);

/* ---- report.c: only over the simulator ---- */

/* From now on a check that fails, or a simulation that hangs, prints the journal. */
void kit_report_failures(void);

/* ---- memory.c: only over the simulator ---- */

struct kl_pmem;

/*
 * Persistent memory for the journal, as journal_nvm= finds it and with the disk in one
 * log; with what a power cut left there, or formatted (@contents is NULL). @uuid: 16
 * characters.
 */
struct kl_pmem *kit_memory(const struct kit *kit, struct kl_disk *disk, u32 size,
			   const char *uuid, const u8 *contents);

#endif
