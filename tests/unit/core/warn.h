/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Forced in before every source of this program: a warning that the test
 * announced with expect_warning() is counted, any other ends the test.
 */
#ifndef ZJ_UNIT_WARN_H
#define ZJ_UNIT_WARN_H

#include <klayer/bug.h>

/* True if a test waits for a warning whose condition or text has this in it. */
bool warning_expected(const char *text);

#undef WARN_ONCE
#define WARN_ONCE(cond, fmt, ...)					\
({									\
	bool __w = (cond);						\
	if (__w && !warning_expected(#cond " " fmt))			\
		kl_fail("%s:%d: " fmt, __FILE__, __LINE__, ##__VA_ARGS__); \
	__w;								\
})

#endif
