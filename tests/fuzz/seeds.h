/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_FUZZ_SEEDS_H
#define ZJ_FUZZ_SEEDS_H

#include "input.h"

/* Seed number @seed of the format, the same each time. */
void make_input(struct input *in, u32 seed);

#endif
