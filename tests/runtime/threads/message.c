// SPDX-License-Identifier: GPL-2.0-only
/* Messages, failures. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <klayer/bug.h>
#include <linux/ktime.h>
#include "threads.h"
#undef snprintf

const char kl_disk_name[] = "disk";
char thr_what[128];
int thr_verbose = 3;

void kl_printk(int level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (level >= thr_verbose)
		return;
	va_start(ap, fmt);
	kl_vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s", line);
}

void kl_fail(const char *fmt, ...)
{
	char line[1024], all[1400];
	va_list ap;
	int n;

	va_start(ap, fmt);
	kl_vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	n = snprintf(all, sizeof(all), "FAIL %s: %s (task %s)\n", thr_what, line,
		     kl_current ? kl_current->comm : "-");
	/* Past stdio, whose lock another thread may hold. */
	if (write(2, all, n) != n || getenv("THREADS_ABORT"))
		abort();
	_Exit(1);
}
