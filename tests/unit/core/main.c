// SPDX-License-Identifier: GPL-2.0-only
/* Runs every test of the journal core, or those whose name matches the pattern. */
#include "fixture.h"
#include "tests.h"

#define MAX_TESTS	512
#define ENTRY(name)	{ name##_tests, &nr_##name##_tests },

static const struct {
	const struct CMUnitTest *tests;
	const size_t	*nr;
} files[] = {
	FOR_EACH_FILE(ENTRY)
};

int main(int argc, char **argv)
{
	static struct CMUnitTest all[MAX_TESTS];
	size_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_true(nr + *files[i].nr <= MAX_TESTS);
		memcpy(all + nr, files[i].tests, *files[i].nr * sizeof(*all));
		nr += *files[i].nr;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return !!_cmocka_run_group_tests("core", all, nr, NULL, NULL);
}
