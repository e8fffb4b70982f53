/* SPDX-License-Identifier: GPL-2.0-only */
/* Who has a lane of its own. */
#ifndef ZJ_TENANT_TYPES_H
#define ZJ_TENANT_TYPES_H

#include <linux/types.h>

/**
 * struct zj_tenant - who has a lane of its own; any value does no harm
 */
struct zj_tenant {
	u32		tag;	/* tenant_lock to change; hash of its number, 0: free */
	u32		lane;	/* tenant_lock to change; below nr_lanes */
	unsigned long	used;	/* racy; jiffies, a minute behind at most */
};

#endif /* ZJ_TENANT_TYPES_H */
