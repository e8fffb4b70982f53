// SPDX-License-Identifier: GPL-2.0-only
/* The timer interrupt: a thread that calls what is due. */
#include <klayer/bug.h>
#include <klayer/lock.h>
#include <linux/minmax.h>
#include <linux/timer.h>
#include "threads.h"

#define MAX_TIMERS	512
#define IDLE_NS		1000000000LL

static struct timer_list *armed[MAX_TIMERS];	/* timers_lock; in no order */
static int nr_armed;			/* timers_lock */
static struct timer_list *running;	/* timers_lock; its function is called */
static u64 next_look;			/* timers_lock; until then the thread may sleep */
static int timers_lock;
static int changed;			/* a futex, counts what changes the next expiry */
static bool stopping;			/* atomic */
static struct thr_task *thread;

static void kick(void)
{
	__atomic_fetch_add(&changed, 1, __ATOMIC_RELEASE);
	thr_futex_wake(&changed, 1);
}

static void disarm(struct timer_list *timer)
{
	for (int i = 0; i < nr_armed; i++)
		if (armed[i] == timer)
			armed[i] = armed[--nr_armed];
}

/* The next one that is due, off the list; else NULL and the time until then. */
static struct timer_list *take_due(s64 *wait)
{
	struct timer_list *first = NULL;
	s64 now = ktime_get();

	for (int i = 0; i < nr_armed; i++)
		if (!first || armed[i]->armed < first->armed)
			first = armed[i];
	*wait = IDLE_NS;
	if (first && (s64)first->armed > now) {
		*wait = first->armed - now;
		first = NULL;
	}
	if (first)
		disarm(first);
	next_look = now + *wait;
	return first;
}

static int timer_thread(void *arg)
{
	struct timer_list *timer;
	s64 wait;

	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED)) {
		int seen = __atomic_load_n(&changed, __ATOMIC_ACQUIRE);

		thr_lock(&timers_lock);
		timer = take_due(&wait);
		running = timer;
		thr_unlock(&timers_lock);
		if (!timer) {
			thr_futex_wait(&changed, seen, wait);
			continue;
		}
		thr_current->in_irq = true;
		timer->function(timer);
		thr_current->in_irq = false;
		thr_lock(&timers_lock);
		running = NULL;
		thr_unlock(&timers_lock);
	}
	return 0;
}

void timer_setup(struct timer_list *timer,
		 void (*function)(struct timer_list *), unsigned int flags)
{
	*timer = (struct timer_list){ .function = function };
}

void mod_timer(struct timer_list *timer, unsigned long expires)
{
	bool sooner = false;

	kl_point();
	if (!timer->function)
		kl_fail("timer was not set up");
	thr_lock(&timers_lock);
	if (!timer->dead) {
		disarm(timer);
		if (nr_armed == MAX_TIMERS)
			kl_fail("too many timers");
		timer->armed = expires * NSEC_PER_JIFFY;
		armed[nr_armed++] = timer;
		sooner = timer->armed < next_look;
	}
	thr_unlock(&timers_lock);
	if (sooner)
		kick();
}

/* Waits for its function, too; if it is @dead, it is never armed again. */
static void disarm_sync(struct timer_list *timer, bool dead)
{
	bool busy;

	do {
		thr_lock(&timers_lock);
		timer->dead |= dead;
		disarm(timer);
		busy = running == timer;
		thr_unlock(&timers_lock);
		if (busy)
			thr_sleep_ns(100000);
	} while (busy);
}

void timer_shutdown_sync(struct timer_list *timer)
{
	might_sleep();
	disarm_sync(timer, true);
}

/* Stock jbd2 calls it with a lock held that the timer's function does not take. */
void del_timer_sync(struct timer_list *timer)
{
	disarm_sync(timer, false);
}

void thr_timer_start(void)
{
	stopping = false;
	thread = thr_spawn(timer_thread, NULL, "timer");
}

void thr_timer_stop(void)
{
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	kick();
	thr_join(thread);
	if (nr_armed)
		kl_fail("%d timers are left", nr_armed);
}
