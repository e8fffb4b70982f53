/* SPDX-License-Identifier: GPL-2.0-only */
/* zjournal, for the simulated machine, and what zext4 tells it. */
#ifndef ZJ_SIM_JOURNAL_ZJ_H
#define ZJ_SIM_JOURNAL_ZJ_H

#include "../core/journal-zj.h"

/* An fsync's little data is written with FUA if no older data of the file waits. */
#define journal_data_flags(journal) \
	(zj_journal_wants_fua(journal, 0) ? REQ_FUA : 0)

#define journal_lanes(journal)	to_zj(journal)->nr_lanes

static inline void journal_mounted(journal_t *journal, bool data_journal)
{
	journal->j_flags |= data_journal ? ZJ_DATA_JOURNALED : ZJ_DATA_REPORTED;
}

#endif
