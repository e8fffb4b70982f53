/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers that a seed in rnd_state repeats. */
#ifndef RND_H
#define RND_H

#include <stdint.h>

static uint64_t rnd_state;

static uint64_t rnd(uint64_t below)
{
	uint64_t x = rnd_state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return (x ^ (x >> 31)) % below;
}

#endif
