// SPDX-License-Identifier: GPL-2.0-only
/* Messages, failures, lists that are broken, xarray. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/blkdev.h>
#include <linux/list.h>
#include <linux/xarray.h>
#include <klayer/bug.h>
#include "sim.h"
#undef snprintf

char sim_what[128];
int sim_verbose = 3;

/* ---- messages ---- */

/* One conversion: @spec is complete, "%5llu" say. */
static int convert(char *buf, size_t size, const char *spec, va_list *ap)
{
	char type = spec[strlen(spec) - 1];
	int longs = 0;

	for (const char *c = spec; *c; c++)
		longs += *c == 'l' || *c == 'z';
	if (type == 's' || type == 'p')
		return snprintf(buf, size, spec, va_arg(*ap, void *));
	if (type == 'c' || !longs)
		return snprintf(buf, size, spec, va_arg(*ap, int));
	return snprintf(buf, size, spec, va_arg(*ap, long));
}

int kl_vsnprintf(char *buf, size_t size, const char *fmt, va_list args)
{
	size_t n = 0;
	va_list ap;

	va_copy(ap, args);
#define ROOM	(n < size ? size - n : 0)
#define TO	(buf + (n < size ? n : 0))
	while (*fmt) {
		size_t len = strcspn(fmt, "%");
		char spec[16];

		n += snprintf(TO, ROOM, "%.*s", (int)len, fmt);
		fmt += len;
		if (!*fmt)
			break;
		if (!strncmp(fmt, "%pV", 3)) {
			struct va_format *f = va_arg(ap, struct va_format *);

			n += kl_vsnprintf(TO, ROOM, f->fmt, *f->va);
			fmt += 3;
			continue;
		}
		if (!strncmp(fmt, "%pg", 3)) {
			va_arg(ap, void *);
			n += snprintf(TO, ROOM, "sim");
			fmt += 3;
			continue;
		}
		len = 1 + strcspn(fmt + 1, "diuxXscp%") + 1;
		memcpy(spec, fmt, len);
		spec[len] = 0;
		n += convert(TO, ROOM, spec, &ap);
		fmt += len;
	}
	va_end(ap);
	return n;
}

int kl_snprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = kl_vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return n;
}

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
	if (sim_running)
		sim_print_tasks();
	if (getenv("SIM_ABORT"))
		abort();
	_Exit(1);
}

void kl_list_bad(const struct list_head *l)
{
	kl_fail("list is broken at %p", (const void *)l);
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
