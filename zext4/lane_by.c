// SPDX-License-Identifier: GPL-2.0-only
/*
 * The choice of the lane that a handle starts in (lane_by=): that of the CPU, of the
 * writer's cgroup, or of the top-level directory.  Any lane is correct, so nothing here
 * takes a lock, and values that are read may be out of date.
 */
#include <linux/cgroup.h>
#include "ext4.h"
#include "ext4_jbd2.h"

/* The cgroup of the current task; 0 for the root cgroup, which is no container. */
static u64 writers_cgroup(void)
{
	u64 id = 0;
#ifdef CONFIG_CGROUPS
	struct cgroup *cgroup;

	rcu_read_lock();
	cgroup = task_dfl_cgroup(current);
	if (cgroup_parent(cgroup))
		id = cgroup_id(cgroup);
	rcu_read_unlock();
#endif
	return id;
}

static int lane_of_cgroup(journal_t *journal)
{
	u64 id = writers_cgroup();

	return id ? zj_journal_lane_of(journal, id) : ZEXT4_BY_CPU;
}

static int lane_of_dir(journal_t *journal, struct inode *inode)
{
	u32 top = inode ? READ_ONCE(EXT4_I(inode)->i_zj_top) : 0;

	return top ? zj_journal_lane_of(journal, top) : ZEXT4_BY_CPU;
}

/* The part of zext4_lane() for handles whose lane the CPU does not determine. */
int zext4_find_lane(struct super_block *sb, struct inode *inode)
{
	if (zext4_lane_by(sb) == ZEXT4_LANE_BY_DIR)
		return lane_of_dir(EXT4_SB(sb)->s_journal, inode);
	/* A kernel thread writes for others, so it takes the lane that changed the inode last. */
	if (current->flags & PF_KTHREAD)
		return inode ? READ_ONCE(EXT4_I(inode)->i_zj_lane) - 1 :
			       ZEXT4_BY_CPU;
	if (zext4_lane_by(sb) == ZEXT4_LANE_BY_CGROUP)
		return lane_of_cgroup(EXT4_SB(sb)->s_journal);
	return ZEXT4_BY_CPU;
}

/* Notes the lane of a handle that changes an inode, for the inode's write-back. */
void zext4_remember_lane(handle_t *handle, struct inode *inode)
{
	u16 *lane = &EXT4_I(inode)->i_zj_lane;
	u16 now;

	if (zext4_lane_by(inode->i_sb) == ZEXT4_LANE_BY_DIR)
		return;
	now = zj_handle_lane(handle) + 1;
	if (READ_ONCE(*lane) != now)
		WRITE_ONCE(*lane, now);
}

/* Notes the top-level directory of an inode that is in @dir now; not of those below it. */
void zext4_entered(struct inode *dir, struct inode *inode)
{
	u32 top = READ_ONCE(EXT4_I(dir)->i_zj_top);

	if (dir->i_ino == EXT4_ROOT_INO)
		top = S_ISDIR(inode->i_mode) ? inode->i_ino : 0;
	WRITE_ONCE(EXT4_I(inode)->i_zj_top, top);
}

/* Of several hard links the first one that was looked up counts. */
void zext4_looked_up(struct inode *dir, struct inode *inode)
{
	if (!IS_ERR_OR_NULL(inode) && !READ_ONCE(EXT4_I(inode)->i_zj_top))
		zext4_entered(dir, inode);
}
