// SPDX-License-Identifier: GPL-2.0-only
/* Memory for a log: that which the program has set; the path is ignored. */
#include <linux/errno.h>
#include <klayer/bug.h>
#include <klayer/nvm.h>

#define BEGUN	0x5afe	/* id of an access that was begun */

struct kl_nvm kl_nvm;

int zj_nvm_open(const char *path, struct zj_nvm_map *map)
{
	if (!kl_nvm.base) {
		kl_printk(3, "%s: no such memory\n", path);
		return -ENOENT;
	}
	kl_nvm.users++;
	map->base = kl_nvm.base;
	map->size = kl_nvm.size;
	map->needs_flush = kl_nvm.needs_flush;
	return 0;
}

void zj_nvm_close(struct zj_nvm_map *map)
{
	if (map->base && !--kl_nvm.users && kl_nvm.begun)
		kl_fail("an access to the memory has not ended");
	map->base = NULL;
}

int zj_nvm_begin(struct zj_nvm_map *map, int *id)
{
	if (kl_nvm.gone)
		return -ENODEV;
	__atomic_add_fetch(&kl_nvm.begun, 1, __ATOMIC_RELAXED);
	*id = BEGUN;
	return 0;
}

void zj_nvm_end(int id)
{
	if (id != BEGUN || __atomic_sub_fetch(&kl_nvm.begun, 1, __ATOMIC_RELAXED) < 0)
		kl_fail("an access to the memory ends that has not begun");
}

int zj_nvm_flush(struct zj_nvm_map *map)
{
	return kl_nvm.flush ? kl_nvm.flush() : 0;
}
