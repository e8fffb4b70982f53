// SPDX-License-Identifier: GPL-2.0-only
// Rules: R12, E26, E28, E30.
//
// Journaled quota (decision 49).  A handle claims each dquot before it charges it, and
// before it writes it to the quota file; and it claims the quota file before the file's tree
// may change.  A function that charges an inode gets it through zext4_charge().  And when
// quota is switched off, the quota file is an ordinary file again, whose blocks are freed
// without revokes. So no image of them may be left in the log.
//
// expect: balloc.c: ext4_new_meta_blocks=1
// expect: extents.c: ext4_rereserve_cluster=1
// expect: ialloc.c: __ext4_new_inode=2 ext4_free_inode=1
// expect: inode.c: ext4_da_update_reserve_space=1 ext4_setattr=1
// expect: ioctl.c: ext4_ioctl_setproject=1 swap_inode_boot_loader=3
// expect: mballoc.c: ext4_mb_clear_bb=1 ext4_mb_new_blocks=3
// expect: super.c: ext4_acquire_dquot=1 ext4_free_sbi=1 ext4_put_super=1 ext4_quota_off=3 ext4_release_dquot=1 ext4_write_dquot=4 ext4_write_info=1
// expect: xattr.c: ext4_xattr_block_set=3 ext4_xattr_inode_alloc_quota=3 ext4_xattr_inode_create=1 ext4_xattr_inode_free_quota=2 ext4_xattr_release_block=1

@@
identifier charge = {dquot_alloc_block, dquot_alloc_block_nofail, dquot_free_block, dquot_claim_block, dquot_reclaim_block, dquot_alloc_space, dquot_alloc_space_nodirty, dquot_free_space, dquot_free_space_nodirty};
expression inode, amount;
@@
- charge(inode, amount)
+ charge(zext4_charge(inode), amount)

@@
identifier charge = {dquot_alloc_inode, dquot_free_inode};
expression inode;
@@
- charge(inode)
+ charge(zext4_charge(inode))

@@
@@
ext4_setattr(...)
{
<...
- dquot_transfer
+ zext4_dquot_transfer
  (...)
...>
}

@@
@@
ext4_ioctl_setproject(...)
{
<...
- __dquot_transfer
+ zext4_project_transfer
  (...)
...>
}

// Its handle has credits for the two inodes only, and then charges the file's users.
@@
expression inode, type;
identifier sb;
@@
swap_inode_boot_loader(struct super_block *sb, ...)
{
<...
- ext4_journal_start(inode, type, 2)
+ ext4_journal_start(inode, type, 2 + EXT4_MAXQUOTAS_TRANS_BLOCKS(sb))
...>
}

// Nor does this claim the quota file, which it does not change: only one entry in it.
@@
identifier dquot, handle, file;
expression credits;
@@
ext4_write_dquot(struct dquot *dquot)
{
 ...
 handle_t *handle;
- struct inode *file;
 ...
- file = dquot_to_inode(dquot);
- handle = ext4_journal_start(file, EXT4_HT_QUOTA, credits);
+ handle = ext4_journal_start_sb(dquot->dq_sb, EXT4_HT_QUOTA, credits);
 ...
+ zext4_claim_charged(handle, dquot);
 ret = dquot_commit(dquot);
 ...
}

@@
identifier dquot, handle;
identifier f = {ext4_acquire_dquot, ext4_release_dquot};
identifier change = {dquot_acquire, dquot_release};
expression ret;
statement S;
@@
f(struct dquot *dquot)
{
 ...
 handle_t *handle;
 ...
 handle = ext4_journal_start(...);
 if (IS_ERR(handle)) S
+ zext4_claim_dquot(handle, dquot);
 ret = change(dquot);
 ...
}

@@
identifier sb, type;
expression handle, ret;
@@
ext4_write_info(struct super_block *sb, int type)
{
 ...
 handle = ext4_journal_start_sb(...);
 ...
+ zext4_claim_tree(handle, sb, type);
 ret = dquot_commit_info(sb, type);
 ...
}

@@
identifier f = {ext4_free_sbi, ext4_put_super};
expression sbi;
@@
f(...)
{
 ...
+ zext4_quota_exit(sbi);
 kfree(sbi->s_blockgroup_lock);
 ...
}

@@
@@
ext4_quota_off(...)
{
<...
 if (sb_rdonly(sb))
	goto out_put;
+ err = zext4_empty_log(sb);
+ if (err)
+	goto out_put;
 inode_lock(inode);
...>
}
