/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes the place of src/core/assert.h in the copy that run.py builds: an assertion that
 * fails is passed over, so that a mutant is caught by what the journal does wrong.
 */
#ifndef ZJ_ASSERT_H
#define ZJ_ASSERT_H

#include <linux/kernel.h>

struct zj_journal;

void zj_assertion_failed(struct zj_journal *zj);

#define ZJ_ASSERT(zj, condition) ({ bool __holds = (condition); (void)(zj); __holds; })

#endif /* ZJ_ASSERT_H */
