/* SPDX-License-Identifier: GPL-2.0-only */
/* Containers or directories that have lanes of their own. */
#ifndef ZJ_TENANT_TYPES_H
#define ZJ_TENANT_TYPES_H

#include <linux/types.h>

/**
 * struct zj_tenant - a tenant and the lane that it was given
 *
 * The table is allocated when the journal is loaded. A place is taken by the first
 * handle of a new tenant, and lost when the tenant has been idle for long and another one
 * needs the place. Readers take no lock: a wrong value costs only locality.
 */
struct zj_tenant {
	u32		tag;	/* tenant_lock to change; hash of its number, 0: free place */
	u32		lane;	/* tenant_lock to change; below nr_lanes */
	unsigned long	used;	/* racy; jiffies of a recent handle, up to a minute behind */
};

#endif /* ZJ_TENANT_TYPES_H */
