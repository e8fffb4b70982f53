// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does the disk have one head?  Then writes that lanes send side by side are done one
 * after the other, with a seek in between, and one lane is faster; and so are files beside
 * each other, not in regions of their lanes.
 *
 * The block layer's rotational flag is not enough, because virtual disks have it, whatever
 * they are stored on.  So a disk with this flag is measured: with one head, reads of distant
 * places take as long together as in turn.  Storage that is far away or throttled is as slow
 * as a seek, but serves requests side by side.
 */
#include <linux/bio.h>
#include <linux/math64.h>
#include <linux/random.h>
#include "ext4.h"

/* Reads of each kind in a round. */
#define READS		4

/*
 * No disk's arm reaches another part of the disk, and the sector there, in less time.  What is
 * faster needs no seeks, whether it serves requests side by side or not.
 */
#define SEEK_NS		(2 * NSEC_PER_MSEC)

/*
 * Whatever else the machine or the disk is doing can only make reads slower, so of each read
 * the best of three rounds counts.  Disks with a head need about 0.1 s for a round.  On what is slower
 * than any disk, no round begins after a second: that is little beside what the rest of such
 * a mount takes.
 */
#define ROUNDS		3
#define LONGEST_NS	NSEC_PER_SEC

/*
 * Places to read, in eighths of the disk: those in turn, then those together.  Of either no two
 * are in neighbouring eighths one after the other, however a disk sorts them.  In its eighth a
 * place is random, so that no cache has it from the last mount.
 */
static const u8 eighths[] = { 1, 5, 3, 7, 6, 2, 4, 0 };

static_assert(ARRAY_SIZE(eighths) == 2 * READS);

struct probe {
	struct block_device *bdev;
	u64		eighth;		/* blocks */
	unsigned int	bits;		/* binary logarithm of the size of a block */
	struct page	*pages[READS];
	u64		shortest[READS];	/* times of the reads in turn, in ns */
	atomic_t	left;		/* reads that have not ended */
	ktime_t		end;		/* of the last one */
	bool		failed;		/* a read has failed; set by any of them */
	struct completion done;
};

/* The time is taken here: the mount's task may get no CPU for long. */
static void read_ends(struct bio *bio)
{
	struct probe *probe = bio->bi_private;

	if (bio->bi_status)
		WRITE_ONCE(probe->failed, true);
	bio_put(bio);
	if (!atomic_dec_and_test(&probe->left))
		return;
	probe->end = ktime_get();
	complete(&probe->done);
}

/* Reads from @nr places past the page cache, and returns how long all of it took. */
static u64 reads_take(struct probe *probe, const u8 *where, int nr)
{
	ktime_t start = ktime_get();
	int i;

	atomic_set(&probe->left, nr);
	reinit_completion(&probe->done);
	for (i = 0; i < nr; i++) {
		struct bio *bio = bio_alloc(probe->bdev, 1, REQ_OP_READ | REQ_SYNC | REQ_META,
					    GFP_KERNEL);
		u64 block = where[i] * probe->eighth +
			    mul_u64_u32_shr(probe->eighth, get_random_u32(), 32);

		bio->bi_iter.bi_sector = block << (probe->bits - SECTOR_SHIFT);
		bio->bi_end_io = read_ends;
		bio->bi_private = probe;
		__bio_add_page(bio, probe->pages[i], 1 << probe->bits, 0);
		submit_bio(bio);
	}
	wait_for_completion_io(&probe->done);
	return ktime_to_ns(ktime_sub(probe->end, start));
}

/*
 * Reads from places in turn, and keeps the shortest time of each read.  Returns false if one
 * needed no seek.
 */
static bool read_in_turn(struct probe *probe)
{
	int i;

	for (i = 0; i < READS; i++) {
		u64 ns = reads_take(probe, &eighths[i], 1);

		if (ns < SEEK_NS)
			return false;
		probe->shortest[i] = min(probe->shortest[i], ns);
	}
	return true;
}

/* Fills in what has been seen.  Returns whether all of it was slow enough for seeks. */
static bool measure(struct probe *probe, struct zext4_reads *took)
{
	ktime_t start = ktime_get();
	u64 together = U64_MAX;
	int round, i;

	for (i = 0; i < READS; i++)
		probe->shortest[i] = U64_MAX;
	for (round = 0; round < ROUNDS; round++) {
		if (!read_in_turn(probe))
			return false;
		together = min(together, reads_take(probe, &eighths[READS], READS));
		if (together < READS * SEEK_NS || probe->failed)
			return false;
		if (ktime_to_ns(ktime_sub(ktime_get(), start)) > LONGEST_NS)
			break;
	}
	for (i = 0; i < READS; i++)
		took->in_turn += probe->shortest[i];
	took->together = together;
	return true;
}

/*
 * One head saves a part of the way if it knows all places, and the two heads of a mirror, which
 * must write everything, nearly halve it.  Storage that serves requests side by side needs a
 * quarter, or a third if each takes another time.
 */
static bool one_after_the_other(const struct zext4_reads *took)
{
	return 2 * took->together > took->in_turn;
}

/**
 * zext4_one_head() - does the disk take a seek for each distant access?
 * @bdev: the disk that the log, or the file system, is on
 * @blocks: its blocks
 * @bits: binary logarithm of the size of a block
 * @took: gets the times of four reads in ns; zeroes if the disk does not say that it
 *	rotates, or a read needed no seek
 *
 * What cannot be told counts as no head.
 *
 * Context: before the journal is loaded, so recovery has not begun to write; sleeps for three
 * rounds of eight reads at most, and begins none after a second.
 */
bool zext4_one_head(struct block_device *bdev, u64 blocks, unsigned int bits,
		    struct zext4_reads *took)
{
	struct probe *probe;
	bool one = false;
	int i;

	memset(took, 0, sizeof(*took));
	if (!bdev_rot(bdev))
		return false;
	probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	if (!probe)
		return false;
	probe->bdev = bdev;
	probe->eighth = blocks / ARRAY_SIZE(eighths);
	probe->bits = bits;
	init_completion(&probe->done);
	if (alloc_pages_bulk(GFP_KERNEL, READS, probe->pages) == READS)
		one = measure(probe, took) && one_after_the_other(took);
	for (i = 0; i < READS && probe->pages[i]; i++)
		__free_page(probe->pages[i]);
	kfree(probe);
	return one;
}
