// SPDX-License-Identifier: GPL-2.0-only
/* Changes of lines, and what of them is in the log in memory. */
#include "nvmview.h"

void fill_line(handle_t *h, u32 block, u32 line, u8 val)
{
	struct buffer_head *bh = buffer(block);

	memset(bh->b_data + line * ZJ_NVM_LINE, val, ZJ_NVM_LINE);
	own(h);
	assert_int_equal(zj_journal_dirty_metadata(h, bh), 0);
	own(NULL);
	brelse(bh);
}

/* Changes one line in one handle, and commits it. */
void change_line(u32 ln, u32 block, u32 line, u8 val)
{
	handle_t *h = start(ln, 1);

	get_access(h, block);
	fill_line(h, block, line, val);
	stop(h);
	commit(ln);
}

const void *memory(u32 line)
{
	return fx.pmem->mem + line * ZJ_NVM_LINE;
}

u64 tail(u32 ln)
{
	return le64_to_cpup((void *)(fx.pmem->mem + ZJ_NVM_TAILS_AT + ln * ZJ_NVM_LINE));
}

u64 ckpt_word(void)
{
	return le64_to_cpup((void *)(fx.pmem->mem + ZJ_NVM_CKPT_AT));
}

/* The newest chunk of a lane. */
struct zj_nvm_chunk newest(u32 ln)
{
	struct zj_nvm_chunk c;

	assert_null(zj_read_txninfo(&fx.zj->geo, fx.zj->seed, fx.pmem->mem, tail(ln), &c));
	assert_int_equal(tail(ln) >> 32, (u32)c.stamp);
	return c;
}

const struct zj_nvm_record *record(const struct zj_nvm_chunk *c, u32 i)
{
	return zj_nvm_records((void *)memory(c->start + c->data_lines), c->nr_deps,
			      c->nr_revokes) + i;
}

/* The lines of a block that the lane's newest chunk has; 0: none. */
u64 logged(u32 ln, u32 block)
{
	struct zj_nvm_chunk c = newest(ln);

	for (u32 i = 0; i < c.count; i++)
		if (le64_to_cpu(record(&c, i)->block) == block)
			return le64_to_cpu(record(&c, i)->lines);
	return 0;
}

void expect_lines(const struct image *image, u32 block, u32 line, u8 val, u8 rest)
{
	for (u32 i = 0; i < DISK_BLOCK; i++)
		assert_int_equal(image->block[block][i],
				 i / ZJ_NVM_LINE == line ? val : rest);
}

void range_access(handle_t *h, u32 block)
{
	struct buffer_head *bh = buffer(block);

	own(h);
	assert_int_equal(zj_journal_get_range_access(h, bh), 0);
	own(NULL);
	brelse(bh);
}

handle_t *start_known(void)
{
	handle_t *h;

	make_known(BLOCK, 7);
	h = start(0, 1);
	range_access(h, BLOCK);
	return h;
}

void change_range(handle_t *h, u32 block, u32 offset, u32 len, u8 val)
{
	struct buffer_head *bh = buffer(block);

	memset(bh->b_data + offset, val, len);
	own(h);
	assert_int_equal(zj_journal_dirty_range(h, bh, offset, len), 0);
	own(NULL);
	brelse(bh);
}

void declare_range(u32 ln, u32 block, u32 offset, u32 len, u8 val)
{
	handle_t *h = start(ln, 1);

	range_access(h, block);
	change_range(h, block, offset, len, val);
	stop(h);
	commit(ln);
}

/* A block whose contents recovery has. */
void make_known(u32 block, u8 val)
{
	change(0, block, val);
	commit(0);
}
