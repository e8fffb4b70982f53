/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk with a volatile cache, its buffers, and the disk after a power cut.
 *
 * Its last blocks may be a second device, with a cache of its own: flushes of one make
 * nothing durable on the other. Both have one log, so that a power cut cuts both at the same
 * moment.
 */
#ifndef ZJ_SIM_DISK_H
#define ZJ_SIM_DISK_H

#include <linux/blkdev.h>
#include <linux/buffer_head.h>
#include "pmem.h"
#include "sim.h"

#define DISK_BLOCK	1024u	/* bytes; the only block size of the simulator */
#define DISK_SECTOR	512u	/* what is written whole or not at all */

enum disk_what { DISK_WRITE, DISK_DONE, DISK_DONE_FUA, DISK_FLUSH, DISK_FLUSHED,
		 DISK_PMEM };

/**
 * struct disk_event - an entry of the disk's log
 */
struct disk_event {
	enum disk_what	what;
	u32		block;	/* DISK_WRITE; of flushes, which device: 0 or 1 */
	const u8	*data;	/* DISK_WRITE; the disk's own copy */
	u64		request; /* which request or flush; of memory, which event */
};

/**
 * struct kl_disk - a disk
 */
struct kl_disk {
	u32		nr;		/* blocks */
	const u8	**seen;		/* what a read gets */
	u8		*writing;	/* blocks with a write in flight */
	u32		split;		/* first block of the second device; 0: there is none */
	bool		cache;		/* it has a volatile cache */
	bool		fua;		/* it knows FUA */
	bool		cache2, fua2;	/* the same of the second device */
	s64		io_ns;		/* no request takes longer; 0: a long tail */
	struct sim_rand	rand;		/* latencies, outcome of failed writes */
	struct disk_event *log;		/* everything that happened */
	u32		nr_log, room_log;
	void		(*trace)(const struct kl_disk *disk, u32 event); /* or NULL */
	u64		last_request;
	u32		writes;		/* write requests so far */
	u32		fail_write;	/* this one fails; 0: none */
	u32		flushes;	/* flushes so far, of both devices */
	u32		flushes_of[2];	/* of each */
	u32		fail_flush;	/* this one fails; 0: none */
	u32		reads;		/* read requests that have ended so far */
	u32		reads_sent;	/* read requests so far */
	u32		fail_read;	/* this one fails; 0: none */
	u32		log_first;	/* the first block of a journal, but for its block 0 */
	u32		log_blocks;	/* 0: there is none that is looked at */
	struct kl_pmem	*pmem;		/* its events are in the log; or NULL */
	struct sim_buf	**bufs;		/* the device's buffer cache */
	struct inode	inode;		/* the device's */
	struct super_block sb;		/* of devices */
	struct block_device bdev;
	struct block_device bdev2;	/* the second device */
};

struct kl_disk *disk_new(u32 nr, u64 seed);
/* Makes the blocks from @block on a second device; it has a cache and FUA, too. */
void disk_split(struct kl_disk *disk, u32 block);
static inline u32 disk_unit(const struct kl_disk *disk, u32 block)
{
	return disk->split && block >= disk->split;
}

void disk_free(struct kl_disk *disk);
/* Contents before the first request; copied. */
void disk_set(struct kl_disk *disk, u32 block, const void *data);
/* The same for all blocks; @image has them one after the other. */
void disk_set_all(struct kl_disk *disk, const u8 *image);
/* The contents as they are now, block by block, for walk_init(); to be freed. */
const u8 **disk_contents(const struct kl_disk *disk);
/*
 * Puts the events of the memory into the disk's log, so that a power cut cuts both at the
 * same moment.
 */
void disk_join_pmem(struct kl_disk *disk, struct kl_pmem *pmem);

/* ---- memory that lives as long as the disk's log ---- */
void *arena_copy(const void *data);
void arena_reset(void);

/* ---- buffer.c ---- */

/**
 * struct sim_buf - a buffer with its folio
 */
struct sim_buf {
	struct buffer_head bh;	/* first member */
	struct folio	folio;
	u32		block;	/* where its home is, also when unmapped */
};

void buf_init(struct sim_buf *buf, struct folio *folio, void *data);
void buf_free(struct buffer_head *bh);
/* Also makes @disk a block device with blocks of so many bytes. */
void buf_cache_init(struct kl_disk *disk, u32 block);
/* Forget a clean buffer that is not in use; true if it was there. */
bool buf_reclaim(struct kl_disk *disk, u32 block);
/* Start writing a dirty buffer of the device, as the flusher does. */
void buf_write_back(struct kl_disk *disk, u32 block);
/* The same for a buffer that the caller has locked; waits, and unlocks it. */
int buf_write_locked(struct buffer_head *bh);
/* Frees all; fails if anything is still in use. */
void buf_cache_exit(struct kl_disk *disk);

/* ---- page.c ---- */

#define PAGE_BUFS	2u

/**
 * struct sim_page - a folio of a file with its buffers
 */
struct sim_page {
	struct folio	folio;		/* first member; folio.private: buf[0] or NULL */
	struct kl_disk	*disk;
	struct sim_buf	*buf[PAGE_BUFS]; /* or NULL */
	char		*data;		/* PAGE_BUFS blocks */
	bool		writable;	/* some process may write to it as it likes */
	int		users;		/* it stays while there are any */
};

struct sim_page *page_new(struct kl_disk *disk, struct inode *inode);
/* Buffers for it if it has none; unmapped. */
void page_buffers(struct sim_page *page);
void page_map(struct sim_page *page, u32 i, u32 block);
/* No user, no buffer. */
void page_free(struct sim_page *page);
void folio_lock(struct folio *folio);
bool folio_trylock(struct folio *folio);
void folio_unlock(struct folio *folio);
/* Writes a folio of journaled data home as ext4 does; the folio is locked. */
void page_write_back(struct sim_page *page);

/* ---- crash.c ---- */

#define WALK_PENDING	4096

/**
 * struct disk_pending - a write that a power cut may lose
 */
struct disk_pending {
	u32		block;
	const u8	*data;
	u64		request;
	u64		flush;		/* first flush that covers it; 0: none */
	u32		unit;		/* its device: 0 or 1 */
	bool		done;		/* the device has said so */
};

/**
 * struct disk_walk - a place in the disk's log
 */
struct disk_walk {
	const struct kl_disk *disk;
	u32		at;		/* entries passed */
	const u8	**durable;	/* what no power cut takes away */
	struct disk_pending pending[WALK_PENDING]; /* oldest first */
	u32		nr;		/* of pending */
	struct pmem_walk pmem;		/* the same place, if there is memory */
};

/**
 * struct disk_image - a state of the whole disk
 */
struct disk_image {
	u32		nr;		/* blocks */
	const u8	**block;
	u8		*pmem;		/* memory, or NULL: is not looked at */
	const struct disk_walk *made_by; /* also NULL after a write to pmem from elsewhere */
};

void walk_init(struct disk_walk *w, const struct kl_disk *disk,
	       const u8 **initial);
void walk_free(struct disk_walk *w);
/* Pass one entry. */
void walk_step(struct disk_walk *w);
/* Makes one of the states that a power cut here may leave. */
void walk_crash(const struct disk_walk *w, struct sim_rand *rand,
		struct disk_image *image);
/* Memory for torn blocks and recovery's writes, until the next call. */
void *scratch_block(void);
void scratch_reset(void);
bool is_scratch_block(const void *block);

#endif
