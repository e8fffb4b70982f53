// SPDX-License-Identifier: GPL-2.0-only
/*
 * The named schedules against which the protocol was checked, as far as the log
 * alone shows them.  Each test writes the log that the protocol leaves at the
 * crash and asserts what may be seen.  A lane is core c, Tc.k its transaction k.
 */
#include "memlog.h"
#include "tests.h"

enum { B0 = 10, B1, B2 };

/* Two members share B0; only T0.0's record reached the disk. */
static void no_member_count(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .lane = 0, .members = 2, .img = { { B0, 'x' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.committed_components, 0);
	assert_int_equal(s.discarded, 1);
	ml_expect(d, B0, 0);
	ml_free(d);
}

/* Both records there: h1's two halves come back together. */
static void whole_component(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .lane = 0, .members = 2, .img = { { B0, 'x' } });
	PUT(d, 1, .stamp = 1, .lane = 1, .members = 2, .img = { { B1, 'x' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.transactions, 2);
	ml_expect(d, B0, 'x');
	ml_expect(d, B1, 'x');
	ml_free(d);
}

/*
 * T0.0 is invalid because T1.0 never became durable.  A second recovery must not
 * take lane 1, empty by now, for reclaimed.  ml_recover_ok() cuts the power at
 * every write of the first.
 */
static void reset_one_by_one(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 2, .lane = 0, .deps = { 1 }, .img = { { B0, 'x' } });
	PUT(d, 1, .stamp = 3, .lane = 2, .img = { { B1, 'y' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.discarded, 1);
	ml_expect(d, B0, 0);
	ml_expect(d, B1, 'y');
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 0);
	ml_expect(d, B0, 0);
	ml_free(d);
}

/* A new T0.k is followed by the old epoch's left-over T0.(k+1). */
static void tid_reuse(void **state)
{
	struct memdev *d = ml_new(16, 8, 32), *old = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	/* Old epoch: the first chunk (a hole) was lost, the second is there. */
	PUT(old, 0, .stamp = 1, .tid = 7, .img = { { B0, 'o' } });
	PUT(old, 0, .stamp = 2, .tid = 8, .deps = { 1 }, .img = { { B1, 'o' } });
	ml_copy(d, old);
	memset(ml_block(d, ml_seg_block(d, 0, 0)), 0, 1024);
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 0);

	/* New epoch, same segment, same tenure, same tid, same size. */
	d->geo.generation++;
	d->seed = zj_seed(mem_uuid, d->geo.generation);
	ml_tenure(d, 0, d->seg_seq[0]);
	PUT(d, 0, .stamp = 1, .tid = 7, .img = { { B0, 'n' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 1);
	ml_expect(d, B0, 'n');
	ml_expect(d, B1, 0);
	ml_free(old);
	ml_free(d);
}

/*
 * Stamp 2 is committed and home, stamp 1 still on its way: the checkpoint stamp stays 0, so
 * stamp 1 is replayed once its record is there.  With a checkpoint stamp of 2 it would be
 * ignored.
 */
static void tail_over_uncommitted(void **state)
{
	struct memdev *d = ml_new(16, 8, 32), *wrong;
	struct zj_recovery_stats s;

	PUT(d, 1, .stamp = 2, .lane = 1, .img = { { B1, 'b' } });
	PUT(d, 0, .stamp = 1, .lane = 0, .img = { { B0, 'a' } });
	wrong = ml_clone(d);
	ml_recover_ok(d, &s);
	assert_int_equal(s.ckpt_stamp, 0);
	ml_expect(d, B0, 'a');
	ml_expect(d, B1, 'b');

	ml_ckpt(wrong, 1, 2);
	ml_recover_ok(wrong, &s);
	ml_expect(wrong, B0, 0);
	ml_free(wrong);
	ml_free(d);
}

/* B0: v1 in lane 0, v2 in lane 1, v2 home.  A checkpoint stamp of 2 covers both lanes. */
static void per_lane_tail(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 0, .stamp = 1, .lane = 0, .img = { { B0, '1' } });
	PUT(d, 1, .stamp = 2, .lane = 1, .deps = { 1 }, .img = { { B0, '2' } });
	ml_recover_ok(d, NULL);
	ml_expect(d, B0, '2');
	ml_free(d);

	d = ml_new(16, 8, 32);
	PUT(d, 0, .stamp = 1, .lane = 0, .img = { { B0, '1' } });
	/* Lane 1's segment was reused already. */
	ml_ckpt(d, 1, 2);
	ml_recover_ok(d, NULL);
	ml_expect(d, B0, 0);
	ml_free(d);
}

/* T1.0 sealed B0 first, then T0.0 took it: stamps decide, not lane or tid. */
static void tid_order(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 1, .stamp = 1, .lane = 1, .tid = 9, .img = { { B0, '1' } });
	PUT(d, 0, .stamp = 2, .lane = 0, .tid = 3, .deps = { 1 },
	    .img = { { B0, '2' } });
	ml_recover_ok(d, NULL);
	ml_expect(d, B0, '2');
	ml_free(d);
}

/* T0.0 sealed and not there; T1.0 took its block B0 and was durable first. */
static void no_r3(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 1, .stamp = 2, .lane = 1, .deps = { 1 }, .img = { { B0, 'x' } });
	ml_recover_ok(d, NULL);
	ml_expect(d, B0, 0);
	ml_free(d);
}

/* T1.0 is durable but its component is not committed; T1.1 builds on it. */
static void no_r4(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 1, .stamp = 1, .lane = 1, .members = 2, .img = { { B1, 'x' } });
	PUT(d, 1, .stamp = 2, .lane = 1, .deps = { 1 }, .img = { { B1, 'y' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.discarded, 2);
	ml_expect(d, B1, 0);
	ml_free(d);
}

/* As before, but what builds on the half component is in a third lane. */
static void owner_not_component(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 0, .stamp = 1, .lane = 0, .members = 2, .img = { { B0, 'x' } });
	PUT(d, 2, .stamp = 2, .lane = 2, .deps = { 1 }, .img = { { B0, 'y' } });
	ml_recover_ok(d, NULL);
	ml_expect(d, B0, 0);
	ml_free(d);
}

/* h1 read B0 (T0.0's, lost) and skipped a write because of it. */
static void read_skip(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 1, .stamp = 2, .lane = 1, .deps = { 1 }, .img = { { B1, 'x' } });
	ml_recover_ok(d, NULL);
	ml_expect(d, B1, 0);
	ml_free(d);
}

/* T1.0 has no buffers, but without it nothing ties T0.0 to T2.0. */
static void empty_bridge(void **state)
{
	struct memdev *d = ml_new(16, 8, 32), *c;

	PUT(d, 0, .stamp = 1, .lane = 0, .members = 3, .img = { { B0, 'x' } });
	PUT(d, 1, .stamp = 1, .lane = 1, .members = 3);
	c = ml_clone(d);
	ml_recover_ok(d, NULL);
	ml_expect(d, B0, 0);
	PUT(c, 2, .stamp = 1, .lane = 2, .members = 3, .img = { { B2, 'x' } });
	ml_recover_ok(c, NULL);
	ml_expect(c, B0, 'x');
	ml_expect(c, B2, 'x');
	ml_free(c);
	ml_free(d);
}

/* A member that wrote no record leaves its dependencies to the others (N4). */
static void empty_member_deps_dropped(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	/* Lane 1's predecessor, stamp 1, is lost. */
	PUT(d, 0, .stamp = 2, .lane = 0, .members = 1, .deps = { 1 },
	    .img = { { B0, 'x' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.discarded, 1);
	ml_expect(d, B0, 0);
	ml_free(d);
}

/* Only the newest stamp of lane 1 is listed; R7 carries the older one. */
static void max_tid_list(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	/* T1.0, stamp 1, is lost; T1.1 is there; T0.0 names T1.1 only. */
	PUT(d, 1, .stamp = 2, .lane = 1, .deps = { 1 }, .img = { { B1, 'x' } });
	PUT(d, 0, .stamp = 3, .lane = 0, .deps = { 2 }, .img = { { B0, 'x' } });
	ml_recover_ok(d, NULL);
	ml_expect(d, B0, 0);
	ml_expect(d, B1, 0);
	ml_free(d);
}

/* Two commits in flight in one lane; the second was durable first. */
static void hole_mismatch(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	/* In another segment, so that the scan does find it. */
	PUT(d, 3, .stamp = 2, .lane = 0, .deps = { 1 }, .img = { { B0, 'x' } });
	PUT(d, 3, .stamp = 3, .lane = 0, .deps = { 2 }, .img = { { B1, 'x' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.discarded, 2);
	ml_expect(d, B0, 0);
	ml_expect(d, B1, 0);
	ml_free(d);
}

/* B0 revoked by one member while the other still logged it: never replayed. */
static void foreign_revoke(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	ml_pattern(d, d->home + B0 * 1024, B0, 'D');
	memcpy(d->stable + B0 * 1024, d->home + B0 * 1024, 1024);
	PUT(d, 0, .stamp = 1, .lane = 0, .members = 2, .revokes = { B0 });
	PUT(d, 1, .stamp = 1, .lane = 1, .members = 2, .img = { { B0, 'x' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.revoked, 1);
	ml_expect(d, B0, 'D');	/* data since */
	ml_free(d);
}

/*
 * T0.0 revokes B1, T1.0 journals it again.  Revokes are owned, so either the two
 * are one component and the revoke is cancelled, or the image is the newer.
 */
static void unowned_revoke(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 0, .stamp = 1, .lane = 0, .img = { { B1, 'o' } });
	PUT(d, 0, .stamp = 2, .lane = 0, .deps = { 1 }, .revokes = { B1 });
	PUT(d, 1, .stamp = 3, .lane = 1, .deps = { 2 }, .img = { { B1, 'n' } });
	ml_recover_ok(d, NULL);
	ml_expect(d, B1, 'n');
	ml_free(d);
}

static void revoke_cancelled(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 0, .stamp = 1, .lane = 0, .img = { { B1, 'o' } });
	PUT(d, 0, .stamp = 2, .lane = 0, .members = 2, .deps = { 1 });
	PUT(d, 1, .stamp = 2, .lane = 1, .members = 2, .img = { { B1, 'n' } });
	ml_recover_ok(d, NULL);
	ml_expect(d, B1, 'n');
	ml_free(d);
}

/* The checkpoint stamp is durable, the segment of stamp 1 reused; its dependants are committed. */
static void reuse_after_ckpt(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 0, .stamp = 1, .lane = 0, .img = { { B0, '1' } });
	ml_ckpt(d, 1, 1);
	ml_tenure(d, 0, 900);
	PUT(d, 0, .stamp = 3, .lane = 2, .deps = { 2 }, .img = { { B2, 'x' } });
	PUT(d, 1, .stamp = 2, .lane = 0, .deps = { 1 }, .img = { { B1, 'x' } });
	ml_recover_ok(d, NULL);
	ml_expect(d, B0, 0);
	ml_expect(d, B1, 'x');
	ml_expect(d, B2, 'x');
	ml_free(d);
}

/* The same without the checkpoint stamp: what depended on the overwritten record is lost. */
static void reuse_early(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .lane = 0, .img = { { B0, '1' } });
	ml_tenure(d, 0, 900);
	PUT(d, 0, .stamp = 3, .lane = 2, .deps = { 2 }, .img = { { B2, 'x' } });
	PUT(d, 1, .stamp = 2, .lane = 0, .deps = { 1 }, .img = { { B1, 'x' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.discarded, 2);
	ml_expect(d, B1, 0);
	ml_free(d);
}

const struct CMUnitTest schedule_tests[] = {
	cmocka_unit_test(no_member_count),
	cmocka_unit_test(whole_component),
	cmocka_unit_test(reset_one_by_one),
	cmocka_unit_test(tid_reuse),
	cmocka_unit_test(tail_over_uncommitted),
	cmocka_unit_test(per_lane_tail),
	cmocka_unit_test(tid_order),
	cmocka_unit_test(no_r3),
	cmocka_unit_test(no_r4),
	cmocka_unit_test(owner_not_component),
	cmocka_unit_test(read_skip),
	cmocka_unit_test(empty_bridge),
	cmocka_unit_test(empty_member_deps_dropped),
	cmocka_unit_test(max_tid_list),
	cmocka_unit_test(hole_mismatch),
	cmocka_unit_test(foreign_revoke),
	cmocka_unit_test(unowned_revoke),
	cmocka_unit_test(revoke_cancelled),
	cmocka_unit_test(reuse_after_ckpt),
	cmocka_unit_test(reuse_early),
};
const size_t nr_schedule_tests = ARRAY_SIZE(schedule_tests);
