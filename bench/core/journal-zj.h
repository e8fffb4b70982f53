/* SPDX-License-Identifier: GPL-2.0-only */
/* zjournal, for the benchmark of the core; its header has the stock names. */
#ifndef ZJ_CORE_JOURNAL_H
#define ZJ_CORE_JOURNAL_H

#include <zj/inside.h>
#include "native.h"

#define JOURNAL_NAME	"zjournal"

void chain_run(void);

#define journal_module_init	zj_caches_init
#define journal_module_exit	zj_caches_exit

/* core.h includes us. */
#define journal_set_up(journal, options)				\
do {									\
	struct zj_options wanted = {					\
		.lanes = (options)->lanes,				\
		.log = (options)->jbd2 ? ZJ_LOG_JBD2 : ZJ_LOG_LANES,	\
		.live.frozen_copy = (options)->copy ?			\
			ZJ_FROZEN_COPY_ALWAYS : ZJ_FROZEN_COPY_AUTO,	\
	};								\
									\
	WARN_ON_ONCE(zj_journal_configure(journal, &wanted));		\
} while (0)

static inline void journal_after_destroy(void)
{
}

static inline handle_t *journal_start_in(journal_t *journal, u32 lane, int blocks)
{
	return zj_journal_start_in(journal, lane, blocks, 0, 0, GFP_NOFS, 0, 0);
}

#endif
