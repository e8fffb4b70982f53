/* SPDX-License-Identifier: GPL-2.0-only */
/* Stock jbd2, for the simulated machine. */
#ifndef ZJ_SIM_JOURNAL_H
#define ZJ_SIM_JOURNAL_H

#include "stock-sim.h"
#include "../core/journal-stock.h"

#endif
