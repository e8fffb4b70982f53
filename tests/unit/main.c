// SPDX-License-Identifier: GPL-2.0-only
/* Runs every unit test, or those that match a pattern, in the patterns' order. */
#include <fnmatch.h>
#include <stdio.h>
#include <unistd.h>
#include "memlog.h"
#include "tests.h"

#define MAX_TESTS	256

/* Of all tests those that match go to @to; returns how many. */
static size_t choose(struct CMUnitTest *to, const struct CMUnitTest *all, size_t nr,
		     const char *pattern)
{
	size_t n = 0;

	for (size_t i = 0; i < nr; i++)
		if (!fnmatch(pattern, all[i].name, 0))
			to[n++] = all[i];
	return n;
}

int main(int argc, char **argv)
{
	struct CMUnitTest all[MAX_TESTS], chosen[MAX_TESTS];
	size_t nr = 0, n = 0;

#define ADD(name) do {							\
	assert_true(nr + nr_##name##_tests <= MAX_TESTS);		\
	memcpy(all + nr, name##_tests, nr_##name##_tests * sizeof(*all)); \
	nr += nr_##name##_tests;					\
} while (0)
	ADD(codec);
	ADD(codec_jbd2);
	ADD(recovery);
	ADD(recovery_errors);
	ADD(recovery_lines);
	ADD(journal_map);
	ADD(recovery_durable);
	ADD(recovery_unread);
	ADD(recovery_cost);
	ADD(readahead);
	ADD(schedule);
	ADD(damage);
	ADD(random);
	ADD(jbd2);
	ADD(fast_commit);
	ADD(zjrecover);
	ADD(pmem);
	ADD(nvm);
	ADD(nvmlog);
	ADD(nvmlog_damage);
#undef ADD
	if (argc < 2)
		n = choose(chosen, all, nr, "*");
	for (int i = 1; i < argc; i++) {
		assert_true(n + nr <= MAX_TESTS);
		n += choose(chosen + n, all, nr, argv[i]);
	}
	/* One that aborts still says its name. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!_cmocka_run_group_tests("unit", chosen, n, NULL, NULL))
		return 0;
	/* Not by exit(): a failed test leaks, which is no news. */
	fflush(NULL);
	_exit(1);
}
