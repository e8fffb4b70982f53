// SPDX-License-Identifier: GPL-2.0-only
/* Journal block 0: reading it, and making it stock's again. */
#include <string.h>
#include <asm/byteorder.h>
#include "format/codec.h"
#include "nvm/nvm.h"
#include "zjctl.h"

void zx_uuid_text(const u8 *uuid, char *text)
{
	for (u32 i = 0; i < 16; i++)
		text += sprintf(text, "%s%02x",
				i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				uuid[i]);
}

int zx_read_block0(struct ext_image *img, void *block, bool in_use, enum zx_state *state)
{
	struct zj_jbd2_super *sb = block;
	u32 incompat, unknown;
	const char *wrong;
	int err = ext_ops.read_log(img, ZJ_BLOCK_JBD2_SUPER, 1, block);

	if (err)
		return zx_fail(ZX_FAILED, "%s: journal block 0 cannot be read (%s); check the device, copy it, and try again on the copy",
			       img->path, strerror(-err));
	wrong = zj_check_jbd2_super(sb, img->block_size, img->inode_blocks, in_use);
	if (wrong)
		return zx_fail(ZX_UNCORRECTED, "%s: journal block 0 (block %llu of %s) %s; nothing was written: copy the device, then run e2fsck -f, which can make a new superblock for the journal",
			       img->path, (unsigned long long)zj_map_block(&img->map, 0),
			       img->log_start ? img->log_path : "the device", wrong);
	zj_upgrade_jbd2_super(sb);
	incompat = be32_to_cpu(sb->s_feature_incompat);
	unknown = incompat & ~(ZJ_JBD2_INCOMPAT_STOCK | ZJ_JBD2_INCOMPAT_LANES);
	if (incompat & ZJ_JBD2_INCOMPAT_LANES)
		unknown &= ~ZJ_JBD2_INCOMPAT_NVM;
	if (unknown || sb->s_feature_ro_compat)
		return zx_fail(ZX_UNCORRECTED, "%s: the journal has unknown features (incompat %#x, ro_compat %#x); use the zjctl or e2fsck of the version that wrote it",
			       img->path, unknown, be32_to_cpu(sb->s_feature_ro_compat));
	*state = incompat & ZJ_JBD2_INCOMPAT_LANES ? ZX_LANES :
		 sb->s_start ? ZX_STOCK_LOG : ZX_CLEAN;
	if (ext_number_blocks(img, *state != ZX_STOCK_LOG))
		return ZX_FAILED;
	/* On a mounted file system it may have changed since the map was made. */
	img->journal_blocks = min(img->journal_blocks, be32_to_cpu(sb->s_maxlen));
	return 0;
}

const char *zx_how_to_recover(struct zj_jbd2_super *sb, const char *path)
{
	static char text[4096 + 128];
	char uuid[37];

	zx_uuid_text(zj_nvm_mark_of(sb)->uuid, uuid);
	if (zj_is_nvm_log(sb))
		snprintf(text, sizeof(text), "zjctl recover --nvm=NVM %s, NVM being the persistent memory %s",
			 path, uuid);
	else
		snprintf(text, sizeof(text), "zjctl recover %s", path);
	return text;
}

bool zx_is_due(const struct ext_image *img, enum zx_state state)
{
	return state == ZX_LANES || (state == ZX_STOCK_LOG && img->needs_recovery);
}

int zx_make_clean(struct ext_image *img, void *block)
{
	struct zj_jbd2_super *sb = block;
	int err;

	zj_clean_jbd2_super(sb);
	zj_jbd2_super_set_csum(sb);
	err = ext_ops.write_log(img, ZJ_BLOCK_JBD2_SUPER, block);
	if (err)
		return zx_fail(ZX_FAILED, "%s: all blocks are written to their places, but journal block 0 cannot be written (%s); check the device, then run zjctl recover again",
			       img->path, strerror(-err));
	return 0;
}
