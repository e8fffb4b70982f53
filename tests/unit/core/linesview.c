// SPDX-License-Identifier: GPL-2.0-only
/* Changes of lines, and what of them is in the log on a disk. */
#include "linesview.h"

u64 lines_of(u64 stamp, u32 block)
{
	const struct zj_rec_image *image;
	struct log log;
	u64 lines;

	log_read(&log);
	assert_non_null(log_component(&log, stamp));
	image = log_image(&log, stamp, block);
	lines = image ? image->lines : 0;
	log_free(&log);
	return lines;
}

u64 newest_lines(u32 block)
{
	return lines_of(fx.zj->stamp, block);
}

void change_lines(handle_t *h, u32 block, u32 first, u32 nr, u8 val)
{
	get_access(h, block);
	for (u32 i = first; i < first + nr; i++)
		fill_line(h, block, i, val);
}

void commit_lines(u32 ln, u32 block, u32 first, u32 nr, u8 val)
{
	handle_t *h = start(ln, 1);

	change_lines(h, block, first, nr, val);
	stop(h);
	commit(ln);
}

void expect_after_crash(u32 block, const char *lines)
{
	struct image *image = cut_power();

	assert_int_equal(recover_image(image), 0);
	for (u32 i = 0; i < DISK_BLOCK; i++)
		assert_int_equal(image->block[block][i], lines[i / ZJ_LINE]);
	image_free(image);
}

u32 parts_of(u32 block)
{
	struct buffer_head *bh = buffer(block);
	struct journal_head *jh = bh2jh(bh);
	struct zj_part *part;
	u32 nr = 0;

	if (jh)
		list_for_each_entry(part, &jh->parts, jh_link)
			nr++;
	brelse(bh);
	return nr;
}
