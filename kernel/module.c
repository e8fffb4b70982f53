// SPDX-License-Identifier: GPL-2.0-only
/*
 * Init and exit of the module zjournal.ko.
 */
#include <linux/module.h>
#include "core/core.h"
#include "journal/journal.h"
#include "txn/txn.h"
#include "pm.h"

static int __init zj_init(void)
{
	int err = zj_caches_init();

	if (err)
		return err;
	err = zj_proc_init();
	if (err)
		goto caches;
	err = zj_pm_init();
	if (err)
		goto proc;
	return 0;
proc:
	zj_proc_exit();
caches:
	zj_caches_exit();
	return err;
}

static void __exit zj_exit(void)
{
	zj_pm_exit();
	zj_proc_exit();
	zj_caches_exit();
}

module_param_named(panic_on_assert, zj_panic_on_assert, bool, 0644);
MODULE_PARM_DESC(panic_on_assert,
		 "Panic if an assertion of the journal fails; off: warn and abort the journal");

module_init(zj_init);
module_exit(zj_exit);

MODULE_DESCRIPTION("Scalable journal for ext4: per-core, concurrent commit");
MODULE_AUTHOR("the zjournal authors");
MODULE_VERSION(ZJ_BUILD_VERSION);
MODULE_LICENSE("GPL");
