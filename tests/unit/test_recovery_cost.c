// SPDX-License-Identifier: GPL-2.0-only
/* What recovery costs: blocks read, steps, memory; others run meanwhile, and a kill ends it. */
#include <limits.h>
#include <linux/slab.h>
#include <linux/minmax.h>
#include <asm/byteorder.h>
#include "memlog.h"
#include "recovery/recovery_int.h"
#include "tests.h"

/* ---- what is read ---- */

/* One block shows whether a segment is free or its tenure is stale. */
static void free_segments_cost_a_block(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	__le64 generation = cpu_to_le64(d->geo.generation);

	assert_int_equal(ml_recover(d, true, NULL), 0);
	assert_int_equal(d->blocks_read, 1 + 2 + 16);
	/* Another generation's header; this one's without the magic number. */
	d->geo.generation--;
	PUT(d, 3, .stamp = 1, .img = { { 5, 'o' } });
	d->geo.generation++;
	memcpy(ml_block(d, ml_seg_block(d, 4, 0)) + offsetof(struct zj_chunk_header, generation),
	       &generation, sizeof(generation));
	d->blocks_read = 0;
	assert_int_equal(ml_recover(d, true, NULL), 0);
	assert_int_equal(d->blocks_read, 1 + 2 + 16);
	PUT(d, 5, .stamp = 1, .img = { { 5, 'a' } });
	d->blocks_read = 0;
	assert_int_equal(ml_recover(d, true, NULL), 0);
	assert_int_equal(d->blocks_read, 1 + 2 + 16 + 7);
	ml_free(d);
}

/* ---- logs made to keep recovery busy ---- */

static void more_dependencies_than_lanes(void **state)
{
	struct memdev *d = ml_new(16, 8, 32), *c;

	/* Eight lanes: what one chunk may have, and one more in another member's. */
	for (u64 stamp = 1; stamp <= 8; stamp++)
		PUT(d, 0, .stamp = stamp);
	c = ml_clone(d);
	PUT(d, 1, .stamp = 9, .lane = 1, .members = 2,
	    .deps = { 1, 2, 3, 4, 5, 6, 7, 8 });
	PUT(d, 2, .stamp = 9, .lane = 2, .members = 2);
	ml_recover_ok(d, NULL);
	PUT(c, 1, .stamp = 9, .lane = 1, .members = 2,
	    .deps = { 1, 2, 3, 4, 5, 6, 7, 8 });
	PUT(c, 2, .stamp = 9, .lane = 2, .members = 2, .deps = { 3 });
	ml_recover_refused(c, "stamp 9: 9 dependencies, in a log of 8 lanes");
	ml_free(c);
	ml_free(d);
}

/* Numbers that collide in one place if the hash is known. */
static void table_of_chosen_numbers(void **state)
{
	enum { NR = 4096 };

	for (u32 shift = 0; shift <= 52; shift += 4) {
		struct zj_table t = { 0 }, other = { 0 };

		assert_int_equal(zj_table_init(&t, NR), 0);
		for (u32 i = 0; i < NR; i++)
			zj_table_add(&t, (u64)i << shift, i);
		for (u32 i = 0; i < NR; i++)
			assert_int_equal(zj_table_find(&t, (u64)i << shift), i);
		assert_int_equal(zj_table_find(&t, ~0ULL), -1);
		assert_in_range(t.steps, 2 * NR + 1, 8 * NR);
		/* Another one is scattered in another way. */
		assert_int_equal(zj_table_init(&other, 1), 0);
		assert_true(other.salt >> 32 && (u32)other.salt && other.salt != t.salt);
		zj_table_free(&other);
		zj_table_free(&t);
	}
}

enum { BUSY = 2000, BUSY_REVOKES = 60 };

/* As a scan of BUSY chunks leaves it, each with an image and all that it may name. */
static void busy_log(struct zj_recovery *r, struct memdev *d, struct zj_recovery_stats *st)
{
	const struct zj_recovery_args args = { .ops = &mem_ops, .ctx = d, .stats = st };
	u64 *entry;

	zj_recovery_begin(r, &args);
	r->geo = d->geo;
	r->geo.nr_lanes = ZJ_MAX_LANES;
	for (u32 i = 0; i < BUSY; i++) {
		u32 deps = min_t(u32, i, ZJ_MAX_LANES);

		*(struct zj_rec_chunk *)zj_vec_add(&r->chunks) = (struct zj_rec_chunk) {
			.stamp = 1 + i * 1000ULL, .nr_members = 1, .nr_chunks = 1,
			.first_dep = r->entries.nr, .nr_deps = deps,
			.first_revoke = r->entries.nr + deps, .nr_revokes = BUSY_REVOKES,
			.first_image = i, .nr_images = 1,
		};
		*(struct zj_rec_image *)zj_vec_add(&r->images) = (struct zj_rec_image) {
			.block = i * 64ULL, .stamp = 1 + i * 1000ULL,
		};
		for (u32 k = 0; k < deps + BUSY_REVOKES; k++) {
			entry = zj_vec_add(&r->entries);
			*entry = k < deps ? 1 + (i - 1 - k) * 1000ULL :
				 (i + k * 7919ULL) % BUSY * 64;
		}
	}
}

/* A few steps an entry, however many components and images there are. */
static void busy_log_in_few_steps(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats st;
	struct zj_recovery r;

	busy_log(&r, d, &st);
	assert_int_equal(zj_graph(&r), 0);
	assert_int_equal(st.committed_components, BUSY);
	assert_int_equal(zj_choose(&r), 0);
	assert_in_range(r.by_stamp.steps + r.by_block.steps, r.entries.nr, 4 * r.entries.nr);
	zj_recovery_end(&r);
	ml_free(d);
}

static void array_above_two_gib(void **state)
{
	struct zj_vec v = { .size = 32 << 20 };

	/* Of the 64 elements that it makes room for, none is touched. */
	assert_non_null(zj_vec_add(&v));
	assert_true((u64)v.room * v.size > INT_MAX);
	kvfree(v.items);
}

/* As many elements as its count can tell: no more, instead of a small array. */
static void array_that_is_full(void **state)
{
	struct zj_vec v = { .size = sizeof(u64), .nr = 1U << 31, .room = 1U << 31 };

	assert_null(zj_vec_add(&v));
	assert_int_equal(v.nr, 1U << 31);
	assert_null(v.items);
}

/* ---- others run, and a kill ends it ---- */

static u32 compared;

static int compare_numbers(const void *a, const void *b)
{
	compared++;
	return zj_cmp(*(const u64 *)a, *(const u64 *)b);
}

static struct zj_vec numbers(u32 nr)
{
	struct zj_vec v = { .size = sizeof(u64) };

	for (u64 i = 0; i < nr; i++)
		*(u64 *)zj_vec_add(&v) = i * 2654435761U % nr;
	return v;
}

static void sorting_lets_others_run(void **state)
{
	struct zj_vec v = numbers(100000);
	const u64 *item = v.items;

	compared = 0;
	kl_asked = 0;
	assert_int_equal(zj_sort(&v, compare_numbers), 0);
	for (u32 i = 1; i < v.nr; i++)
		assert_true(item[i - 1] <= item[i]);
	/* Ten thousand comparisons or so take no millisecond. */
	assert_true(kl_asked >= compared / 10000);
	kvfree(v.items);
	/* Nothing to sort. */
	v = (struct zj_vec){ .size = sizeof(u64) };
	assert_int_equal(zj_sort(&v, compare_numbers), 0);
}

static void a_kill_ends_the_sorting(void **state)
{
	struct zj_vec v = numbers(100000);

	compared = 0;
	kl_asked = 0;
	kl_killed_in = 3;
	assert_int_equal(zj_sort(&v, compare_numbers), -EINTR);
	kl_killed_in = 0;
	assert_in_range(compared, 1, 30000);
	kvfree(v.items);
}

/* And may be killed there. */
static void every_pass_lets_others_run(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	for (u64 stamp = 1; stamp <= 30; stamp++)
		PUT(d, stamp / 4, .stamp = stamp, .lane = stamp / 4, .revokes = { stamp % 7 },
		    .img = { { 8 + stamp % 20, stamp } });
	kl_asked = 0;
	assert_int_equal(ml_recover(d, false, &s), 0);
	/* At segments, components, chunks twice, images, the journal's blocks, blocks, writes. */
	assert_true(kl_asked >= 16 + 4 * 30 + d->geo.total_blocks + 2 * s.replayed);
	ml_free(d);
}

const struct CMUnitTest recovery_cost_tests[] = {
	cmocka_unit_test(free_segments_cost_a_block),
	cmocka_unit_test(more_dependencies_than_lanes),
	cmocka_unit_test(table_of_chosen_numbers),
	cmocka_unit_test(busy_log_in_few_steps),
	cmocka_unit_test(array_above_two_gib),
	cmocka_unit_test(array_that_is_full),
	cmocka_unit_test(sorting_lets_others_run),
	cmocka_unit_test(a_kill_ends_the_sorting),
	cmocka_unit_test(every_pass_lets_others_run),
};

const size_t nr_recovery_cost_tests = ARRAY_SIZE(recovery_cost_tests);
