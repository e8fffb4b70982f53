// SPDX-License-Identifier: GPL-2.0-only
// register_as=ext4: the type, and its directories in /sys and /proc, have stock ext4's names
// (zext4/register_as.c).
//
// expect: super.c: ext4_init_fs=1
// expect: sysfs.c: ext4_init_sysfs=2 ext4_exit_sysfs=1

@@
identifier err;
@@
ext4_init_fs(...)
{
 ...
- err = ext4_init_es();
+ err = zext4_name_type(&ext4_fs_type) ?: ext4_init_es();
 ...
}

@@
@@
- kobject_create_and_add("zext4", fs_kobj)
+ kobject_create_and_add(zext4_type_name(), fs_kobj)

@@
@@
- proc_mkdir(proc_dirname, NULL)
+ proc_mkdir(zext4_proc_dir(), NULL)

@@
@@
- remove_proc_entry(proc_dirname, NULL)
+ remove_proc_entry(zext4_proc_dir(), NULL)
