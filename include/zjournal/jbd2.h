/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The jbd2 interface as ext4 uses it, of 6.12 to 7.3, implemented by zjournal.
 *
 * The build includes this header before every zext4 source, so that it takes the place
 * of <linux/jbd2.h>.  The names that ext4 uses stay the same in the source, but the
 * symbols that the linker sees are ours, so that both journals load in one kernel.
 */
#ifndef ZJOURNAL_JBD2_H
#define ZJOURNAL_JBD2_H

#ifdef _LINUX_JBD2_H
#error "zjournal/jbd2.h must come before linux/jbd2.h"
#endif
#define _LINUX_JBD2_H

#include <linux/types.h>
#include <linux/list.h>
#include <linux/fs.h>
#include <linux/buffer_head.h>
#include <linux/spinlock.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <zjournal/format.h>
#include <zjournal/nvm_format.h>
#include <zjournal/options.h>

typedef struct journal_s journal_t;
typedef struct transaction_s transaction_t;
typedef struct zj_handle handle_t;
typedef u32 tid_t;
typedef struct zj_jbd2_super journal_superblock_t;

struct zj_handle;
struct journal_head;	/* private to the journal */

#define JBD2_DEFAULT_MAX_COMMIT_AGE	5	/* seconds */
#define JBD2_DEFAULT_FAST_COMMIT_BLOCKS	256
#define JBD2_MIN_JOURNAL_BLOCKS		1024

#define JBD2_FEATURE_COMPAT_CHECKSUM	ZJ_JBD2_COMPAT_CHECKSUM
#define JBD2_FEATURE_INCOMPAT_REVOKE	ZJ_JBD2_INCOMPAT_REVOKE
#define JBD2_FEATURE_INCOMPAT_64BIT	ZJ_JBD2_INCOMPAT_64BIT
#define JBD2_FEATURE_INCOMPAT_ASYNC_COMMIT ZJ_JBD2_INCOMPAT_ASYNC_COMMIT
#define JBD2_FEATURE_INCOMPAT_CSUM_V2	ZJ_JBD2_INCOMPAT_CSUM_V2
#define JBD2_FEATURE_INCOMPAT_CSUM_V3	ZJ_JBD2_INCOMPAT_CSUM_V3
#define JBD2_FEATURE_INCOMPAT_FAST_COMMIT ZJ_JBD2_INCOMPAT_FAST_COMMIT

/* journal_t.j_flags */
#define JBD2_UNMOUNT			0x001	/* being destroyed */
#define JBD2_ABORT			0x002	/* no more commits */
#define JBD2_LOADED			0x010	/* load has succeeded */
#define JBD2_BARRIER			0x020	/* the devices' caches are flushed */
#define JBD2_ABORT_ON_SYNCDATA_ERR	0x040	/* data_err=abort; newer ext4 aborts itself */
#define JBD2_CYCLE_RECORD		0x080	/* accepted, without effect */
#define JBD2_FAST_COMMIT_ONGOING	0x100	/* never set */
#define JBD2_FULL_COMMIT_ONGOING	0x200	/* never set */
#define ZJ_DATA_JOURNALED		0x10000	/* handles rely on no data outside the log */
#define ZJ_DATA_REPORTED		0x20000	/* zj_journal_data_written() is called */

/* The values are those of EXT4_IOC_CHECKPOINT. */
#define JBD2_JOURNAL_FLUSH_DISCARD	0x0001
#define JBD2_JOURNAL_FLUSH_ZEROOUT	0x0002
#define JBD2_JOURNAL_FLUSH_VALID	0x0003

#define JBD2_JOURNAL_REQ_FLAGS	(REQ_META | REQ_SYNC | REQ_IDLE)

#define JBD2_FC_REPLAY_STOP	0
#define JBD2_FC_REPLAY_CONTINUE	1

enum passtype { PASS_SCAN, PASS_REVOKE, PASS_REPLAY };

#define J_ASSERT(cond)			WARN_ON_ONCE(!(cond))
#define BUFFER_TRACE(bh, info)		do { } while (0)
#define BUFFER_TRACE2(bh, bh2, info)	do { } while (0)
#define JBUFFER_TRACE(jh, info)		do { } while (0)
#define jbd2_debug(n, fmt, a...)	no_printk(fmt, ##a)

enum zj_bh_bits {
	BH_JBD = BH_PrivateStart,	/* b_private is our journal_head */
	BH_Freed,			/* its block was freed; the free is not committed */
	BH_JBDDirty,			/* changed by an uncommitted transaction; or not home
					 * yet, while a newer transaction owns it
					 */
	BH_Verified,			/* ext4 has checked the contents */
	BH_JBDPrivateStart,		/* first bit for ext4 itself */
};

BUFFER_FNS(JBD, jbd)
BUFFER_FNS(Freed, freed)
BUFFER_FNS(JBDDirty, jbddirty)
TAS_BUFFER_FNS(JBDDirty, jbddirty)
BUFFER_FNS(Verified, verified)

static inline struct journal_head *bh2jh(struct buffer_head *bh)
{
	return buffer_jbd(bh) ? bh->b_private : NULL;
}

/**
 * enum zj_kind - what tied two transactions of different lanes, for statistics
 *
 * The kind of the block, or of the other object, that both have touched. Tables, bitmaps
 * and descriptors hold many things, so that unrelated handles meet there (false sharing).
 */
enum zj_kind {
	ZJ_KIND_OTHER,		/* a block of which nothing is known */
	ZJ_KIND_SUPER,		/* the super block */
	ZJ_KIND_DESCRIPTOR,	/* group descriptors */
	ZJ_KIND_BLOCK_BITMAP,
	ZJ_KIND_INODE_BITMAP,
	ZJ_KIND_INODE_TABLE,
	ZJ_KIND_ORPHAN,		/* the orphan file */
	ZJ_KIND_DIRECTORY,	/* a block of a directory, or a claim of one */
	ZJ_KIND_TREE,		/* extents, indirect blocks */
	ZJ_KIND_XATTR,
	ZJ_KIND_FILE,		/* journaled data */
	ZJ_KIND_INODE,		/* an in-core inode: a claim or a sync tid (R8, R10) */
	ZJ_KIND_QUOTA,		/* in-core quota: a claim */
	ZJ_KIND_MOVE,		/* directories that change their parent: a claim */
	ZJ_KIND_RESIZE,		/* growth of the file system: a claim */
	ZJ_KIND_ORDERED,	/* a file's data, written before the commit (R6) */
	ZJ_KIND_READ,		/* a declared read (R9) */
	ZJ_KIND_REVOKE,		/* a freed block that is in use again (R5) */
	ZJ_NR_KINDS
};

/**
 * struct jbd2_buffer_trigger_type - callback on a buffer's final contents
 */
struct jbd2_buffer_trigger_type {
	/* May write to @data, the live buffer's contents; called once in each commit. */
	void (*t_frozen)(struct jbd2_buffer_trigger_type *type,
			 struct buffer_head *bh, void *data, size_t size);
	/* The image will not be logged after all. */
	void (*t_abort)(struct jbd2_buffer_trigger_type *type,
			struct buffer_head *bh);
};

/**
 * struct jbd2_inode - an inode with ordered (or write-protected) data
 *
 * There is one for each inode, at ext4_inode_info.jinode.  Each transaction that orders
 * the inode's data has an entry of its own; callbacks get that entry's proxy, a struct
 * jbd2_inode in which the same fields are set as by stock jbd2.
 */
struct jbd2_inode {
	transaction_t	*i_transaction;	/* proxy: the committing transaction */
	struct inode	*i_vfs_inode;	/* immutable */
	loff_t		i_dirty_start;	/* proxy: first byte of the range */
	loff_t		i_dirty_end;	/* proxy: last byte of the range */
	const u64	*i_written;	/* set by the file system before use: the word that it
					 * gives to zj_journal_inode_written(), or NULL
					 */
	spinlock_t	i_lock;		/* protects i_entries */
	struct list_head i_entries;	/* zj_inode_entry.e_inode_link, oldest first */
};

enum zj_txn_state {
	T_RUNNING,
	T_COMMIT,
	T_FINISHED,
};

/**
 * struct transaction_s - what ext4 sees of a transaction
 */
struct transaction_s {
	tid_t		t_tid;		/* immutable; unique over all lanes, never 0 */
	u64		t_written;	/* cmpxchg, only grows; the flush that covers the data
					 * of the inodes that the transaction has changed
					 */
	journal_t	*t_journal;	/* immutable; the journal */
	enum zj_txn_state t_state;	/* T_FINISHED after the callbacks */
	struct list_head t_private_list; /* for ext4, which protects it by its s_md_lock */
};

/* Claims that a restarted handle renews, at most; zext4 has three at most. */
#define ZJ_HANDLE_CLAIMS	4

/**
 * struct zj_handle - one atomic change to the file system; owned by one task
 */
struct zj_handle {
	union {
		transaction_t	*h_transaction;	/* NULL: a restart has failed */
		journal_t	*h_journal;	/* while h_reserved */
	};
	handle_t	*h_rsv_handle;	/* reserved, to be started later; ext4 may take it over */
	int		h_total_credits; /* log blocks left, revokes included */
	int		h_revoke_credits; /* revokes left */
	int		h_revoke_credits_requested;
	int		h_ref;		/* nested starts */
	int		h_err;		/* for ext4 */
	unsigned int	h_sync:1;	/* stop waits for commit */
	unsigned int	h_reserved:1;	/* a reservation, not started */
	unsigned int	h_aborted:1;
	unsigned int	h_invalid:1;	/* newer ext4's handle of a file system without a journal */
	u8		h_type;		/* given by ext4, for statistics */
	u16		h_line_no;	/* given by ext4, for statistics */
	unsigned long	h_start_jiffies;
	unsigned int	h_requested_credits;
	unsigned int	saved_alloc_context; /* of memalloc_nofs_save() */
	int		h_rsv_lane;	/* lane that holds a reservation's space */
	int		h_nr_claims;	/* entries in h_claims */
	tid_t		*h_claims[ZJ_HANDLE_CLAIMS]; /* renewed on restart */
	u8		h_claim_kinds[ZJ_HANDLE_CLAIMS]; /* enum zj_kind of them */
};

/**
 * struct journal_s - what ext4 sees of the journal, one per mount
 */
struct journal_s {
	unsigned long	j_flags;	/* JBD2_*; j_state_lock to change */
	int		j_errno;	/* from the super block, or of the abort */
	rwlock_t	j_state_lock;	/* protects j_flags, j_errno */
	struct task_struct *j_task;	/* lane 0's thread, while loaded */
	struct inode	*j_inode;	/* the journal inode, or NULL */
	struct block_device *j_dev;	/* where the log lives */
	struct block_device *j_fs_dev;	/* where the file system lives */
	unsigned int	j_blocksize;	/* bytes */
	unsigned int	j_total_len;	/* blocks in the journal */
	unsigned long long j_blk_offset; /* first block, without an inode */
	journal_superblock_t *j_superblock; /* block 0, in j_sb_buffer */
	void		*j_private;	/* ext4's super block */
	unsigned long	j_commit_interval; /* jiffies; ext4 changes it at will */
	u32		j_min_batch_time; /* us; accepted, without effect */
	u32		j_max_batch_time; /* us; accepted, without effect */
	char		j_devname[64];	/* for messages */

	/* Called when a transaction is committed. NULL until ext4 sets it, after the load. */
	void (*j_commit_callback)(journal_t *journal, transaction_t *txn);
	int (*j_submit_inode_data_buffers)(struct jbd2_inode *jinode);
	int (*j_finish_inode_data_buffers)(struct jbd2_inode *jinode);
	int (*j_bmap)(journal_t *journal, sector_t *block);
	/* NULL: all blocks are "other". Called with spinlocks held, so it only reads. */
	enum zj_kind (*j_block_kind)(journal_t *journal, struct buffer_head *bh);
	/* Fast commits are never written, so this is never called. */
	void (*j_fc_cleanup_callback)(journal_t *journal, int full, tid_t tid);
	/*
	 * Replays a block of the fast commits that stock has left; called while the journal is
	 * loaded. NULL: a log with fast commits is refused.
	 */
	int (*j_fc_replay_callback)(journal_t *journal, struct buffer_head *bh,
				    enum passtype pass, int off, tid_t tid);
};

static inline handle_t *journal_current_handle(void)
{
	return current->journal_info;
}

static inline int is_journal_aborted(journal_t *journal)
{
	return READ_ONCE(journal->j_flags) & JBD2_ABORT;
}

static inline int is_handle_aborted(handle_t *handle)
{
	if (handle->h_aborted || !handle->h_transaction)
		return 1;
	return is_journal_aborted(handle->h_transaction->t_journal);
}

/* A handle of a file system without a journal, of which only ext4 knows. */
static inline handle_t *jbd2_alloc_handle(gfp_t gfp)
{
	return kzalloc(sizeof(handle_t), gfp);
}

static inline void jbd2_free_handle(handle_t *handle)
{
	kfree(handle);
}

/* For a callback, which gets a proxy. */
static inline bool jbd2_jinode_get_dirty_range(const struct jbd2_inode *jinode, loff_t *start,
					       loff_t *end)
{
	*start = jinode->i_dirty_start;
	*end = jinode->i_dirty_end;
	return *start <= *end;
}

static inline void jbd2_journal_abort_handle(handle_t *handle)
{
	handle->h_aborted = 1;
}

static inline int tid_gt(tid_t x, tid_t y)
{
	return (s32)(x - y) > 0;
}

static inline int tid_geq(tid_t x, tid_t y)
{
	return (s32)(x - y) >= 0;
}

static inline unsigned int zj_blocks_per_folio_page(struct inode *inode)
{
	return 1U << (PAGE_SHIFT - inode->i_sb->s_blocksize_bits);
}

/* Expanded in newer ext4 only: the largest folio that a file may have. */
#define jbd2_journal_blocks_per_folio(inode)				\
	(zj_blocks_per_folio_page(inode) << mapping_max_folio_order((inode)->i_mapping))

/* The stock names, over our symbols. */
#define jbd2__journal_start			zj_journal_start
#define jbd2_journal_start(j, blocks)		\
	zj_journal_start(j, blocks, 0, 0, GFP_NOFS, 0, 0)
#define jbd2__journal_restart			zj_journal_restart
#define jbd2_journal_stop			zj_journal_stop
#define jbd2_journal_extend			zj_journal_extend
#define jbd2_journal_start_reserved		zj_journal_start_reserved
#define jbd2_journal_free_reserved		zj_journal_free_reserved
#define jbd2_handle_buffer_credits		zj_handle_buffer_credits
#define jbd2_journal_get_write_access		zj_journal_get_write_access
#define jbd2_journal_get_create_access		zj_journal_get_create_access
#define jbd2_journal_dirty_metadata		zj_journal_dirty_metadata
#define jbd2_journal_forget			zj_journal_forget
#define jbd2_journal_revoke			zj_journal_revoke
#define jbd2_journal_set_triggers		zj_journal_set_triggers
#define jbd2_inode_cache			zj_jinode_cache
#define jbd2_alloc_inode(gfp)			kmem_cache_alloc(zj_jinode_cache, gfp)
#define jbd2_free_inode(ji)			kmem_cache_free(zj_jinode_cache, ji)
#define jbd2_journal_init_jbd_inode		zj_journal_init_jinode
#define jbd2_journal_release_jbd_inode		zj_journal_release_jinode
#define jbd2_journal_inode_ranged_write		zj_journal_inode_ranged_write
#define jbd2_journal_inode_ranged_wait		zj_journal_inode_ranged_wait
#define jbd2_journal_finish_inode_data_buffers	zj_journal_finish_inode_data
#define jbd2_journal_begin_ordered_truncate	zj_journal_begin_ordered_truncate
/* Expanded in ext4 only. The orphan record that allows the truncation has this tid. */
#define jbd2_journal_invalidate_folio(journal, folio, offset, length)	\
	zj_journal_invalidate_folio(journal, folio, offset, length,	\
		READ_ONCE(EXT4_I((folio)->mapping->host)->i_sync_tid))
#define jbd2_journal_try_to_free_buffers	zj_journal_try_to_free_buffers
#define jbd2_journal_blocks_per_page		zj_blocks_per_folio_page
#define jbd2_complete_transaction		zj_complete_transaction
#define jbd2_log_wait_commit			zj_log_wait_commit
#define jbd2_journal_start_commit		zj_journal_start_commit
#define jbd2_get_latest_transaction		zj_get_latest_transaction
#define jbd2_trans_will_send_data_barrier	zj_trans_will_send_data_barrier
#define jbd2_transaction_committed		zj_transaction_committed
#define jbd2_journal_force_commit		zj_journal_force_commit
#define jbd2_journal_force_commit_nested	zj_journal_force_commit_nested
#define jbd2_journal_lock_updates		zj_journal_lock_updates
#define jbd2_journal_unlock_updates		zj_journal_unlock_updates
#define jbd2_journal_flush			zj_journal_flush
#define jbd2_journal_abort			zj_journal_abort
#define jbd2_journal_errno			zj_journal_errno
#define jbd2_journal_clear_err			zj_journal_clear_err
#define jbd2_journal_update_sb_errno		zj_journal_update_sb_errno
#define jbd2_journal_init_inode			zj_journal_init_inode
#define jbd2_journal_init_dev			zj_journal_init_dev
#define jbd2_journal_load			zj_journal_load
#define jbd2_journal_wipe			zj_journal_wipe
#define jbd2_journal_destroy			zj_journal_destroy
#define jbd2_journal_set_features		zj_journal_set_features
#define jbd2_journal_clear_features		zj_journal_clear_features
#define jbd2_journal_check_available_features	zj_journal_check_available_features

extern struct kmem_cache *zj_jinode_cache;

/* handle.c */
handle_t *zj_journal_start_in(journal_t *journal, int in, int blocks,
			      int rsv_blocks, int revoke_records, gfp_t gfp,
			      unsigned int type, unsigned int line);

/* Starts a handle in the lane of the CPU. */
static inline handle_t *zj_journal_start(journal_t *journal, int blocks,
					 int rsv_blocks, int revoke_records,
					 gfp_t gfp, unsigned int type,
					 unsigned int line)
{
	return zj_journal_start_in(journal, -1, blocks, rsv_blocks,
				   revoke_records, gfp, type, line);
}

int zj_journal_stop(handle_t *handle);
int zj_journal_extend(handle_t *handle, int blocks, int revoke_records);
int zj_journal_restart(handle_t *handle, int blocks, int revoke_records,
		       gfp_t gfp);
int zj_journal_start_reserved(handle_t *handle, unsigned int type,
			      unsigned int line);
void zj_journal_free_reserved(handle_t *handle);
int zj_handle_buffer_credits(handle_t *handle);

/* access.c */
int zj_journal_get_write_access(handle_t *handle, struct buffer_head *bh);
int zj_journal_get_create_access(handle_t *handle, struct buffer_head *bh);
int zj_journal_dirty_metadata(handle_t *handle, struct buffer_head *bh);
/* The same for a caller that declares every range of the buffer that it changes. */
int zj_journal_get_range_access(handle_t *handle, struct buffer_head *bh);
int zj_journal_dirty_range(handle_t *handle, struct buffer_head *bh,
			   u32 offset, u32 len);
void zj_journal_set_triggers(struct buffer_head *bh,
			     struct jbd2_buffer_trigger_type *type);
int zj_journal_forget(handle_t *handle, struct buffer_head *bh);

/* lines.c */

/* The buffer was read from the device: recovery finds the same contents there. */
void zj_journal_buffer_read(struct buffer_head *bh);

/* log_io.c */
u32 zj_journal_file_data_limit(journal_t *journal, int lane);
u64 zj_journal_log_write_ns(journal_t *journal, int lane);

/* home.c */
bool zj_journal_bring_home(struct buffer_head *bh, bool wait);
int zj_journal_wait_home(struct buffer_head *bh, bool killable);

/* file_block.c */
int zj_journal_dirty_file_block(handle_t *handle, struct buffer_head *bh, bool again);
u32 zj_journal_find_file_blocks(journal_t *journal, u64 block, u32 count, u64 *found,
				u32 most);
u32 zj_journal_file_blocks_logged(journal_t *journal, u64 block, u32 count);
u32 zj_journal_max_file_blocks(journal_t *journal);
void zj_journal_file_synced(journal_t *journal, int lane);

/* invalidate.c */
bool zj_journal_try_to_free_buffers(journal_t *journal, struct folio *folio);
int zj_journal_invalidate_folio(journal_t *journal, struct folio *folio,
				size_t offset, size_t length, tid_t tid);

/* revoke.c */
int zj_journal_revoke(handle_t *handle, unsigned long long block,
		      struct buffer_head *bh);
int zj_journal_revoke_home(handle_t *handle, struct buffer_head *bh);

/* ordered.c */
void zj_journal_init_jinode(struct jbd2_inode *jinode, struct inode *inode);
void zj_journal_release_jinode(journal_t *journal, struct jbd2_inode *jinode);
int zj_journal_inode_ranged_write(handle_t *handle, struct jbd2_inode *jinode,
				  loff_t start, loff_t length);
int zj_journal_inode_ranged_wait(handle_t *handle, struct jbd2_inode *jinode,
				 loff_t start, loff_t length);
bool zj_journal_inode_orders(struct jbd2_inode *jinode, loff_t start, loff_t end);
int zj_journal_finish_inode_data(struct jbd2_inode *jinode);
int zj_journal_begin_ordered_truncate(journal_t *journal,
				      struct jbd2_inode *jinode, loff_t size);

/* fsync.c */
int zj_complete_transaction(journal_t *journal, tid_t tid);
void zj_journal_commit_early(journal_t *journal, tid_t tid);
int zj_log_wait_commit(journal_t *journal, tid_t tid);
int zj_journal_start_commit(journal_t *journal, tid_t *tid);
tid_t zj_get_latest_transaction(journal_t *journal);
bool zj_trans_takes_written(journal_t *journal, tid_t tid, u64 written);
int zj_trans_will_send_data_barrier(journal_t *journal, tid_t tid);
int zj_transaction_committed(journal_t *journal, tid_t tid);
int zj_journal_force_commit(journal_t *journal);
int zj_journal_force_commit_nested(journal_t *journal);
void zj_journal_write_home(journal_t *journal);
int zj_journal_flush(journal_t *journal, unsigned int flags);
int zj_journal_fsync_begin(journal_t *journal, int in);
void zj_journal_fsync_written(journal_t *journal, int expected, tid_t tid);

/* txn.c: the barrier */
void zj_journal_lock_updates(journal_t *journal);
void zj_journal_unlock_updates(journal_t *journal);

/* flush.c */
int zj_journal_flush_data(journal_t *journal);
int zj_journal_flush_reported(journal_t *journal, u64 written);
bool zj_journal_wants_fua(journal_t *journal, u64 written);
bool zj_journal_data_beside(journal_t *journal);

/* abort.c */
void zj_journal_abort(journal_t *journal, int err);
int zj_journal_errno(journal_t *journal);
int zj_journal_clear_err(journal_t *journal);
void zj_journal_update_sb_errno(journal_t *journal);

/* journal.c */
journal_t *zj_journal_init_inode(struct inode *inode);
journal_t *zj_journal_init_dev(struct block_device *bdev,
			       struct block_device *fs_dev,
			       unsigned long long start, int len,
			       int blocksize);
int zj_journal_load(journal_t *journal);
int zj_journal_wipe(journal_t *journal, int write);
int zj_journal_destroy(journal_t *journal);
int zj_journal_set_features(journal_t *journal, unsigned long compat,
			    unsigned long ro, unsigned long incompat);
void zj_journal_clear_features(journal_t *journal, unsigned long compat,
			       unsigned long ro, unsigned long incompat);
int zj_journal_check_available_features(journal_t *journal,
					unsigned long compat, unsigned long ro,
					unsigned long incompat);

/*
 * The functions that zext4's semantic patches call in addition; jbd2 has none of them.
 */

/* journal.c: its options */
int zj_journal_configure(journal_t *journal, const struct zj_options *options);
const struct zj_options *zj_journal_options(journal_t *journal);
void zj_journal_reconfigure(journal_t *journal, const struct zj_live_options *live);

/* lane.c */

/* The number of lanes of a loaded journal; the lane that zj_journal_start_in() would choose. */
unsigned int zj_journal_lanes(journal_t *journal);
unsigned int zj_journal_lane_at(journal_t *journal, int in);

/* The lane of an open handle. */
unsigned int zj_handle_lane(handle_t *handle);

#define ZJ_LANE_HINTS	2	/* words that each lane keeps for ext4's allocator */

/**
 * zj_journal_lane_hints() - words for the file system's own use, some for each lane
 * @journal: the journal, loaded
 * @lane: below zj_journal_lanes()
 *
 * Return: ZJ_LANE_HINTS words, which are 0 at first and need no lock.
 */
u64 *zj_journal_lane_hints(journal_t *journal, unsigned int lane);

/**
 * zj_journal_set_ioprio() - I/O priority of all lane threads
 */
void zj_journal_set_ioprio(journal_t *journal, int ioprio);

/* lane_pick.c: the lane of a tenant, a cgroup or a top-level directory. */
int zj_journal_lane_of(journal_t *journal, u64 tenant);

/* flush.c */

/**
 * zj_journal_data_written() - blocks outside the log were written without FUA
 * @journal: the journal
 *
 * This concerns all blocks that metadata may come to point at: file data, zeroed blocks.
 * It has to be called when the write has completed, and before any other task can see
 * that it has. Every later commit flushes the device for it.
 *
 * Context: any; no lock. Writes a shared line once for each flush of the device.
 */
void zj_journal_data_written(journal_t *journal);

/**
 * zj_journal_inode_written() - the same for blocks that belong to one inode only
 * @journal: the journal
 * @written: the inode's word, 0 in a new inode
 *
 * Only those commits flush the device that take the word: the ones with a handle that
 * changes the inode (zj_journal_take_written()), those that order its data
 * (jbd2_inode.i_written), and that of an fsync (zj_trans_takes_written()). Before the word
 * is freed, zj_journal_written_by_all() makes it count for every commit.
 *
 * Context: any; no lock. Writes a shared line once for each flush of the device.
 */
void zj_journal_inode_written(journal_t *journal, u64 *written);

/**
 * zj_journal_written_by_all() - data that was noted in an inode counts for every commit
 * @journal: the journal
 * @written: the word of an inode that is evicted; ULLONG_MAX for those of all inodes
 *
 * Context: any; no lock.
 */
void zj_journal_written_by_all(journal_t *journal, u64 written);

/* super.c */

/**
 * zj_journal_is_live() - may the log hold something to recover?
 * @journal: the journal, initialised
 *
 * This decides, in place of the file system's needs_recovery flag, whether the log is
 * kept.
 *
 * Return: true if block 0 says that lanes were live at the crash.
 */
bool zj_journal_is_live(journal_t *journal);

/**
 * zj_journal_too_short() - is the journal shorter than ext4 can do with?
 * @journal: the journal, from zj_journal_init_inode() or zj_journal_init_dev()
 *
 * No ext4 makes such a journal. It could be loaded, but ext4's handles would not fit.
 */
bool zj_journal_too_short(journal_t *journal);

/* access.c */

/**
 * zj_journal_read_dependency() - the handle acts on what it has read (R9)
 * @handle: an open handle
 * @bh: a journaled buffer that the handle relies on without writing it
 *
 * Context: sleeps, never waits for another handle.
 * Return: 0, or -EROFS if aborted.
 */
int zj_journal_read_dependency(handle_t *handle, struct buffer_head *bh);

/* claim.c */
void zj_journal_hand_over(handle_t *handle, tid_t *slot, enum zj_kind kind);

/**
 * zj_journal_sync_tid() - hand a sync tid over to the handle's transaction (R8)
 * @handle: an open handle
 * @slot: i_sync_tid or i_datasync_tid
 *
 * Context: sleeps, never waits for another handle.
 */
static inline void zj_journal_sync_tid(handle_t *handle, tid_t *slot)
{
	if (!handle->h_transaction ||
	    READ_ONCE(*slot) != handle->h_transaction->t_tid)
		zj_journal_hand_over(handle, slot, ZJ_KIND_INODE);
}

/**
 * zj_journal_claim() - announce a change of an inode in core (R10)
 * @handle: an open handle
 * @claim: the inode's claim word, 0 in a new inode
 * @kind: of what is claimed, for statistics
 *
 * To be called before the first change. Unites the handle's transaction with the last
 * claimer's, or makes it depend on that.
 *
 * Context: sleeps, never waits for another handle.
 */
static inline void zj_journal_claim(handle_t *handle, tid_t *claim,
				    enum zj_kind kind)
{
	if (!handle->h_transaction ||
	    READ_ONCE(*claim) != handle->h_transaction->t_tid)
		zj_journal_hand_over(handle, claim, kind);
}

/*
 * A restart of the handle repeats this claim, so the claim word must live as long as the
 * handle. More than ZJ_HANDLE_CLAIMS of them are a bug of the caller.
 */
static inline void zj_journal_keep_claim(handle_t *handle, tid_t *claim,
					 enum zj_kind kind)
{
	int nr = handle->h_nr_claims;

	if (handle->h_ref > 1 || WARN_ON_ONCE(nr == ZJ_HANDLE_CLAIMS))
		return;
	handle->h_claim_kinds[nr] = kind;
	handle->h_claims[nr] = claim;
	handle->h_nr_claims = nr + 1;
}

/* Claims, and repeats the claim when the handle is restarted. */
static inline void zj_journal_claim_keep(handle_t *handle, tid_t *claim,
					 enum zj_kind kind)
{
	zj_journal_claim(handle, claim, kind);
	zj_journal_keep_claim(handle, claim, kind);
}

/**
 * zj_journal_read_claimed() - the handle acts on what a claim protects (R9)
 * @handle: an open handle
 * @claim: the claim word of the object that the handle has read and does not change
 * @kind: of what is claimed, for statistics
 *
 * To be called after the last read. The handle that made the change which was seen had
 * claimed the object before, and any later claimer is tied to it, so the tie to the last
 * claimer is enough. The word does not change, so that readers are not tied to each other.
 *
 * Context: sleeps, never waits for another handle.
 */
void zj_journal_read_claimed(handle_t *handle, const tid_t *claim,
			     enum zj_kind kind);

/* flush.c: what a handle takes of it */
void zj_txn_take_written(transaction_t *txn, u64 written);

/**
 * zj_written() - the word of an inode, as noted by zj_journal_inode_written()
 * @written: the word
 *
 * Who has seen that a write has ended has it in the number. The waits of the page cache and of
 * direct I/O may end with a plain read, which orders nothing.
 *
 * Context: any.
 */
static inline u64 zj_written(const u64 *written)
{
	/* Pairs with the exchange in zj_journal_inode_written(). */
	smp_rmb();
	return READ_ONCE(*written);
}

/**
 * zj_journal_take_written() - the handle's commit covers the inode's data, too
 * @handle: an open handle
 * @written: the inode's word, as noted by zj_journal_inode_written()
 *
 * A handle that is about to make data reachable that was written before calls this,
 * because the record must not be sent before the flush that covers the data (R6).
 *
 * Context: any; no lock.
 */
static inline void zj_journal_take_written(handle_t *handle, const u64 *written)
{
	transaction_t *txn = handle->h_transaction;
	u64 number = zj_written(written);

	if (txn && unlikely(number > READ_ONCE(txn->t_written)))
		zj_txn_take_written(txn, number);
}

/* access.c: buffers and their owners */

/**
 * zj_journal_buffer_tid() - a block's newest transaction that is not committed
 * @journal: the journal
 * @bh: the buffer, as a rule one of the inode table
 *
 * Return: its tid, or 0 if all its transactions are committed.
 */
tid_t zj_journal_buffer_tid(journal_t *journal, struct buffer_head *bh);

/**
 * zj_journal_wait_buffer() - commit the transaction that owns a buffer, and wait for it
 * @journal: the journal
 * @bh: the buffer
 *
 * Context: no handle open, no folio lock held.
 * Return: 0, or -EIO if aborted.
 */
int zj_journal_wait_buffer(journal_t *journal, struct buffer_head *bh);

/**
 * zj_journal_newest_is() - is this the newest transaction that changed a buffer?
 * @bh: the buffer
 * @txn: a committing transaction, as given to the submit callback
 */
bool zj_journal_newest_is(struct buffer_head *bh, transaction_t *txn);

/**
 * zj_journal_lock_committed_buffer() - lock a buffer with no change in flight
 * @journal: the journal
 * @bh: the file system's super block buffer
 *
 * On return the buffer is locked and holds only committed changes, so that ext4 may
 * write it home directly.  While it is locked no handle gets write access.  If other
 * handles go on changing it, a barrier stops all handles for one commit.  After an
 * abort, or with a handle open in this task, the function only locks the buffer.
 *
 * Context: sleeps; the caller holds nothing that a handle waits for.
 */
void zj_journal_lock_committed_buffer(journal_t *journal, struct buffer_head *bh);

/* zj_journal_set_features() refuses fast commit, so these are never called. */
static inline int jbd2_fc_begin_commit(journal_t *journal, tid_t tid)
{
	return -EOPNOTSUPP;
}

static inline int jbd2_fc_end_commit(journal_t *journal)
{
	return -EOPNOTSUPP;
}

static inline int jbd2_fc_end_commit_fallback(journal_t *journal)
{
	return -EOPNOTSUPP;
}

static inline int jbd2_fc_get_buf(journal_t *journal, struct buffer_head **bh)
{
	return -EOPNOTSUPP;
}

static inline int jbd2_fc_wait_bufs(journal_t *journal, int num_blks)
{
	return -EOPNOTSUPP;
}

static inline int jbd2_fc_release_bufs(journal_t *journal)
{
	return -EOPNOTSUPP;
}

static inline int jbd2_submit_inode_data(journal_t *journal,
					 struct jbd2_inode *jinode)
{
	return -EOPNOTSUPP;
}

static inline int jbd2_wait_inode_data(journal_t *journal,
				       struct jbd2_inode *jinode)
{
	return -EOPNOTSUPP;
}

#endif /* ZJOURNAL_JBD2_H */
