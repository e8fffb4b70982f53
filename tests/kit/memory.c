// SPDX-License-Identifier: GPL-2.0-only
/* Persistent memory for a journal. */
#include <stdlib.h>
#include <klayer/nvm.h>
#include "disk.h"
#include "kit.h"
#include "pmem.h"

struct kl_pmem *kit_memory(const struct kit *kit, struct kl_disk *disk, u32 size,
			   const char *uuid, const u8 *contents)
{
	u8 *fresh = calloc(1, size);
	struct kl_pmem *pmem;

	zj_encode_nvm_super((const u8 *)uuid, kit->sb.s_uuid.b, size, (void *)fresh);
	pmem = pmem_new(size, contents ?: fresh);
	free(fresh);
	disk_join_pmem(disk, pmem);
	kl_nvm.base = pmem->mem;
	kl_nvm.size = size;
	return pmem;
}
