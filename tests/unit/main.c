// SPDX-License-Identifier: GPL-2.0-only
/* Runs every unit test, or those whose name matches the pattern given. */
#include <stdio.h>
#include <unistd.h>
#include "memlog.h"
#include "tests.h"

#define MAX_TESTS	256

int main(int argc, char **argv)
{
	struct CMUnitTest all[MAX_TESTS];
	size_t nr = 0;

#define ADD(name) do {							\
	assert_true(nr + nr_##name##_tests <= MAX_TESTS);		\
	memcpy(all + nr, name##_tests, nr_##name##_tests * sizeof(*all)); \
	nr += nr_##name##_tests;					\
} while (0)
	ADD(codec);
	ADD(recovery);
	ADD(schedule);
	ADD(damage);
	ADD(random);
	ADD(jbd2);
	ADD(zjrecover);
	ADD(pmem);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	if (!_cmocka_run_group_tests("unit", all, nr, NULL, NULL))
		return 0;
	/* Not by exit(): a failed test leaks, which is no news. */
	fflush(NULL);
	_exit(1);
}
