// SPDX-License-Identifier: GPL-2.0-only
/* Blocks of the log that cannot be read: each one of a log, in turn. */
#include <stdio.h>
#include "memlog.h"
#include "ringlog.h"
#include "tests.h"

#define SEGS	6
#define HOMES	32

/* What recovery does without one block. */
enum need {
	NOTHING,	/* it is not missed */
	DOUBT,		/* the newest record may begin there */
	IMAGE,		/* it holds an image of a record */
	MISSED,		/* without it, a stamp up to the committed stamp is not there */
	SUPER,		/* without it there is no log */
};

/*
 * Segment 0 has stamps 1 to 3, of which the first is reclaimed, segment 2 stamp 4,
 * segment 3 what is older than the checkpoint; the others are free.
 */
static struct memdev *log_in_use(bool ahead)
{
	struct memdev *d = ml_new(SEGS, 16, HOMES);

	PUT(d, 0, .stamp = 1, .members = 2, .img = { { 4, 'a' } });
	PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 5, 'b' }, { 6, 'b' } });
	PUT(d, 0, .stamp = 3, .durable = 2, .img = { { 6, 'c' } });
	PUT(d, 2, .stamp = 4, .lane = 1, .durable = 2, .img = { { 7, 'd' } });
	PUT(d, 3, .stamp = 1, .members = 2, .lane = 2, .img = { { 9, 'x' } });
	ml_ckpt(d, 1, 0);
	ml_ckpt(d, 2, 1);
	d->ahead = ahead;
	d->room = ahead ? 1 << 20 : 0;
	return d;
}

static enum need need_of(const struct memdev *d, u32 block)
{
	u32 seg, at;

	if (block == ZJ_BLOCK_LOG_SUPER)
		return SUPER;
	if (block < ZJ_LOG_FIRST)
		return NOTHING;
	seg = (block - ZJ_LOG_FIRST) / d->geo.seg_blocks;
	at = (block - ZJ_LOG_FIRST) % d->geo.seg_blocks;
	if (seg == 0)	/* headers at 0, 2, 5, the end at 7 */
		return at == 0 || at == 2 ? MISSED : at == 5 || at == 7 ? DOUBT :
		       at == 1 || at > 7 ? NOTHING : IMAGE;
	if (seg == 2)
		return at == 1 ? IMAGE : at == 0 || at == 2 ? DOUBT : NOTHING;
	if (seg == 3)
		return at == 0 || at == 2 ? DOUBT : NOTHING;
	return at ? NOTHING : DOUBT;
}

static void expect_all(struct memdev *d)
{
	ml_expect(d, 5, 'b');
	ml_expect(d, 6, 'c');
	ml_expect(d, 7, 'd');
}

static void refused(struct memdev *d, u32 block, const char *text)
{
	char place[40];

	snprintf(place, sizeof(place), "journal block %u", block);
	ml_recover_refused(d, text);
	assert_non_null(strstr(d->error, place));
	assert_non_null(strstr(d->error, "--drop-damaged"));
}

/* What is replayed are all stamps up to a certain one. */
static void dropped(struct memdev *d)
{
	struct zj_recovery_stats s;

	assert_int_equal(ml_recover_dropping(d, &s), 0);
	assert_int_equal(s.unread_blocks, 1);
	assert_int_equal(s.lost_stamp, s.newest_stamp ? s.newest_stamp + 1 : 2);
	d->bad_block = ML_NEVER;
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 0);
}

/* The message that it can do without a block names it; false if there is none. */
static bool says_which(const struct memdev *d, u32 block)
{
	char text[100];

	snprintf(text, sizeof(text), "1 blocks of the log cannot be read, the first is journal block %u;",
		 block);
	if (d->unread[0])
		assert_non_null(strstr(d->unread, text));
	return d->unread[0];
}

static void each_block_of_a_log(void **state)
{
	u32 total = ZJ_LOG_FIRST + SEGS * 16, nr[SUPER + 1] = { 0 }, told = 0;
	struct zj_recovery_stats s;

	for (u32 i = 0; i < 2 * total; i++) {
		u32 block = i / 2;
		struct memdev *d = log_in_use(i % 2);
		enum need need = need_of(d, block);

		nr[need]++;
		d->bad_block = block;
		switch (need) {
		case NOTHING:
			assert_int_equal(ml_recover(d, false, &s), 0);
			/* The older slot brings back the first stamp, which is home. */
			assert_int_equal(s.transactions, block == ZJ_BLOCK_CKPT ? 5 : 3);
			expect_all(d);
			told += says_which(d, block);
			break;
		case DOUBT:
			refused(d, block, "a record that was durable may begin there");
			dropped(d);
			break;
		case IMAGE:
			refused(d, block, "cannot be read, which holds an image of it");
			dropped(d);
			break;
		case MISSED:
			refused(d, block, "is not in the log, or in part only");
			dropped(d);
			break;
		case SUPER:
			assert_int_equal(ml_recover(d, false, &s), -EIO);
			assert_non_null(strstr(d->error, "journal block 1 "));
			assert_int_equal(d->writes, 0);
			break;
		}
		ml_free(d);
	}
	assert_true(told);
	assert_true(nr[NOTHING] > 10 * nr[DOUBT] / 2 && nr[DOUBT] && nr[IMAGE] && nr[MISSED]);
}

/* The oldest stamp that lacks an image is named; with two chunks of it, the first one. */
static void first_of_two_images_is_named(void **state)
{
	static const struct {
		struct {
			u32 seg;
			u64 stamp;
		} put[2];
		bool members;		/* of one component */
		u32 named;
	} cases[] = {
		{ { { 0, 2 }, { 2, 3 } }, false, 0 },
		{ { { 0, 3 }, { 2, 2 } }, false, 1 },
		{ { { 0, 2 }, { 2, 2 } }, true, 0 },
		{ { { 0, 2 }, { 0, 2 } }, false, 0 },
	};

	for (u32 i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		u32 seg0 = cases[i / 2].put[0].seg, seg1 = cases[i / 2].put[1].seg;
		bool chunks = seg0 == seg1;
		struct memdev *d = ml_new(SEGS, 16, HOMES);
		u32 at[2];

		for (u32 k = 0; k < 2; k++)
			at[k] = PUT(d, k ? seg1 : seg0, .stamp = cases[i / 2].put[k].stamp,
				    .lane = chunks ? 0 : k, .members = 1 + cases[i / 2].members,
				    .index = chunks ? k : 0, .chunks = chunks ? 2 : 1,
				    .img = { { 4 + k, 'a' } }) + 1;
		ml_ckpt(d, 1, 1);
		d->ahead = i % 2;
		d->bad_block = at[0];
		d->bad_too = at[1];
		refused(d, at[cases[i / 2].named], "cannot be read, which holds an image of it");
		ml_free(d);
	}
}

/* Of two images of one chunk, too. */
static void first_of_a_chunks_images_is_named(void **state)
{
	struct memdev *d = ml_new(SEGS, 16, HOMES);
	u32 at = PUT(d, 0, .stamp = 2, .img = { { 4, 'a' }, { 5, 'a' } }) + 1;

	ml_ckpt(d, 1, 1);
	d->bad_block = at;
	d->bad_too = at + 1;
	refused(d, at, "cannot be read, which holds an image of it");
	ml_free(d);
}

/* One slot cannot be read, the other one is good, damaged, or of an older log. */
static void checkpoint_slots(void **state)
{
	struct zj_recovery_stats s;

	for (u32 slot = 0; slot < ZJ_CKPT_SLOTS; slot++) {
		struct memdev *d = log_in_use(false);

		d->bad_block = ZJ_BLOCK_CKPT + slot;
		assert_int_equal(ml_recover(d, true, &s), 0);
		/* The newer one is in slot 0. */
		assert_int_equal(s.ckpt_stamp, slot);
		((u8 *)ml_block(d, ZJ_BLOCK_CKPT + !slot))[0x100] ^= 1;
		ml_recover_refused(d, "both checkpoint slots (journal blocks 2 and 3)");
		memset(ml_block(d, ZJ_BLOCK_CKPT + !slot), 0, 1024);
		assert_int_equal(ml_recover(d, true, &s), 0);
		assert_int_equal(s.ckpt_stamp, 0);
		ml_free(d);
	}
	/* Without the newer one, what was reclaimed and overwritten is missed. */
	for (u32 again = 0; again < 2; again++) {
		struct memdev *d = log_in_use(false);

		d->bad_block = ZJ_BLOCK_CKPT;
		if (again) {
			ml_tenure(d, 0, 900);
			memset(ml_block(d, ml_seg_block(d, 0, 0)), 0, 16 * 1024);
			PUT(d, 0, .stamp = 5, .durable = 4, .img = { { 5, 'e' } });
			ml_recover_refused(d, "stamp 1 is not in the log");
		} else {
			assert_int_equal(ml_recover(d, false, &s), 0);
			assert_int_equal(s.transactions, 5);
			ml_expect(d, 6, 'c');
			ml_expect(d, 9, 'x');
		}
		ml_free(d);
	}
}

/*
 * The newer slot cannot be read, and the newest of what it says is home was overwritten by a
 * record that the crash has torn: nothing names it, and what is left is older than the device.
 */
static void slot_and_what_it_freed(void **state)
{
	for (u32 slot = 0; slot < ZJ_CKPT_SLOTS; slot++) {
		struct memdev *d = ml_new(SEGS, 16, HOMES);
		struct zj_recovery_stats s;

		PUT(d, 0, .stamp = 1, .img = { { 6, 'a' } });
		PUT(d, 1, .stamp = 2, .durable = 1, .lane = 1, .img = { { 6, 'b' } });
		ml_ckpt(d, 1 + slot, 0);
		ml_ckpt(d, 2 + slot, 2);
		ml_tenure(d, 1, 900);
		PUT(d, 1, .stamp = 3, .durable = 2, .lane = 1, .img = { { 7, 'c' } });
		((u8 *)ml_block(d, ml_seg_block(d, 1, 0)))[0x200] ^= 1;
		assert_int_equal(ml_recover(d, true, &s), 0);
		assert_int_equal(s.replayed, 0);
		d->bad_block = ZJ_BLOCK_CKPT + slot;
		refused(d, ml_seg_block(d, 1, 0), slot ? "journal block 3) cannot be read" :
			"journal block 2) cannot be read");
		ml_free(d);
	}
}

/* The same without barriers: the record is whole, but names no committed stamp. */
static void slot_and_what_it_freed_without_barriers(void **state)
{
	for (u32 slot = 0; slot < ZJ_CKPT_SLOTS; slot++) {
		struct memdev *d = ml_new(SEGS, 16, HOMES);
		struct zj_recovery_stats s;

		PUT(d, 0, .stamp = 1, .img = { { 6, 'a' } });
		PUT(d, 1, .stamp = 2, .lane = 1, .img = { { 6, 'b' } });
		ml_ckpt(d, 1 + slot, 0);
		ml_ckpt(d, 2 + slot, 2);
		ml_tenure(d, 1, 900);
		PUT(d, 1, .stamp = 3, .lane = 1, .img = { { 7, 'c' } });
		assert_int_equal(ml_recover(d, true, &s), 0);
		assert_int_equal(s.replayed, 1);
		d->bad_block = ZJ_BLOCK_CKPT + slot;
		refused(d, ZJ_BLOCK_CKPT + slot, "stamp 2");
		ml_free(d);
	}
}

/*
 * The crash has torn the newest record. It cannot have been home and overwritten: whatever had
 * overwritten it would be newer. An older one that is torn as well may have been.
 */
static void slot_and_a_torn_end_without_barriers(void **state)
{
	struct memdev *d = ml_new(SEGS, 16, HOMES);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 6, 'a' } });
	PUT(d, 1, .stamp = 2, .lane = 1, .img = { { 7, 'b' } });
	PUT(d, 0, .stamp = 3, .img = { { 8, 'c' } });
	ml_ckpt(d, 1, 0);
	ml_pattern(d, ml_block(d, ml_seg_block(d, 0, 3)), 8, 'x');
	d->bad_block = ZJ_BLOCK_CKPT;
	assert_int_equal(ml_recover(d, true, &s), 0);
	assert_int_equal(s.newest_stamp, 2);
	assert_int_equal(s.torn_chunks, 1);
	ml_pattern(d, ml_block(d, ml_seg_block(d, 1, 1)), 7, 'x');
	refused(d, ZJ_BLOCK_CKPT, "stamp 2");
	ml_free(d);
}

/* A device that is gone, and memory that is short, are no torn blocks. */
static u32 reads_left;
static int error_then;

static int failing_read(void *ctx, u32 block, u32 nr, void *buf)
{
	return reads_left-- ? mem_ops.read_log(ctx, block, nr, buf) : (reads_left = 0, error_then);
}

static void errors_of_the_host_end_it(void **state)
{
	static const int errors[] = { -EINTR, -ENOMEM, -EIO };
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.read_log = failing_read;
	for (u32 i = 0; i < 3 * 12; i++) {
		struct memdev *d = log_in_use(false);
		int err;

		error_then = errors[i % 3];
		reads_left = i / 3;
		err = ml_recover_with(d, &ops, 0, &s);
		if (error_then == -EIO && i / 3)
			assert_int_equal(err, -EUCLEAN);
		else
			assert_int_equal(err, error_then);
		assert_int_equal(d->writes, 0);
		ml_free(d);
	}
}

/* ---- stock's format ---- */

static int recover_ring(struct ring *r, unsigned int flags, struct zj_recovery_stats *s)
{
	u32 sequence;

	return ring_recover(r->d, ml_ops(r->d), flags, s, &sequence);
}

/* Of random logs: what is taken is whole, what is refused is named, and can be gone past. */
static void each_block_of_a_ring(void **state)
{
	u32 taken = 0, refused = 0, sequence;
	struct zj_recovery_stats s, all;
	struct memdev *whole;
	char place[40];
	struct ring r;

	for (u32 seed = 1; seed < 40; seed++) {
		ring_new(&r, seed, ring_kinds[seed % RING_KINDS]);
		r.d->ahead = seed % 2;
		ring_fill(&r);
		whole = ml_clone(r.d);
		assert_int_equal(recover_ring(&r, 0, &all), 0);
		for (u32 block = 1; block < r.d->geo.total_blocks; block++) {
			struct memdev *c = ml_clone(whole), *good = r.d;

			r.d = c;
			c->bad_block = block;
			if (!recover_ring(&r, 0, &s)) {
				taken++;
				assert_int_equal(s.transactions, all.transactions);
				assert_int_equal(s.replayed, all.replayed);
				assert_memory_equal(c->home, good->home, RING_HOMES * 1024);
			} else {
				refused++;
				snprintf(place, sizeof(place), "journal block %u", block);
				assert_non_null(strstr(c->error, place));
				assert_int_equal(c->writes, 0);
				assert_int_equal(ring_recover(c, ml_ops(c),
							      ZJ_RECOVER_DROP_DAMAGED, &s,
							      &sequence), 0);
				assert_int_equal(s.lost_stamp, s.transactions + 1);
				assert_true(s.transactions <= all.transactions);
				/* What was dropped must not follow on the next transaction. */
				assert_true((s32)(sequence - r.sequence) >= 0);
			}
			r.d = good;
			ml_free(c);
		}
		ml_free(whole);
		ml_free(r.d);
	}
	print_message("%u blocks not missed, %u refused\n", taken, refused);
	assert_true(taken > 200 && refused > 200);
}

const struct CMUnitTest recovery_unread_tests[] = {
	cmocka_unit_test(each_block_of_a_log),
	cmocka_unit_test(slot_and_what_it_freed),
	cmocka_unit_test(slot_and_what_it_freed_without_barriers),
	cmocka_unit_test(slot_and_a_torn_end_without_barriers),
	cmocka_unit_test(first_of_two_images_is_named),
	cmocka_unit_test(first_of_a_chunks_images_is_named),
	cmocka_unit_test(checkpoint_slots),
	cmocka_unit_test(errors_of_the_host_end_it),
	cmocka_unit_test(each_block_of_a_ring),
};

const size_t nr_recovery_unread_tests = ARRAY_SIZE(recovery_unread_tests);
