// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjdisk: recordings, and the disk as a power cut would leave it.
 *
 * Durable at cut t: a write done before the start of a flush that was done by
 * t; an FUA write done by t; with no volatile cache every write done by t.  Any
 * other write whose data the disk had taken by t may be there or not, in parts
 * too.  Writes are applied in the order in which the disk took them, so an
 * older version never replaces a newer one that stays.
 */
#include <linux/slab.h>

#include "zjdisk.h"

enum zjd_grain { ZJD_BIO, ZJD_BLOCK, ZJD_SECTOR, ZJD_MIXED, ZJD_GRAINS };

/**
 * struct zjd_plan - the state of one rebuild
 * @rnd: random state
 * @cut: what was asked for
 * @cache: the recorded disk had a volatile cache
 * @horizon: writes done before this are durable by a flush
 * @policy: which volatile writes stay
 * @grain: in what units they stay
 * @prefix: for ZJD_PREFIX: taken up to here stays
 * @table: the content being built
 * @count: writes by fate
 */
struct zjd_plan {
	u64 rnd;
	const struct zjd_cut *cut;
	bool cache;
	u64 horizon;
	enum zjd_policy policy;
	enum zjd_grain grain;
	u64 prefix;
	struct page **table;
	u64 count[ZJD_LOST + 1];
};

static u32 zjd_rnd(struct zjd_plan *p, u32 below)
{
	u64 x;

	p->rnd += 0x9e3779b97f4a7c15ULL;
	x = (p->rnd ^ (p->rnd >> 31)) * 0xd6e8feb86659fd93ULL;
	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
	return ((x >> 32) * below) >> 32;
}

int zjd_record_start(struct zjd_dev *dev)
{
	struct page **base;

	zjd_record_clear(dev);
	base = zjd_alloc_table(dev->npages);
	if (!base)
		return -ENOMEM;
	/* Requests go on meanwhile; the copy of pointers must be one moment. */
	spin_lock_bh(&dev->lock);
	for (u64 i = 0; i < dev->npages; i++) {
		base[i] = dev->pages[i];
		if (base[i])
			get_page(base[i]);
	}
	dev->base = base;
	dev->seq = 0;
	dev->full = false;
	dev->recording = true;
	spin_unlock_bh(&dev->lock);
	return 0;
}

void zjd_record_stop(struct zjd_dev *dev)
{
	spin_lock_bh(&dev->lock);
	dev->recording = false;
	spin_unlock_bh(&dev->lock);
}

void zjd_record_clear(struct zjd_dev *dev)
{
	struct zjd_write *w, *wn;
	struct zjd_flush *f, *fn;

	zjd_record_stop(dev);
	list_for_each_entry_safe(w, wn, &dev->writes, node) {
		list_del(&w->node);
		zjd_put_write(w);
	}
	list_for_each_entry_safe(f, fn, &dev->flushes, node) {
		list_del(&f->node);
		kfree(f);
	}
	zjd_free_table(dev->base, dev->npages);
	dev->base = NULL;
	dev->rec_bytes = 0;
}

static int zjd_put_sectors(struct zjd_plan *p, u64 idx, struct page *from, u32 mask)
{
	struct page *to = p->table[idx];
	u32 s;

	/* A page that only this table holds is ours to change. */
	if (!to || page_count(to) > 1) {
		struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

		if (!page)
			return -ENOMEM;
		if (to) {
			memcpy(page_address(page), page_address(to), PAGE_SIZE);
			put_page(to);
		}
		p->table[idx] = to = page;
	}
	for (s = 0; s < ZJD_PAGE_SECTORS; s++)
		if (mask & BIT(s))
			memcpy(page_address(to) + s * SECTOR_SIZE,
			       page_address(from) + s * SECTOR_SIZE, SECTOR_SIZE);
	return 0;
}

static int zjd_put_page_part(struct zjd_plan *p, u64 idx, struct page *from, u32 mask)
{
	if (!mask)
		return 0;
	if (mask != BIT(ZJD_PAGE_SECTORS) - 1)
		return zjd_put_sectors(p, idx, from, mask);
	if (p->table[idx])
		put_page(p->table[idx]);
	get_page(from);
	p->table[idx] = from;
	return 0;
}

static bool zjd_is_durable(struct zjd_plan *p, struct zjd_write *w)
{
	if (!w->done || w->done > p->cut->seq)
		return false;
	if (!p->cache)
		return !(p->cut->lie & 1);
	return w->done < p->horizon || (w->fua && !(p->cut->lie & 2));
}

static bool zjd_keep(struct zjd_plan *p, struct zjd_write *w)
{
	switch (p->policy) {
	case ZJD_FEW:
		return !zjd_rnd(p, 8);
	case ZJD_MOST:
		return zjd_rnd(p, 8);
	case ZJD_NONE:
		return false;
	case ZJD_ALL:
		return true;
	case ZJD_PREFIX:
		return w->data <= p->prefix;
	default:
		return zjd_rnd(p, 2);
	}
}

/* The sectors of the write's i-th page that lie inside the write. */
static u32 zjd_cover(struct zjd_write *w, u32 i)
{
	u32 head = w->sector % ZJD_PAGE_SECTORS;
	u32 end = (w->sector + w->nsect) % ZJD_PAGE_SECTORS;
	u32 mask = BIT(ZJD_PAGE_SECTORS) - 1;

	if (!i)
		mask &= ~(BIT(head) - 1);
	if (i == w->npages - 1 && end)
		mask &= BIT(end) - 1;
	return mask;
}

static int zjd_apply(struct zjd_plan *p, struct zjd_write *w)
{
	u64 first = w->sector / ZJD_PAGE_SECTORS;
	bool durable = zjd_is_durable(p, w);
	enum zjd_grain grain = p->grain;
	bool some = false, all = true, keep;
	u32 i, s;
	int err;

	if (grain == ZJD_MIXED)
		grain = zjd_rnd(p, ZJD_MIXED);
	if (w->sector < p->cut->whole)
		grain = ZJD_BIO;
	keep = durable || zjd_keep(p, w);
	for (i = 0; i < w->npages; i++) {
		u32 cover = zjd_cover(w, i), mask = cover;

		if (!durable && grain == ZJD_BLOCK && i)
			keep = zjd_keep(p, w);
		if (!keep)
			mask = 0;
		if (!durable && grain == ZJD_SECTOR) {
			mask = 0;
			for (s = 0; s < ZJD_PAGE_SECTORS; s++)
				if (cover & BIT(s) && zjd_keep(p, w))
					mask |= BIT(s);
		}
		some |= mask;
		all &= mask == cover;
		err = zjd_put_page_part(p, first + i, w->pages[i], mask);
		if (err)
			return err;
	}
	w->fate = durable ? ZJD_DURABLE : all ? ZJD_KEPT : some ? ZJD_TORN : ZJD_LOST;
	p->count[w->fate]++;
	return 0;
}

static void zjd_make_plan(struct zjd_plan *p, struct zjd_dev *src, const struct zjd_cut *cut)
{
	struct zjd_flush *f, *ignored = NULL;

	/* Listed in the order of their ends. */
	if (cut->lie & 4)
		list_for_each_entry(f, &src->flushes, node)
			if (f->done <= cut->seq)
				ignored = f;
	p->rnd = cut->seed * 0xff51afd7ed558ccdULL ^ cut->seq;
	p->cut = cut;
	p->cache = src->cache;
	p->policy = zjd_rnd(p, ZJD_POLICIES);
	if (cut->policy)
		p->policy = cut->policy - 1;
	p->grain = zjd_rnd(p, ZJD_GRAINS);
	list_for_each_entry(f, &src->flushes, node)
		if (f->done <= cut->seq && f != ignored && !(cut->lie & 1))
			p->horizon = max(p->horizon, f->submit);
	p->prefix = p->horizon + zjd_rnd(p, cut->seq - p->horizon + 1);
}

static int zjd_fill_plan(struct zjd_plan *p, struct zjd_dev *src)
{
	struct zjd_write *w;
	int err;

	list_for_each_entry(w, &src->writes, node) {
		w->fate = ZJD_UNSEEN;
		if (w->data > p->cut->seq)
			continue;
		err = zjd_apply(p, w);
		if (err)
			return err;
		cond_resched();
	}
	return 0;
}

/* Both devices' sem are held. */
int zjd_rebuild(struct zjd_dev *dst, struct zjd_dev *src, const struct zjd_cut *cut)
{
	struct zjd_plan p = {};
	struct page **old;
	int err;

	if (src->recording || !src->base || cut->seq > src->seq || cut->policy > ZJD_POLICIES)
		return -EINVAL;
	if (disk_openers(dst->disk))
		return -EBUSY;
	p.table = zjd_copy_table(src->base, src->npages);
	if (!p.table)
		return -ENOMEM;
	zjd_make_plan(&p, src, cut);
	err = zjd_fill_plan(&p, src);
	if (err) {
		zjd_free_table(p.table, src->npages);
		return err;
	}
	spin_lock_bh(&dst->lock);
	old = dst->pages;
	dst->pages = p.table;
	dst->dead = false;
	spin_unlock_bh(&dst->lock);
	zjd_free_table(old, dst->npages);
	snprintf(dst->rebuilt, sizeof(dst->rebuilt),
		 "from=%d cut=%llu seed=%llu durable=%llu kept=%llu torn=%llu lost=%llu",
		 src->nr, cut->seq, cut->seed, p.count[ZJD_DURABLE],
		 p.count[ZJD_KEPT], p.count[ZJD_TORN], p.count[ZJD_LOST]);
	return 0;
}
