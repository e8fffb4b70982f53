// SPDX-License-Identifier: GPL-2.0-only
/* The buffer cache, and folios of one block each. */
#include <string.h>
#include <stdlib.h>
#include <klayer/bug.h>
#include "../common/bh.h"
#include "disk.h"

#define DEAD	(1 << 24)	/* taken off a count of users: being reclaimed */

static struct buffer_head *new_buf(struct kl_disk *disk, u32 block,
				   struct address_space *mapping)
{
	struct thr_buf *buf = kzalloc(sizeof(*buf), GFP_NOFS | __GFP_NOFAIL);
	struct buffer_head *bh = &buf->bh;

	bh->b_this_page = bh;
	bh->b_folio = &buf->folio;
	bh->b_blocknr = block;
	bh->b_size = disk->block;
	bh->b_bdev = &disk->bdev;
	bh->b_state = 1UL << BH_Mapped;
	bh->b_data = kmalloc(disk->block, GFP_NOFS | __GFP_NOFAIL);
	memset(bh->b_data, 0xdb, disk->block);
	init_waitqueue_head(&bh->wait);
	init_waitqueue_head(&buf->folio.wait);
	buf->folio.mapping = mapping;
	buf->folio.private = bh;
	buf->folio.size = disk->block;
	return bh;
}

void buf_free(struct buffer_head *bh)
{
	if (bh->b_count.counter || bh->b_private ||
	    bh->b_state & (1UL << BH_Lock))
		kl_fail("buffer of block %llu is in use at its end: count %d, state %#lx",
			bh->b_blocknr, bh->b_count.counter, bh->b_state);
	kfree(bh->b_data);
	kfree(bh);
}

void buf_cache_exit(struct kl_disk *disk)
{
	rcu_barrier();
	for (u32 i = 0; i < disk->nr; i++)
		if (disk->bufs[i])
			buf_free(&disk->bufs[i]->bh);
	free(disk->bufs);
}

struct buffer_head *buf_of_file(struct kl_disk *disk, struct inode *inode,
				u32 block)
{
	return new_buf(disk, block, inode->i_mapping);
}

/* ---- references ---- */

/* No lock, so that a lookup orders nothing but what is in the buffer. */
static struct buffer_head *lookup(struct kl_disk *disk, u32 block)
{
	struct thr_buf *buf;
	bool taken = true;
	int count;

	rcu_read_lock();
	buf = READ_ONCE(disk->bufs[block]);
	if (buf) {
		count = atomic_read(&buf->bh.b_count);
		do {
			taken = count >= 0;
		} while (taken && !__atomic_compare_exchange_n(
				&buf->bh.b_count.counter, &count, count + 1, true,
				__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	}
	rcu_read_unlock();
	if (!taken)
		return ERR_PTR(-EAGAIN);
	return buf ? &buf->bh : NULL;
}

struct buffer_head *__find_get_block(struct block_device *bdev, sector_t block,
				     unsigned int size)
{
	struct buffer_head *bh;

	might_sleep();
	if (block >= bdev->disk->nr)
		kl_fail("buffer of block %llu, beyond the disk", block);
	do {
		bh = lookup(bdev->disk, block);
		kl_point();
	} while (IS_ERR(bh));
	return bh;
}

struct buffer_head *__getblk(struct block_device *bdev, sector_t block,
			     unsigned int size)
{
	struct buffer_head *bh, *new = NULL;

	for (;;) {
		struct thr_buf *none = NULL;

		bh = __find_get_block(bdev, block, size);
		if (bh)
			break;
		if (!new)
			new = new_buf(bdev->disk, block, bdev->bd_mapping);
		new->b_count.counter = 1;
		if (__atomic_compare_exchange_n(&bdev->disk->bufs[block], &none,
						(struct thr_buf *)new, false,
						__ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return new;
		new->b_count.counter = 0;
	}
	if (new)
		buf_free(new);
	return bh;
}

static bool is_busy(struct buffer_head *bh)
{
	return READ_ONCE(bh->b_state) & (1UL << BH_Dirty | 1UL << BH_Lock);
}

bool buf_reclaim(struct kl_disk *disk, u32 block)
{
	struct thr_buf *buf;
	bool took = false;
	int none = 0;

	rcu_read_lock();
	buf = READ_ONCE(disk->bufs[block]);
	/* Pairs with put_bh(). */
	if (buf && __atomic_compare_exchange_n(&buf->bh.b_count.counter, &none,
					       -DEAD, false, __ATOMIC_ACQUIRE,
					       __ATOMIC_RELAXED)) {
		took = !is_busy(&buf->bh);
		if (buf->bh.b_private)
			kl_fail("block %u has a journal head that does not hold it",
				block);
		if (took)
			WRITE_ONCE(disk->bufs[block], NULL);
		else
			__atomic_fetch_add(&buf->bh.b_count.counter, DEAD,
					   __ATOMIC_RELEASE);
	}
	rcu_read_unlock();
	if (took) {
		kfree(buf->bh.b_data);
		kfree_rcu(buf, rcu);
	}
	return took;
}

/* ---- I/O ---- */

void unlock_buffer(struct buffer_head *bh)
{
	if (!kl_bit(&bh->b_state, BH_Lock, 0, __ATOMIC_RELEASE))
		kl_fail("buffer of block %llu is unlocked, but was not locked",
			bh->b_blocknr);
	/* Pairs with the wait: it sees the bit clear, or is woken. */
	smp_mb();
	if (waitqueue_active(&bh->wait))
		wake_up(&bh->wait);
}

void wait_on_buffer(struct buffer_head *bh)
{
	might_sleep();
	if (buffer_locked(bh))
		/* Pairs with unlock_buffer(). */
		wait_event(bh->wait, !(smp_load_acquire(&bh->b_state) &
				       1UL << BH_Lock));
}

void mark_buffer_dirty(struct buffer_head *bh)
{
	if (!buffer_uptodate(bh) && !buffer_write_io_error(bh))
		kl_fail("buffer of block %llu is dirty, but not up to date",
			bh->b_blocknr);
	if (buffer_dirty(bh)) {
		/* Pairs with the next writer, who sees all changes made before this. */
		smp_mb();
		if (buffer_dirty(bh))
			return;
	}
	test_set_buffer_dirty(bh);
}

int sync_blockdev(struct block_device *bdev)
{
	errseq_t before = errseq_sample(&bdev->bd_mapping->wb_err);
	struct kl_disk *disk = bdev->disk;

	for (u32 i = 0; i < disk->nr; i++)
		buf_write_back(disk, i);
	for (u32 i = 0; i < disk->nr; i++) {
		struct buffer_head *bh = __find_get_block(bdev, i, disk->block);

		if (!bh)
			continue;
		wait_on_buffer(bh);
		put_bh(bh);
	}
	return errseq_check(&bdev->bd_mapping->wb_err, before);
}

/* ---- folios ---- */

bool folio_trylock(struct folio *folio)
{
	struct task_struct *none = NULL;

	kl_point();
	return __atomic_compare_exchange_n(&folio->locked, &none, current, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void folio_lock(struct folio *folio)
{
	might_sleep();
	if (READ_ONCE(folio->locked) == current)
		kl_fail("folio is locked twice");
	wait_event(folio->wait, folio_trylock(folio));
}

void folio_unlock(struct folio *folio)
{
	if (READ_ONCE(folio->locked) != current)
		kl_fail("folio is unlocked by somebody else");
	/* Pairs with folio_trylock(), then with the wait. */
	smp_store_release(&folio->locked, NULL);
	/* As above. */
	smp_mb();
	wake_up(&folio->wait);
}

void folio_wait_writeback(struct folio *folio)
{
	/* The kernel looks without order: what follows are writes, which depend. */
	wait_event(folio->wait, !smp_load_acquire(&folio->writeback));
}

static void end_writeback(struct folio *folio)
{
	/* Pairs with folio_wait_writeback(), then with its wait. */
	smp_store_release(&folio->writeback, false);
	/* As above. */
	smp_mb();
	wake_up(&folio->wait);
}

static void end_folio(struct bio *bio)
{
	struct folio *folio = bio->bi_private;
	struct buffer_head *bh = folio->private;

	if (bio->bi_status) {
		set_buffer_write_io_error(bh);
		__atomic_fetch_add(&folio->mapping->wb_err, 1, __ATOMIC_RELAXED);
	}
	bio_put(bio);
	clear_buffer_async_write(bh);
	end_writeback(folio);
	put_bh(bh);
}

void folio_write_back(struct folio *folio)
{
	struct buffer_head *bh = folio->private;
	struct bio *bio;

	if (!bh || !buffer_dirty(bh) || !buffer_mapped(bh) ||
	    folio_test_writeback(folio))
		return;
	WRITE_ONCE(folio->writeback, true);
	set_buffer_async_write(bh);
	if (!test_clear_buffer_dirty(bh)) {
		/* Another task took the dirty bit, so there is nothing to write. */
		clear_buffer_async_write(bh);
		end_writeback(folio);
		return;
	}
	bio = buf_bio(bh, REQ_OP_WRITE);
	bio->bi_private = folio;
	bio->bi_end_io = end_folio;
	submit_bio(bio);
}

bool try_to_free_buffers(struct folio *folio)
{
	struct buffer_head *bh = folio->private;

	return bh && !atomic_read(&bh->b_count) && !is_busy(bh);
}
