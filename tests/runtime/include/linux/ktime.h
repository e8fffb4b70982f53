/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_KTIME_H
#define ZJ_RUNTIME_LINUX_KTIME_H

#include <linux/types.h>

typedef s64 ktime_t;

#define HZ		250
#define NSEC_PER_JIFFY	(1000000000LL / HZ)

ktime_t ktime_get(void);	/* nanoseconds of virtual time */

#define jiffies			((unsigned long)(ktime_get() / NSEC_PER_JIFFY))
#define NSEC_PER_USEC		1000L
#define NSEC_PER_MSEC		1000000L
#define ns_to_ktime(ns)		((ktime_t)(ns))

#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define time_before(a, b)	(!time_after_eq(a, b))

static inline s64 ktime_us_delta(ktime_t a, ktime_t b)
{
	return (a - b) / 1000;
}

static inline s64 ktime_ms_delta(ktime_t a, ktime_t b)
{
	return (a - b) / 1000000;
}

static inline u64 ktime_get_real_seconds(void)
{
	return 1700000000ULL + ktime_get() / 1000000000LL;
}

#endif
