// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks, virtual time and events.
 *
 * Time passes a little at every switch, and jumps to the next event when no task
 * can run.  If no task can run and there is no event, it is a deadlock, which is a failure.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <klayer/bug.h>
#include <klayer/lock.h>
#include <linux/kernel.h>
#include <linux/errno.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/timer.h>
#include "sim.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define STACK_BYTES	(512UL << 10)
#else
#define STACK_BYTES	(128UL << 10)
#endif
#define MAX_EVENTS	65536
#define MAX_SWITCHES	50000000	/* in one run: more is a livelock */

/**
 * struct event - something that happens at a time
 */
struct event {
	s64	at;		/* ns */
	u64	number;		/* order among equal times, and a name */
	void	(*fn)(void *arg, u64 number);
	void	*arg;
};

struct task_struct *kl_current;
int kl_budget;
unsigned int kl_nr_cpus;
s64 sim_now;
int sim_in_irq;
bool sim_running;

static struct sim_config config;
static struct sim_rand sched_rand, time_rand;
static struct sim_task tasks[SIM_MAX_TASKS];
static struct sim_task *runnable[SIM_MAX_TASKS];
static int nr_runnable;
static struct event heap[MAX_EVENTS];
static int nr_events;
static u64 last_event;
static u64 switches;

u64 sim_rand(struct sim_rand *r)
{
	u64 z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u64 get_random_u64(void)
{
	return sim_rand(&time_rand);
}

ktime_t ktime_get(void)
{
	return sim_now;
}

/* ---- events ---- */

static bool earlier(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->number < b->number;
}

u64 sim_event(s64 ns, void (*fn)(void *arg, u64 number), void *arg)
{
	struct event e = { sim_now + ns, ++last_event, fn, arg };
	int i = nr_events++, up;

	if (nr_events > MAX_EVENTS)
		kl_fail("too many events at once");
	for (; i && (up = (i - 1) / 2, earlier(&e, &heap[up])); i = up)
		heap[i] = heap[up];
	heap[i] = e;
	return e.number;
}

static struct event pop_event(void)
{
	struct event first = heap[0], last = heap[--nr_events];
	int i = 0, down;

	while ((down = 2 * i + 1) < nr_events) {
		if (down + 1 < nr_events && earlier(&heap[down + 1], &heap[down]))
			down++;
		if (!earlier(&heap[down], &last))
			break;
		heap[i] = heap[down];
		i = down;
	}
	heap[i] = last;
	return first;
}

static void run_due_events(void)
{
	while (nr_events && heap[0].at <= sim_now) {
		struct event e = pop_event();

		sim_in_irq++;
		e.fn(e.arg, e.number);
		sim_in_irq--;
	}
}

/* ---- the fibers' switch ---- */

void sim_swap(void **save, void *load);
asm(".text\n"
    ".type sim_swap, @function\n"
    "sim_swap:\n"
    "	push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
    "	mov %rsp, (%rdi)\n"
    "	mov %rsi, %rsp\n"
    "	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
    "	ret\n"
    ".size sim_swap, .-sim_swap\n");

static void switch_to(struct sim_task *to)
{
	struct sim_task *from = sim_current;

	if (to == from)
		return;
	kl_current = &to->task;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(from->state == SIM_DEAD ? NULL :
				       &from->fake_stack,
				       to->stack, STACK_BYTES);
#endif
	sim_swap(&from->sp, to->sp);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

static void task_main(void)
{
	struct sim_task *t;

#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
	t = sim_current;
	t->allowed = KL_ANY_CPU;
	t->ret = t->fn(t->arg);
	t = sim_current;
	if (t->nr_held || t->rcu_nest)
		kl_fail("%s ends with a lock held", t->task.comm);
	/* No switch between the wake-up and the end. */
	kl_budget = 1 << 30;
	kl_wake(&t->exit_wait, NULL);
	sim_reschedule(SIM_DEAD);
	abort();
}

static void make_stack(struct sim_task *t)
{
	void **sp;

	if (!t->stack)
		t->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->stack == MAP_FAILED)
		kl_fail("no memory for a stack");
	sp = (void **)((char *)t->stack + STACK_BYTES);
	*--sp = NULL;		/* where task_main would return to */
	*--sp = (void *)task_main;
	sp -= 6;		/* registers that sim_swap() pops */
	memset(sp, 0, 6 * sizeof(*sp));
	t->sp = sp;
}

/* ---- which task runs ---- */

static void refill_budget(u32 granularity)
{
	kl_budget = sim_below(&sched_rand, 2 * granularity + 1);
}

void sim_make_runnable(struct sim_task *t)
{
	t->state = SIM_RUNNABLE;
	if (t->slot >= 0)
		return;
	t->slot = nr_runnable;
	runnable[nr_runnable++] = t;
}

static void not_runnable(struct sim_task *t)
{
	struct sim_task *last = runnable[--nr_runnable];

	runnable[t->slot] = last;
	last->slot = t->slot;
	t->slot = -1;
}

void sim_print_tasks(void)
{
	static const char *const names[] = { "unused", "new", "runnable",
					     "spinning", "asleep", "dead" };

	for (int i = 0; i < SIM_MAX_TASKS; i++)
		if (tasks[i].state && tasks[i].state != SIM_DEAD)
			fprintf(stderr, "  task %-16s %s\n", tasks[i].task.comm,
				names[tasks[i].state]);
}

/* A slow one seldom, unless there is no other. */
static struct sim_task *pick(void)
{
	struct sim_task *t = runnable[sim_below(&sched_rand, nr_runnable)];

	for (u32 i = 0; i < 8 && t->slow && !sim_one_in(&sched_rand, t->slow); i++)
		t = runnable[sim_below(&sched_rand, nr_runnable)];
	if (t->slow)
		refill_budget(1);
	return t;
}

static void pick_and_switch(void)
{
	refill_budget(config.granularity);
	if (++switches > MAX_SWITCHES)
		kl_fail("livelock: tasks run, but do not get done");
	while (!nr_runnable) {
		if (!nr_events)
			kl_fail("deadlock: nobody can run, nothing will happen");
		sim_now = max_t(s64, sim_now, heap[0].at);
		if (sim_now > config.deadline)
			kl_fail("not finished at the deadline");
		run_due_events();
	}
	if (sim_now > config.deadline)
		kl_fail("not finished at the deadline");
	switch_to(pick());
}

/* At a point; the current task stays runnable. */
void kl_switch(void)
{
	if (!sim_running) {
		kl_budget = 1 << 30;
		return;
	}
	refill_budget(config.granularity);
	if (sim_in_irq)
		return;
	sim_now += 100 + sim_below(&time_rand, 200);
	run_due_events();
	pick_and_switch();
}

/* The current task cannot go on. */
void sim_reschedule(enum sim_state state)
{
	struct sim_task *t = sim_current;

	if (sim_in_irq)
		kl_fail("an interrupt waits");
	t->state = state;
	not_runnable(t);
	sim_now += 100;
	run_due_events();
	pick_and_switch();
}

void sim_wake(struct sim_task *t)
{
	t->sleepy = false;
	if (t->state == SIM_ASLEEP)
		sim_make_runnable(t);
}

/* All waiters are woken; chance decides which one gets the lock. */
void sim_wake_spinners(void *lock)
{
	for (int i = 0; i < SIM_MAX_TASKS; i++)
		if (tasks[i].state == SIM_SPINNING && tasks[i].spins_on == lock)
			sim_make_runnable(&tasks[i]);
}

int cond_resched(void)
{
	might_sleep();
	kl_point();
	return 0;
}

unsigned int raw_smp_processor_id(void)
{
	return sim_current->cpu;
}

void sim_migrate(void)
{
	sim_current->cpu = sim_below(&sched_rand, kl_nr_cpus);
}

u32 sim_slow_down(u32 times)
{
	u32 before = sim_current->slow;

	sim_current->slow = times;
	return before;
}

int set_cpus_allowed_ptr(struct task_struct *task, unsigned int cpu)
{
	struct sim_task *t = (struct sim_task *)task;

	t->allowed = cpu;
	if (cpu != KL_ANY_CPU)
		t->cpu = cpu;
	return 0;
}

/* ---- births and deaths ---- */

static struct sim_task *new_task(int (*fn)(void *), void *arg)
{
	struct sim_task *t = tasks;
	void *stack;

	while (t->state != SIM_UNUSED && t < tasks + SIM_MAX_TASKS - 1)
		t++;
	if (t->state != SIM_UNUSED)
		kl_fail("too many tasks");
	stack = t->stack;
	*t = (struct sim_task){ .state = SIM_NEW, .slot = -1, .fn = fn,
				.arg = arg, .stack = stack };
	if (config.slow && sim_one_in(&sched_rand, config.slow))
		t->slow = SIM_SLOW;
	init_waitqueue_head(&t->exit_wait);
	make_stack(t);
	return t;
}

struct sim_task *sim_spawn(int (*fn)(void *), void *arg, const char *name,
			   unsigned int cpu)
{
	struct sim_task *t = new_task(fn, arg);

	strncpy(t->task.comm, name, sizeof(t->task.comm) - 1);
	t->cpu = cpu;
	sim_make_runnable(t);
	return t;
}

void sim_join(struct sim_task *t)
{
	wait_event(t->exit_wait, t->state == SIM_DEAD);
	t->state = SIM_UNUSED;
}

struct task_struct *kthread_create(int (*fn)(void *), void *arg,
				   const char *fmt, ...)
{
	struct sim_task *t;
	va_list ap;

	if (sim_alloc_fails(GFP_KERNEL))
		return ERR_PTR(-ENOMEM);
	t = new_task(fn, arg);
	va_start(ap, fmt);
	kl_vsnprintf(t->task.comm, sizeof(t->task.comm), fmt, ap);
	va_end(ap);
	return &t->task;
}

int wake_up_process(struct task_struct *task)
{
	struct sim_task *t = (struct sim_task *)task;

	if (t->state == SIM_NEW)
		sim_make_runnable(t);
	else
		sim_wake(t);
	return 1;
}

bool kthread_should_stop(void)
{
	return READ_ONCE(sim_current->should_stop);
}

int kthread_stop(struct task_struct *task)
{
	struct sim_task *t = (struct sim_task *)task;

	might_sleep();
	WRITE_ONCE(t->should_stop, true);
	wake_up_process(task);
	sim_join(t);
	return t->ret;
}

/* ---- timers ---- */

static void timer_fires(void *arg, u64 number)
{
	struct timer_list *timer = arg;

	if (timer->armed != number)
		return;
	timer->armed = 0;
	timer->function(timer);
}

void timer_setup(struct timer_list *timer,
		 void (*function)(struct timer_list *), unsigned int flags)
{
	*timer = (struct timer_list){ .function = function };
}

void mod_timer(struct timer_list *timer, unsigned long expires)
{
	s64 ns = (s64)expires * NSEC_PER_JIFFY - sim_now;

	if (!timer->function)
		kl_fail("timer was not set up");
	if (timer->dead)
		return;
	timer->armed = sim_event(max_t(s64, ns, 0), timer_fires, timer);
}

static void nothing(void *arg, u64 number)
{
}

/* Events that are left over look at freed memory: make them harmless. */
void timer_shutdown_sync(struct timer_list *timer)
{
	might_sleep();
	timer->dead = true;
	timer->armed = 0;
	for (int i = 0; i < nr_events; i++)
		if (heap[i].arg == timer)
			heap[i].fn = nothing;
}

void sim_set_granularity(unsigned int points)
{
	config.granularity = points;
}

/* ---- begin and end ---- */

void sim_start(const struct sim_config *c)
{
	config = *c;
	sim_report = NULL;
	sched_rand.state = c->seed * 2654435761u + 1;
	time_rand.state = c->seed * 40503 + 77;
	for (int i = 0; i < SIM_MAX_TASKS; i++) {
		void *stack = tasks[i].stack;

		tasks[i] = (struct sim_task){ .slot = -1, .stack = stack };
	}
	nr_runnable = 0;
	nr_events = 0;
	switches = 0;
	sim_now = 1000000000;
	kl_nr_cpus = c->cpus;
	strcpy(tasks[0].task.comm, "main");
	init_waitqueue_head(&tasks[0].exit_wait);
	kl_current = &tasks[0].task;
	sim_make_runnable(&tasks[0]);
	sim_locks_reset();
	sim_running = true;
	refill_budget(config.granularity);
}

void sim_end(void)
{
	sim_rcu_drain();
	for (int i = 1; i < SIM_MAX_TASKS; i++)
		if (tasks[i].state != SIM_UNUSED)
			kl_fail("task %s is left", tasks[i].task.comm);
	sim_memory_check();
	sim_running = false;
}
