// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power cuts: all states that a schedule can leave on the disk, recovered by the
 * real code, and what must not be seen in them.
 */
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include "stage.h"

#define MAX_PENDING	14	/* writes that may be lost at one place */
#define MAX_POWER	20	/* writes of a recovery that is cut */

/**
 * struct cut - one crash state under recovery
 */
struct cut {
	struct disk_image image;	/* as recovery's reads get it */
	const u8	*stable[FIRST_JOURNAL];	/* home blocks without the unflushed */
	u32		at;		/* place in the disk's log */
	u32		subset;		/* bit for each pending write that is there */
	int		power;		/* writes until it fails again; -1: never */
	struct zj_recovery_stats stats;	/* of the last recovery */
	char		msg[512];	/* recovery's last error */
};

#define bad(c, fmt, ...) \
	kl_fail("cut at %u subset %#x: " fmt, (c)->at, (c)->subset, ##__VA_ARGS__)

/* ---- recovery's I/O ---- */

static int cut_read_log(void *ctx, u32 block, u32 nr, void *buf)
{
	struct cut *c = ctx;

	for (u32 i = 0; i < nr; i++)
		memcpy(buf + i * DISK_BLOCK,
		       c->image.block[kit_place(&play.kit, block + i)], DISK_BLOCK);
	return 0;
}

static bool power_is_off(struct cut *c)
{
	if (c->power < 0)
		return false;
	return !c->power--;
}

static int cut_write_log(void *ctx, u32 block, const void *buf)
{
	struct cut *c = ctx;

	if (power_is_off(c))
		return -EIO;
	c->image.block[kit_place(&play.kit, block)] =
		memcpy(scratch_block(), buf, DISK_BLOCK);
	return 0;
}

static int cut_write_home(void *ctx, u64 block, const void *buf)
{
	struct cut *c = ctx;

	if (block >= FIRST_JOURNAL)
		bad(c, "recovery writes home to block %llu", block);
	if (power_is_off(c))
		return -EIO;
	c->image.block[block] = memcpy(scratch_block(), buf, DISK_BLOCK);
	return 0;
}

static int cut_flush_home(void *ctx)
{
	struct cut *c = ctx;

	if (power_is_off(c))
		return -EIO;
	memcpy(c->stable, c->image.block, sizeof(c->stable));
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

static const struct zj_io_ops cut_ops = {
	.read_log = cut_read_log,
	.write_log = cut_write_log,
	.write_home = cut_write_home,
	.flush_home = cut_flush_home,
	.msg = cut_msg,
};

static int recover(struct cut *c, int power)
{
	const struct zj_jbd2_super *sb =
		(const void *)c->image.block[kit_place(&play.kit, 0)];
	const struct zj_recovery_args args = {
		.ops = &cut_ops,
		.ctx = c,
		.block_size = DISK_BLOCK,
		.journal_blocks = play.journal,
		.fs_blocks = FIRST_JOURNAL,
		.stats = &c->stats,
	};

	memset(&c->stats, 0, sizeof(c->stats));
	if (!(sb->s_feature_incompat & cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES)))
		return 0;
	c->msg[0] = 0;
	c->power = power;
	memcpy(c->stable, c->image.block, sizeof(c->stable));
	return zj_recover(&args, play.kit.sb.s_uuid.b);
}

/* ---- what is there ---- */

static const struct content *content(const struct cut *c, u32 block)
{
	return (const void *)c->image.block[FIRST_HOME + block];
}

static int unit_there(const struct cut *c, u32 unit);

/* 1: there, 0: not there, -1: nothing says. */
static int deed_there(const struct cut *c, u32 unit, const struct deed *d)
{
	const struct block *b = &play.block[d->block];
	const struct content *h = content(c, d->block);

	/* Freed after that, by a handle that is there: anything may be in it. */
	if (b->freed_by >= 0 && b->freed_by != unit && d->gen <= b->freed_gen &&
	    unit_there(c, b->freed_by) > 0)
		return -1;
	if (h->gen != d->gen)
		return h->gen > d->gen;
	if (h->mark[unit] && h->mark[unit] != d->times)
		bad(c, "b%u has h%u half-way", d->block, play.unit[unit].actor);
	return !!h->mark[unit];
}

static int unit_there(const struct cut *c, u32 unit)
{
	const struct unit *u = &play.unit[unit];

	for (u32 i = 0; i < u->nr_deeds; i++) {
		int there = deed_there(c, unit, &u->deed[i]);

		if (there >= 0)
			return there;
	}
	return -1;
}

static void check_whole(const struct cut *c, u32 unit)
{
	const struct unit *u = &play.unit[unit];
	int first = -1, at = 0;

	for (u32 i = 0; i < u->nr_deeds; i++) {
		int there = deed_there(c, unit, &u->deed[i]);

		if (there < 0)
			continue;
		if (first >= 0 && there != first)
			bad(c, "half of h%u: b%u %s it, b%u %s", u->actor,
			    u->deed[at].block, first ? "has" : "lacks",
			    u->deed[i].block, first ? "does not" : "does");
		first = there;
		at = i;
	}
}

static void check_unit(const struct cut *c, u32 unit)
{
	const struct unit *u = &play.unit[unit];
	int there;

	check_whole(c, unit);
	there = unit_there(c, unit);
	if (there < 0)
		return;
	if (u->gone && there)
		bad(c, "h%u is there again, which was discarded", u->actor);
	if (there && u->epoch == play.epoch &&
	    (u->stopped == NEVER || u->stopped >= c->at))
		bad(c, "unfinished h%u is there", u->actor);
	if (!there && u->must <= c->at)
		bad(c, "h%u is lost, promised at %u", u->actor, u->must);
	for (u32 k = 0; there && k < play.nr_units; k++)
		if (u->causes & 1ULL << k && !unit_there(c, k))
			bad(c, "h%u is there, but not h%u, which it has read",
			    u->actor, play.unit[k].actor);
}

static void check_block(const struct cut *c, u32 block)
{
	const struct block *b = &play.block[block];
	const struct content *h = content(c, block);
	bool of_data = h->kind == KIND_DATA && h->gen == b->gen;

	if (h->sum != content_sum(h) || h->block != block)
		bad(c, "b%u holds nothing that was ever written", block);
	if (b->data_of >= 0 && unit_there(c, b->data_of) > 0 && !of_data)
		bad(c, "stale data exposed: h%u is there, its data in b%u is not",
		    play.unit[b->data_of].actor, block);
	if (b->data_must <= c->at && !of_data)
		bad(c, "the data in b%u is overwritten", block);
}

/* R7: what is there of a lane has all before it. */
static void check_lanes(const struct cut *c)
{
	u32 gone[8];

	memset(gone, 0xff, sizeof(gone));
	for (u32 i = 0; i < play.nr_units; i++) {
		const struct unit *u = &play.unit[i];

		int there = unit_there(c, i);

		if (u->epoch != play.epoch || there < 0)
			continue;
		if (!there) {
			if (gone[u->lane] == NEVER)
				gone[u->lane] = i;
		} else if (gone[u->lane] != NEVER &&
			   play.unit[gone[u->lane]].tid != u->tid) {
			bad(c, "lane %u: h%u is there, the earlier h%u is not",
			    u->lane, u->actor, play.unit[gone[u->lane]].actor);
		}
	}
}

static void judge(const struct cut *c)
{
	for (u32 b = 0; b < MAX_BLOCKS; b++)
		check_block(c, b);
	for (u32 u = 0; u < play.nr_units; u++)
		check_unit(c, u);
	check_lanes(c);
}

/* ---- the states of one place ---- */

/* The power fails again after every write of recovery, with and without cache. */
static void recover_again(const struct cut *from, struct cut *c)
{
	for (int power = 0; power < MAX_POWER; power++) {
		for (u32 keep = 0; keep < 2; keep++) {
			memcpy(c->image.block, from->image.block,
			       c->image.nr * sizeof(*c->image.block));
			c->at = from->at;
			c->subset = from->subset;
			if (!recover(c, power))
				return;
			if (!keep)
				memcpy(c->image.block, c->stable,
				       sizeof(c->stable));
			if (recover(c, -1))
				bad(c, "recovery after a cut at its write %d fails: %s",
				    power, c->msg);
			judge(c);
			play.states++;
		}
	}
	bad(from, "recovery writes more than %d blocks", MAX_POWER);
}

static void judge_state(struct cut *c, struct cut *other)
{
	if (play.again)
		recover_again(c, other);
	if (recover(c, -1))
		bad(c, "recovery fails: %s", c->msg);
	judge(c);
	if (recover(c, -1) || c->stats.chunks)
		bad(c, "the log is not empty after recovery");
	play.states++;
	scratch_reset();
}

static void take_subset(const struct disk_walk *w, struct cut *c)
{
	memcpy(c->image.block, w->durable, c->image.nr * sizeof(*w->durable));
	for (u32 i = 0; i < w->nr; i++)
		if (c->subset & 1u << i)
			c->image.block[w->pending[i].block] = w->pending[i].data;
}

/* @last: only subsets with the write that is new here; the others were seen. */
static void judge_place(const struct disk_walk *w, struct cut *c,
			struct cut *other, bool last)
{
	u32 first = last ? 1u << (w->nr - 1) : 0;

	if (w->nr > MAX_PENDING)
		bad(c, "%u writes may be lost here: too many to try all", w->nr);
	c->at = w->at;
	for (u32 subset = first; subset < 1u << w->nr; subset++) {
		c->subset = subset;
		take_subset(w, c);
		judge_state(c, other);
	}
}

/* Has anything been promised when the disk's log was that long? */
static bool promised_at(u32 at)
{
	bool any = at == now();

	for (u32 u = 0; u < play.nr_units; u++)
		any |= play.unit[u].must == at && play.unit[u].epoch == play.epoch;
	for (u32 b = 0; b < MAX_BLOCKS; b++)
		any |= play.block[b].data_must == at;
	return any;
}

static void cut_init(struct cut *c)
{
	*c = (struct cut){ .image.nr = play.disk->nr, .power = -1 };
	c->image.block = malloc(c->image.nr * sizeof(*c->image.block));
}

static void walk_all(struct disk_walk *w)
{
	struct cut c, other;

	cut_init(&c);
	cut_init(&other);
	walk_init(w, play.disk, play.initial);
	for (;;) {
		bool new = w->at && play.disk->log[w->at - 1].what == DISK_WRITE;

		if (w->at >= play.judged && promised_at(w->at))
			judge_place(w, &c, &other, false);
		else if (w->at >= play.judged && new)
			judge_place(w, &c, &other, true);
		if (w->at == now())
			break;
		walk_step(w);
	}
	free(c.image.block);
	free(other.image.block);
}

void skip_to_here(void)
{
	play.judged = now();
}

void crash(void)
{
	struct disk_walk *w = malloc(sizeof(*w));

	settle();
	walk_all(w);
	walk_free(w);
	free(w);
	play.judged = now();
}

/* ---- the next mount ---- */

static u8 *copy_image(const struct cut *c)
{
	u8 *image = malloc((size_t)c->image.nr * DISK_BLOCK);

	for (u32 b = 0; b < c->image.nr; b++)
		memcpy(image + (size_t)b * DISK_BLOCK, c->image.block[b],
		       DISK_BLOCK);
	return image;
}

void crash_and_mount(void)
{
	struct disk_walk *w = malloc(sizeof(*w));
	struct cut c;
	u8 *image;

	settle();
	walk_all(w);
	cut_init(&c);
	c.at = w->at;
	c.subset = (1u << w->nr) - 1;
	take_subset(w, &c);
	image = copy_image(&c);
	if (recover(&c, -1))
		bad(&c, "recovery fails: %s", c.msg);
	for (u32 u = 0; u < play.nr_units; u++) {
		play.unit[u].gone = !unit_there(&c, u);
		play.unit[u].must = play.unit[u].gone ? NEVER : 0;
	}
	scratch_reset();
	free(c.image.block);
	walk_free(w);
	free(w);
	stage_reopen(image);
}
