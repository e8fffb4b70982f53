// SPDX-License-Identifier: GPL-2.0-only
// register_as=ext4: the type, and its directories in /sys and /proc, have stock ext4's names
// (zext4/register_as.c), and stock ext4 cannot be loaded after it.
//
// expect: super.c: ext4_init_fs=2 ext4_exit_fs=2
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
ext4_init_fs(...)
{
 ...
+ zext4_hold_name();
 return 0;
 ...
}

@@
@@
ext4_exit_fs(...)
{
+ zext4_release_name();
 ext4_destroy_lazyinit_thread();
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
