// SPDX-License-Identifier: GPL-2.0-only
/* Runs every test of the journal core, or those whose name, or whose file's, matches a pattern. */
#include <fnmatch.h>
#include "fixture.h"
#include "tests.h"

#define MAX_TESTS	2048
#define ENTRY(name)	{ #name, name##_tests, &nr_##name##_tests },

static const struct {
	const char	*name;
	const struct CMUnitTest *tests;
	const size_t	*nr;
} files[] = {
	FOR_EACH_FILE(ENTRY)
};

static struct CMUnitTest all[MAX_TESTS];
static size_t nr;

static void add(const char *pattern)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		for (size_t j = 0; j < *files[i].nr; j++) {
			if (fnmatch(pattern, files[i].name, 0) &&
			    fnmatch(pattern, files[i].tests[j].name, 0))
				continue;
			assert_true(nr < MAX_TESTS);
			all[nr++] = files[i].tests[j];
		}
	}
}

int main(int argc, char **argv)
{
	if (argc < 2)
		add("*");
	for (int i = 1; i < argc; i++)
		add(argv[i]);
	return !!_cmocka_run_group_tests("core", all, nr, NULL, NULL);
}
