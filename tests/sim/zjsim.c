// SPDX-License-Identifier: GPL-2.0-only
/* zjsim: the journal's own sources in a simulated machine, crashed everywhere. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/kthread.h>
#include "work.h"
#undef snprintf

enum { OPT_SEED = 1, OPT_SEEDS, OPT_SECONDS, OPT_SCHEDULE, OPT_CPUS, OPT_LANES,
       OPT_HANDLES, OPT_TASKS, OPT_BLOCKS, OPT_JOURNAL, OPT_GRAIN, OPT_CACHE,
       OPT_FUA, OPT_DATA_ERR, OPT_FAIL_WRITE, OPT_FAIL_FLUSH, OPT_FAIL_READ,
       OPT_FAIL_ALLOC, OPT_STATES, OPT_EPOCHS, OPT_OFF, OPT_FOCUS, OPT_SKIP, OPT_PROGRESS,
       OPT_SLOW, OPT_REMOUNT, OPT_JOURNALED, OPT_BATCH, OPT_COPY, OPT_PIPELINE,
       OPT_RUN, OPT_VERSIONS, OPT_COALESCE, OPT_JBD2, OPT_RECOVER_WITH, OPT_NVM, OPT_IMAGES, OPT_INFO_MAX,
       OPT_EXTERNAL, OPT_LOGGED, OPT_HOLD, OPT_ABORT, OPT_LOOK, OPT_SHRINK, OPT_TRACE,
       OPT_VERBOSE };

static const struct option options[] = {
	{ "seed", 1, NULL, OPT_SEED },
	{ "seeds", 1, NULL, OPT_SEEDS },
	{ "seconds", 1, NULL, OPT_SECONDS },
	{ "schedule", 1, NULL, OPT_SCHEDULE },
	{ "cpus", 1, NULL, OPT_CPUS },
	{ "lanes", 1, NULL, OPT_LANES },
	{ "handles", 1, NULL, OPT_HANDLES },
	{ "tasks", 1, NULL, OPT_TASKS },
	{ "blocks", 1, NULL, OPT_BLOCKS },
	{ "journal", 1, NULL, OPT_JOURNAL },
	{ "grain", 1, NULL, OPT_GRAIN },
	{ "slow", 1, NULL, OPT_SLOW },
	{ "journaled", 1, NULL, OPT_JOURNALED },
	{ "logged", 1, NULL, OPT_LOGGED },
	{ "remount", 1, NULL, OPT_REMOUNT },
	{ "hold", 1, NULL, OPT_HOLD },
	{ "batch", 1, NULL, OPT_BATCH },
	{ "copy", 1, NULL, OPT_COPY },
	{ "pipeline", 1, NULL, OPT_PIPELINE },
	{ "run", 1, NULL, OPT_RUN },
	{ "versions", 1, NULL, OPT_VERSIONS },
	{ "coalesce", 1, NULL, OPT_COALESCE },
	{ "cache", 1, NULL, OPT_CACHE },
	{ "fua", 1, NULL, OPT_FUA },
	{ "data-err", 1, NULL, OPT_DATA_ERR },
	{ "fail-write", 1, NULL, OPT_FAIL_WRITE },
	{ "fail-flush", 1, NULL, OPT_FAIL_FLUSH },
	{ "fail-read", 1, NULL, OPT_FAIL_READ },
	{ "fail-alloc", 1, NULL, OPT_FAIL_ALLOC },
	{ "states", 1, NULL, OPT_STATES },
	{ "epochs", 1, NULL, OPT_EPOCHS },
	{ "off", 1, NULL, OPT_OFF },
	{ "focus", 1, NULL, OPT_FOCUS },
	{ "skip", 1, NULL, OPT_SKIP },
	{ "jbd2", 0, NULL, OPT_JBD2 },
	{ "recover-with", 1, NULL, OPT_RECOVER_WITH },
	{ "images", 1, NULL, OPT_IMAGES },
	{ "nvm", 1, NULL, OPT_NVM },
	{ "txninfo", 1, NULL, OPT_INFO_MAX },
	{ "external", 1, NULL, OPT_EXTERNAL },
	{ "progress", 0, NULL, OPT_PROGRESS },
	{ "abort", 1, NULL, OPT_ABORT },
	{ "look", 1, NULL, OPT_LOOK },
	{ "shrink", 2, NULL, OPT_SHRINK },
	{ "trace", 0, NULL, OPT_TRACE },
	{ "verbose", 0, NULL, OPT_VERBOSE },
	{ },
};

/**
 * struct command - the command line
 */
struct command {
	struct params	params;
	u64		set;		/* bits of the options that were given */
	u64		seeds;		/* how many */
	u32		seconds;	/* or for how long; 0: no limit by time */
	u32		shrink;		/* with at most so many runs; 0: no search */
};

static u16 skip[SKIP_HANDLES][MAX_TASKS];

static void usage(void)
{
	fputs("usage: zjsim [--seed S] [--seeds N | --seconds T] [--shrink[=RUNS]] [--progress]\n"
	      "  [--schedule S] [--cpus N] [--lanes N] [--handles N] [--tasks N] [--blocks N]\n"
	      "  [--journal BLOCKS] [--grain G] [--slow N] [--cache 0|1] [--fua 0|1]\n"
	      "  [--data-err 0|1] [--fail-write N] [--fail-flush N] [--fail-read N]\n"
	      "  [--fail-alloc N] [--states N] [--epochs N] [--focus F] [--off MASK]\n"
	      "  [--skip LIST] [--remount 0|1] [--hold 0|1] [--journaled 0|1] [--logged 0|1]\n"
	      "  [--batch N] [--copy 0..2]\n"
	      "  [--jbd2 [--recover-with PROGRAM]] [--pipeline 0|1] [--run N]\n"
	      "  [--versions N] [--coalesce 0|1] [--images 0|1] [--nvm 1|2] [--txninfo BYTES]\n"
	      "  [--external 1..3] [--abort N] [--look 0|1] [--trace]\n"
	      "Run N seeds from S on, or for T seconds. The seed determines what the tasks do\n"
	      "and all options that are not given; --schedule determines the timing and the\n"
	      "disk.\n"
	      "--progress: one hot block, staggered timers, bounded I/O; the slowest commit\n"
	      "is reported.  --shrink: after a failure search for a small run that also fails,\n"
	      "with at most so many runs (5000), and print its trace.\n"
	      "--grain: points between two switches.  --slow: one in so many tasks is slow.\n"
	      "--states: crash states for each place in the disk's log.  --epochs: runs, each\n"
	      "on the disk that a crash of the previous one has left.  --fail-*: the N-th one\n"
	      "fails; --fail-read in a mount, and --fail-alloc again later.  --focus: the\n"
	      "frequent operations; --off, --skip: omitted ones (world.h).  --journaled: all data\n"
	      "is in the log.  --logged: an fsync may log ordered data.  --batch: blocks that a checkpoint writes home together; a\n"
	      "lane's thread may take a full batch.  --copy: frozen_copy auto, always, never.\n"
	      "--jbd2: one lane, and a log in stock's format.  --recover-with: a yardstick program,\n"
	      "zjyard-stock, also recovers every crash state and must produce the same blocks.\n"
	      "--remount 1: barriers are switched off and on.\n"
	      "--hold 1: hibernations hold all writes and release them.\n"
	      "--pipeline: lanes with flush threads; --run: transactions that share their\n"
	      "flushes, --versions: copies of a buffer, at most; --coalesce: a commit is\n"
	      "deferred while there are too many.  --images 1: the log on disk has whole blocks, and\n"
	      "no lines of them.  --nvm: the log in memory, of lines (1) or of\n"
	      "whole blocks (2).  --external: the journal has a device of its own, which has a\n"
	      "volatile cache and FUA (1), no such cache (2), or no FUA (3).  --abort: somebody\n"
	      "aborts the journal at a random moment within N jiffies.  --look 1: the debug\n"
	      "files are read, and single blocks are brought home.\n",
	      stderr);
	exit(2);
}

/* ---- the parameters of a seed ---- */

static u32 journal_for(u32 lanes)
{
	/* Three segments for each lane and the largest handle, all of 64 blocks. */
	return lanes <= 6 ? 0 : (4 * lanes + 8) * 64;
}

/* The seed determines the parameters that the command line does not. */
static struct params choose(const struct command *cmd, u64 seed)
{
	struct sim_rand r = { seed * 1000003 };
	static const u32 grains[] = { 1, 3, 10, 40, 200 };
	static const u32 journals[] = { 140, 230, 500, 1200 };
	struct params p = cmd->params;
	bool long_run;

#define CHOOSE(opt, field, value)					\
	do {								\
		u32 v = (value);					\
		if (!(cmd->set & (1ULL << (opt))))			\
			p.field = v;					\
	} while (0)
#define SOMETIMES(n, most) (sim_one_in(&r, n) ? 1 + sim_below(&r, most) : 0)

	p.seed = seed;
	if (!(cmd->set & (1ULL << OPT_SCHEDULE)))
		p.schedule = seed;
	CHOOSE(OPT_CPUS, cpus, 1 + sim_below(&r, sim_one_in(&r, 32) ? 16 : 6));
	CHOOSE(OPT_LANES, lanes, 0);
	/* Some runs are long enough to go round the log several times. */
	long_run = sim_one_in(&r, 8);
	CHOOSE(OPT_HANDLES, handles, long_run ? 150 + sim_below(&r, 150) :
	       8 + sim_below(&r, 50));
	CHOOSE(OPT_TASKS, tasks, 1 + sim_below(&r, min(2 * p.cpus, 32U)));
	CHOOSE(OPT_BLOCKS, blocks, 1 + sim_below(&r, 8));
	CHOOSE(OPT_JOURNAL, journal, max(journals[sim_below(&r, 4)],
					 sim_one_in(&r, 2) ? 0 :
					 journal_for(p.lanes ?: p.cpus)));
	CHOOSE(OPT_GRAIN, granularity, grains[sim_below(&r, 5)]);
	CHOOSE(OPT_CACHE, cache, !sim_one_in(&r, 6));
	CHOOSE(OPT_FUA, fua, sim_one_in(&r, 2));
	CHOOSE(OPT_FAIL_WRITE, fail_write, SOMETIMES(8, 200));
	CHOOSE(OPT_FAIL_FLUSH, fail_flush, SOMETIMES(16, 40));
	CHOOSE(OPT_FAIL_READ, fail_read, SOMETIMES(12, 40));
	CHOOSE(OPT_FAIL_ALLOC, fail_alloc, SOMETIMES(6, 60));
	CHOOSE(OPT_DATA_ERR, data_err, sim_one_in(&r, 2));
	CHOOSE(OPT_STATES, states, long_run ? 1 : 4);
	CHOOSE(OPT_EPOCHS, epochs, 1 + sim_below(&r, 3));
	/* Usually nothing is left out; otherwise the remaining steps occur more often. */
	CHOOSE(OPT_OFF, off, sim_one_in(&r, 4) ? sim_below(&r, 2 * OFF_LAST) : 0);
	CHOOSE(OPT_FOCUS, focus, sim_one_in(&r, 2) ? sim_below(&r, NR_FOCUS) : 0);
	CHOOSE(OPT_SLOW, slow, SOMETIMES(4, 6));
	CHOOSE(OPT_JOURNALED, journaled, sim_one_in(&r, 4));
	/* Most checkpoints find few blocks: small batches, so that lanes help. */
	CHOOSE(OPT_BATCH, batch, sim_one_in(&r, 3) ? ZJ_BATCH_SIZE :
	       1 + sim_below(&r, 3));
	CHOOSE(OPT_COPY, copy, SOMETIMES(3, 2));
	CHOOSE(OPT_PIPELINE, pipeline, sim_one_in(&r, 2));
	CHOOSE(OPT_RUN, run, 1 + sim_below(&r, sim_one_in(&r, 2) ? 3 : 16));
	CHOOSE(OPT_VERSIONS, versions, 1 + sim_below(&r, 5));
	CHOOSE(OPT_COALESCE, coalesce, !sim_one_in(&r, 4));
	CHOOSE(OPT_INFO_MAX, info_max, 256U << (sim_below(&r, 3) * 2));
	CHOOSE(OPT_LOGGED, logged, sim_one_in(&r, 2));
	CHOOSE(OPT_IMAGES, images, sim_one_in(&r, 4));
	if (p.journaled)
		p.off |= OFF_DATA;
	return p;
}

/* All tasks share one block, there are no errors, and each task has a lane. */
static struct params choose_progress(const struct command *cmd, u64 seed)
{
	static const u32 all_lanes[] = { 2, 4, 16, 64 };
	struct command c = *cmd;
	u32 lanes = all_lanes[seed % ARRAY_SIZE(all_lanes)];
	struct params p;

	if (c.set & (1ULL << OPT_LANES))
		lanes = c.params.lanes;
	p = choose(&c, seed);
	p.lanes = p.cpus = p.tasks = lanes;
	p.handles = lanes * 24;
	p.journal = max(1200U, journal_for(lanes));
	p.blocks = 8;
	p.states = 1;
	p.every = lanes;
	p.epochs = 1;
	p.granularity = 40;
	p.slow = 0;
	p.journaled = false;
	p.fail_write = p.fail_flush = p.fail_read = p.fail_alloc = 0;
	p.focus = FOCUS_NONE;
	p.off = OFF_PAUSE | OFF_BARRIER | OFF_FLUSHER | OFF_LONG;
	return p;
}

/* ---- a run ---- */

static void run_tasks(void)
{
	struct sim_task *tasks[MAX_TASKS + 9];
	u32 n = 0, i;

	world->workers = world->p.tasks;
	for (i = 0; i < world->p.tasks; i++) {
		char name[24];

		snprintf(name, sizeof(name), "worker%u", i);
		tasks[n++] = sim_spawn(worker, (void *)(long)i, name,
				       i % kl_nr_cpus);
	}
	if (!(world->p.off & OFF_FLUSHER))
		tasks[n++] = sim_spawn(flusher, NULL, "flusher", 0);
	if (world->p.focus == FOCUS_FILE && !(world->p.off & OFF_FILE))
		tasks[n++] = sim_spawn(mapper, NULL, "mapper", 0);
	if (world->p.focus == FOCUS_CLOSE)
		tasks[n++] = sim_spawn(closer, NULL, "closer", 0);
	if (!(world->p.off & OFF_BARRIER))
		tasks[n++] = sim_spawn(barrier_task, NULL, "barrier", 0);
	if (world->p.remount)
		tasks[n++] = sim_spawn(remount_task, NULL, "remount", 0);
	if (world->p.abort)
		tasks[n++] = sim_spawn(abort_task, NULL, "abort", 0);
	if (world->p.look) {
		tasks[n++] = sim_spawn(look_task, NULL, "look", kl_nr_cpus - 1);
		tasks[n++] = sim_spawn(home_task, NULL, "home", 0);
	}
	if (world->p.hold)
		tasks[n++] = sim_spawn(hold_task, NULL, "hold", 0);
	if (!(world->p.off & OFF_CHECKPOINT))
		tasks[n++] = sim_spawn(checkpoint_task, NULL, "checkpoint", 0);
	for (i = 0; i < world->p.tasks; i++)
		sim_join(tasks[i]);
	WRITE_ONCE(world->stop, true);
	for (; i < n; i++)
		sim_join(tasks[i]);
}

/* The creation of caches may fail, too. */
static void make_caches(const struct params *p)
{
	int err;

	sim_fail_allocations(p->fail_alloc);
	while ((err = zj_caches_init()))
		if (err != -ENOMEM || !p->fail_alloc)
			kl_fail("no caches: error %d", err);
}

/* Unmount; what was done must be there if that goes well. */
static void finish(void)
{
	const struct params *p = &world->p;
	bool aborted = is_journal_aborted(world->journal);
	int err;

	if (!aborted)
		progress_check();
	err = world_unmount();
	if ((aborted || err) && !p->fail_write && !p->fail_flush && !p->abort)
		kl_fail("aborted without an I/O error: unmount gives %d", err);
	for (u32 i = 0; i < world->nr_units && !err; i++)
		if (world->units[i].acked)
			unit_must(i);
}

/* Runs one mount; returns the disk after one of its crashes. */
static struct left run_epoch(struct params p, u32 epoch, const struct left *before,
			     struct tally *tally)
{
	struct sim_config config = {
		.seed = p.schedule + ((u64)epoch << 32),
		.cpus = p.cpus,
		.granularity = p.granularity,
		.slow = p.slow,
		.deadline = 1000000000LL * 120,
	};
	struct left left;

	snprintf(sim_what, sizeof(sim_what), "--seed %llu (epoch %u)", p.seed,
		 epoch);
	p.seed += (u64)epoch << 32;
	p.schedule += (u64)epoch << 32;
	sim_start(&config);
	world_make(&p, before);
	progress_begin();
	make_caches(&p);
	world_mount();
	if (before->home)
		world_check_mount(before->home);
	sim_reclaim = reclaim_something;
	run_tasks();
	finish();
	tally->slowest = progress_slowest();
	tally->bound = progress_bound();
	tally->io = world->disk->io_ns;
	sim_reclaim = NULL;
	zj_caches_exit();
	sim_end();
	left = judge_run(tally);
	world_free();
	return left;
}

void run(const struct params *p, struct tally *tally)
{
	struct left before = { }, left;

	for (u32 epoch = 0; epoch < p->epochs; epoch++) {
		left = run_epoch(*p, epoch, &before, tally);
		free(before.image);
		free(before.home);
		free(before.pmem);
		before = left;
		/* What was lost by an error does not come back. */
		if (p->fail_write || p->fail_flush || p->abort)
			break;
	}
	free(before.image);
	free(before.home);
	free(before.pmem);
}

/* ---- the command line ---- */

/* TASK.NUMBER.BIT,... as shrink.c prints it */
static void parse_skip(struct command *cmd, const char *list)
{
	u32 task, number, bit;
	int used;

	while (sscanf(list, "%u.%u.%u%n", &task, &number, &bit, &used) == 3) {
		if (task >= MAX_TASKS || number >= SKIP_HANDLES || bit > SKIP_OTHER)
			usage();
		skip[number][task] |= 1U << bit;
		list += used;
		list += *list == ',';
	}
	if (*list)
		usage();
	cmd->params.skip = skip;
}

static void parse_number(struct params *p, int opt, u32 n)
{
	u32 *const field[] = {
		[OPT_CPUS] = &p->cpus, [OPT_LANES] = &p->lanes,
		[OPT_HANDLES] = &p->handles, [OPT_TASKS] = &p->tasks,
		[OPT_BLOCKS] = &p->blocks, [OPT_JOURNAL] = &p->journal,
		[OPT_GRAIN] = &p->granularity, [OPT_FAIL_WRITE] = &p->fail_write,
		[OPT_FAIL_FLUSH] = &p->fail_flush, [OPT_FAIL_READ] = &p->fail_read,
		[OPT_FAIL_ALLOC] = &p->fail_alloc, [OPT_STATES] = &p->states,
		[OPT_EPOCHS] = &p->epochs, [OPT_OFF] = &p->off,
		[OPT_FOCUS] = &p->focus, [OPT_SLOW] = &p->slow,
		[OPT_REMOUNT] = &p->remount, [OPT_BATCH] = &p->batch, [OPT_COPY] = &p->copy,
		[OPT_PIPELINE] = &p->pipeline, [OPT_RUN] = &p->run,
		[OPT_VERSIONS] = &p->versions, [OPT_COALESCE] = &p->coalesce,
		[OPT_NVM] = &p->nvm, [OPT_IMAGES] = &p->images, [OPT_INFO_MAX] = &p->info_max,
		[OPT_EXTERNAL] = &p->external, [OPT_ABORT] = &p->abort, [OPT_LOOK] = &p->look,
		[OPT_HOLD] = &p->hold,
	};

	if (opt >= (int)ARRAY_SIZE(field) || !field[opt])
		usage();
	*field[opt] = n;
}

static void parse(int argc, char **argv, struct command *cmd)
{
	struct params *p = &cmd->params;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		u64 n = optarg ? strtoull(optarg, NULL, 0) : 1;

		if (opt == '?')
			usage();
		cmd->set |= 1ULL << opt;
		switch (opt) {
		case OPT_SEED:
			p->seed = n;
			break;
		case OPT_SEEDS:
			cmd->seeds = n;
			break;
		case OPT_SECONDS:
			cmd->seconds = n;
			break;
		case OPT_SCHEDULE:
			p->schedule = n;
			break;
		case OPT_CACHE:
			p->cache = n;
			break;
		case OPT_FUA:
			p->fua = n;
			break;
		case OPT_JOURNALED:
			p->journaled = n;
			break;
		case OPT_LOGGED:
			p->logged = n;
			break;
		case OPT_DATA_ERR:
			p->data_err = n;
			break;
		case OPT_SKIP:
			parse_skip(cmd, optarg);
			break;
		case OPT_JBD2:
			p->jbd2 = true;
			break;
		case OPT_RECOVER_WITH:
			p->peer = optarg;
			break;
		case OPT_PROGRESS:
			p->progress = true;
			break;
		case OPT_SHRINK:
			cmd->shrink = optarg ? n : 5000;
			break;
		case OPT_TRACE:
			p->trace = true;
			sim_verbose = 8;
			break;
		case OPT_VERBOSE:
			sim_verbose = 8;
			break;
		default:
			parse_number(p, opt, n);
		}
	}
	if (optind < argc || (p->peer && !p->jbd2) || (p->external && (p->nvm || p->peer)) || p->tasks > MAX_TASKS || p->cpus > MAX_TASKS ||
	    p->lanes > MAX_TASKS)
		usage();
}

static double seconds_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void report(const struct command *cmd, const struct tally *t, u64 seeds,
		   double took)
{
	/* CPU seconds, so that the result does not depend on other load. */
	double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);

	printf("{\"seeds\": %llu, \"first_seed\": %llu, \"crash_states\": %llu, \"live_states\": %llu, \"recoveries\": %llu, \"recovery_crashes\": %llu, \"recoveries_refused\": %llu, \"rotten\": %llu, \"unread\": %llu, \"failures\": 0, \"seconds\": %.1f, \"cpu_seconds\": %.1f, \"per_second\": %.0f",
	       seeds, cmd->params.seed, t->states, t->live, t->recoveries,
	       t->recrashes, t->refused, t->rotten, t->unread, took, cpu, t->states / cpu);
	if (cmd->params.peer)
		printf(", \"peer_recoveries\": %llu", t->asked);
	if (cmd->params.progress)
		printf(", \"slowest_commit_us\": %lld, \"bound_us\": %lld, \"io_us\": %lld",
		       t->slowest / 1000, t->bound / 1000, t->io / 1000);
	printf("}\n");
}

static struct params params_of(const struct command *cmd, u64 n)
{
	u64 seed = cmd->params.seed + n;

	return cmd->params.progress ? choose_progress(cmd, seed) :
	       choose(cmd, seed);
}

static int run_all(const struct command *cmd, u64 *n)
{
	double start = seconds_of(CLOCK_MONOTONIC);
	struct tally tally = { };

	for (*n = 0; cmd->seconds ? seconds_of(CLOCK_MONOTONIC) - start < cmd->seconds :
	     *n < cmd->seeds; ++*n) {
		struct params p = params_of(cmd, *n);

		run(&p, &tally);
	}
	report(cmd, &tally, *n, seconds_of(CLOCK_MONOTONIC) - start);
	return 0;
}

/* Runs in a child, as a failure ends the process; then looks for a smaller run. */
static int run_and_shrink(const struct command *cmd)
{
	u64 *n = mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid = fork();

	if (!pid)
		exit(run_all(cmd, n));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 2;
	if (!status)
		return 0;
	shrink(params_of(cmd, *n), cmd->shrink);
	return 1;
}

int main(int argc, char **argv)
{
	struct command cmd = { .params.seed = 1, .seeds = 1 };
	u64 n;

	parse(argc, argv, &cmd);
	kit_report_failures();
	return cmd.shrink ? run_and_shrink(&cmd) : run_all(&cmd, &n);
}
