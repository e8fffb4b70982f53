/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fresh journal on a simulated disk for every test, and the means to drive it
 * with one exact schedule.
 *
 * No task is ever switched away from unless it waits, so the test's own fiber
 * plays any number of handles in turn: what it does, happens in that order.  The
 * lanes' threads run when the test waits or calls let_run().  What has to wait in
 * the middle of a call runs in a fiber of its own; it can be stopped before it
 * takes a given lock (stop_before()), or preempted at every place in turn
 * (preempt_at()).  Device requests can be held back.
 *
 * Every test runs in a child process: a failed one takes nothing with it.
 */
#ifndef ZJ_UNIT_FIXTURE_H
#define ZJ_UNIT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "recovery/recovery_int.h"
#include "disk.h"
#include "kit.h"

#define HOME_BLOCKS	2048u	/* blocks before the journal */
#define BLOCK		8	/* first block of a test's own choice */
#define MAX_CALLS	64
#define MEMORY_UUID	"unit-test-memory"

/* ---- tests ---- */

void run_in_child(void **state);
#define CORE_TEST(fn)	{ #fn, run_in_child, NULL, NULL, (void *)(fn) }
#define CORE_TESTS(name, ...)						\
	const struct CMUnitTest name##_tests[] = { __VA_ARGS__ };	\
	const size_t nr_##name##_tests = ARRAY_SIZE(name##_tests)

/* ---- the journal ---- */

/**
 * struct setup - what a journal is made of
 */
struct setup {
	u32	lanes;		/* as the mount option; 0: one for each CPU */
	u32	cpus;		/* 0: as many as lanes */
	u32	journal;	/* blocks */
	u32	hole;		/* journal block that the inode lacks; 0: none */
	bool	no_cache;	/* the device has no volatile cache */
	bool	no_fua;		/* the device does not know FUA */
	bool	at_once;	/* every second request ends before submit_bio() returns */
	bool	one_head;	/* the disk needs a seek for each request */
	bool	unpinned;	/* lanes are not of CPUs */
	bool	jbd2;		/* a log in stock's format */
	bool	external;	/* the journal has a device of its own, with a cache and FUA */
	bool	ext_no_cache;	/* but without a cache */
	bool	ext_no_fua;	/* but without FUA */
	bool	pipeline;	/* lanes have flush threads */
	u32	versions;	/* 0: the default */
	bool	by_task;	/* a task that syncs commits in an idle lane */
	bool	no_coalesce;
	u32	nvm;		/* a log in so many bytes of memory; 0: none */
	bool	log_blocks;	/* it logs whole blocks */
	bool	nvm_queues;	/* the memory has queues that must be flushed */
	u32	info_max;	/* bytes of a TxnInfo; 0: the default */
	bool	log_check;	/* it checks the ranges that are declared */
	u32	features;	/* incompatible ones of the journal; 0: checksum 3 */
	bool	new;		/* leave it as mounted: nothing committed yet */
};

enum call_what { CALL_COMMIT = 1, CALL_SUBMIT, CALL_FINISH };

/**
 * struct call - a callback that the journal made
 */
struct call {
	enum call_what	what;
	tid_t		tid;
	struct inode	*inode;		/* of ordered data */
	loff_t		start, end;	/* of ordered data */
	u32		when;		/* length of the disk's log */
};

/**
 * struct fixture - the journal of the running test
 */
struct fixture {
	struct setup	setup;
	struct kl_disk	*disk;
	struct kl_pmem	*pmem;		/* setup.nvm */
	const u8	**initial;	/* the disk before the mount */
	struct kit	kit;
	journal_t	*journal;	/* NULL: not mounted */
	struct zj_journal *zj;		/* the same */
	struct call	call[MAX_CALLS]; /* the newest */
	int		nr_calls;
	void		(*on_commit)(struct zj_txn *txn); /* or NULL */
	void		(*on_dirty)(struct buffer_head *bh); /* or NULL */
	void		(*on_alloc)(struct kmem_cache *cache); /* or NULL */
	void		(*on_finish)(void); /* in the finish callback, or NULL */
	bool		hold_submit;	/* the submit callback does not return */
	int		submit_err, finish_err; /* what these callbacks return */
	/* ext4's replay of fast commits, or NULL */
	int		(*fc_replay)(journal_t *journal, struct buffer_head *bh,
				     enum passtype pass, int off, tid_t tid);
	u32		data_block;	/* that submit writes, finish waits for */
	bool		read_only;	/* the device */
	char		messages[4096];	/* of the journal */
	char		errors[4096];	/* those that are errors */
	void		(*on_message)(void); /* or NULL */

	u64		last_request;	/* of the disk, when seen last */
	u32		reads_sent;	/* of the disk, when seen last */
	u32		nr_requests;	/* with setup.at_once */
	bool		hold_lane[ZJ_MAX_LANES]; /* records stay in flight */
	u32		hold_block;	/* a write of this block does; 0: none */
	bool		hold_flush;	/* flushes do */
};

extern struct fixture fx;

/* A disk with an empty journal; nothing is mounted, the simulator runs. */
void make_disk(const struct setup *setup);
/* The disk as a power cut leaves it; nothing of the old mount is left. */
struct image;
void make_disk_of(const struct setup *setup, const struct image *image);
/* Init and load, with the callbacks set. */
int mount_journal(void);
/* From here on zj_journal_data_written() is called, as options.data_reported would say. */
void report_data(void);
/* These options from here on, for the others their defaults: RECONFIGURE(.versions = 2). */
#define RECONFIGURE(...)						\
	zj_journal_reconfigure(fx.journal,				\
			       &(struct zj_live_options){ __VA_ARGS__ })
/* Destroy, then everything must have been freed. */
int unmount_journal(void);
/* Ends a test in which no journal is mounted. */
void discard_disk(void);

void open_journal(const struct setup *setup);
/* A live journal with everything home and reclaimed: stamp and checkpoint stamp are 1. */
#define OPEN(...)							\
	open_journal(&(const struct setup){ .lanes = 2, .journal = 2048,\
					    __VA_ARGS__ })
/* Unmounts; fails if something went wrong or a handle is open. */
void close_journal(void);
/* After an abort. */
void close_aborted(void);

static inline struct zj_lane *lane(u32 i)
{
	return &fx.zj->lanes[i];
}

/* Unions of all causes. */
u64 unions(u32 lane);
u64 dependencies(u32 lane);

/* The journal block @b on the disk. */
u32 jblock(u32 b);
/* A device block in segment @seg. */
u32 seg_block(u32 seg, u32 b);
bool said(const char *text);
/* The same, as an error message. */
bool complained(const char *text);
void expect_warning(const char *text);
/* The warning has come. */
void warned(void);

/* ---- handles; the test's fiber plays their owners ---- */

handle_t *start(u32 lane, int credits);
handle_t *start_more(u32 lane, int credits, int rsv, int revokes);
/* Makes this fiber the handle's owner; NULL: it has no handle open. */
void own(handle_t *h);
int stop(handle_t *h);
struct buffer_head *buffer(u32 block);
bool is_dirty(u32 block);
/* Write access only. */
void get_access(handle_t *h, u32 block);
int dirty(handle_t *h, u32 block, u8 val);
/* Write access, contents, dirty. */
void put(handle_t *h, u32 block, u8 val);
void forget(handle_t *h, u32 block);
int revoke_block(handle_t *h, u32 block);
/* Gives both handles access to a block, which ties their transactions together. */
void tie(handle_t *a, handle_t *b, u32 block);
/* The value in the buffer. */
u8 live_val(u32 block);
/* One handle that writes one block; returns its tid. */
tid_t change(u32 lane, u32 block, u8 val);
/* The running transaction of a lane, referenced until txn_put(). */
struct zj_txn *running(u32 lane);
struct zj_txn *txn_of(tid_t tid);
struct zj_part *part_of(struct zj_txn *txn, u32 block);
/* The part of the newest owner; NULL: the block has none. */
struct zj_part *newest_part(u32 block);
bool depends(struct zj_txn *txn, struct zj_txn *on);
enum zj_txn_stage stage_of(tid_t tid);
/* Close a lane; without open handles it is sealed then, but not written. */
void seal(u32 lane);
/* The same, and its records are in flight until release(). */
void seal_held(u32 lane);
/* Close a lane, wait until that is committed. */
void commit(u32 lane);

/**
 * struct file - an inode with ordered or journaled data
 */
struct file {
	struct inode	inode;
	struct jbd2_inode jinode;
	struct sim_page	*page;		/* its only folio, or NULL */
};

void file_init(struct file *file);
/* A folio of journaled data, its buffers at @block and the one after. */
void file_page(struct file *file, u32 block);
struct buffer_head *page_bh(struct file *file, u32 i);
/* Access, contents, dirty. */
void put_page_block(handle_t *h, struct file *file, u32 i, u8 val);
/* Frees the file; fails if its buffers are still in use. */
/* Logs a block as an fsync does: the device's buffer gets the data. */
void log_block(handle_t *h, u32 block, u8 val);
void file_exit(struct file *file);

/* ---- fibers ---- */

/**
 * struct fiber - a call that may wait
 */
struct fiber {
	void		(*fn)(struct fiber *f);
	u32		cpu;
	handle_t	*h;
	u32		block;
	int		n;
	tid_t		tid;
	void		*p;
	long		ret;

	struct sim_task	*task;		/* the fixture's */
	bool		done;
};

struct fiber *go_fiber(const struct fiber *f);
#define GO(call, ...)	go_fiber(&(const struct fiber){ .fn = call, ##__VA_ARGS__ })
void join(struct fiber *f);
/* None is left; their places are free again. */
void all_joined(void);
/* Runs all tasks until none can continue without the device or time. */
void let_run(void);
/* Virtual time for everything that is on its way; no commit timer runs out. */
void settle(void);
void sleep_ms(u32 ms);
/* Stop a task before it takes this lock for the @nth time from now on. */
void stop_before(struct task_struct *task, spinlock_t *lock, int nth);
/* Stops the task at the @nth place from now on at which it could be preempted. */
void stop_at_point(struct task_struct *task, int nth);
/*
 * Run a call; preempt it at its @nth such place by another, which goes as far as it
 * gets; let both end. False if the first call ends before it gets there.
 */
bool preempt_at(int nth, const struct fiber *one, const struct fiber *other);
/* Like preempt_at(), for a thread that starts to work when @begin() is called. */
bool preempt_task_at(int nth, struct task_struct *task, void (*begin)(void),
		     const struct fiber *other);
#define CALL(call, ...)	(&(const struct fiber){ .fn = call, ##__VA_ARGS__ })
bool stopped(struct task_struct *task);
void go_on(struct task_struct *task);
/* It need not stop any more. */
void stop_nowhere(struct task_struct *task);
/* How often a spinlock was taken, by all tasks. */
extern u64 locks_taken;
/* Counts how often one lock is taken, until lock_count(). */
void count_lock(spinlock_t *lock);
u64 lock_count(void);

/*
 * What another CPU does meanwhile: call @fn at the @nth place from now on at which a
 * task could be switched away from.  It does not wait.
 */
void at_point(int nth, void (*fn)(void));
/* It has not been called yet; it is not any more. */
bool still_to_come(void);

/* Calls for fibers. */
void call_start(struct fiber *f);	/* on cpu, n credits; h is set */
void call_stop(struct fiber *f);	/* h */
void call_access(struct fiber *f);	/* h, block */
void call_complete(struct fiber *f);	/* tid */
void call_restart(struct fiber *f);	/* h, n credits */
void call_reserved(struct fiber *f);	/* h is a reserved handle */
void call_forget(struct fiber *f);	/* h, block */
void call_barrier(struct fiber *f);	/* ret: it is up; until n is set */
void call_seal(struct fiber *f);	/* p: a transaction */
void call_checkpoint(struct fiber *f);	/* of what is committed */
void call_full_checkpoint(struct fiber *f); /* of everything */
void call_unmount(struct fiber *f);
void call_flush(struct fiber *f);	/* of data, even if none is reported */
void call_flush_reported(struct fiber *f); /* of data that was reported */

/* ---- the device ---- */

/* Let everything go that is held back; what comes is not held any more. */
void release(void);
int nr_held(void);
void fail_next_write(void);
void fail_next_flush(void);
/* Place of the first write of a block from @from on in the disk's log; -1. */
int written(u32 block, u32 from);
/* Place of the first record from @from on; -1. */
int record_written(u32 from);
/* A flush that began and ended between these places. */
bool flushed_between(u32 from, u32 to);
/* The same of one of two devices. */
enum unit { FS_DEVICE, LOG_DEVICE };
bool unit_flushed_between(enum unit unit, u32 from, u32 to);
/* Writes of a block from @from on. */
int writes_of(u32 block, u32 from);
u8 home_val(u32 block);
static inline u32 now(void)
{
	return fx.disk->nr_log;
}

/* How many the device has had so far; of two, both together. */
static inline u32 flushes(void)
{
	return fx.disk->flushes;
}

/* The same of one of two devices. */
static inline u32 flushes_of(enum unit unit)
{
	return fx.disk->flushes_of[unit];
}

/* ---- what a power cut leaves ---- */

/**
 * struct image - a state of the disk
 */
struct image {
	const u8	**block;	/* every block of the disk */
	u8		*pmem;		/* the memory, or NULL */
	struct zj_recovery_stats stats;	/* of its recovery */
	bool		quiet;		/* damage is meant */
};

/* With the durable writes only; with all writes that were sent. */
struct image *cut_power(void);
struct image *keep_all(void);
bool image_is_live(const struct image *image);
int recover_image(struct image *image);
u8 image_val(const struct image *image, u32 block);
void image_free(struct image *image);
/* Cut the power, recover, look at one block. */
u8 val_after_crash(u32 block);

/* ---- the log, read by recovery's own code ---- */

/**
 * struct log - a log, scanned and judged
 */
struct log {
	struct zj_recovery r;
	struct zj_recovery_stats stats;
	struct image	*image;
};

void log_read(struct log *log);
void log_free(struct log *log);
/* The checkpoint stamp as a mount would read it. */
u64 stamp_on_disk(void);
const struct zj_rec_component *log_component(const struct log *log, u64 stamp);
const struct zj_rec_chunk *log_chunk(const struct log *log, u64 stamp, u32 lane,
				     u32 index);
u32 log_chunks(const struct log *log, u64 stamp, u32 lane);
const struct zj_rec_image *log_image(const struct log *log, u64 stamp, u32 block);
/* The image's bytes, as they stand in the log. */
const u8 *log_data(const struct log *log, const struct zj_rec_image *image);
bool log_depends(const struct log *log, u64 stamp, u64 on);
bool log_revokes(const struct log *log, u64 stamp, u32 block);

#endif /* ZJ_UNIT_FIXTURE_H */
