/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Assertions: conditions that hold as long as the journal has no bug
 * (docs/internals/rules.md, and counters).
 *
 * A journal that is wrong must not go on writing, but must not bring the
 * machine down either. So a condition that does not hold warns once and aborts
 * the journal, and recovery finds what was committed. In user space it ends the
 * test, and a kernel with zjournal.panic_on_assert=1 stops.
 *
 * Only conditions that follow from the caller's locks, or from what it owns,
 * may be asserted: a false alarm costs the user a mount. What a device returns
 * is checked, never asserted.
 */
#ifndef ZJ_ASSERT_H
#define ZJ_ASSERT_H

#include <linux/kernel.h>

struct zj_journal;

/*
 * Aborts the journal without sleeping; any spinlock of the journal may be held.
 */
void zj_assertion_failed(struct zj_journal *zj);

/**
 * ZJ_ASSERT() - abort the journal if a condition does not hold
 * @zj: the journal
 * @condition: evaluated once; must not contain a percent sign
 *
 * Context: any but interrupts.
 * Return: true if it holds; if not, a caller that would corrupt memory goes no
 * further.
 */
#define ZJ_ASSERT(zj, condition)					\
({									\
	bool __holds = likely(condition);				\
									\
	if (!__holds) {							\
		WARN_ONCE(1, "zjournal: assertion failed: " #condition "\n"); \
		zj_assertion_failed(zj);				\
	}								\
	__holds;							\
})

#endif /* ZJ_ASSERT_H */
