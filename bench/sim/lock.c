// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks in virtual time.  A lock that is free costs a locked instruction on its line; one
 * that is held is handed to the next in the queue when it is released, after the transfer
 * of the line.
 */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <klayer/bug.h>
#include <linux/minmax.h>
#include <linux/wait.h>
#include "sim.h"

#define BUCKETS		(1u << 14)

enum { EXCLUSIVE, READER };

/**
 * struct held - a lock that has waiters, or an owner who must be known
 */
struct held {
	struct held	*next;		/* of its bucket */
	const void	*word;
	struct sim_task	*owner;		/* mutexes */
	struct sim_task	*first, **last;	/* waiters, by their next */
};

static struct held *buckets[BUCKETS];
static struct held *spare;

static struct held **place(const void *word)
{
	struct held **p = &buckets[((uintptr_t)word >> 2) * 0x9e3779b97f4a7c15ULL >> 50];

	while (*p && (*p)->word != word)
		p = &(*p)->next;
	return p;
}

static struct held *get(const void *word)
{
	struct held **p = place(word), *h = *p;

	if (h)
		return h;
	h = spare ?: calloc(1, sizeof(*h));
	spare = h == spare ? h->next : spare;
	*h = (struct held){ .word = word };
	h->last = &h->first;
	return *p = h;
}

static void put(const void *word)
{
	struct held **p = place(word), *h = *p;

	if (!h || h->first || h->owner)
		return;
	*p = h->next;
	h->next = spare;
	spare = h;
}

/* The current task waits until it is given the lock. */
static void wait_for(const void *word, int kind, const void *site)
{
	struct sim_task *t = sim_current;
	struct held *h = get(word);
	s64 begin = t->clock;

	t->next = NULL;
	t->kind = kind;
	*h->last = t;
	h->last = &t->next;
	sim_spin();
	prof_add(WHAT_LOCK, site, word, t->clock - begin);
}

static struct sim_task *next_waiter(struct held *h)
{
	struct sim_task *t = h->first;

	h->first = t->next;
	if (!h->first)
		h->last = &h->first;
	return t;
}

static bool waited_for(const void *word)
{
	struct held *h = *place(word);

	return h && h->first;
}

/* When what the current task has done under the lock is visible. */
static s64 released(void)
{
	return max(sim_current->clock, sim_current->drain);
}

static s64 hand_over(const void *word, struct sim_task *t, s64 at)
{
	at += sim_transfer();
	sim_line_to(word, t->cpu, at);
	sim_go_on(t, at);
	return at;
}

/* ---- spinlocks ---- */

/* The current task has it now. */
static void note_taken(const void *word)
{
	struct sim_task *t = sim_current;

	if (t->nr_held == SIM_MAX_HELD)
		kl_fail("too many locks held");
	t->held[t->nr_held].word = word;
	t->held[t->nr_held++].since = t->clock;
}

static void note_released(const void *word)
{
	struct sim_task *t = sim_current;
	u32 i = t->nr_held;

	while (i && t->held[i - 1].word != word)
		i--;
	if (!i)
		kl_fail("a lock is released that the task has not taken");
	prof_held(word, released() - t->held[i - 1].since);
	for (t->nr_held--; i <= t->nr_held; i++)
		t->held[i - 1] = t->held[i];
}

static void lock_at(int *word, const void *site)
{
	sim_current->depth++;
	sim_rmw(word, site);
	if (*word)
		wait_for(word, EXCLUSIVE, site);
	*word = 1;
	note_taken(word);
}

/* Hands a word over to its first waiter, if there is one. */
static bool hand_on(const void *word)
{
	struct sim_task *t;

	if (!waited_for(word))
		return false;
	t = next_waiter(get(word));
	put(word);
	hand_over(word, t, released());
	return true;
}

static void unlock_at(int *word, const void *site)
{
	if (!*word)
		kl_fail("a lock is released that nobody holds");
	sim_touch(word, sizeof(*word), true, site);
	sim_spend(cost_of(access));
	note_released(word);
	sim_current->depth--;
	/* Who comes before this in virtual time has to find it held. */
	if (hand_on(word))
		return;
	*word = 0;
}

void sim_spin_lock(int *word)
{
	lock_at(word, __builtin_return_address(0));
}

void sim_spin_unlock(int *word)
{
	unlock_at(word, __builtin_return_address(0));
}

#pragma GCC diagnostic ignored "-Wframe-address"
/*
 * Of wait queues and other parts of the layer, which are spinlocks in the kernel. The profile
 * shows who called the layer.
 */
void thr_lock(int *word)
{
	lock_at(word, __builtin_return_address(1));
}

void thr_unlock(int *word)
{
	unlock_at(word, __builtin_return_address(1));
}

/* Shared by all bits of a word. */
void bit_spin_lock(int bit, unsigned long *word)
{
	const void *site = __builtin_return_address(0);

	sim_current->depth++;
	sim_rmw(word, site);
	if (!(*word >> bit & 1)) {
		*word |= 1UL << bit;
		return;
	}
	wait_for(word, EXCLUSIVE, site);
}

void bit_spin_unlock(int bit, unsigned long *word)
{
	sim_rmw(word, __builtin_return_address(0));
	sim_current->depth--;
	if (hand_on(word))
		return;
	*word &= ~(1UL << bit);
}

/* ---- rwlocks: in order of arrival, as the kernel's ---- */

static void grant(int *word)
{
	struct held *h = get(word);
	s64 at = released();

	while (h->first && !(*word && h->first->kind == EXCLUSIVE) && *word >= 0) {
		struct sim_task *t = next_waiter(h);

		*word = t->kind == EXCLUSIVE ? -1 : *word + 1;
		at = hand_over(word, t, at);
	}
	put(word);
}

void sim_read_lock(int *word)
{
	sim_current->depth++;
	sim_rmw(word, __builtin_return_address(0));
	if (*word >= 0 && !waited_for(word))
		++*word;
	else
		wait_for(word, READER, __builtin_return_address(0));
	note_taken(word);
}

void sim_read_unlock(int *word)
{
	if (*word <= 0)
		kl_fail("a reader's lock is released that nobody holds");
	sim_rmw(word, __builtin_return_address(0));
	note_released(word);
	sim_current->depth--;
	--*word;
	if (waited_for(word))
		grant(word);
}

void sim_write_lock(int *word)
{
	sim_current->depth++;
	sim_rmw(word, __builtin_return_address(0));
	if (!*word && !waited_for(word))
		*word = -1;
	else
		wait_for(word, EXCLUSIVE, __builtin_return_address(0));
	note_taken(word);
}

void sim_write_unlock(int *word)
{
	sim_touch(word, sizeof(*word), true, __builtin_return_address(0));
	sim_spend(cost_of(access));
	note_released(word);
	sim_current->depth--;
	*word = 0;
	if (waited_for(word))
		grant(word);
}

/* ---- mutexes ---- */

/* A sleeper that has waited so long is given the lock, as the kernel's rwsem does. */
#define HAND_OFF	(4000000 * PS)

/* Puts the current task into the queue: at the front if it was there already. */
static void queue_up(struct held *h, bool again)
{
	struct sim_task *t = sim_current;

	t->kind = EXCLUSIVE;
	if (again) {
		t->next = h->first;
		h->first = t;
		if (!t->next)
			h->last = &t->next;
	} else {
		t->next = NULL;
		*h->last = t;
		h->last = &t->next;
	}
}

static void take_out(struct held *h, struct sim_task *t)
{
	struct sim_task **p = &h->first;

	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	if (!*p)
		h->last = p;
}

/* Whoever spins takes it before a sleeper wakes up. */
static struct sim_task *heir(const struct held *h)
{
	struct sim_task *t = h->first;

	if (released() - t->wants_since > HAND_OFF)
		return t;
	while (t && !(t->state == SIM_SPINNING && t->in_mutex))
		t = t->next;
	return t;
}

/* A writer of an rwsem: who comes while the lock is free takes it, and a sleeper tries again. */
void sim_mutex_lock(int *word)
{
	struct sim_task *t = sim_current;
	bool again = false;
	struct held *h;

	t->wants_since = t->clock;
	for (;;) {
		sim_rmw(word, __builtin_return_address(0));
		h = get(word);
		if (!*word) {
			*word = 1;
			h->owner = t;
			break;
		}
		queue_up(h, again);
		again = true;
		if (sim_owner_runs(h->owner) && !sim_cpu_wanted()) {
			t->in_mutex = true;
			sim_spin();
			t->in_mutex = false;
		} else {
			/* No futex: the queue of the mutex is the one that it is in. */
			sim_sleep(NULL, LLONG_MAX, NULL);
		}
		if (get(word)->owner == t)
			break;
	}
	prof_add(WHAT_LOCK, __builtin_return_address(0), word, t->clock - t->wants_since);
}

void sim_mutex_unlock(int *word)
{
	struct held *h = get(word);
	struct sim_task *t;

	sim_rmw(word, __builtin_return_address(0));
	h->owner = NULL;
	if (!h->first) {
		*word = 0;
		put(word);
		return;
	}
	t = heir(h);
	if (t) {
		h->owner = t;
		take_out(h, t);
	} else {
		*word = 0;
		t = next_waiter(h);
	}
	hand_over(word, t, released());
	put(word);
}

void sim_lock_name(const void *word, const char *name)
{
	prof_name(word, name);
}
