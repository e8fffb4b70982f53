// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libFuzzer runs: recovery on one input, four times.
 *
 *   1. dry            writes nothing, says what the reference says
 *   2. for real       the same; a refusal has written nothing, else exactly the
 *                     blocks of the reference are home
 *   3. once more      nothing left to do, nothing changes
 *   4. with a failure on a fresh device, then a power cut, and recovery to the same
 *                     bytes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/errno.h>
#include <linux/slab.h>
#include <asm/byteorder.h>
#include "device.h"
#include "memory.h"
#include "reference.h"

enum failure {
	FAIL_NOTHING,
	FAIL_WRITES,	/* this one and all after it */
	FAIL_READ,	/* one */
	FAIL_ALLOC,	/* one */
	FAIL_GARBLED,	/* an image is not as it was when it was checked */
	NR_FAILURES,
};

static const u8 uuid[16] = "fuzzed log's fs";

/* So many of each there were without a failure. */
struct counts {
	u32	writes;
	u32	reads;
	u32	checking_reads;	/* before the first write */
	u32	allocs;
};

static struct device dev, other;
static struct ref_result ref;

/* What the inputs came to, to see at the end that they have not gone dull. */
static struct {
	unsigned long refused, replayed, discarded, interrupted;
} tally;

static void print_tally(void)
{
	fprintf(stderr, "zjfuzz: %lu refused, %lu replayed, %lu with something discarded, %lu interrupted\n",
		tally.refused, tally.replayed, tally.discarded,
		tally.interrupted);
}

static bool ref_is_log(void *ctx, uint64_t block)
{
	return dev_is_log(ctx, block);
}

static void read_reference(struct device *d)
{
	const struct ref_log log = {
		.block_size = d->block_size,
		.journal_blocks = d->journal_blocks,
		.device_blocks = dev_blocks(d),
		.block = dev_peek_log,
		.is_log = ref_is_log,
		.ctx = d,
	};

	ref_read(&log, &ref);
}

static int recover(struct device *d, bool dry_run,
		   struct zj_recovery_stats *stats)
{
	mem_rewind();
	return zj_recover(&dev_ops, d, uuid, d->block_size, d->journal_blocks,
			  dev_blocks(d), dry_run, stats);
}

/* Refused means: a reason is given, nothing was written, and this is said. */
static void check_refusal(const struct device *d, int err)
{
	if (d->writes)
		dev_wrong("%u writes before error %d", d->writes, err);
	if (!d->error[0])
		dev_wrong("error %d without a message", err);
	if (err == -EUCLEAN && !strstr(d->error, "nothing was written"))
		dev_wrong("no word on what was written: %s", d->error);
}

static void check_verdict(const struct device *d, int err)
{
	if (err && err != -EUCLEAN)
		dev_wrong("error %d (%s) without a failure", err, d->error);
	if (err)
		check_refusal(d, err);
	if (ref.either)
		return;
	if (!err && ref.damage)
		dev_wrong("accepts what the reference refuses: %s", ref.damage);
	if (err && !ref.damage)
		dev_wrong("refuses what the reference accepts: %s", d->error);
}

#define same(field, want)						\
do {									\
	if (s->field != (want))						\
		dev_wrong(#field " is %llu, the reference has %llu",	\
			  (u64)s->field, (u64)(want));			\
} while (0)

static void check_stats(const struct zj_recovery_stats *s)
{
	same(trim_stamp, ref.trim_stamp);
	same(newest_stamp, ref.newest_stamp);
	same(chunks, ref.chunks);
	same(torn_chunks, ref.torn);
	same(components, ref.components);
	same(valid_components, ref.valid);
	same(transactions, ref.transactions);
	same(discarded, ref.discarded);
	same(images, ref.images);
	same(revoked, ref.revoked);
	same(replayed, ref.nr_writes);
}

/*
 * Work and memory, in proportion to the log.  Arrays double, and the old half is
 * still there while it is copied: three times what is in use.
 */
static void check_bounds(const struct device *d, bool refused)
{
	size_t log = (size_t)d->journal_blocks * d->block_size;
	size_t entries = refused ? log / 8 : ref.entries;
	size_t limit = (size_t)ref.seg_blocks * d->block_size +
		       320 * (size_t)d->journal_blocks + 3 * 8 * entries + 16384;

	if (d->blocks_read > 2ULL * d->journal_blocks)
		dev_wrong("%llu blocks read of a journal of %u", d->blocks_read,
			  d->journal_blocks);
	if (mem_use.summed > 2 * log + 8 * (size_t)d->block_size)
		dev_wrong("checksums over %zu bytes of a journal of %zu",
			  mem_use.summed, log);
	if (mem_use.peak > limit || mem_use.allocs > 128)
		dev_wrong("%zu bytes allocated in %lu calls, at most %zu expected",
			  mem_use.peak, mem_use.allocs, limit);
}

/* Every block that is not the journal's is as the reference says. */
static void check_home(const struct device *d, const struct input *in)
{
	u8 image[IN_MAX_BLOCK_SIZE];
	u32 next = 0;

	for (u32 b = 0; b < dev_blocks(d); b++) {
		memset(image, 0, sizeof(image));
		if (next < ref.nr_writes && ref.write[next].block == b) {
			const struct ref_write *w = &ref.write[next++];

			memcpy(image, in_peek(in, w->log_block), d->block_size);
			if (w->flags)
				memcpy(image, w->flags == 1 ? "\xc0\x3b\x39\x98" :
				       "ZJCH", 4);
		} else if (dev_is_log(d, b) || !d->block[b]) {
			continue;
		}
		if (memcmp(dev_peek(d, b), image, d->block_size))
			dev_wrong("block %u is not what the reference has", b);
	}
}

static void check_same_device(const struct device *a, const struct device *b)
{
	for (u32 i = 0; i < dev_blocks(a); i++)
		if (memcmp(dev_peek(a, i), dev_peek(b, i), a->block_size))
			dev_wrong("block %u differs after an interrupted recovery",
				  i);
}

/* Returns false if there is nothing that could fail. */
static bool set_failure(struct device *d, enum failure kind, u32 when,
			const struct counts *n)
{
	u32 replay_reads = n->reads - n->checking_reads;

	if (kind == FAIL_WRITES && n->writes)
		d->write_error_at = when % n->writes;
	else if (kind == FAIL_READ && n->reads)
		d->read_error_at = when % n->reads;
	else if (kind == FAIL_ALLOC && n->allocs)
		zj_fail_alloc = 1 + when % n->allocs;
	else if (kind == FAIL_GARBLED && replay_reads)
		d->read_garbled_at = n->checking_reads + when % replay_reads;
	else
		return false;
	return true;
}

static void run_with_failure(const struct input *in, int clean_err,
			     const struct counts *n)
{
	enum failure kind = in->failure % NR_FAILURES;
	int err, want = kind == FAIL_ALLOC ? -ENOMEM : -EIO;
	struct zj_recovery_stats s;

	dev_init(&other, in);
	if (!set_failure(&other, kind, in->when, n))
		return;
	err = recover(&other, false, &s);
	zj_fail_alloc = 0;
	if (err != want)
		dev_wrong("failure %d gives error %d", kind, err);
	if (kind == FAIL_ALLOC)
		check_refusal(&other, err);
	tally.interrupted++;
	dev_power_cut(&other, in->when);
	dev_rewind(&other);
	err = recover(&other, false, &s);
	if (err != clean_err)
		dev_wrong("error %d after an interrupted recovery", err);
	check_same_device(&dev, &other);
}

static void run_again(void)
{
	struct zj_recovery_stats s;

	other = dev;
	dev_rewind(&dev);
	if (recover(&dev, false, &s))
		dev_wrong("second recovery: %s", dev.error);
	if (s.replayed || dev.writes != 2)
		dev_wrong("second recovery writes %u blocks", s.replayed);
	for (u32 b = 0; b < dev_blocks(&dev); b++)
		if (dev.block[b] != other.block[b] &&
		    b != dev_log_home(&dev, ZJ_BLOCK_LOG_SUPER))
			dev_wrong("second recovery changes block %u", b);
	dev = other;
}

static void check_arguments(struct device *d)
{
	struct zj_recovery_stats s;

	if (recover(d, false, &s) != -EINVAL || d->reads)
		dev_wrong("a journal of %u blocks is taken", d->journal_blocks);
	check_refusal(d, -EINVAL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return atexit(print_tally);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct zj_recovery_stats dry, wet;
	struct counts counts;
	struct input in;
	int err;

	in_reset();
	in_unpack(&in, data, size);
	dev_init(&dev, &in);
	if (in.journal_blocks <= ZJ_LOG_FIRST) {
		check_arguments(&dev);
		return 0;
	}
	read_reference(&dev);
	err = recover(&dev, true, &dry);
	if (dev.stage != DEV_CHECKING || dev.writes)
		dev_wrong("dry run writes");
	check_verdict(&dev, err);
	check_bounds(&dev, err);
	if (!err)
		check_stats(&dry);

	counts.checking_reads = dev.reads;
	dev_rewind(&dev);
	if (recover(&dev, false, &wet) != err || memcmp(&dry, &wet, sizeof(dry)))
		dev_wrong("dry run and recovery differ: %s", dev.error);
	check_bounds(&dev, err);
	counts.writes = dev.writes;
	counts.reads = dev.reads;
	counts.allocs = mem_use.allocs;
	if (err) {
		tally.refused++;
		check_refusal(&dev, err);
	} else {
		tally.replayed += wet.replayed != 0;
		tally.discarded += wet.discarded != 0;
		if (dev.stage != DEV_EMPTIED || dev.writes != ref.nr_writes + 2)
			dev_wrong("%u writes for %u blocks", dev.writes,
				  ref.nr_writes);
		check_home(&dev, &in);
		run_again();
	}
	run_with_failure(&in, err, &counts);
	return 0;
}
