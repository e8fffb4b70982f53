// SPDX-License-Identifier: GPL-2.0-only
/* Persistent memory: a log of what was stored, written back and fenced. */
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include <linux/minmax.h>
#include "pmem.h"

#define LOOK_BYTES	4096u	/* compared at once */
#define ALL_WORDS	0xff

static struct kl_pmem *all;

struct kl_pmem *pmem_new(u32 size, const void *contents)
{
	struct kl_pmem *pm = calloc(1, sizeof(*pm));

	if (!size || size % PMEM_LINE)
		kl_fail("memory of %u bytes", size);
	pm->size = size;
	pm->mem = aligned_alloc(LOOK_BYTES, (size + LOOK_BYTES - 1) / LOOK_BYTES * LOOK_BYTES);
	pm->noted = malloc(size);
	pm->initial = malloc(size);
	if (contents)
		memcpy(pm->initial, contents, size);
	else
		memset(pm->initial, 0, size);
	memcpy(pm->mem, pm->initial, size);
	memcpy(pm->noted, pm->initial, size);
	pm->next = all;
	all = pm;
	return pm;
}

void pmem_free(struct kl_pmem *pm)
{
	struct kl_pmem **link = &all;

	while (*link != pm)
		link = &(*link)->next;
	*link = pm->next;
	free(pm->mem);
	free(pm->noted);
	free(pm->initial);
	free(pm->log);
	free(pm);
}

static struct kl_pmem *pmem_of(const void *addr, size_t size)
{
	struct kl_pmem *pm = all;

	while (pm && ((const u8 *)addr < pm->mem || (const u8 *)addr >= pm->mem + pm->size))
		pm = pm->next;
	if (!pm)
		kl_fail("%p is no persistent memory", addr);
	if (size > pm->mem + pm->size - (const u8 *)addr)
		kl_fail("%zu bytes at %zu end beyond persistent memory of %u", size,
			(size_t)((const u8 *)addr - pm->mem), pm->size);
	return pm;
}

/* ---- the log ---- */

static void note(struct kl_pmem *pm, enum pmem_what what, u32 line, u8 words)
{
	struct pmem_event *e;

	if (pm->nr_log == pm->room_log) {
		pm->room_log = pm->room_log ? 2 * pm->room_log : 1024;
		pm->log = realloc(pm->log, pm->room_log * sizeof(*pm->log));
	}
	e = &pm->log[pm->nr_log++];
	*e = (struct pmem_event){ what, line, words,
				  what == PMEM_STORE ? NULL : kl_current };
	if (words) {
		memcpy(e->data, pm->mem + line * PMEM_LINE, PMEM_LINE);
		memcpy(pm->noted + line * PMEM_LINE, e->data, PMEM_LINE);
	}
	if (pm->note)
		pm->note(pm->note_arg, pm->nr_log - 1);
}

static void look_at_line(struct kl_pmem *pm, u32 line)
{
	const u8 *mem = pm->mem + line * PMEM_LINE, *noted = pm->noted + line * PMEM_LINE;
	u8 words = 0;

	for (u32 i = 0; i < PMEM_WORDS; i++)
		if (memcmp(mem + i * PMEM_WORD, noted + i * PMEM_WORD, PMEM_WORD))
			words |= 1 << i;
	if (words)
		note(pm, PMEM_STORE, line, words);
}

void pmem_look(struct kl_pmem *pm)
{
	for (u32 at = 0; at < pm->size; at += LOOK_BYTES) {
		u32 size = min(LOOK_BYTES, pm->size - at);

		if (!memcmp(pm->mem + at, pm->noted + at, size))
			continue;
		for (u32 line = at / PMEM_LINE; line < (at + size) / PMEM_LINE; line++)
			look_at_line(pm, line);
	}
}

/* ---- what the code under test calls ---- */

/* The words of a line that bytes @from to @to - 1 of it are in. */
static u8 words_of(u32 from, u32 to)
{
	return (ALL_WORDS << from / PMEM_WORD) &
	       (ALL_WORDS >> (PMEM_WORDS - (to + PMEM_WORD - 1) / PMEM_WORD));
}

void memcpy_flushcache(void *dst, const void *src, size_t n)
{
	struct kl_pmem *pm = pmem_of(dst, n);
	u32 at = (u8 *)dst - pm->mem;
	const u8 *from = src;

	while (n) {
		u32 begin = at % PMEM_LINE, size = min_t(size_t, n, PMEM_LINE - begin);

		look_at_line(pm, at / PMEM_LINE);
		memcpy(pm->mem + at, from, size);
		pm->lines++;
		note(pm, PMEM_WRITE_BACK, at / PMEM_LINE, words_of(begin, begin + size));
		at += size;
		from += size;
		n -= size;
		kl_point();
	}
}

void arch_wb_cache_pmem(void *addr, size_t size)
{
	struct kl_pmem *pm = pmem_of(addr, size);
	u32 at = (u8 *)addr - pm->mem;

	if (!size)
		return;
	for (u32 line = at / PMEM_LINE; line <= (at + size - 1) / PMEM_LINE; line++) {
		pm->lines++;
		note(pm, PMEM_WRITE_BACK, line, ALL_WORDS);
		kl_point();
	}
}

void pmem_wmb(void)
{
	kl_point();
	for (struct kl_pmem *pm = all; pm; pm = pm->next) {
		pmem_look(pm);
		pm->fences++;
		note(pm, PMEM_FENCE, 0, 0);
	}
	kl_point();
}

void pmem_flush(struct kl_pmem *pm)
{
	kl_point();
	pm->flushes++;
	note(pm, PMEM_FLUSH, 0, 0);
	kl_point();
}

/* ---- what a power cut leaves ---- */

void pmem_walk_init(struct pmem_walk *w, const struct kl_pmem *pm)
{
	*w = (struct pmem_walk){ .pm = pm, .durable = malloc(pm->size) };
	memcpy(w->durable, pm->initial, pm->size);
	w->changed = calloc(pm->size / PMEM_LINE / 64 + 1, sizeof(*w->changed));
}

void pmem_walk_free(struct pmem_walk *w)
{
	free(w->changed);
	free(w->durable);
	free(w->pending);
}

static void put(u8 *image, const struct pmem_event *e, u8 words)
{
	for (u32 i = 0; i < PMEM_WORDS; i++)
		if (words & 1 << i)
			memcpy(image + e->line * PMEM_LINE + i * PMEM_WORD, &e->data[i],
			       PMEM_WORD);
}

static void note_change(const struct pmem_walk *w, u32 line)
{
	w->changed[line / 64] |= 1ULL << line % 64;
}

/* Lines that @task has written back are durable now; no older store can replace them. */
static void harden(struct pmem_walk *w, const void *task)
{
	u32 kept = 0;

	for (u32 i = 0; i < w->nr; i++) {
		struct pmem_pending p = w->pending[i];
		u32 still = 0;

		if (p.event->what != PMEM_WRITE_BACK || p.event->task != task ||
		    (w->pm->queues && !p.fenced)) {
			w->pending[kept++] = p;
			continue;
		}
		put(w->durable, p.event, p.words);
		note_change(w, p.event->line);
		for (u32 k = 0; k < kept; k++) {
			if (w->pending[k].event->line == p.event->line)
				w->pending[k].words &= ~p.words;
			if (w->pending[k].words)
				w->pending[still++] = w->pending[k];
		}
		kept = still;
	}
	w->nr = kept;
}

/* It has left the caches, and waits in a queue. */
static void fence(struct pmem_walk *w, const void *task)
{
	for (u32 i = 0; i < w->nr; i++)
		w->pending[i].fenced |= w->pending[i].event->task == task;
}

void pmem_walk_step(struct pmem_walk *w)
{
	const struct pmem_event *e = &w->pm->log[w->at++];

	if (e->what == PMEM_FENCE && w->pm->queues) {
		fence(w, e->task);
		return;
	}
	if (e->what == PMEM_FENCE || e->what == PMEM_FLUSH) {
		harden(w, e->task);
		return;
	}
	if (w->nr == w->room) {
		w->room = w->room ? 2 * w->room : 256;
		w->pending = realloc(w->pending, w->room * sizeof(*w->pending));
	}
	w->pending[w->nr++] = (struct pmem_pending){ e, e->words, false };
}

/* The words of a pending store that are there. */
static u8 fate(struct sim_rand *rand, u32 mode, u32 chosen, u32 i)
{
	switch (mode) {
	case 0:			/* nothing but the durable */
		return 0;
	case 1:			/* all */
		return ALL_WORDS;
	case 2:			/* all but one line, which may be torn */
		return i == chosen ? sim_below(rand, ALL_WORDS) : ALL_WORDS;
	case 3:			/* one only */
		return i == chosen ? 1 + sim_below(rand, ALL_WORDS) : 0;
	case 4:			/* whole lines by chance */
		return sim_one_in(rand, 2) ? ALL_WORDS : 0;
	default:		/* words by chance */
		return sim_below(rand, ALL_WORDS + 1);
	}
}

static void crash(const struct pmem_walk *w, struct sim_rand *rand, u8 *image)
{
	u32 mode = sim_below(rand, 7);
	u32 chosen = sim_below(rand, w->nr ? w->nr : 1);

	for (u32 i = 0; i < w->nr; i++) {
		u8 words = w->pending[i].words & fate(rand, mode, chosen, i);

		if (!words)
			continue;
		put(image, w->pending[i].event, words);
		note_change(w, w->pending[i].event->line);
	}
}

void pmem_crash(const struct pmem_walk *w, struct sim_rand *rand, u8 *image)
{
	memcpy(image, w->durable, w->pm->size);
	memset(w->changed, 0, (w->pm->size / PMEM_LINE / 64 + 1) * sizeof(*w->changed));
	crash(w, rand, image);
}

void pmem_crash_again(const struct pmem_walk *w, struct sim_rand *rand, u8 *image)
{
	for (u32 i = 0; i <= w->pm->size / PMEM_LINE / 64; i++) {
		for (u64 lines = w->changed[i]; lines; lines &= lines - 1) {
			u32 at = (64 * i + __builtin_ctzll(lines)) * PMEM_LINE;

			memcpy(image + at, w->durable + at, PMEM_LINE);
		}
		w->changed[i] = 0;
	}
	crash(w, rand, image);
}

u32 pmem_choose(const struct pmem_walk *w, u64 there, u8 *image)
{
	u8 *newest = malloc(w->pm->size);
	u32 n = 0;

	memcpy(image, w->durable, w->pm->size);
	memcpy(newest, w->durable, w->pm->size);
	for (u32 i = 0; i < w->nr; i++) {
		const struct pmem_event *e = w->pending[i].event;

		for (u32 k = 0; k < PMEM_WORDS; k++) {
			/* A store of the same value makes no difference. */
			if (!(w->pending[i].words & 1 << k) ||
			    !memcmp(newest + e->line * PMEM_LINE + k * PMEM_WORD, &e->data[k],
				    PMEM_WORD))
				continue;
			put(newest, e, 1 << k);
			if (n < 64 && there >> n & 1)
				put(image, e, 1 << k);
			n++;
		}
	}
	free(newest);
	return n;
}
