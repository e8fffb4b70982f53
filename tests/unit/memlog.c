// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <linux/crc32c.h>
#include <linux/minmax.h>
#include <asm/byteorder.h>
#include "memlog.h"
#include "format/line_set.h"

const u8 mem_uuid[16] = "unit-test-uuid!";

u32 ml_rand(u32 *state)
{
	/* xorshift; any fixed generator will do */
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static size_t log_bytes(const struct memdev *d)
{
	return (size_t)d->geo.total_blocks * d->geo.block_size;
}

static size_t home_bytes(const struct memdev *d)
{
	return (size_t)d->home_blocks * d->geo.block_size;
}

struct memdev *ml_new(u32 nr_segs, u32 seg_blocks, u64 home_blocks)
{
	struct memdev *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	assert_true(nr_segs <= ARRAY_SIZE(d->next));
	d->geo = (struct zj_log_geometry) {
		.generation = 0x1122334455667788ULL,
		.block_size = 1024,
		.total_blocks = ZJ_LOG_FIRST + nr_segs * seg_blocks,
		.log_first = ZJ_LOG_FIRST,
		.seg_blocks = seg_blocks,
		.nr_segs = nr_segs,
		.nr_lanes = 8,
	};
	memcpy(d->geo.uuid, mem_uuid, 16);
	d->seed = zj_seed(mem_uuid, d->geo.generation);
	d->home_blocks = home_blocks;
	d->log = calloc(1, log_bytes(d));
	d->home = calloc(1, home_bytes(d));
	d->stable = calloc(1, home_bytes(d));
	d->dirty = calloc(1, home_blocks);
	d->power_cut_at = ML_NEVER;
	d->read_error_at = ML_NEVER;
	d->bad_block = d->bad_too = ML_NEVER;
	d->rand = 1;
	for (u32 i = 0; i < nr_segs; i++)
		d->seg_seq[i] = 100 + i;
	ml_log_super(d);
	return d;
}

void ml_free(struct memdev *d)
{
	/* What is on its way would go into memory that is another's. */
	assert_int_equal(d->in_flight, 0);
	free(d->log);
	free(d->home);
	free(d->stable);
	free(d->dirty);
	free(d);
}

void ml_copy(struct memdev *to, const struct memdev *from)
{
	struct memdev old = *to;

	*to = *from;
	to->log = old.log;
	to->home = old.home;
	to->stable = old.stable;
	to->dirty = old.dirty;
	memcpy(to->log, from->log, log_bytes(from));
	memcpy(to->home, from->home, home_bytes(from));
	memcpy(to->stable, from->stable, home_bytes(from));
	memcpy(to->dirty, from->dirty, from->home_blocks);
	to->writes = 0;
	to->reads = 0;
	to->blocks_read = 0;
	to->notices = 0;
	to->error[0] = 0;
}

struct memdev *ml_clone(const struct memdev *d)
{
	struct memdev *c = ml_new(d->geo.nr_segs, d->geo.seg_blocks,
				  d->home_blocks);

	ml_copy(c, d);
	return c;
}

void *ml_block(struct memdev *d, u32 log_block)
{
	assert_true(log_block < d->geo.total_blocks);
	return d->log + (size_t)log_block * d->geo.block_size;
}

u32 ml_seg_block(const struct memdev *d, u32 seg, u32 block)
{
	return d->geo.log_first + seg * d->geo.seg_blocks + block;
}

void ml_log_super(struct memdev *d)
{
	zj_encode_log_super(&d->geo, ml_block(d, ZJ_BLOCK_LOG_SUPER));
}

void ml_ckpt(struct memdev *d, u64 seq, u64 stamp)
{
	zj_encode_ckpt(&d->geo, seq, stamp,
		       ml_block(d, ZJ_BLOCK_CKPT + (u32)(seq & 1)));
}

void ml_tenure(struct memdev *d, u32 seg, u64 seg_seq)
{
	d->next[seg] = 0;
	d->seg_seq[seg] = seg_seq;
}

void ml_reseal(struct memdev *d, u32 log_block)
{
	u8 *block = ml_block(d, log_block);
	struct zj_chunk_header *h = (void *)block;

	h->csum = 0;
	h->csum = cpu_to_le32(crc32c(d->seed, block, d->geo.block_size));
}

void ml_pattern(const struct memdev *d, void *buf, u64 block, u8 val)
{
	memset(buf, val, d->geo.block_size);
	memcpy(buf + 8, &block, sizeof(block));
}

u32 ml_put(struct memdev *d, u32 seg, const struct rec *rec)
{
	u32 at = ml_seg_block(d, seg, d->next[seg]);
	struct zj_chunk c = {
		.seg_seq = d->seg_seq[seg],
		.seg_index = seg,
		.seg_block = d->next[seg],
		.stamp = rec->stamp,
		.tid = rec->tid ? rec->tid : (u32)rec->stamp * 16 + rec->lane,
		.lane = rec->lane,
		.nr_members = rec->members ? rec->members : 1,
		.chunk_index = rec->index,
		.nr_chunks = rec->chunks ? rec->chunks : 1,
		.committed_stamp = rec->durable,
	};
	u32 data = d->geo.block_size, bytes, i;
	u8 *header = ml_block(d, at);
	struct zj_tag *tag;

	memset(header, 0, d->geo.block_size);
	while (c.nr_deps < ML_ENTRIES && rec->deps[c.nr_deps]) {
		zj_chunk_deps(header)[c.nr_deps] = cpu_to_le64(rec->deps[c.nr_deps]);
		c.nr_deps++;
	}
	for (; c.nr_revokes < ML_ENTRIES && rec->revokes[c.nr_revokes]; c.nr_revokes++)
		zj_chunk_revokes(header, c.nr_deps)[c.nr_revokes] =
			cpu_to_le64(rec->revokes[c.nr_revokes]);
	tag = zj_chunk_tags(header, c.nr_deps, c.nr_revokes);
	for (i = 0; i < ML_ENTRIES && rec->lines[i].val; i++, tag++) {
		bytes = zj_lines_bytes(rec->lines[i].lines, d->geo.block_size);
		data -= bytes;
		memset(header + data, rec->lines[i].val, bytes);
		tag->block = cpu_to_le64(rec->lines[i].block);
		tag->lines = cpu_to_le64(rec->lines[i].lines);
	}
	c.nr_line_tags = i;
	for (i = 0; i < ML_ENTRIES && rec->img[i].val; i++, tag++) {
		u8 *image = ml_block(d, at + 1 + i);

		ml_pattern(d, image, rec->img[i].block, rec->img[i].val);
		tag->block = cpu_to_le64(rec->img[i].block);
		tag->lines = cpu_to_le64(ZJ_TAG_ALL_LINES);
		tag->csum = cpu_to_le32(zj_image_csum(d->seed, image, d->geo.block_size));
	}
	c.nr_tags = c.nr_line_tags + i;
	d->next[seg] += 1 + i;
	assert_true(d->next[seg] <= d->geo.seg_blocks);
	zj_encode_chunk(&d->geo, d->seed, &c, header);
	return at;
}

/* The journal lies behind the file system, unless a test says where. */
static u64 mem_log_home(void *ctx, u32 block)
{
	struct memdev *d = ctx;

	return (d->log_home ? d->log_home : d->home_blocks) + block;
}

static int mem_read_log(void *ctx, u32 block, u32 nr, void *buf)
{
	struct memdev *d = ctx;

	assert_true(nr && (u64)block + nr <= d->geo.total_blocks);
	if (d->reads++ == d->read_error_at)
		return -EIO;
	if (d->bad_block - block < nr || d->bad_too - block < nr)
		return -EIO;
	d->blocks_read += nr;
	memcpy(buf, ml_block(d, block), (size_t)nr * d->geo.block_size);
	return 0;
}

/**
 * struct ml_read - a read that was begun
 */
struct ml_read {
	struct ml_read *next;
	u32	slot;
	u32	block;
	u32	nr;
	void	*buf;
};

/* Nothing is there before it is waited for. */
static void mem_start_read(void *ctx, u32 slot, u32 block, u32 nr, void *buf)
{
	struct memdev *d = ctx;
	struct ml_read *begun = malloc(sizeof(*begun));

	assert_non_null(begun);
	assert_true(slot < ZJ_READ_SLOTS);
	assert_true(nr && (u64)block + nr <= d->geo.total_blocks);
	*begun = (struct ml_read) { d->begun, slot, block, nr, buf };
	d->begun = begun;
	d->in_flight += nr;
	d->most_in_flight = max(d->most_in_flight, d->in_flight);
	memset(buf, 0xa5, (size_t)nr * d->geo.block_size);
}

static int mem_end_read(void *ctx, u32 slot)
{
	struct memdev *d = ctx;
	struct ml_read **at = &d->begun, *begun;
	int err = 0;

	while ((begun = *at)) {
		if (begun->slot != slot) {
			at = &begun->next;
			continue;
		}
		if (mem_read_log(d, begun->block, begun->nr, begun->buf))
			err = -EIO;
		d->in_flight -= begun->nr;
		*at = begun->next;
		free(begun);
	}
	return err;
}

static u64 mem_room(void *ctx)
{
	const struct memdev *d = ctx;

	return d->room;
}

static bool power(struct memdev *d)
{
	return d->writes++ < d->power_cut_at;
}

static int mem_write_log(void *ctx, u32 block, const void *buf)
{
	struct memdev *d = ctx;

	if (!power(d))
		return -EIO;
	memcpy(ml_block(d, block), buf, d->geo.block_size);
	return 0;
}

static int mem_write_home(void *ctx, u64 block, const void *buf)
{
	struct memdev *d = ctx;

	assert_true(block < d->home_blocks);
	if (!power(d))
		return -EIO;
	memcpy(d->home + block * d->geo.block_size, buf, d->geo.block_size);
	d->dirty[block] = 1;
	return 0;
}

static int mem_flush_home(void *ctx)
{
	struct memdev *d = ctx;

	if (!power(d))
		return -EIO;
	memcpy(d->stable, d->home, home_bytes(d));
	memset(d->dirty, 0, d->home_blocks);
	return 0;
}

static void __printf(3, 4) mem_msg(void *ctx, int level, const char *fmt, ...)
{
	struct memdev *d = ctx;
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	assert_in_range(n, 1, sizeof(line) - 1);
	if (level)
		d->notices++;
	else
		strcpy(d->error, line);
	if (level && strstr(line, "blocks of the log cannot be read"))
		strcpy(d->unread, line);
}

static void mem_progress(void *ctx, const char *what, u32 done, u32 total)
{
	struct memdev *d = ctx;

	assert_true(done <= total);
	if (strstr(what, "home"))
		d->told_home++;
	else
		d->told_log++;
}

const struct zj_io_ops mem_ops = {
	.log_home = mem_log_home,
	.read_log = mem_read_log,
	.write_log = mem_write_log,
	.write_home = mem_write_home,
	.flush_home = mem_flush_home,
	.msg = mem_msg,
	.progress = mem_progress,
};

static const struct zj_io_ops ahead_ops = {
	.log_home = mem_log_home,
	.read_log = mem_read_log,
	.start_read = mem_start_read,
	.end_read = mem_end_read,
	.room = mem_room,
	.write_log = mem_write_log,
	.write_home = mem_write_home,
	.flush_home = mem_flush_home,
	.msg = mem_msg,
	.progress = mem_progress,
};

const struct zj_io_ops *ml_ops(const struct memdev *d)
{
	return d->ahead ? &ahead_ops : &mem_ops;
}

/* Of what was not flushed each block is kept, lost or torn. */
void ml_power_cut(struct memdev *d)
{
	for (u64 b = 0; b < d->home_blocks; b++) {
		u32 fate = d->dirty[b] ? ml_rand(&d->rand) % 3 : 0;

		if (fate)
			memcpy(d->stable + b * d->geo.block_size,
			       d->home + b * d->geo.block_size,
			       fate == 1 ? d->geo.block_size : ZJ_SECTOR);
	}
	memcpy(d->home, d->stable, home_bytes(d));
	memset(d->dirty, 0, d->home_blocks);
	d->power_cut_at = ML_NEVER;
	d->writes = 0;
}

struct zj_recovery_args ml_args(struct memdev *d, const struct zj_io_ops *ops,
				unsigned int flags, struct zj_recovery_stats *stats)
{
	return (struct zj_recovery_args) {
		.ops = ops,
		.ctx = d,
		.block_size = d->geo.block_size,
		.journal_blocks = d->geo.total_blocks,
		.fs_blocks = d->home_blocks,
		.flags = flags,
		.stats = stats,
	};
}

int ml_recover_with(struct memdev *d, const struct zj_io_ops *ops, unsigned int flags,
		    struct zj_recovery_stats *stats)
{
	struct zj_recovery_args args = ml_args(d, ops, flags, stats);

	return zj_recover(&args, mem_uuid);
}

int ml_recover(struct memdev *d, bool dry_run, struct zj_recovery_stats *stats)
{
	struct zj_recovery_stats unused;

	d->error[0] = 0;
	return ml_recover_with(d, ml_ops(d), dry_run ? ZJ_RECOVER_DRY_RUN : 0,
			       stats ? stats : &unused);
}

int ml_recover_dropping(struct memdev *d, struct zj_recovery_stats *stats)
{
	return ml_recover_with(d, &mem_ops, ZJ_RECOVER_DROP_DAMAGED, stats);
}

static void assert_same(const struct memdev *a, const struct memdev *b)
{
	assert_memory_equal(a->log, b->log, log_bytes(a));
	assert_memory_equal(a->home, b->home, home_bytes(a));
}

void ml_recover_ok(struct memdev *d, struct zj_recovery_stats *stats)
{
	struct zj_recovery_stats dry, wet;
	struct memdev *before = ml_clone(d), *c = ml_clone(d);
	u32 writes;
	int err;

	err = ml_recover(c, true, &dry);
	if (err)
		print_message("%s\n", c->error);
	assert_int_equal(err, 0);
	assert_int_equal(c->writes, 0);
	assert_same(c, before);

	d->writes = 0;
	d->notices = 0;
	d->told_log = 0;
	d->told_home = 0;
	assert_int_equal(ml_recover(d, false, &wet), 0);
	assert_true(d->told_log);
	assert_int_equal(!!d->told_home, !!wet.replayed);
	assert_memory_equal(&dry, &wet, sizeof(dry));
	assert_int_equal(d->notices, 1);
	assert_int_equal(d->error[0], 0);
	writes = d->writes;
	assert_int_equal(writes, wet.replayed + 2);
	ml_power_cut(d);

	for (u32 k = 0; k < writes; k++) {
		ml_copy(c, before);
		c->rand = k + 1;
		c->power_cut_at = k;
		assert_int_equal(ml_recover(c, false, NULL), -EIO);
		assert_non_null(strstr(c->error, "log is kept"));
		ml_power_cut(c);
		assert_int_equal(ml_recover(c, false, NULL), 0);
		ml_power_cut(c);
		assert_same(c, d);
	}

	ml_copy(c, d);
	assert_int_equal(ml_recover(c, false, &dry), 0);
	assert_int_equal(dry.components, 0);
	assert_int_equal(dry.replayed, 0);
	assert_memory_equal(c->home, d->home, home_bytes(d));
	ml_free(c);
	ml_free(before);
	if (stats)
		*stats = wet;
}

void ml_recover_refused(struct memdev *d, const char *text)
{
	struct memdev *before = ml_clone(d);

	for (int dry_run = 0; dry_run < 2; dry_run++) {
		assert_int_equal(ml_recover(d, dry_run, NULL), -EUCLEAN);
		if (!strstr(d->error, text))
			print_message("no \"%s\" in: %s\n", text, d->error);
		assert_non_null(strstr(d->error, text));
		assert_non_null(strstr(d->error, "nothing was written"));
		assert_int_equal(d->writes, 0);
		assert_same(d, before);
	}
	ml_free(before);
}

void ml_expect(struct memdev *d, u64 block, u8 val)
{
	ml_expect_lines(d, block, val, "");
}

void ml_expect_lines(struct memdev *d, u64 block, u8 val, const char *lines)
{
	u8 want[65536] = { 0 };

	if (val)
		ml_pattern(d, want, block, val);
	for (u32 i = 0; lines[i]; i++)
		if (lines[i] != ' ')
			memset(want + i * zj_lines_unit(d->geo.block_size), lines[i],
			       zj_lines_unit(d->geo.block_size));
	assert_memory_equal(d->home + block * d->geo.block_size, want,
			    d->geo.block_size);
}
