// SPDX-License-Identifier: GPL-2.0-only
/*
 * File data in the log: one block. log_data.c says which ones.
 */
#include <linux/memcontrol.h>
#include <linux/pagemap.h>
#include "ext4.h"
#include "ext4_jbd2.h"

/* The cgroup that a locked folio counts as memory of, with a reference: cgroups are removed. */
static struct mem_cgroup *memcg_of(struct folio *folio)
{
	struct mem_cgroup *memcg;

	rcu_read_lock();
	do {
		memcg = folio_memcg(folio);
	} while (!mem_cgroup_tryget(memcg));
	rcu_read_unlock();
	return memcg;
}

static bool belongs_to_another(struct folio *folio, const struct mem_cgroup *owner)
{
	const struct mem_cgroup *holder;

	rcu_read_lock();
	holder = folio_memcg(folio);
	rcu_read_unlock();
	return holder && holder != owner;
}

/*
 * Drops the page of a block from the device's page cache if it counts as the memory of another
 * cgroup than @owner, which the block's former user was in. A page in use stays.
 */
static void drop_foreign(struct super_block *sb, sector_t block, const struct mem_cgroup *owner)
{
	struct address_space *mapping = sb->s_bdev->bd_mapping;
	pgoff_t index = block >> (PAGE_SHIFT - sb->s_blocksize_bits);
	struct folio *folio = filemap_get_folio(mapping, index);
	bool foreign;

	if (IS_ERR(folio))
		return;
	foreign = belongs_to_another(folio, owner);
	folio_put(folio);
	if (foreign)
		invalidate_mapping_pages(mapping, index, index);
}

/*
 * Gets the buffer for the image of a block. It counts as memory of the cgroup that has the file's
 * folio, whoever syncs it: the release of that folio brings the image home, and nothing else does.
 */
static struct buffer_head *get_image(struct super_block *sb, struct folio *folio, sector_t block)
{
	struct mem_cgroup *owner = memcg_of(folio), *old;
	struct buffer_head *image;

	if (owner)
		drop_foreign(sb, block, owner);
	old = set_active_memcg(owner);
	image = sb_getblk(sb, block);
	set_active_memcg(old);
	mem_cgroup_put(owner);
	return image;
}

/**
 * zext4_log_block() - log the block of a folio's buffer
 * @handle: with a credit for it
 * @inode: the file
 * @folio: locked and write-protected
 * @bh: its buffer, which is mapped
 *
 * An image that is still on its way home keeps its journal head, so its buffer holds what recovery
 * knows of the block. Otherwise the buffer may have contents that are older than the block.
 *
 * A sync that finds the folio clean, or the block in the log, and leaves it there, waits for the
 * transaction in the inode's sync tids. So this is ours before.
 *
 * Return: 0 or a negative error.
 */
int zext4_log_block(handle_t *handle, struct inode *inode, struct folio *folio,
		    struct buffer_head *bh)
{
	struct super_block *sb = inode->i_sb;
	struct buffer_head *image = get_image(sb, folio, bh->b_blocknr);
	bool known;
	int err = 0;

	if (!image)
		return -ENOMEM;
	ext4_update_inode_fsync_trans(handle, inode, 1);
	known = buffer_jbd(image) && buffer_uptodate(image);
	if (known)
		err = ext4_journal_get_write_access(handle, sb, image, EXT4_JTR_NONE);
	lock_buffer(image);
	if (!known)
		err = ext4_journal_get_create_access(handle, sb, image, EXT4_JTR_NONE);
	if (!err) {
		memcpy_from_folio(image->b_data, folio, bh_offset(bh), bh->b_size);
		set_buffer_uptodate(image);
	}
	unlock_buffer(image);
	if (!err)
		err = zj_journal_dirty_file_block(handle, image, known);
	brelse(image);
	return err;
}

/**
 * zext4_order_zeroed() - order a part of a block that was zeroed in the page cache
 * @handle: the handle that truncates the file or makes a hole
 * @inode: the file
 * @bh: the buffer of the block; its folio is locked
 * @from: offset in the file
 * @length: bytes
 *
 * The commit would write the block in place, so a block that is in the log is logged again.
 *
 * Return: 0 or a negative error.
 */
int zext4_order_zeroed(handle_t *handle, struct inode *inode, struct buffer_head *bh,
		       loff_t from, loff_t length)
{
	int err = 0;

	if (!zext4_block_logged(inode, bh))
		return ext4_jbd2_inode_add_write(handle, inode, from, length);
	if (!is_handle_aborted(handle) && zj_handle_buffer_credits(handle) < 1)
		err = ext4_journal_extend(handle, 1, 0);
	if (err)
		return err < 0 ? err : -ENOSPC;
	return zext4_log_block(handle, inode, bh->b_folio, bh);
}

/* Fails with -EAGAIN if somebody has the folio's lock, and perhaps waits for the disk (N10). */
static int order_tail(handle_t *handle, struct inode *inode, loff_t from, loff_t length)
{
	struct buffer_head *bh = NULL;
	struct folio *folio;
	int err;

	folio = __filemap_get_folio(inode->i_mapping, from >> PAGE_SHIFT, FGP_LOCK | FGP_NOWAIT, 0);
	if (folio == ERR_PTR(-EAGAIN))
		return -EAGAIN;
	/* What has left the page cache is home (F2). */
	if (IS_ERR(folio))
		return ext4_jbd2_inode_add_write(handle, inode, from, length);
	if (folio_buffers(folio))
		bh = get_nth_bh(folio_buffers(folio),
				offset_in_folio(folio, from) >> inode->i_blkbits);
	if (bh && !zext4_needs_mapping(bh))
		err = zext4_order_zeroed(handle, inode, bh, from, length);
	else
		err = ext4_jbd2_inode_add_write(handle, inode, from, length);
	brelse(bh);
	folio_unlock(folio);
	folio_put(folio);
	return err;
}

/* Waits until a folio is not locked. */
static void wait_for_tail(struct inode *inode, loff_t from)
{
	struct folio *folio;

	zext4_may_wait();
	folio = filemap_lock_folio(inode->i_mapping, from >> PAGE_SHIFT);
	if (IS_ERR(folio))
		return;
	folio_unlock(folio);
	folio_put(folio);
}

/**
 * zext4_order_tail() - order the zeroed end of a block, for who has let go of its folio
 * @inode: the file
 * @from: offset in the file
 * @length: bytes, up to the end of the block
 *
 * The handle claims the inode, so the next one that changes its size is tied to it (R10). If the
 * folio is busy each time, its data is written first: then that one finds it in place, or in the
 * log, in a transaction that the inode's sync tids know.
 *
 * Context: no handle open, no folio locked.
 * Return: 0 or a negative error.
 */
int zext4_order_tail(struct inode *inode, loff_t from, loff_t length)
{
	unsigned int tries;
	handle_t *handle;
	int err;

	for (tries = 0; tries < ZEXT4_LOG_TRIES; tries++) {
		handle = ext4_journal_start(inode, EXT4_HT_MISC, 1);
		if (IS_ERR(handle))
			return PTR_ERR(handle);
		err = order_tail(handle, inode, from, length);
		ext4_journal_stop(handle);
		if (err != -EAGAIN)
			return err;
		wait_for_tail(inode, from);
	}
	zext4_may_wait();
	return filemap_write_and_wait_range(inode->i_mapping, from, from + length - 1);
}
