// SPDX-License-Identifier: GPL-2.0-only
/*
 * schedules [NAME...]: runs them as cmocka tests, each in a process of its own, as
 * a failure of the simulator ends the process.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <cmocka.h>
#include <klayer/bug.h>
#include "stage.h"
#undef snprintf

#define MAX_POINTS	2000	/* of one step */
#define MAX_SCHEDULES	128

static void start_time(void)
{
	struct sim_config config = {
		.seed = 1 + play.point + play.epoch,
		.cpus = play.lanes,
		.granularity = 0,
		.deadline = 1000000000LL * 3600 * 1000,
	};

	sim_start(&config);
}

static void end_mount(void)
{
	actors_end();
	stage_unmount();
	sim_end();
	stage_free();
}

void stage_reopen(u8 *image)
{
	zj_journal_abort(play.journal_public, -EIO);
	end_mount();
	play.epoch++;
	play.judged = 0;
	start_time();
	stage_make(image);
	free(image);
	stage_mount();
	actors_start();
}

/* Runs a schedule once; false: the point lies behind the end of the step. */
static bool run_once(const struct schedule *s, bool images, u32 point, u64 *states)
{
	play = (struct play){
		.lanes = s->lanes ?: 3,
		.journal = s->journal ?: 1000,
		.images = images,
		.cache = true,
		.fua = !s->no_fua,
		.again = !s->points,
		.point = point,
	};
	snprintf(sim_what, sizeof(sim_what), "%s%s%.0u", s->name,
		 point ? " point " : "", point);
	start_time();
	stage_make(NULL);
	stage_mount();
	actors_start();
	s->run();
	end_mount();
	*states += play.states;
	return play.paused_there;
}

static void run_all(const struct schedule *s)
{
	u64 states = 0;
	u32 point = 0;
	bool more;

	/* The log has whole blocks, and then lines of them. */
	do {
		more = run_once(s, true, point, &states);
		if (!s->images)
			more |= run_once(s, false, point, &states);
	} while (more && s->points && ++point < MAX_POINTS);
	if (s->points && (!point || point == MAX_POINTS))
		kl_fail("%u points", point);
	if (!states)
		kl_fail("no crash state was looked at");
	fprintf(stderr, "%llu crash states", states);
	if (s->points)
		fprintf(stderr, ", %u points", point);
	fputc('\n', stderr);
}

/* Runs a schedule in a process of its own, and returns its messages. */
static int run_apart(const struct schedule *s, char *said, size_t room)
{
	int fd[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(fd[1], 2);
		/* Without cmocka's handler, which would go on here with the next test. */
		signal(SIGSEGV, SIG_DFL);
		signal(SIGABRT, SIG_DFL);
		alarm(300);
		run_all(s);
		/* Fibers confuse the address sanitizer's look at noreturn calls. */
		syscall(SYS_exit_group, 0);
	}
	close(fd[1]);
	while ((got = read(fd[0], said + n, room - 1 - n)) > 0)
		n += got;
	said[n] = 0;
	close(fd[0]);
	waitpid(pid, &status, 0);
	return status;
}

static void test_schedule(void **state)
{
	const struct schedule *s = *state;
	static char said[1 << 16];
	int status = run_apart(s, said, sizeof(said));

	if (!s->seen) {
		if (WIFSIGNALED(status))
			fail_msg("FAIL %s: signal %d %s", s->name,
				 WTERMSIG(status), said);
		if (status)
			fail_msg("%s", said);
	print_message("             %s", said);
		return;
	}
	if (!status || !strstr(said, s->seen))
		fail_msg("the broken rule was not seen, but: %s", said);
}

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(name, argv[i]))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	static const struct schedule *const files[] = {
		components, committed, homes, callers, races };
	struct CMUnitTest tests[MAX_SCHEDULES];
	size_t nr = 0;

	kit_report_failures();
	for (size_t f = 0; f < ARRAY_SIZE(files); f++)
		for (const struct schedule *s = files[f]; s->name; s++)
			if (wanted(s->name, argc, argv))
				tests[nr++] = (struct CMUnitTest){ s->name,
					test_schedule, NULL, NULL, (void *)s };
	if (!nr || (argc > 1 && nr != (size_t)argc - 1)) {
		fprintf(stderr, "no such schedule; without a name all are run\n");
		return 2;
	}
	return _cmocka_run_group_tests("schedules", tests, nr, NULL, NULL);
}
