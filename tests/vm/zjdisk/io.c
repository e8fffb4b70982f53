// SPDX-License-Identifier: GPL-2.0-only
/* zjdisk: the life of one bio. */
#include <linux/bio.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "zjdisk.h"

enum zjd_stage { ZJD_READ, ZJD_PREFLUSH, ZJD_WRITE, ZJD_POSTFLUSH, ZJD_END };

/**
 * struct zjd_req - a bio on its way
 * @timer: ends the present stage
 * @dev: its disk
 * @bio: the bio
 * @w: its data, for writes
 * @stage: the present stage
 * @flush_start: sequence number of the present flush's start
 * @recorded: the present flush began while recording
 * @taken: the disk has the data of @w
 * @room: has one of the places of a disk that sorts
 * @served: has the head, of such a disk
 * @waiting: in zjd_dev.waiting or zjd_hold.held
 */
struct zjd_req {
	struct hrtimer timer;
	struct zjd_dev *dev;
	struct bio *bio;
	struct zjd_write *w;
	enum zjd_stage stage;
	u64 flush_start;
	bool recorded;
	bool taken;
	bool room;
	bool served;
	struct list_head waiting;
};

void zjd_put_write(struct zjd_write *w)
{
	u32 i;

	if (!refcount_dec_and_test(&w->ref))
		return;
	for (i = 0; i < w->npages; i++)
		put_page(w->pages[i]);
	kvfree(w);
}

/* What a discarded range has, which no file may ever show: a page, shared where it is whole. */
static struct page *zjd_page_of_discard(const struct zjd_write *w, u32 i)
{
	bool head = !i && w->sector % ZJD_PAGE_SECTORS;
	bool tail = i == w->npages - 1 && (w->sector + w->nsect) % ZJD_PAGE_SECTORS;
	struct page *page;

	if (!head && !tail) {
		get_page(zjd_discarded);
		return zjd_discarded;
	}
	page = alloc_page(GFP_NOIO | __GFP_NOFAIL);
	memcpy(page_address(page), page_address(zjd_discarded), PAGE_SIZE);
	return page;
}

/* The page of a plain disk that has this block, or one that the disk has in reserve, or NULL. */
static struct page *zjd_page_in_place(struct zjd_dev *dev, u64 index)
{
	struct page *page;

	spin_lock_bh(&dev->lock);
	page = dev->pages[index];
	if (page && page_count(page) == 1) {
		get_page(page);
	} else {
		page = list_first_entry_or_null(&dev->spare, struct page, lru);
		if (page)
			list_del(&page->lru);
	}
	spin_unlock_bh(&dev->lock);
	return page;
}

static struct page *zjd_page_of_write(struct zjd_dev *dev, u64 index)
{
	struct page *page = dev->plain ? zjd_page_in_place(dev, index) : NULL;

	return page ?: alloc_page(GFP_NOIO | __GFP_NOFAIL);
}

static struct zjd_write *zjd_new_write(struct zjd_dev *dev, struct bio *bio, bool fua)
{
	sector_t sector = bio->bi_iter.bi_sector;
	u32 nsect = bio_sectors(bio);
	u64 first = sector / ZJD_PAGE_SECTORS;
	u32 n = (sector + nsect - 1) / ZJD_PAGE_SECTORS - first + 1;
	struct zjd_write *w = kzalloc(struct_size(w, pages, n), GFP_NOIO | __GFP_NOFAIL);

	w->npages = n;
	refcount_set(&w->ref, 1);
	w->sector = sector;
	w->nsect = nsect;
	w->op = (__force u32)bio->bi_opf;
	w->fua = fua;
	w->discard = bio_op(bio) == REQ_OP_DISCARD;
	while (n--)
		w->pages[n] = w->discard ? zjd_page_of_discard(w, n) :
					   zjd_page_of_write(dev, first + n);
	return w;
}

/* Copies the bio's data into the write's pages, or compares: true if equal. */
static bool zjd_walk(struct zjd_req *rq, bool compare)
{
	struct zjd_write *w = rq->w;
	size_t pos = (w->sector % ZJD_PAGE_SECTORS) * SECTOR_SIZE;
	struct bvec_iter iter;
	struct bio_vec bv;
	bool same = true;

	if (w->discard)
		return true;
	bio_for_each_segment(bv, rq->bio, iter) {
		char *from = bvec_kmap_local(&bv);
		size_t off = 0;

		while (off < bv.bv_len) {
			size_t in = pos % PAGE_SIZE;
			size_t n = min_t(size_t, bv.bv_len - off, PAGE_SIZE - in);
			char *to = page_address(w->pages[pos / PAGE_SIZE]) + in;

			if (compare)
				same = same && !memcmp(to, from + off, n);
			else
				memcpy(to, from + off, n);
			off += n;
			pos += n;
		}
		kunmap_local(from);
	}
	return same;
}

/* Fills the parts of the first and the last page that the bio does not cover. */
static void zjd_fill_edges(struct zjd_dev *dev, struct zjd_write *w)
{
	u64 first = w->sector / ZJD_PAGE_SECTORS;
	size_t head = (w->sector % ZJD_PAGE_SECTORS) * SECTOR_SIZE;
	size_t end = ((w->sector + w->nsect) % ZJD_PAGE_SECTORS) * SECTOR_SIZE;
	struct page *old = dev->pages[first];
	char *to = page_address(w->pages[0]);

	/* In a plain disk it may be the same page. */
	if (head && old)
		memmove(to, page_address(old), head);
	else if (head)
		memset(to, 0, head);
	if (!end)
		return;
	old = dev->pages[first + w->npages - 1];
	to = page_address(w->pages[w->npages - 1]);
	if (old)
		memmove(to + end, page_address(old) + end, PAGE_SIZE - end);
	else
		memset(to + end, 0, PAGE_SIZE - end);
}

static void zjd_record_write(struct zjd_dev *dev, struct zjd_write *w)
{
	u64 bytes = w->discard ? 0 : (u64)w->npages * PAGE_SIZE;

	if (!dev->recording)
		return;
	if (dev->rec_bytes + bytes > (u64)zjd_max_rec_mb << 20) {
		dev->recording = false;
		dev->full = true;
		return;
	}
	dev->rec_bytes += bytes;
	w->data = ++dev->seq;
	refcount_inc(&w->ref);
	list_add_tail(&w->node, &dev->writes);
}

/* The disk takes the data: from here on reads see it and a cut may keep it. */
static void zjd_take_data(struct zjd_req *rq)
{
	struct zjd_dev *dev = rq->dev;
	struct zjd_write *w = rq->w;
	u64 first = w->sector / ZJD_PAGE_SECTORS;
	u32 i;

	zjd_walk(rq, false);
	spin_lock_bh(&dev->lock);
	zjd_fill_edges(dev, w);
	zjd_record_write(dev, w);
	for (i = 0; i < w->npages; i++) {
		if (dev->pages[first + i])
			put_page(dev->pages[first + i]);
		get_page(w->pages[i]);
		dev->pages[first + i] = w->pages[i];
	}
	spin_unlock_bh(&dev->lock);
	rq->taken = true;
}

static void zjd_read(struct zjd_dev *dev, struct bio *bio)
{
	size_t pos = bio->bi_iter.bi_sector * SECTOR_SIZE;
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_segment(bv, bio, iter) {
		char *to = bvec_kmap_local(&bv);
		size_t off = 0;

		while (off < bv.bv_len) {
			size_t in = pos % PAGE_SIZE;
			size_t n = min_t(size_t, bv.bv_len - off, PAGE_SIZE - in);
			struct page *page;

			spin_lock_bh(&dev->lock);
			page = dev->pages[pos / PAGE_SIZE];
			if (page)
				get_page(page);
			spin_unlock_bh(&dev->lock);
			if (page) {
				memcpy(to + off, page_address(page) + in, n);
				put_page(page);
			} else {
				memset(to + off, 0, n);
			}
			off += n;
			pos += n;
		}
		kunmap_local(to);
	}
}

static void zjd_flush_done(struct zjd_req *rq)
{
	struct zjd_dev *dev = rq->dev;
	struct zjd_flush *f = kmalloc(sizeof(*f), GFP_ATOMIC | __GFP_NOWARN);

	spin_lock_bh(&dev->lock);
	dev->stats.flushes++;
	if (rq->recorded && dev->recording) {
		if (f) {
			f->submit = rq->flush_start;
			f->done = ++dev->seq;
			list_add_tail(&f->node, &dev->flushes);
			f = NULL;
		} else {
			/* A recording that misses a flush would accuse wrongly. */
			dev->recording = false;
			dev->full = true;
		}
	}
	spin_unlock_bh(&dev->lock);
	kfree(f);
}

static void zjd_write_done(struct zjd_req *rq)
{
	struct zjd_dev *dev = rq->dev;
	struct zjd_write *w = rq->w;
	bool early = rq->taken, changed;

	if (!early)
		zjd_take_data(rq);
	changed = early && !dev->plain && !zjd_walk(rq, true);
	spin_lock_bh(&dev->lock);
	if (changed && (w->op & (__force u32)REQ_META))
		dev->stats.changed_meta++;
	else if (changed)
		dev->stats.changed++;
	if (w->data && dev->recording)
		w->done = ++dev->seq;
	spin_unlock_bh(&dev->lock);
}

/*
 * The time that the head takes for this request. What lies a little ahead it waits for, as the
 * blocks in between pass by.
 */
static u64 zjd_head_takes(struct zjd_dev *dev, struct bio *bio)
{
	u64 sector = bio->bi_iter.bi_sector, bytes = bio->bi_iter.bi_size;
	u64 ns = dev->seek_us * NSEC_PER_USEC;

	lockdep_assert_held(&dev->lock);
	if (sector >= dev->head)
		ns = min(ns, div64_u64((sector - dev->head) * SECTOR_SIZE * NSEC_PER_MSEC,
				       dev->rate));
	dev->head = sector + bytes / SECTOR_SIZE;
	return ns + div64_u64(bytes * NSEC_PER_MSEC, dev->rate);
}

/* In the order in which they come: the time from now on to the end of this request. */
static u64 zjd_head_ns(struct zjd_dev *dev, struct bio *bio)
{
	u64 now = ktime_get_ns(), ns = 0;

	spin_lock_bh(&dev->lock);
	if (dev->rate) {
		dev->idle_at = max(dev->idle_at, now) + zjd_head_takes(dev, bio);
		ns = dev->idle_at - now;
	}
	spin_unlock_bh(&dev->lock);
	return ns;
}

static u64 zjd_delay_ns(struct zjd_req *rq)
{
	struct zjd_dev *dev = rq->dev;
	enum zjd_stage stage = rq->stage;
	bool flush = stage == ZJD_PREFLUSH || stage == ZJD_POSTFLUSH;
	u64 us = flush && dev->flush_us ? dev->flush_us : dev->lat_us;

	if (dev->jitter_us)
		us += get_random_u32_below(dev->jitter_us + 1);
	return us * NSEC_PER_USEC + (flush || rq->room ? 0 : zjd_head_ns(dev, rq->bio));
}

/* Of those that wait, the first one ahead of the head; if there is none, the lowest. */
static struct zjd_req *zjd_nearest(struct zjd_dev *dev)
{
	struct zjd_req *rq, *ahead = NULL, *lowest = NULL;

	list_for_each_entry(rq, &dev->waiting, waiting) {
		u64 sector = rq->bio->bi_iter.bi_sector;

		if (sector >= dev->head &&
		    (!ahead || sector < ahead->bio->bi_iter.bi_sector))
			ahead = rq;
		if (!lowest || sector < lowest->bio->bi_iter.bi_sector)
			lowest = rq;
	}
	return ahead ? : lowest;
}

/* The head, which has nothing to do, takes the next request. */
static void zjd_serve(struct zjd_dev *dev)
{
	struct zjd_req *rq = zjd_nearest(dev);
	u64 ns;

	lockdep_assert_held(&dev->lock);
	dev->busy = rq;
	if (!rq)
		return;
	list_del(&rq->waiting);
	rq->served = true;
	ns = zjd_delay_ns(rq) + zjd_head_takes(dev, rq->bio);
	hrtimer_start(&rq->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
}

static void zjd_wait_for_head(struct zjd_req *rq)
{
	struct zjd_dev *dev = rq->dev;

	spin_lock_bh(&dev->lock);
	list_add_tail(&rq->waiting, &dev->waiting);
	if (!dev->busy)
		zjd_serve(dev);
	spin_unlock_bh(&dev->lock);
}

static void zjd_leave_head(struct zjd_req *rq)
{
	struct zjd_dev *dev = rq->dev;

	rq->served = false;
	spin_lock_bh(&dev->lock);
	zjd_serve(dev);
	spin_unlock_bh(&dev->lock);
}

/* Sets the timer that ends the present stage; false if it takes no time. */
static bool zjd_wait(struct zjd_req *rq)
{
	u64 ns;

	if (rq->room && (rq->stage == ZJD_READ || rq->stage == ZJD_WRITE)) {
		zjd_wait_for_head(rq);
		return true;
	}
	ns = zjd_delay_ns(rq);
	if (ns)
		hrtimer_start(&rq->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
	return ns;
}

/* What the present stage has to note when it begins. */
static void zjd_stage_begin(struct zjd_req *rq)
{
	struct zjd_dev *dev = rq->dev;

	spin_lock_bh(&dev->lock);
	rq->recorded = dev->recording;
	if (dev->recording) {
		if (rq->stage == ZJD_WRITE)
			rq->w->submit = ++dev->seq;
		else if (rq->stage != ZJD_READ)
			rq->flush_start = ++dev->seq;
	}
	spin_unlock_bh(&dev->lock);
	/* Half of the writes are taken at once, half only when they end. */
	if (rq->stage == ZJD_WRITE && (dev->plain || get_random_u32() & 1))
		zjd_take_data(rq);
}

static enum zjd_stage zjd_stage_end(struct zjd_req *rq)
{
	struct bio *bio = rq->bio;

	switch (rq->stage) {
	case ZJD_READ:
		zjd_read(rq->dev, bio);
		return ZJD_END;
	case ZJD_PREFLUSH:
		zjd_flush_done(rq);
		return rq->w ? ZJD_WRITE : ZJD_END;
	case ZJD_WRITE:
		zjd_write_done(rq);
		if (bio->bi_opf & REQ_FUA && !rq->w->fua)
			return ZJD_POSTFLUSH;
		return ZJD_END;
	default:
		zjd_flush_done(rq);
		return ZJD_END;
	}
}

static void zjd_finish(struct zjd_req *rq, blk_status_t status)
{
	if (rq->room)
		up(&rq->dev->room);
	rq->bio->bi_status = status;
	bio_endio(rq->bio);
	if (rq->w)
		zjd_put_write(rq->w);
	kfree(rq);
}

/* Ends stages until one has to wait, or the request is finished. */
static void zjd_advance(struct zjd_req *rq)
{
	do {
		if (READ_ONCE(rq->dev->dead)) {
			zjd_finish(rq, BLK_STS_IOERR);
			return;
		}
		rq->stage = zjd_stage_end(rq);
		if (rq->stage == ZJD_END) {
			zjd_finish(rq, BLK_STS_OK);
			return;
		}
		zjd_stage_begin(rq);
	} while (!zjd_wait(rq));
}

static enum hrtimer_restart zjd_timer(struct hrtimer *timer)
{
	struct zjd_req *rq = container_of(timer, struct zjd_req, timer);

	if (rq->served)
		zjd_leave_head(rq);
	zjd_advance(rq);
	return HRTIMER_NORESTART;
}

/* Keeps a request until zjd_release(), if it is one of those that are held. */
static bool zjd_hold(struct zjd_req *rq)
{
	struct zjd_hold *hold = &rq->dev->holds[op_is_write(bio_op(rq->bio)) ? WRITE : READ];
	bool held;

	if (!bio_sectors(rq->bio))
		return false;
	spin_lock_bh(&rq->dev->lock);
	held = hold->on && rq->bio->bi_iter.bi_sector <= hold->last &&
	       bio_end_sector(rq->bio) > hold->first;
	if (held) {
		list_add_tail(&rq->waiting, &hold->held);
		hold->nr++;
	}
	spin_unlock_bh(&rq->dev->lock);
	return held;
}

static void zjd_begin(struct zjd_req *rq)
{
	zjd_stage_begin(rq);
	if (!zjd_wait(rq))
		zjd_advance(rq);
}

/* Lets all requests go on that are held: writes (WRITE), or reads (READ). */
void zjd_release(struct zjd_dev *dev, int op)
{
	struct zjd_req *rq, *next;
	LIST_HEAD(held);

	spin_lock_bh(&dev->lock);
	dev->holds[op].on = false;
	dev->holds[op].nr = 0;
	list_splice_init(&dev->holds[op].held, &held);
	spin_unlock_bh(&dev->lock);
	list_for_each_entry_safe(rq, next, &held, waiting)
		zjd_begin(rq);
}

static bool zjd_fault_hits(struct zjd_dev *dev, struct bio *bio)
{
	u64 first = bio->bi_iter.bi_sector, last = bio_end_sector(bio) - 1;
	bool hit = false;
	int i;

	spin_lock_bh(&dev->lock);
	for (i = 0; i < ZJD_FAULTS; i++) {
		struct zjd_fault *f = &dev->faults[i];
		bool match = false;

		if (f->op == ZJD_FAIL_FLUSH)
			match = bio->bi_opf & REQ_PREFLUSH;
		else if (f->op && bio_sectors(bio))
			match = op_is_write(bio_op(bio)) == (f->op == ZJD_FAIL_WRITE) &&
				first <= f->last && last >= f->first;
		if (!match || !f->count)
			continue;
		if (f->skip) {
			f->skip--;
			continue;
		}
		f->count--;
		hit = true;
	}
	if (hit)
		dev->stats.failed++;
	spin_unlock_bh(&dev->lock);
	return hit;
}

static void zjd_count(struct zjd_dev *dev, struct bio *bio)
{
	spin_lock_bh(&dev->lock);
	if (!op_is_write(bio_op(bio)))
		dev->stats.reads++;
	else if (bio_op(bio) == REQ_OP_DISCARD)
		dev->stats.discards++;
	else if (bio_sectors(bio))
		dev->stats.writes++;
	if (bio->bi_opf & REQ_FUA)
		dev->stats.fua++;
	spin_unlock_bh(&dev->lock);
}

static void zjd_submit_bio(struct bio *bio)
{
	struct zjd_dev *dev = bio->bi_bdev->bd_disk->private_data;
	struct zjd_req *rq;

	/* Nobody else divides a large discard for a driver that takes bios. */
	bio = bio_split_to_limits(bio);
	if (!bio)
		return;
	if (bio_op(bio) != REQ_OP_READ && bio_op(bio) != REQ_OP_WRITE &&
	    bio_op(bio) != REQ_OP_DISCARD) {
		bio->bi_status = BLK_STS_NOTSUPP;
		bio_endio(bio);
		return;
	}
	zjd_count(dev, bio);
	if (READ_ONCE(dev->dead) || zjd_fault_hits(dev, bio)) {
		bio_io_error(bio);
		return;
	}
	rq = kzalloc(sizeof(*rq), GFP_NOIO | __GFP_NOFAIL);
	rq->dev = dev;
	rq->bio = bio;
	if (READ_ONCE(dev->depth)) {
		rq->room = true;
		down(&dev->room);
	}
	hrtimer_setup(&rq->timer, zjd_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	if (op_is_write(bio_op(bio)) && bio_sectors(bio))
		rq->w = zjd_new_write(dev, bio, bio->bi_opf & REQ_FUA && dev->fua);
	if (bio->bi_opf & REQ_PREFLUSH)
		rq->stage = ZJD_PREFLUSH;
	else if (rq->w)
		rq->stage = ZJD_WRITE;
	else
		rq->stage = ZJD_READ;
	if (!zjd_hold(rq))
		zjd_begin(rq);
}

const struct block_device_operations zjd_fops = {
	.owner = THIS_MODULE,
	.submit_bio = zjd_submit_bio,
};
