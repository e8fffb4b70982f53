// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks, virtual CPUs and events.
 *
 * What is ready stands in a heap by its clock. The running task looks at the heap wherever
 * it meets other CPUs (sim_point()), and in any case when its clock is AHEAD of all others.
 *
 * A CPU runs one task; others that could run wait in its queue and get it when the task
 * sleeps or has had more CPU time by GRANULARITY.  What interrupts do is done by a task of
 * its own for each CPU, beside the CPU's task, which then loses that time.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include "native.h"
#include "sim.h"

#define STACK_BYTES	(128UL << 10)
#define AHEAD		(500 * PS)
#define GRANULARITY	(1000000 * PS)
#define SLEEPER_BONUS	(1500000 * PS)
#define FUTEXES		4096u
#define NEVER		LLONG_MAX

/**
 * struct item - a task that is ready, or an event
 */
struct item {
	s64		at;
	u64		number;		/* order among equal times */
	struct sim_task	*task;		/* NULL: an event */
	void		(*fn)(void *);
	void		*arg;
	unsigned int	cpu;		/* of the event */
};

/**
 * struct work - an event that waits for its CPU's interrupt task
 */
struct work {
	struct work	*next;
	s64		at;
	void		(*fn)(void *);
	void		*arg;
};

/**
 * struct vcpu - a virtual CPU
 */
struct vcpu {
	struct sim_task	*task;		/* that has it; NULL: idle */
	struct sim_task	*queue;		/* that want it, lowest vruntime first */
	s64		free;		/* since when it is idle */
	s64		lost;		/* to interrupts, not yet charged to its task */
	s64		vruntime;	/* the lowest of its tasks, about */
	struct sim_task	*irq;
	struct work	*first, **last;
	struct thread_mem *mem;		/* free objects at hand */
};

__thread struct task_struct *kl_current;
struct thr_config thr_config;
bool thr_running;
unsigned int kl_nr_cpus;
__thread unsigned int kl_cpu;
struct sim_task *sim_current;
s64 sim_horizon = NEVER;
u64 sim_switches;

static struct sim_task boot = { .state = SIM_READY, .cpu = SIM_SYSTEM, .irq = true };
static struct vcpu vcpu[SIM_CPUS + 1];
static struct item *heap;
static u32 nr_items, max_items;
static u64 last_number, last_sleep;
static struct sim_task *futex[FUTEXES];	/* sleepers by word */

__attribute__((__constructor__(101))) static void boot_task(void)
{
	sim_current = &boot;
	kl_current = &boot.thr.task;
}

unsigned int sim_cpus(void)
{
	return kl_nr_cpus;
}

ktime_t ktime_get(void)
{
	return sim_current->clock / PS;
}

u64 get_random_u64(void)
{
	static u64 state = 1;

	return state = state * 6364136223846793005ULL + 1442695040888963407ULL;
}

/* ---- the heap ---- */

static bool earlier(const struct item *a, const struct item *b)
{
	return a->at != b->at ? a->at < b->at : a->number < b->number;
}

static void set_horizon(void)
{
	sim_horizon = nr_items ? heap[0].at + AHEAD : NEVER;
}

static void push(struct item e)
{
	u32 i = nr_items++, up;

	if (nr_items > max_items) {
		max_items = 2 * nr_items;
		heap = realloc(heap, max_items * sizeof(*heap));
	}
	e.number = ++last_number;
	for (; i && (up = (i - 1) / 2, earlier(&e, &heap[up])); i = up)
		heap[i] = heap[up];
	heap[i] = e;
	set_horizon();
}

static struct item pop(void)
{
	struct item first = heap[0], last = heap[--nr_items];
	u32 i = 0, down;

	while ((down = 2 * i + 1) < nr_items) {
		if (down + 1 < nr_items && earlier(&heap[down + 1], &heap[down]))
			down++;
		if (!earlier(&heap[down], &last))
			break;
		heap[i] = heap[down];
		i = down;
	}
	heap[i] = last;
	return first;
}

static void push_task(struct sim_task *t)
{
	t->state = SIM_READY;
	push((struct item){ .at = t->clock, .task = t });
}

void sim_event(s64 at, unsigned int cpu, void (*fn)(void *), void *arg)
{
	push((struct item){ .at = at, .fn = fn, .arg = arg, .cpu = cpu });
}

/* ---- the switch ---- */

void sim_swap(void **save, void *load);
asm(".text\n"
    ".globl sim_swap\n"
    ".type sim_swap, @function\n"
    "sim_swap:\n"
    "	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
    "	mov %rsp, (%rdi)\n"
    "	mov %rsi, %rsp\n"
    "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
    "	ret\n"
    ".size sim_swap, .-sim_swap\n");

static void switch_to(struct sim_task *to)
{
	struct sim_task *from = sim_current;

	set_horizon();
	if (to == from)
		return;
	sim_switches++;
	from->reader = kl_reader;
	vcpu[from->cpu].mem = mem_mine;
	sim_current = to;
	kl_current = &to->thr.task;
	kl_reader = to->reader;
	kl_cpu = to->cpu == SIM_SYSTEM ? 0 : to->cpu;
	mem_mine = vcpu[to->cpu].mem;
	sim_swap(&from->sp, to->sp);
}

static void interrupt(struct item *e)
{
	struct vcpu *c = &vcpu[e->cpu];
	struct work *w = malloc(sizeof(*w));

	*w = (struct work){ .at = e->at, .fn = e->fn, .arg = e->arg };
	*c->last = w;
	c->last = &w->next;
	if (c->irq->state != SIM_ASLEEP)
		return;
	c->irq->clock = max(c->irq->clock, e->at);
	push_task(c->irq);
}

/* The current task is in the heap, or waits, or is dead. */
static void run_next(void)
{
	for (;;) {
		struct item e;

		if (!nr_items)
			kl_fail("deadlock: nobody can run, nothing will happen");
		e = pop();
		if (e.task) {
			switch_to(e.task);
			return;
		}
		interrupt(&e);
	}
}

/* ---- CPUs ---- */

static void account(struct sim_task *t)
{
	struct vcpu *c = &vcpu[t->cpu];

	if (t->irq)
		return;
	t->clock += c->lost;
	c->lost = 0;
	t->vruntime += t->clock - t->turn;
	t->turn = t->clock;
	c->vruntime = max(c->vruntime, t->vruntime);
}

static void enqueue(struct sim_task *t)
{
	struct sim_task **p = &vcpu[t->cpu].queue;

	while (*p && (*p)->vruntime <= t->vruntime)
		p = &(*p)->next;
	t->next = *p;
	*p = t;
	t->state = SIM_QUEUED;
}

/* An idle CPU gets a task at a time. */
static void give_cpu(struct sim_task *t, s64 at)
{
	struct vcpu *c = &vcpu[t->cpu];

	c->task = t;
	c->lost = 0;
	t->clock = max(at, c->free);
	t->drain = 0;
	t->turn = t->clock;
	push_task(t);
}

/* The current task has left its CPU at its clock. */
static void next_of_cpu(void)
{
	struct vcpu *c = &vcpu[sim_current->cpu];
	struct sim_task *t = c->queue;

	c->task = NULL;
	c->free = sim_current->clock;
	if (!t)
		return;
	c->queue = t->next;
	give_cpu(t, max(t->since, c->free) + cost_of(cswitch));
}

static bool must_leave(struct sim_task *t)
{
	struct vcpu *c = &vcpu[t->cpu];

	return c->queue && !t->depth &&
	       t->vruntime + (t->clock - t->turn) > c->queue->vruntime + GRANULARITY;
}

void sim_point(void)
{
	struct sim_task *t = sim_current;

	if (!t->irq) {
		t->clock += vcpu[t->cpu].lost;
		vcpu[t->cpu].lost = 0;
		if (must_leave(t)) {
			account(t);
			t->since = t->clock;
			next_of_cpu();
			enqueue(t);
			run_next();
			return;
		}
	}
	if (!nr_items || heap[0].at >= t->clock)
		return;
	push_task(t);
	run_next();
}

void sim_yield(void)
{
	sim_point();
	/* Nobody has a lower clock. */
	set_horizon();
	if (sim_horizon <= sim_current->clock)
		sim_horizon = sim_current->clock + AHEAD;
}

/* ---- locks ---- */

void sim_spin(void)
{
	struct sim_task *t = sim_current;

	t->state = SIM_SPINNING;
	t->since = t->clock;
	run_next();
}

/* A waiter for a mutex lets its CPU go, as another task wants it. */
static void stop_spinning(struct sim_task *t, s64 at)
{
	struct sim_task *current_task = sim_current;

	t->clock = max(t->clock, at);
	account(t);
	t->state = SIM_ASLEEP;
	sim_current = t;
	next_of_cpu();
	sim_current = current_task;
}

bool sim_cpu_wanted(void)
{
	return vcpu[sim_current->cpu].queue;
}

bool sim_owner_runs(const struct sim_task *owner)
{
	return owner->state == SIM_READY || (owner->state == SIM_SPINNING && !owner->in_mutex);
}

void sim_go_on(struct sim_task *t, s64 at)
{
	if (t->state == SIM_ASLEEP) {
		sim_wake(t);
		return;
	}
	t->clock = max(t->clock, at);
	push_task(t);
}

/* ---- sleeping and waking ---- */

static u32 bucket(const void *word)
{
	return ((uintptr_t)word >> 2) * 0x9e3779b97f4a7c15ULL >> 52;
}

static void leave_futex(struct sim_task *t)
{
	struct sim_task **p = &futex[bucket(t->waits_on)];

	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	t->waits_on = NULL;
}

/**
 * struct alarm - the end of a sleep with a time-out
 */
struct alarm {
	struct sim_task	*task;
	u64		sleep;
};

static void ring(void *arg)
{
	struct alarm *a = arg;

	if (a->task->sleep == a->sleep && a->task->state == SIM_ASLEEP)
		sim_wake(a->task);
	free(a);
}

void sim_sleep(const void *word, s64 until, const void *site)
{
	struct sim_task *t = sim_current;
	struct alarm *a;
	s64 begin;

	if (t->depth)
		kl_fail("a task sleeps with a spinlock held");
	t->clock = max(t->clock, t->drain);
	account(t);
	begin = t->clock;
	t->sleep = ++last_sleep;
	t->site = site;
	if (until != NEVER) {
		a = malloc(sizeof(*a));
		*a = (struct alarm){ t, t->sleep };
		sim_event(max(until, t->clock), t->cpu, ring, a);
	}
	t->waits_on = word;
	if (word) {
		t->next = futex[bucket(word)];
		futex[bucket(word)] = t;
	}
	t->state = SIM_ASLEEP;
	if (!t->irq)
		next_of_cpu();
	run_next();
	if (!t->irq)
		prof_add(WHAT_SLEEP, site, word, t->clock - begin);
}

static u32 idle_cpu(u32 prefer)
{
	if (!vcpu[prefer].task && !vcpu[prefer].queue)
		return prefer;
	for (u32 i = 0; i < kl_nr_cpus; i++)
		if (!vcpu[i].task && !vcpu[i].queue)
			return i;
	return prefer;
}

void sim_wake(struct sim_task *t)
{
	struct sim_task *waker = sim_current;
	struct vcpu *c;

	if (t->state != SIM_ASLEEP && t->state != SIM_NEW)
		return;
	if (t->waits_on)
		leave_futex(t);
	waker->clock += cost_of(wake);
	if (t->irq) {
		t->clock = max(t->clock, waker->clock);
		push_task(t);
		return;
	}
	if (!t->pinned && t->cpu != SIM_SYSTEM)
		t->cpu = idle_cpu(t->cpu);
	c = &vcpu[t->cpu];
	t->vruntime = max(t->vruntime, c->vruntime - SLEEPER_BONUS);
	t->since = waker->clock;
	if (!c->task && !c->queue) {
		give_cpu(t, waker->clock + (t->cpu == waker->cpu ? cost_of(cswitch) :
						 cost_of(latency)));
		return;
	}
	enqueue(t);
	if (c->task && c->task->state == SIM_SPINNING && c->task->in_mutex)
		stop_spinning(c->task, waker->clock);
}

#pragma GCC diagnostic ignored "-Wframe-address"
/* Its caller is the layer's; who called that is what the profile shows. */
void thr_futex_wait(int *word, int value, s64 ns)
{
	sim_point();
	if (*(volatile int *)word != value)
		return;
	sim_sleep(word, ns < 0 ? NEVER : sim_current->clock + ns * PS,
		  __builtin_return_address(1));
}

void thr_futex_wake(int *word, int nr)
{
	struct sim_task *t, *next, *woken[64];
	int n = 0;

	for (t = futex[bucket(word)]; t && n < min(nr, 64); t = next) {
		next = t->next;
		if (t->waits_on == word)
			woken[n++] = t;
	}
	while (n)
		sim_wake(woken[--n]);
}

void thr_sleep_ns(s64 ns)
{
	sim_sleep(NULL, sim_current->clock + ns * PS, __builtin_return_address(0));
}

/* ---- births and deaths ---- */

static void task_main(void)
{
	struct sim_task *t = sim_current;

	t->thr.ret = t->thr.fn(t->thr.arg);
	t = sim_current;
	account(t);
	t->thr.started = false;
	t->state = SIM_DEAD;
	thr_futex_wake(&t->thr.ret, 64);
	next_of_cpu();
	run_next();
	abort();
}

static struct sim_task *new_task(int (*fn)(void *), void *arg, unsigned int cpu)
{
	struct sim_task *t = sim_arena(SIM_LINE, sizeof(*t));
	void **sp = (void **)((char *)sim_arena(4096, STACK_BYTES) + STACK_BYTES);

	t->thr.fn = fn;
	t->thr.arg = arg;
	t->cpu = cpu;
	t->state = SIM_NEW;
	*--sp = NULL;			/* where task_main() would return to */
	*--sp = (void *)task_main;
	t->sp = sp - 6;			/* registers that sim_swap() pops */
	return t;
}

struct sim_task *sim_spawn(int (*fn)(void *), void *arg, const char *name, unsigned int cpu)
{
	struct sim_task *t = new_task(fn, arg, cpu);

	strncpy(t->thr.task.comm, name, sizeof(t->thr.task.comm) - 1);
	t->pinned = true;
	t->clock = sim_current->clock;
	sim_wake(t);
	return t;
}

int thr_join(struct thr_task *task)
{
	struct sim_task *t = (struct sim_task *)task;

	while (t->state != SIM_DEAD)
		sim_sleep(&t->thr.ret, NEVER, NULL);
	return t->thr.ret;
}

struct task_struct *kthread_create(int (*fn)(void *), void *arg, const char *fmt, ...)
{
	struct sim_task *t = new_task(fn, arg, 0);
	va_list ap;

	va_start(ap, fmt);
	kl_vsnprintf(t->thr.task.comm, sizeof(t->thr.task.comm), fmt, ap);
	va_end(ap);
	return &t->thr.task;
}

/* The current task goes on on another CPU. */
static void move_to(u32 cpu)
{
	struct sim_task *t = sim_current;
	struct vcpu *c = &vcpu[cpu];

	account(t);
	t->since = t->clock;
	next_of_cpu();
	t->cpu = cpu;
	if (!c->task && !c->queue)
		give_cpu(t, t->clock + cost_of(latency));
	else
		enqueue(t);
	run_next();
}

int set_cpus_allowed_ptr(struct task_struct *task, unsigned int cpu)
{
	struct sim_task *t = (struct sim_task *)task;

	t->pinned = cpu != KL_ANY_CPU;
	if (!t->pinned || t->cpu == cpu)
		return 0;
	if (t->state == SIM_NEW || t->state == SIM_ASLEEP)
		t->cpu = cpu;
	else if (t == sim_current)
		move_to(cpu);
	return 0;
}

bool kthread_should_stop(void)
{
	return sim_current->thr.should_stop;
}

int kthread_stop(struct task_struct *task)
{
	((struct sim_task *)task)->thr.should_stop = true;
	wake_up_process(task);
	return thr_join((struct thr_task *)task);
}

int cond_resched(void)
{
	sim_point();
	return 0;
}

/* What interrupts of a CPU do, one after the other. */
static int interrupts(void *arg)
{
	struct vcpu *c = arg;

	for (;;) {
		struct sim_task *t = sim_current;
		struct work *w = c->first;
		s64 begin;

		if (!w) {
			t->state = SIM_ASLEEP;
			run_next();
			continue;
		}
		c->first = w->next;
		if (!c->first)
			c->last = &c->first;
		begin = t->clock = max(t->clock, w->at);
		if (t->cpu != SIM_SYSTEM)
			t->clock += cost_of(interrupt);
		w->fn(w->arg);
		free(w);
		t->clock = max(t->clock, t->drain);
		c->lost += c->task ? t->clock - begin : 0;
	}
	return 0;
}

void sim_machine_start(unsigned int cpus)
{
	kl_nr_cpus = cpus;
	boot.clock = 1000000000 * PS;
	for (u32 i = 0; i <= SIM_CPUS; i++) {
		vcpu[i].last = &vcpu[i].first;
		if (i >= cpus && i != SIM_SYSTEM)
			continue;
		vcpu[i].irq = new_task(interrupts, &vcpu[i], i);
		vcpu[i].irq->irq = true;
		vcpu[i].irq->state = SIM_ASLEEP;
	}
	thr_running = true;
	sim_system_start();
}
