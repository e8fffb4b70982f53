// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shrinking: from a run that fails to a small one.
 *
 * What is left out changes the schedule, so each attempt tries several schedules;
 * what the others do stays the same (work.h).  An attempt runs in a child.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "world.h"
#undef snprintf

#define TRIES	24	/* schedules for one attempt */

static u32 runs_left;		/* a number of runs, not a time: the same everywhere */
static u16 left_out[SKIP_HANDLES][MAX_TASKS];

/* Does it fail?  Hanging counts as well: the simulator says so itself. */
static bool fails(const struct params *p, bool show)
{
	struct tally tally = { };
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (!show && !freopen("/dev/null", "w", stderr))
			_exit(0);
		alarm(20);
		run(p, &tally);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	/* Too slow to tell. */
	return status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

/* Take over @smaller, in one of some schedules, if it fails. */
static bool attempt(struct params *p, struct params smaller)
{
	for (u32 i = 0; i < TRIES && runs_left; i++) {
		runs_left--;
		smaller.schedule = p->schedule + i * i;
		if (fails(&smaller, false)) {
			*p = smaller;
			return true;
		}
	}
	return false;
}

/* Tries smaller values of one number: the least, the half, one less. */
static bool less(struct params *p, size_t offset, u32 least)
{
	u32 now = *(u32 *)((char *)p + offset);
	u32 to[3] = { least, (now + least) / 2, now - 1 };
	bool done = false;

	for (u32 i = 0; i < 3 && now > least && !done; i++) {
		struct params smaller = *p;

		*(u32 *)((char *)&smaller + offset) = to[i];
		done = (!i || to[i] != to[i - 1]) && attempt(p, smaller);
	}
	return done;
}

static bool without_errors(struct params *p)
{
	bool done = false;

	done |= less(p, offsetof(struct params, fail_write), 0);
	done |= less(p, offsetof(struct params, fail_flush), 0);
	done |= less(p, offsetof(struct params, fail_read), 0);
	done |= less(p, offsetof(struct params, fail_alloc), 0);
	done |= less(p, offsetof(struct params, abort), 0);
	done |= less(p, offsetof(struct params, look), 0);
	return done;
}

static bool without_kinds(struct params *p)
{
	bool done = false;

	for (u32 bit = 1; bit <= OFF_LAST; bit *= 2) {
		struct params smaller = *p;

		smaller.off |= bit;
		done |= !(p->off & bit) && attempt(p, smaller);
	}
	return done;
}

static bool smaller_machine(struct params *p)
{
	bool done = false;

	done |= less(p, offsetof(struct params, epochs), 1);
	done |= less(p, offsetof(struct params, handles), 1);
	done |= less(p, offsetof(struct params, tasks), 1);
	done |= less(p, offsetof(struct params, cpus), 1);
	done |= less(p, offsetof(struct params, lanes), 0);
	done |= less(p, offsetof(struct params, blocks), 1);
	done |= less(p, offsetof(struct params, journal), 140);
	done |= less(p, offsetof(struct params, focus), 0);
	done |= less(p, offsetof(struct params, slow), 0);
	return done;
}

/* Leave out steps, what comes between handles, whole handles. */
static bool without_steps(struct params *p)
{
	static const u32 bits[] = { SKIP_HANDLE, SKIP_OTHER, 0, 1, 2, 3, 4 };
	bool done = false;

	p->skip = left_out;
	for (u32 b = 0; b < ARRAY_SIZE(bits); b++)
		for (u32 i = 0; i < p->handles && runs_left; i++) {
			u16 *word = &left_out[i / p->tasks][i % p->tasks];

			if (i / p->tasks >= SKIP_HANDLES ||
			    *word & (1U << bits[b]) ||
			    (bits[b] < SKIP_STEPS && *word & (1U << SKIP_HANDLE)))
				continue;
			*word |= 1U << bits[b];
			if (attempt(p, *p))
				done = true;
			else
				*word &= ~(1U << bits[b]);
		}
	return done;
}

/* The command that repeats it. */
static void print(const struct params *p)
{
	const char *comma = "";

	fprintf(stderr, "zjsim --seed %llu --schedule %llu --cpus %u --lanes %u --handles %u --tasks %u --blocks %u --journal %u --grain %u --slow %u --cache %d --fua %d --journaled %d --data-err %d --fail-write %u --fail-flush %u --fail-read %u --fail-alloc %u --states %u --epochs %u --off %u --focus %u --batch %u --copy %u --pipeline %u --run %u --versions %u --coalesce %u --images %u --nvm %u --txninfo %u --external %u --logged %d --remount %u --abort %u --look %u%s%s%s%s",
		p->seed, p->schedule, p->cpus, p->lanes, p->handles, p->tasks,
		p->blocks, p->journal, p->granularity, p->slow, p->cache, p->fua,
		p->journaled, p->data_err, p->fail_write, p->fail_flush, p->fail_read,
		p->fail_alloc, p->states, p->epochs, p->off, p->focus, p->batch, p->copy,
		p->pipeline, p->run, p->versions, p->coalesce, p->images, p->nvm, p->info_max, p->external,
		p->logged, p->remount, p->abort, p->look,
		p->jbd2 ? " --jbd2" : "",
		p->peer ? " --recover-with " : "", p->peer ?: "",
		p->progress ? " --progress" : "");
	for (u32 i = 0; i < p->handles && p->skip; i++)
		for (u32 bit = 0; bit <= SKIP_OTHER; bit++)
			if (i / p->tasks < SKIP_HANDLES &&
			    p->skip[i / p->tasks][i % p->tasks] & (1U << bit)) {
				fprintf(stderr, "%s%u.%u.%u",
					*comma ? comma : " --skip ",
					i % p->tasks, i / p->tasks, bit);
				comma = ",";
			}
	fprintf(stderr, "\n");
}

void shrink(struct params p, u32 runs)
{
	bool more = true;

	runs_left = runs;
	fprintf(stderr, "shrinking, in %u runs at most\n", runs);
	p.trace = false;
	while (more && runs_left) {
		more = without_errors(&p);
		more |= smaller_machine(&p);
		more |= without_kinds(&p);
		if (!more)
			more = without_steps(&p);
	}
	fprintf(stderr, "repeat it with --trace: ");
	print(&p);
	p.trace = true;
	sim_verbose = 6;
	fprintf(stderr, "(%u runs left)\n", runs_left);
	if (!fails(&p, true))
		fprintf(stderr, "the small run does not fail again: a bug of the simulator\n");
}
