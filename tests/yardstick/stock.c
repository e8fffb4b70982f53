// SPDX-License-Identifier: GPL-2.0-only
/* The definitions for stock.h, in the simulator; those of buffers are in stock_bh.c. */
#include "stock.h"
#include "disk.h"
#include "nap.h"

struct kl_class stock_mutex = { .name = "static mutex" };
struct crypto_shash stock_crc32c;
struct task_struct *stock_thread;

/* ---- time ---- */

void ktime_get_coarse_real_ts64(struct timespec64 *ts)
{
	ts->tv_sec = ktime_get_real_seconds();
	ts->tv_nsec = ktime_get() % 1000000000;
}

void schedule_hrtimeout(const ktime_t *expires, int mode)
{
	nap(*expires - sim_now);
}

/* jbd2 has one timer, and the yardstick one journal at a time. */
static struct timer_list *armed;

static void timer_fires(void *arg, u64 number)
{
	struct timer_list *timer = armed;

	if (!timer || timer->armed != number)
		return;
	armed = NULL;
	timer->function(timer);
}

void add_timer(struct timer_list *timer)
{
	s64 ns = (s64)timer->expires * NSEC_PER_JIFFY - sim_now;

	if (armed && armed != timer)
		kl_fail("two timers: stock.c expects one");
	armed = timer;
	timer->armed = sim_event(max_t(s64, ns, 0), timer_fires, NULL);
}

void del_timer_sync(struct timer_list *timer)
{
	armed = NULL;
}
