/* SPDX-License-Identifier: GPL-2.0-only */
/* What other folders, and other files of this one, may call of it. */
#ifndef ZJ_TXN_H
#define ZJ_TXN_H

#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/sched.h>
#include "core/core.h"
#include "txn/part_types.h"
#include "txn/txn_types.h"

struct kmem_cache;

/* txn.c */

/* The stage that all members have reached. Caller is in an RCU read section or holds comp_lock. */
static inline enum zj_txn_stage zj_txn_comp_stage(const struct zj_txn *txn)
{
	/* Pairs with zj_component_advance(): a thread that sees a stage sees what led to it. */
	return smp_load_acquire(&READ_ONCE(txn->comp)->stage);
}

static inline bool zj_txn_is_committed(const struct zj_txn *txn)
{
	bool committed;

	rcu_read_lock();
	committed = zj_txn_comp_stage(txn) == ZJ_COMMITTED;
	rcu_read_unlock();
	return committed;
}

int zj_tids_init(struct zj_journal *zj);
void zj_tids_exit(struct zj_journal *zj);
void zj_tids_add(struct zj_txn *txn);
void zj_tids_remove(struct zj_txn *txn);
struct zj_txn *zj_tids_find(struct zj_journal *zj, tid_t tid);
bool zj_tids_empty(struct zj_journal *zj);
struct zj_txn *zj_txn_alloc(struct zj_lane *lane);
void zj_txn_publish(struct zj_txn *txn);
void zj_txn_free_unused(struct zj_txn *txn);
struct zj_txn *zj_txn_find(struct zj_journal *zj, tid_t tid);
void zj_txn_put(struct zj_txn *txn);
void zj_txn_advance(struct zj_txn *txn, enum zj_txn_stage to);
void zj_component_advance(struct zj_component *comp, enum zj_txn_stage to);
void zj_txn_set_finished(struct zj_txn *txn);
void zj_commit_request_lane(struct zj_lane *lane);
void zj_commit_request_all(struct zj_journal *zj);
int zj_txn_wait_finished(struct zj_txn *txn);
void zj_wake_sealed(struct zj_journal *zj, const struct zj_sealed *sealed);

/* component.c */
static inline struct zj_cause zj_at_block(struct buffer_head *bh)
{
	return (struct zj_cause){ .bh = bh };
}

static inline struct zj_cause zj_at(enum zj_kind kind)
{
	return (struct zj_cause){ .kind = kind };
}

struct zj_component *zj_component_alloc(void);
void zj_component_add(struct zj_component *comp, struct zj_txn *txn);
bool zj_unite(struct zj_txn *txn, struct zj_txn *other, struct zj_cause at);
bool zj_depend(struct zj_txn *txn, struct zj_txn *on, struct zj_cause at,
	       struct zj_dep **spare);
void zj_tie(struct zj_txn *txn, struct zj_txn *other, enum zj_kind kind);
void zj_commit_request(struct zj_journal *zj, struct zj_txn *txn);
bool zj_commit_request_here(struct zj_journal *zj, struct zj_txn *txn);
void zj_commit_now(struct zj_journal *zj, struct zj_txn *txn);
void zj_commit_again(struct zj_txn *txn);
void zj_try_seal(struct zj_journal *zj, struct zj_txn *txn);
void zj_try_seal_lane(struct zj_lane *lane, u64 stamp, struct zj_sealed *sealed);
void zj_component_free(struct zj_journal *zj, struct zj_component *comp);

/* lane_pick.c: tenants */
int zj_tenants_init(struct zj_journal *zj);
void zj_tenants_exit(struct zj_journal *zj);
void zj_tenants_forget(struct zj_journal *zj);

/* start_place.c: the places that handle starts have in their lane while they wait (N11) */

/**
 * struct zj_start_place - a start's places in the queues of its lane; on its stack
 *
 * All but @task is zero until it has to wait. It keeps a place until it has joined a transaction
 * or given up.
 */
struct zj_start_place {
	struct task_struct *task;	/* immutable; who starts */
	struct list_head reserve;	/* lane->lock; in lane->rsv_queue, if @reserves */
	struct list_head link;		/* lane->lock; in lane->start_queue, if @queued */
	bool	reserves;		/* lane->lock; it waits for reservations to end */
	bool	queued;			/* lane->lock; no other start of the lane may pass it */
	bool	waits;			/* its task only; @since is set */
	u32	since;			/* its task only; zj_lane.opened when it began to wait */
	bool	held_up;		/* its task only; it counts in zj_journal.held_up */
};

/* Has the caller, who holds lane->lock, the first place, so that the lane is for it alone? */
static inline bool zj_lane_is_mine(const struct zj_lane *lane)
{
	return !list_empty(&lane->start_queue) &&
	       list_first_entry(&lane->start_queue, struct zj_start_place, link)->task == current;
}

/* Is the lane for another start, which could not join the transaction before? */
static inline bool zj_lane_is_kept(const struct zj_lane *lane)
{
	return !list_empty(&lane->start_queue) && !zj_lane_is_mine(lane);
}

bool zj_place_has_lost(const struct zj_lane *lane, const struct zj_start_place *place);
void zj_place_take(struct zj_lane *lane, struct zj_start_place *place);
void zj_place_leave(struct zj_lane *lane, struct zj_start_place *place);

/* jhead.c */

/* Byte offset and size of ext4's super block: in block 0, or in block 1 if these have 1 KiB. */
#define ZJ_SUPER_OFFSET		1024
#define ZJ_SUPER_SIZE		1024

static inline bool zj_bh_is_super(const struct buffer_head *bh)
{
	return bh->b_blocknr == ZJ_SUPER_OFFSET / bh->b_size;
}

extern struct kmem_cache *zj_handle_cache;
extern struct kmem_cache *zj_part_cache;

/* Returns the head of a buffer, or NULL, in an RCU read section; it may be leaving the buffer. */
static inline struct journal_head *zj_jh_peek(const struct buffer_head *bh)
{
	/* Pairs with zj_jh_attach(): the pointer is not older than the bit. */
	if (!(smp_load_acquire(&bh->b_state) & BIT(BH_JBD)))
		return NULL;
	return READ_ONCE(bh->b_private);
}

bool zj_bh_is_file(const struct buffer_head *bh);
int zj_caches_init(void);
void zj_caches_exit(void);
struct journal_head *zj_jh_get(struct buffer_head *bh);
struct journal_head *zj_jh_attach(struct buffer_head *bh);
void zj_jh_put(struct journal_head *jh);

/* part.c */
static inline bool zj_part_test(const struct zj_part *part, int bit)
{
	return READ_ONCE(part->flags) & BIT(bit);
}

/* Caller holds part->jh->lock. WRITE_ONCE() is for is_owned(), which reads without it. */
static inline void zj_part_set(struct zj_part *part, unsigned long bits)
{
	lockdep_assert_held(&part->jh->lock);
	WRITE_ONCE(part->flags, part->flags | bits);
}

/* Caller holds part->jh->lock. */
static inline void zj_part_clear(struct zj_part *part, unsigned long bits)
{
	lockdep_assert_held(&part->jh->lock);
	WRITE_ONCE(part->flags, part->flags & ~bits);
}

void zj_spare_fill(struct zj_journal *zj, struct zj_spare *spare, bool more);
void zj_spare_free(struct zj_journal *zj, struct zj_spare *spare);
struct zj_part *zj_part_take(struct journal_head *jh, struct zj_spare *spare);
void zj_part_untake(struct journal_head *jh, struct zj_part *part);
void zj_part_file(struct zj_part *part, struct journal_head *jh,
		  struct zj_txn *txn);
bool zj_part_file_late(struct zj_part *part, struct journal_head *jh,
		       struct zj_txn *txn);
void zj_part_move(struct zj_part *part, struct zj_txn *txn);
void zj_part_make_dirty(struct zj_part *part);
void zj_part_drop(struct zj_part *part);
bool zj_part_retire(struct journal_head *jh, bool locked);
void zj_txn_walk(struct zj_txn *txn,
		 void (*fn)(struct zj_txn *txn, struct journal_head *jh,
			    void *arg), void *arg);

/* version.c */

/* Answers of zj_part_wants_copy(), which decides on frozen copies ahead of the log I/O. */
enum zj_want { ZJ_COPY_NO, ZJ_COPY_MAY, ZJ_COPY_MUST };

/**
 * struct zj_copying - which images of a transaction are copied ahead
 *
 * It lives on the stack of the lane's thread while that looks at the parts one by one.
 */
struct zj_copying {
	u32	most;		/* number of copies that cost as much as one wait for the log */
	bool	all;		/* the lane's history asks for copies of all images */
};

bool zj_frozen_caches_init(void);
void zj_frozen_caches_exit(void);
struct kmem_cache *zj_frozen_cache(u32 block_size);
void zj_part_logged(struct zj_journal *zj, struct zj_part *part);
void zj_part_unsettle(struct zj_journal *zj, struct zj_part *part);
void zj_part_make_copy(struct zj_journal *zj, struct zj_part *part, void **copy);
void zj_part_crowd(struct zj_part *part);
void zj_part_uncrowd(struct zj_part *part);
void zj_copying_begin(struct zj_copying *copying, struct zj_txn *txn);
enum zj_want zj_part_wants_copy(struct zj_part *part, const struct zj_copying *copying);
void zj_jh_conflict(struct journal_head *jh);
bool zj_part_image(struct zj_journal *zj, struct zj_part *part, void **copy);
void zj_jh_wait_live(struct zj_lane *lane, struct journal_head *jh);

/* lines.c */
bool zj_jh_wants_base(struct zj_journal *zj, struct journal_head *jh);
bool zj_spare_lacks_base(struct zj_journal *zj, const struct zj_spare *spare);
void zj_part_set_base(struct zj_part *part, struct zj_spare *spare);
bool zj_part_has_lines(const struct zj_part *part);
bool zj_part_is_brief(const struct zj_part *part);
u64 zj_part_lines(const struct zj_part *part);
int zj_part_check(struct zj_journal *zj, const struct zj_part *part);
void zj_part_no_base(struct zj_journal *zj, struct zj_part *part);
void zj_part_note_known(struct zj_journal *zj, struct zj_part *part);
void zj_jh_unknown(struct zj_journal *zj, struct journal_head *jh);
void zj_bh_unknown(struct buffer_head *bh);

/* revoke.c */

/* 4,096 chains, as revokes go with their commit and most touches should find an empty chain. */
#define ZJ_REVOKE_HASH_BITS	12

bool zj_revoke_pending(struct zj_journal *zj, u64 block);
void zj_revoke_touch(handle_t *handle, u64 block);
void zj_revoke_retire(struct zj_txn *txn);

/* file_block.c */

/* The step by which zj_journal.max_file_blocks rises; lanes seldom write its cache line then. */
#define ZJ_FILE_BLOCK_STEP	16

/* A log of 128 MiB holds at most 32,768 images, so chains have four entries at most. */
#define ZJ_FILE_BLOCK_HASH_BITS	13

void zj_file_block_revoked(struct zj_txn *by, const struct zj_block_entry *rev);
void zj_file_block_retire(struct zj_txn *txn);

/* block_index.c */
int zj_block_index_init(struct zj_block_index *index, unsigned int bits);
void zj_block_index_exit(struct zj_block_index *index);
u32 zj_bucket_blocks(struct zj_block_bucket *bucket, u64 block, const struct zj_txn *txn);
struct zj_block_entry *zj_bucket_find(struct zj_block_bucket *bucket, u64 block);
struct zj_block_entry *zj_block_entry_alloc(void);
struct zj_block_entry *zj_bucket_lock(struct zj_block_bucket *bucket, u64 block,
				      const struct zj_txn *txn)
	__acquires(&bucket->lock);
void zj_bucket_add(struct zj_block_bucket *bucket, u64 block, struct zj_txn *txn,
		   struct list_head *list, struct zj_block_entry *spare);
void zj_block_entry_drop(struct zj_block_entry *entry, u32 blocks);

static inline u64 zj_run_of(u64 block)
{
	return block - block % ZJ_BLOCK_RUN;
}

/* The block's bit in zj_block_entry.blocks. */
static inline u32 zj_block_bit(u64 block)
{
	return 1U << block % ZJ_BLOCK_RUN;
}

static inline struct zj_block_bucket *zj_bucket_of(const struct zj_block_index *index, u64 block)
{
	return &index->buckets[hash_64(block / ZJ_BLOCK_RUN, index->bits)];
}

/* Returns whether a block has an entry: of a transaction, or, if that is NULL, of any. */
static inline bool zj_bucket_holds(struct zj_block_bucket *bucket, u64 block,
				   const struct zj_txn *txn)
{
	/* Most callers find that out without a call. */
	return !hlist_empty(&bucket->head) &&
	       zj_bucket_blocks(bucket, block, txn) & zj_block_bit(block);
}

/* ordered.c */
int zj_ordered_submit(struct zj_txn *txn);
int zj_ordered_wait(struct zj_txn *txn);
void zj_ordered_drop(struct zj_txn *txn);

/* committed.c */
void zj_member_durable(struct zj_txn *txn);
struct zj_comp_stats *zj_comp_stats_of(const struct zj_component *comp);
void zj_comp_count_closed(struct zj_component *comp);
void zj_comp_count_locked(struct zj_component *comp, ktime_t now);
void zj_comp_stats(struct zj_journal *zj, struct zj_comp_stats *sum);

#endif /* ZJ_TXN_H */
