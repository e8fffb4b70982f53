// SPDX-License-Identifier: GPL-2.0-only
/*
 * The name under which this module registers itself: zext4, beside stock ext4, or ext4
 * itself, for systems and programs that know no other name.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/sysfs.h>
#include "ext4.h"

static char *register_as = "zext4";
module_param(register_as, charp, 0444);
MODULE_PARM_DESC(register_as, "The name of the file system type: zext4, or ext4 where stock ext4 is not loaded");

/**
 * zext4_type_name() - the name of the file system type, also of its directory in /sys/fs
 */
const char *zext4_type_name(void)
{
	return register_as;
}

/**
 * zext4_proc_dir() - the name of the directory in /proc
 */
const char *zext4_proc_dir(void)
{
	return zext4_serves_ext4() ? "fs/ext4" : "fs/zext4";
}

/**
 * zext4_serves_ext4() - is it registered as ext4?
 *
 * Then whoever checks and recovers the file system takes it for stock ext4. So its log is
 * in stock's format, unless a mount option says something else.
 */
bool zext4_serves_ext4(void)
{
	return !strcmp(register_as, "ext4");
}

/*
 * Has another module this directory in /sys/fs? It is there as long as the type is, and to look
 * for it shows nobody anything: a type that were registered to try the name could be mounted.
 */
static bool is_taken(const char *name)
{
	struct kernfs_node *dir = sysfs_get_dirent(fs_kobj->sd, name);

	if (dir)
		sysfs_put(dir);
	return dir;
}

/**
 * zext4_name_type() - give the file system type its name, before anything is registered
 * @type: this module's
 *
 * Return: 0; -EINVAL if the name is no choice, -EBUSY if stock ext4 has it.
 */
int zext4_name_type(struct file_system_type *type)
{
	if (strcmp(register_as, "zext4") && !zext4_serves_ext4()) {
		pr_err("zext4: register_as=%s is not supported; it is zext4 or ext4\n",
		       register_as);
		return -EINVAL;
	}
	if (is_taken(register_as)) {
		pr_err("zext4: register_as=%s: a file system of this name is loaded already; unmount what uses it and run rmmod %s first\n",
		       register_as, register_as);
		return -EBUSY;
	}
	type->name = register_as;
	return 0;
}

/*
 * Stock ext4 that is loaded after us would find its directory in /sys taken, which the
 * kernel reports with a call trace, and fail for want of memory. -EEXIST is what modprobe
 * takes for "it is there already", and the type ext4 is.
 */
static int refuse_stock(struct notifier_block *block, unsigned long state,
			void *data)
{
	struct module *module = data;

	if (state != MODULE_STATE_COMING || strcmp(module->name, "ext4"))
		return NOTIFY_DONE;
	pr_warn("zext4: the module ext4 is not loaded, because zext4 serves the type ext4 (register_as=ext4)\n");
	return notifier_from_errno(-EEXIST);
}

static struct notifier_block stock_notifier = {
	.notifier_call = refuse_stock,
};

/**
 * zext4_hold_name() - keep stock ext4 out as long as this module has its name
 */
void zext4_hold_name(void)
{
	if (zext4_serves_ext4())
		register_module_notifier(&stock_notifier);
}

/**
 * zext4_release_name() - the module is being removed
 */
void zext4_release_name(void)
{
	if (zext4_serves_ext4())
		unregister_module_notifier(&stock_notifier);
}
