// SPDX-License-Identifier: GPL-2.0-only
/*
 * log_nvm.c: what stands in memory, line by line, and what it takes to write it. What
 * the file system tells of is in test_nvm_ranges.c.
 */
#include "nvmview.h"

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
	NVM(.log_blocks = true);
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
	/* The buffer looks as if it had been read, which the journal cannot know. */
	change_line(0, BLOCK, 3, 8);
	assert_int_equal(logged(0, BLOCK), ALL);
	change_line(0, BLOCK, 3, 9);
	assert_int_equal(logged(0, BLOCK), 1 << 3);
	/* It is home and reclaimed, so recovery can restore what the buffer holds. */
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
		assert_int_equal(revoke_block(h, BLOCK), 0);
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

/* A block that was read is known to recovery, so no whole image is needed. */
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
	/* Nothing of it counts when the block is allocated again. */
	new_life(BLOCK, true);
	close_journal();
}

/* The second owner's lines lie over the first one's image, sealed, not logged. */
static void lines_over_a_sealed_image(void)
{
	struct image *image;
	handle_t *h;

	NVM();
	change(0, BLOCK, 7);
	seal(0);
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

/* Without the option a full TxnInfo is no reason to log blocks twice. */
static void full_txninfos_leave_a_transaction_open(void)
{
	const u32 per_info = (ZJ_TXNINFO_BYTES - sizeof(struct zj_txninfo)) /
			     sizeof(struct zj_nvm_record);
	const u32 nr = 2 * per_info + 1;
	struct image *image;
	struct zj_txn *txn;
	handle_t *h;

	NVM(.lanes = 1, .cpus = 1, .nvm = 8 << 20);
	h = start(0, 1);
	txn = running(0);
	stop(h);
	for (u32 i = 0; i < nr; i++) {
		h = start(0, 2);
		assert_ptr_equal(h->h_transaction, &txn->public);
		put(h, BLOCK + i, i);
		stop(h);
	}
	commit(0);
	assert_in_range(txn->nr_chunks, 3, 4);
	assert_int_equal(lane(0)->stats.nvm_full, 0);
	zj_txn_put(txn);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(image_val(image, BLOCK + i), i % 256);
	image_free(image);
	close_journal();
}

/* With the option it closes the transaction. */
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
		assert_int_equal(revoke_block(h, BLOCK + i), 0);
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

/* It is full with one revoke more than there is room for, beside the next image. */
static void last_revoke_of_a_txninfo(void)
{
	const u32 most = (256 - sizeof(struct zj_txninfo) - 2 * sizeof(struct zj_nvm_record)) / 8;
	handle_t *h;
	tid_t tid;

	for (u32 nr = most; nr <= most + 1; nr++) {
		NVM(.info_max = 256);
		h = start_more(0, 4, 0, nr);
		tid = h->h_transaction->t_tid;
		for (u32 i = 0; i < nr; i++)
			assert_int_equal(revoke_block(h, BLOCK + i), 0);
		put(h, BLOCK + nr, 1);
		stop(h);
		h = start(0, 1);
		assert_int_equal(h->h_transaction->t_tid != tid, nr > most);
		stop(h);
		close_journal();
	}
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
			assert_int_equal(revoke_block(h, BLOCK + i), 0);
		txn = running(0);
		stop(h);
		commit(0);
		assert_int_equal(txn->nr_chunks, nr - 15);
		assert_int_equal(newest(0).nr_revokes, nr == 16 ? 16 : 1);
		zj_txn_put(txn);
		close_journal();
	}
	/* The same for dependencies, on transactions that other lanes have sealed. */
	for (u32 nr = 16; nr <= 17; nr++) {
		NVM(.info_max = 256, .lanes = 18, .cpus = 18, .nvm = 16 << 20);
		for (u32 i = 1; i <= nr; i++) {
			change(i, BLOCK + i, 1);
			seal(i);
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

/* With all kinds of entries side by side, each is found in its place. */
static void entries_of_all_kinds_in_one_txninfo(void)
{
	const __le64 *entry;
	struct zj_nvm_chunk c;
	u64 before;
	handle_t *h;

	NVM();
	change(1, BLOCK, 1);
	seal(1);
	before = fx.zj->stamp;
	h = start_more(0, 4, 0, 2);
	get_access(h, BLOCK);
	put(h, BLOCK + 1, 7);
	put(h, BLOCK + 2, 8);
	assert_int_equal(revoke_block(h, BLOCK + 50), 0);
	assert_int_equal(revoke_block(h, BLOCK + 51), 0);
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

/* A log that is begun again does not point back into the one before. */
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

/* ---- the device is left alone ---- */

static void fsyncs_do_no_device_io(bool no_fua)
{
	u32 before;

	NVM(.lanes = 2, .no_fua = no_fua);
	report_data();
	/* The first commit after a mount flushes, as earlier writes are unknown. */
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

static void an_fsync_does_no_device_io(void)
{
	fsyncs_do_no_device_io(false);
	fsyncs_do_no_device_io(true);
}

/* ---- runs, and the super block ---- */

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

/* ---- memory that a write needs ---- */

static int reclaims;

static void block_may_be_changed(void)
{
	struct zj_part *part = newest_part(BLOCK);

	reclaims++;
	assert_false(part && zj_part_test(part, ZJ_PART_LIVE));
}

/* Handles wait for what is logged from the buffer, and must not wait for memory with it (E17). */
static void a_lanes_first_write_allocates_before_handles_wait(void)
{
	NVM(.lanes = 2);
	change(1, BLOCK, 7);
	assert_null(lane(1)->info);
	sim_reclaim = block_may_be_changed;
	commit(1);
	sim_reclaim = NULL;
	assert_non_null(lane(1)->info);
	assert_true(reclaims > 0);
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
	CORE_TEST(lines_over_a_sealed_image),
	CORE_TEST(many_records_fill_many_txninfos),
	CORE_TEST(full_txninfos_leave_a_transaction_open),
	CORE_TEST(txninfo_max_bounds_a_transaction),
	CORE_TEST(revokes_fill_a_txninfo_too),
	CORE_TEST(last_revoke_of_a_txninfo),
	CORE_TEST(entries_that_fill_a_txninfo),
	CORE_TEST(entries_of_all_kinds_in_one_txninfo),
	CORE_TEST(promises_do_not_fill_a_txninfo),
	CORE_TEST(bytes_are_counted_in_their_lane),
	CORE_TEST(a_full_txninfo_is_counted_once),
	CORE_TEST(chains_begin_anew),
	CORE_TEST(an_fsync_does_no_device_io),
	CORE_TEST(all_of_a_run_is_written),
	CORE_TEST(super_block_is_logged_with_what_others_have_changed),
	CORE_TEST(a_lanes_first_write_allocates_before_handles_wait),
);
