// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of a crash state with the real code, and of what it leaves when the
 * power fails again at any of its writes, or it gets no memory, or cannot read.
 */
#include <stdlib.h>
#include "judge.h"

/* ---- recovery's I/O ---- */

static const u8 *journal_block(const struct cut *c, u32 block)
{
	return c->image.block[kit_place(&world->kit, block)];
}

static u64 cut_log_home(void *ctx, u32 block)
{
	return kit_place(&world->kit, block);
}

static int cut_read_log(void *ctx, u32 block, u32 nr, void *buf)
{
	struct cut *c = ctx;

	if (c->reads_left && !--c->reads_left)
		return -EIO;
	if (c->unread >= block && c->unread < block + nr)
		return -EIO;
	for (u32 i = 0; i < nr; i++)
		memcpy(buf + i * DISK_BLOCK, journal_block(c, block + i),
		       DISK_BLOCK);
	return 0;
}

static bool power(struct cut *c)
{
	c->writes++;
	if (c->power < 0)
		return true;
	return c->power-- > 0;
}

static const u8 *copy(const void *buf)
{
	return memcpy(scratch_block(), buf, DISK_BLOCK);
}

/* A write that the power fails in: lost, there, or torn. */
static void half_write(struct cut *c, u32 block, const void *buf)
{
	u32 sectors = sim_below(&c->rand, 4);
	u8 *torn = scratch_block();

	memcpy(torn, c->image.block[block], DISK_BLOCK);
	for (u32 i = 0; i < 2; i++)
		if (sectors & (1 << i))
			memcpy(torn + i * DISK_SECTOR, buf + i * DISK_SECTOR,
			       DISK_SECTOR);
	c->image.block[block] = torn;
}

/* It flushes first. */
static int cut_write_log(void *ctx, u32 block, const void *buf)
{
	struct cut *c = ctx;
	u32 at = kit_place(&world->kit, block);
	bool on = power(c);

	if (!on && sim_one_in(&c->rand, 2))
		return -EIO;
	/* The flush of a log's own device leaves home writes in the other one's cache. */
	if (!world->p.external)
		cut_settle(c);
	if (on)
		c->image.block[at] = copy(buf);
	else
		half_write(c, at, buf);
	c->stable[at] = c->image.block[at];
	return on ? 0 : -EIO;
}

static int cut_write_home(void *ctx, u64 block, const void *buf)
{
	struct cut *c = ctx;

	if (block >= world->kit.first)
		bad(c, "recovery writes home to block %llu", block);
	if (!power(c)) {
		half_write(c, block, buf);
		return -EIO;
	}
	c->image.block[block] = copy(buf);
	return 0;
}

static int cut_read_home(void *ctx, u64 block, void *buf)
{
	struct cut *c = ctx;

	if (c->reads_left && !--c->reads_left)
		return -EIO;
	memcpy(buf, c->image.block[block], DISK_BLOCK);
	return 0;
}

static int cut_flush_home(void *ctx)
{
	struct cut *c = ctx;

	if (!power(c))
		return -EIO;
	memcpy(c->stable, c->image.block, HOME_BLOCKS * sizeof(*c->stable));
	return 0;
}

static __printf(3, 4) void cut_msg(void *ctx, int level, const char *fmt, ...)
{
	struct cut *c = ctx;
	va_list ap;

	if (level)
		return;
	va_start(ap, fmt);
	kl_vsnprintf(c->msg, sizeof(c->msg), fmt, ap);
	va_end(ap);
}

static struct zj_io_ops cut_ops = {
	.log_home = cut_log_home,
	.read_log = cut_read_log,
	.write_log = cut_write_log,
	.write_home = cut_write_home,
	.flush_home = cut_flush_home,
	.read_home = cut_read_home,
	.msg = cut_msg,
};

/* ---- states ---- */

struct cut cut_new(struct tally *tally)
{
	struct cut c = { .power = -1, .tally = tally };

	c.image.nr = world->disk->nr;
	c.image.block = malloc(c.image.nr * sizeof(*c.image.block));
	c.stable = malloc(c.image.nr * sizeof(*c.stable));
	return c;
}

void cut_free(struct cut *c)
{
	free(c->image.block);
	free(c->stable);
}

void cut_settle(struct cut *c)
{
	memcpy(c->stable, c->image.block, c->image.nr * sizeof(*c->stable));
}

static void cut_copy(struct cut *to, const struct cut *from)
{
	to->at = from->at;
	to->state = from->state;
	to->rand = from->rand;
	/* Recovery never writes to it. */
	to->image.pmem = from->image.pmem;
	memcpy(to->image.block, from->image.block,
	       from->image.nr * sizeof(*to->image.block));
	cut_settle(to);
}

bool cut_is_live(const struct cut *c)
{
	const struct zj_jbd2_super *sb = (const void *)journal_block(c, 0);
	bool live = sb->s_feature_incompat & cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES);

	if (sb->s_magic != cpu_to_be32(ZJ_JBD2_MAGIC))
		bad(c, "journal block 0 has lost its magic number");
	if (sb->s_checksum != zj_jbd2_super_csum(sb))
		bad(c, "journal block 0 has a wrong checksum");
	if (live != (sb->s_start && !world->p.jbd2))
		bad(c, "journal block 0 is live %d, but starts at %u", live,
		    be32_to_cpu(sb->s_start));
	return sb->s_start;
}

static struct zj_recovery_args args_of(struct cut *c, unsigned int flags,
				       struct zj_recovery_stats *stats)
{
	return (struct zj_recovery_args) {
		.ops = &cut_ops,
		.ctx = c,
		.block_size = DISK_BLOCK,
		.journal_blocks = world->p.jbd2 ? kit_log_blocks(&world->kit) : world->p.journal,
		.fs_blocks = world->kit.first,
		.flags = flags,
		.stats = stats,
	};
}

static int recover_lanes(struct cut *c, unsigned int flags, struct zj_recovery_stats *stats)
{
	const struct zj_recovery_args args = args_of(c, flags, stats);

	return zj_recover(&args, world->kit.sb.s_uuid.b);
}

/* Then block 0 makes the log empty. */
static int recover_jbd2(struct cut *c, struct zj_recovery_stats *stats)
{
	const struct zj_recovery_args args = args_of(c, 0, stats);
	struct zj_jbd2_super *sb = scratch_block();
	u32 sequence;
	int err;

	memcpy(sb, journal_block(c, 0), DISK_BLOCK);
	if (!sb->s_start)
		return 0;
	err = zj_recover_jbd2(&args, sb, &sequence);
	if (err)
		return err;
	sb->s_sequence = cpu_to_be32(sequence);
	zj_clean_jbd2_super(sb);
	zj_jbd2_super_set_csum(sb);
	return cut_write_log(c, 0, sb);
}

static int recover_nvm(struct cut *c, struct zj_recovery_stats *stats)
{
	const struct zj_recovery_args args = args_of(c, 0, stats);
	struct zj_jbd2_super *sb = scratch_block();
	struct zj_nvm_area area = { c->image.pmem, world->pmem->size };
	int err;

	memcpy(sb, journal_block(c, 0), DISK_BLOCK);
	if (!sb->s_start)
		return 0;
	area.generation = be64_to_cpu(zj_nvm_mark_of(sb)->generation);
	err = zj_recover_nvm(&args, &area);
	if (err)
		return err;
	zj_clean_jbd2_super(sb);
	zj_jbd2_super_set_csum(sb);
	return cut_write_log(c, 0, sb);
}

static int recover(struct cut *c)
{
	struct zj_recovery_stats stats;

	/* The journal has no place in the file system then. */
	cut_ops.log_home = world->p.external ? NULL : cut_log_home;
	c->tally->recoveries++;
	c->msg[0] = 0;
	c->writes = 0;
	if (world->p.jbd2)
		return recover_jbd2(c, &stats);
	if (world->p.nvm)
		return recover_nvm(c, &stats);
	return recover_lanes(c, 0, &stats);
}

/* The power fails again: of unflushed home writes each is there or not. */
static void power_fails(struct cut *c)
{
	for (u32 i = 0; i < HOME_BLOCKS; i++) {
		const u8 *old = c->stable[i], *new = c->image.block[i];

		if (old == new)
			continue;
		c->image.block[i] = old;
		half_write(c, i, new);
	}
	cut_settle(c);
}

static void same_home(const struct cut *a, const struct cut *b, const char *what)
{
	for (u32 i = 0; i < HOME_BLOCKS; i++)
		if (a->image.block[i] != b->image.block[i] &&
		    memcmp(a->image.block[i], b->image.block[i], DISK_BLOCK))
			bad(a, "%s: block %u differs", what, i);
}

/* ---- the ways ---- */

static void fail_at(struct cut *c, u32 n)
{
	c->power = n;
	if (!recover(c))
		bad(c, "recovery does not see that write %u of it fails", n);
	c->power = -1;
	c->tally->recrashes++;
	power_fails(c);
}

static void recover_again(const struct cut *c, struct cut *other, const char *what)
{
	int err = recover(other);

	if (err)
		bad(c, "%s: error %d: %s", what, err, other->msg);
	same_home(c, other, what);
}

/* Power fails at write @n; one in four times in the next recovery as well. */
static void crash_again(const struct cut *c, const struct cut *begin,
			struct cut *other, u32 n)
{
	cut_copy(other, begin);
	other->rand.state = c->rand.state + n;
	fail_at(other, n);
	/* If it has emptied the log before it failed, recovery is complete. */
	if (sim_one_in(&other->rand, 4) && cut_is_live(other))
		fail_at(other, sim_below(&other->rand, 2));
	recover_again(c, other, "recovery after a crash of recovery");
}

/* No memory, or a read that fails: an error, and nothing is written before. */
static void refuse(const struct cut *begin, struct cut *other)
{
	bool memory = sim_one_in(&other->rand, 2);
	u32 nth = 1 + sim_below(&other->rand, 12);
	int err;

	cut_copy(other, begin);
	if (memory)
		zj_fail_alloc = nth;
	else
		other->reads_left = nth;
	err = recover(other);
	zj_fail_alloc = 0;
	other->reads_left = 0;
	if (!err)
		return;
	begin->tally->refused++;
	if (err != (memory ? -ENOMEM : -EIO))
		bad(begin, "recovery without memory or a read: error %d", err);
	if (memory && other->writes)
		bad(begin, "recovery without memory has written");
	power_fails(other);
}

/* The log is empty now: what is written home from here on stays (D4). */
static void write_and_recover(const struct cut *c, struct cut *other)
{
	static const u8 newer[DISK_BLOCK];
	int err;

	cut_copy(other, c);
	for (u32 i = 0; i < HOME_BLOCKS; i++)
		other->image.block[i] = newer;
	cut_settle(other);
	err = recover(other);
	if (err)
		bad(c, "recovery for the second time: error %d: %s", err, other->msg);
	for (u32 i = 0; i < HOME_BLOCKS; i++)
		if (other->image.block[i] != newer)
			bad(c, "recovery for the second time writes block %u", i);
}

/* ---- blocks that the device has lost ---- */

/* A header whose component was durable; journal block, 0 if there is none. */
static u32 durable_header(struct cut *c, const struct zj_log_geometry *geo,
			  const struct zj_recovery_stats *st)
{
	u32 blocks = geo->nr_segs * geo->seg_blocks;
	u32 from = sim_below(&c->rand, blocks), seed, i, at;
	struct zj_chunk chunk;

	seed = zj_seed(geo->uuid, geo->generation);
	for (i = 0; i < blocks; i++) {
		at = (from + i) % blocks;
		if (zj_decode_chunk(geo, seed, at / geo->seg_blocks,
				    at % geo->seg_blocks,
				    journal_block(c, geo->log_first + at), &chunk) &&
		    chunk.stamp > st->ckpt_stamp &&
		    chunk.stamp <= st->committed_stamp)
			return geo->log_first + at +
			       sim_below(&c->rand, 1 + zj_chunk_images(&chunk));
	}
	return 0;
}

/* Flips one bit, behind the fields by which recovery recognises a header. */
static void flip_bit(struct cut *c, u32 block)
{
	u32 at = kit_place(&world->kit, block);
	u8 *rotten = memcpy(scratch_block(), c->image.block[at], DISK_BLOCK);
	u32 from = offsetof(struct zj_chunk_header, seg_seq);

	rotten[from + sim_below(&c->rand, DISK_BLOCK - from)] ^=
		1 << sim_below(&c->rand, 8);
	c->image.block[at] = rotten;
}

/* A change of a durable block is damage, which recovery must not attribute to the crash. */
static void rot(const struct cut *begin, struct cut *other)
{
	struct zj_recovery_stats stats;
	struct zj_log_geometry geo;
	u32 block;
	int err;

	cut_copy(other, begin);
	if (zj_decode_log_super(journal_block(other, ZJ_BLOCK_LOG_SUPER), &geo) ||
	    recover_lanes(other, ZJ_RECOVER_DRY_RUN, &stats))
		return;
	block = durable_header(other, &geo, &stats);
	if (!block)
		return;
	flip_bit(other, block);
	err = recover(other);
	begin->tally->rotten++;
	if (err != -EUCLEAN)
		bad(begin, "journal block %u has rotted below the committed stamp %llu: error %d",
		    block, stats.committed_stamp, err);
}

void cut_accept(struct cut *c)
{
	struct zj_recovery_stats stats;
	int err = recover_lanes(c, ZJ_RECOVER_DRY_RUN, &stats);

	c->tally->recoveries++;
	if (err)
		bad(c, "a log without barriers is refused: error %d: %s", err, c->msg);
}

/* What the other slot and the log say must be enough, or recovery must refuse. */
static bool recover_without_slot(struct cut *c, u32 slot)
{
	int err;

	c->unread = ZJ_BLOCK_CKPT + slot;
	err = recover(c);
	c->unread = 0;
	c->tally->unread++;
	if (err && err != -EUCLEAN)
		bad(c, "recovery without checkpoint slot %u: error %d: %s", slot, err, c->msg);
	return !err;
}

bool cut_recover(struct cut *c, struct cut *begin, struct cut *other)
{
	u32 way = sim_below(&c->rand, 64);
	int err;

	if (way >= 28 && way < 32 && !c->kept && !world->p.jbd2 && !world->p.nvm)
		return recover_without_slot(c, way % ZJ_CKPT_SLOTS);
	if (way < 24 || way >= 56)
		cut_copy(begin, c);
	err = recover(c);
	if (err)
		bad(c, "recovery fails with error %d: %s", err, c->msg);
	if (way < 2) {
		/* Its last write is the one that empties the log. */
		for (u32 n = 0; n < c->writes; n++)
			crash_again(c, begin, other, n);
	} else if (way < 18) {
		crash_again(c, begin, other, sim_below(&c->rand, c->writes));
	} else if (way < 24) {
		refuse(begin, other);
		recover_again(c, other, "recovery after one that was refused");
	} else if (way < 28) {
		write_and_recover(c, other);
	} else if (way >= 56 && !world->p.jbd2 && !world->p.nvm) {
		rot(begin, other);
	}
	return true;
}

/* ---- the other program ---- */

void cut_ask(const struct cut *c)
{
	static const u8 *block[PEER_BLOCKS];
	u32 journal = min_t(u32, world->p.journal, PEER_BLOCKS - HOME_BLOCKS);

	memcpy(block, c->image.block, HOME_BLOCKS * sizeof(*block));
	for (u32 i = 0; i < journal; i++)
		block[HOME_BLOCKS + i] = journal_block(c, i);
	peer_ask(world->p.peer, PEER_RECOVER, HOME_BLOCKS,
		     world->p.journal, block);
}

void cut_compare(const struct cut *c)
{
	const u8 (*after)[DISK_BLOCK];
	int err = peer_answer(&after);

	c->tally->asked++;
	if (err)
		bad(c, "%s fails: error %d", world->p.peer, err);
	for (u32 i = 0; i < HOME_BLOCKS; i++)
		if (memcmp(c->image.block[i], after[i], DISK_BLOCK))
			bad(c, "%s has another block %u", world->p.peer, i);
}
