// SPDX-License-Identifier: GPL-2.0-only
/* A log in stock's format. */
#include <string.h>
#include <asm/byteorder.h>
#include "format/codec.h"
#include "format.h"

static u32 sequence;

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

static int recover(struct device *d, bool dry_run, struct zj_recovery_stats *s)
{
	sequence = 0;
	return zj_recover_jbd2(&dev_ops, d, super_of(d), d->journal_blocks,
			       dev_blocks(d), dry_run, s, &sequence);
}

/* A revoke block may say one thing in each of its words; arrays double, as in zj.c. */
static struct bounds bounds(const struct device *d, const struct ref_result *ref)
{
	size_t log = (size_t)d->journal_blocks * d->block_size;

	return (struct bounds) {
		.read = 2ULL * d->journal_blocks + 1,
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
}

const struct format format = {
	.load = load,
	.recover = recover,
	.bounds = bounds,
	.check = check,
	.trailer = 1,
	.two_reads = true,
};
