// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks and their order.
 *
 * The order of locks is learned: a task that takes class B while it holds class A shows
 * that A comes before B. A cycle is a failure, whether or not it deadlocks now.
 */
#include <sched.h>
#include <klayer/bug.h>
#include <linux/bit_spinlock.h>
#include <linux/spinlock.h>
#include "threads.h"

#define MAX_CLASSES	64

/* ---- order ---- */

static struct kl_class *classes[MAX_CLASSES];
static int nr_classes;
static u64 before[MAX_CLASSES];	/* bit b of [a]: a is taken before b; atomic */
static int order_lock;

static int class_id(struct kl_class *c)
{
	int id = __atomic_load_n(&c->id, __ATOMIC_ACQUIRE);

	if (id)
		return id;
	thr_lock(&order_lock);
	if (!c->id) {
		if (nr_classes == MAX_CLASSES - 1)
			kl_fail("too many lock classes");
		classes[++nr_classes] = c;
		__atomic_store_n(&c->id, nr_classes, __ATOMIC_RELEASE);
	}
	id = c->id;
	thr_unlock(&order_lock);
	return id;
}

static u64 after(int a)
{
	return __atomic_load_n(&before[a], __ATOMIC_RELAXED);
}

static void learn(int a, int b)
{
	thr_lock(&order_lock);
	if (a == b || after(b) & (1ULL << a))
		kl_fail("lock order: %s is taken under %s, elsewhere the other way round",
			classes[b]->name, classes[a]->name);
	for (int i = 1; i <= nr_classes; i++)
		if (i == a || after(i) & (1ULL << a))
			__atomic_store_n(&before[i],
					 after(i) | after(b) | 1ULL << b,
					 __ATOMIC_RELAXED);
	thr_unlock(&order_lock);
}

/* Checked before it waits, so that a cycle is reported instead of a deadlock. */
static void check_order(int id)
{
	struct thr_task *t = thr_current;

	for (int i = 0; i < t->nr_held; i++) {
		int a = class_id(t->held[i]->class);

		if (!(after(a) & (1ULL << id)))
			learn(a, id);
	}
}

static struct task_struct *owner_of(const struct kl_lock *l)
{
	return __atomic_load_n(&l->owner, __ATOMIC_RELAXED);
}

static void push_held(struct kl_lock *l)
{
	struct thr_task *t = thr_current;

	if (t->nr_held == THR_MAX_HELD)
		kl_fail("too many locks held");
	t->held[t->nr_held++] = l;
	__atomic_store_n(&l->owner, &t->task, __ATOMIC_RELAXED);
}

static void pop_held(struct kl_lock *l)
{
	struct thr_task *t = thr_current;
	struct task_struct *owner = owner_of(l);
	int i = t->nr_held;

	if (owner != &t->task)
		kl_fail("%s is unlocked by %s, who does not hold it",
			l->class ? l->class->name : "a lock", t->task.comm);
	while (t->held[--i] != l)
		;
	for (t->nr_held--; i < t->nr_held; i++)
		t->held[i] = t->held[i + 1];
	__atomic_store_n(&l->owner, NULL, __ATOMIC_RELAXED);
}

/* ---- spinlocks and mutexes ---- */

void kl_lock_init(struct kl_lock *l, struct kl_class *class)
{
	class_id(class);
	*l = (struct kl_lock){ .class = class };
}

static void take(struct kl_lock *l)
{
	if (!l->class)
		kl_fail("a lock was not initialised");
	if (owner_of(l) == kl_current)
		kl_fail("%s is taken twice", l->class->name);
	check_order(class_id(l->class));
	thr_lock(&l->waiters);
	push_held(l);
}

void kl_spin_lock(struct kl_lock *l)
{
	kl_point();
	/* Tasks take them with interrupts on. */
	if (thr_current->in_irq)
		kl_fail("an interrupt takes %s", l->class->name);
	thr_rcu_enter();
	thr_current->spin_depth++;
	take(l);
	kl_point();
}

void kl_spin_unlock(struct kl_lock *l)
{
	kl_point();
	pop_held(l);
	thr_unlock(&l->waiters);
	thr_current->spin_depth--;
	thr_rcu_leave();
	kl_point();
}

void kl_mutex_lock(struct kl_lock *l)
{
	kl_point();
	take(l);
	kl_point();
}

void kl_mutex_unlock(struct kl_lock *l)
{
	kl_point();
	pop_held(l);
	thr_unlock(&l->waiters);
	kl_point();
}

bool kl_lock_held(const struct kl_lock *l)
{
	return owner_of(l) == kl_current;
}

void kl_assert_held(const struct kl_lock *l, const char *where, const char *what)
{
	if (!kl_lock_held(l))
		kl_fail("%s: %s is not held by %s", where, what, kl_current->comm);
}

void kl_might_sleep(const char *file, int line)
{
	struct thr_task *t = thr_current;

	if (!t)
		return;
	if (t->in_irq)
		kl_fail("%s:%d: an interrupt may sleep", file, line);
	if (t->spin_depth)
		kl_fail("%s:%d: may sleep under %s", file, line,
			t->nr_held ? t->held[t->nr_held - 1]->class->name :
			"a bit spinlock");
	if (t->rcu_depth)
		kl_fail("%s:%d: may sleep in an RCU read section", file, line);
	kl_point();
}

/* ---- bit spinlocks ---- */

/* One class for all bit spinlocks: they nest only in spinlocks of other classes. */
static struct kl_class bit_class = { .name = "bit spinlock" };

void bit_spin_lock(int bit, unsigned long *word)
{
	unsigned long mask = 1UL << bit;

	kl_point();
	thr_rcu_enter();
	thr_current->spin_depth++;
	check_order(class_id(&bit_class));
	while (__atomic_fetch_or(word, mask, __ATOMIC_ACQUIRE) & mask)
		sched_yield();
	kl_point();
}

void bit_spin_unlock(int bit, unsigned long *word)
{
	unsigned long mask = 1UL << bit;

	kl_point();
	if (!(__atomic_fetch_and(word, ~mask, __ATOMIC_RELEASE) & mask))
		kl_fail("bit spinlock is not held");
	thr_current->spin_depth--;
	thr_rcu_leave();
	kl_point();
}
