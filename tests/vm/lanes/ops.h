/* SPDX-License-Identifier: GPL-2.0-only */
/* Values that operations set and the walk reads again. */
#ifndef ACE_OPS_H
#define ACE_OPS_H

#include "ace.h"

#define UTIME_SET	1000000000
#define VERSION_SET	0x5e70f1e5
#define NEW_BLOCKS	256	/* by which resize makes the file system larger: a group */

/* In the inode; in a block that inodes share; in an inode of its own. */
static const char *const xattr_name[XATTRS] = { "user.small", "user.shared", "user.large" };
static const size_t xattr_size[XATTRS] = { 20, 300, 6000 };

/* What the operation at this place of a workload writes: no two write the same. */
static inline uint8_t pattern(int pos)
{
	return 'A' + pos;
}

/* Encodes a returned value as an owner, which becomes durable with one inode. */
static inline uint32_t returned_owner(uint64_t returned)
{
	return (returned & 0x7fffffff) | 1 << 20;
}

#endif
