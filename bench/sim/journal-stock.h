/* SPDX-License-Identifier: GPL-2.0-only */
/* Stock jbd2, for the simulated machine. */
#ifndef ZJ_SIM_JOURNAL_STOCK_H
#define ZJ_SIM_JOURNAL_STOCK_H

#include "stock-sim.h"
#include "../core/journal-stock.h"

/* Stock knows neither declared ranges nor file data in the log. */
#define journal_range_access(handle, bh)	jbd2_journal_get_write_access(handle, bh)
#define journal_dirty_range(handle, bh, at, n)	jbd2_journal_dirty_metadata(handle, bh)
#define journal_log_data(handle, bh)		jbd2_journal_dirty_metadata(handle, bh)

/* Flags of an fsync's data. */
#define journal_data_flags(journal)	0
#define journal_lanes(journal)		1u
/* Stock's log is on a device, in memory or not. */
#define journal_memory(at, bytes)	((void)(at))

/* Stock counts nothing that is asked for here. */
#define JOURNAL_COUNTS

static inline void journal_counts(journal_t *journal, u64 *counts)
{
}

static inline void journal_mounted(journal_t *journal, bool data_journal)
{
}

#endif
