// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks, waiting and RCU.
 *
 * The order of locks is learned: a task that takes class B while it holds class A shows
 * that A comes before B. A cycle is a failure, whether or not it deadlocks now.
 */
#include <stdio.h>
#include <string.h>
#include <klayer/bug.h>
#include <linux/bit_spinlock.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include "sim.h"

#define MAX_CLASSES	64

wait_queue_head_t kl_var_queue = { LIST_HEAD_INIT(kl_var_queue.head) };

static struct kl_class *classes[MAX_CLASSES + 1];
static int nr_classes;
static u64 before[MAX_CLASSES + 1];	/* bit b of [a]: a is taken before b */

/* ---- order ---- */

static void class_id(struct kl_class *c)
{
	if (c->id)
		return;
	if (nr_classes == MAX_CLASSES - 1)
		kl_fail("too many lock classes");
	c->id = ++nr_classes;
	classes[c->id] = c;
}

static void learn(int a, int b)
{
	if (a == b || before[b] & (1ULL << a))
		kl_fail("lock order: %s is taken under %s, elsewhere the other way round",
			classes[b]->name, classes[a]->name);
	for (int i = 1; i <= nr_classes; i++)
		if (i == a || before[i] & (1ULL << a))
			before[i] |= before[b] | (1ULL << b);
}

static void push_held(struct kl_lock *l)
{
	struct sim_task *t = sim_current;

	for (int i = 0; i < t->nr_held; i++) {
		int a = t->held[i]->class->id;

		if (!(before[a] & (1ULL << l->class->id)))
			learn(a, l->class->id);
	}
	if (t->nr_held == SIM_MAX_HELD)
		kl_fail("too many locks held");
	t->held[t->nr_held++] = l;
	l->owner = &t->task;
}

static void pop_held(struct kl_lock *l)
{
	struct sim_task *t = sim_current;
	int i = t->nr_held;

	if (l->owner != &t->task)
		kl_fail("%s is unlocked by %s, held by %s", l->class->name,
			t->task.comm, l->owner ? l->owner->comm : "nobody");
	while (t->held[--i] != l)
		;
	for (t->nr_held--; i < t->nr_held; i++)
		t->held[i] = t->held[i + 1];
	l->owner = NULL;
}

void kl_lock_init(struct kl_lock *l, struct kl_class *class)
{
	class_id(class);
	*l = (struct kl_lock){ .class = class };
}

void sim_locks_reset(void)
{
	INIT_LIST_HEAD(&kl_var_queue.head);
}

/* ---- taking and giving ---- */

static void wait_for(struct kl_lock *l)
{
	struct sim_task *t = sim_current;

	if (!l->class)
		kl_fail("a lock was not initialised");
	if (l->owner == &t->task)
		kl_fail("%s is taken twice", l->class->name);
	if (l->owner && sim_in_irq)
		kl_fail("an interrupt spins on %s", l->class->name);
	while (l->owner) {
		l->waiters++;
		t->spins_on = l;
		sim_reschedule(SIM_SPINNING);
	}
}

void kl_spin_lock(struct kl_lock *l)
{
	if (sim_stopped)
		return;
	kl_point();
	sim_rcu_enter();
	sim_current->spin_depth++;
	wait_for(l);
	push_held(l);
	kl_point();
}

void kl_spin_unlock(struct kl_lock *l)
{
	if (sim_stopped)
		return;
	kl_point();
	pop_held(l);
	if (l->waiters) {
		l->waiters = 0;
		sim_wake_spinners(l);
	}
	sim_current->spin_depth--;
	sim_rcu_leave();
	kl_point();
}

void kl_mutex_lock(struct kl_lock *l)
{
	kl_point();
	wait_for(l);
	push_held(l);
	kl_point();
}

void kl_mutex_unlock(struct kl_lock *l)
{
	kl_point();
	pop_held(l);
	if (l->waiters) {
		l->waiters = 0;
		sim_wake_spinners(l);
	}
	kl_point();
}

bool kl_lock_held(const struct kl_lock *l)
{
	return l->owner == kl_current;
}

void kl_assert_held(const struct kl_lock *l, const char *where, const char *what)
{
	if (l->owner != kl_current && !sim_stopped)
		kl_fail("%s: %s is not held by %s", where, what, kl_current->comm);
}

void kl_might_sleep(const char *file, int line)
{
	struct sim_task *t = sim_current;

	if (!sim_running)
		return;
	if (sim_in_irq)
		kl_fail("%s:%d: an interrupt may sleep", file, line);
	if (t->spin_depth)
		kl_fail("%s:%d: may sleep under %s", file, line,
			t->nr_held ? t->held[t->nr_held - 1]->class->name :
			"a bit spinlock");
	if (t->rcu_depth)
		kl_fail("%s:%d: may sleep in an RCU read section", file, line);
	kl_point();
}

/* One class for all bit spinlocks: they nest only in spinlocks of other classes. */
static struct kl_class bit_class = { .name = "bit spinlock" };

void bit_spin_lock(int bit, unsigned long *word)
{
	struct sim_task *t = sim_current;

	kl_point();
	class_id(&bit_class);
	sim_rcu_enter();
	t->spin_depth++;
	while (*word & (1UL << bit)) {
		t->spins_on = word;
		sim_reschedule(SIM_SPINNING);
	}
	*word |= 1UL << bit;
	for (int i = 0; i < t->nr_held; i++)
		if (!(before[t->held[i]->class->id] & (1ULL << bit_class.id)))
			learn(t->held[i]->class->id, bit_class.id);
	kl_point();
}

void bit_spin_unlock(int bit, unsigned long *word)
{
	kl_point();
	if (!(*word & (1UL << bit)))
		kl_fail("bit spinlock is not held");
	*word &= ~(1UL << bit);
	sim_wake_spinners(word);
	sim_current->spin_depth--;
	sim_rcu_leave();
	kl_point();
}

/* ---- waiting ---- */

void kl_wait_prepare(wait_queue_head_t *wq, struct kl_wait *wait, void *key)
{
	kl_point();
	wait->task = kl_current;
	wait->key = key;
	if (!wq->head.next)
		kl_fail("a wait queue was not initialised");
	/* First time round, or a wake-up has taken it off. */
	if (!wait->link.next || list_empty(&wait->link))
		list_add_tail(&wait->link, &wq->head);
	sim_current->sleepy = true;
	kl_point();
}

void kl_wait_finish(struct kl_wait *wait)
{
	sim_current->sleepy = false;
	if (wait->link.next && !list_empty(&wait->link))
		list_del_init(&wait->link);
	kl_point();
}

static void alarm_fires(void *arg, u64 number)
{
	struct sim_task *t = arg;

	if (t->alarm == number) {
		t->alarm = 0;
		sim_wake(t);
	}
}

s64 kl_wait_sleep(s64 timeout)
{
	struct sim_task *t = sim_current;
	s64 end = 0;

	might_sleep();
	if (timeout != KL_FOREVER) {
		end = sim_now + timeout;
		t->alarm = sim_event(end - sim_now, alarm_fires, t);
	}
	if (t->sleepy)
		sim_reschedule(SIM_ASLEEP);
	t->sleepy = false;
	t->alarm = 0;
	if (timeout == KL_FOREVER)
		return timeout;
	return max_t(s64, 0, end - sim_now);
}

long schedule_timeout_uninterruptible(long timeout)
{
	sim_current->sleepy = true;
	return kl_wait_sleep(timeout * NSEC_PER_JIFFY) / NSEC_PER_JIFFY;
}

void kl_wake(wait_queue_head_t *wq, void *key)
{
	struct kl_wait *wait, *tmp;

	kl_point();
	if (!wq->head.next)
		return;
	list_for_each_entry_safe(wait, tmp, &wq->head, link) {
		if (key && wait->key != key)
			continue;
		list_del_init(&wait->link);
		sim_wake((struct sim_task *)wait->task);
	}
	kl_point();
}

/* A task may join the queue, or leave it, before the caller acts on the answer. */
bool waitqueue_active(wait_queue_head_t *wq)
{
	bool active;

	kl_point();
	active = wq->head.next && !list_empty(&wq->head);
	kl_point();
	return active;
}

/* ---- RCU ---- */

static int readers[2];		/* in a section, by the side they entered on */
static int side;		/* that new readers enter on */
static struct rcu_head *waiting;	/* for readers[!side] to be none */
static struct rcu_head *next;	/* for the grace period after that */

static void free_all(struct rcu_head *head)
{
	while (head) {
		struct rcu_head *n = head->next;

		sim_free(head->object);
		head = n;
	}
}

static void advance(void)
{
	while (!readers[!side]) {
		struct rcu_head *done = waiting;

		waiting = next;
		next = NULL;
		if (waiting)
			side = !side;
		free_all(done);
		if (!waiting)
			return;
	}
}

void sim_rcu_enter(void)
{
	struct sim_task *t = sim_current;

	if (t->rcu_nest++)
		return;
	t->rcu_side = side;
	readers[side]++;
}

void sim_rcu_leave(void)
{
	struct sim_task *t = sim_current;

	if (--t->rcu_nest)
		return;
	readers[t->rcu_side]--;
	if (waiting || next)
		advance();
}

void rcu_read_lock(void)
{
	kl_point();
	sim_current->rcu_depth++;
	sim_rcu_enter();
}

void rcu_read_unlock(void)
{
	if (!sim_current->rcu_depth)
		kl_fail("RCU read section ends that did not begin");
	kl_point();
	sim_current->rcu_depth--;
	sim_rcu_leave();
}

void kl_kfree_rcu(struct rcu_head *head, void *object)
{
	kl_point();
	head->object = object;
	head->next = next;
	next = head;
	advance();
}

void kl_assert_rcu(const char *where, bool held)
{
	/* A spinlock is a section, too. */
	if (!held && !sim_current->rcu_nest && !sim_stopped)
		kl_fail("%s: a walk outside of an RCU read section", where);
}

void rcu_barrier(void)
{
	might_sleep();
	sim_rcu_drain();
}

void sim_rcu_drain(void)
{
	if (sim_in_irq)
		return;
	for (int i = 0; waiting || next; i++) {
		advance();
		if (i > 1000000)
			kl_fail("an RCU read section does not end");
		if (waiting || next)
			kl_switch();
	}
}
