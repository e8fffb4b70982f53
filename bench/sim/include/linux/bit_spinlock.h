/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_BIT_SPINLOCK_H
#define ZJ_RUNTIME_LINUX_BIT_SPINLOCK_H

void bit_spin_lock(int bit, unsigned long *word);
void bit_spin_unlock(int bit, unsigned long *word);

#endif
