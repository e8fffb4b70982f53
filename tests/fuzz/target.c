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
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "format.h"
#include "memory.h"

enum failure {
	FAIL_NOTHING,
	FAIL_WRITES,	/* this one and all after it */
	FAIL_READ,	/* one */
	FAIL_ALLOC,	/* one */
	FAIL_GARBLED,	/* an image is not as it was when it was checked */
	FAIL_KILLED,	/* the task */
	FAIL_POISON,	/* a byte of the memory cannot be read */
	NR_FAILURES,
};

/* The number of operations of each kind in a run without a failure. */
struct counts {
	u32	writes;
	u32	reads;
	u32	checking_reads;	/* before the first write */
	u32	allocs;
	u32	asked;		/* whether the task is being killed */
};

static struct device dev, other;
static struct ref_log ref_log;
static struct ref_result ref;

/* Results of the inputs, to check at the end that enough of them were interesting. */
static struct {
	unsigned long refused, replayed, discarded, interrupted;
} tally;

static void print_tally(void)
{
	fprintf(stderr,
		"zjfuzz: %lu refused, %lu replayed, %lu with something discarded, %lu interrupted\n",
		tally.refused, tally.replayed, tally.discarded,
		tally.interrupted);
}

static int recover(struct device *d, bool dry_run,
		   struct zj_recovery_stats *stats)
{
	mem_rewind();
	return format.recover(d, dry_run, stats);
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
	if (err == -EUCLEAN && !strstr(d->error, ": copy the device") &&
	    !strstr(d->error, "e2fsck"))
		dev_wrong("no word on what to do: %s", d->error);
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
	same(ckpt_stamp, ref.ckpt_stamp);
	same(committed_stamp, ref.committed_stamp);
	same(newest_stamp, ref.newest_stamp);
	same(chunks, ref.chunks);
	same(torn_chunks, ref.torn);
	same(components, ref.components);
	same(committed_components, ref.committed);
	same(transactions, ref.transactions);
	same(discarded, ref.discarded);
	same(images, ref.images);
	same(revoked, ref.revoked);
	same(replayed, ref.nr_writes);
	if (format.check)
		format.check(&ref);
}

/* Work and memory, in proportion to the log. */
static void check_bounds(const struct device *d)
{
	struct bounds most = format.bounds(d, &ref);

	if (d->blocks_read > most.read)
		dev_wrong("%llu blocks read, at most %llu expected", d->blocks_read,
			  most.read);
	if (mem_use.summed + kl_copied > most.summed)
		dev_wrong("checksums over %zu bytes and %llu copied, at most %zu expected",
			  mem_use.summed, kl_copied, most.summed);
	if (mem_use.peak > most.memory || mem_use.allocs > 128)
		dev_wrong("%zu bytes allocated in %lu calls, at most %zu expected",
			  mem_use.peak, mem_use.allocs, most.memory);
	if (kl_asked > most.steps)
		dev_wrong("%llu steps, at most %llu expected", kl_asked, most.steps);
}

/* Every block that is not the journal's is as the reference says. */
static void check_home(const struct device *d)
{
	u8 image[IN_MAX_BLOCK_SIZE];
	u32 next = 0;

	for (u32 b = 0; b < dev_blocks(d); b++) {
		const u8 *want = dev_first(d, b);

		if (next < ref.nr_writes && ref.write[next].block == b) {
			ref_image(&ref_log, &ref.write[next++], image);
			want = image;
		} else if (dev_is_log(d, b)) {
			continue;
		}
		if (memcmp(dev_peek(d, b), want, d->block_size))
			dev_wrong("block %u is not what the reference has", b);
	}
}

static void check_same_device(const struct device *a, const struct device *b,
			      const char *when)
{
	for (u32 i = 0; i < dev_blocks(a); i++)
		if (memcmp(dev_peek(a, i), dev_peek(b, i), a->block_size))
			dev_wrong("block %u differs after %s recovery", i, when);
}

/* Returns the error that recovery must end with, 0 if there is nothing that could fail. */
static int set_failure(struct device *d, enum failure kind, u32 when,
		       const struct counts *n)
{
	u32 replay_reads = n->reads - n->checking_reads;

	if (kind == FAIL_WRITES && n->writes)
		d->write_error_at = when % n->writes;
	else if (kind == FAIL_READ && n->reads)
		d->read_error_at = when % n->reads;
	else if (kind == FAIL_ALLOC && n->allocs)
		zj_fail_alloc = 1 + when % n->allocs;
	else if (kind == FAIL_GARBLED && replay_reads && format.two_reads)
		d->read_garbled_at = n->checking_reads + when % replay_reads;
	else if (kind == FAIL_KILLED && n->asked)
		kl_killed_in = 1 + when % n->asked;
	else if (kind == FAIL_POISON && ref_log.memory)
		kl_poison = ref_log.memory + when * 16 % ref_log.memory_bytes;
	else
		return 0;
	return kind == FAIL_ALLOC ? -ENOMEM : kind == FAIL_KILLED ? -EINTR : -EIO;
}

static void clear_failure(struct device *d)
{
	dev_rewind(d);
	zj_fail_alloc = 0;
	kl_killed_in = 0;
	kl_poison = NULL;
}

static void run_with_failure(const struct input *in, int clean_err,
			     const struct counts *n)
{
	enum failure kind = in->failure % NR_FAILURES;
	struct zj_recovery_stats s;
	struct ref_log same_log;
	int err, want;

	format.load(&other, in, &same_log);
	want = set_failure(&other, kind, in->when, n);
	if (!want)
		return;
	err = recover(&other, false, &s);
	/*
	 * A block that cannot be read may be one that recovery does not need, and a read that
	 * has failed is tried again.
	 */
	if (err != want &&
	    !((kind == FAIL_POISON || kind == FAIL_READ) && err == clean_err))
		dev_wrong("failure %d gives error %d", kind, err);
	if (kind == FAIL_ALLOC)
		check_refusal(&other, err);
	if (err && kind != FAIL_KILLED && !other.error[0])
		dev_wrong("error %d without a message", err);
	/* Not interrupted: a second recovery would find an empty log. */
	if (!err && kind == FAIL_READ) {
		check_home(&other);
		return;
	}
	tally.interrupted++;
	dev_power_cut(&other, in->when);
	clear_failure(&other);
	err = recover(&other, false, &s);
	if (err != clean_err)
		dev_wrong("error %d after an interrupted recovery", err);
	check_same_device(&dev, &other, "an interrupted");
}

/* The log is there until the caller empties it: a crash before that makes no difference. */
static void run_again(void)
{
	struct zj_recovery_stats s;

	other = dev;
	dev_rewind(&other);
	if (recover(&other, false, &s))
		dev_wrong("second recovery: %s", other.error);
	check_stats(&s);
	check_same_device(&dev, &other, "a second");
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
	if (!format.load(&dev, &in, &ref_log))
		return 0;
	ref_read(&ref_log, &ref);
	err = recover(&dev, true, &dry);
	if (dev.stage != DEV_CHECKING || dev.writes)
		dev_wrong("dry run writes");
	check_verdict(&dev, err);
	check_bounds(&dev);
	if (!err)
		check_stats(&dry);

	counts.checking_reads = dev.reads;
	dev_rewind(&dev);
	if (recover(&dev, false, &wet) != err || memcmp(&dry, &wet, sizeof(dry)))
		dev_wrong("dry run and recovery differ: %s", dev.error);
	check_bounds(&dev);
	counts.writes = dev.writes;
	counts.reads = dev.reads;
	counts.allocs = mem_use.allocs;
	counts.asked = kl_asked;
	if (err) {
		tally.refused++;
		check_refusal(&dev, err);
	} else {
		tally.replayed += wet.replayed != 0;
		tally.discarded += wet.discarded != 0;
		if (dev.writes != ref.nr_writes + format.trailer)
			dev_wrong("%u writes for %u blocks", dev.writes,
				  ref.nr_writes);
		check_home(&dev);
		if (format.again)
			format.again(&dev);
		else
			run_again();
	}
	run_with_failure(&in, err, &counts);
	return 0;
}
