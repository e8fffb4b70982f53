/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Make the checksums of a log in stock's format right, as a forger would, and on
 * demand the rest of it, too.
 */
#ifndef ZJ_FUZZ_JBD2_SEAL_H
#define ZJ_FUZZ_JBD2_SEAL_H

#include "format/codec_jbd2.h"
#include "input.h"

#define JBD2_CSUMS	(ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_CSUM_V3)

bool jbd2_is_header(const struct input *in, u32 at);
/* How the log is written, and that it is within the journal. */
bool jbd2_log_of(const struct input *in, struct zj_jbd2_geo *log);
/*
 * Walk the ring from its start as a reader does, and give the blocks that it comes
 * to numbers and contents that make sense; most of them, by @dice.
 */
void jbd2_heal(struct input *in, u32 dice);
/* Corrects all checksums except those of version 1, then these along the ring. */
void jbd2_seal(struct input *in);

#endif
