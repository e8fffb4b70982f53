// SPDX-License-Identifier: GPL-2.0-only
// Identity: zext4 registers ext2 and ext3 only where it is ext4 (register_as=ext4), and has a
// sysfs directory of its own.  Without this patch it does not load beside stock ext4.
//
// expect: super.c: ext4_init_fs=8 ext4_exit_fs=2
// expect: sysfs.c: ext4_init_sysfs=1
// expect: mballoc.c: ext4_groupinfo_create_slab=1

@@
@@
ext4_init_fs(...)
{
<...
(
- register_as_ext3();
|
- register_as_ext2();
|
- unregister_as_ext3();
|
- unregister_as_ext2();
)
...>
}

// As the last step, so that nothing fails when a type can be mounted.
@@
@@
ext4_init_fs(...)
{
 ...
+ if (zext4_serves_ext4()) {
+	register_as_ext3();
+	register_as_ext2();
+ }
 return 0;
 ...
}

@@
@@
ext4_exit_fs(...)
{
<...
(
+ if (zext4_serves_ext4())
 unregister_as_ext3();
|
+ if (zext4_serves_ext4())
 unregister_as_ext2();
)
...>
}

@@
@@
- kobject_create_and_add("ext4", fs_kobj)
+ kobject_create_and_add("zext4", fs_kobj)

// This is what ZEXT4_CACHE() in adapt.h does for the other slab caches.
@@
@@
ext4_groupinfo_create_slab(...)
{
<...
 kmem_cache_create(...,
- SLAB_RECLAIM_ACCOUNT
+ SLAB_RECLAIM_ACCOUNT | SLAB_NO_MERGE
 , NULL)
...>
}
