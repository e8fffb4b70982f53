/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_HOLD_H
#define ZJ_HOLD_H

void zj_writes_hold(void);
void zj_writes_release(void);
void zj_writes_wait(void);

#endif /* ZJ_HOLD_H */
