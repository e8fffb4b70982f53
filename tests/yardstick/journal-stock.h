/* SPDX-License-Identifier: GPL-2.0-only */
/* Stock jbd2, for the yardstick. */
#ifndef ZJ_YARDSTICK_JOURNAL_H
#define ZJ_YARDSTICK_JOURNAL_H

#include "stock.h"
#include <linux/jbd2.h>
#include "disk.h"

#define JOURNAL_NAME	"stock"
#define JOURNAL_ORDERED	true	/* a transaction follows all older ones */

int stock_module_init(void);
void stock_module_exit(void);

#define journal_module_init	stock_module_init
#define journal_module_exit	stock_module_exit

/* It has one log, in its own format. */
struct yard_options;
static inline void journal_set_up(journal_t *journal,
				  const struct yard_options *options)
{
}

/* Not yet loaded, so destroying it writes nothing. */
static inline int journal_recover(journal_t *journal, u32 end)
{
	journal->j_last = end;
	return jbd2_journal_recover(journal);
}

static inline void journal_before_load(void)
{
	stock_thread = NULL;
}

/* The thread announces its end; here it must be waited for. */
static inline void journal_after_destroy(void)
{
	if (stock_thread)
		sim_join((struct sim_task *)stock_thread);
}

#endif
