/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_TENANT_H
#define ZJ_TENANT_H

#include "core/journal.h"
#include "txn/tenant_types.h"

int zj_tenants_init(struct zj_journal *zj);
void zj_tenants_exit(struct zj_journal *zj);
void zj_tenants_forget(struct zj_journal *zj);

#endif /* ZJ_TENANT_H */
