/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Persistent memory, and its contents after a power cut.
 *
 * A store becomes durable when its line is written back (arch_wb_cache_pmem(), or
 * memcpy_flushcache() in place of the store) and then the same task passes a
 * pmem_wmb(): another CPU's fence does nothing for it.  Until then each 8-byte
 * word that was stored may be durable or not, independently of its neighbours,
 * since the CPU may evict a line at any time.  Words do not tear.
 *
 * On a platform that does not save its write queues (@queues) a flush must follow that
 * fence.
 *
 * Plain stores are seen by comparison, whenever their line is written back, at
 * each fence, and before the disk makes something durable.  So a value that was overwritten
 * before anybody looked is not among what a power cut may leave.
 */
#ifndef ZJ_SIM_PMEM_H
#define ZJ_SIM_PMEM_H

#include <linux/types.h>
#include <asm/barrier.h>
#include <linux/libnvdimm.h>
#include <linux/string.h>
#include "sim.h"

#define PMEM_LINE	64u
#define PMEM_WORD	8u
#define PMEM_WORDS	(PMEM_LINE / PMEM_WORD)

enum pmem_what { PMEM_STORE, PMEM_WRITE_BACK, PMEM_FENCE, PMEM_FLUSH };

/**
 * struct pmem_event - an entry of the memory's log
 */
struct pmem_event {
	enum pmem_what	what;
	u32		line;		/* of a store or write-back */
	u8		words;		/* that were stored: a bit each */
	const void	*task;		/* that did it; unknown for PMEM_STORE */
	u64		data[PMEM_WORDS];
};

/**
 * struct kl_pmem - memory that outlives a power cut
 */
struct kl_pmem {
	u8		*mem;		/* what the code under test loads and stores */
	u8		*noted;		/* the same as far as it is in the log */
	u8		*initial;	/* contents before the first event */
	u32		size;		/* bytes; whole lines */
	struct pmem_event *log;		/* everything that happened */
	u32		nr_log, room_log;
	u64		lines;		/* write-backs so far, counted by lines */
	u64		fences;		/* so far */
	u64		flushes;	/* so far */
	bool		queues;		/* between the caches and the medium: what is written
					 * back and fenced is durable only after pmem_flush()
					 */
	void		(*note)(void *arg, u32 event); /* for every event; or NULL */
	void		*note_arg;
	struct kl_pmem	*next;		/* in the list of all */
};

/* @contents: of @size bytes, copied; or NULL: zeros. */
struct kl_pmem *pmem_new(u32 size, const void *contents);
void pmem_free(struct kl_pmem *pm);
/* Makes durable what the caller has written back and fenced, with queues as well. */
void pmem_flush(struct kl_pmem *pm);
/* Put stores that are not in the log yet there. */
void pmem_look(struct kl_pmem *pm);

/**
 * struct pmem_pending - words that a power cut may take
 */
struct pmem_pending {
	const struct pmem_event *event;	/* that has stored or written them back */
	u8		words;		/* of it: a bit each */
	bool		fenced;		/* by the task that wrote them back */
};

/**
 * struct pmem_walk - a place in the memory's log
 */
struct pmem_walk {
	const struct kl_pmem *pm;
	u32		at;		/* events passed */
	u8		*durable;	/* what no power cut takes away */
	struct pmem_pending *pending;	/* oldest first */
	u32		nr, room;	/* of pending */
	u64		*changed;	/* a bit for each line that the last crash's image
					 * may have otherwise than durable
					 */
};

void pmem_walk_init(struct pmem_walk *w, const struct kl_pmem *pm);
void pmem_walk_free(struct pmem_walk *w);
/* Pass one event. */
void pmem_walk_step(struct pmem_walk *w);
/* Makes one of the states that a power cut here may leave; @image has the memory's size. */
void pmem_crash(const struct pmem_walk *w, struct sim_rand *rand, u8 *image);
/* The same, where @image is as the last call of either has left it: faster. */
void pmem_crash_again(const struct pmem_walk *w, struct sim_rand *rand, u8 *image);
/*
 * The same by choice: of the words that are not certain the n-th one is there if bit
 * n of @there is set.  Returns how many there are; those above 63 are lost.
 */
u32 pmem_choose(const struct pmem_walk *w, u64 there, u8 *image);

#endif
