// SPDX-License-Identifier: GPL-2.0-only
/* A log in stock's format. */
#include <string.h>
#include <linux/errno.h>
#include <asm/byteorder.h>
#include "format/codec.h"
#include "format/codec_jbd2.h"
#include "format.h"

static u32 sequence;

/**
 * struct fast - the host of fast commits in one recovery
 */
static struct fast {
	u32	next[2];	/* block of the area that is expected, in each pass */
	u32	blocks;		/* the statistics' */
	u32	tid;		/* that the calls had */
} fast;

static const struct zj_jbd2_super *super_of(const struct device *d)
{
	return (const void *)dev_peek(d, dev_log_home(d, 0));
}

/* Recovery's caller has looked at block 0. */
static bool load(struct device *d, const struct input *in, struct ref_log *log)
{
	dev_init(d, in);
	dev_ref_log(d, log);
	return in->journal_blocks && super_of(d)->s_start &&
	       !zj_check_jbd2_super(super_of(d), d->block_size,
				    d->journal_blocks, true);
}

/*
 * The host takes a block as its byte 12 says: 0 is the end, 1 and 2 go on, 3 is broken. It is
 * given the area's blocks in order, and a block of zeros behind them; first before anything is
 * written, then when all is home.
 */
static int fast_commit(void *ctx, bool replay, u32 index, void *block, u32 tid)
{
	static const int results[] = { 0, 1, 1, -EBADMSG };
	static const u8 zero[IN_MAX_BLOCK_SIZE];
	struct device *d = ctx;
	struct zj_jbd2_geo log;
	const u8 *want = zero;
	u32 at;

	zj_jbd2_geo_of(super_of(d), &log);
	at = log.last + 1 + index;
	if (d->stage != (replay ? DEV_FLUSHED : DEV_CHECKING))
		dev_wrong("fast commits in stage %d, replay %d", d->stage, replay);
	if (index != fast.next[replay]++)
		dev_wrong("block %u of the fast commits comes out of turn", index);
	if (at > be32_to_cpu(super_of(d)->s_maxlen))
		dev_wrong("block %u is behind the fast commits", index);
	if (at < be32_to_cpu(super_of(d)->s_maxlen))
		want = dev_peek(d, dev_log_home(d, at));
	fast.tid = tid;
	if (!memcmp(block, want, d->block_size))
		return results[want[12] & 3];
	if (d->read_garbled_at == DEV_NEVER)
		dev_wrong("block %u of the fast commits is not what is there", index);
	return -EIO;
}

/* Of all that is read, the fast commits alone are read once more when everything is home. */
static int read_log(void *ctx, u32 block, u32 nr, void *buf)
{
	struct device *d = ctx;
	enum dev_stage stage = d->stage;
	int err;

	if (fast.next[0] && stage == DEV_FLUSHED)
		d->stage = DEV_WRITING;
	err = dev_ops.read_log(ctx, block, nr, buf);
	d->stage = stage;
	return err;
}

/* What the host changes is no part of the device here. */
static int flush_home(void *ctx)
{
	return fast.next[1] ? 0 : dev_ops.flush_home(ctx);
}

static int recover(struct device *d, bool dry_run, struct zj_recovery_stats *s)
{
	struct zj_io_ops ops = dev_ops;
	const struct zj_recovery_args args = dev_args(d, &ops, dry_run, s);
	int err;

	ops.fast_commit = fast_commit;
	ops.read_log = read_log;
	ops.flush_home = flush_home;
	sequence = 0;
	memset(&fast, 0, sizeof(fast));
	err = zj_recover_jbd2(&args, super_of(d), &sequence);
	/* A dry run has the same statistics but for this. */
	fast.blocks = s->fast_blocks;
	s->fast_blocks = 0;
	return err;
}

/* A revoke block may say one thing in each of its words; arrays double, as in zj.c. */
static struct bounds bounds(const struct device *d, const struct ref_result *ref)
{
	size_t log = (size_t)d->journal_blocks * d->block_size;

	return (struct bounds) {
		/* The blocks of the fast commits are read in both passes. */
		.read = 4ULL * d->journal_blocks + 2,
		.summed = 4 * log,
		.memory = (256 << 10) + 3 * 8 * (log / 4) +
			  400 * (size_t)d->journal_blocks + 32 * d->block_size + 16384,
		.steps = 10UL * d->journal_blocks + 10,
	};
}

static void check(const struct ref_result *ref)
{
	if (sequence != ref->sequence)
		dev_wrong("the next transaction is %u, the reference has %u",
			  sequence, ref->sequence);
	if (fast.next[0] && fast.tid != ref->sequence)
		dev_wrong("fast commits of transaction %u, the reference has %u",
			  fast.tid, ref->sequence);
	if (fast.next[1] && fast.blocks != ref->fast_blocks)
		dev_wrong("%u blocks of fast commits, the reference has %u",
			  fast.blocks, ref->fast_blocks);
	if (ref->fast_blocks && !fast.next[0])
		dev_wrong("%u blocks of fast commits were not found", ref->fast_blocks);
}

const struct format format = {
	.load = load,
	.recover = recover,
	.bounds = bounds,
	.check = check,
	.trailer = 1,
	.two_reads = true,
};
