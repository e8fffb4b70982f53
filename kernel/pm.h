/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_PM_H
#define ZJ_PM_H

#include <linux/init.h>

int __init zj_pm_init(void);
void zj_pm_exit(void);

#endif /* ZJ_PM_H */
