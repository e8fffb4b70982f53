/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The native layer: the primitives of the kernel at about the price that they have there,
 * for a journal that is measured by the clock.  Nothing is checked.
 *
 *   include/  locks, reference counts, RCU, jiffies, in place of tests/runtime's
 *   lock.c    waiting for spinlocks       cpu.c   CPU numbers, jiffies, start and end
 *   mem.c     a slab allocator            rcu.c   grace periods
 *   disk.c    a device in memory
 *
 * Tasks, wait queues, timers, the xarray and buffers are those of tests/runtime.
 */
#ifndef ZJ_NATIVE_H
#define ZJ_NATIVE_H

#include "threads.h"
#include "disk.h"

/* ---- cpu.c ---- */

void native_start(unsigned int cpus);
void native_end(void);

/* ---- mem.c ---- */

/* Bytes that are allocated now, as slabs round them; exact while nobody allocates. */
u64 mem_bytes(void);
/* The thread's free objects; bench/sim gives each of its CPUs some. */
struct thread_mem;
extern __thread struct thread_mem *mem_mine;

/* ---- disk.c ---- */

/**
 * struct mem_disk - a device whose blocks are in memory
 */
struct mem_disk {
	struct kl_disk	disk;		/* what the layer sees */
	u8		*memory;	/* its blocks */
	bool		hold;		/* keep the next write; atomic */
	struct bio	*held;		/* which has been kept; atomic */
};

/* A device of @nr blocks, empty or with @memory's contents, which it then owns. */
struct mem_disk *mem_disk_new(u32 nr, u32 block, u8 *memory);
void mem_disk_free(struct mem_disk *disk);
/* A copy of its blocks, as after a power cut; of malloc(). */
u8 *mem_disk_copy(const struct mem_disk *disk);
/* Complete the write that was kept. */
void mem_disk_release(struct mem_disk *disk);

#endif
