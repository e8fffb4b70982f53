// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjdisk: /dev/zjdctl.  Reading it shows one line per disk.  Writing one line
 * to it is one command (N, S: disk numbers; [x] may be left out):
 *
 *	N record on|off|clear	on: content now is the base, sequence from 0
 *	N rebuild S CUT SEED [LIE [WHOLE [POLICY]]]	see struct zjd_cut; N not in use
 *	N copy S		content of S, as it is now, into N
 *	N fail read|write|flush [SKIP [COUNT [FIRST LAST]]]	with EIO; up to 4
 *	N fail off
 *	N power off|on		off: every request fails from now on
 *	N latency US JITTER_US FLUSH_US	JITTER_US also reorders
 *	N head SEEK_US MIB_S [DEPTH]	one head, which reads and writes so many MiB/s; 0 0: many;
 *		DEPTH: the nearest ahead of so many is next, and no more are taken
 *	N hold FIRST LAST	writes of these sectors wait, before the disk has their data
 *	N release		until now
 *	N hold-read FIRST LAST, N release-read	the same for reads
 *	N cache 0|1 FUA		volatile cache and FUA, 0|1 each
 *	N fill PATTERN		the whole disk, with a 64-bit pattern (0x...)
 *	N plain PAGES		for benches: little work of the CPU for a block, see struct
 *		zjd_dev; PAGES blocks that were never written need no page allocated either
 *	N stats			sets the counters to 0
 *
 * /sys/kernel/debug/zjdisk/N lists a recording, with the last rebuild's choices.
 */
#include <linux/debugfs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "zjdisk.h"
#include "zjdisk_ioctl.h"

static struct dentry *zjd_debug;

static struct zjd_dev *zjd_dev_of(long long nr)
{
	return nr >= 0 && nr < zjd_ndev ? &zjd_devs[nr] : NULL;
}

static int zjd_cmd_record(struct zjd_dev *dev, const char *arg)
{
	int err = -EINVAL;

	down_write(&dev->sem);
	if (!strcmp(arg, "on")) {
		err = dev->plain ? -EBUSY : zjd_record_start(dev);
	} else if (!strcmp(arg, "off")) {
		zjd_record_stop(dev);
		err = 0;
	} else if (!strcmp(arg, "clear")) {
		zjd_record_clear(dev);
		err = 0;
	}
	up_write(&dev->sem);
	return err;
}

static int zjd_cmd_rebuild(struct zjd_dev *dst, const char *args)
{
	struct zjd_cut cut = {};
	struct zjd_dev *src;
	int nr, n, err;

	n = sscanf(args, "%d %llu %llu %u %llu %u", &nr, &cut.seq, &cut.seed,
		   &cut.lie, &cut.whole, &cut.policy);
	src = zjd_dev_of(nr);
	if (n < 3 || !src)
		return -EINVAL;
	/* Into itself: after a recording, as a live power cut. */
	if (src != dst)
		down_read(&src->sem);
	down_write_nested(&dst->sem, SINGLE_DEPTH_NESTING);
	err = zjd_rebuild(dst, src, &cut);
	up_write(&dst->sem);
	if (src != dst)
		up_read(&src->sem);
	return err;
}

/* Swaps in a table made beforehand; the old one or, on error, that one goes. */
static int zjd_set_content(struct zjd_dev *dev, struct page **table)
{
	int err = 0;

	if (!table)
		return -ENOMEM;
	down_write(&dev->sem);
	if (disk_openers(dev->disk) || dev->recording) {
		err = -EBUSY;
	} else {
		spin_lock_bh(&dev->lock);
		swap(dev->pages, table);
		dev->rebuilt[0] = 0;
		spin_unlock_bh(&dev->lock);
	}
	up_write(&dev->sem);
	zjd_free_table(table, dev->npages);
	return err;
}

static int zjd_cmd_copy(struct zjd_dev *dev, const char *args)
{
	struct zjd_dev *src;
	struct page **table;
	int nr;

	if (kstrtoint(args, 10, &nr) || !zjd_dev_of(nr))
		return -EINVAL;
	src = zjd_dev_of(nr);
	down_read(&src->sem);
	if (disk_openers(src->disk))
		table = ERR_PTR(-EBUSY);
	else
		table = zjd_copy_table(src->pages, src->npages);
	up_read(&src->sem);
	return IS_ERR(table) ? PTR_ERR(table) : zjd_set_content(dev, table);
}

static int zjd_cmd_fill(struct zjd_dev *dev, const char *args)
{
	struct page **table, *page;
	u64 pattern, i, *p;

	if (kstrtou64(args, 0, &pattern))
		return -EINVAL;
	page = alloc_page(GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	p = page_address(page);
	for (i = 0; i < PAGE_SIZE / sizeof(*p); i++)
		p[i] = pattern;
	table = zjd_alloc_table(dev->npages);
	for (i = 0; table && i < dev->npages; i++) {
		get_page(page);
		table[i] = page;
	}
	put_page(page);
	return zjd_set_content(dev, table);
}

static int zjd_cmd_fail(struct zjd_dev *dev, const char *args)
{
	struct zjd_fault f = { .count = U64_MAX, .last = U64_MAX };
	char op[8];
	int i, err = -ENOSPC;

	if (sscanf(args, "%7s %llu %llu %llu %llu", op, &f.skip, &f.count,
		   &f.first, &f.last) < 1)
		return -EINVAL;
	if (!strcmp(op, "read"))
		f.op = ZJD_FAIL_READ;
	else if (!strcmp(op, "write"))
		f.op = ZJD_FAIL_WRITE;
	else if (!strcmp(op, "flush"))
		f.op = ZJD_FAIL_FLUSH;
	else if (strcmp(op, "off"))
		return -EINVAL;
	spin_lock_bh(&dev->lock);
	if (!f.op) {
		memset(dev->faults, 0, sizeof(dev->faults));
		err = 0;
	}
	for (i = 0; err && i < ZJD_FAULTS; i++) {
		if (dev->faults[i].op)
			continue;
		dev->faults[i] = f;
		err = 0;
	}
	spin_unlock_bh(&dev->lock);
	return err;
}

static int zjd_cmd_latency(struct zjd_dev *dev, const char *args)
{
	u32 lat, jitter, flush;

	if (sscanf(args, "%u %u %u", &lat, &jitter, &flush) != 3)
		return -EINVAL;
	spin_lock_bh(&dev->lock);
	dev->lat_us = lat;
	dev->jitter_us = jitter;
	dev->flush_us = flush;
	spin_unlock_bh(&dev->lock);
	return 0;
}

static int zjd_cmd_head(struct zjd_dev *dev, const char *args)
{
	u32 seek, rate, depth = 0;
	int err = 0;

	if (sscanf(args, "%u %u %u", &seek, &rate, &depth) < 2 || (depth && !rate))
		return -EINVAL;
	spin_lock_bh(&dev->lock);
	/* Requests in flight have places, or have none. */
	if (depth != dev->depth && disk_openers(dev->disk)) {
		err = -EBUSY;
	} else {
		dev->seek_us = seek;
		dev->rate = ((u64)rate << 20) / MSEC_PER_SEC;
		if (depth != dev->depth)
			sema_init(&dev->room, depth);
		dev->depth = depth;
	}
	spin_unlock_bh(&dev->lock);
	return err;
}

static int zjd_set_hold(struct zjd_dev *dev, struct zjd_hold *hold, const char *args)
{
	u64 first, last;

	if (sscanf(args, "%llu %llu", &first, &last) != 2)
		return -EINVAL;
	spin_lock_bh(&dev->lock);
	hold->on = true;
	hold->first = first;
	hold->last = last;
	spin_unlock_bh(&dev->lock);
	return 0;
}

static int zjd_cmd_hold(struct zjd_dev *dev, const char *args)
{
	return zjd_set_hold(dev, &dev->holds[WRITE], args);
}

static int zjd_cmd_hold_read(struct zjd_dev *dev, const char *args)
{
	return zjd_set_hold(dev, &dev->holds[READ], args);
}

static int zjd_cmd_release(struct zjd_dev *dev, const char *args)
{
	zjd_release(dev, WRITE);
	return 0;
}

static int zjd_cmd_release_read(struct zjd_dev *dev, const char *args)
{
	zjd_release(dev, READ);
	return 0;
}

static int zjd_cmd_cache(struct zjd_dev *dev, const char *args)
{
	struct request_queue *q = dev->disk->queue;
	struct queue_limits lim;
	u32 cache, fua;

	if (sscanf(args, "%u %u", &cache, &fua) != 2 || cache > 1 || fua > 1)
		return -EINVAL;
	/* What is recorded or in flight was promised under the old setting. */
	if (disk_openers(dev->disk) || dev->recording)
		return -EBUSY;
	lim = queue_limits_start_update(q);
	lim.features &= ~(BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA);
	if (cache)
		lim.features |= BLK_FEAT_WRITE_CACHE;
	if (cache && fua)
		lim.features |= BLK_FEAT_FUA;
	dev->cache = cache;
	dev->fua = fua;
	return queue_limits_commit_update_frozen(q, &lim);
}

static int zjd_cmd_power(struct zjd_dev *dev, const char *arg)
{
	if (strcmp(arg, "off") && strcmp(arg, "on"))
		return -EINVAL;
	spin_lock_bh(&dev->lock);
	dev->dead = !strcmp(arg, "off");
	if (dev->dead)
		dev->recording = false;
	spin_unlock_bh(&dev->lock);
	return 0;
}

/* A recording would have to count each request in flight; so there is none, and no way back. */
static int zjd_cmd_plain(struct zjd_dev *dev, const char *args)
{
	LIST_HEAD(pages);
	struct page *page;
	int err = 0;
	u32 nr;

	if (kstrtou32(args, 10, &nr))
		return -EINVAL;
	while (nr-- && (page = alloc_page(GFP_KERNEL)))
		list_add(&page->lru, &pages);
	down_write(&dev->sem);
	spin_lock_bh(&dev->lock);
	if (dev->base || dev->plain || disk_openers(dev->disk)) {
		err = -EBUSY;
	} else {
		dev->plain = true;
		list_splice_init(&pages, &dev->spare);
	}
	spin_unlock_bh(&dev->lock);
	up_write(&dev->sem);
	zjd_put_pages(&pages);
	return err;
}

static int zjd_cmd_stats(struct zjd_dev *dev, const char *arg)
{
	spin_lock_bh(&dev->lock);
	memset(&dev->stats, 0, sizeof(dev->stats));
	spin_unlock_bh(&dev->lock);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct zjd_dev *dev, const char *args);
} zjd_cmds[] = {
	{ "record", zjd_cmd_record },	{ "rebuild", zjd_cmd_rebuild },
	{ "copy", zjd_cmd_copy },	{ "fill", zjd_cmd_fill },
	{ "fail", zjd_cmd_fail },	{ "power", zjd_cmd_power },
	{ "latency", zjd_cmd_latency },	{ "cache", zjd_cmd_cache },
	{ "head", zjd_cmd_head },	{ "hold", zjd_cmd_hold },
	{ "release", zjd_cmd_release },	{ "hold-read", zjd_cmd_hold_read },
	{ "release-read", zjd_cmd_release_read },
	{ "plain", zjd_cmd_plain },	{ "stats", zjd_cmd_stats },
};

static ssize_t zjd_ctl_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	int nr, at = 0, i, err = -EINVAL;
	char line[128], name[16];
	struct zjd_dev *dev;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, buf, len))
		return -EFAULT;
	line[len] = 0;
	strim(line);
	if (sscanf(line, "%d %15s %n", &nr, name, &at) < 2)
		return -EINVAL;
	dev = zjd_dev_of(nr);
	if (!dev)
		return -ENODEV;
	for (i = 0; i < ARRAY_SIZE(zjd_cmds); i++)
		if (!strcmp(name, zjd_cmds[i].name))
			err = zjd_cmds[i].run(dev, at ? line + at : "");
	if (err)
		pr_warn("zjdisk: \"%s\" failed: %d\n", line, err);
	return err ? err : len;
}

static int zjd_ctl_show(struct seq_file *m, void *v)
{
	int i;

	for (i = 0; i < zjd_ndev; i++) {
		struct zjd_dev *dev = &zjd_devs[i];
		struct zjd_stats *s = &dev->stats;

		spin_lock_bh(&dev->lock);
		seq_printf(m, "zjd%d size_mb=%llu cache=%d fua=%d power=%d recording=%d full=%d",
			   i, dev->npages >> (20 - PAGE_SHIFT), dev->cache, dev->fua,
			   !dev->dead, dev->recording, dev->full);
		seq_printf(m, " seq=%llu rec_mb=%llu reads=%llu writes=%llu fua_writes=%llu",
			   dev->seq, dev->rec_bytes >> 20, s->reads, s->writes, s->fua);
		seq_printf(m, " discards=%llu", s->discards);
		seq_printf(m, " flushes=%llu failed=%llu changed=%llu changed_meta=%llu",
			   s->flushes, s->failed, s->changed, s->changed_meta);
		seq_printf(m, " held=%u held_reads=%u %s\n", dev->holds[WRITE].nr,
			   dev->holds[READ].nr, dev->rebuilt);
		spin_unlock_bh(&dev->lock);
	}
	return 0;
}

static int zjd_ctl_open(struct inode *inode, struct file *file)
{
	/* misc_open() left its device here; seq_file wants it for itself. */
	file->private_data = NULL;
	return single_open(file, zjd_ctl_show, NULL);
}

/* Most pages are shared, so this compares little. */
static bool zjd_same_page(struct page *a, struct page *b)
{
	if (a == b)
		return true;
	if (!a || !b)
		return !memchr_inv(page_address(a ?: b), 0, PAGE_SIZE);
	return !memcmp(page_address(a), page_address(b), PAGE_SIZE);
}

static int zjd_find_diff(struct zjd_dev *a, struct zjd_dev *b, u64 *page)
{
	for (; *page < a->npages; ++*page) {
		if (!zjd_same_page(a->pages[*page], b->pages[*page]))
			return 0;
		cond_resched();
	}
	return -ENODATA;
}

static long zjd_ioc_diff(struct zjd_diff __user *arg)
{
	struct zjd_dev *a, *b;
	struct zjd_diff diff;
	int err = -EBUSY;

	BUILD_BUG_ON(ZJD_DIFF_BYTES != PAGE_SIZE);
	if (copy_from_user(&diff, arg, sizeof(diff)))
		return -EFAULT;
	a = zjd_dev_of(diff.dev[0]);
	b = zjd_dev_of(diff.dev[1]);
	if (!a || !b || a == b)
		return -ENODEV;
	/* Nobody writes to a disk that is not open, and no command changes it now. */
	down_read(&a->sem);
	down_read_nested(&b->sem, SINGLE_DEPTH_NESTING);
	if (!disk_openers(a->disk) && !disk_openers(b->disk))
		err = zjd_find_diff(a, b, &diff.page);
	up_read(&b->sem);
	up_read(&a->sem);
	if (!err && copy_to_user(arg, &diff, sizeof(diff)))
		err = -EFAULT;
	return err;
}

static int zjd_find_moment(struct zjd_dev *dev, u64 *seq)
{
	u64 next = U64_MAX;
	struct zjd_flush *f;
	struct zjd_write *w;

	list_for_each_entry(f, &dev->flushes, node)
		if (f->done > *seq)
			next = min(next, f->done);
	list_for_each_entry(w, &dev->writes, node)
		if (w->fua && w->done > *seq)
			next = min(next, w->done);
	*seq = next;
	return next == U64_MAX ? -ENODATA : 0;
}

static long zjd_ioc_moment(struct zjd_mark __user *arg)
{
	struct zjd_mark mark;
	struct zjd_dev *dev;
	int err = -EBUSY;

	if (copy_from_user(&mark, arg, sizeof(mark)))
		return -EFAULT;
	dev = zjd_dev_of(mark.dev);
	if (!dev)
		return -ENODEV;
	down_read(&dev->sem);
	if (!dev->recording)
		err = zjd_find_moment(dev, &mark.seq);
	up_read(&dev->sem);
	if (!err && copy_to_user(arg, &mark, sizeof(mark)))
		err = -EFAULT;
	return err;
}

static long zjd_ctl_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct zjd_mark mark;
	struct zjd_dev *dev;
	int err = 0;

	if (cmd == ZJD_IOC_DIFF)
		return zjd_ioc_diff((void __user *)arg);
	if (cmd == ZJD_IOC_MOMENT)
		return zjd_ioc_moment((void __user *)arg);
	if (cmd != ZJD_IOC_MARK)
		return -ENOTTY;
	if (copy_from_user(&mark, (void __user *)arg, sizeof(mark)))
		return -EFAULT;
	dev = zjd_dev_of(mark.dev);
	if (!dev)
		return -ENODEV;
	spin_lock_bh(&dev->lock);
	if (dev->recording)
		mark.seq = ++dev->seq;
	else
		err = dev->full ? -ENOSPC : -ENODATA;
	spin_unlock_bh(&dev->lock);
	if (!err && copy_to_user((void __user *)arg, &mark, sizeof(mark)))
		err = -EFAULT;
	return err;
}

static const struct file_operations zjd_ctl_fops = {
	.owner = THIS_MODULE,
	.open = zjd_ctl_open,
	.read = seq_read,
	.write = zjd_ctl_write,
	.llseek = seq_lseek,
	.release = single_release,
	.unlocked_ioctl = zjd_ctl_ioctl,
};

static struct miscdevice zjd_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "zjdctl",
	.fops = &zjd_ctl_fops,
	.mode = 0666,
};

static void *zjd_log_start(struct seq_file *m, loff_t *pos)
{
	struct zjd_dev *dev = m->private;

	down_read(&dev->sem);
	if (dev->recording)
		return NULL;
	return seq_list_start_head(&dev->writes, *pos);
}

static void *zjd_log_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct zjd_dev *dev = m->private;

	return seq_list_next(v, &dev->writes, pos);
}

static void zjd_log_stop(struct seq_file *m, void *v)
{
	struct zjd_dev *dev = m->private;

	up_read(&dev->sem);
}

static int zjd_log_show(struct seq_file *m, void *v)
{
	static const char *const fate[] = { "-", "durable", "kept", "torn", "lost" };
	struct zjd_dev *dev = m->private;
	struct zjd_flush *f;
	struct zjd_write *w;

	if (v == &dev->writes) {
		list_for_each_entry(f, &dev->flushes, node)
			seq_printf(m, "flush %llu %llu\n", f->submit, f->done);
		return 0;
	}
	w = list_entry(v, struct zjd_write, node);
	seq_printf(m, "%s %llu %llu %llu sector=%llu n=%u%s%s %s\n",
		   w->discard ? "discard" : "write", w->submit, w->data, w->done, w->sector, w->nsect, w->fua ? " fua" : "",
		   w->op & (__force u32)REQ_META ? " meta" : "", fate[w->fate]);
	return 0;
}

static const struct seq_operations zjd_log_sops = {
	.start = zjd_log_start,
	.next = zjd_log_next,
	.stop = zjd_log_stop,
	.show = zjd_log_show,
};
DEFINE_SEQ_ATTRIBUTE(zjd_log);

int zjd_control_init(void)
{
	char name[8];
	int i, err;

	err = misc_register(&zjd_misc);
	if (err)
		return err;
	zjd_debug = debugfs_create_dir("zjdisk", NULL);
	for (i = 0; i < zjd_ndev; i++) {
		snprintf(name, sizeof(name), "%d", i);
		debugfs_create_file(name, 0400, zjd_debug, &zjd_devs[i], &zjd_log_fops);
	}
	return 0;
}

void zjd_control_exit(void)
{
	debugfs_remove_recursive(zjd_debug);
	misc_deregister(&zjd_misc);
}
