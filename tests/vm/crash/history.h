/* SPDX-License-Identifier: GPL-2.0-only */
/* The last things that a load has done, for its complaint. */
#ifndef HISTORY_H
#define HISTORY_H

#include <stdarg.h>
#include <stdio.h>

#define HISTORY	96

static char history[HISTORY][80];
static unsigned int nr_history;

static void remember(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(history[nr_history++ % HISTORY], sizeof(history[0]), format, args);
	va_end(args);
}

static void say_history(void)
{
	unsigned int i = nr_history > HISTORY ? nr_history - HISTORY : 0;

	for (; i < nr_history; i++)
		fprintf(stderr, "%s\n", history[i % HISTORY]);
}

#endif
