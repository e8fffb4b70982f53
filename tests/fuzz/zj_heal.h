/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Repairs a log so that a writer and a crash could have left it, as far as that is simple:
 * else almost every mutation would end in a refusal, and few would be replayed.
 */
#ifndef ZJ_FUZZ_ZJ_HEAL_H
#define ZJ_FUZZ_ZJ_HEAL_H

#include "input.h"

/* Takes its choices from @dice.  The checksums are left to seal(). */
void heal(struct input *in, u32 dice);

#endif
