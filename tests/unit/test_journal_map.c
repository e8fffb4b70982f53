// SPDX-License-Identifier: GPL-2.0-only
/* The map of a journal's blocks, kept as runs. */
#include <stdlib.h>
#include <linux/slab.h>
#include "format/journal_map.h"
#include "memlog.h"
#include "tests.h"

/* A journal may claim any length: what that costs does not depend on it. */
static void long_run_takes_one_entry(void **state)
{
	struct zj_map map = { 0 };
	u64 block;

	for (u32 i = 0; i < 100000; i++)
		assert_int_equal(zj_map_add(&map, 5000 + i, 1), 0);
	assert_int_equal(zj_map_add(&map, 105000, 0x50000000), 0);
	assert_int_equal(map.nr, 1);
	assert_true(map.room <= 16);
	assert_int_equal(zj_map_look(&map, 7, U32_MAX, &block), 100000 + 0x50000000 - 7);
	assert_int_equal(block, 5007);
	zj_map_clear(&map);
	assert_int_equal(map.blocks, 0);
}

/* Compared with an array, as the map was before. */
static void random_maps(void **state)
{
	u32 rand = 1, len, n, at, nr, k;
	u64 *all, next, block;

	for (u32 round = 0; round < 300; round++) {
		struct zj_map map = { 0 };

		len = 1 + ml_rand(&rand) % 400;
		all = calloc(len, sizeof(*all));
		next = ml_rand(&rand);
		for (u32 i = 0; i < len; i += n) {
			n = 1 + ml_rand(&rand) % 3;
			n = n < len - i ? n : len - i;
			if (ml_rand(&rand) % 4 == 0)
				next += 1 + ml_rand(&rand) % 5;
			assert_int_equal(zj_map_add(&map, next, n), 0);
			for (k = 0; k < n; k++)
				all[i + k] = next++;
		}
		assert_int_equal(map.blocks, len);
		for (u32 i = 0; i < 500; i++) {
			at = ml_rand(&rand) % len;
			nr = 1 + ml_rand(&rand) % (len - at);
			n = zj_map_look(&map, at, nr, &block);
			assert_int_equal(block, all[at]);
			assert_int_equal(zj_map_block(&map, at), all[at]);
			assert_in_range(n, 1, nr);
			for (k = 1; k < n; k++)
				assert_int_equal(all[at + k], block + k);
			/* It ends where the neighbours do. */
			assert_true(n == nr || all[at + n] != block + n);
		}
		free(all);
		zj_map_clear(&map);
	}
}

static void pieces_are_bounded(void **state)
{
	struct zj_map map = { 0 };
	u32 i = 0;

	while (!zj_map_add(&map, 2 * i, 1))
		i++;
	assert_int_equal(i, ZJ_MAP_RUNS);
	assert_int_equal(zj_map_add(&map, 2 * i, 1), -EFBIG);
	assert_int_equal(zj_map_block(&map, i - 1), 2 * (i - 1));
	zj_map_clear(&map);
	zj_fail_alloc = 1;
	assert_int_equal(zj_map_add(&map, 1, 1), -ENOMEM);
	zj_fail_alloc = 0;
	zj_map_clear(&map);
}

const struct CMUnitTest journal_map_tests[] = {
	cmocka_unit_test(long_run_takes_one_entry),
	cmocka_unit_test(random_maps),
	cmocka_unit_test(pieces_are_bounded),
};

const size_t nr_journal_map_tests = ARRAY_SIZE(journal_map_tests);
