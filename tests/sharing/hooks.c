// SPDX-License-Identifier: GPL-2.0-only
/*
 * The compiler's hooks of the thread sanitizer, what its library would intercept, and the
 * allocator's functions, which the linker has wrapped.
 */
#include <linux/slab.h>
#include "lines.h"

#define HERE	__builtin_return_address(0)

#define ACCESS(name, write)						\
void __tsan_##name(void *p, size_t n);					\
void __tsan_##name(void *p, size_t n)					\
{									\
	lines_access(p, n, write, HERE);				\
}

ACCESS(read_range, false)
ACCESS(write_range, true)

#define PLAIN(name, write, size)					\
void __tsan_##name##size(void *p);					\
void __tsan_##name##size(void *p)					\
{									\
	lines_access(p, size, write, HERE);				\
}

#define SIZE(size)							\
PLAIN(read, false, size)						\
PLAIN(write, true, size)						\
PLAIN(unaligned_read, false, size)					\
PLAIN(unaligned_write, true, size)

SIZE(1)
SIZE(2)
SIZE(4)
SIZE(8)
SIZE(16)

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

/* A failed exchange takes the line as well. */
#define COMPARE_EXCHANGE(bits, type, kind)				\
int __tsan_atomic##bits##_compare_exchange_##kind(volatile type *p, type *old, type v, \
						  int yes, int no);	\
int __tsan_atomic##bits##_compare_exchange_##kind(volatile type *p, type *old, type v, \
						  int yes, int no)	\
{									\
	lines_access((const void *)p, sizeof(*p), true, HERE);		\
	return __atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST, \
					   __ATOMIC_SEQ_CST);		\
}

#define EXCHANGE(bits, type, name, function)				\
type __tsan_atomic##bits##_##name(volatile type *p, type v, int order);	\
type __tsan_atomic##bits##_##name(volatile type *p, type v, int order)	\
{									\
	lines_access((const void *)p, sizeof(*p), true, HERE);		\
	return function(p, v, __ATOMIC_SEQ_CST);			\
}

#define ATOMICS(bits, type)						\
type __tsan_atomic##bits##_load(const volatile type *p, int order);	\
type __tsan_atomic##bits##_load(const volatile type *p, int order)	\
{									\
	lines_access((const void *)p, sizeof(*p), false, HERE);		\
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);			\
}									\
void __tsan_atomic##bits##_store(volatile type *p, type v, int order);	\
void __tsan_atomic##bits##_store(volatile type *p, type v, int order)	\
{									\
	lines_access((const void *)p, sizeof(*p), true, HERE);		\
	__atomic_store_n(p, v, __ATOMIC_SEQ_CST);			\
}									\
COMPARE_EXCHANGE(bits, type, strong)					\
COMPARE_EXCHANGE(bits, type, weak)					\
EXCHANGE(bits, type, exchange, __atomic_exchange_n)			\
EXCHANGE(bits, type, fetch_add, __atomic_fetch_add)			\
EXCHANGE(bits, type, fetch_sub, __atomic_fetch_sub)			\
EXCHANGE(bits, type, fetch_and, __atomic_fetch_and)			\
EXCHANGE(bits, type, fetch_or, __atomic_fetch_or)			\
EXCHANGE(bits, type, fetch_xor, __atomic_fetch_xor)

ATOMICS(8, u8)
ATOMICS(16, u16)
ATOMICS(32, u32)
ATOMICS(64, u64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
}

/* ---- memory ---- */

void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
	lines_access(from, n, false, HERE);
	lines_access(to, n, true, HERE);
	return __real_memcpy(to, from, n);
}

void *__real_memset(void *to, int c, size_t n);
void *__wrap_memset(void *to, int c, size_t n);
void *__wrap_memset(void *to, int c, size_t n)
{
	lines_access(to, n, true, HERE);
	return __real_memset(to, c, n);
}

/* What zeroes an object is who has allocated it. */
static void *new_object(void *p, size_t n, gfp_t flags, const void *pc)
{
	if (!p)
		return p;
	lines_object(p, n, pc);
	if (flags & __GFP_ZERO) {
		lines_access(p, n, true, pc);
		__real_memset(p, 0, n);
	}
	return p;
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return new_object(__real_calloc(n, size), n * size, 0, HERE);
}

void *__real_zj_user_alloc(size_t n, size_t size, gfp_t flags);
void *__wrap_zj_user_alloc(size_t n, size_t size, gfp_t flags);
void *__wrap_zj_user_alloc(size_t n, size_t size, gfp_t flags)
{
	return new_object(__real_zj_user_alloc(n, size, flags & ~__GFP_ZERO), n * size, flags,
			  HERE);
}

/* Sizes are those of struct kmem_cache in bench/core/native/mem.c, by cache. */
#define MAX_CACHES	64u
static struct { const void *cache; u32 size; } caches[MAX_CACHES];

struct kmem_cache *__real_kmem_cache_create(const char *name, unsigned int size,
					    unsigned int align, unsigned int flags,
					    void (*ctor)(void *));
struct kmem_cache *__wrap_kmem_cache_create(const char *name, unsigned int size,
					    unsigned int align, unsigned int flags,
					    void (*ctor)(void *));
struct kmem_cache *__wrap_kmem_cache_create(const char *name, unsigned int size,
					    unsigned int align, unsigned int flags,
					    void (*ctor)(void *))
{
	struct kmem_cache *cache = __real_kmem_cache_create(name, size, align, flags, ctor);
	u32 i = 0;

	while (caches[i].cache)
		i++;
	caches[i].size = size;
	caches[i].cache = cache;
	return cache;
}

void *__real_kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags);
void *__wrap_kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags);
void *__wrap_kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags)
{
	void *p = __real_kmem_cache_alloc(cache, flags & ~__GFP_ZERO);
	u32 i = 0;

	while (caches[i].cache != cache)
		i++;
	return new_object(p, caches[i].size, flags, HERE);
}
