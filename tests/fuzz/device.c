// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/errno.h>
#include "device.h"
#include "reference.h"

void dev_wrong(const char *fmt, ...)
{
	va_list ap;

	fputs("zjfuzz: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

u32 dev_blocks(const struct device *d)
{
	return d->home_blocks + d->journal_blocks;
}

struct zj_recovery_args dev_args(struct device *d, const struct zj_io_ops *ops, bool dry_run,
				 struct zj_recovery_stats *s)
{
	return (struct zj_recovery_args) {
		.ops = ops,
		.ctx = d,
		.block_size = d->block_size,
		.journal_blocks = d->journal_blocks,
		.fs_blocks = dev_blocks(d),
		.flags = dry_run ? ZJ_RECOVER_DRY_RUN : 0,
		.stats = s,
	};
}

/* Home blocks, second half of the journal, home blocks, first half, home blocks. */
static u32 second_half(const struct device *d)
{
	return d->home_blocks / 4;
}

static u32 first_half(const struct device *d)
{
	return second_half(d) + (d->journal_blocks + 1) / 2 +
	       d->home_blocks / 2;
}

u32 dev_log_home(const struct device *d, u32 log_block)
{
	u32 half = d->journal_blocks / 2;

	if (log_block < half)
		return first_half(d) + log_block;
	return second_half(d) + log_block - half;
}

bool dev_is_log(const struct device *d, u64 block)
{
	u32 half = d->journal_blocks / 2;

	if (block >= first_half(d))
		return block < first_half(d) + half;
	return block >= second_half(d) &&
	       block < second_half(d) + d->journal_blocks - half;
}

const u8 *dev_peek(const struct device *d, u32 block)
{
	static const u8 zero[IN_MAX_BLOCK_SIZE];

	return d->block[block] ? d->block[block] : zero;
}

static const void *peek_log(void *ctx, u32 at)
{
	return dev_peek(ctx, dev_log_home(ctx, at));
}

/* Returns one of a few patterns; neighbouring blocks have different ones. */
const u8 *dev_first(const struct device *d, u32 block)
{
	static u8 pattern[7][IN_MAX_BLOCK_SIZE], zero[IN_MAX_BLOCK_SIZE];

	if (!d->patterned)
		return zero;
	if (!pattern[0][0])
		for (u32 i = 0; i < sizeof(pattern); i++)
			pattern[i / IN_MAX_BLOCK_SIZE][i % IN_MAX_BLOCK_SIZE] =
				1 + i * 37 % 251;
	return pattern[block % 7];
}

static const void *peek_first(void *ctx, uint64_t block)
{
	return dev_first(ctx, block);
}

static bool is_log(void *ctx, uint64_t block)
{
	return dev_is_log(ctx, block);
}

void dev_ref_log(struct device *d, struct ref_log *log)
{
	*log = (struct ref_log) {
		.block_size = d->block_size,
		.journal_blocks = d->journal_blocks,
		.device_blocks = dev_blocks(d),
		.block = peek_log,
		.home = peek_first,
		.is_log = is_log,
		.ctx = d,
	};
}

void dev_rewind(struct device *d)
{
	d->stage = DEV_CHECKING;
	d->writes = 0;
	d->write_error_at = DEV_NEVER;
	d->reads = 0;
	d->read_error_at = DEV_NEVER;
	d->read_garbled_at = DEV_NEVER;
	d->blocks_read = 0;
	d->last_home = 0;
	d->error[0] = 0;
}

void dev_init(struct device *d, const struct input *in)
{
	memset(d, 0, sizeof(*d));
	d->block_size = in->block_size;
	d->journal_blocks = in->journal_blocks;
	d->home_blocks = in->home_blocks;
	for (u32 i = 0; i < in->journal_blocks; i++)
		d->block[dev_log_home(d, i)] = in->block[i];
	memcpy(d->stable, d->block, sizeof(d->block));
	dev_rewind(d);
}

void dev_init_home(struct device *d, u32 block_size, u32 journal_blocks, u32 home_blocks)
{
	memset(d, 0, sizeof(*d));
	d->block_size = block_size;
	d->journal_blocks = journal_blocks;
	d->home_blocks = home_blocks;
	d->patterned = true;
	for (u32 b = 0; b < dev_blocks(d); b++)
		if (!dev_is_log(d, b))
			d->block[b] = dev_first(d, b);
	memcpy(d->stable, d->block, sizeof(d->block));
	dev_rewind(d);
}

void dev_power_cut(struct device *d, u32 dice)
{
	for (u32 b = 0; b < dev_blocks(d); b++) {
		u8 *torn;

		if (d->block[b] == d->stable[b])
			continue;
		dice = dice * 1664525 + 1013904223;
		switch (dice >> 24 & 3) {
		case 0:		/* kept */
			break;
		case 1:		/* its first sector only */
			torn = in_new_block();
			if (d->stable[b])
				memcpy(torn, d->stable[b], d->block_size);
			memcpy(torn, d->block[b], ZJ_SECTOR);
			d->block[b] = torn;
			break;
		default:
			d->block[b] = d->stable[b];
			break;
		}
		d->stable[b] = d->block[b];
	}
}

static const u8 *copy(const struct device *d, const void *buf)
{
	return memcpy(in_new_block(), buf, d->block_size);
}

static bool write_fails(struct device *d)
{
	return d->writes++ >= d->write_error_at;
}

static u64 log_home(void *ctx, u32 block)
{
	struct device *d = ctx;

	if (block >= d->journal_blocks)
		dev_wrong("asked where journal block %u of %u is", block,
			  d->journal_blocks);
	return dev_log_home(d, block);
}

static int read_log(void *ctx, u32 block, u32 nr, void *buf)
{
	struct device *d = ctx;

	if (!nr || nr > d->journal_blocks || block > d->journal_blocks - nr)
		dev_wrong("read of %u blocks from %u on, the journal has %u",
			  nr, block, d->journal_blocks);
	if (d->stage > DEV_WRITING)
		dev_wrong("read after the flush");
	if (d->reads++ == d->read_error_at)
		return -EIO;
	d->blocks_read += nr;
	for (u32 i = 0; i < nr; i++)
		memcpy(buf + (size_t)i * d->block_size,
		       peek_log(d, block + i), d->block_size);
	if (d->reads - 1 == d->read_garbled_at)
		*(u8 *)buf ^= 1;
	return 0;
}

static int read_home(void *ctx, u64 block, void *buf)
{
	struct device *d = ctx;

	if (block >= dev_blocks(d) || dev_is_log(d, block))
		dev_wrong("read of block %llu, which is beyond the device or the journal's",
			  block);
	if (d->stage > DEV_WRITING)
		dev_wrong("read after the flush");
	if (d->reads++ == d->read_error_at)
		return -EIO;
	d->blocks_read++;
	memcpy(buf, dev_peek(d, block), d->block_size);
	return 0;
}

static int write_home(void *ctx, u64 block, const void *buf)
{
	struct device *d = ctx;

	if (d->stage > DEV_WRITING)
		dev_wrong("write home after the flush");
	if (block >= dev_blocks(d))
		dev_wrong("write home to block %llu, the device has %u", block,
			  dev_blocks(d));
	if (dev_is_log(d, block))
		dev_wrong("write home to block %llu, which is the journal's",
			  block);
	if (d->stage == DEV_WRITING && block <= d->last_home)
		dev_wrong("write home to block %llu after %llu", block,
			  d->last_home);
	d->stage = DEV_WRITING;
	d->last_home = block;
	if (write_fails(d))
		return -EIO;
	d->block[block] = copy(d, buf);
	return 0;
}

static int flush_home(void *ctx)
{
	struct device *d = ctx;

	if (d->stage > DEV_WRITING)
		dev_wrong("second flush");
	d->stage = DEV_FLUSHED;
	if (write_fails(d))
		return -EIO;
	memcpy(d->stable, d->block, sizeof(d->stable));
	return 0;
}

static int write_log(void *ctx, u32 block, const void *buf)
{
	struct device *d = ctx;
	u32 at;

	if (block != ZJ_BLOCK_LOG_SUPER)
		dev_wrong("write to journal block %u", block);
	if (d->stage != DEV_FLUSHED)
		dev_wrong("log emptied before the flush");
	d->stage = DEV_EMPTIED;
	if (write_fails(d))
		return -EIO;
	at = dev_log_home(d, block);
	d->block[at] = copy(d, buf);
	d->stable[at] = d->block[at];
	return 0;
}

static void __printf(3, 4) msg(void *ctx, int level, const char *fmt, ...)
{
	struct device *d = ctx;
	char line[sizeof(d->error)];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 1 || n >= sizeof(line))
		dev_wrong("message of %d bytes", n);
	if (!level)
		memcpy(d->error, line, sizeof(line));
}

const struct zj_io_ops dev_ops = {
	.log_home = log_home,
	.read_log = read_log,
	.write_log = write_log,
	.write_home = write_home,
	.flush_home = flush_home,
	.msg = msg,
};

const struct zj_io_ops dev_home_ops = {
	.log_home = log_home,
	.write_home = write_home,
	.flush_home = flush_home,
	.read_home = read_home,
	.msg = msg,
};
