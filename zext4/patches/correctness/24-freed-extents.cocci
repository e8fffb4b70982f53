// SPDX-License-Identifier: GPL-2.0-only
// Rules: E7, V3.
//
// Freed extents (E7): the callback runs for several transactions at once and in any
// order, so it takes exactly the extents of its own tid, under the lock.  Frees that were
// never committed (after an abort) are dropped at unmount.  Without this patch blocks are
// used again whose free a crash undoes.
//
// expect: mballoc.c: ext4_mb_init=2 ext4_process_freed_data=4 -=10 ext4_mb_free_metadata=1 ext4_mb_release=1

@@
expression sbi;
@@
ext4_mb_init(...)
{
<...
- INIT_LIST_HEAD(&sbi->s_freed_data_list[0]);
- INIT_LIST_HEAD(&sbi->s_freed_data_list[1]);
+ for (i = 0; i < ARRAY_SIZE(sbi->s_freed_data_list); i++)
+	INIT_LIST_HEAD(&sbi->s_freed_data_list[i]);
...>
}

@@
expression sbi, tid;
@@
- &sbi->s_freed_data_list[tid & 1]
+ zext4_freed_list(sbi, tid)

@@
identifier head;
iterator name list_for_each_entry_safe;
@@
ext4_process_freed_data(...)
{
 ...
- list_replace_init(head, &freed_data_list);
+ spin_lock(&sbi->s_md_lock);
+ list_for_each_entry_safe(entry, tmp, head, efd_list)
+	if (entry->efd_tid == commit_tid)
+		list_move_tail(&entry->efd_list, &freed_data_list);
+ spin_unlock(&sbi->s_md_lock);
 ...
}

@@
iterator name list_for_each_entry_safe;
@@
ext4_process_freed_data(...) { ... }
+ void zext4_drop_freed(struct super_block *sb)
+ {
+	struct ext4_sb_info *sbi = EXT4_SB(sb);
+	struct ext4_free_data *entry;
+	struct ext4_free_data *tmp;
+	int i;
+
+	if (sbi->s_journal)
+		ext4_force_commit(sb);
+	for (i = 0; i < ARRAY_SIZE(sbi->s_freed_data_list); i++)
+		list_for_each_entry_safe(entry, tmp, &sbi->s_freed_data_list[i], efd_list) {
+			list_del(&entry->efd_list);
+			ext4_free_data_in_buddy(sb, entry);
+			kmem_cache_free(ext4_free_data_cachep, entry);
+		}
+ }

@@
@@
ext4_mb_release(...)
{
 ...
+ zext4_drop_freed(sb);
 flush_work(&sbi->s_discard_work);
 ...
}
