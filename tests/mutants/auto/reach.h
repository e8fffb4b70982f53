/* SPDX-License-Identifier: GPL-2.0-only */
/* Included before every source of the reach build: a byte for each statement. */
extern unsigned char *zj_reached;
#define ZJ_REACH(n)	((void)(zj_reached[n] = 1))
