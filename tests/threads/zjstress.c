// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjstress: the journal's own sources under real threads, on a real file.
 *
 *   unmount  ends cleanly: every block holds its last version
 *   kill     the process is killed; another one recovers and judges what is left
 *   abort    a write fails: everybody gets out, then recovery and judgement
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "stress.h"
#undef snprintf

enum { OPT_SEED = 1, OPT_MODE, OPT_ROUNDS, OPT_THREADS, OPT_LANES, OPT_CPUS,
       OPT_HANDLES, OPT_BLOCK, OPT_JOURNAL, OPT_PAUSE, OPT_FUA, OPT_PIPELINE,
       OPT_JBD2, OPT_FAIL_WRITE,
       OPT_FILE, OPT_VERBOSE };

static const struct option options[] = {
	{ "seed", 1, NULL, OPT_SEED },
	{ "mode", 1, NULL, OPT_MODE },
	{ "rounds", 1, NULL, OPT_ROUNDS },
	{ "threads", 1, NULL, OPT_THREADS },
	{ "lanes", 1, NULL, OPT_LANES },
	{ "cpus", 1, NULL, OPT_CPUS },
	{ "handles", 1, NULL, OPT_HANDLES },
	{ "block", 1, NULL, OPT_BLOCK },
	{ "journal", 1, NULL, OPT_JOURNAL },
	{ "pause", 1, NULL, OPT_PAUSE },
	{ "fua", 1, NULL, OPT_FUA },
	{ "pipeline", 1, NULL, OPT_PIPELINE },
	{ "jbd2", 0, NULL, OPT_JBD2 },
	{ "fail-write", 1, NULL, OPT_FAIL_WRITE },
	{ "file", 1, NULL, OPT_FILE },
	{ "verbose", 0, NULL, OPT_VERBOSE },
	{ },
};

static const char *mode = "unmount";
static u32 rounds = 1;

static void usage(void)
{
	fputs("usage: zjstress --file DISK [--mode unmount|kill|abort] [--rounds N]\n"
	      "  [--seed S] [--threads N] [--lanes N] [--cpus N] [--handles N]\n"
	      "  [--block 1024|2048|4096] [--journal BLOCKS] [--pause N] [--fua 0|1]\n"
	      "  [--pipeline 0|1] [--jbd2] [--fail-write N] [--verbose]\n"
	      "DISK is overwritten. --handles: for each thread and round. --cpus: virtual\n"
	      "ones. --pause: mean number of points between two where a thread gives the\n"
	      "processor away; 0: never. --jbd2: one lane, and a log in stock's format. Each\n"
	      "round goes on where the last one ended.\n",
	      stderr);
	exit(2);
}

static void parse(int argc, char **argv)
{
	struct params *p = &fs.p;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		u32 n = optarg ? strtoul(optarg, NULL, 0) : 1;

		switch (opt) {
		case OPT_SEED:
			p->seed = n;
			break;
		case OPT_MODE:
			mode = optarg;
			break;
		case OPT_ROUNDS:
			rounds = n;
			break;
		case OPT_THREADS:
			p->threads = n;
			break;
		case OPT_LANES:
			p->lanes = n;
			break;
		case OPT_CPUS:
			p->cpus = n;
			break;
		case OPT_HANDLES:
			p->handles = n;
			break;
		case OPT_BLOCK:
			p->block = n;
			break;
		case OPT_JOURNAL:
			p->journal = n;
			break;
		case OPT_PAUSE:
			p->pause = n;
			break;
		case OPT_FUA:
			p->fua = n;
			break;
		case OPT_PIPELINE:
			p->pipeline = n;
			break;
		case OPT_JBD2:
			p->jbd2 = true;
			break;
		case OPT_FAIL_WRITE:
			p->fail_write = n;
			break;
		case OPT_FILE:
			p->file = optarg;
			break;
		case OPT_VERBOSE:
			thr_verbose = 8;
			break;
		default:
			usage();
		}
	}
	if (optind < argc || !p->file || p->threads < 1 ||
	    p->threads > MAX_THREADS || p->block < 1024 || p->block > 4096 ||
	    !is_power_of_2(p->block))
		usage();
}

/* ---- one process ---- */

static void start(void)
{
	struct thr_config config = { .seed = fs.p.seed, .cpus = fs.p.cpus,
				     .pause = fs.p.pause };

	thr_start(&config);
}

static void run_threads(void)
{
	struct thr_task *task[MAX_THREADS], *background[3];
	char name[24];

	for (u32 t = 0; t < fs.p.threads; t++) {
		snprintf(name, sizeof(name), "worker%u", t);
		task[t] = thr_spawn(worker, (void *)(long)t, name);
	}
	background[0] = thr_spawn(flusher, NULL, "flusher");
	background[1] = thr_spawn(barrier_task, NULL, "barrier");
	background[2] = thr_spawn(looker, NULL, "looker");
	for (u32 t = 0; t < fs.p.threads; t++)
		thr_join(task[t]);
	WRITE_ONCE(fs.stop, true);
	thr_join(background[0]);
	thr_join(background[1]);
	thr_join(background[2]);
}

static void make(void)
{
	start();
	fs_make();
	thr_end();
}

static void run_unmount(void)
{
	int err;

	start();
	fs_mount();
	run_threads();
	err = fs_unmount();
	if (err)
		kl_fail("unmount: error %d", err);
	judge(true);
	thr_end();
}

static void run_forever(void)
{
	fs.p.handles = 0;
	start();
	fs_mount();
	run_threads();
	kl_fail("the workers have ended");
}

/* The promises of before are kept in a copy: a mount makes its own. */
static void recover(void)
{
	struct promises *shared = fs.promises, kept = *shared;
	int err;

	start();
	fs_mount();
	err = fs_unmount();
	if (err)
		kl_fail("unmount after recovery: error %d", err);
	*shared = kept;
	judge(false);
	thr_end();
}

static void run_abort(void)
{
	u32 fail = fs.p.fail_write;
	bool aborted;
	int err;

	start();
	fs_mount();
	run_threads();
	aborted = is_journal_aborted(fs.journal);
	err = fs_unmount();
	if (!aborted && err)
		kl_fail("unmount: error %d without an abort", err);
	thr_end();
	if (!err)
		return;
	fs.p.fail_write = 0;
	recover();
	fs.p.fail_write = fail;
}

/* ---- processes ---- */

static pid_t in_child(void (*fn)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (pid)
		return pid;
	fn();
	exit(0);
}

static void must_end_well(pid_t pid)
{
	int status;

	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "FAIL %s: a process has ended with status %#x\n",
			thr_what, status);
		exit(1);
	}
}

/* Kill it after some more units: work, not time, decides when. */
static void kill_after(pid_t pid, u32 units)
{
	u32 from = __atomic_load_n(&fs.promises->units, __ATOMIC_RELAXED);
	int status;

	while (__atomic_load_n(&fs.promises->units, __ATOMIC_RELAXED) - from <
	       units) {
		if (waitpid(pid, &status, WNOHANG)) {
			fprintf(stderr, "FAIL %s: ended by itself, status %#x\n",
				thr_what, status);
			exit(1);
		}
		usleep(200);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static void round_of_kill(struct thr_rand *rand)
{
	u32 most = fs.p.threads * fs.p.handles;

	kill_after(in_child(run_forever), 1 + thr_below(rand, most));
	must_end_well(in_child(recover));
}

static void round_of(struct thr_rand *rand)
{
	if (!strcmp(mode, "kill")) {
		round_of_kill(rand);
	} else if (!strcmp(mode, "abort")) {
		fs.p.fail_write = 1 + thr_below(rand, 400);
		must_end_well(in_child(run_abort));
	} else {
		must_end_well(in_child(run_unmount));
	}
}

int main(int argc, char **argv)
{
	struct thr_rand rand;
	struct promises *p;

	fs.p = (struct params){ .seed = 1, .threads = 12, .lanes = 8, .cpus = 8,
				.handles = 200, .block = 4096, .journal = 3000,
				.pause = 200, .fua = true };
	parse(argc, argv);
	if (strcmp(mode, "unmount") && strcmp(mode, "kill") &&
	    strcmp(mode, "abort"))
		usage();
	p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fs.promises = p;
	rand.state = fs.p.seed;
	snprintf(thr_what, sizeof(thr_what), "--seed %llu", fs.p.seed);
	must_end_well(in_child(make));
	for (u32 n = 0; n < rounds; n++) {
		snprintf(thr_what, sizeof(thr_what), "--mode %s --seed %llu, round %u",
			 mode, fs.p.seed, n);
		fs.p.seed++;
		round_of(&rand);
	}
	printf("{\"mode\": \"%s\", \"rounds\": %u, \"units\": %u, \"freed\": %u, \"reused\": %u, \"barriers\": %u, \"reclaimed\": %u}\n",
	       mode, rounds, p->units, p->freed, p->reused, p->barriers,
	       p->reclaimed);
	return 0;
}
