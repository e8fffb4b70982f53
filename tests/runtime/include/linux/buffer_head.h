/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_BUFFER_HEAD_H
#define ZJ_RUNTIME_LINUX_BUFFER_HEAD_H

#include <linux/fs.h>
#include <linux/blkdev.h>
#include <linux/pagemap.h>
#include <linux/atomic.h>

enum bh_state_bits {
	BH_Uptodate,
	BH_Dirty,
	BH_Lock,
	BH_Req,
	BH_Mapped,
	BH_New,
	BH_Async_Write,
	BH_Delay,
	BH_Unwritten,
	BH_Write_EIO,
	BH_PrivateStart = 16,
};

/**
 * struct buffer_head - one cached block
 */
struct buffer_head {
	unsigned long	b_state;	/* bits of the above */
	struct buffer_head *b_this_page; /* next one of the folio, in a ring */
	struct folio	*b_folio;
	sector_t	b_blocknr;
	size_t		b_size;
	char		*b_data;
	struct block_device *b_bdev;
	void		*b_private;	/* the journal's */
	atomic_t	b_count;	/* users */
	void		(*b_end_io)(struct buffer_head *bh, int uptodate); /* stock's */
	struct list_head b_assoc_buffers; /* stock's; in one of its lists */
	wait_queue_head_t wait;		/* for BH_Lock to clear */
};

#define kl_bit(word, bit, set, order)					\
({									\
	unsigned long __mask = 1UL << (bit), __was;			\
									\
	kl_point();							\
	__was = (set) ? __atomic_fetch_or(word, __mask, order) :	\
			__atomic_fetch_and(word, ~__mask, order);	\
	kl_point();							\
	!!(__was & __mask);						\
})

/* As in the kernel: setting, clearing and looking order nothing. */
#define BUFFER_FNS(bit, name)						\
static inline void set_buffer_##name(struct buffer_head *bh)		\
{									\
	kl_bit(&bh->b_state, BH_##bit, 1, __ATOMIC_RELAXED);		\
}									\
static inline void clear_buffer_##name(struct buffer_head *bh)		\
{									\
	kl_bit(&bh->b_state, BH_##bit, 0, __ATOMIC_RELAXED);		\
}									\
static inline int buffer_##name(const struct buffer_head *bh)		\
{									\
	return !!(READ_ONCE(bh->b_state) & (1UL << BH_##bit));		\
}

/* Test and change order everything. */
#define TAS_BUFFER_FNS(bit, name)					\
static inline int test_set_buffer_##name(struct buffer_head *bh)	\
{									\
	return kl_bit(&bh->b_state, BH_##bit, 1, __ATOMIC_SEQ_CST);	\
}									\
static inline int test_clear_buffer_##name(struct buffer_head *bh)	\
{									\
	return kl_bit(&bh->b_state, BH_##bit, 0, __ATOMIC_SEQ_CST);	\
}

/* A task that sees the flag also sees the contents. */
static inline void set_buffer_uptodate(struct buffer_head *bh)
{
	kl_bit(&bh->b_state, BH_Uptodate, 1, __ATOMIC_RELEASE);
}

static inline void clear_buffer_uptodate(struct buffer_head *bh)
{
	kl_bit(&bh->b_state, BH_Uptodate, 0, __ATOMIC_RELAXED);
}

static inline int buffer_uptodate(const struct buffer_head *bh)
{
	return !!(smp_load_acquire(&bh->b_state) & (1UL << BH_Uptodate));
}

BUFFER_FNS(Dirty, dirty)
TAS_BUFFER_FNS(Dirty, dirty)
BUFFER_FNS(Lock, locked)
TAS_BUFFER_FNS(Lock, locked)
BUFFER_FNS(Req, req)
BUFFER_FNS(Mapped, mapped)
BUFFER_FNS(New, new)
BUFFER_FNS(Async_Write, async_write)
BUFFER_FNS(Delay, delay)
BUFFER_FNS(Unwritten, unwritten)
BUFFER_FNS(Write_EIO, write_io_error)

#define get_bh(bh)	atomic_inc(&(bh)->b_count)
void put_bh(struct buffer_head *bh);
void __brelse(struct buffer_head *bh);
void brelse(struct buffer_head *bh);
void bforget(struct buffer_head *bh);

void lock_buffer(struct buffer_head *bh);
void unlock_buffer(struct buffer_head *bh);
void wait_on_buffer(struct buffer_head *bh);
void mark_buffer_dirty(struct buffer_head *bh);
void write_dirty_buffer(struct buffer_head *bh, blk_opf_t opf);
int __sync_dirty_buffer(struct buffer_head *bh, blk_opf_t opf);

struct buffer_head *__find_get_block(struct block_device *bdev, sector_t block,
				     unsigned int size);
/* The same: no page of these buffers is ever migrated, which is all that the two differ in. */
static inline struct buffer_head *
__find_get_block_nonatomic(struct block_device *bdev, sector_t block, unsigned int size)
{
	return __find_get_block(bdev, block, size);
}

struct buffer_head *__getblk(struct block_device *bdev, sector_t block,
			     unsigned int size);
struct buffer_head *__bread(struct block_device *bdev, sector_t block,
			    unsigned int size);
static inline void __breadahead(struct block_device *bdev, sector_t block,
				unsigned int size) { }
/* Called for a buffer that was read, before any task uses it; NULL: not called. */
extern void (*kl_buffer_read)(struct buffer_head *bh);

#endif
