// SPDX-License-Identifier: GPL-2.0-only
/* zjdisk: module parameters, making and removing the disks. */
#include <linux/module.h>
#include <linux/slab.h>

#include "zjdisk.h"

struct zjd_dev *zjd_devs;
struct page *zjd_discarded;

int zjd_ndev = 3;
module_param_named(ndev, zjd_ndev, int, 0444);
MODULE_PARM_DESC(ndev, "number of disks");

/* The table of pages has 2 KiB for each; kvmalloc() gives less than 2 GiB. */
#define ZJD_MAX_MB	(512U << 10)

/* Sectors: one discard has a pointer for each page. */
#define ZJD_MAX_DISCARD	(8U << 11)

static unsigned int size_mb = 128;
module_param(size_mb, uint, 0444);
MODULE_PARM_DESC(size_mb, "size of each disk in MiB");

unsigned int zjd_max_rec_mb = 1024;
module_param_named(max_rec_mb, zjd_max_rec_mb, uint, 0644);
MODULE_PARM_DESC(max_rec_mb, "a recording ends when its data reaches this size");

static bool cache = true;
module_param(cache, bool, 0444);
MODULE_PARM_DESC(cache, "volatile write cache");

static bool fua = true;
module_param(fua, bool, 0444);
MODULE_PARM_DESC(fua, "the disk does FUA by itself");

struct page **zjd_alloc_table(u64 npages)
{
	return kvcalloc(npages, sizeof(struct page *), GFP_KERNEL);
}

void zjd_free_table(struct page **table, u64 npages)
{
	u64 i;

	if (!table)
		return;
	for (i = 0; i < npages; i++)
		if (table[i])
			put_page(table[i]);
	kvfree(table);
}

void zjd_put_pages(struct list_head *pages)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, pages, lru) {
		list_del(&page->lru);
		put_page(page);
	}
}

struct page **zjd_copy_table(struct page **from, u64 npages)
{
	struct page **to = zjd_alloc_table(npages);
	u64 i;

	if (!to)
		return NULL;
	for (i = 0; i < npages; i++) {
		to[i] = from[i];
		if (to[i])
			get_page(to[i]);
	}
	return to;
}

static int zjd_add(struct zjd_dev *dev, int nr)
{
	struct queue_limits lim = {
		.logical_block_size = SECTOR_SIZE,
		.physical_block_size = PAGE_SIZE,
		.features = (cache ? BLK_FEAT_WRITE_CACHE : 0) |
			    (cache && fua ? BLK_FEAT_FUA : 0),
		.max_hw_discard_sectors = ZJD_MAX_DISCARD,
		.discard_granularity = SECTOR_SIZE,
	};
	struct gendisk *disk;
	int err;

	dev->nr = nr;
	dev->npages = (u64)size_mb << (20 - PAGE_SHIFT);
	dev->cache = cache;
	dev->fua = fua;
	init_rwsem(&dev->sem);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->writes);
	INIT_LIST_HEAD(&dev->flushes);
	INIT_LIST_HEAD(&dev->waiting);
	INIT_LIST_HEAD(&dev->spare);
	INIT_LIST_HEAD(&dev->holds[READ].held);
	INIT_LIST_HEAD(&dev->holds[WRITE].held);
	dev->pages = zjd_alloc_table(dev->npages);
	if (!dev->pages)
		return -ENOMEM;
	disk = blk_alloc_disk(&lim, NUMA_NO_NODE);
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	disk->flags = GENHD_FL_NO_PART;
	disk->fops = &zjd_fops;
	disk->private_data = dev;
	snprintf(disk->disk_name, DISK_NAME_LEN, "zjd%d", nr);
	set_capacity(disk, dev->npages * ZJD_PAGE_SECTORS);
	err = add_disk(disk);
	if (err) {
		put_disk(disk);
		return err;
	}
	dev->disk = disk;
	return 0;
}

static void zjd_remove_all(void)
{
	int i;

	for (i = 0; i < zjd_ndev; i++) {
		struct zjd_dev *dev = &zjd_devs[i];

		if (dev->disk) {
			del_gendisk(dev->disk);
			put_disk(dev->disk);
		}
		/* Zeroed memory if zjd_add() never came to this one. */
		if (dev->pages) {
			zjd_record_clear(dev);
			zjd_put_pages(&dev->spare);
			zjd_free_table(dev->pages, dev->npages);
		}
	}
	kvfree(zjd_devs);
	put_page(zjd_discarded);
}

static int __init zjd_init(void)
{
	int i, err = 0;

	if (zjd_ndev < 1 || zjd_ndev > 64 || !size_mb || size_mb > ZJD_MAX_MB) {
		pr_err("zjdisk: ndev must be 1 to 64 and size_mb 1 to %u\n",
		       ZJD_MAX_MB);
		return -EINVAL;
	}
	zjd_discarded = alloc_page(GFP_KERNEL);
	if (!zjd_discarded)
		return -ENOMEM;
	memset(page_address(zjd_discarded), 0xdd, PAGE_SIZE);
	zjd_devs = kvcalloc(zjd_ndev, sizeof(*zjd_devs), GFP_KERNEL);
	if (!zjd_devs) {
		put_page(zjd_discarded);
		return -ENOMEM;
	}
	for (i = 0; i < zjd_ndev && !err; i++)
		err = zjd_add(&zjd_devs[i], i);
	if (!err)
		err = zjd_control_init();
	if (err)
		zjd_remove_all();
	return err;
}

static void __exit zjd_exit(void)
{
	zjd_control_exit();
	zjd_remove_all();
}

module_init(zjd_init);
module_exit(zjd_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("RAM disks that record writes and rebuild power cuts, for tests only");
