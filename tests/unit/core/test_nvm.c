// SPDX-License-Identifier: GPL-2.0-only
/*
 * log_nvm.c: what stands in memory, when it is durable, and what recovery makes of
 * it. A block of the simulator has 16 lines.
 */
#include <klayer/nvm.h>
#include <linux/uaccess.h>
#include "fixture.h"
#include "pmem.h"

static const struct setup pair = { .lanes = 2, .journal = 400, .nvm = 1 << 20 };

#define NVM(...)	OPEN(.nvm = 1 << 20, .journal = 400, ##__VA_ARGS__)
#define LINES		(DISK_BLOCK / ZJ_NVM_LINE)
#define ALL		((1u << LINES) - 1)

/* ---- changes of lines, and what was logged ---- */

static void fill_line(handle_t *h, u32 block, u32 line, u8 val)
{
	struct buffer_head *bh = buffer(block);

	memset(bh->b_data + line * ZJ_NVM_LINE, val, ZJ_NVM_LINE);
	own(h);
	assert_int_equal(zj_journal_dirty_metadata(h, bh), 0);
	own(NULL);
	brelse(bh);
}

/* One handle that changes one line; committed. */
static void change_line(u32 ln, u32 block, u32 line, u8 val)
{
	handle_t *h = start(ln, 1);

	get_access(h, block);
	fill_line(h, block, line, val);
	stop(h);
	commit(ln);
}

static const void *memory(u32 line)
{
	return fx.pmem->mem + line * ZJ_NVM_LINE;
}

static u64 tail(u32 ln)
{
	return le64_to_cpup((void *)(fx.pmem->mem + ZJ_NVM_TAILS_AT + ln * ZJ_NVM_LINE));
}

static u64 trim_word(void)
{
	return le64_to_cpup((void *)(fx.pmem->mem + ZJ_NVM_TRIM_AT));
}

/* The newest chunk of a lane. */
static struct zj_nvm_chunk newest(u32 ln)
{
	struct zj_nvm_chunk c;

	assert_null(zj_read_txninfo(&fx.zj->geo, fx.zj->seed, fx.pmem->mem, tail(ln), &c));
	assert_int_equal(tail(ln) >> 32, (u32)c.stamp);
	return c;
}

static const struct zj_nvm_record *record(const struct zj_nvm_chunk *c, u32 i)
{
	return zj_nvm_records((void *)memory(c->start + c->data_lines), c->nr_deps,
			      c->nr_revokes) + i;
}

/* The lines of a block that the lane's newest chunk has; 0: none. */
static u64 logged(u32 ln, u32 block)
{
	struct zj_nvm_chunk c = newest(ln);

	for (u32 i = 0; i < c.count; i++)
		if (le64_to_cpu(record(&c, i)->block) == block)
			return le64_to_cpu(record(&c, i)->lines);
	return 0;
}

static void expect_lines(const struct image *image, u32 block, u32 line, u8 val, u8 rest)
{
	for (u32 i = 0; i < DISK_BLOCK; i++)
		assert_int_equal(image->block[block][i],
				 i / ZJ_NVM_LINE == line ? val : rest);
}

/* ---- what is written ---- */

static void a_transaction_byte_by_byte(void)
{
	const struct zj_nvm_head *head;
	struct zj_nvm_chunk c;
	const u8 *t;
	u32 sum;

	NVM(.lanes = 2);
	change(1, BLOCK, 7);
	commit(1);
	head = (void *)(fx.pmem->mem + ZJ_NVM_HEAD_AT);
	assert_int_equal(le32_to_cpu(head->magic), 0x484e4a5a);
	assert_int_equal(le64_to_cpu(head->generation), fx.zj->geo.generation);
	assert_int_equal(le32_to_cpu(head->log_first), 1024);
	assert_int_equal(le32_to_cpu(head->nr_lanes), 2);
	/* 16 lines of the block, a TxnInfo of one record: 16 and 128 bytes. */
	c = newest(1);
	assert_int_equal(c.end - c.start, LINES + 3);
	t = memory(c.start);
	for (u32 i = 0; i < DISK_BLOCK; i++)
		assert_int_equal(t[i], 7);
	t = memory(c.start + LINES);
	assert_int_equal(t[0], BLOCK);
	assert_int_equal(t[8], 0xff);
	assert_int_equal(t[9], 0xff);
	for (u32 i = 10; i < 64; i++)
		assert_int_equal(t[i], 0);
	t += 64;
	assert_int_equal(t[0x08], fx.zj->stamp);
	assert_int_equal(t[0x18], 0);
	assert_int_equal(t[0x24], 1);
	assert_int_equal(t[0x28], 1);
	assert_int_equal(t[0x30], 1);
	assert_int_equal(t[0x3c], LINES);
	assert_int_equal(t[0x70], 3);
	assert_int_equal(t[0x78], 1);
	assert_memory_equal(t + 0x7c, "ZJTI", 4);
	sum = zj_crc_without(fx.zj->seed, t - 64, 192, 64 + 0x6c);
	assert_int_equal(t[0x6c] | t[0x6d] << 8 | t[0x6e] << 16 | (u32)t[0x6f] << 24, sum);
	assert_int_equal(tail(1), (u64)fx.zj->stamp << 32 | c.end);
	close_journal();
}

static void only_changed_lines_are_logged(void)
{
	struct zj_nvm_chunk c;

	NVM();
	change(0, BLOCK, 7);
	commit(0);
	assert_int_equal(logged(0, BLOCK), ALL);
	change_line(0, BLOCK, 3, 8);
	assert_int_equal(logged(0, BLOCK), 1 << 3);
	c = newest(0);
	assert_int_equal(c.data_lines, 1);
	assert_int_equal(c.end - c.start, 4);
	change_line(1, BLOCK, 15, 9);
	assert_int_equal(logged(1, BLOCK), 1 << 15);
	close_journal();
}

static void whole_blocks_if_asked(void)
{
	NVM(.nvm_blocks = true);
	change(0, BLOCK, 7);
	commit(0);
	change_line(0, BLOCK, 3, 8);
	assert_int_equal(logged(0, BLOCK), ALL);
	close_journal();
}

static void changed_to_and_fro(void)
{
	struct zj_nvm_chunk c;
	handle_t *h;

	NVM();
	change(0, BLOCK, 7);
	commit(0);
	h = start(0, 2);
	put(h, BLOCK, 8);
	put(h, BLOCK, 7);
	put(h, BLOCK + 1, 1);
	stop(h);
	commit(0);
	c = newest(0);
	assert_int_equal(c.count, 1);
	assert_int_equal(logged(0, BLOCK + 1), ALL);
	change_line(0, BLOCK, 1, 9);
	assert_int_equal(logged(0, BLOCK), 1 << 1);
	close_journal();
}

/* ext4 makes up blocks in memory that it has never written. */
static void a_buffer_is_logged_whole_first(void)
{
	NVM();
	/* As read: but who knows whether it was. */
	change_line(0, BLOCK, 3, 8);
	assert_int_equal(logged(0, BLOCK), ALL);
	change_line(0, BLOCK, 3, 9);
	assert_int_equal(logged(0, BLOCK), 1 << 3);
	/* Home and trimmed: what is home is what memory held. */
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	change_line(0, BLOCK, 4, 9);
	assert_int_equal(logged(0, BLOCK), 1 << 4);
	close_journal();
}

static void dirty_without_us_is_logged_whole(void)
{
	struct buffer_head *bh;

	NVM();
	change(0, BLOCK, 7);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	bh = buffer(BLOCK);
	bh->b_data[900] = 1;
	mark_buffer_dirty(bh);
	brelse(bh);
	change_line(0, BLOCK, 4, 9);
	assert_int_equal(logged(0, BLOCK), ALL);
	close_journal();
}

static int revoke(handle_t *h, u32 block)
{
	int err;

	own(h);
	err = zj_journal_revoke(h, block, buffer(block));
	own(NULL);
	return err;
}

static void new_life(u32 block, bool by_create)
{
	struct buffer_head *bh = buffer(block);
	handle_t *h = start(0, 1);

	if (by_create) {
		own(h);
		lock_buffer(bh);
		assert_int_equal(zj_journal_get_create_access(h, bh), 0);
		memset(bh->b_data, 1, DISK_BLOCK);
		unlock_buffer(bh);
		own(NULL);
	} else {
		get_access(h, block);
	}
	fill_line(h, block, 5, 2);
	stop(h);
	commit(0);
	brelse(bh);
	assert_int_equal(logged(0, block), ALL);
}

static void a_revoked_block_is_logged_whole(void)
{
	handle_t *h;

	NVM();
	for (u32 how = 0; how < 4; how++) {
		change(0, BLOCK, 7);
		commit(0);
		/* With a journal head, and without. */
		if (how & 1)
			assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		h = start_more(0, 2, 0, 1);
		assert_int_equal(revoke(h, BLOCK), 0);
		stop(h);
		commit(0);
		new_life(BLOCK, how & 2);
	}
	close_journal();
}

static void a_new_block_is_logged_whole(void)
{
	NVM();
	change(0, BLOCK, 7);
	commit(0);
	new_life(BLOCK, true);
	close_journal();
}

/* What was read is home: no whole image of it. */
static void a_buffer_that_was_read_is_known(void)
{
	struct image *image;

	NVM();
	kl_buffer_read = zj_journal_buffer_read;
	brelse(__bread(&fx.disk->bdev, BLOCK, DISK_BLOCK));
	kl_buffer_read = NULL;
	change_line(0, BLOCK, 3, 8);
	assert_int_equal(logged(0, BLOCK), 1 << 3);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	expect_lines(image, BLOCK, 3, 8, home_val(BLOCK));
	image_free(image);
	/* Nothing of it counts in a new life. */
	new_life(BLOCK, true);
	close_journal();
}

/* The second owner's lines lie over the first one's image, frozen, not logged. */
static void lines_over_a_frozen_image(void)
{
	struct image *image;
	handle_t *h;

	NVM();
	change(0, BLOCK, 7);
	freeze(0);
	h = start(1, 1);
	get_access(h, BLOCK);
	fill_line(h, BLOCK, 3, 8);
	stop(h);
	commit(1);
	assert_int_equal(logged(0, BLOCK), ALL);
	assert_int_equal(logged(1, BLOCK), 1 << 3);
	assert_int_equal(newest(1).nr_deps, 1);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	expect_lines(image, BLOCK, 3, 8, 7);
	image_free(image);
	close_journal();
}

/* ---- ranges that are told ---- */

static void range_access(handle_t *h, u32 block)
{
	struct buffer_head *bh = buffer(block);

	own(h);
	assert_int_equal(zj_journal_get_range_access(h, bh), 0);
	own(NULL);
	brelse(bh);
}

static void change_range(handle_t *h, u32 block, u32 offset, u32 len, u8 val)
{
	struct buffer_head *bh = buffer(block);

	memset(bh->b_data + offset, val, len);
	own(h);
	assert_int_equal(zj_journal_dirty_range(h, bh, offset, len), 0);
	own(NULL);
	brelse(bh);
}

static void tell_range(u32 ln, u32 block, u32 offset, u32 len, u8 val)
{
	handle_t *h = start(ln, 1);

	range_access(h, block);
	change_range(h, block, offset, len, val);
	stop(h);
	commit(ln);
}

/* A block whose contents recovery has. */
static void make_known(u32 block, u8 val)
{
	change(0, block, val);
	commit(0);
}

static void write_byte(u32 block, u32 at, u8 val)
{
	struct buffer_head *bh = buffer(block);

	bh->b_data[at] = val;
	brelse(bh);
}

static void lines_of_a_range(void)
{
	assert_int_equal(zj_nvm_lines(0, 1, 4096), 1);
	assert_int_equal(zj_nvm_lines(63, 1, 4096), 1);
	assert_int_equal(zj_nvm_lines(63, 2, 4096), 3);
	assert_int_equal(zj_nvm_lines(256, 256, 4096), 0xf0);
	assert_int_equal(zj_nvm_lines(256, 257, 4096), 0x1f0);
	assert_true(zj_nvm_lines(4095, 1, 4096) == 1ULL << 63);
	assert_true(zj_nvm_lines(0, 4096, 4096) == ~0ULL);
	assert_int_equal(zj_nvm_lines(0, 1024, 1024), 0xffff);
	/* Of larger blocks a bit is more than a line. */
	assert_int_equal(zj_nvm_lines(1023, 2, 65536), 3);
	assert_int_equal(zj_nvm_lines(1023, 2, 16384), 0x18);
}

static void told_lines_are_logged_without_a_copy(void)
{
	struct zj_part *part;
	struct image *image;
	handle_t *h;

	NVM();
	make_known(BLOCK, 7);
	h = start(0, 1);
	range_access(h, BLOCK);
	part = part_of(handle_txn(h), BLOCK);
	assert_null(part->base);
	/* Of two lines; then of another one; then it is known already. */
	change_range(h, BLOCK, 60, 8, 8);
	change_range(h, BLOCK, 640, 64, 8);
	change_range(h, BLOCK, 100, 1, 8);
	assert_null(part->base);
	stop(h);
	commit(0);
	assert_int_equal(logged(0, BLOCK), 1 << 0 | 1 << 1 | 1 << 10);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	for (u32 i = 0; i < DISK_BLOCK; i++)
		assert_int_equal(image->block[BLOCK][i], (i >= 60 && i < 68) || i == 100 ||
				 (i >= 640 && i < 704) ? 8 : 7);
	image_free(image);
	close_journal();
}

/* So it is not by comparison. */
static void what_is_not_told_is_not_logged(void)
{
	handle_t *h;

	NVM();
	make_known(BLOCK, 7);
	h = start(0, 1);
	range_access(h, BLOCK);
	write_byte(BLOCK, 900, 1);
	change_range(h, BLOCK, 0, 1, 8);
	stop(h);
	commit(0);
	assert_int_equal(logged(0, BLOCK), 1);
	close_journal();
}

static void the_first_image_is_whole_even_if_told(void)
{
	NVM();
	tell_range(0, BLOCK, 0, 64, 8);
	assert_int_equal(logged(0, BLOCK), ALL);
	tell_range(0, BLOCK, 0, 64, 9);
	assert_int_equal(logged(0, BLOCK), 1);
	/* Home, and changed by nobody else. */
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	tell_range(0, BLOCK, 64, 64, 9);
	assert_int_equal(logged(0, BLOCK), 2);
	close_journal();
}

static void members_tell_of_one_image(void)
{
	handle_t *a, *b;

	NVM(.lanes = 2);
	make_known(BLOCK, 7);
	a = start(0, 1);
	b = start(1, 1);
	range_access(a, BLOCK);
	range_access(b, BLOCK);
	/* It moves to lane 1, which pays. */
	change_range(b, BLOCK, 128, 10, 8);
	change_range(a, BLOCK, 0, 10, 8);
	stop(a);
	stop(b);
	commit(0);
	assert_int_equal(logged(1, BLOCK), 1 << 0 | 1 << 2);
	assert_int_equal(logged(0, BLOCK), 0);
	close_journal();
}

enum plain { PLAIN_NONE, PLAIN_BEFORE, PLAIN_BETWEEN, PLAIN_DIRTY, PLAIN_AFTER };

/* The same lane, or another one that is united by it. */
static void plain_among_told(enum plain when, bool check, u32 ln, u64 lines)
{
	handle_t *h, *other;

	NVM(.lanes = 2, .nvm_check = check);
	make_known(BLOCK, 7);
	h = start(0, 2);
	other = start(ln, 1);
	if (when == PLAIN_BEFORE)
		get_access(other, BLOCK);
	range_access(h, BLOCK);
	if (when == PLAIN_BETWEEN)
		get_access(other, BLOCK);
	if (when == PLAIN_DIRTY)
		dirty(h, BLOCK, 7);
	change_range(h, BLOCK, 0, 1, 8);
	if (when == PLAIN_AFTER)
		get_access(other, BLOCK);
	stop(h);
	stop(other);
	commit(0);
	assert_int_equal(logged(0, BLOCK), lines);
	assert_false(is_journal_aborted(fx.journal));
	close_journal();
}

static void plain_access_makes_it_unknown(void)
{
	for (u32 how = 0; how < 4; how++) {
		plain_among_told(PLAIN_NONE, how & 1, how / 2, 1);
		plain_among_told(PLAIN_BEFORE, how & 1, how / 2, 1);
		plain_among_told(PLAIN_BETWEEN, how & 1, how / 2, ALL);
		plain_among_told(PLAIN_DIRTY, how & 1, how / 2, ALL);
		plain_among_told(PLAIN_AFTER, how & 1, how / 2, ALL);
	}
}

static void told_after_a_plain_dirty(void)
{
	handle_t *h;

	NVM();
	make_known(BLOCK, 7);
	h = start(0, 1);
	range_access(h, BLOCK);
	write_byte(BLOCK, 900, 1);
	fill_line(h, BLOCK, 0, 8);
	change_range(h, BLOCK, 64, 1, 8);
	stop(h);
	commit(0);
	assert_int_equal(logged(0, BLOCK), ALL);
	close_journal();
}

static void told_lines_over_a_frozen_image(void)
{
	struct image *image;
	handle_t *h;

	for (u32 check = 0; check < 2; check++) {
		NVM(.nvm_check = check);
		make_known(BLOCK, 6);
		change(0, BLOCK, 7);
		freeze(0);
		h = start(1, 1);
		range_access(h, BLOCK);
		change_range(h, BLOCK, 3 * 64, 64, 8);
		stop(h);
		commit(1);
		assert_int_equal(logged(1, BLOCK), 1 << 3);
		assert_int_equal(newest(1).nr_deps, 1);
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		expect_lines(image, BLOCK, 3, 8, 7);
		image_free(image);
		close_journal();
	}
}

/* The frozen one's lines are told too; the next owner's are its own. */
static void told_parts_of_one_buffer(void)
{
	struct image *image;
	handle_t *h;

	NVM();
	make_known(BLOCK, 7);
	h = start(0, 1);
	range_access(h, BLOCK);
	change_range(h, BLOCK, 0, 64, 8);
	stop(h);
	freeze(0);
	h = start(1, 1);
	range_access(h, BLOCK);
	change_range(h, BLOCK, 64, 64, 9);
	stop(h);
	commit(1);
	assert_int_equal(logged(0, BLOCK), 1);
	assert_int_equal(logged(1, BLOCK), 2);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image->block[BLOCK][0], 8);
	assert_int_equal(image->block[BLOCK][64], 9);
	assert_int_equal(image->block[BLOCK][128], 7);
	image_free(image);
	close_journal();
}

static void a_new_life_is_whole_even_if_told(void)
{
	handle_t *h;

	NVM();
	for (u32 how = 0; how < 4; how++) {
		make_known(BLOCK, 7);
		h = start_more(0, 3, 0, 1);
		/* Told before it is freed, in the same transaction; or not. */
		if (how & 1) {
			range_access(h, BLOCK);
			change_range(h, BLOCK, 0, 1, 1);
		}
		assert_int_equal(revoke(h, BLOCK), 0);
		if (how & 2) {
			stop(h);
			commit(0);
			h = start(0, 1);
		}
		range_access(h, BLOCK);
		change_range(h, BLOCK, 0, 1, 2);
		stop(h);
		commit(0);
		assert_int_equal(logged(0, BLOCK), ALL);
	}
	close_journal();
}

static void dirty_without_us_is_whole_even_if_told(void)
{
	struct buffer_head *bh;

	NVM();
	make_known(BLOCK, 7);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	bh = buffer(BLOCK);
	bh->b_data[900] = 1;
	mark_buffer_dirty(bh);
	brelse(bh);
	tell_range(0, BLOCK, 0, 1, 8);
	assert_int_equal(logged(0, BLOCK), ALL);
	close_journal();
}

static void on_frozen(struct jbd2_buffer_trigger_type *type, struct buffer_head *bh,
		      void *data, size_t size)
{
	((u8 *)data)[900] = 0x77;
}

static void a_trigger_does_not_tell(void)
{
	struct jbd2_buffer_trigger_type type = { .t_frozen = on_frozen };
	struct buffer_head *bh;
	handle_t *h;

	for (u32 check = 0; check < 2; check++) {
		NVM(.nvm_check = check);
		make_known(BLOCK, 7);
		h = start(0, 1);
		range_access(h, BLOCK);
		bh = buffer(BLOCK);
		zj_journal_set_triggers(bh, &type);
		brelse(bh);
		change_range(h, BLOCK, 0, 1, 8);
		stop(h);
		commit(0);
		assert_int_equal(logged(0, BLOCK), ALL);
		close_journal();
	}
}

static void the_check_finds_what_was_not_told(void)
{
	struct image *image;
	handle_t *h;

	NVM(.nvm_check = true);
	make_known(BLOCK, 7);
	tell_range(0, BLOCK, 0, 64, 8);
	assert_int_equal(logged(0, BLOCK), 1);
	h = start(0, 1);
	range_access(h, BLOCK);
	/* One byte beyond. */
	write_byte(BLOCK, 128, 9);
	change_range(h, BLOCK, 64, 64, 9);
	stop(h);
	freeze(0);
	settle();
	assert_true(is_journal_aborted(fx.journal));
	assert_true(said("block 8 was changed in lines 0x4, but only 0x2 were told"));
	/* Nothing of it is in the log. */
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	expect_lines(image, BLOCK, 0, 8, 7);
	image_free(image);
	close_aborted();
}

static void other_logs_take_ranges_for_blocks(void)
{
	struct image *image;
	handle_t *h;

	OPEN(.lanes = 2);
	make_known(BLOCK, 7);
	h = start(0, 1);
	range_access(h, BLOCK);
	write_byte(BLOCK, 900, 1);
	change_range(h, BLOCK, 0, 1, 8);
	stop(h);
	commit(0);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image->block[BLOCK][0], 8);
	assert_int_equal(image->block[BLOCK][900], 1);
	image_free(image);
	close_journal();
	NVM(.nvm_blocks = true, .nvm_check = true);
	make_known(BLOCK, 7);
	tell_range(0, BLOCK, 0, 1, 8);
	assert_int_equal(logged(0, BLOCK), ALL);
	close_journal();
}

/* ---- many records ---- */

static void many_records_fill_many_txninfos(void)
{
	struct zj_nvm_chunk c;
	struct image *image;
	handle_t *h;

	NVM(.info_max = 256);
	h = start(0, 100);
	for (u32 i = 0; i < 100; i++)
		put(h, BLOCK + i, i);
	stop(h);
	commit(0);
	c = newest(0);
	/* Eight in each; the end of a segment may cut one short. */
	assert_in_range(c.chunk_index, 12, 13);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	for (u32 i = 0; i < 100; i++)
		assert_int_equal(image_val(image, BLOCK + i), i);
	image_free(image);
	close_journal();
}

/* A full TxnInfo closes the transaction. */
static void txninfo_max_bounds_a_transaction(void)
{
	handle_t *h;
	tid_t tid;

	NVM(.info_max = 512);
	h = start(0, 30);
	tid = h->h_transaction->t_tid;
	for (u32 i = 0; i < 23; i++)
		put(h, BLOCK + i, i);
	stop(h);
	/* Room for one; what has been forgotten takes none. */
	h = start(0, 4);
	assert_int_equal(h->h_transaction->t_tid, tid);
	put(h, BLOCK + 30, 1);
	forget(h, BLOCK + 30);
	stop(h);
	h = start(0, 4);
	assert_int_equal(h->h_transaction->t_tid, tid);
	put(h, BLOCK + 31, 1);
	stop(h);
	h = start(0, 1);
	assert_int_not_equal(h->h_transaction->t_tid, tid);
	stop(h);
	close_journal();
}

static void revokes_fill_a_txninfo_too(void)
{
	handle_t *h;
	tid_t tid;

	NVM(.info_max = 256);
	h = start_more(0, 4, 0, 14);
	tid = h->h_transaction->t_tid;
	for (u32 i = 0; i < 14; i++)
		assert_int_equal(revoke(h, BLOCK + i), 0);
	stop(h);
	h = start(0, 1);
	assert_int_equal(h->h_transaction->t_tid, tid);
	put(h, BLOCK + 20, 1);
	stop(h);
	h = start(0, 1);
	assert_int_not_equal(h->h_transaction->t_tid, tid);
	stop(h);
	close_journal();
}

/* Entries up to the last byte of a TxnInfo are one chunk, one more makes it two. */
static void entries_that_fill_a_txninfo(void)
{
	struct zj_txn *txn;
	handle_t *h;

	for (u32 nr = 16; nr <= 17; nr++) {
		NVM(.info_max = 256);
		h = start_more(0, 2, 0, nr);
		for (u32 i = 0; i < nr; i++)
			assert_int_equal(revoke(h, BLOCK + i), 0);
		txn = running(0);
		stop(h);
		commit(0);
		assert_int_equal(txn->nr_chunks, nr - 15);
		assert_int_equal(newest(0).nr_revokes, nr == 16 ? 16 : 1);
		zj_txn_put(txn);
		close_journal();
	}
	/* The same of dependencies: on what other lanes have frozen. */
	for (u32 nr = 16; nr <= 17; nr++) {
		NVM(.info_max = 256, .lanes = 18, .cpus = 18, .nvm = 16 << 20);
		for (u32 i = 1; i <= nr; i++) {
			change(i, BLOCK + i, 1);
			freeze(i);
		}
		h = start(0, nr);
		for (u32 i = 1; i <= nr; i++)
			get_access(h, BLOCK + i);
		txn = running(0);
		stop(h);
		commit(0);
		assert_int_equal(txn->nr_chunks, nr - 15);
		assert_int_equal(newest(0).nr_deps, nr == 16 ? 16 : 1);
		zj_txn_put(txn);
		close_journal();
	}
}

/* All kinds of entries side by side: each is found in its place again. */
static void entries_of_all_kinds_in_one_txninfo(void)
{
	const __le64 *entry;
	struct zj_nvm_chunk c;
	u64 before;
	handle_t *h;

	NVM();
	change(1, BLOCK, 1);
	freeze(1);
	before = fx.zj->stamp;
	h = start_more(0, 4, 0, 2);
	get_access(h, BLOCK);
	put(h, BLOCK + 1, 7);
	put(h, BLOCK + 2, 8);
	assert_int_equal(revoke(h, BLOCK + 50), 0);
	assert_int_equal(revoke(h, BLOCK + 51), 0);
	stop(h);
	commit(0);
	c = newest(0);
	assert_int_equal(c.nr_deps, 1);
	assert_int_equal(c.nr_revokes, 2);
	assert_int_equal(c.count, 2);
	entry = memory(c.start + c.data_lines);
	assert_int_equal(le64_to_cpu(entry[0]), before);
	assert_int_equal(le64_to_cpu(entry[1]), BLOCK + 50);
	assert_int_equal(le64_to_cpu(entry[2]), BLOCK + 51);
	assert_int_equal(le64_to_cpu(record(&c, 0)->block), BLOCK + 1);
	assert_int_equal(le64_to_cpu(record(&c, 1)->block), BLOCK + 2);
	close_journal();
}

/* 8 records fill it; handles of ext4 promise several times that. */
static void promises_do_not_fill_a_txninfo(void)
{
	u64 before;

	NVM(.info_max = 256, .lanes = 1, .cpus = 1);
	before = lane(0)->stats.txns;
	for (u32 i = 0; i < 64; i++) {
		handle_t *h = start(0, 30);

		put(h, BLOCK + i, i);
		stop(h);
	}
	commit(0);
	assert_int_equal(lane(0)->stats.txns - before, 8);
	assert_int_equal(lane(0)->stats.nvm_full, 7);
	close_journal();
}

/* ---- trim ---- */

/* Lines are of no use without the image that they are put over. */
static void keep_the_oldest_image(bool told)
{
	struct image *image;
	handle_t *h;
	u64 stamp;

	NVM(.lanes = 1, .cpus = 1);
	change(0, BLOCK, 7);
	commit(0);
	stamp = fx.zj->stamp;
	for (u32 i = 1; i < 5; i++) {
		if (told)
			tell_range(0, BLOCK, i * ZJ_NVM_LINE, ZJ_NVM_LINE, 10 + i);
		else
			change_line(0, BLOCK, i, 10 + i);
	}
	/* It does not get home under its owner. */
	h = start(0, 1);
	get_access(h, BLOCK);
	fill_line(h, BLOCK, 9, 9);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 0);
	assert_true(fx.zj->trimmed < stamp);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	for (u32 i = 0; i < LINES; i++)
		assert_int_equal(image->block[BLOCK][i * ZJ_NVM_LINE],
				 i && i < 5 ? 10 + i : 7);
	image_free(image);
	stop(h);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(fx.zj->trimmed, fx.zj->stamp);
	close_journal();
}

static void lines_keep_the_oldest_image_in_the_log(void)
{
	keep_the_oldest_image(false);
	keep_the_oldest_image(true);
}

/* As with whole blocks: what is between the oldest and the newest goes. */
static void parts_between_the_oldest_and_the_newest_go(void)
{
	struct journal_head *jh;
	struct buffer_head *bh;

	NVM(.lanes = 1, .cpus = 1);
	change(0, BLOCK, 7);
	commit(0);
	for (u32 i = 1; i < 20; i++)
		change_line(0, BLOCK, i % LINES, i);
	bh = buffer(BLOCK);
	jh = zj_jh_get(bh);
	assert_int_equal(list_count_nodes(&jh->parts), 2);
	zj_jh_put(jh);
	brelse(bh);
	close_journal();
}

/* A block that always has an owner that is not valid does not fill the log. */
static void a_hot_block_does_not_keep_s_back(void)
{
	u32 whole = 0, other, i;
	tid_t tid[2] = { };
	handle_t *h;

	NVM(.nvm = 300 << 10, .lanes = 2);
	tid[0] = change(0, BLOCK, 7);
	for (i = 1; i < 3000; i++) {
		other = (i + 1) % 2;
		freeze(other);
		h = start(i % 2, 1);
		tid[i % 2] = h->h_transaction->t_tid;
		get_access(h, BLOCK);
		fill_line(h, BLOCK, i % LINES, i);
		stop(h);
		assert_int_equal(zj_complete_transaction(fx.journal, tid[other]), 0);
		whole += logged(other, BLOCK) == ALL;
	}
	assert_true(fx.zj->trimmed > 2000);
	assert_int_equal(lane(0)->stats.wait_space + lane(1)->stats.wait_space, 0);
	/* Now and then. */
	assert_in_range(whole, 2, 300);
	commit((i + 1) % 2);
	close_journal();
}

/* It is the older half of what is in the log that must get on. */
static void only_what_is_old_is_logged_whole_for_the_trim(void)
{
	handle_t *h;

	NVM(.lanes = 1, .cpus = 1);
	make_known(BLOCK, 7);
	for (u32 i = 1; i < 10; i++)
		make_known(BLOCK + i, 7);
	assert_int_equal(fx.zj->trimmed, 1);
	h = start(0, 4);
	range_access(h, BLOCK + 1);
	/* As if somebody waited for space. */
	atomic_inc(&fx.zj->space_waiters);
	get_access(h, BLOCK);
	get_access(h, BLOCK + 4);
	get_access(h, BLOCK + 5);
	atomic_dec(&fx.zj->space_waiters);
	assert_true(zj_part_test(part_of(handle_txn(h), BLOCK + 1), ZJ_PART_TOLD));
	assert_null(part_of(handle_txn(h), BLOCK)->base);
	assert_null(part_of(handle_txn(h), BLOCK + 4)->base);
	assert_non_null(part_of(handle_txn(h), BLOCK + 5)->base);
	stop(h);
	close_journal();
}

/* What was told already is not told again under the lock. */
static void a_line_that_is_told_again_takes_no_lock(void)
{
	struct buffer_head *bh;
	struct journal_head *jh;
	handle_t *h;

	NVM();
	make_known(BLOCK, 7);
	h = start(0, 1);
	range_access(h, BLOCK);
	change_range(h, BLOCK, 64, 128, 8);
	bh = buffer(BLOCK);
	jh = bh2jh(bh);
	own(h);
	spin_lock(&jh->lock);
	assert_int_equal(zj_journal_get_range_access(h, bh), 0);
	assert_int_equal(zj_journal_dirty_range(h, bh, 100, 60), 0);
	spin_unlock(&jh->lock);
	own(NULL);
	brelse(bh);
	stop(h);
	close_journal();
}

/* ---- statistics ---- */

static void bytes_are_counted_in_their_lane(void)
{
	u64 before[2];

	NVM(.lanes = 2);
	change(0, BLOCK, 7);
	commit(0);
	before[0] = lane(0)->stats.nvm_bytes;
	before[1] = lane(1)->stats.nvm_bytes;
	/* A line, a record's description with zeros, the end of a TxnInfo. */
	change_line(0, BLOCK, 3, 8);
	assert_int_equal(lane(0)->stats.nvm_bytes - before[0], 64 + 64 + 128);
	change(1, BLOCK + 1, 1);
	commit(1);
	assert_int_equal(lane(1)->stats.nvm_bytes - before[1], DISK_BLOCK + 64 + 128);
	assert_int_equal(lane(0)->stats.nvm_bytes - before[0], 256);
	assert_int_equal(lane(0)->stats.nvm_full, 0);
	close_journal();
}

static void a_full_txninfo_is_counted_once(void)
{
	struct fiber *f[3];

	NVM(.info_max = 256, .lanes = 1, .cpus = 1);
	for (u32 i = 0; i < 8; i++)
		change(0, BLOCK + i, i);
	/* All of them find it full. */
	for (u32 i = 0; i < 3; i++)
		f[i] = GO(call_start, .n = 1);
	let_run();
	for (u32 i = 0; i < 3; i++) {
		join(f[i]);
		stop(f[i]->h);
	}
	/* The second one is closed on demand, with room left. */
	commit(0);
	assert_int_equal(lane(0)->stats.nvm_full, 1);
	close_journal();
}

/* A log that is begun anew does not point back into the one before. */
static void chains_begin_anew(void)
{
	struct zj_nvm_chunk c;
	struct image *image;

	NVM(.lanes = 2);
	for (u32 i = 0; i < 2; i++) {
		change(i, BLOCK + i, 7);
		commit(i);
	}
	zj_journal_lock_updates(fx.journal);
	assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
	zj_journal_unlock_updates(fx.journal);
	for (u32 i = 0; i < 2; i++) {
		change(i, BLOCK + i, 8);
		commit(i);
		c = newest(i);
		assert_int_equal(c.prev, 0);
		assert_int_equal(c.prev_stamp, 0);
	}
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK + 1), 8);
	image_free(image);
	close_journal();
}

/* Block 0 says still which memory it is: an unmount that failed is tried again. */
static void clean_that_cannot_be_written_keeps_the_mark(void)
{
	struct zj_nvm_mark mark;

	NVM();
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	mark = *zj_nvm_mark_of(fx.journal->j_superblock);
	assert_int_equal(be64_to_cpu(mark.generation), fx.zj->geo.generation);
	fail_next_write();
	assert_int_equal(zj_make_clean(fx.zj), -EIO);
	assert_memory_equal(zj_nvm_mark_of(fx.journal->j_superblock), &mark, sizeof(mark));
	assert_true(zj_is_nvm_log(fx.journal->j_superblock));
	close_journal();
}

/* Lines lie over what is home: a mount reads that, and keeps the log if it cannot. */
static void a_mount_puts_lines_over_what_is_home(void)
{
	struct image *image;
	int err;

	NVM();
	make_known(BLOCK, 7);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	change_line(0, BLOCK, 3, 8);
	image = cut_power();
	close_journal();
	for (u32 n = 1; ; n++) {
		make_disk_of(&pair, image);
		fx.disk->fail_read = n;
		err = mount_journal();
		if (!err)
			break;
		assert_int_equal(err, -EIO);
		discard_disk();
	}
	for (u32 i = 0; i < DISK_BLOCK; i++)
		assert_int_equal(fx.disk->seen[BLOCK][i], i / ZJ_NVM_LINE == 3 ? 8 : 7);
	close_journal();
	image_free(image);
}

/* ---- what nobody asks for ---- */

static void kick_after(u32 seconds)
{
	sleep_ms(seconds * 1000);
	zj_checkpoint_kick(fx.zj);
	settle();
}

/* Ten minutes after the last time it goes home, so that a recovery is short; no other log. */
static void what_is_old_goes_home(void)
{
	for (u32 nvm = 0; nvm < 2; nvm++) {
		OPEN(.nvm = nvm << 20, .journal = 400);
		change(0, BLOCK, 1);
		commit(0);
		kick_after(590);
		assert_int_equal(fx.zj->trimmed, 1);
		kick_after(20);
		assert_int_equal(fx.zj->trimmed, 1 + nvm);
		change(0, BLOCK + 1, 2);
		commit(0);
		kick_after(590);
		assert_int_equal(fx.zj->trimmed, 1 + nvm);
		close_journal();
	}
}

/* ---- the device is left alone ---- */

static void an_fsync_does_no_device_io(void)
{
	u32 before;

	NVM(.lanes = 2);
	report_data();
	/* The first one after a mount flushes: nobody knows what was written before. */
	change(0, BLOCK, 7);
	commit(0);
	for (u32 i = 0; i < 10; i++) {
		change(i % 2, BLOCK + i, i);
		before = now();
		commit(i % 2);
		for (u32 e = before; e < now(); e++)
			assert_int_equal(fx.disk->log[e].what, DISK_PMEM);
	}
	/* File data in the device's cache comes before the record. */
	zj_journal_data_written(fx.journal);
	change(0, BLOCK, 8);
	before = now();
	commit(0);
	assert_true(flushed_between(before, now()));
	close_journal();
}

/* ---- space ---- */

static void round_and_round(void)
{
	struct image *image;

	NVM(.nvm = 300 << 10, .lanes = 1);
	for (u32 i = 0; i < 3000; i++) {
		change_line(0, BLOCK + i % 7, i % LINES, i);
		if (i % 500 != 499)
			continue;
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		for (u32 n = i - 6; n <= i; n++)
			assert_int_equal(image->block[BLOCK + n % 7]
					 [n % LINES * ZJ_NVM_LINE], (u8)n);
		image_free(image);
	}
	assert_true(fx.zj->trimmed > 1000);
	assert_int_equal(trim_word(), fx.zj->trimmed);
	close_journal();
}

/*
 * A lane's tail has half of a stamp: it must not outlive 2^31 commits of the others, nor be
 * confused with a stamp after these.
 */
static void a_lane_rests_for_very_long(void)
{
	struct image *image;

	for (u64 rest = 1ULL << 30; rest <= 1ULL << 34; rest <<= 1) {
		NVM(.nvm = 300 << 10, .lanes = 2);
		change(1, BLOCK, 7);
		commit(1);
		assert_int_not_equal(tail(1), 0);
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		assert_true(tail(0) == 0 && tail(1) == 0);
		fx.zj->stamp += rest + 10;
		/* Lane 0 writes over all that lane 1 has left, and S follows it. */
		for (u32 i = 0; i < 1500; i++)
			change_line(0, BLOCK + i % 7, i % LINES, i);
		assert_true(fx.zj->trimmed > rest);
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		assert_int_equal(image->block[BLOCK + 1499 % 7][1499 % LINES * ZJ_NVM_LINE],
				 (u8)1499);
		image_free(image);
		/* And is back. */
		change(1, BLOCK + 20, 9);
		commit(1);
		assert_int_equal(tail(1) >> 32, (u32)fx.zj->stamp);
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		assert_int_equal(image_val(image, BLOCK + 20), 9);
		image_free(image);
		close_journal();
	}
}

/* A chunk of so many told lines and one record, or of one entry alone. */
#define RECORD_LINES	(zj_nvm_info_bytes(0, 0, 1) / ZJ_NVM_LINE)
#define ENTRY_LINES	(zj_nvm_info_bytes(0, 1, 0) / ZJ_NVM_LINE)

static u32 left(void)
{
	return fx.zj->geo.seg_blocks - lane(0)->cur_off;
}

/* Fill the segment of lane 0 up to so many lines. */
static void leave(u32 lines)
{
	const u32 most = LINES + RECORD_LINES, least = 1 + RECORD_LINES;
	u32 n;

	do {
		n = left() < lines + least || left() > lines + most ? most : left() - lines;
		/* The next one has to fit, too. */
		if (left() > lines + most && left() - most < lines + least)
			n = least;
		tell_range(0, BLOCK, 0, (n - RECORD_LINES) * ZJ_NVM_LINE, n);
	} while (left() != lines);
}

/* Nothing at the end of a segment is wasted on what would fit. */
static void a_chunk_may_end_with_its_segment(void)
{
	handle_t *h;
	u32 segment;

	for (u32 what = 0; what < 3; what++) {
		NVM();
		make_known(BLOCK, 7);
		leave(what ? ENTRY_LINES : 7 + RECORD_LINES);
		segment = lane(0)->cur->index;
		fx.hold_lane[1] = true;
		if (what == 2) {
			change(1, BLOCK + 1, 1);
			freeze(1);
		}
		h = start_more(0, 1, 0, 1);
		if (!what) {
			range_access(h, BLOCK);
			change_range(h, BLOCK, 0, 7 * ZJ_NVM_LINE, 9);
		} else if (what == 1) {
			assert_int_equal(revoke(h, BLOCK + 1), 0);
		} else {
			get_access(h, BLOCK + 1);
		}
		stop(h);
		freeze(0);
		settle();
		assert_int_equal(lane(0)->cur->index, segment);
		assert_int_equal(left(), 0);
		release();
		settle();
		close_journal();
	}
}

/* Its thread is about to show a newer one when trim finds the old tail dead. */
static void trim_leaves_a_newer_tail(void)
{
	struct image *image;

	NVM(.lanes = 2);
	change(1, BLOCK, 7);
	commit(1);
	change(0, BLOCK + 1, 7);
	commit(0);
	change(1, BLOCK + 2, 8);
	commit(1);
	/* Blocks 0 and 1 go home, 2 is covered anew by what runs: S stays below it. */
	change(0, BLOCK + 2, 9);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(tail(0), 0);
	assert_int_equal(tail(1) >> 32, (u32)newest(1).stamp);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK + 2), 8);
	image_free(image);
	close_journal();
}

static void every_size_fits_its_promise(void)
{
	NVM(.nvm = 400 << 10, .lanes = 1, .info_max = 256);
	for (u32 n = 1; n <= fx.zj->max_credits; n++) {
		handle_t *h = start(0, n);
		tid_t tid = h->h_transaction->t_tid;

		for (u32 i = 0; i < n; i++)
			put(h, BLOCK + i, n);
		stop(h);
		/* What takes most of the log is closed by the checkpoint already. */
		assert_int_equal(zj_complete_transaction(fx.journal, tid), 0);
	}
	assert_false(is_journal_aborted(fx.journal));
	close_journal();
}

/* ---- pairs ---- */

static void refused_with(int err, const char *why)
{
	u32 before = now();

	fx.messages[0] = 0;
	assert_int_equal(mount_journal(), err);
	assert_true(said(why));
	assert_int_equal(now(), before);
}

static void refused(const char *why)
{
	refused_with(-EINVAL, why);
}

static void the_wrong_memory_is_refused(void)
{
	struct zj_nvm_super *sb;

	make_disk(&pair);
	sb = (void *)fx.pmem->mem;
	sb->magic = 0;
	pmem_look(fx.pmem);
	refused("zjctl nvm-format");
	zj_encode_nvm_super(MEMORY_UUID, (const u8 *)"another-file-sys", 1 << 20, sb);
	pmem_look(fx.pmem);
	refused("belongs to the file system 616e6f74-6865-722d-6669-6c652d737973");
	zj_encode_nvm_super(MEMORY_UUID, fx.sb.s_uuid.b, 1 << 20, sb);
	sb->size ^= 1;
	pmem_look(fx.pmem);
	refused("wrong checksum");
	zj_encode_nvm_super(MEMORY_UUID, fx.sb.s_uuid.b, 2 << 20, sb);
	pmem_look(fx.pmem);
	refused("smaller");
	kl_nvm.size = ZJ_NVM_MIN_SIZE - 1;
	refused("262143 bytes, at least 262144 are needed");
	kl_nvm.base = NULL;
	refused_with(-ENOENT, "no such memory");
	discard_disk();
}

static struct image *crashed(void)
{
	struct image *image;

	NVM();
	change(0, BLOCK, 7);
	commit(0);
	image = cut_power();
	close_journal();
	return image;
}

/* What a lane has shown in an earlier life is gone before the new one begins. */
static void tails_of_an_earlier_life_are_gone(void)
{
	struct image *image;

	NVM(.lanes = 2);
	zj_journal_lock_updates(fx.journal);
	assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
	zj_journal_unlock_updates(fx.journal);
	/* As if something had been left in the memory. */
	*(u64 *)(fx.pmem->mem + ZJ_NVM_TAILS_AT + ZJ_NVM_LINE) = 0x100000008;
	pmem_look(fx.pmem);
	arch_wb_cache_pmem(fx.pmem->mem + ZJ_NVM_TAILS_AT + ZJ_NVM_LINE, 8);
	pmem_wmb();
	change(0, BLOCK, 1);
	commit(0);
	image = cut_power();
	assert_int_equal(*(u64 *)(image->pmem + ZJ_NVM_TAILS_AT + ZJ_NVM_LINE), 0);
	/* Those of lanes that this life does not have are nobody's. */
	*(u64 *)(image->pmem + ZJ_NVM_TAILS_AT + 2 * ZJ_NVM_LINE) = 0x900000100000008;
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 1);
	image_free(image);
	close_journal();
}

static void a_live_log_needs_its_memory(void)
{
	struct image *image = crashed();
	struct zj_nvm_super *sb;
	struct setup without = pair;
	u8 *memory;

	/* Block 0 says where it is. */
	assert_true(((struct zj_jbd2_super *)image->block[jblock(0)])->s_feature_incompat &
		    cpu_to_be32(ZJ_JBD2_INCOMPAT_NVM));
	memory = image->pmem;
	image->pmem = NULL;
	without.nvm = 0;
	make_disk_of(&without, image);
	refused("756e6974-2d74-6573-742d-6d656d6f7279: mount with journal_nvm=");
	discard_disk();
	image->pmem = memory;

	make_disk_of(&pair, image);
	sb = (void *)fx.pmem->mem;
	zj_encode_nvm_super((const u8 *)"other-memory-ooo", fx.sb.s_uuid.b, 1 << 20, sb);
	pmem_look(fx.pmem);
	refused("but the log is in 756e6974-2d74");
	/* Of the same memory, made for another log. */
	zj_encode_nvm_super(MEMORY_UUID, fx.sb.s_uuid.b, 1 << 20, sb);
	fx.pmem->mem[ZJ_NVM_HEAD_AT + 0x18] ^= 1;
	pmem_look(fx.pmem);
	refused_with(-EUCLEAN, "damaged log");
	fx.pmem->mem[ZJ_NVM_HEAD_AT + 0x18] ^= 1;
	pmem_look(fx.pmem);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(home_val(BLOCK), 7);
	close_journal();
	image_free(image);
}

static void a_clean_journal_is_stocks_again(void)
{
	const struct zj_jbd2_super *sb;

	NVM();
	change(0, BLOCK, 7);
	commit(0);
	assert_int_equal(unmount_journal(), 0);
	sb = (const void *)fx.disk->seen[jblock(0)];
	assert_int_equal(sb->s_start, 0);
	assert_int_equal(be32_to_cpu(sb->s_feature_incompat), ZJ_JBD2_INCOMPAT_CSUM_V3);
	for (u32 i = 0; i < sizeof(sb->s_padding); i++)
		assert_int_equal(sb->s_padding[i], 0);
	assert_int_equal(home_val(BLOCK), 7);
	/* The journal in the inode, and back. */
	fx.setup.nvm = 0;
	assert_int_equal(mount_journal(), 0);
	change(0, BLOCK, 8);
	commit(0);
	assert_int_equal(unmount_journal(), 0);
	fx.setup.nvm = 1 << 20;
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(home_val(BLOCK), 8);
	close_journal();
}

static void damage_is_refused(void)
{
	struct image *image = crashed();
	static const struct { u32 at; const char *why; } spots[] = {
		{ 0, "records are not those" },		/* of the block */
		{ LINES * 64 + 1, "wrong checksum" },	/* in the record's place */
		{ LINES * 64 + 64 + 0x7c, "no TxnInfo" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(spots); i++) {
		u64 word;
		u8 *spot;

		make_disk_of(&pair, image);
		word = tail(0);
		spot = fx.pmem->mem + ((u32)word - LINES - 3) * 64 + spots[i].at;
		*spot ^= 4;
		pmem_look(fx.pmem);
		refused_with(-EUCLEAN, spots[i].why);
		assert_true(said("copy the device and the memory before"));
		*spot ^= 4;
		pmem_look(fx.pmem);
		assert_int_equal(mount_journal(), 0);
		assert_int_equal(home_val(BLOCK), 7);
		close_journal();
	}
	image_free(image);
}

/* A load of any of it would be a machine check: all are fetched by a copy that fails. */
static void lines_that_cannot_be_read_are_refused(void)
{
	struct image *image = crashed();
	u32 end, spots[] = { ZJ_NVM_SUPER_AT, ZJ_NVM_HEAD_AT, ZJ_NVM_TRIM_AT, ZJ_NVM_TAILS_AT,
			     ZJ_NVM_TAILS_AT + ZJ_NVM_LINE, 0, 0, 0 };

	for (u32 i = 0; i < ARRAY_SIZE(spots); i++) {
		make_disk_of(&pair, image);
		end = (u32)tail(0);
		spots[5] = (end - LINES - 3) * ZJ_NVM_LINE + 3;	/* the record */
		spots[6] = (end - 3) * ZJ_NVM_LINE;		/* its place */
		spots[7] = end * ZJ_NVM_LINE - 1;		/* the magic number */
		kl_poison = fx.pmem->mem + spots[i];
		refused_with(-EIO, "cannot be read");
		kl_poison = NULL;
		assert_int_equal(mount_journal(), 0);
		assert_int_equal(home_val(BLOCK), 7);
		close_journal();
	}
	image_free(image);
}

static void lines_that_nobody_needs_may_be_lost(void)
{
	struct image *image = crashed();

	make_disk_of(&pair, image);
	kl_poison = fx.pmem->mem + fx.pmem->size - 1;
	assert_int_equal(mount_journal(), 0);
	kl_poison = NULL;
	assert_int_equal(home_val(BLOCK), 7);
	close_journal();
	image_free(image);
}

/* Whatever stands there, with good checksums or not: an end, and no stray access. */
static void hostile_memory(void)
{
	struct sim_rand rand = { 3 };
	struct image *image;
	u32 good = 0, bad = 0;
	u8 *memory;

	NVM(.lanes = 2, .info_max = 256);
	for (u32 i = 1; i <= 40; i++) {
		for (u32 b = 0; b < 3; b++)
			change_line(i % 2, BLOCK + b, i % LINES, i);
	}
	image = cut_power();
	memory = malloc(fx.pmem->size);
	memcpy(memory, image->pmem, fx.pmem->size);
	for (u32 n = 0; n < 4000; n++) {
		struct zj_nvm_chunk c;
		u32 end = tail(n % 2), bytes, flips = 1 + sim_below(&rand, 3);
		struct zj_txninfo *t;
		u8 *info;

		memcpy(image->pmem, memory, fx.pmem->size);
		for (u32 back = sim_below(&rand, 20); back; back--) {
			assert_null(zj_read_txninfo(&fx.zj->geo, fx.zj->seed, memory, end, &c));
			end = c.prev;
		}
		assert_null(zj_read_txninfo(&fx.zj->geo, fx.zj->seed, memory, end, &c));
		info = image->pmem + (c.start + c.data_lines) * ZJ_NVM_LINE;
		bytes = (end - c.start - c.data_lines) * ZJ_NVM_LINE;
		while (flips--) {
			u8 *spot = info + sim_below(&rand, bytes);

			*spot = sim_one_in(&rand, 2) ? *spot ^ 1 << sim_below(&rand, 8) :
				sim_below(&rand, 256);
		}
		if (!sim_one_in(&rand, 8)) {
			t = (void *)(info + bytes - sizeof(*t));
			t->csum = cpu_to_le32(zj_crc_without(fx.zj->seed, info, bytes,
					      bytes - sizeof(*t) + 0x6c));
		}
		image->quiet = true;
		if (recover_image(image))
			bad++;
		else
			good++;
	}
	/* What was changed may be beyond S, or say nothing wrong. */
	assert_true(bad > 2000 && good > 10);
	free(memory);
	image_free(image);
	close_journal();
}

/* A chunk before line @end with so many whole records: every number and sum is right. */
static void forge(u8 *mem, u32 end, u32 records, struct zj_nvm_chunk *c)
{
	u32 info = zj_nvm_info_bytes(0, 0, records) / ZJ_NVM_LINE;
	u8 *at = mem + (end - info - records * LINES) * ZJ_NVM_LINE;
	struct zj_nvm_record *rec = (void *)(mem + (end - info) * ZJ_NVM_LINE);

	c->count = records;
	c->data_lines = records * LINES;
	c->start = end - info - c->data_lines;
	c->end = end;
	c->data_hash = fx.zj->seed;
	memset(rec, 0, info * ZJ_NVM_LINE);
	for (u32 i = 0; i < records; i++, at += DISK_BLOCK) {
		rec[i].block = cpu_to_le64(BLOCK + i);
		rec[i].lines = cpu_to_le64(ALL);
		c->data_hash = zj_nvm_hash_record(c->data_hash, at, ALL, ZJ_NVM_LINE);
	}
	zj_seal_txninfo(&fx.zj->geo, fx.zj->seed, c, rec);
}

/* Each chunk's records are the chunks before it: they would be read again and again. */
static void overlapping_chunks_cost_no_more_than_the_memory(void)
{
	const struct zj_log_geometry *geo;
	struct zj_nvm_chunk c = { .nr_members = 1, .last = true };
	u64 forged = 0;
	struct image *image;
	u32 records;

	NVM(.lanes = 2);
	change(0, BLOCK, 7);
	commit(0);
	image = cut_power();
	geo = &fx.zj->geo;
	records = geo->seg_blocks / LINES / 2;
	c.stamp = fx.zj->stamp;
	for (u32 seg = 1; seg < geo->nr_segs; seg++) {
		u32 first = geo->log_first + seg * geo->seg_blocks;
		u32 info = zj_nvm_info_bytes(0, 0, records) / ZJ_NVM_LINE;

		for (u32 end = first + records * LINES + info; end <= first + geo->seg_blocks;
		     end += info) {
			c.prev = c.end;
			c.prev_stamp = c.end ? c.stamp : 0;
			c.stamp++;
			forge(image->pmem, end, records, &c);
			forged += (c.end - c.start) * ZJ_NVM_LINE;
		}
	}
	*(__le64 *)(image->pmem + ZJ_NVM_TAILS_AT) = cpu_to_le64(zj_nvm_tail(c.end, c.stamp));
	/* It is worth the while: many times the memory. */
	assert_true(forged > 6 * fx.pmem->size);
	image->quiet = true;
	kl_copied = 0;
	assert_int_equal(recover_image(image), -EUCLEAN);
	assert_in_range(kl_copied, fx.pmem->size / 2, 2 * fx.pmem->size);
	image_free(image);
	close_journal();
}

/* At each place in turn, on the way back or while blocks are written; then once more. */
static void killed_recoveries_of_memory_end(void)
{
	struct image *image;
	u32 asked;

	NVM(.lanes = 2);
	for (u32 i = 0; i < 20; i++) {
		change(0, BLOCK + i, 1 + i);
		commit(0);
	}
	image = cut_power();
	kl_asked = 0;
	assert_int_equal(recover_image(image), 0);
	asked = kl_asked;
	assert_int_equal(image->stats.transactions, 20);
	/* At chunks on the way back, components, chunks twice, images, blocks, writes. */
	assert_true(asked >= 7 * 20 - 1);
	for (u32 i = 1; i <= asked; i++) {
		kl_asked = 0;
		kl_killed_in = i;
		assert_int_equal(recover_image(image), -EINTR);
		kl_killed_in = 0;
	}
	assert_int_equal(recover_image(image), 0);
	for (u32 i = 0; i < 20; i++)
		assert_int_equal(image_val(image, BLOCK + i), 1 + i);
	image_free(image);
	close_journal();
}

/* ---- the memory goes ---- */

static bool memory_is(const u8 *before)
{
	return !memcmp(before, fx.pmem->mem, fx.pmem->size);
}

/* Unbound: nothing is stored from then on, nothing waits, what was valid is there. */
static void unbound_while_mounted(void)
{
	struct image *image;
	u8 *before;

	NVM();
	change(0, BLOCK, 7);
	commit(0);
	before = malloc(fx.pmem->size);
	memcpy(before, fx.pmem->mem, fx.pmem->size);
	fx.messages[0] = 0;
	fx.zj->nvm.map.lost(&fx.zj->nvm.map, true);
	kl_nvm.gone = true;
	assert_true(said("is being removed"));
	assert_true(is_journal_aborted(fx.journal));
	settle();
	assert_int_equal(unmount_journal(), -EIO);
	assert_true(memory_is(before));
	kl_nvm.gone = false;
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 7);
	image_free(image);
	free(before);
	discard_disk();
}

/* Without a notice, as another partition's user has it: the next commit finds out. */
static void a_commit_finds_the_memory_gone(void)
{
	struct image *image;
	u8 *before;

	NVM();
	change(0, BLOCK, 7);
	commit(0);
	change(0, BLOCK, 8);
	before = malloc(fx.pmem->size);
	memcpy(before, fx.pmem->mem, fx.pmem->size);
	kl_nvm.gone = true;
	assert_int_equal(zj_journal_force_commit(fx.journal), -EIO);
	assert_true(memory_is(before));
	kl_nvm.gone = false;
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 7);
	image_free(image);
	free(before);
	close_aborted();
}

static void an_error_in_the_memory_aborts(void)
{
	NVM();
	change(0, BLOCK, 7);
	commit(0);
	fx.messages[0] = 0;
	fx.zj->nvm.map.lost(&fx.zj->nvm.map, false);
	assert_true(said("uncorrectable"));
	close_aborted();
}

/* ---- memory that has to be flushed ---- */

static void only_memory_with_queues_is_flushed(void)
{
	u64 before;

	for (u32 queues = 0; queues < 2; queues++) {
		NVM(.nvm_queues = queues);
		change(0, BLOCK, 7);
		before = fx.pmem->flushes;
		commit(0);
		/* The record, then the tail that shows it. */
		assert_int_equal(fx.pmem->flushes - before, 2 * queues);
		before = fx.pmem->flushes;
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		/* S, then the tail that it has passed. */
		assert_int_equal(fx.pmem->flushes - before, 2 * queues);
		close_journal();
	}
}

static int flush_fails(void)
{
	return -EIO;
}

static void a_flush_that_fails_aborts(void)
{
	NVM(.nvm_queues = true);
	change(0, BLOCK, 7);
	kl_nvm.flush = flush_fails;
	assert_int_equal(zj_journal_force_commit(fx.journal), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	/* Nothing shows what may not be there. */
	assert_int_equal(tail(0), 0);
	close_aborted();
}

static void a_trim_whose_flush_fails_aborts(void)
{
	NVM(.nvm_queues = true);
	change(0, BLOCK, 7);
	commit(0);
	kl_nvm.flush = flush_fails;
	assert_int_equal(zj_checkpoint(fx.zj, true), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_not_equal(tail(0), 0);
	close_aborted();
}

/* ---- the power fails at any store ---- */

#define TXNS		60
#define BLOCKS		4

/* What is changed is told. */
static bool told;

static void access_block(handle_t *h, u32 block)
{
	if (told)
		range_access(h, block);
	else
		get_access(h, block);
}

static void change_one(handle_t *h, u32 block, u32 line, u8 val)
{
	if (told)
		change_range(h, block, line * ZJ_NVM_LINE, ZJ_NVM_LINE, val);
	else
		fill_line(h, block, line, val);
}

/* A change of @n: a line of each of the blocks, and now and then all of them. */
static void change_all(u32 ln, u32 n)
{
	handle_t *h = start_more(ln, BLOCKS + 2, 0, 1);

	for (u32 b = 0; b < BLOCKS; b++) {
		access_block(h, BLOCK + b);
		change_one(h, BLOCK + b, 0, n);
		change_one(h, BLOCK + b, n % LINES, n);
	}
	if (n % 7 == 3)
		assert_int_equal(revoke(h, BLOCK + 50), 0);
	else if (n % 7 == 4)
		put(h, BLOCK + 50, n);
	else if (n % 7 != 3) {
		access_block(h, BLOCK + 50);
		change_one(h, BLOCK + 50, n % LINES, n);
	}
	stop(h);
}

static u8 expected(u32 val, u32 line)
{
	if (!line)
		return val;
	while (val && val % LINES != line)
		val--;
	return val;
}

static void judge(struct image *image, u32 acked, u32 begun)
{
	u8 val;

	if (image_is_live(image))
		assert_int_equal(recover_image(image), 0);
	val = image->block[BLOCK][0];
	assert_in_range(val, acked, begun);
	for (u32 b = 0; b < BLOCKS; b++)
		for (u32 i = 0; i < DISK_BLOCK; i++)
			assert_int_equal(image->block[BLOCK + b][i],
					 expected(val, i / ZJ_NVM_LINE));
}

/*
 * Block 0 may name the old generation still, as barriers were off: then the memory must
 * not have another one, or the file system could not be mounted any more.
 */
static void new_log_does_not_outrun_a_clean_block_0(void)
{
	struct image *image;

	for (int back = 0; back < 2; back++) {
		NVM();
		change(0, BLOCK, 1);
		commit(0);
		fx.journal->j_flags &= ~JBD2_BARRIER;
		zj_journal_lock_updates(fx.journal);
		assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
		zj_journal_unlock_updates(fx.journal);
		if (back)
			fx.journal->j_flags |= JBD2_BARRIER;
		change(0, BLOCK, 2);
		fx.hold_block = jblock(0);
		freeze(0);
		settle();
		assert_int_equal(nr_held(), 1);
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		image_free(image);
		release();
		close_journal();
	}
}

/* The memory's queues are lost with the power. */
static bool queues;

static void crash_at_every_event(bool blocks, u32 info_max)
{
	u32 done[TXNS + 1] = { }, begun[TXNS + 1] = { }, acked = 0, started = 0;
	struct sim_rand rand = { 1 };
	struct disk_walk *walk = malloc(sizeof(*walk));
	struct disk_image crash = { };

	OPEN(.journal = 400, .nvm = 256 << 10, .nvm_blocks = blocks, .info_max = info_max, .lanes = 2,
	     .nvm_queues = queues, .new = true);
	for (u32 i = 1; i <= TXNS; i++) {
		begun[i] = now();
		change_all(i % 2, i);
		commit(i % 2);
		done[i] = now();
	}
	crash.nr = fx.disk->nr;
	crash.block = malloc(crash.nr * sizeof(*crash.block));
	crash.pmem = malloc(fx.pmem->size);
	walk_init(walk, fx.disk, fx.initial);
	while (walk->at < now()) {
		while (acked < TXNS && done[acked + 1] <= walk->at)
			acked++;
		while (started < TXNS && begun[started + 1] <= walk->at)
			started++;
		for (u32 n = 0; n < 6; n++) {
			struct image image = { .block = crash.block, .pmem = crash.pmem };

			walk_crash(walk, &rand, &crash);
			judge(&image, acked, started);
		}
		scratch_reset();
		walk_step(walk);
	}
	walk_free(walk);
	free(walk);
	free(crash.block);
	free(crash.pmem);
	close_journal();
}

static void power_fails_at_any_store(void)
{
	crash_at_every_event(false, 0);
}

static void power_fails_with_told_lines(void)
{
	told = true;
	crash_at_every_event(false, 0);
}

static void power_fails_with_queues(void)
{
	queues = true;
	crash_at_every_event(false, 0);
}

static void power_fails_with_small_txninfos(void)
{
	crash_at_every_event(false, 256);
}

static void power_fails_with_whole_blocks(void)
{
	crash_at_every_event(true, 0);
}

/* ---- memory that goes away ---- */

static u64 map_until_it_is_gone(const struct inode *inode, u64 block)
{
	kl_nvm.gone = kl_nvm.gone || block == 5;
	return HOME_BLOCKS + block;
}

/* Between the look at its super block and recovery. */
static void memory_that_is_gone_before_recovery(void)
{
	struct image *image = crashed();

	make_disk_of(&pair, image);
	image_free(image);
	fx.jnl_inode.map = map_until_it_is_gone;
	assert_int_equal(mount_journal(), -ENODEV);
	kl_nvm.gone = false;
	assert_true(said("recovery failed"));
	assert_int_equal(now(), 0);
	discard_disk();
}

static int begun;

static void note_begun(void)
{
	if (said("log in memory") && !begun)
		begun = kl_nvm.begun ?: -1;
}

/* It waits for whoever has begun, and for nobody else. */
static void memory_does_not_go_away_during_recovery(void)
{
	struct image *image = crashed();

	make_disk_of(&pair, image);
	image_free(image);
	fx.on_message = note_begun;
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(begun, 1);
	close_journal();
}

/* A trim that has found the lane's tail to be dead, and then comes late. */
static void call_trim_all(struct fiber *f)
{
	f->ret = zj_checkpoint(fx.zj, false);
}

static void tail_that_is_shown_meanwhile_stays(void)
{
	struct fiber *f;

	NVM(.lanes = 2);
	change(0, BLOCK, 1);
	commit(0);
	f = GO(call_trim_all, .cpu = 1);
	stop_before(&f->task->task, &lane(0)->lock, 1);
	settle();
	assert_true(stopped(&f->task->task));
	assert_int_equal(lane(0)->nvm_shown, 2);
	change(0, BLOCK + 1, 2);
	commit(0);
	assert_int_equal(lane(0)->nvm_shown, 3);
	go_on(&f->task->task);
	join(f);
	assert_int_equal(fx.zj->trimmed, 2);
	assert_int_equal(val_after_crash(BLOCK + 1), 2);
	close_journal();
}

/* Those that gather while the disk is flushed are written one after the other. */
static void all_of_a_run_is_written(void)
{
	struct fiber *f[3];

	NVM(.lanes = 1, .pipeline = true);
	fx.hold_flush = true;
	for (u32 i = 0; i < 3; i++) {
		f[i] = GO(call_complete, .tid = change(0, BLOCK + i, 1 + i));
		settle();
	}
	assert_int_equal(lane(0)->depth, 3);
	release();
	for (u32 i = 0; i < 3; i++) {
		join(f[i]);
		assert_int_equal(val_after_crash(BLOCK + i), 1 + i);
	}
	close_journal();
}

/* User space has it open, tune2fs for one: what it has changed is in the log, too. */
static void super_block_is_logged_with_what_others_have_changed(void)
{
	struct image *image;
	struct buffer_head *bh;
	handle_t *h;

	NVM(.lanes = 1);
	change(0, 1, 1);
	commit(0);
	bh = buffer(1);
	assert_true(zj_bh_is_super(bh));
	bh->b_data[512] = 9;
	h = start(0, 1);
	get_access(h, 1);
	bh->b_data[0] = 7;
	own(h);
	assert_int_equal(zj_journal_dirty_metadata(h, bh), 0);
	own(NULL);
	stop(h);
	commit(0);
	brelse(bh);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image->block[1][0], 7);
	assert_int_equal(image->block[1][512], 9);
	image_free(image);
	close_journal();
}

/* The first attempt has changed block 0 in memory only: the second one writes it. */
static void log_is_live_once_block_0_is_written(void)
{
	NVM(.new = true);
	for (u32 i = 0; i < 2; i++) {
		fail_next_write();
		assert_int_equal(zj_make_live(fx.zj), -EIO);
		assert_false(fx.zj->live);
	}
	assert_int_equal(zj_make_live(fx.zj), 0);
	assert_true(fx.zj->live);
	/* The device has lost a write, of whatever it was. */
	zj_journal_abort(fx.journal, -EIO);
	close_aborted();
}

static void log_is_not_live_without_its_memory(void)
{
	NVM(.new = true);
	kl_nvm.gone = true;
	assert_int_equal(zj_make_live(fx.zj), -ENODEV);
	assert_false(fx.zj->live);
	kl_nvm.gone = false;
	change(0, BLOCK, 3);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

CORE_TESTS(nvm,
	CORE_TEST(a_transaction_byte_by_byte),
	CORE_TEST(only_changed_lines_are_logged),
	CORE_TEST(whole_blocks_if_asked),
	CORE_TEST(changed_to_and_fro),
	CORE_TEST(a_buffer_is_logged_whole_first),
	CORE_TEST(dirty_without_us_is_logged_whole),
	CORE_TEST(a_revoked_block_is_logged_whole),
	CORE_TEST(a_new_block_is_logged_whole),
	CORE_TEST(a_buffer_that_was_read_is_known),
	CORE_TEST(lines_over_a_frozen_image),
	CORE_TEST(lines_of_a_range),
	CORE_TEST(told_lines_are_logged_without_a_copy),
	CORE_TEST(what_is_not_told_is_not_logged),
	CORE_TEST(the_first_image_is_whole_even_if_told),
	CORE_TEST(members_tell_of_one_image),
	CORE_TEST(plain_access_makes_it_unknown),
	CORE_TEST(told_after_a_plain_dirty),
	CORE_TEST(told_lines_over_a_frozen_image),
	CORE_TEST(told_parts_of_one_buffer),
	CORE_TEST(a_new_life_is_whole_even_if_told),
	CORE_TEST(dirty_without_us_is_whole_even_if_told),
	CORE_TEST(a_trigger_does_not_tell),
	CORE_TEST(the_check_finds_what_was_not_told),
	CORE_TEST(other_logs_take_ranges_for_blocks),
	CORE_TEST(many_records_fill_many_txninfos),
	CORE_TEST(txninfo_max_bounds_a_transaction),
	CORE_TEST(revokes_fill_a_txninfo_too),
	CORE_TEST(entries_that_fill_a_txninfo),
	CORE_TEST(entries_of_all_kinds_in_one_txninfo),
	CORE_TEST(promises_do_not_fill_a_txninfo),
	CORE_TEST(lines_keep_the_oldest_image_in_the_log),
	CORE_TEST(parts_between_the_oldest_and_the_newest_go),
	CORE_TEST(a_hot_block_does_not_keep_s_back),
	CORE_TEST(only_what_is_old_is_logged_whole_for_the_trim),
	CORE_TEST(a_line_that_is_told_again_takes_no_lock),
	CORE_TEST(bytes_are_counted_in_their_lane),
	CORE_TEST(a_full_txninfo_is_counted_once),
	CORE_TEST(chains_begin_anew),
	CORE_TEST(clean_that_cannot_be_written_keeps_the_mark),
	CORE_TEST(a_mount_puts_lines_over_what_is_home),
	CORE_TEST(what_is_old_goes_home),
	CORE_TEST(an_fsync_does_no_device_io),
	CORE_TEST(round_and_round),
	CORE_TEST(a_lane_rests_for_very_long),
	CORE_TEST(trim_leaves_a_newer_tail),
	CORE_TEST(every_size_fits_its_promise),
	CORE_TEST(the_wrong_memory_is_refused),
	CORE_TEST(tails_of_an_earlier_life_are_gone),
	CORE_TEST(a_chunk_may_end_with_its_segment),
	CORE_TEST(a_live_log_needs_its_memory),
	CORE_TEST(a_clean_journal_is_stocks_again),
	CORE_TEST(damage_is_refused),
	CORE_TEST(lines_that_cannot_be_read_are_refused),
	CORE_TEST(lines_that_nobody_needs_may_be_lost),
	CORE_TEST(hostile_memory),
	CORE_TEST(overlapping_chunks_cost_no_more_than_the_memory),
	CORE_TEST(killed_recoveries_of_memory_end),
	CORE_TEST(unbound_while_mounted),
	CORE_TEST(a_commit_finds_the_memory_gone),
	CORE_TEST(an_error_in_the_memory_aborts),
	CORE_TEST(only_memory_with_queues_is_flushed),
	CORE_TEST(a_flush_that_fails_aborts),
	CORE_TEST(a_trim_whose_flush_fails_aborts),
	CORE_TEST(new_log_does_not_outrun_a_clean_block_0),
	CORE_TEST(power_fails_at_any_store),
	CORE_TEST(power_fails_with_told_lines),
	CORE_TEST(power_fails_with_queues),
	CORE_TEST(power_fails_with_small_txninfos),
	CORE_TEST(power_fails_with_whole_blocks),
	CORE_TEST(memory_that_is_gone_before_recovery),
	CORE_TEST(memory_does_not_go_away_during_recovery),
	CORE_TEST(tail_that_is_shown_meanwhile_stays),
	CORE_TEST(all_of_a_run_is_written),
	CORE_TEST(super_block_is_logged_with_what_others_have_changed),
	CORE_TEST(log_is_live_once_block_0_is_written),
	CORE_TEST(log_is_not_live_without_its_memory),
);
