// SPDX-License-Identifier: GPL-2.0-only
/*
 * Orphans that e2fsck would damage: it removes the attribute block of a file that was only
 * to be truncated (seen with 1.47.0). A mount finishes them correctly.
 */
#include <et/com_err.h>
#include <ext2fs/ext2fs.h>
#include "fsinfo.h"

/**
 * struct orphan_walk - one look at all orphans
 */
struct orphan_walk {
	ext2_filsys fs;
	u32	blocks;		/* of the orphan file */
	u32	found;
	u32	harmed;		/* linked ones with an attribute block */
	bool	failed;		/* something could not be read */
};

static ext2_ino_t look_at(struct orphan_walk *walk, ext2_ino_t ino)
{
	struct ext2_inode inode;

	walk->found++;
	if (ino < EXT2_FIRST_INODE(walk->fs->super) ||
	    ino > walk->fs->super->s_inodes_count ||
	    ext2fs_read_inode(walk->fs, ino, &inode)) {
		walk->failed = true;
		return 0;
	}
	if (inode.i_links_count && ext2fs_file_acl_block(walk->fs, &inode))
		walk->harmed++;
	return inode.i_dtime;
}

/*
 * The list goes on in what is else the time of deletion. Every inode whose number in it is a
 * power of two is compared with the following ones, so that a ring ends the walk.
 */
static void walk_list(struct orphan_walk *walk)
{
	ext2_ino_t ino = walk->fs->super->s_last_orphan, seen = 0;
	u32 span = 1, left = 1;

	while (ino && ino != seen) {
		if (!--left) {
			seen = ino;
			span *= 2;
			left = span;
		}
		ino = look_at(walk, ino);
	}
}

#define MAX_BLOCKS	512	/* of an orphan file that a kernel accepts */

static int walk_block(ext2_filsys fs, blk64_t *block, e2_blkcnt_t nr,
		      blk64_t ref, int offset, void *arg)
{
	struct orphan_walk *walk = arg;
	u32 n = ext2fs_inodes_per_orphan_block(fs);
	__le32 *entry;

	if (nr >= MAX_BLOCKS) {
		walk->failed = true;
		return BLOCK_ABORT;
	}
	walk->blocks++;
	entry = malloc(fs->blocksize);
	if (nr >= 0 && entry && !io_channel_read_blk64(fs->io, *block, 1, entry)) {
		while (n--)
			if (entry[n])
				look_at(walk, ext2fs_le32_to_cpu(entry[n]));
	} else if (nr >= 0) {
		walk->failed = true;
	}
	free(entry);
	return 0;
}

static void walk_file(struct orphan_walk *walk)
{
	if (ext2fs_block_iterate3(walk->fs, walk->fs->super->s_orphan_file_inum,
				  BLOCK_FLAG_READ_ONLY | BLOCK_FLAG_DATA_ONLY,
				  NULL, walk_block, walk) || !walk->blocks)
		walk->failed = true;
}

bool orphans_in_file(ext2_filsys fs)
{
	struct orphan_walk walk = { .fs = fs };

	walk_file(&walk);
	return walk.found || walk.failed;
}

/**
 * orphans_file_is_empty() - say in the super block that the orphan file holds none
 * @path: a file system without a log to replay, whose orphan file is empty; open for writing
 *
 * Return: ZX_CORRECTED, or ZX_UNCORRECTED with a message.
 */
int orphans_file_is_empty(const char *path)
{
	ext2_filsys fs;
	long err;

	err = ext2fs_open(path, EXT2_FLAG_RW | EXT2_FLAG_64BITS | EXT2_FLAG_SKIP_MMP, 0, 0,
			  unix_io_manager, &fs);
	if (!err) {
		ext2fs_clear_feature_orphan_present(fs->super);
		fs->flags |= EXT2_FLAG_SUPER_ONLY | EXT2_FLAG_MASTER_SB_ONLY;
		ext2fs_mark_super_dirty(fs);
		err = ext2fs_close_free(&fs);
	}
	if (!err)
		return ZX_CORRECTED;
	return zx_fail(ZX_UNCORRECTED, "%s: is recovered, but orphan_present cannot be cleared (%s); run e2fsck -fp %s",
		       path, error_message(err), path);
}

/**
 * orphans_harmed() - would e2fsck take attributes away from files that stay?
 * @path: an unmounted file system without a log to replay
 *
 * Return: the number of such files; 1 as well if it cannot be told.
 */
u32 orphans_harmed(const char *path)
{
	struct orphan_walk walk = { };

	if (ext2fs_open(path, EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &walk.fs))
		return 1;
	walk_list(&walk);
	if (ext2fs_has_feature_orphan_file(walk.fs->super))
		walk_file(&walk);
	ext2fs_close_free(&walk.fs);
	return walk.failed && !walk.harmed ? 1 : walk.harmed;
}
