// SPDX-License-Identifier: GPL-2.0-only
/* Futexes, and the layer's own locks by futex. */
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include "threads.h"

#define SPINS	50	/* looks at a lock before sleeping on it */

/* @ns: at most so long; negative: for ever. May return for no reason. */
void thr_futex_wait(int *word, int value, s64 ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value,
		ns < 0 ? NULL : &ts, NULL, 0);
}

void thr_futex_wake(int *word, int nr)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, nr, NULL, NULL, 0);
}

/* 0: free, 1: held, 2: held and waited for. */
void thr_lock(int *word)
{
	int was = 0;

	for (int i = 0; i < SPINS; i++) {
		was = 0;
		if (__atomic_compare_exchange_n(word, &was, 1, false,
						__ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return;
	}
	while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE))
		thr_futex_wait(word, 2, -1);
}

void thr_unlock(int *word)
{
	/* The memory behind it is not read any more after the exchange. */
	if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
		thr_futex_wake(word, 1);
}
