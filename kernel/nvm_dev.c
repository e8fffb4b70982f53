// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory for a log in persistent memory: a block device that can be mapped (DAX),
 * claimed for this mount alone.
 */
#include <linux/blkdev.h>
#include <linux/dax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <zjournal/nvm_dev.h>

/**
 * struct zj_nvm_host - an open device
 */
struct zj_nvm_host {
	struct file	*file;		/* claimed */
	struct dax_device *dax;
	void		*holder;	/* the map, which is notified when @dax is removed; NULL
					 * if the user of another partition is notified
					 */
};

/*
 * A device that is released has no holder any more, but does not wait for a call of
 * notify_failure() that has begun. Protects a map that such a call has found.
 */
static DEFINE_MUTEX(holder_lock);

/* The driver is being unbound, or the kernel has found an uncorrectable error. */
static int notify_failure(struct dax_device *dax, u64 offset, u64 len, int flags)
{
	bool gone = flags & MF_MEM_PRE_REMOVE;
	struct zj_nvm_map *map;

	mutex_lock(&holder_lock);
	map = dax_holder(dax);
	if (map)
		map->lost(map, gone);
	mutex_unlock(&holder_lock);
	/* After an error, -EOPNOTSUPP makes the kernel handle it as well. */
	return gone ? 0 : -EOPNOTSUPP;
}

static const struct dax_holder_operations holder_ops = {
	.notify_failure	= notify_failure,
};

/* Maps the whole device in one piece; this fails if there is a bad block in it. */
static int map_all(struct zj_nvm_map *map, struct zj_nvm_host *host, u64 offset)
{
	struct block_device *bdev = file_bdev(host->file);
	long want = bdev_nr_bytes(bdev) >> PAGE_SHIFT, got;
	void *base;
	int id;

	id = dax_read_lock();
	got = dax_direct_access(host->dax, offset >> PAGE_SHIFT, want,
				DAX_ACCESS, &base, NULL);
	dax_read_unlock(id);
	if (got < want) {
		pr_err("zjournal: %pg cannot be mapped in one piece (%ld of %ld pages): it has bad blocks or is not contiguous\n",
		       bdev, got, want);
		return got < 0 ? got : -EIO;
	}
	map->base = base;
	map->size = (u64)want << PAGE_SHIFT;
	/* The pmem driver offers FUA if, and only if, the memory needs flushes. */
	map->needs_flush = bdev_fua(bdev);
	return 0;
}

static int open_dax(struct zj_nvm_map *map, struct zj_nvm_host *host)
{
	struct block_device *bdev = file_bdev(host->file);
	u64 offset;

	host->dax = fs_dax_get_by_bdev(bdev, &offset, map, &holder_ops);
	if (host->dax)
		host->holder = map;
	else
		host->dax = fs_dax_get_by_bdev(bdev, &offset, NULL, NULL);
	if (!host->dax) {
		pr_err("zjournal: %pg is not persistent memory that can be mapped (no DAX)\n", bdev);
		return -EOPNOTSUPP;
	}
	if (!dax_synchronous(host->dax)) {
		/* For example virtio-pmem: the CPU's write-back ends in the host's cache. */
		pr_err("zjournal: %pg needs a flush command to be durable, which zjournal does not support for memory\n",
		       bdev);
		return -EOPNOTSUPP;
	}
	return map_all(map, host, offset);
}

/**
 * zj_nvm_open() - claim and map the memory for a log
 * @path: the device
 * @map: filled in
 *
 * Return: 0, or a negative error after a message that explains it. zj_nvm_close() has to
 * be called in either case.
 */
int zj_nvm_open(const char *path, struct zj_nvm_map *map)
{
	struct zj_nvm_host *host = kzalloc(sizeof(*host), GFP_KERNEL);
	struct file *file;

	if (!host)
		return -ENOMEM;
	file = bdev_file_open_by_path(path, BLK_OPEN_READ | BLK_OPEN_WRITE |
				      BLK_OPEN_RESTRICT_WRITES, map, NULL);
	if (IS_ERR(file)) {
		pr_err("zjournal: journal_nvm=%s cannot be opened exclusively: error %ld; does it exist, and is it in use?\n",
		       path, PTR_ERR(file));
		kfree(host);
		return PTR_ERR(file);
	}
	host->file = file;
	map->host = host;
	/* Stale pages of the device's page cache must not be written over our stores. */
	sync_blockdev(file_bdev(file));
	invalidate_bdev(file_bdev(file));
	return open_dax(map, host);
}

/**
 * zj_nvm_close() - unmap and release the memory
 * @map: as zj_nvm_open() has left it, or zero
 */
void zj_nvm_close(struct zj_nvm_map *map)
{
	struct zj_nvm_host *host = map->host;

	map->base = NULL;
	map->host = NULL;
	if (!host)
		return;
	/* Programs that read the device meanwhile must see our stores from now on. */
	invalidate_bdev(file_bdev(host->file));
	if (host->dax) {
		mutex_lock(&holder_lock);
		fs_put_dax(host->dax, host->holder);
		mutex_unlock(&holder_lock);
	}
	bdev_fput(host->file);
	kfree(host);
}

/**
 * zj_nvm_begin() - the memory is about to be loaded from or stored to
 * @map: the memory, open
 * @id: for zj_nvm_end()
 *
 * When the driver is unbound, it ends the life of the DAX device, waits for all tasks
 * between zj_nvm_begin() and zj_nvm_end(), and only then takes the mapping away.
 *
 * Context: the caller may sleep before zj_nvm_end().
 * Return: 0; -ENODEV if the memory is gone, without a zj_nvm_end() then.
 */
int zj_nvm_begin(struct zj_nvm_map *map, int *id)
{
	struct zj_nvm_host *host = map->host;

	*id = dax_read_lock();
	/* Kernels without DAX have no dax_alive(), and no device is open there. */
	if (IS_ENABLED(CONFIG_DAX) && likely(dax_alive(host->dax)))
		return 0;
	dax_read_unlock(*id);
	return -ENODEV;
}

void zj_nvm_end(int id)
{
	dax_read_unlock(id);
}

/**
 * zj_nvm_flush() - empty the buffers between the CPU's caches and the medium
 * @map: the memory, with needs_flush
 *
 * The driver knows how: by the platform's flush hints, or by a call to the hypervisor.
 *
 * Context: between zj_nvm_begin() and zj_nvm_end(); sleeps.
 * Return: 0 or a negative error.
 */
int zj_nvm_flush(struct zj_nvm_map *map)
{
	struct zj_nvm_host *host = map->host;

	return blkdev_issue_flush(file_bdev(host->file));
}
