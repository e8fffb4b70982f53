/* SPDX-License-Identifier: GPL-2.0-only */
/* The file system around the journal, and advice on its layout. */
#ifndef ZJCTL_FSINFO_H
#define ZJCTL_FSINFO_H

#include "zjctl.h"

struct struct_ext2_filsys;

/**
 * struct fs_info - what the ext4 superblock says
 */
struct fs_info {
	char	label[17];
	char	uuid[37];
	u32	block_size;	/* bytes */
	u64	blocks;
	u32	blocks_per_group;
	u32	groups;
	u32	desc_blocks;	/* that hold the group descriptors */
	u32	descs_per_block;
	u32	inode_size;	/* bytes */
	u32	journal_inode;	/* 0: none inside */
	bool	has_journal;
	bool	needs_recovery;
	bool	orphan_file;
	bool	orphan_list;	/* partly deleted or truncated files, in a list */
	bool	orphan_present;	/* the orphan file was in use, and may hold some */
	bool	orphans_in_file; /* the orphan file holds some, or cannot be read */
	bool	quota;
	bool	project;
	bool	flex_bg;
	bool	errors;		/* the kernel or e2fsck has seen errors */
	char	features[1024];	/* names, each followed by a blank */
};

/* 0 or an exit code with a message. */
int fs_read_info(const char *path, struct fs_info *fs);

/* Advice for @cpus, as text and JSON; @journal_blocks is 0 if not known. */
void fs_advise(const struct zx_target *t, const struct fs_info *fs, u32 journal_blocks,
	       u32 cpus);

/* Of a damaged log: copy it. All other advice would change the device. */
void fs_advise_damaged(void);

u32 orphans_harmed(const char *path);
/* Does the orphan file hold any? True as well if it cannot be read. @fs: an ext2_filsys. */
bool orphans_in_file(struct struct_ext2_filsys *fs);
int orphans_file_is_empty(const char *path);

#endif /* ZJCTL_FSINFO_H */
