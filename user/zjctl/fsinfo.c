// SPDX-License-Identifier: GPL-2.0-only
/* The file system around the journal. */
#include <string.h>
#include <et/com_err.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include <e2p/e2p.h>
#include "fsinfo.h"

static void list_features(struct ext2_super_block *sb, char *to, size_t room)
{
	u32 words[] = { sb->s_feature_compat, sb->s_feature_incompat, sb->s_feature_ro_compat };
	static const int kinds[] = {
		E2P_FEATURE_COMPAT, E2P_FEATURE_INCOMPAT, E2P_FEATURE_RO_INCOMPAT
	};
	size_t used = 0;

	*to = 0;
	for (u32 k = 0; k < ARRAY_SIZE(words); k++)
		for (u32 bit = 0; bit < 32; bit++)
			if (words[k] & 1U << bit && used < room)
				used += snprintf(to + used, room - used, "%s ",
						 e2p_feature2string(kinds[k], 1U << bit));
}

static void print_uuid(const u8 *uuid, char *to)
{
	for (u32 i = 0; i < 16; i++)
		to += sprintf(to, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      uuid[i]);
}

static void fill_info(ext2_filsys e2, struct fs_info *fs)
{
	struct ext2_super_block *sb = e2->super;

	snprintf(fs->label, sizeof(fs->label), "%.16s", (char *)sb->s_volume_name);
	print_uuid(sb->s_uuid, fs->uuid);
	fs->block_size = e2->blocksize;
	fs->blocks = ext2fs_blocks_count(sb);
	fs->blocks_per_group = sb->s_blocks_per_group;
	fs->groups = e2->group_desc_count;
	fs->desc_blocks = e2->desc_blocks;
	fs->descs_per_block = EXT2_DESC_PER_BLOCK(sb);
	fs->inode_size = EXT2_INODE_SIZE(sb);
	fs->has_journal = ext2fs_has_feature_journal(sb);
	fs->journal_inode = sb->s_journal_inum;
	fs->needs_recovery = ext2fs_has_feature_journal_needs_recovery(sb);
	fs->orphan_file = ext2fs_has_feature_orphan_file(sb);
	fs->orphan_list = sb->s_last_orphan;
	fs->orphan_present = ext2fs_has_feature_orphan_present(sb);
	fs->orphans_in_file = fs->orphan_present && orphans_in_file(e2);
	fs->quota = ext2fs_has_feature_quota(sb);
	fs->project = ext2fs_has_feature_project(sb);
	fs->flex_bg = ext2fs_has_feature_flex_bg(sb);
	fs->errors = sb->s_state & EXT2_ERROR_FS;
	list_features(sb, fs->features, sizeof(fs->features));
}

int fs_read_info(const char *path, struct fs_info *fs)
{
	ext2_filsys e2;
	long err;
	int code;

	memset(fs, 0, sizeof(*fs));
	code = zx_check_device(path);
	if (code)
		return code;
	initialize_ext2_error_table();
	err = ext2fs_open(path, EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS, 0, 0,
			  unix_io_manager, &e2);
	if (err)
		return zx_fail(ZX_FAILED, "%s: cannot be read as an ext4 file system (%s); run e2fsck -n on it for the details",
			       path, error_message(err));
	fill_info(e2, fs);
	ext2fs_close_free(&e2);
	return 0;
}
