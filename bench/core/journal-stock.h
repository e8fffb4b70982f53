/* SPDX-License-Identifier: GPL-2.0-only */
/* Stock jbd2, for the benchmark of the core. */
#ifndef ZJ_CORE_JOURNAL_H
#define ZJ_CORE_JOURNAL_H

#include "stock-native.h"
#include <linux/jbd2.h>
#include "native.h"

#define JOURNAL_NAME	"stock"
/* No transaction of its depends on another but by its place in the log. */
#define chain_run	NULL

int stock_module_init(void);
void stock_module_exit(void);

#define journal_module_init	stock_module_init
#define journal_module_exit	stock_module_exit

struct core_options;
static inline void journal_set_up(journal_t *journal, const struct core_options *options)
{
	stock_thread = NULL;
}

/* The thread says that it ends; here somebody has to wait for it. */
static inline void journal_after_destroy(void)
{
	if (stock_thread)
		thr_join((struct thr_task *)stock_thread);
}

static inline handle_t *journal_start_in(journal_t *journal, u32 lane, int blocks)
{
	return jbd2__journal_start(journal, blocks, 0, 0, GFP_NOFS, 0, 0);
}

#endif
