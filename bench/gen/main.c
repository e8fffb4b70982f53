// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads on a file system by processes, each on a CPU of its own, and how long each work takes.
 *
 *   loadgen -l
 *	names of the loads, which fxmark.c, fileset.c, writes.c and programs.c describe
 *   loadgen -t LOAD -d DIR [-w WORKERS] [-n WORKS | -T MS] [-s] [-u] [-p | -r] [-f FILES] [-b SIZE]
 *	   [-a APPEND] [-e EVERY] [-g] [-m MOVE] [-N NEIGHBOUR -D DIR [-G CGROUP]] [-P PREFIX] [-H] [COMMAND]
 *	make what the load finds (-p: no more than that; -r: it is there), syncfs, and let each
 *	worker do WORKS works, or works until MS are over; then syncfs. -s: all workers use one
 *	directory. -u: no syncfs at the end, where only fsyncs are to be counted. gen.h has the
 *	other settings in struct settings.
 *   loadgen -t command -d DIR [-w WORKERS] [-n OPERATIONS] [-m MOVE] COMMAND
 *	each worker runs COMMAND in a shell in DIR/0, DIR/1...; OPERATIONS is what each counts
 *	for; with -m it goes on to the next CPU every MOVE milliseconds
 *
 * Prints one line of NAME=VALUE: works, operations, seconds (of the loop), synced (with the
 * syncfs after it), then count, mean and percentiles of works and fsyncs in microseconds; with
 * -H also a line "hist works|fsyncs NS COUNT" for each bucket, NS being its lower end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen.h"

struct settings set = {
	.workers = 1, .works = 0, .ms = 1000, .files = 1000, .size = 16384, .append = 4096,
	.every = 100, .prefix = "f",
};

enum { MAKE = 1, RUN = 2 };

static const struct load *const tables[] = { fxmark_loads, fileset_loads, write_loads,
					    program_loads };
static const struct load *load;		/* NULL: a command for each worker */
static struct tally *tallies;		/* by worker; shared with them */
static volatile sig_atomic_t *stop;	/* shared with the workers: the time is over */
static int phases = MAKE | RUN;
static bool histograms, unsynced;

static const struct load *load_of(const char *name)
{
	const struct load *l;
	unsigned int i;

	for (i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (l = tables[i]; l->name; l++)
			if (!strcmp(l->name, name))
				return l;
	return NULL;
}

static int list(void)
{
	const struct load *l;
	unsigned int i;

	for (i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (l = tables[i]; l->name; l++)
			puts(l->name);
	return 0;
}

static void *shared_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static void start_worker(struct worker *w, unsigned int id, int root)
{
	char name[64] = "all";

	if (!set.shared)
		snprintf(name, sizeof(name), "w%u", id);
	*w = (struct worker){ .id = id, .root = root, .fd = -1, .fd2 = -1, .seed = id + 1,
			      .tally = &tallies[id] };
	w->dir = make_dir(root, name);
}

/* ---- a worker ---- */

static void loop(struct worker *w)
{
	uint64_t before = now(), after;
	bool more = true;

	for (w->i = 0; more && !*stop && (!set.works || w->i < set.works); w->i++) {
		if (set.move && w->i && w->i % set.move == 0)
			pin(0, w->id + w->i / set.move);
		more = load->work(w);
		if (!more)
			break;
		after = now();
		hist_add(&w->tally->works, after - before);
		before = after;
	}
	if (!more)
		*stop = 1;
}

static void work(struct worker *w, int ready, int go)
{
	char c;

	pin(0, w->id);
	/* It would take the parent's end for the start. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		die("prctl");
	if ((phases & MAKE) && load->make)
		load->make(w);
	if ((phases & RUN) && load->open)
		load->open(w);
	/* What was made before is no operation, nor does it belong to the measurement. */
	memset(w->tally, 0, sizeof(*w->tally));
	/* Closed, so that the parent sees the end of the pipe if another worker has failed. */
	if (write(ready, "R", 1) != 1 || close(ready) || read(go, &c, 1))
		die("start");
	if (phases & RUN)
		loop(w);
	_exit(0);
}

static void run_command(unsigned int id)
{
	char name[64];

	snprintf(name, sizeof(name), "%u", id);
	if (chdir(set.dir) || chdir(name))
		die(name);
	pin(0, id);
	execl("/bin/sh", "sh", "-c", set.command, NULL);
	die("/bin/sh");
}

/* ---- the parent ---- */

static void on_alarm(int signal)
{
	(void)signal;
	*stop = 1;
}

static void start_clock(void)
{
	struct itimerval at = { .it_value = { set.ms / 1000, set.ms % 1000 * 1000 } };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

	if (sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &at, NULL))
		die("setitimer");
}

/* Until all workers have ended; commands are moved from CPU to CPU meanwhile. */
static bool wait_for(const pid_t *pids)
{
	bool moving = !load && set.move, failed = false;
	unsigned int w, left = set.workers, at = 0;
	int status;

	while (left) {
		pid_t pid = waitpid(-1, &status, moving ? WNOHANG : 0);

		if (pid < 0)
			die("waitpid");
		if (pid) {
			left--;
			failed |= status != 0;
			continue;
		}
		usleep(set.move * 1000);
		at++;
		for (w = 0; w < set.workers; w++)
			pin(pids[w], w + at);
	}
	return failed;
}

static void print_hist(const char *name, const struct hist *h)
{
	static const struct { const char *name; double share; } quantiles[] = {
		{ "p50", 0.5 }, { "p99", 0.99 }, { "p999", 0.999 }, { "longest", 1 },
	};
	unsigned int i;

	printf(" %s_count=%lu %s_mean=%.1f", name, (unsigned long)h->count, name,
	       h->count ? h->sum / 1e3 / h->count : 0);
	for (i = 0; i < 4; i++)
		printf(" %s_%s=%.1f", name, quantiles[i].name,
		       (i == 3 ? h->longest : hist_quantile(h, quantiles[i].share)) / 1e3);
}

static void print_buckets(const char *name, const struct hist *h)
{
	unsigned int i;

	for (i = 0; i < HIST_BUCKETS; i++)
		if (h->bucket[i])
			printf("hist %s %lu %lu\n", name, (unsigned long)hist_lower(i),
			       (unsigned long)h->bucket[i]);
}

static void report(double loop_seconds, double synced)
{
	static struct hist works, fsyncs;
	unsigned long operations = 0;
	unsigned int w;

	for (w = 0; w < set.workers; w++) {
		hist_merge(&works, &tallies[w].works);
		hist_merge(&fsyncs, &tallies[w].fsyncs);
		operations += !load ? set.works : tallies[w].operations;
	}
	printf("works=%lu operations=%lu seconds=%.6f synced=%.6f", (unsigned long)works.count,
	       operations, loop_seconds, synced);
	print_hist("works", &works);
	print_hist("fsyncs", &fsyncs);
	putchar('\n');
	if (histograms) {
		print_buckets("works", &works);
		print_buckets("fsyncs", &fsyncs);
	}
}

/* The workers, waiting for the start; the pipe that holds them back. */
static int fork_workers(struct worker *workers, pid_t *pids)
{
	int ready[2], go[2];
	unsigned int w;
	char c;

	if (pipe(ready) || pipe(go))
		die("pipe");
	for (w = 0; w < set.workers; w++) {
		pids[w] = fork();
		if (pids[w] < 0)
			die("fork");
		if (pids[w])
			continue;
		close(go[1]);
		if (!load && read(go[0], &c, 1) == 0)
			run_command(w);
		work(&workers[w], ready[1], go[0]);
	}
	close(ready[1]);
	close(go[0]);
	for (w = 0; load && w < set.workers; w++) {
		if (read(ready[0], &c, 1) != 1) {
			fprintf(stderr, "loadgen: a worker failed before the start\n");
			exit(1);
		}
	}
	close(ready[0]);
	return go[1];
}

static int run(int root)
{
	struct worker workers[MAX_WORKERS];
	pid_t pids[MAX_WORKERS], noise;
	uint64_t start, end;
	unsigned int w;
	bool failed;
	int go;

	/* One by one, so that the directories come to lie alike in each run. */
	for (w = 0; load && w < set.workers; w++)
		start_worker(&workers[w], w, root);
	if (load && (phases & MAKE) && load->make_all)
		load->make_all(&workers[0]);
	fflush(stdout);
	go = fork_workers(workers, pids);
	if ((phases & MAKE) && syncfs(root))
		die("syncfs");
	noise = phases & RUN ? noise_start(go) : 0;
	if (load && (phases & RUN) && !set.works)
		start_clock();
	start = now();
	close(go);
	failed = wait_for(pids);
	end = now();
	/* What the neighbour has written is not to be waited for. */
	noise_end(noise);
	if (!noise && !unsynced && syncfs(root))
		die("syncfs");
	if (!failed && (phases & RUN))
		report((end - start) / 1e9, (now() - start) / 1e9);
	return failed;
}

static int usage(void)
{
	fprintf(stderr, "usage: loadgen -t LOAD -d DIR [options] [COMMAND] (see main.c)\n"
			"       loadgen -l\n");
	return 2;
}

static bool parse_size(int opt, unsigned long value)
{
	switch (opt) {
	case 'w': set.workers = value; return true;
	case 'n': set.works = value; return true;
	case 'T': set.ms = value; return true;
	case 'f': set.files = value; return true;
	case 'b': set.size = value; return true;
	case 'a': set.append = value; return true;
	case 'e': set.every = value; return true;
	case 'm': set.move = value; return true;
	}
	return false;
}

static bool parse(int opt, char *arg)
{
	switch (opt) {
	case 'd': set.dir = arg; break;
	case 's': set.shared = true; break;
	case 'g': set.gamma = true; break;
	case 'p': phases = MAKE; break;
	case 'r': phases = RUN; break;
	case 'N': set.noise = arg; break;
	case 'D': set.noise_dir = arg; break;
	case 'G': set.noise_cgroup = arg; break;
	case 'u': unsynced = true; break;
	case 'P': set.prefix = arg; break;
	case 'H': histograms = true; break;
	default: return arg && parse_size(opt, strtoul(arg, NULL, 10));
	}
	return true;
}

/* Whether the settings make sense together. */
static bool sound(bool command)
{
	bool shell = load && !strcmp(load->name, "shell");

	return (load || command) && set.dir && set.workers && set.workers <= MAX_WORKERS &&
	       set.ms && set.append && 2 * set.append <= MAX_IO && set.size >= BLOCK &&
	       set.files && (!set.noise || (noise_known(set.noise) && set.noise_dir)) &&
	       !((command || shell) && !set.command);
}

int main(int argc, char **argv)
{
	const char *name = "";
	int opt, root;

	while ((opt = getopt(argc, argv, "lt:d:w:n:T:suprf:b:a:e:gm:N:D:G:P:H")) != -1) {
		if (opt == 'l')
			return list();
		if (opt == 't')
			name = optarg;
		else if (!parse(opt, optarg))
			return usage();
	}
	load = load_of(name);
	set.command = argv[optind];
	if (!sound(!strcmp(name, "command")))
		return usage();
	if (load && load->place != EITHER)
		set.shared = load->place == SHARED;
	tallies = shared_memory(set.workers * sizeof(*tallies));
	stop = shared_memory(sizeof(*stop));
	fileset_map(load ? load->tree : 0);
	root = open(set.dir, O_RDONLY | O_DIRECTORY);
	if (root < 0)
		die(set.dir);
	fileset_there();
	return run(root) ? 1 : 0;
}
