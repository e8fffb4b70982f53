// SPDX-License-Identifier: GPL-2.0-only
/* Journal block 0: what it says, and making it stock's again. */
#include <string.h>
#include <asm/byteorder.h>
#include "codec.h"
#include "zjctl.h"

static bool has_csum(const struct zj_jbd2_super *sb)
{
	return sb->s_feature_incompat & cpu_to_be32(ZJ_JBD2_INCOMPAT_CSUM_V2 |
						    ZJ_JBD2_INCOMPAT_CSUM_V3);
}

/* NULL if good, else what is wrong. */
static const char *check(const struct ext_image *img, const struct zj_jbd2_super *sb,
			 bool in_use)
{
	u32 maxlen = be32_to_cpu(sb->s_maxlen), first = be32_to_cpu(sb->s_first);

	if (be32_to_cpu(sb->s_magic) != ZJ_JBD2_MAGIC)
		return "is no journal superblock";
	if (be32_to_cpu(sb->s_blocktype) != ZJ_JBD2_SUPERBLOCK_V2)
		return "is not of version 2";
	if (be32_to_cpu(sb->s_blocksize) != img->block_size)
		return "has another block size than the file system";
	if (maxlen > img->journal_blocks)
		return "says that the journal is longer than its inode";
	if (!first || first >= maxlen)
		return "has a bad first block";
	if (!in_use && has_csum(sb) && sb->s_checksum != zj_jbd2_super_csum(sb))
		return "has a wrong checksum";
	return NULL;
}

int zx_read_block0(struct ext_image *img, void *block, bool in_use, enum zx_state *state)
{
	struct zj_jbd2_super *sb = block;
	u32 incompat, unknown;
	const char *wrong;
	int err = ext_ops.read_log(img, ZJ_BLOCK_JBD2_SUPER, 1, block);

	if (err)
		return zx_fail(ZX_FAILED, "%s: journal block 0 cannot be read (%s); check the device, copy it, try the copy",
			       img->path, strerror(-err));
	wrong = check(img, sb, in_use);
	if (wrong)
		return zx_fail(ZX_UNCORRECTED, "%s: journal block 0 (block %llu of the device) %s; nothing was written: copy the device, then run e2fsck -f, which can make a new superblock for the journal",
			       img->path, (unsigned long long)img->map[0], wrong);
	incompat = be32_to_cpu(sb->s_feature_incompat);
	unknown = incompat & ~(ZJ_JBD2_INCOMPAT_STOCK | ZJ_JBD2_INCOMPAT_LANES);
	if (unknown || sb->s_feature_ro_compat)
		return zx_fail(ZX_UNCORRECTED, "%s: the journal has unknown features (incompat %#x, ro_compat %#x); use the zjctl or e2fsck that belongs to what wrote it",
			       img->path, unknown, be32_to_cpu(sb->s_feature_ro_compat));
	/* The module confines itself to this much as well. */
	img->journal_blocks = be32_to_cpu(sb->s_maxlen);
	*state = incompat & ZJ_JBD2_INCOMPAT_LANES ? ZX_LANES :
		 sb->s_start ? ZX_STOCK_LOG : ZX_CLEAN;
	return 0;
}

int zx_make_clean(struct ext_image *img, void *block)
{
	struct zj_jbd2_super *sb = block;
	int err;

	sb->s_feature_incompat &= ~cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES);
	sb->s_start = 0;
	sb->s_head = 0;
	/* It only grows: no leftover of a stock log is the next transaction. */
	sb->s_sequence = cpu_to_be32(be32_to_cpu(sb->s_sequence) + 1);
	if (has_csum(sb))
		sb->s_checksum = zj_jbd2_super_csum(sb);
	err = ext_ops.write_log(img, ZJ_BLOCK_JBD2_SUPER, block);
	if (err)
		return zx_fail(ZX_FAILED, "%s: everything is home, but journal block 0 cannot be written (%s); check the device, then run zjctl recover again",
			       img->path, strerror(-err));
	return 0;
}
