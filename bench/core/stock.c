// SPDX-License-Identifier: GPL-2.0-only
/* What the yardstick's stock.h declares besides buffers, over the native layer. */
#include "stock-native.h"
#include "native.h"

struct crypto_shash stock_crc32c;
struct task_struct *stock_thread;

void ktime_get_coarse_real_ts64(struct timespec64 *ts)
{
	ts->tv_sec = ktime_get_real_seconds();
	ts->tv_nsec = 0;
}

void schedule_hrtimeout(const ktime_t *expires, int mode)
{
	s64 ns = *expires - ktime_get();

	if (ns > 0)
		thr_sleep_ns(ns);
}

void add_timer(struct timer_list *timer)
{
	mod_timer(timer, timer->expires);
}
