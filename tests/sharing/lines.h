/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zjsharing: counts the cache lines that a journal moves between cores.
 *
 * src/ and its layer are compiled with the compiler's hooks of the thread sanitizer, which
 * lines.c defines in place of the sanitizer's library.  So each load and store is looked up in a
 * directory of lines that knows which core has which, in caches without an end: a line is moved
 * only because another core has used it, never for want of room.
 *
 *   lines.c    the directory, what moved    hooks.c  the compiler's hooks, the allocator's
 *   sharing.c  handles, one at a time, so that every line that is shared is seen to move
 *
 * The layer is that of bench/core.  A worker is its core, and so is the thread of its lane;
 * every other thread is a core of its own.
 */
#ifndef ZJ_TESTS_SHARING_LINES_H
#define ZJ_TESTS_SHARING_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_CORES	64u
#define MAX_WORKERS	16u	/* cores 0 ... of workers, then those of other threads */

/* What is being done; moves are counted apart for each. */
enum phase { PHASE_NONE, PHASE_HANDLES, PHASE_BETWEEN, NR_PHASES };

void lines_phase(enum phase phase);
/* The calling thread's accesses are those of this core; is it a worker, or its lane's thread? */
void lines_core(unsigned int core, bool worker);
/* The calling thread's core; one of its own, unless lines_core() was called. */
unsigned int lines_my_core(void);

/* @n bytes are read or written by the code at @pc. */
void lines_access(const void *p, size_t n, bool write, const void *pc);
/* A new object; @class: the code that has allocated it. What was before is the allocator's. */
void lines_object(const void *p, size_t n, const void *class);
/* One row of JSON for each place in the code and line that moved. */
void lines_print(void);

#endif
