/* SPDX-License-Identifier: GPL-2.0-only */
/* bench/core's layer for stock jbd2, with what the kernel has for each CPU or in tables. */
#ifndef ZJ_SIM_STOCK_SIM_H
#define ZJ_SIM_STOCK_SIM_H

#include "stock-native.h"

#undef bit_waitqueue
#define bit_waitqueue(word, bit)	sim_var_queue(word)

/* A counter of each CPU's own: neither its line nor its instruction costs anything here. */
#undef percpu_counter_inc
#undef percpu_counter_dec
#define percpu_counter_inc(c)		do { } while (0)
#define percpu_counter_dec(c)		do { } while (0)

#endif
