// SPDX-License-Identifier: GPL-2.0-only
/*
 * What costs CPU time, in virtual time: the file system's work in a handle, and
 * cache lines that another CPU wrote last, where a journal writes to them with a
 * spinlock, an atomic or a reference count (cost.h).  A line goes from CPU to CPU
 * one at a time, so CPUs queue for it.  Nothing else costs: a task computes in no
 * time and never waits for a CPU; plain stores and all reads are free.
 *
 * Readers of a rwlock exclude each other in the simulator; their lock's
 * line moves just as well.
 */
#include "yard.h"
#include "cost.h"

#define LINES	(1u << 20)	/* places for lines; a power of two */

#define NO_CPU	(~0u)

/**
 * struct line - a cache line
 */
struct line {
	uintptr_t	number;
	unsigned int	cpu;	/* that wrote it last */
	s64		free;	/* when it has arrived there */
};

/**
 * struct alarm - when a task goes on
 */
struct alarm {
	bool	rung;
};

static struct line lines[LINES];
static u32 nr_lines;
static bool lines_cost;

void cpu_lines_cost(bool on)
{
	lines_cost = on;
	nr_lines = 0;
	memset(lines, 0, sizeof(lines));
}

/*
 * Exact: what a line costs must not depend on where other memory happens to lie.
 * Returns a line of no CPU if it was not seen before.
 */
static struct line *line_of(const void *p)
{
	uintptr_t number = (uintptr_t)p / 64;
	u32 at = number * 0x9e3779b97f4a7c15ULL >> 44;

	while (lines[at % LINES].number && lines[at % LINES].number != number)
		at++;
	if (!lines[at % LINES].number) {
		if (++nr_lines > LINES / 2)
			kl_fail("too many cache lines: make the run shorter with --ms");
		lines[at % LINES] = (struct line){ .number = number, .cpu = NO_CPU };
	}
	return &lines[at % LINES];
}

static void ring(void *arg, u64 number)
{
	((struct alarm *)arg)->rung = true;
	sim_wake_spinners(arg);
}

/* May hold spinlocks: others spin meanwhile. */
static void spend(s64 ns)
{
	struct sim_task *t = sim_current;
	struct alarm alarm = { };

	if (ns <= 0)
		return;
	sim_event(ns, ring, &alarm);
	while (!alarm.rung) {
		t->spins_on = &alarm;
		/* sim_reschedule() lets 100 ns pass for all CPUs: not here. */
		sim_now -= 100;
		sim_reschedule(SIM_SPINNING);
	}
}

void nap(s64 ns)
{
	might_sleep();
	spend(ns);
}

void cpu_writes(const void *p)
{
	unsigned int cpu = sim_current->cpu;
	struct line *line;

	if (!lines_cost || sim_in_irq)
		return;
	line = line_of(p);
	if (line->cpu != cpu && line->cpu != NO_CPU) {
		line->free = max(line->free, sim_now) + yard.line;
		line->cpu = cpu;
		spend(line->free - sim_now);
	}
	line->cpu = cpu;
}
