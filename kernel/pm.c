// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hibernation: writes are held from before the memory is copied until the system goes on, which
 * is the resumed one, or this one if no copy was made or it was not needed (L3).
 */
#include <linux/notifier.h>
#include <linux/platform_device.h>
#include <linux/pm.h>
#include <linux/suspend.h>
#include "core/hold.h"
#include "pm.h"

static struct platform_device *hook;
static bool hibernating;	/* written by notifiers, which the PM core calls one by one */

/*
 * The PM core offers nothing else that comes after everything is frozen that can be, and before
 * any device is suspended: earlier a task that is yet to be frozen may wait for a commit, and
 * later a write may be stuck in a device.
 */
static int prepare(struct device *dev)
{
	/* Not for a suspend to RAM that comes while a program has /dev/snapshot open. */
	if (hibernating && pm_suspend_target_state == PM_SUSPEND_ON)
		zj_writes_hold();
	return 0;
}

static const struct dev_pm_ops hook_ops = {
	.prepare	= pm_sleep_ptr(prepare),
};

static struct platform_driver hook_driver = {
	.driver = {
		.name			= "zjournal",
		.pm			= pm_sleep_ptr(&hook_ops),
		.suppress_bind_attrs	= true,
	},
};

/*
 * A suspend to RAM holds nothing: the memory that goes on is the one that knows what was written.
 * The copy has @hibernating set and writes held, and the end of its hibernation releases them.
 */
static int pm_event(struct notifier_block *block, unsigned long event, void *data)
{
	switch (event) {
	case PM_HIBERNATION_PREPARE:
		hibernating = true;
		break;
	case PM_POST_HIBERNATION:
		hibernating = false;
		zj_writes_release();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block pm_block = {
	.notifier_call	= pm_event,
};

int __init zj_pm_init(void)
{
	int err = platform_driver_register(&hook_driver);

	if (err)
		return err;
	hook = platform_device_register_simple("zjournal", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(hook)) {
		platform_driver_unregister(&hook_driver);
		return PTR_ERR(hook);
	}
	err = register_pm_notifier(&pm_block);
	if (err) {
		platform_device_unregister(hook);
		platform_driver_unregister(&hook_driver);
	}
	return err;
}

void zj_pm_exit(void)
{
	unregister_pm_notifier(&pm_block);
	platform_device_unregister(hook);
	platform_driver_unregister(&hook_driver);
}
