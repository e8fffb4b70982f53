// SPDX-License-Identifier: GPL-2.0-only
/* zjscale-stock, zjscale-zj: options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "load.h"

struct core_options core = { .threads = 1, .journal = 262144, .blocks = 1 };

/**
 * struct number - an option with a number
 */
struct number {
	const char *name;
	u32	*value;
	u32	least, most;
};

static u32 warm_up = 1000, count = 10000, copy, nvm, seed = 1;

static const struct number numbers[] = {
	{ "cpus", &core.threads, 1, SIM_CPUS },
	{ "lanes", &core.lanes, 1, 256 },
	{ "journal", &core.journal, 1024, 1 << 20 },
	{ "warm-up", &warm_up, 1, 1 << 30 },
	{ "count", &count, 1, 1 << 30 },
	{ "frozen-copy", &copy, 0, 2 },
	{ "nvm", &nvm, 0, 2047 },
	{ "seed", &seed, 0, ~0u },
};

static const char *const devices[] = { "nvme", "plp", "memory", NULL };
static const char *const modes[] = { "ordered", "journal", NULL };

static __attribute__((__noreturn__)) void usage(void)
{
	fputs("usage: " JOURNAL_NAME " --costs | --load FILE [--device nvme|plp|memory] [--data ordered|journal] [--OPTION N]... [--COST NS]...\noptions:",
	      stderr);
	for (u32 i = 0; i < ARRAY_SIZE(numbers); i++)
		fprintf(stderr, " --%s", numbers[i].name);
	fputs("\nbench/sim/README.md says what each is, --costs prints the costs.\n", stderr);
	exit(2);
}

static bool set_number(const char *name, double value)
{
	for (u32 i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(numbers[i].name, name))
			continue;
		if (value < numbers[i].least || value > numbers[i].most)
			usage();
		*numbers[i].value = value;
		return true;
	}
	return false;
}

static u32 word_of(const char *const *words, const char *word)
{
	for (u32 i = 0; words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	usage();
}

static void set(const char *name, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (!strcmp(name, "load"))
		load_read(text);
	else if (!strcmp(name, "device"))
		sim_load.device = word_of(devices, text);
	else if (!strcmp(name, "data"))
		sim_load.data_journal = word_of(modes, text);
	else if (*end || (!set_number(name, value) && !sim_set_cost(name, value)))
		usage();
}

int main(int argc, char **argv)
{
	bool costs = argc > 1 && !strcmp(argv[argc - 1], "--costs");

	for (int i = 1; i < argc - costs; i += 2) {
		if (strncmp(argv[i], "--", 2) || i + 1 >= argc - costs)
			usage();
		set(argv[i] + 2, argv[i + 1]);
	}
	if (costs) {
		sim_print_costs();
		return 0;
	}
	if (!sim_load.nr_steps)
		usage();
	core.lanes = core.lanes ?: core.threads;
	core.copy = copy;
	sim_seed = seed;
	sim_load.cpus = core.threads;
	sim_load.warm_up = warm_up;
	sim_load.count = count;
	if (nvm) {
		void *memory = calloc(nvm, 1 << 20);

		journal_memory(memory, (u64)nvm << 20);
	}
	sim_machine_start(core.threads);
	if (journal_module_init())
		kl_fail("the journal does not initialise");
	load_run();
}
