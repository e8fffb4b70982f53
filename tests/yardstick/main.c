// SPDX-License-Identifier: GPL-2.0-only
/* zjyard-stock, zjyard-zj: options. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include "yard.h"

struct yard_options yard = {
	.seed = 1, .cpus = 4, .journal = 1024, .handles = 40, .seeds = 1,
	.states = 1, .percent = 10, .fua = true, .ns = 200000000,
	.work = 10000,
};

enum { OPT_SEED = 1, OPT_SEEDS, OPT_CPUS, OPT_JOURNAL, OPT_HANDLES, OPT_STATES,
       OPT_FUA, OPT_LIE, OPT_BENCH, OPT_PERCENT, OPT_MS, OPT_WORK, OPT_LINE, OPT_SEAL,
       OPT_JBD2, OPT_PIPELINE, OPT_RUN, OPT_DRIVE, OPT_SERVE, OPT_RECOVER_WITH, OPT_VERBOSE };

static const struct option options[] = {
	{ "seed", 1, NULL, OPT_SEED },
	{ "seeds", 1, NULL, OPT_SEEDS },
	{ "cpus", 1, NULL, OPT_CPUS },
	{ "journal", 1, NULL, OPT_JOURNAL },
	{ "handles", 1, NULL, OPT_HANDLES },
	{ "states", 1, NULL, OPT_STATES },
	{ "fua", 1, NULL, OPT_FUA },
	{ "lie", 1, NULL, OPT_LIE },
	{ "bench", 1, NULL, OPT_BENCH },
	{ "percent", 1, NULL, OPT_PERCENT },
	{ "ms", 1, NULL, OPT_MS },
	{ "work", 1, NULL, OPT_WORK },
	{ "line", 1, NULL, OPT_LINE },
	{ "seal", 0, NULL, OPT_SEAL },
	{ "jbd2", 0, NULL, OPT_JBD2 },
	{ "pipeline", 0, NULL, OPT_PIPELINE },
	{ "run", 1, NULL, OPT_RUN },
	{ "drive", 1, NULL, OPT_DRIVE },
	{ "serve", 0, NULL, OPT_SERVE },
	{ "recover-with", 1, NULL, OPT_RECOVER_WITH },
	{ "verbose", 0, NULL, OPT_VERBOSE },
	{ },
};

static void usage(void)
{
	fputs("usage: " JOURNAL_NAME " [--seed S] [--cpus N] [--journal BLOCKS] [--fua 0|1]\n"
	      "crash test: [--seeds N] [--handles H] [--states N] [--lie BITS]\n"
	      "            [--seal] [--jbd2] [--pipeline] [--run N] [--recover-with PROGRAM]\n"
	      "benchmark:  --bench WORKLOAD [--ms T] [--work NS] [--line NS]\n"
	      "            [--percent P] [--drive ssd|slow|hdd]\n"
	      "--seal: blocks end with their own crc32c, as ext4's extent blocks do.\n"
	      "--jbd2: zjournal with one lane and a log in stock's format.\n"
	      "--pipeline: zjournal's lanes have flush threads, --run N: at most N transactions\n"
	      "share their flushes.\n"
	      "--recover-with: this yardstick program also recovers every disk, with the same result.\n"
	      "--lie: 1: the disk ignores flushes; 2: FUA; 3: both.\n"
	      "--bench: private, private-fsync, shared, shared-fsync, mail, big or small-log, for\n"
	      "at least --ms of virtual time, in\n"
	      "which a handle costs --work ns of CPU time and a cache line that another CPU\n"
	      "wrote last --line ns; --percent of the handles of shared touch the hot block.\n"
	      "All its figures are SIMULATED.\n",
	      stderr);
	exit(2);
}

static void parse(int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		u32 n = optarg ? strtoul(optarg, NULL, 0) : 1;

		switch (opt) {
		case OPT_SEED:
			yard.seed = strtoull(optarg, NULL, 0);
			break;
		case OPT_SEEDS:
			yard.seeds = n;
			break;
		case OPT_CPUS:
			yard.cpus = n;
			break;
		case OPT_JOURNAL:
			yard.journal = n;
			break;
		case OPT_HANDLES:
			yard.handles = n;
			break;
		case OPT_STATES:
			yard.states = n;
			break;
		case OPT_FUA:
			yard.fua = n;
			break;
		case OPT_LIE:
			yard.lie = n;
			break;
		case OPT_BENCH:
			yard.workload = optarg;
			break;
		case OPT_PERCENT:
			yard.percent = n;
			break;
		case OPT_MS:
			yard.ns = n * 1000000LL;
			break;
		case OPT_WORK:
			yard.work = n;
			break;
		case OPT_LINE:
			yard.line = n;
			break;
		case OPT_SEAL:
			yard.seal = true;
			break;
		case OPT_JBD2:
			yard.jbd2 = true;
			break;
		case OPT_PIPELINE:
			yard.pipeline = true;
			break;
		case OPT_RUN:
			yard.run = n;
			break;
		case OPT_DRIVE:
			yard.drive = optarg;
			break;
		case OPT_SERVE:
			yard.serve = true;
			break;
		case OPT_RECOVER_WITH:
			yard.peer = optarg;
			break;
		case OPT_VERBOSE:
			sim_verbose = 8;
			break;
		default:
			usage();
		}
	}
	if (optind < argc || !yard.cpus || yard.cpus > MAX_CPUS)
		usage();
}

int main(int argc, char **argv)
{
	int err;

	parse(argc, argv);
	err = journal_module_init();
	if (err)
		kl_fail("the journal does not initialise: error %d", err);
	if (yard.serve)
		peer_serve();
	else if (yard.workload)
		bench_run();
	else
		crash_run();
	journal_module_exit();
	return 0;
}
