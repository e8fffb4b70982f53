// SPDX-License-Identifier: GPL-2.0-only
/* Command line of the model. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model.h"

static const char usage[] =
"zjmodel [--config NAME] [--without RULE]  explore; print a violation's schedule\n"
"zjmodel --check   small bounds: no violation, and one for each rule left out\n"
"zjmodel --full    large bounds, full set of rules\n"
"zjmodel --list    rules and configurations\n"
"   --quiet            no schedules\n"
"   --max-states N     give up after that many\n";

static bool quiet;
static u64 max_states;

static const struct config *find_config(const char *name)
{
	for (int i = 0; i < nr_configs; i++)
		if (!strcmp(configs[i].name, name))
			return &configs[i];
	fprintf(stderr, "zjmodel: no configuration %s; try --list\n", name);
	exit(2);
}

static int find_rule(const char *name)
{
	for (int r = 0; r < NR_RULES; r++)
		if (!strcmp(rule_info[r].name, name) ||
		    (rule_info[r].alias && !strcmp(rule_info[r].alias, name)))
			return r;
	fprintf(stderr, "zjmodel: no rule %s; try --list\n", name);
	exit(2);
}

static void list(void)
{
	printf("rules:\n");
	for (int r = 0; r < NR_RULES; r++)
		printf("  %-22s %s (%s%s%s)\n", rule_info[r].name,
		       rule_info[r].what, rule_info[r].config,
		       rule_info[r].alias ? "; missing: " : "",
		       rule_info[r].alias ?: "");
	printf("configurations (lanes x transactions, blocks, handles, operations):\n");
	for (int i = 0; i < nr_configs; i++) {
		const struct config *c = &configs[i];

		printf("  %-12s %s%d x %d, %d, %d, %d-%d: %s\n", c->name,
		       c->full ? "(full) " : "", c->lanes, c->txns, c->blocks,
		       c->handles, c->min_ops, c->max_ops, c->what);
	}
}

/* Return: whether the full set of rules holds. */
static bool run_full_set(const struct config *config)
{
	struct result res;

	cfg = config;
	search(&res, max_states);
	printf("%-22s %s: %lu states, depth %u, %.1f s\n", config->name,
	       res.violation ?: "no violation", res.states, res.depth,
	       res.seconds);
	if (res.violation && !quiet)
		print_schedule();
	fflush(stdout);
	return !res.violation;
}

/* Return: whether the search finds a violation without the rule. */
static bool run_without(int rule, const struct config *config)
{
	struct result res;

	cfg = config;
	left_out[rule] = true;
	search(&res, max_states);
	left_out[rule] = false;
	printf("without %-22s %s in %d steps (%s, %lu states, %.1f s)\n",
	       rule_info[rule].name, res.violation ?: "NOT CAUGHT", res.steps,
	       config->name, res.states, res.seconds);
	if (res.violation && !quiet) {
		left_out[rule] = true;
		print_schedule();
		left_out[rule] = false;
	}
	fflush(stdout);
	return res.violation && strncmp(res.violation, "gave up", 7);
}

static int run_configs(bool full)
{
	int failed = 0;

	for (int i = 0; i < nr_configs; i++)
		if (configs[i].full == full)
			failed += !run_full_set(&configs[i]);
	return failed;
}

/* A kind of move that never happens means that the model is wrong. */
static int moves_missing(void)
{
	int missing = 0;

	for (int kind = 0; kind < NR_MOVES; kind++)
		if (!taken[kind]) {
			printf("move %d was never taken\n", kind);
			missing++;
		}
	return missing;
}

static int check(void)
{
	int failed = run_configs(false);

	for (int r = 0; r < NR_RULES; r++)
		failed += !run_without(r, find_config(rule_info[r].config));
	return failed + moves_missing();
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "without", required_argument, NULL, 'w' },
		{ "check", no_argument, NULL, 'k' },
		{ "full", no_argument, NULL, 'f' },
		{ "list", no_argument, NULL, 'l' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "max-states", required_argument, NULL, 'm' },
		{ }
	};
	const char *config = NULL, *without = NULL;
	bool do_check = false, do_full = false;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			config = optarg;
			break;
		case 'w':
			without = optarg;
			break;
		case 'k':
			do_check = true;
			break;
		case 'f':
			do_full = true;
			break;
		case 'q':
			quiet = true;
			break;
		case 'm':
			max_states = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			list();
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (do_check)
		return !!check();
	if (do_full)
		return !!run_configs(true);
	if (without) {
		c = find_rule(without);
		return !run_without(c, find_config(config ?: rule_info[c].config));
	}
	return !run_full_set(find_config(config ?: "core"));
}
