/* SPDX-License-Identifier: GPL-2.0-only */
/* What a printer prints. */
#ifndef ZJ_UNIT_TEXT_H
#define ZJ_UNIT_TEXT_H

#include "fixture.h"

static char text[64 * 1024];

#define PRINT(printer, ...)						\
do {									\
	struct seq_buf __out;						\
									\
	seq_buf_init(&__out, text, sizeof(text));			\
	printer(&__out, __VA_ARGS__);					\
	assert_false(seq_buf_has_overflowed(&__out));			\
} while (0)

static inline bool says(const char *what)
{
	return strstr(text, what);
}

static inline void assert_says(const char *fmt, ...)
{
	char what[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (!says(what))
		fail_msg("\"%s\" is not in:\n%s", what, text);
}

#endif
