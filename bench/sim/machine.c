// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cache lines and what they cost.  A CPU's cache has room for everything; a line leaves it
 * only when another CPU wants it.
 *
 * A line that one CPU has changed goes to the next CPU one transfer at a time, so CPUs
 * queue for it.  A store does not wait for its line, as on a CPU with a store buffer: it
 * notes when it will be visible (sim_task.drain), and the next locked instruction, lock
 * release or sleep waits for that.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <klayer/bug.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include "sim.h"

#define ARENA		0x200000000000UL	/* where all memory of the journals is */
#define ARENA_BYTES	(24UL << 30)
#define SHADOW		0x300000000000UL	/* struct line of each of its lines */
#define GLOBAL_BYTES	(64UL << 20)
#define SHADOW_GLOBAL	0x3f0000000000UL	/* of the program's variables */
#define WORDS		((SIM_CPUS + 1 + 63) / 64)
#define L1_SETS		256u		/* powers of two */
#define L2_SETS		8192u
#define WAYS		4u
#define HOT		4u	/* a line that has moved so often is looked at in order */

/**
 * struct line - who has a cache line
 */
struct line {
	s64	free;			/* when its last transfer ends */
	u16	owner;			/* the CPU + 1 that alone has it; 0: none */
	u16	moves;			/* transfers so far, up to HOT */
	u32	unused;
	u64	readers[WORDS];		/* CPUs that have it to read, if there is no owner */
	u64	pad;
};

_Static_assert(sizeof(struct line) == 64, "a line of the shadow for a line");

s64 sim_cost[NR_COSTS];
u64 sim_seed = 1;

static const struct {
	const char *name;
	double	ns;
	const char *source;
} costs[] = {
#define COST(name, ns, source)	{ #name, ns, source },
#include "costs.h"
#undef COST
};

extern char __data_start, _end;

static uintptr_t arena_next = ARENA;

/* The lines that a CPU has close by. What is not there costs time; nobody else is told. */
static u32 (*l1)[L1_SETS][WAYS], (*l2)[L2_SETS][WAYS];

/* ---- costs ---- */

__attribute__((__constructor__)) static void default_costs(void)
{
	for (int i = 0; i < NR_COSTS; i++)
		sim_cost[i] = costs[i].ns * PS;
}

bool sim_set_cost(const char *name, double ns)
{
	for (int i = 0; i < NR_COSTS; i++) {
		if (strcmp(costs[i].name, name))
			continue;
		sim_cost[i] = ns * PS;
		return true;
	}
	return false;
}

void sim_print_costs(void)
{
	for (int i = 0; i < NR_COSTS; i++)
		printf("%s\n  {\"name\": \"%s\", \"ns\": %g, \"source\": \"%s\"}", i ? "," : "[",
		       costs[i].name, sim_cost[i] / (double)PS, costs[i].source);
	printf("\n]\n");
}

/* ---- memory ---- */

static void map(uintptr_t at, size_t bytes)
{
	void *p = mmap((void *)at, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != (void *)at)
		kl_fail("no address space for the simulated machine");
}

__attribute__((__constructor__)) static void map_all(void)
{
	map(ARENA, ARENA_BYTES);
	map(SHADOW, ARENA_BYTES);
	map(SHADOW_GLOBAL, GLOBAL_BYTES);
	l1 = calloc(SIM_CPUS + 1, sizeof(*l1));
	l2 = calloc(SIM_CPUS + 1, sizeof(*l2));
	if (&_end - &__data_start > GLOBAL_BYTES)
		kl_fail("the program has too many variables");
}

void sim_forget_lines(void)
{
	madvise((void *)SHADOW, arena_next - ARENA + 4096, MADV_DONTNEED);
	madvise((void *)SHADOW_GLOBAL, GLOBAL_BYTES, MADV_DONTNEED);
}

/* Zeroed; never given back to the system. */
void *sim_arena(size_t align, size_t size)
{
	uintptr_t at;

	align = max_t(size_t, align, SIM_LINE);
	at = (arena_next + align - 1) / align * align;
	arena_next = at + size;
	if (arena_next > ARENA + ARENA_BYTES)
		kl_fail("out of simulated memory");
	return (void *)at;
}

void *sim_calloc(size_t n, size_t size)
{
	return sim_arena(SIM_LINE, n * size);
}

void sim_free(void *p)
{
}

/* NULL: not memory that CPUs share, such as thread-local variables. */
static inline struct line *line_of(uintptr_t p)
{
	if (p - ARENA < ARENA_BYTES)
		return (struct line *)(SHADOW + (p - ARENA) / SIM_LINE * sizeof(struct line));
	if (p - (uintptr_t)&__data_start < (uintptr_t)(&_end - &__data_start))
		return (struct line *)(SHADOW_GLOBAL + (p - (uintptr_t)&__data_start) / SIM_LINE *
				       sizeof(struct line));
	return NULL;
}

/* ---- accesses ---- */

static inline bool has(const struct line *l, unsigned int cpu)
{
	return l->owner == cpu + 1 || l->readers[cpu / 64] >> cpu % 64 & 1;
}

static bool is_new(const struct line *l)
{
	u64 any = l->owner;

	for (u32 i = 0; i < WORDS; i++)
		any |= l->readers[i];
	return !any;
}

static bool only_reader(const struct line *l, unsigned int cpu)
{
	for (u32 i = 0; i < WORDS; i++)
		if (l->readers[i] != (i == cpu / 64 ? 1ULL << cpu % 64 : 0))
			return false;
	return true;
}

static void take(struct line *l, unsigned int cpu)
{
	memset(l->readers, 0, sizeof(l->readers));
	l->owner = cpu + 1;
}

u32 sim_random(void)
{
	sim_seed = sim_seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return sim_seed >> 33;
}

/*
 * A transfer takes a quarter less or more. If all took the same time, CPUs that do the same
 * would stay in step, and what they meet would depend on how they began.
 */
s64 sim_transfer(void)
{
	return cost_of(line) * 3 / 4 + cost_of(line) * (sim_random() % 1024) / 2048;
}

/* The line is moved as soon as earlier transfers are done; returns when it is here. */
static s64 move(struct line *l, s64 now)
{
	l->free = max(l->free, now) + sim_transfer();
	l->moves = min_t(u32, l->moves + 1, HOT);
	return l->free;
}

static noinline void read_miss(struct line *l, uintptr_t p, const void *pc)
{
	struct sim_task *t = sim_current;
	s64 begin;

	sim_point();
	t = sim_current;
	begin = t->clock;
	if (has(l, t->cpu))
		return;
	if (is_new(l)) {
		t->clock += cost_of(cold);
		l->owner = t->cpu + 1;
		return;
	}
	if (l->owner) {
		t->clock = move(l, t->clock);
		l->readers[(l->owner - 1) / 64] |= 1ULL << (l->owner - 1) % 64;
		l->owner = 0;
	} else {
		t->clock += cost_of(shared);
	}
	l->readers[t->cpu / 64] |= 1ULL << t->cpu % 64;
	prof_add(WHAT_LINE, pc, (void *)p, t->clock - begin);
}

/* Returns when the line is this CPU's alone. */
static noinline s64 write_miss(struct line *l, uintptr_t p)
{
	unsigned int cpu;
	s64 at;

	sim_point();
	cpu = sim_current->cpu;
	at = sim_current->clock;
	if (is_new(l))
		at += cost_of(cold);
	else if (l->owner != cpu + 1 && !only_reader(l, cpu))
		at = move(l, at);
	take(l, cpu);
	return at;
}

static inline void read_line(uintptr_t p, const void *pc)
{
	struct line *l = line_of(p);

	if (l && !has(l, sim_current->cpu))
		read_miss(l, p, pc);
}

static inline void write_line(uintptr_t p, const void *pc)
{
	struct line *l = line_of(p);
	s64 at;

	if (!l || l->owner == sim_current->cpu + 1)
		return;
	at = write_miss(l, p);
	sim_current->drain = max(sim_current->drain, at);
}

/* Whether the set has the line; it is its first one from now on, and the last one may go. */
static inline bool hit(u32 *set, u32 line)
{
	u32 i = 0;

	if (set[0] == line)
		return true;
	while (i < WAYS - 1 && set[i] != line)
		i++;
	if (set[i] == line) {
		set[i] = set[i - 1];
		set[i - 1] = line;
		return true;
	}
	for (; i; i--)
		set[i] = set[i - 1];
	set[0] = line;
	return false;
}

/*
 * A line that this CPU has: how far away is it? Other memory is where the system puts it, another
 * time elsewhere, so it is always near.
 */
static inline s64 distance(uintptr_t p)
{
	u32 line = p / SIM_LINE, cpu = sim_current->cpu;

	if (!line_of(p) || hit(l1[cpu][line % L1_SETS], line))
		return 0;
	return hit(l2[cpu][line % L2_SETS], line) ? cost_of(l2) : cost_of(l3);
}

static inline void access_memory(uintptr_t p, bool write, const void *pc)
{
	s64 far = distance(p);

	sim_spend(cost_of(access) + far);
	if (write)
		write_line(p, pc);
	else
		read_line(p, pc);
}

/* What the current task has stored is visible from now on. */
static void drain(const void *pc, const void *p)
{
	struct sim_task *t = sim_current;

	if (t->drain <= t->clock)
		return;
	prof_add(WHAT_LINE, pc, p, t->drain - t->clock);
	t->clock = t->drain;
}

void sim_rmw(const void *p, const void *pc)
{
	struct line *l = line_of((uintptr_t)p);
	s64 at;

	sim_spend(cost_of(atomic) + distance((uintptr_t)p));
	drain(pc, p);
	if (!l)
		return;
	if (l->moves == HOT)
		sim_point();
	if (l->owner == sim_current->cpu + 1)
		return;
	at = write_miss(l, (uintptr_t)p);
	if (at > sim_current->clock) {
		prof_add(WHAT_LINE, pc, p, at - sim_current->clock);
		sim_current->clock = at;
	}
}

void sim_line_to(const void *p, unsigned int cpu, s64 at)
{
	struct line *l = line_of((uintptr_t)p);

	if (!l)
		return;
	l->free = max(l->free, at);
	l->moves = HOT;
	take(l, cpu);
}

void sim_touch(const void *p, size_t bytes, bool write, const void *pc)
{
	uintptr_t at = (uintptr_t)p & ~(uintptr_t)(SIM_LINE - 1);

	for (; at < (uintptr_t)p + bytes; at += SIM_LINE)
		if (write)
			write_line(at, pc);
		else
			read_line(at, pc);
}

/* ---- the compiler's hooks ---- */

#define HERE	__builtin_return_address(0)

#define HOOKS(size)							\
void __tsan_read##size(void *p);					\
void __tsan_read##size(void *p)						\
{									\
	access_memory((uintptr_t)p, false, HERE);			\
}									\
void __tsan_write##size(void *p);					\
void __tsan_write##size(void *p)					\
{									\
	access_memory((uintptr_t)p, true, HERE);			\
}									\
void __tsan_unaligned_read##size(void *p);				\
void __tsan_unaligned_read##size(void *p)				\
{									\
	access_memory((uintptr_t)p, false, HERE);			\
}									\
void __tsan_unaligned_write##size(void *p);				\
void __tsan_unaligned_write##size(void *p)				\
{									\
	access_memory((uintptr_t)p, true, HERE);			\
}

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

void __tsan_read_range(void *p, size_t bytes);
void __tsan_read_range(void *p, size_t bytes)
{
	sim_spend(cost_of(access) * ((bytes + 7) / 8));
	sim_touch(p, bytes, false, HERE);
}

void __tsan_write_range(void *p, size_t bytes);
void __tsan_write_range(void *p, size_t bytes)
{
	sim_spend(cost_of(access) * ((bytes + 7) / 8));
	sim_touch(p, bytes, true, HERE);
}

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
	sim_spend(cost_of(call));
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

/* A release store of a plain x86 store; only an exchange orders what comes later. */
static inline void atomic_store(const void *p, int order, const void *pc)
{
	if (order == __ATOMIC_SEQ_CST)
		sim_rmw(p, pc);
	else
		access_memory((uintptr_t)p, true, pc);
}

#define COMPARE_EXCHANGE(bits, type, kind)				\
int __tsan_atomic##bits##_compare_exchange_##kind(volatile type *p, type *old, type v, \
						  int yes, int no);	\
int __tsan_atomic##bits##_compare_exchange_##kind(volatile type *p, type *old, type v, \
						  int yes, int no)	\
{									\
	sim_rmw((const void *)p, HERE);					\
	if (*p != *old) {						\
		*old = *p;						\
		return 0;						\
	}								\
	*p = v;								\
	return 1;							\
}

#define ATOMICS(bits, type)						\
type __tsan_atomic##bits##_load(const volatile type *p, int order);	\
type __tsan_atomic##bits##_load(const volatile type *p, int order)	\
{									\
	access_memory((uintptr_t)p, false, HERE);			\
	return *p;							\
}									\
void __tsan_atomic##bits##_store(volatile type *p, type v, int order);	\
void __tsan_atomic##bits##_store(volatile type *p, type v, int order)	\
{									\
	atomic_store((const void *)p, order, HERE);			\
	*p = v;								\
}									\
type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order); \
type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order) \
{									\
	type was;							\
									\
	sim_rmw((const void *)p, HERE);					\
	was = *p;							\
	*p = v;								\
	return was;							\
}									\
COMPARE_EXCHANGE(bits, type, strong)					\
COMPARE_EXCHANGE(bits, type, weak)					\
type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type old, type v, \
						int yes, int no);	\
type __tsan_atomic##bits##_compare_exchange_val(volatile type *p, type old, type v, \
						int yes, int no)	\
{									\
	type was;							\
									\
	sim_rmw((const void *)p, HERE);					\
	was = *p;							\
	if (was == old)							\
		*p = v;							\
	return was;							\
}									\
FETCH(bits, type, add, was + v)						\
FETCH(bits, type, sub, was - v)						\
FETCH(bits, type, and, was & v)						\
FETCH(bits, type, or, was | v)						\
FETCH(bits, type, xor, was ^ v)

#define FETCH(bits, type, name, result)					\
type __tsan_atomic##bits##_fetch_##name(volatile type *p, type v, int order); \
type __tsan_atomic##bits##_fetch_##name(volatile type *p, type v, int order) \
{									\
	type was;							\
									\
	sim_rmw((const void *)p, HERE);					\
	was = *p;							\
	*p = result;							\
	return was;							\
}

ATOMICS(8, u8)
ATOMICS(16, u16)
ATOMICS(32, u32)
ATOMICS(64, u64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	if (order != __ATOMIC_SEQ_CST)
		return;
	sim_spend(cost_of(atomic));
	drain(HERE, NULL);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
}

/* ---- what the sanitizer's library would intercept ---- */

void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
	sim_spend(cost_of(call) + n * cost_of(copy));
	sim_touch(from, n, false, HERE);
	sim_touch(to, n, true, HERE);
	return __real_memcpy(to, from, n);
}

void *__real_memset(void *to, int c, size_t n);
void *__wrap_memset(void *to, int c, size_t n);
void *__wrap_memset(void *to, int c, size_t n)
{
	sim_spend(cost_of(call) + n * cost_of(copy));
	sim_touch(to, n, true, HERE);
	return __real_memset(to, c, n);
}

void *__real_kmem_cache_alloc(struct kmem_cache *cache, u32 flags);
void *__wrap_kmem_cache_alloc(struct kmem_cache *cache, u32 flags);
void *__wrap_kmem_cache_alloc(struct kmem_cache *cache, u32 flags)
{
	sim_spend(cost_of(alloc));
	return __real_kmem_cache_alloc(cache, flags);
}

void __real_kmem_cache_free(struct kmem_cache *cache, void *p);
void __wrap_kmem_cache_free(struct kmem_cache *cache, void *p);
void __wrap_kmem_cache_free(struct kmem_cache *cache, void *p)
{
	sim_spend(cost_of(alloc));
	__real_kmem_cache_free(cache, p);
}

void *__real_zj_user_alloc(size_t n, size_t size, u32 flags);
void *__wrap_zj_user_alloc(size_t n, size_t size, u32 flags);
void *__wrap_zj_user_alloc(size_t n, size_t size, u32 flags)
{
	sim_spend(cost_of(alloc));
	return __real_zj_user_alloc(n, size, flags);
}

void __real_zj_user_free(const void *p);
void __wrap_zj_user_free(const void *p);
void __wrap_zj_user_free(const void *p)
{
	sim_spend(cost_of(alloc));
	__real_zj_user_free(p);
}

/* No one looks at checksums here once the journal is loaded. */
bool sim_no_checksums;
u32 __real_crc32c(u32 crc, const void *p, unsigned int n);
u32 __wrap_crc32c(u32 crc, const void *p, unsigned int n);
u32 __wrap_crc32c(u32 crc, const void *p, unsigned int n)
{
	sim_spend(cost_of(call) + n * cost_of(crc));
	sim_touch(p, n, false, HERE);
	return sim_no_checksums ? crc ^ n : __real_crc32c(crc, p, n);
}

/* The log is empty when it is loaded, so no image's checksum is ever compared. */
u32 __wrap_zj_image_csum(u32 seed, const void *image, u32 bytes);
u32 __wrap_zj_image_csum(u32 seed, const void *image, u32 bytes)
{
	sim_spend(cost_of(call) + bytes * cost_of(hash));
	sim_touch(image, bytes, false, HERE);
	return seed ^ bytes;
}
