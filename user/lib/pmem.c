// SPDX-License-Identifier: GPL-2.0-only
/* Persistent memory for programs: a file or device, mapped. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <klayer/pmem.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#define LINE	64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all, from, to, err */
static struct pmem_map *all;	/* those whose stores go to a page cache */
static int nr_cached;		/* of them; atomic */

/* ---- write-back ---- */

#ifdef __x86_64__

#define CAN_WRITE_BACK	true

enum how { UNKNOWN, CLFLUSH, CLFLUSHOPT, CLWB };

static enum how best(void)
{
	unsigned int a, b, c, d;

	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
		return CLFLUSH;
	return b & bit_CLWB ? CLWB : b & bit_CLFLUSHOPT ? CLFLUSHOPT : CLFLUSH;
}

static void write_back_line(u8 *line)
{
	static enum how how;	/* all threads find the same */
	enum how mine = __atomic_load_n(&how, __ATOMIC_RELAXED);

	if (mine == UNKNOWN) {
		mine = best();
		__atomic_store_n(&how, mine, __ATOMIC_RELAXED);
	}
	if (mine == CLWB)
		asm volatile("clwb %0" : "+m" (*line));
	else if (mine == CLFLUSHOPT)
		asm volatile("clflushopt %0" : "+m" (*line));
	else
		asm volatile("clflush %0" : "+m" (*line));
}

static void fence(void)
{
	asm volatile("sfence" : : : "memory");
}

#else

/* Not known how: every mapping is taken for a page cache. */
#define CAN_WRITE_BACK	false

static void write_back_line(u8 *line)
{
}

static void fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif

/* Of a page cache, remember what to sync; is it one? */
static bool note_cached(const void *addr, u64 size)
{
	bool cached = false;

	if (!__atomic_load_n(&nr_cached, __ATOMIC_RELAXED))
		return false;
	pthread_mutex_lock(&lock);
	for (struct pmem_map *m = all; m; m = m->next) {
		u64 from = (const u8 *)addr - m->addr;

		if ((const u8 *)addr < m->addr || from >= m->size)
			continue;
		if (m->from == m->to)
			m->from = from, m->to = from;
		m->from = from < m->from ? from : m->from;
		m->to = from + size > m->to ? from + size : m->to;
		cached = true;
	}
	pthread_mutex_unlock(&lock);
	return cached;
}

void arch_wb_cache_pmem(void *addr, size_t size)
{
	u8 *line = (u8 *)((unsigned long)addr & ~(LINE - 1UL));

	if (note_cached(addr, size))
		return;
	for (; line < (u8 *)addr + size; line += LINE)
		write_back_line(line);
}

void memcpy_flushcache(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
	arch_wb_cache_pmem(dst, n);
}

static void sync_map(struct pmem_map *m)
{
	u64 page = sysconf(_SC_PAGESIZE), from = m->from / page * page;

	if (m->from == m->to)
		return;
	if (msync(m->addr + from, m->to - from, MS_SYNC) && !m->err)
		m->err = -errno;
	m->from = m->to = 0;
}

void pmem_wmb(void)
{
	fence();
	if (!__atomic_load_n(&nr_cached, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	for (struct pmem_map *m = all; m; m = m->next)
		sync_map(m);
	pthread_mutex_unlock(&lock);
}

/* ---- mappings ---- */

static void *map_fd(struct pmem_map *m, int fd)
{
	int prot = m->flags & PMEM_READ_ONLY ? PROT_READ : PROT_READ | PROT_WRITE;
	void *addr = MAP_FAILED;

	if (CAN_WRITE_BACK)
		addr = mmap(NULL, m->size, prot, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
	m->dax = addr != MAP_FAILED;
	return m->dax ? addr : mmap(NULL, m->size, prot, MAP_SHARED, fd, 0);
}

static bool is_cached(const struct pmem_map *m)
{
	return !m->dax && !(m->flags & (PMEM_READ_ONLY | PMEM_NO_SYNC));
}

int pmem_map(struct pmem_map *map, const char *path, int flags)
{
	int fd = open(path, (flags & PMEM_READ_ONLY ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	off_t size;
	void *addr;

	*map = (struct pmem_map){ .flags = flags };
	if (fd < 0)
		return -errno;
	size = lseek(fd, 0, SEEK_END);
	map->size = size > 0 ? size : 0;
	addr = map->size ? map_fd(map, fd) : MAP_FAILED;
	map->err = addr != MAP_FAILED ? 0 : map->size ? -errno : -EINVAL;
	close(fd);
	if (map->err)
		return map->err;
	map->addr = addr;
	if (is_cached(map)) {
		pthread_mutex_lock(&lock);
		map->next = all;
		all = map;
		__atomic_fetch_add(&nr_cached, 1, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&lock);
	}
	return 0;
}

int pmem_unmap(struct pmem_map *map)
{
	struct pmem_map **link = &all;

	if (is_cached(map)) {
		pthread_mutex_lock(&lock);
		while (*link != map)
			link = &(*link)->next;
		*link = map->next;
		__atomic_fetch_sub(&nr_cached, 1, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&lock);
	}
	munmap(map->addr, map->size);
	return map->err;
}
