// SPDX-License-Identifier: GPL-2.0-only
/*
 * Core-aware allocation (alloc=core, E27): each lane looks for inodes and
 * blocks in a region of the disk of its own, so that private work touches no
 * bitmap, inode table or descriptor block that another lane works on.
 *
 * This changes only the place where a search begins. A goal of stock ext4's inside the
 * lane's region stays as it is, a file that has blocks grows next to them, and when a
 * region is full the search goes on as in stock ext4.
 */
#include "ext4.h"
#include "ext4_jbd2.h"
#include "mballoc.h"

/* Groups that are tried one by one, at most: a lane's region may have thousands of full ones. */
#define ZEXT4_LINEAR_GROUPS	128U

/* The words of zj_journal_lane_hints(). They are only hints, each read and written at once. */
enum { HINT_STREAM, HINT_FLEX };

/**
 * struct zext4_region - block groups in which a lane begins its searches
 */
struct zext4_region {
	unsigned int	lane;	/* the lane that the region belongs to */
	ext4_group_t	first;	/* first group */
	ext4_group_t	begin;	/* group to begin with in an unused region */
	ext4_group_t	end;	/* group behind the last one */
};

/* ---- regions ---- */

/**
 * zext4_has_regions() - does each lane search in a region of its own?
 * @sb: mounted, or being mounted
 *
 * Without several lanes, and a group for each, there is nothing to divide, whatever alloc= says.
 */
bool zext4_has_regions(struct super_block *sb)
{
	struct ext4_sb_info *sbi = EXT4_SB(sb);
	unsigned int lanes = sbi->s_journal ? zj_journal_lanes(sbi->s_journal) : 0;

	if (lanes < 2 || ext4_get_groups_count(sb) < lanes)
		return false;
	switch (READ_ONCE(sbi->s_zj.value[ZEXT4_ALLOC])) {
	case ZEXT4_ALLOC_CORE:
		return true;
	case ZEXT4_ALLOC_STOCK:
		return false;
	}
	return !sbi->s_zj_one_head;
}

/* A region begins with a new descriptor block, if there are enough of these. */
static ext4_group_t zext4_stride(struct super_block *sb, ext4_group_t share)
{
	unsigned int flex = ext4_flex_bg_size(EXT4_SB(sb));

	if (share >= EXT4_DESC_PER_BLOCK(sb))
		return EXT4_DESC_PER_BLOCK(sb);
	return share >= flex ? flex : 1;
}

/*
 * ext4 hashes a group's lock by its number, and regions are often multiples of the hash's
 * size apart. Lanes that all began at their region's first group would share one lock.
 */
static ext4_group_t zext4_begin(struct super_block *sb,
				const struct zext4_region *region)
{
	unsigned int flex = ext4_flex_bg_size(EXT4_SB(sb));
	ext4_group_t places = (region->end - region->first) / 2 / flex;

	if (!places)
		return region->first;
	return region->first + region->lane % places * flex;
}

static void zext4_region_of(struct super_block *sb, unsigned int lane,
			    struct zext4_region *region)
{
	unsigned int lanes = zj_journal_lanes(EXT4_SB(sb)->s_journal);
	ext4_group_t groups = ext4_get_groups_count(sb);
	ext4_group_t stride = zext4_stride(sb, groups / lanes);

	region->lane = lane;
	region->first = div_u64((u64)groups * lane, lanes);
	region->first -= region->first % stride;
	region->end = div_u64((u64)groups * (lane + 1), lanes);
	if (lane + 1 < lanes)
		region->end -= region->end % stride;
	region->begin = zext4_begin(sb, region);
}

/* Finds the region of the open handle's lane, or of the lane that a new one would get. */
static bool zext4_my_region(struct inode *inode, struct zext4_region *region)
{
	handle_t *handle = journal_current_handle();
	struct super_block *sb = inode->i_sb;
	int lane;

	if (!zext4_has_regions(sb))
		return false;
	if (handle && handle->h_transaction)
		lane = zj_handle_lane(handle);
	else
		lane = zj_journal_lane_at(EXT4_SB(sb)->s_journal,
					  zext4_lane(sb, inode));
	zext4_region_of(sb, lane, region);
	return true;
}

/*
 * Does @inode belong to no lane, or, if it is a directory, do its files? Lanes that delete
 * each other's files cannot keep to regions of their own. They work on fewer blocks, and
 * so log less, if all of them take the same region, which is where stock ext4 looks.
 */
static bool zext4_mixed(struct inode *inode)
{
	return READ_ONCE(EXT4_I(inode)->i_zj_mixed);
}

/* Files without extents cannot use all groups, so stock ext4 chooses theirs. */
static bool zext4_region_for(const struct ext4_allocation_context *ac,
			     struct zext4_region *region)
{
	struct inode *inode = ac->ac_inode;

	return ext4_test_inode_flag(ac->ac_inode, EXT4_INODE_EXTENTS) &&
	       (S_ISDIR(inode->i_mode) || !zext4_mixed(inode)) &&
	       zext4_my_region(ac->ac_inode, region);
}

static bool zext4_inside(const struct zext4_region *region, ext4_group_t group)
{
	return group >= region->first && group < region->end;
}

static u64 *zext4_hint(struct super_block *sb, unsigned int lane, int which)
{
	return zj_journal_lane_hints(EXT4_SB(sb)->s_journal, lane) + which;
}

/* ---- blocks ---- */

/**
 * zext4_place() - move a request's goal into the lane's region
 * @ac: the request, its kind decided
 * @ar: what was asked for
 */
void zext4_place(struct ext4_allocation_context *ac,
		 const struct ext4_allocation_request *ar)
{
	struct super_block *sb = ac->ac_sb;
	unsigned int flex = ext4_flex_bg_size(EXT4_SB(sb));
	struct zext4_region region;

	if (ac->ac_flags & EXT4_MB_HINT_GOAL_ONLY ||
	    !zext4_region_for(ac, &region) ||
	    zext4_inside(&region, ac->ac_g_ex.fe_group))
		return;
	/* A large file grows next to the blocks that it has. */
	if (ac->ac_flags & EXT4_MB_HINT_DATA &&
	    !(ac->ac_flags & EXT4_MB_HINT_GROUP_ALLOC) &&
	    (ar->pleft || ar->pright))
		return;
	/* In a flex group, the block group for directories is before those for files. */
	ac->ac_g_ex.fe_group = region.begin;
	if (ac->ac_flags & EXT4_MB_HINT_DATA &&
	    flex >= EXT4_FLEX_SIZE_DIR_ALLOC_SCHEME &&
	    region.begin + 1 < region.end)
		ac->ac_g_ex.fe_group++;
	ac->ac_g_ex.fe_start = 0;
}

/**
 * zext4_locality_group() - the locality group whose preallocated blocks a small file takes
 * @inode: the file
 *
 * Return: the group of this CPU; that of another CPU if the handle is in the other's lane.
 */
struct ext4_locality_group *zext4_locality_group(struct inode *inode)
{
	struct ext4_sb_info *sbi = EXT4_SB(inode->i_sb);
	struct ext4_locality_group __percpu *groups = sbi->s_locality_groups;
	struct zext4_region region;

	if (!zext4_my_region(inode, &region) ||
	    region.lane == zj_journal_lane_at(sbi->s_journal, -1) ||
	    region.lane >= nr_cpu_ids || !cpu_possible(region.lane))
		return raw_cpu_ptr(groups);
	return per_cpu_ptr(groups, region.lane);
}

/**
 * zext4_stream_goal() - set the goal to where the lane's last large allocation ended
 * @ac: a request of a large file
 *
 * Stock ext4 has one such place for the whole file system.
 *
 * Return: false if stock ext4's place is to be used.
 */
bool zext4_stream_goal(struct ext4_allocation_context *ac)
{
	struct zext4_region region;
	u64 last;

	if (!zext4_region_for(ac, &region))
		return false;
	last = READ_ONCE(*zext4_hint(ac->ac_sb, region.lane, HINT_STREAM));
	if (zext4_inside(&region, last >> 32)) {
		ac->ac_g_ex.fe_group = last >> 32;
		ac->ac_g_ex.fe_start = (u32)last;
	} else if (!zext4_inside(&region, ac->ac_g_ex.fe_group)) {
		ac->ac_g_ex.fe_group = region.begin;
		ac->ac_g_ex.fe_start = 0;
	}
	return true;
}

/**
 * zext4_stream_found() - remember where a large allocation has ended
 * @ac: the request, served
 *
 * Return: false if stock ext4 is to remember it.
 */
bool zext4_stream_found(struct ext4_allocation_context *ac)
{
	struct zext4_region region;

	if (!zext4_region_for(ac, &region))
		return false;
	WRITE_ONCE(*zext4_hint(ac->ac_sb, region.lane, HINT_STREAM),
		   (u64)ac->ac_f_ex.fe_group << 32 | ac->ac_f_ex.fe_start);
	return true;
}

/**
 * zext4_linear_groups() - groups to try one by one before the best fit anywhere
 * @ac: a request, its goal in the first of them
 *
 * Stock ext4's best fit knows only groups whose bitmaps are loaded, so all lanes would
 * meet in the few groups that are in use.
 */
unsigned int zext4_linear_groups(struct ext4_allocation_context *ac)
{
	ext4_group_t start = ac->ac_g_ex.fe_group;
	struct zext4_region region;

	if (!zext4_region_for(ac, &region) || !zext4_inside(&region, start))
		return EXT4_SB(ac->ac_sb)->s_mb_max_linear_groups;
	return min(region.end - start, ZEXT4_LINEAR_GROUPS);
}

/* ---- inodes ---- */

static bool zext4_has_inodes(struct super_block *sb, ext4_group_t group)
{
	struct ext4_group_desc *desc = ext4_get_group_desc(sb, group, NULL);

	return desc && ext4_free_inodes_count(sb, desc);
}

/* With less than 1/16 of its blocks free, a flex group is too full for new directories. */
static bool zext4_has_blocks(struct super_block *sb, ext4_group_t flex,
			     ext4_group_t end)
{
	struct ext4_group_desc *desc;
	u64 room = 0, wanted = (u64)(end - flex) *
			       EXT4_CLUSTERS_PER_GROUP(sb) / 16;
	ext4_group_t group;

	/* As a rule the first one or two groups have enough free blocks. */
	for (group = flex; group < end && room < wanted; group++) {
		desc = ext4_get_group_desc(sb, group, NULL);
		if (desc)
			room += ext4_free_group_clusters(sb, desc);
	}
	return room >= wanted;
}

/*
 * Finds a group with free inodes in a flex group. Directories take the first group's
 * inode table and files the others, because each task that works in a directory changes
 * the directory's inode.
 */
static bool zext4_find_in_flex(struct super_block *sb, ext4_group_t flex,
			       ext4_group_t end, bool dir, ext4_group_t *group)
{
	ext4_group_t skip = !dir && end - flex > 1, i;

	for (i = flex + skip; i < end; i++)
		if (zext4_has_inodes(sb, i))
			goto found;
	i = flex;
	if (!zext4_has_inodes(sb, i))
		return false;
found:
	*group = i;
	return true;
}

static ext4_group_t zext4_flex_end(const struct zext4_region *region,
				   ext4_group_t flex, unsigned int size)
{
	return min(region->end, flex + size);
}

/* Searches the lane's region, from where the lane has found room last, and round. */
static bool zext4_find_in_region(struct super_block *sb,
				 const struct zext4_region *region, bool dir,
				 ext4_group_t *group)
{
	unsigned int size = ext4_flex_bg_size(EXT4_SB(sb));
	u64 *hint = zext4_hint(sb, region->lane, HINT_FLEX);
	ext4_group_t flex = READ_ONCE(*hint), end, i;

	if (!zext4_inside(region, flex))
		flex = region->begin;
	for (i = region->first; i < region->end; i += size) {
		end = zext4_flex_end(region, flex, size);
		if (zext4_has_blocks(sb, flex, end) &&
		    zext4_find_in_flex(sb, flex, end, dir, group)) {
			if (READ_ONCE(*hint) != flex)
				WRITE_ONCE(*hint, flex);
			return true;
		}
		flex = end < region->end ? end : region->first;
	}
	return false;
}

/*
 * Is @dir part of a tree that the current task is making, with files, and alone? A tree
 * that is unpacked or copied is; directories that are made for others to work in
 * are made before there is any file beside them. Only a hint, read without a lock.
 */
static bool zext4_makes_tree(struct inode *dir)
{
	return READ_ONCE(EXT4_I(dir)->i_zj_maker) == current->pid &&
	       READ_ONCE(EXT4_I(dir)->i_zj_filled);
}

/* The group of the table block where the tree's last directory is. */
static bool zext4_find_near(struct inode *dir, const struct zext4_region *region,
			    ext4_group_t *group)
{
	*group = (READ_ONCE(EXT4_I(dir)->i_zj_near) - 1) /
		 EXT4_INODES_PER_GROUP(dir->i_sb);
	return zext4_inside(region, *group) && zext4_has_inodes(dir->i_sb, *group);
}

/**
 * zext4_placed() - remember who makes a directory, and who makes files in it
 * @dir: the parent
 * @inode: new, with its number
 *
 * Context: inside the handle that creates @inode; @dir is locked.
 */
void zext4_placed(struct inode *dir, struct inode *inode)
{
	struct ext4_inode_info *parent = EXT4_I(dir), *made = EXT4_I(inode);

	if (S_ISDIR(inode->i_mode)) {
		WRITE_ONCE(made->i_zj_near, inode->i_ino);
		WRITE_ONCE(made->i_zj_maker, current->pid);
	} else {
		WRITE_ONCE(made->i_zj_mixed, zext4_mixed(dir));
	}
	if (!parent->i_zj_maker)
		return;
	if (parent->i_zj_maker != current->pid)
		WRITE_ONCE(parent->i_zj_maker, 0);
	else if (S_ISDIR(inode->i_mode))
		WRITE_ONCE(parent->i_zj_near, inode->i_ino);
	else if (!parent->i_zj_filled)
		WRITE_ONCE(parent->i_zj_filled, true);
}

/**
 * zext4_removing() - note whether a directory's files are deleted by lanes that made others
 * @handle: deletes the file; without a journal, and in the replay of fast commits, it is none
 * @dir: the directory, locked
 * @inode: the file, which the handle has not claimed yet
 *
 * The last deletion counts. It is not known who has changed a file if it was not in
 * memory then.
 */
void zext4_removing(handle_t *handle, struct inode *dir, struct inode *inode)
{
	u16 last = READ_ONCE(EXT4_I(inode)->i_zj_lane);
	bool mixed = ext4_handle_valid(handle) && handle->h_transaction && last &&
		     last != zj_handle_lane(handle) + 1;

	if (zext4_mixed(dir) != mixed)
		WRITE_ONCE(EXT4_I(dir)->i_zj_mixed, mixed);
}

/**
 * zext4_find_group() - the block group for a new inode
 * @dir: its parent
 * @mode: its type
 * @group: set if there is one in the lane's region
 *
 * The inode goes near its parent if that is in the region, or if lanes delete each other's
 * files there. Top-level directories are spread over the disk, as in stock ext4.
 *
 * Return: false if stock ext4 is to look for a group.
 */
bool zext4_find_group(struct inode *dir, umode_t mode, ext4_group_t *group)
{
	struct super_block *sb = dir->i_sb;
	unsigned int size = ext4_flex_bg_size(EXT4_SB(sb));
	ext4_group_t parent = EXT4_I(dir)->i_block_group;
	struct zext4_region region;

	if (!zext4_my_region(dir, &region) ||
	    (!S_ISDIR(mode) && zext4_mixed(dir)))
		return false;
	if (S_ISDIR(mode) && (dir == d_inode(sb->s_root) ||
			      ext4_test_inode_flag(dir, EXT4_INODE_TOPDIR)))
		return false;
	if (S_ISDIR(mode) && zext4_makes_tree(dir) &&
	    zext4_find_near(dir, &region, group))
		return true;
	parent -= parent % size;
	if (zext4_inside(&region, parent)) {
		if (S_ISDIR(mode))
			return false;
		if (zext4_find_in_flex(sb, parent,
				       zext4_flex_end(&region, parent, size),
				       false, group))
			return true;
	}
	return zext4_find_in_region(sb, &region, S_ISDIR(mode), group);
}

/* A free place in the table block of the tree's last directory. */
static bool zext4_beside_last(struct inode *dir, ext4_group_t group,
			      const struct buffer_head *bitmap, unsigned long *ino)
{
	unsigned long size = EXT4_INODES_PER_GROUP(dir->i_sb);
	unsigned long run = EXT4_SB(dir->i_sb)->s_inodes_per_block;
	unsigned long last = READ_ONCE(EXT4_I(dir)->i_zj_near) - 1, end;

	if (!zext4_makes_tree(dir) || last / size != group)
		return false;
	last %= size;
	end = min(roundup(last + 1, run), size);
	*ino = find_next_zero_bit_le(bitmap->b_data, end, rounddown(last, run));
	return *ino < end;
}

/**
 * zext4_spread_dirs() - where in the inode table the search for a directory's inode begins
 * @dir: its parent
 * @mode: the new inode's type
 * @group: the group
 * @bitmap: the inode bitmap of the group; read without a lock
 * @ino: 0, or where stock ext4 begins; changed if a place is found
 *
 * Two directories in one block of the table tie together the lanes that work in them, as
 * every change of a directory changes its inode. So a directory begins a free block. The
 * directories of a tree that one task makes share blocks, because each further block is
 * one more to log and to write.
 */
void zext4_spread_dirs(struct inode *dir, umode_t mode, ext4_group_t group,
		       const struct buffer_head *bitmap, unsigned long *ino)
{
	unsigned long size = EXT4_INODES_PER_GROUP(dir->i_sb);
	unsigned int run = EXT4_SB(dir->i_sb)->s_inodes_per_block;
	struct zext4_region region;
	unsigned long at;

	if (*ino || !S_ISDIR(mode) || !zext4_my_region(dir, &region) ||
	    zext4_beside_last(dir, group, bitmap, ino))
		return;
	for (at = 0; at + run <= size; at = roundup(at + 1, run)) {
		unsigned long used = find_next_bit_le(bitmap->b_data, at + run, at);

		if (used >= at + run) {
			*ino = at;
			return;
		}
		at = used;
	}
	*ino = 0;
}
