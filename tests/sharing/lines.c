// SPDX-License-Identifier: GPL-2.0-only
/*
 * The directory: which core has which line, who has changed it, and what moved.
 *
 * A line moves if a core reads it that another has written since, or writes it while another
 * has it.  Which words both have used tells why: if they are of one object, since it was
 * allocated, the object is shared.  Otherwise the line moves because of where the allocator
 * has put things: two objects in one line, or memory that another core has used before.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "lines.h"

#define LINE		64u
#define WORD		8u
#define WORDS		(LINE / WORD)
#define PAGE		4096u
#define PAGES		(1u << 20)	/* powers of two */
#define MOVES		(1u << 16)
#define OBJECTS		(1u << 26)

/**
 * struct line - who has a cache line
 */
struct line {
	uint64_t holders;		/* cores that have it */
	uint64_t stale;			/* cores that have not, and another has written it since */
	uint8_t	owner;			/* the core + 1 that may write it, alone; 0: none */
	uint8_t	writer;			/* the core + 1 that has written it last; 0: none */
	/*
	 * Of a holder the words that it has used; of another the words that were written since
	 * it lost the line; both since their objects were allocated.
	 */
	uint8_t	words[MAX_CORES];
	uint32_t object[WORDS];		/* of each word; 0: none that we know */
};

/**
 * struct page - the lines of 4 KiB
 */
struct page {
	uintptr_t	at;
	struct line	line[PAGE / LINE];
};

/**
 * struct object - what was allocated
 */
struct object {
	const char	*begin;
	const void	*class;		/* the code that did */
};

/* A row of the result, and how often. */
struct move {
	const void	*pc;
	const void	*class;		/* of the object; NULL: none */
	uintptr_t	at;		/* offset of the line in the object, or a variable; 0: other */
	uint8_t		phase, write, placed, from, by;
	uint64_t	count;
};

extern char _end;	/* of the program's variables */

static struct page **pages;
static struct page *page_memory;
static uint32_t nr_pages;
static struct object *objects;
static uint32_t nr_objects = 1;
static struct move *moves;
static int lock;		/* of all; atomic */
static enum phase now;		/* atomic */
static unsigned int nr_others;	/* cores that are no workers' so far; atomic */
static __thread unsigned int my_core;	/* + 1; 0: not known yet */
static __thread bool is_worker;
static __thread uintptr_t stack, stack_end;

static void fail(const char *why)
{
	fprintf(stderr, "zjsharing: %s\n", why);
	abort();
}

/* Not by calloc(), which is what is looked at. */
static void *reserve(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		fail("no address space");
	return p;
}

__attribute__((__constructor__(101))) static void get_memory(void)
{
	pages = reserve(PAGES * sizeof(*pages));
	page_memory = reserve(PAGES / 2 * sizeof(*page_memory));
	objects = reserve(OBJECTS * sizeof(*objects));
	moves = reserve(MOVES * sizeof(*moves));
}

static void lock_all(void)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock_all(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* ---- threads ---- */

void lines_phase(enum phase phase)
{
	__atomic_store_n(&now, phase, __ATOMIC_SEQ_CST);
}

void lines_core(unsigned int core, bool worker)
{
	my_core = core + 1;
	is_worker = worker;
}

static void find_stack(void)
{
	pthread_attr_t attr;
	size_t bytes;
	void *at;

	if (pthread_getattr_np(pthread_self(), &attr) || pthread_attr_getstack(&attr, &at, &bytes))
		fail("a thread's stack is not known");
	pthread_attr_destroy(&attr);
	stack = (uintptr_t)at;
	stack_end = stack + bytes;
}

unsigned int lines_my_core(void)
{
	if (!my_core)
		my_core = MAX_WORKERS + 1 +
			  __atomic_fetch_add(&nr_others, 1, __ATOMIC_RELAXED);
	if (my_core > MAX_CORES)
		fail("too many threads");
	return my_core - 1;
}

/* A thread's stack and its own variables are used by nobody else in the path of a handle. */
static bool is_my_stack(uintptr_t p)
{
	if (!stack_end)
		find_stack();
	return p - stack < stack_end - stack;
}

/* ---- lines ---- */

static uint32_t hash(uintptr_t x)
{
	return x * 0x9e3779b97f4a7c15ULL >> 32;
}

static struct line *line_of(uintptr_t p)
{
	uintptr_t at = p / PAGE;
	uint32_t i = hash(at) % PAGES;

	while (pages[i] && pages[i]->at != at)
		i = (i + 1) % PAGES;
	if (!pages[i]) {
		if (nr_pages == PAGES / 2)
			fail("too much memory is used");
		pages[i] = &page_memory[nr_pages++];
		pages[i]->at = at;
	}
	return &pages[i]->line[p % PAGE / LINE];
}

/* The words of a line that bytes are in. */
static uint8_t words_of(uintptr_t p, uintptr_t end, uintptr_t line)
{
	uint32_t first = p > line ? (p - line) / WORD : 0;
	uint32_t last = end < line + LINE ? (end - 1 - line) / WORD : WORDS - 1;

	return (1u << (last + 1)) - (1u << first);
}

void lines_object(const void *p, size_t n, const void *class)
{
	uintptr_t at = (uintptr_t)p, line = at / LINE * LINE;

	lock_all();
	if (nr_objects == OBJECTS)
		fail("too many objects");
	objects[nr_objects] = (struct object){ p, class };
	for (; line < at + n; line += LINE) {
		struct line *l = line_of(line);
		uint8_t words = words_of(at, at + n, line);

		for (uint32_t i = 0; i < WORDS; i++)
			if (words >> i & 1)
				l->object[i] = nr_objects;
		for (uint32_t i = 0; i < MAX_CORES; i++)
			l->words[i] &= ~words;
	}
	nr_objects++;
	unlock_all();
}

static void count(const struct move *m)
{
	uint32_t i = hash((uintptr_t)m->pc ^ m->at << 20 ^ (uintptr_t)m->class << 7) % MOVES;

	for (uint32_t tries = 0; moves[i].count; tries++) {
		const struct move *is = &moves[i];

		if (is->pc == m->pc && is->class == m->class && is->at == m->at &&
		    is->phase == m->phase && is->write == m->write &&
		    is->placed == m->placed && is->from == m->from && is->by == m->by)
			break;
		if (tries == MOVES)
			fail("too many places");
		i = (i + 1) % MOVES;
	}
	if (!moves[i].count)
		moves[i] = *m;
	moves[i].count++;
}

static uint8_t words_of_object(const struct line *l, uint32_t object)
{
	uint8_t words = 0;

	for (uint32_t i = 0; i < WORDS; i++)
		words |= (l->object[i] == object) << i;
	return words;
}

/* What the others that have the line have used, and have written while @core had it not. */
static uint8_t used_by_others(const struct line *l, unsigned int core)
{
	uint8_t words = l->holders >> core & 1 ? 0 : l->words[core];

	for (unsigned int c = 0; c < MAX_CORES; c++)
		if (c != core && l->holders >> c & 1)
			words |= l->words[c];
	return words;
}

static void moved(const struct line *l, uintptr_t p, unsigned int core, bool write,
		  const void *pc)
{
	uint32_t object = l->object[p % LINE / WORD];
	uint8_t shared = write ? used_by_others(l, core) : l->words[core];
	unsigned int from = write && l->holders & ~(1ull << core) ?
		(unsigned int)__builtin_ctzll(l->holders & ~(1ull << core)) : l->writer - 1u;
	struct move m = {
		.pc = pc, .phase = __atomic_load_n(&now, __ATOMIC_RELAXED), .write = write,
		.placed = !(shared & words_of_object(l, object)),
		.from = from < MAX_WORKERS, .by = is_worker,
		.class = objects[object].class, .at = p,
	};

	if (object)
		m.at = (p - (uintptr_t)objects[object].begin) / LINE * LINE;
	else if (p >= (uintptr_t)&_end)
		m.at = 0;
	if (m.phase != PHASE_NONE)
		count(&m);
}

static void read_line(struct line *l, uintptr_t p, unsigned int core, uint8_t words,
		      const void *pc)
{
	uint64_t me = 1ull << core;

	if (l->holders & me) {
		l->words[core] |= words;
		return;
	}
	if (l->stale & me)
		moved(l, p, core, false, pc);
	l->holders |= me;
	l->stale &= ~me;
	l->owner = 0;
	l->words[core] = words;
}

static void write_line(struct line *l, uintptr_t p, unsigned int core, uint8_t words,
		       const void *pc)
{
	uint64_t me = 1ull << core;

	if (l->owner != core + 1) {
		if (l->holders & ~me)
			moved(l, p, core, true, pc);
		for (unsigned int c = 0; c < MAX_CORES; c++)
			if (l->holders >> c & 1 ? c != core : c == core)
				l->words[c] = 0;
		l->holders = me;
		l->stale = ~me;
		l->owner = core + 1;
	}
	l->writer = core + 1;
	for (unsigned int c = 0; c < MAX_CORES; c++)
		l->words[c] |= words;
}

void lines_access(const void *p, size_t n, bool write, const void *pc)
{
	uintptr_t at = (uintptr_t)p, end = at + n, line = at / LINE * LINE;
	unsigned int core = lines_my_core();

	if (is_my_stack(at))
		return;
	lock_all();
	for (; line < end; line += LINE) {
		uintptr_t first = line > at ? line : at;
		uint8_t words = words_of(at, end, line);

		if (write)
			write_line(line_of(line), first, core, words, pc);
		else
			read_line(line_of(line), first, core, words, pc);
	}
	unlock_all();
}

/* ---- report ---- */

void lines_print(void)
{
	static const char *const phase[] = { "none", "handles", "between" };
	const char *comma = "";

	printf("\"moves\": [");
	for (uint32_t i = 0; i < MOVES; i++) {
		const struct move *m = &moves[i];

		if (!m->count)
			continue;
		printf("%s\n  {\"phase\": \"%s\", \"pc\": %lu, \"class\": %lu, \"at\": %lu, \"write\": %u, \"placed\": %u, \"from_worker\": %u, \"by_worker\": %u, \"count\": %lu}",
		       comma, phase[m->phase], (uintptr_t)m->pc - 1, (uintptr_t)m->class,
		       m->at, m->write, m->placed, m->from, m->by, m->count);
		comma = ",";
	}
	printf("]");
}
