// SPDX-License-Identifier: GPL-2.0-only
/* log_jbd2.c: the ring that stock's log is: its start, its room, what is promised of it. */
#include "jbd2view.h"

/* The first block that is in use, and how many are. */
static u32 ring_used(void)
{
	u32 head = fx.zj->ring.head, tail = fx.zj->ring.tail;

	return head >= tail ? head - tail : head + fx.zj->geo.nr_segs - tail;
}

static void tail_moves_the_start(void)
{
	u32 at, seq, before;

	JBD2();
	at = super_start();
	seq = super_sequence();
	change_many(BLOCK, 2, 3);
	change_many(BLOCK + 2, 1, 4);
	before = now();
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(super_start(), step(at, 4 + 3));
	assert_int_equal(super_sequence(), seq + 2);
	assert_int_equal(fx.zj->nr_pool, fx.zj->geo.nr_segs - 1);
	/* Home writes, a flush, then block 0 with the new start. */
	assert_true(written(BLOCK, before) < written(jblock(0), before));
	assert_int_equal(val_after_crash(BLOCK), 3);
	change_many(BLOCK, 1, 5);
	assert_int_equal(be(disk_block(step(at, 7)), 8), seq + 2);
	assert_int_equal(val_after_crash(BLOCK), 5);
	close_journal();
}

static void ring_goes_round(void)
{
	u32 turns = 0, old = 0;

	JBD2(.journal = 130);
	for (u32 i = 0; i < 200; i++) {
		change_many(BLOCK, 1 + i % 5, i);
		assert_int_equal(val_after_crash(BLOCK), (u8)i);
		turns += fx.zj->ring.head < old;
		old = fx.zj->ring.head;
	}
	assert_true(turns > 5);
	assert_true(lane(0)->stats.txns > 200);
	close_journal();
}

static void full_ring_lets_starts_wait(void)
{
	struct fiber *f;
	int most;

	JBD2(.journal = 130);
	most = fx.zj->max_credits;
	/* Blocks that are not home keep their place, and so do all later ones. */
	change_many(BLOCK, 1, 1);
	fx.hold_block = BLOCK;
	while (fx.zj->nr_pool >= zj_log_blocks(fx.zj, most))
		change_many(BLOCK + 10, 10, 1);
	f = GO(call_start, .n = most);
	settle();
	assert_false(f->done);
	release();
	join(f);
	assert_int_equal(stop(f->h), 0);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

static void clean_is_stocks_clean(void)
{
	struct image *image;
	u32 seq;

	JBD2();
	change_many(BLOCK, 2, 3);
	seq = be(disk_block(super_start()), 8);
	assert_int_equal(unmount_journal(), 0);
	image = cut_power();
	assert_false(image_is_live(image));
	assert_int_equal(image_val(image, BLOCK), 3);
	image_free(image);
	assert_true(super_sequence() > seq);
	/* The ring goes on from there, never with a sequence number used before. */
	assert_int_equal(mount_journal(), 0);
	change_many(BLOCK, 1, 4);
	assert_true(super_sequence() > seq + 1);
	assert_int_equal(val_after_crash(BLOCK), 4);
	close_journal();
}

static void flush_empties_it(void)
{
	JBD2();
	change_many(BLOCK, 2, 3);
	zj_journal_lock_updates(fx.journal);
	assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
	zj_journal_unlock_updates(fx.journal);
	assert_int_equal(super_start(), 0);
	change_many(BLOCK, 2, 4);
	assert_int_not_equal(super_start(), 0);
	assert_int_equal(val_after_crash(BLOCK), 4);
	close_journal();
}

static void call_clean(struct fiber *f)
{
	f->ret = zj_make_clean(fx.zj);
}

/* The log is marked empty while an advance of the tail is on its way to block 0. */
static void late_checkpoint_leaves_it_empty(void)
{
	struct fiber *clean, *ckpt;

	JBD2();
	change_many(BLOCK, 2, 3);
	fx.hold_block = jblock(0);
	clean = GO(call_clean);
	settle();
	assert_int_equal(nr_held(), 1);
	ckpt = GO(call_checkpoint);
	settle();
	assert_int_equal(home_val(BLOCK), 3);
	assert_false(ckpt->done);
	release();
	join(clean);
	join(ckpt);
	assert_int_equal(clean->ret | ckpt->ret, 0);
	assert_int_equal(super_start(), 0);
	assert_int_equal(fx.zj->ckpt_stamp, 2);
	change_many(BLOCK, 1, 4);
	assert_int_equal(val_after_crash(BLOCK), 4);
	assert_int_equal(val_after_crash(BLOCK + 1), 3);
	close_journal();
}

/* ---- runs of several transactions ---- */

#define RUN	3	/* members */

static u32 logged(u32 block)
{
	return zj_journal_file_blocks_logged(fx.journal, block, 1);
}

static struct fiber *fsync_of_file(u32 first, u32 nr)
{
	handle_t *h = start(0, nr);
	struct fiber *f;
	tid_t tid = h->h_transaction->t_tid;

	for (u32 i = 0; i < nr; i++)
		log_block(h, first + i, 1);
	stop(h);
	f = GO(call_complete, .tid = tid);
	settle();
	return f;
}

/* Commits one block, and then a run of members with @each blocks, which has gathered meanwhile. */
static void commit_a_run(u32 each)
{
	struct fiber *f[RUN + 1];

	fx.hold_flush = true;
	f[RUN] = fsync_of_file(BLOCK + RUN * each, 1);
	for (u32 i = 0; i < RUN; i++)
		f[i] = fsync_of_file(BLOCK + i * each, each);
	release();
	for (u32 i = 0; i <= RUN; i++)
		join(f[i]);
}

/*
 * All of a run but one block is home: recovery would replay the run, so that nothing of it may be
 * written in place.
 */
static void members_leave_the_log_with_their_run(void)
{
	handle_t *h;
	u32 at;

	for (u32 late = 0; late < RUN; late++) {
		OPEN(.jbd2 = true, .pipeline = true, .lanes = 1);
		at = super_start();
		commit_a_run(1);
		/* One block of the run cannot go home, as a running transaction changes it. */
		h = start(0, 1);
		log_block(h, BLOCK + late, 2);
		stop(h);
		join(GO(call_checkpoint));
		assert_int_equal(super_start(), step(at, 3));
		for (u32 i = 0; i < RUN; i++) {
			assert_int_equal(home_val(BLOCK + i), i != late);
			assert_int_equal(logged(BLOCK + i), 1);
		}
		assert_int_equal(logged(BLOCK + RUN), 0);
		commit(0);
		join(GO(call_checkpoint));
		for (u32 i = 0; i < RUN; i++)
			assert_int_equal(logged(BLOCK + i), 0);
		assert_int_equal(super_start(), step(at, 3 + RUN * 2 + 1 + 3));
		assert_int_equal(ring_used(), 0);
		close_journal();
	}
}

/* Each pass walks over one member that is not home, whatever older members are. */
static void passes_reach_the_end_of_a_large_run(void)
{
	OPEN(.jbd2 = true, .pipeline = true, .lanes = 1, .journal = 256);
	commit_a_run(fx.zj->budget / 2);
	for (u32 i = 0; i <= RUN; i++) {
		assert_true(ring_used());
		join(GO(call_checkpoint));
	}
	assert_int_equal(ring_used(), 0);
	close_journal();
}

static void call_write_home(struct fiber *f)
{
	zj_journal_write_home(fx.journal);
}

/* What the checkpoint thread does when space gets low. */
static void call_work_ahead(struct fiber *f)
{
	fx.zj->low_pool = fx.zj->geo.nr_segs;
	zj_checkpoint_kick(fx.zj);
}

/* A pass that finds only what the kernel has written home is not the last one in a large run. */
static void passes_go_on_behind_what_was_written_back(void)
{
	void (*const call[])(struct fiber *f) = { call_write_home, call_work_ahead };

	for (u32 n = 0; n < ARRAY_SIZE(call); n++) {
		OPEN(.jbd2 = true, .pipeline = true, .lanes = 1, .journal = 256);
		commit_a_run(fx.zj->budget / 2);
		for (u32 i = 0; i <= RUN * (fx.zj->budget / 2); i++) {
			struct buffer_head *bh = buffer(BLOCK + i);

			write_dirty_buffer(bh, 0);
			wait_on_buffer(bh);
			brelse(bh);
		}
		assert_true(ring_used());
		join(GO(call[n]));
		settle();
		assert_int_equal(ring_used(), 0);
		close_journal();
	}
}

/* It is not the one that is home, and only has to stay for it. */
static void what_holds_the_tail_is_shown(void)
{
	static char text[64 * 1024], what[64];
	struct seq_buf out;
	handle_t *h;

	OPEN(.jbd2 = true, .pipeline = true, .lanes = 1);
	commit_a_run(1);
	h = start(0, 1);
	log_block(h, BLOCK + RUN - 1, 2);
	stop(h);
	join(GO(call_checkpoint));
	seq_buf_init(&out, text, sizeof(text));
	zj_components_to_text(&out, fx.zj);
	snprintf(what, sizeof(what), "oldest in the log:\ncomponent %llu:", fx.zj->stamp);
	assert_non_null(strstr(text, what));
	close_journal();
}

/* ---- what is promised of the ring ---- */

/* All blocks are accounted for, at each place, whole and in part. */
static void ring_loses_and_gains_no_block(void)
{
	u32 turns = 0, old = 0;

	JBD2(.journal = 130);
	for (u32 i = 0; i < 120; i++) {
		change_many(BLOCK, 1 + i % 7, i);
		assert_int_equal(fx.zj->nr_pool + ring_used(),
				 fx.zj->geo.nr_segs - 1);
		if (i % 3)
			continue;
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		assert_int_equal(ring_used(), 0);
		assert_int_equal(fx.zj->nr_pool, fx.zj->geo.nr_segs - 1);
		turns += fx.zj->ring.head < old;
		old = fx.zj->ring.head;
	}
	assert_true(turns > 3);
	close_journal();
}

/* Images, revoke blocks, descriptors and a commit block: never more than promised. */
static void ring_promise_covers_every_size(void)
{
	u32 features[] = { ZJ_JBD2_INCOMPAT_CSUM_V3,
			   ZJ_JBD2_INCOMPAT_CSUM_V3 | ZJ_JBD2_INCOMPAT_64BIT };

	for (u32 f = 0; f < ARRAY_SIZE(features); f++) {
		JBD2(.journal = 1024, .features = features[f]);
		for (u32 n = 1; n <= fx.zj->max_credits; n++) {
			u32 at = ring_used();

			change_many(BLOCK, n, n);
			assert_in_range(ring_used() - at, n + 2,
					zj_log_blocks(fx.zj, n));
			if (fx.zj->nr_pool < 600)
				assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		}
		close_journal();
	}
}

static void ring_promise_covers_revokes(void)
{
	u32 at, credits;
	handle_t *h;

	JBD2();
	for (u32 n = 1; n < 1000; n += 61) {
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		h = start_more(0, 1, 0, n);
		credits = h->h_total_credits;
		put(h, BLOCK, 1);
		for (u32 i = 0; i < n; i++)
			assert_int_equal(revoke_block(h, 100 + i), 0);
		stop(h);
		at = ring_used();
		commit(0);
		assert_true(ring_used() - at <= zj_log_blocks(fx.zj, credits));
	}
	close_journal();
}

/* A journal that is not loaded: for what its geometry alone decides. */
static void bare_ring(struct zj_journal *zj, struct zj_jbd2_super *sb, u32 size,
		      u32 blocks)
{
	sb->s_blocksize = cpu_to_be32(size);
	sb->s_maxlen = cpu_to_be32(blocks);
	sb->s_first = cpu_to_be32(RING_FIRST);
	zj->public.j_superblock = sb;
	zj->public.j_blocksize = size;
	zj->public.j_total_len = blocks;
	zj->max_credits = zj_largest_handle(blocks, size);
}

#define LARGEST_BLOCK	65536u

/* Sizes in stock's format: bytes of a tag, of a revoke, and of a checksum at the end. */
static const struct kind {
	u32	features, tag, revoke, tail;
} kinds[] = {
	{ 0, 8, 4, 0 },
	{ ZJ_JBD2_INCOMPAT_64BIT, 12, 8, 0 },
	{ ZJ_JBD2_INCOMPAT_CSUM_V2, 10, 4, 4 },
	{ ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_64BIT, 14, 8, 4 },
	{ ZJ_JBD2_INCOMPAT_CSUM_V3, 16, 4, 4 },
	{ ZJ_JBD2_INCOMPAT_CSUM_V3 | ZJ_JBD2_INCOMPAT_64BIT, 16, 8, 4 },
};

/* Blocks of a transaction with @images of one handle and @revokes of others. */
static u32 ring_takes(const struct kind *kind, u32 size, u32 images, u32 revokes)
{
	u32 tags = (size - 12 - 16 - kind->tail) / kind->tag;
	u32 most = (size - 16 - kind->tail) / kind->revoke;

	return images + DIV_ROUND_UP(images, tags) + DIV_ROUND_UP(revokes, most) + 1;
}

/* The real writer fills 1 KiB (above); this is its arithmetic at all other sizes. */
static void ring_promise_holds_at_every_block_size(void)
{
	struct zj_journal *zj = calloc(1, sizeof(*zj));
	struct zj_jbd2_super sb = { };
	struct zj_jbd2_geo log;

	for (u32 size = 1024; size <= LARGEST_BLOCK; size *= 2) {
		u32 ours = zj_chunk_room(size) / sizeof(__le64);

		bare_ring(zj, &sb, size, 1 << 20);
		assert_int_equal(zj_log_jbd2.fit(zj, 1), 1);
		for (u32 k = 0; k < ARRAY_SIZE(kinds); k++) {
			sb.s_feature_incompat = cpu_to_be32(kinds[k].features);
			zj_jbd2_geo_of(&sb, &log);
			assert_int_equal(zj_jbd2_tags_per_block(&log),
					 (size - 28 - kinds[k].tail) / kinds[k].tag);
			/*
			 * The largest number of revokes for which that many credits are
			 * requested.
			 */
			for (u32 n = 0; n < size / 4 + 70; n++)
				for (u32 r = 0; r <= min(n, 5u); r++)
					assert_true(ring_takes(&kinds[k], size,
							       n - r, r * ours) <=
						    zj_log_jbd2.blocks(zj, n));
		}
	}
	free(zj);
}

/* The largest handle with a reservation: an empty ring lets it start. */
static void ring_that_fits_holds_the_largest_handle(void)
{
	struct zj_journal *zj = calloc(1, sizeof(*zj));
	struct zj_jbd2_super sb = { };

	for (u32 size = 1024; size <= LARGEST_BLOCK; size *= 2)
		for (u32 blocks = 16; blocks < 20000; blocks += 1 + blocks / 100) {
			bare_ring(zj, &sb, size, blocks);
			if (!zj_log_jbd2.fit(zj, 1))
				continue;
			for (u32 rsv = 0; rsv <= zj->max_credits / 2; rsv++)
				assert_true(zj_log_jbd2.blocks(zj, zj->max_credits - rsv) +
					    (rsv ? zj_log_jbd2.blocks(zj, rsv) : 0) <=
					    zj->geo.nr_segs - 1);
		}
	free(zj);
}

/* The error is written with the block that the new tail was to be in. */
static void tail_that_could_not_be_written_stays(void)
{
	u32 at, seq;

	JBD2();
	at = super_start();
	seq = super_sequence();
	change_many(BLOCK, 1, 3);
	buf_write_back(fx.disk, BLOCK);
	settle();
	fail_next_write();
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	settle();
	assert_int_equal((int)be(disk_block(0), 0x20), -EIO);
	assert_int_equal(super_start(), at);
	assert_int_equal(super_sequence(), seq);
	assert_int_equal(fx.zj->nr_pool + ring_used(), fx.zj->geo.nr_segs - 1);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_aborted();
}

/*
 * Block 0 may name lanes still, as barriers were off when they were emptied: then the
 * ring must not go over their super block, or the file system could not be mounted.
 */
static void ring_does_not_outrun_a_clean_block_0(void)
{
	size_t size;
	const u8 **initial;
	struct image *image;

	OPEN(.lanes = 1);
	change(0, BLOCK, 1);
	commit(0);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	assert_int_equal(unmount_journal(), 0);
	/* A mount of what is in the device's cache. */
	size = fx.disk->nr * sizeof(*initial);
	initial = memcpy(malloc(size), fx.initial, size);
	fx.setup.jbd2 = true;
	assert_int_equal(mount_journal(), 0);
	memcpy(fx.initial, initial, size);
	free(initial);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	change(0, BLOCK, 2);
	commit(0);
	image = cut_power();
	assert_true(memcmp(image->block[jblock(RING_FIRST)], disk_block(RING_FIRST), DISK_BLOCK));
	/* The device has already written that block. */
	image->block[jblock(RING_FIRST)] = disk_block(RING_FIRST);
	fx.setup.jbd2 = !(be(image->block[jblock(0)], 0x28) & ZJ_JBD2_INCOMPAT_LANES);
	assert_int_equal(recover_image(image), 0);
	image_free(image);
	fx.setup.jbd2 = true;
	close_journal();
}

CORE_TESTS(ring,
	CORE_TEST(ring_does_not_outrun_a_clean_block_0),
	CORE_TEST(ring_loses_and_gains_no_block),
	CORE_TEST(ring_promise_covers_every_size),
	CORE_TEST(ring_promise_covers_revokes),
	CORE_TEST(ring_promise_holds_at_every_block_size),
	CORE_TEST(ring_that_fits_holds_the_largest_handle),
	CORE_TEST(tail_that_could_not_be_written_stays),
	CORE_TEST(tail_moves_the_start),
	CORE_TEST(ring_goes_round),
	CORE_TEST(full_ring_lets_starts_wait),
	CORE_TEST(clean_is_stocks_clean),
	CORE_TEST(flush_empties_it),
	CORE_TEST(late_checkpoint_leaves_it_empty),
	CORE_TEST(passes_reach_the_end_of_a_large_run),
	CORE_TEST(passes_go_on_behind_what_was_written_back),
	CORE_TEST(what_holds_the_tail_is_shown),
	CORE_TEST(members_leave_the_log_with_their_run),
);
