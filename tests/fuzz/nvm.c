// SPDX-License-Identifier: GPL-2.0-only
/* A log in memory. */
#include <linux/minmax.h>
#include "format.h"
#include "nvm_seal.h"

#define JOURNAL_BLOCKS	16	/* of the file system's; nothing is in them */

static struct nvm_memory memory;

static bool load(struct device *d, const struct input *in, struct ref_log *log)
{
	nvm_unpack(&memory, in);
	dev_init_home(d, memory.block_size, JOURNAL_BLOCKS, memory.home_blocks);
	dev_ref_log(d, log);
	log->memory = memory.at;
	log->memory_bytes = memory.bytes;
	log->generation = NVM_GENERATION;
	return true;
}

static int recover(struct device *d, bool dry_run, struct zj_recovery_stats *s)
{
	const struct zj_nvm_area area = {
		.base = memory.at,
		.size = memory.bytes,
		.generation = NVM_GENERATION,
	};
	const struct zj_recovery_args args = dev_args(d, &dev_home_ops, dry_run, s);

	return zj_recover_nvm(&args, &area);
}

/* Each line once to check and once to write it; arrays double, as in zj.c. */
static struct bounds bounds(const struct device *d, const struct ref_result *ref)
{
	return (struct bounds) {
		.read = dev_blocks(d),
		.summed = 5 * (size_t)memory.bytes,
		.memory = ZJ_TXNINFO_MAX_MAX + 2 * d->block_size +
			  10 * (size_t)memory.bytes + 16384,
		.steps = 10UL * memory.bytes / ZJ_NVM_LINE,
	};
}

const struct format format = {
	.load = load,
	.recover = recover,
	.bounds = bounds,
	.trailer = 1,
};
