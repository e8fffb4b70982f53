/* SPDX-License-Identifier: GPL-2.0-only */
/* zjournal, for the yardstick: its header has the stock names. */
#ifndef ZJ_YARDSTICK_JOURNAL_H
#define ZJ_YARDSTICK_JOURNAL_H

#include <zj/inside.h>
#include "disk.h"

#define JOURNAL_NAME	"zjournal"
#define JOURNAL_ORDERED	false	/* only after what it depends on */

#define journal_module_init	zj_caches_init
#define journal_module_exit	zj_caches_exit

/* yard.h includes us. */
#define journal_set_up(journal, options)				\
do {									\
	struct zj_options wanted = {					\
		.lanes = (options)->jbd2 ? 1 : (options)->cpus,		\
		.log = (options)->jbd2 ? ZJ_LOG_JBD2 : ZJ_LOG_LANES,	\
		.pipeline = (options)->pipeline,			\
		.live.flush_batch = (options)->run,			\
	};								\
									\
	WARN_ON_ONCE(zj_journal_configure(journal, &wanted));		\
} while (0)

static inline int journal_recover(journal_t *journal, u32 end)
{
	return zj_journal_load(journal);
}

static inline void journal_before_load(void)
{
}

static inline void journal_after_destroy(void)
{
}

#endif
