// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hibernation: writes are held from before the memory is copied until the system goes on, which
 * is the resumed one, or this one if no copy was made or it was not needed (L3).
 */
#include <linux/platform_device.h>
#include <linux/pm.h>
#include <linux/workqueue.h>
#include "core/core.h"
#include "pm.h"

static struct platform_device *hook;

static void release(struct work_struct *work)
{
	zj_writes_release();
}

/* Runs when the workqueues are thawed, as the tasks are that wait for writes. */
static DECLARE_WORK(release_work, release);

/*
 * The PM core offers nothing else that comes after everything is frozen that can be, and before
 * any device is suspended: earlier a task that is yet to be frozen may wait for a commit, and
 * later a write may be stuck in a device. A suspend to RAM is treated alike. It would not need it,
 * but nothing that runs while tasks are frozen may wait for a commit anyway.
 */
static int prepare(struct device *dev)
{
	zj_writes_hold();
	queue_work(system_freezable_wq, &release_work);
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

int __init zj_pm_init(void)
{
	int err = platform_driver_register(&hook_driver);

	if (err)
		return err;
	hook = platform_device_register_simple("zjournal", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(hook))
		platform_driver_unregister(&hook_driver);
	return PTR_ERR_OR_ZERO(hook);
}

void zj_pm_exit(void)
{
	platform_device_unregister(hook);
	platform_driver_unregister(&hook_driver);
	cancel_work_sync(&release_work);
}
