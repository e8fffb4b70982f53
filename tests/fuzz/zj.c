// SPDX-License-Identifier: GPL-2.0-only
/* The log of several lanes, our own format. */
#include <string.h>
#include <linux/errno.h>
#include <asm/byteorder.h>
#include "format.h"
#include "memory.h"

static const u8 uuid[16] = "fuzzed log's fs";

static int recover(struct device *d, bool dry_run, struct zj_recovery_stats *s)
{
	const struct zj_recovery_args args = dev_args(d, &dev_ops, dry_run, s);

	return zj_recover(&args, uuid);
}

static void check_arguments(struct device *d)
{
	struct zj_recovery_stats s;

	if (recover(d, false, &s) != -EINVAL || d->reads || d->writes)
		dev_wrong("a journal of %u blocks is taken", d->journal_blocks);
	if (!strstr(d->error, "nothing was written"))
		dev_wrong("no word on what was written: %s", d->error);
}

static bool load(struct device *d, const struct input *in, struct ref_log *log)
{
	dev_init(d, in);
	dev_ref_log(d, log);
	if (in->journal_blocks > ZJ_LOG_FIRST)
		return true;
	check_arguments(d);
	return false;
}

/*
 * Arrays double, and the old half is still there while it is copied: three times
 * what is in use.
 */
static struct bounds bounds(const struct device *d, const struct ref_result *ref)
{
	size_t log = (size_t)d->journal_blocks * d->block_size;
	size_t entries = ref->damage ? log / 8 : ref->entries;

	return (struct bounds) {
		.read = 2ULL * d->journal_blocks,
		.summed = 2 * log + 8 * (size_t)d->block_size,
		.memory = (size_t)ref->seg_blocks * d->block_size +
			  400 * (size_t)d->journal_blocks + 3 * 8 * entries + 16384,
		.steps = 10UL * d->journal_blocks,
	};
}

/*
 * No writer leaves blocks of a generation that the log super block does not name
 * yet.  An input may, and they would count as soon as recovery has emptied the log.
 */
static bool has_blocks_to_come(const struct device *d, u64 generation)
{
	for (u32 i = ZJ_BLOCK_CKPT; i < d->journal_blocks; i++) {
		const struct zj_ckpt_slot *slot =
			(const void *)dev_peek(d, dev_log_home(d, i));
		u32 magic = le32_to_cpu(slot->magic);

		/* A chunk header has its generation in the same place. */
		if ((magic == ZJ_CKPT_MAGIC || magic == ZJ_CHUNK_MAGIC) &&
		    le64_to_cpu(slot->generation) == generation)
			return true;
	}
	return false;
}

static u64 generation_of(const struct device *d)
{
	const struct zj_log_super *sb = (const void *)
		dev_peek(d, dev_log_home(d, ZJ_BLOCK_LOG_SUPER));

	return le64_to_cpu(sb->generation);
}

/* The log is empty now. */
static void again(struct device *d)
{
	static struct device before;
	struct zj_recovery_stats s;

	if (d->stage != DEV_EMPTIED)
		dev_wrong("the log is not emptied");
	if (has_blocks_to_come(d, generation_of(d)))
		return;
	before = *d;
	dev_rewind(d);
	mem_rewind();
	if (recover(d, false, &s))
		dev_wrong("second recovery: %s", d->error);
	if (s.replayed || d->writes != 2)
		dev_wrong("second recovery writes %u blocks", s.replayed);
	for (u32 b = 0; b < dev_blocks(d); b++)
		if (d->block[b] != before.block[b] &&
		    b != dev_log_home(d, ZJ_BLOCK_LOG_SUPER))
			dev_wrong("second recovery changes block %u", b);
	*d = before;
}

const struct format format = {
	.load = load,
	.recover = recover,
	.bounds = bounds,
	.again = again,
	.trailer = 2,
	.two_reads = true,
};
