// SPDX-License-Identifier: GPL-2.0-only
/* zjcore-stock, zjcore-zj: options. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include "core.h"

struct core_options core = {
	.threads = 1, .lanes = 1, .ms = 300, .blocks = 4, .journal = 32768, .length = 1,
};

/**
 * struct number - an option with a number
 */
struct number {
	const char *name;
	u32	*value;
	u32	least, most;
};

static const struct number numbers[] = {
	{ "threads", &core.threads, 1, MAX_THREADS },
	{ "lanes", &core.lanes, 1, 256 },
	{ "ms", &core.ms, 1, 1000000 },
	{ "blocks", &core.blocks, 1, 64 },
	{ "journal", &core.journal, 1024, 1 << 20 },
	{ "length", &core.length, 1, 256 },
};

/**
 * struct flag - an option without a value
 */
struct flag {
	const char *name;
	bool	*value;
};

static const struct flag flags[] = {
	{ "jbd2", &core.jbd2 },
	{ "shared", &core.shared },
	{ "first", &core.first },
	{ "near", &core.near },
	{ "phases", &core.phases },
};

/**
 * struct test - what can be measured
 */
struct test {
	const char *name;
	void	(*run)(void);	/* NULL: nothing of this journal's */
};

static const struct test tests[] = {
	{ "handles", handles_run },
	{ "commits", commits_run },
	{ "memory", memory_run },
	{ "recovery", recovery_run },
	{ "chain", chain_run },
};

static __attribute__((__noreturn__)) void usage(void)
{
	fputs("usage: " JOURNAL_NAME " TEST [--OPTION N]... [--FLAG]...\ntests:", stderr);
	for (u32 i = 0; i < ARRAY_SIZE(tests); i++)
		if (tests[i].run)
			fprintf(stderr, " %s", tests[i].name);
	fputs("\noptions:", stderr);
	for (u32 i = 0; i < ARRAY_SIZE(numbers); i++)
		fprintf(stderr, " --%s", numbers[i].name);
	fputs("\nflags:", stderr);
	for (u32 i = 0; i < ARRAY_SIZE(flags); i++)
		fprintf(stderr, " --%s", flags[i].name);
	fputs("\nbench/core/README.md says what each is.\n", stderr);
	exit(2);
}

static bool set_flag(const char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(flags); i++) {
		if (strcmp(flags[i].name, name))
			continue;
		*flags[i].value = true;
		return true;
	}
	return false;
}

static bool set_number(const char *name, const char *text)
{
	char *end;

	for (u32 i = 0; text && i < ARRAY_SIZE(numbers); i++) {
		unsigned long n;

		if (strcmp(numbers[i].name, name))
			continue;
		n = strtoul(text, &end, 10);
		if (*end || n < numbers[i].least || n > numbers[i].most)
			return false;
		*numbers[i].value = n;
		return true;
	}
	return false;
}

static void parse(char **argv)
{
	for (; *argv; argv++) {
		if (strncmp(*argv, "--", 2))
			usage();
		if (set_flag(*argv + 2))
			continue;
		if (!set_number(*argv + 2, argv[1]))
			usage();
		argv++;
	}
}

static const struct test *find(const char *name)
{
	for (u32 i = 0; name && i < ARRAY_SIZE(tests); i++)
		if (!strcmp(tests[i].name, name) && tests[i].run)
			return &tests[i];
	usage();
}

int main(int argc, char **argv)
{
	const struct test *test = find(argv[1]);

	parse(argv + 2);
	native_start(max(core.lanes, core.threads));
	if (journal_module_init())
		kl_fail("the journal does not initialise");
	test->run();
	journal_module_exit();
	native_end();
	return 0;
}
