/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zjdisk: RAM disks for crash tests.
 *
 * A page, once in a disk's content or in a recording, never changes again: a
 * write always brings new pages.  So contents, base snapshots and recordings
 * share pages by reference count, and a rebuild copies pointers.
 */
#ifndef ZJDISK_H
#define ZJDISK_H

#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include "compat.h"

#define ZJD_PAGE_SECTORS	(PAGE_SIZE / SECTOR_SIZE)
#define ZJD_FAULTS		4

/* What became of a recorded write in the last rebuild. */
enum zjd_fate { ZJD_UNSEEN, ZJD_DURABLE, ZJD_KEPT, ZJD_TORN, ZJD_LOST };

/**
 * struct zjd_write - one write, in flight and then in a recording
 * @node: in zjd_dev.writes, which is in the order of @data
 * @ref: one for the request, one for the recording
 * @submit: sequence number of its submission
 * @data: sequence number of the moment when the disk took the data; 0: not yet
 * @done: sequence number of its completion; 0: not seen
 * @sector: first sector
 * @nsect: number of sectors
 * @op: its REQ_* flags
 * @fua: durable once completed
 * @discard: a discard: its pages have what reads find in a discarded range
 * @fate: enum zjd_fate
 * @npages: number of @pages
 * @pages: the data, placed as in the disk's pages
 */
struct zjd_write {
	struct list_head node;
	refcount_t ref;
	u64 submit;
	u64 data;
	u64 done;
	sector_t sector;
	u32 nsect;
	u32 op;
	bool fua;
	bool discard;
	u8 fate;
	u32 npages;
	struct page *pages[] __counted_by(npages);
};

/**
 * struct zjd_flush - one recorded cache flush
 * @node: in zjd_dev.flushes
 * @submit: sequence number of its start: covers the writes done before
 * @done: sequence number of its completion
 */
struct zjd_flush {
	struct list_head node;
	u64 submit;
	u64 done;
};

enum zjd_fault_op { ZJD_FAIL_NONE, ZJD_FAIL_READ, ZJD_FAIL_WRITE, ZJD_FAIL_FLUSH };

/**
 * struct zjd_fault - one rule of error injection
 * @op: which requests (ZJD_FAIL_FLUSH: those that ask for a flush)
 * @first: first sector of the range, for reads and writes
 * @last: last sector of the range
 * @skip: how many matching requests still pass
 * @count: how many fail then
 */
struct zjd_fault {
	enum zjd_fault_op op;
	u64 first;
	u64 last;
	u64 skip;
	u64 count;
};

/**
 * struct zjd_stats - counters since load or the command "stats"
 * @reads: read requests
 * @writes: write requests with data
 * @fua: of those, with FUA
 * @discards: discards
 * @flushes: cache flushes carried out
 * @failed: requests failed on purpose
 * @changed: writes whose data the submitter changed before completion
 * @changed_meta: of those, with REQ_META: a broken rule of the file system
 */
struct zjd_stats {
	u64 reads;
	u64 writes;
	u64 fua;
	u64 discards;
	u64 flushes;
	u64 failed;
	u64 changed;
	u64 changed_meta;
};

/**
 * struct zjd_hold - which writes, or reads, are held
 * @on: those that touch the sectors from @first to @last are
 * @first: first sector
 * @last: last sector
 * @held: they wait here
 * @nr: their number
 */
struct zjd_hold {
	bool on;
	u64 first;
	u64 last;
	struct list_head held;
	u32 nr;
};

/**
 * struct zjd_dev - one disk
 * @nr: its number
 * @disk: its gendisk
 * @npages: size in pages
 * @sem: read: a rebuild uses the recording; write: recording starts, stops,
 *	or the content is replaced
 * @lock: guards all that follows
 * @pages: content; NULL reads as zeros
 * @base: content when the recording began
 * @writes: recorded writes
 * @flushes: recorded flushes
 * @rec_bytes: size of the recorded data
 * @seq: last sequence number
 * @recording: requests are recorded
 * @full: the recording ended because max_rec_mb was reached
 * @dead: power is off: everything fails
 * @cache: volatile write cache
 * @fua: FUA is done by the disk itself (else write + flush)
 * @lat_us: latency of every request
 * @jitter_us: upper bound of a random addition, which also reorders
 * @flush_us: latency of a flush, in place of @lat_us
 * @seek_us: time that the one head takes to another place
 * @rate: bytes in a millisecond that pass under it; 0: many heads, each as fast as memory
 * @head: sector that it is at
 * @idle_at: when it has done all that it was asked for, in ns; of use without @depth
 * @depth: requests among which it chooses the nearest; 0: it serves them as they come
 * @room: the places for them: a task that finds none free sleeps
 * @waiting: those that wait for the head
 * @busy: the one that has it
 * @holds: [READ] and [WRITE]: what waits for a command
 * @faults: error injection
 * @stats: counters
 * @rebuilt: text about the last rebuild into this disk
 * @plain: for benches: writes change pages in place that nothing else holds, and nothing is
 *	compared, so that the CPU copies a block once and does nothing else for it; not recorded
 * @spare: pages for what was never written, of such a disk
 */
struct zjd_dev {
	int nr;
	struct gendisk *disk;
	u64 npages;
	struct rw_semaphore sem;
	spinlock_t lock;
	struct page **pages;
	struct page **base;
	struct list_head writes;
	struct list_head flushes;
	u64 rec_bytes;
	u64 seq;
	bool recording;
	bool full;
	bool dead;
	bool cache;
	bool fua;
	u32 lat_us;
	u32 jitter_us;
	u32 flush_us;
	u32 seek_us;
	u64 rate;
	u64 head;
	u64 idle_at;
	u32 depth;
	struct semaphore room;
	struct list_head waiting;
	struct zjd_req *busy;
	struct zjd_hold holds[2];
	struct zjd_fault faults[ZJD_FAULTS];
	struct zjd_stats stats;
	char rebuilt[160];
	bool plain;
	struct list_head spare;
};

/* How volatile writes are treated; one of these per rebuild, as a rule by the seed. */
enum zjd_policy { ZJD_HALF, ZJD_FEW, ZJD_MOST, ZJD_NONE, ZJD_ALL, ZJD_PREFIX, ZJD_POLICIES };

/**
 * struct zjd_cut - which power cut a rebuild is to show
 * @seq: requests and marks up to this number have happened
 * @seed: of every random choice
 * @lie: bits; 1: the disk ignored flushes, 2: FUA, 4: the last flush before the
 *	cut; a test of the tests, which must notice
 * @whole: writes that begin below this sector are never torn
 * @policy: 0: which volatile writes stay is random; else 1 + enum zjd_policy
 */
struct zjd_cut {
	u64 seq;
	u64 seed;
	u32 lie;
	u64 whole;
	u32 policy;
};

extern struct zjd_dev *zjd_devs;
extern int zjd_ndev;
extern unsigned int zjd_max_rec_mb;
extern struct page *zjd_discarded;

/* main.c */
struct page **zjd_alloc_table(u64 npages);
void zjd_free_table(struct page **table, u64 npages);
struct page **zjd_copy_table(struct page **from, u64 npages);
void zjd_put_pages(struct list_head *pages);

/* io.c */
extern const struct block_device_operations zjd_fops;
void zjd_put_write(struct zjd_write *w);
void zjd_release(struct zjd_dev *dev, int op);

/* control.c */
int zjd_control_init(void);
void zjd_control_exit(void);

/* rebuild.c */
int zjd_record_start(struct zjd_dev *dev);
void zjd_record_stop(struct zjd_dev *dev);
void zjd_record_clear(struct zjd_dev *dev);
int zjd_rebuild(struct zjd_dev *dst, struct zjd_dev *src, const struct zjd_cut *cut);

#endif
