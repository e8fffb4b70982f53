// SPDX-License-Identifier: GPL-2.0-only
/* jbd2recover IMAGE: replay a log in stock's format with the module's own sources. */
#include <stdio.h>
#include <stdlib.h>
#include <asm/byteorder.h>
#include "format/codec.h"
#include "extimage.h"

int main(int argc, char **argv)
{
	struct zj_recovery_stats stats;
	struct ext_image img;
	struct zj_jbd2_super *sb;
	const char *wrong;
	u32 sequence;
	int err;

	if (argc != 2 || ext_open(&img, argv[1], EXT_WRITE))
		return 2;
	sb = calloc(1, img.block_size);
	if (ext_ops.read_log(&img, 0, 1, sb))
		return 2;
	wrong = zj_check_jbd2_super(sb, img.block_size, img.journal_blocks, false);
	if (wrong) {
		printf("block 0 %s\n", wrong);
		return 1;
	}
	if (sb->s_start) {
		const struct zj_recovery_args args = {
			.ops = &ext_ops,
			.ctx = &img,
			.block_size = img.block_size,
			.journal_blocks = img.journal_blocks,
			.fs_blocks = img.device_blocks,
			.stats = &stats,
		};

		err = zj_recover_jbd2(&args, sb, &sequence);
		if (err) {
			printf("error %d\n", err);
			free(sb);
			return 1;
		}
		sb->s_sequence = cpu_to_be32(sequence);
		zj_clean_jbd2_super(sb);
		zj_jbd2_super_set_csum(sb);
		if (ext_ops.write_log(&img, 0, sb))
			return 2;
		printf("transactions=%u images=%u revoked=%u replayed=%u discarded=%u sequence=%u\n",
		       stats.transactions, stats.images, stats.revoked,
		       stats.replayed, stats.discarded, sequence);
	}
	if (ext_clear_needs_recovery(&img))
		return 2;
	ext_close(&img);
	free(sb);
	return 0;
}
