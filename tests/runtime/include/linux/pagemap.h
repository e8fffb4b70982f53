/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_PAGEMAP_H
#define ZJ_RUNTIME_LINUX_PAGEMAP_H

#include <linux/fs.h>
#include <linux/wait.h>

#define PAGE_SHIFT	12
#define PAGE_SIZE	4096UL
#define copy_page(to, from)	memcpy(to, from, PAGE_SIZE)

struct buffer_head;

/**
 * struct folio - a few blocks of cached data
 */
struct folio {
	struct address_space *mapping;
	struct buffer_head *private;	/* its first buffer, or NULL */
	size_t		size;		/* bytes */
	bool		writeback;	/* I/O in flight */
	struct task_struct *locked;	/* the task that holds the lock, or NULL */
	wait_queue_head_t wait;		/* for either to end */
};

#define folio_buffers(f)	((f)->private)
#define folio_size(f)		((f)->size)
#define folio_test_writeback(f)	READ_ONCE((f)->writeback)

void folio_wait_writeback(struct folio *folio);
bool try_to_free_buffers(struct folio *folio);
int filemap_fdatawrite_range(struct address_space *mapping, loff_t start,
			     loff_t end);
int filemap_fdatawait_range_keep_errors(struct address_space *mapping,
					loff_t start, loff_t end);

#endif
