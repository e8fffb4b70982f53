// SPDX-License-Identifier: GPL-2.0-only
/* Messages, failures, xarray. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/xarray.h>
#include <klayer/bug.h>
#include "sim.h"
#undef snprintf

const char kl_disk_name[] = "sim";
char sim_what[128];
int sim_verbose = 3;
void (*sim_report)(void);
bool sim_stopped;

/* ---- messages ---- */

void kl_printk(int level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (level >= sim_verbose)
		return;
	va_start(ap, fmt);
	kl_vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "[%10.6f] %s", sim_now / 1e9, line);
}

/* Once: the report itself may fail, as it looks at what is broken. */
static void report(void)
{
	if (!sim_running || sim_stopped)
		return;
	sim_print_tasks();
	sim_running = false;
	sim_stopped = true;
	if (sim_report)
		sim_report();
}

void kl_fail(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	kl_vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fflush(stdout);
	fprintf(stderr, "FAIL %s: %s (task %s, time %.6f)\n", sim_what, line,
		kl_current ? kl_current->comm : "-", sim_now / 1e9);
	report();
	if (getenv("SIM_ABORT"))
		abort();
	_Exit(1);
}

/* ---- xarray ---- */

struct kl_xa_entry {
	unsigned long	index;
	void		*entry;
};

void xa_init(struct xarray *xa)
{
	*xa = (struct xarray){ };
}

/* Place of the first entry at @index or later. */
static unsigned int place_of(const struct xarray *xa, unsigned long index)
{
	unsigned int lo = 0, hi = xa->nr;

	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (xa->entries[mid].index < index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Entries without a value are reserved: there for memory, not for readers. */
static void *put(struct xarray *xa, unsigned long index, void *entry)
{
	unsigned int at = place_of(xa, index);
	void *old;

	if (at == xa->nr || xa->entries[at].index != index) {
		if (xa->nr == xa->room) {
			xa->room = xa->room ? 2 * xa->room : 16;
			xa->entries = realloc(xa->entries,
					      xa->room * sizeof(*xa->entries));
		}
		memmove(&xa->entries[at + 1], &xa->entries[at],
			(xa->nr++ - at) * sizeof(*xa->entries));
		xa->entries[at] = (struct kl_xa_entry){ index, NULL };
	}
	old = xa->entries[at].entry;
	if (entry)
		xa->entries[at].entry = entry;
	return old;
}

void *xa_store(struct xarray *xa, unsigned long index, void *entry, gfp_t gfp)
{
	void *old;

	if (gfp & __GFP_RECLAIM)
		might_sleep();
	kl_point();
	if (!(gfp & __GFP_RECLAIM) && (place_of(xa, index) == xa->nr ||
	    xa->entries[place_of(xa, index)].index != index))
		kl_fail("xa_store without sleep at a place that is not reserved");
	old = put(xa, index, entry);
	kl_point();
	return old;
}

int xa_reserve(struct xarray *xa, unsigned long index, gfp_t gfp)
{
	might_sleep();
	put(xa, index, NULL);
	kl_point();
	return 0;
}

void *xa_load(struct xarray *xa, unsigned long index)
{
	unsigned int at;

	kl_point();
	at = place_of(xa, index);
	return at < xa->nr && xa->entries[at].index == index ?
		xa->entries[at].entry : NULL;
}

void *xa_erase(struct xarray *xa, unsigned long index)
{
	unsigned int at;
	void *entry;

	kl_point();
	at = place_of(xa, index);
	if (at == xa->nr || xa->entries[at].index != index)
		return NULL;
	entry = xa->entries[at].entry;
	memmove(&xa->entries[at], &xa->entries[at + 1],
		(--xa->nr - at) * sizeof(*xa->entries));
	kl_point();
	return entry;
}

bool xa_empty(const struct xarray *xa)
{
	kl_point();
	return !xa->nr;
}

void xa_destroy(struct xarray *xa)
{
	free(xa->entries);
	*xa = (struct xarray){ };
}

void *kl_xa_find(struct xarray *xa, unsigned long *index)
{
	unsigned int at;

	kl_point();
	at = place_of(xa, *index);
	while (at < xa->nr && !xa->entries[at].entry)
		at++;
	if (at == xa->nr)
		return NULL;
	*index = xa->entries[at].index;
	return xa->entries[at].entry;
}
