// SPDX-License-Identifier: GPL-2.0-only
/* A journal on a device of its own: what is flushed where (C6), and where its blocks are. */
#include "fixture.h"

#define TWO(...)							\
	OPEN(.lanes = 2, .external = true, ##__VA_ARGS__)
#define TWO_STOCK(...)							\
	OPEN(.lanes = 1, .external = true, .jbd2 = true, ##__VA_ARGS__)

static const struct setup lanes = { .lanes = 2, .journal = 2048, .external = true };
static const struct setup stock = { .lanes = 1, .journal = 2048, .external = true, .jbd2 = true };

/* ---- commits ---- */

/* Commits a change with ordered data in block 500, which the commit writes. */
static void commit_with_data(void)
{
	struct file file;
	handle_t *h;

	file_init(&file);
	fx.data_block = 500;
	h = start(0, 1);
	put(h, BLOCK, 1);
	zj_journal_inode_ranged_write(h, &file.jinode, 0, DISK_BLOCK);
	stop(h);
	commit(0);
	fx.data_block = 0;
}

static void data_is_flushed_on_its_own_device(void)
{
	u32 before, log;

	TWO();
	before = now();
	log = flushes_of(LOG_DEVICE);
	commit_with_data();
	assert_true(unit_flushed_between(FS_DEVICE, written(500, before), record_written(before)));
	/* The record was written with FUA. */
	assert_int_equal(flushes_of(LOG_DEVICE), log);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

static void records_without_fua_are_flushed_on_the_other(void)
{
	u32 before, fs, log;

	TWO(.ext_no_fua = true);
	before = now();
	fs = flushes_of(FS_DEVICE);
	log = flushes_of(LOG_DEVICE);
	commit_with_data();
	assert_true(unit_flushed_between(LOG_DEVICE, record_written(before), now()));
	assert_int_equal(flushes_of(FS_DEVICE), fs + 1);
	assert_int_equal(flushes_of(LOG_DEVICE), log + 1);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

static void survives(struct zj_txn *txn)
{
	assert_int_equal(val_after_crash(BLOCK), 1);
}

/* Commits, and returns how often each device was flushed for that. */
static void count_flushes(const struct setup *setup, u32 *fs, u32 *log)
{
	open_journal(setup);
	/* Before anybody has waited, who would flush what is missing. */
	fx.on_commit = survives;
	*fs = flushes_of(FS_DEVICE);
	*log = flushes_of(LOG_DEVICE);
	commit_with_data();
	*fs = flushes_of(FS_DEVICE) - *fs;
	*log = flushes_of(LOG_DEVICE) - *log;
	assert_int_equal(fx.nr_calls, 3);
	close_journal();
}

/* Whether a device needs flushes, and has FUA, is a question to that device. */
static void each_device_is_asked_for_itself(void)
{
	static const struct {
		struct setup setup;
		u32 fs, log;
	} cases[] = {
		{ { .external = true, .no_cache = true, .no_fua = true }, 0, 0 },
		{ { .external = true, .no_cache = true, .ext_no_fua = true }, 0, 1 },
		{ { .external = true, .ext_no_cache = true, .ext_no_fua = true }, 1, 0 },
		{ { .external = true, .ext_no_cache = true, .no_fua = true }, 1, 0 },
		{ { .external = true, .no_fua = true }, 1, 0 },
		{ { .external = true, .ext_no_fua = true }, 1, 1 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct setup setup = cases[i].setup;
		u32 fs, log;

		setup.lanes = 2;
		setup.journal = 2048;
		count_flushes(&setup, &fs, &log);
		assert_int_equal(fs, cases[i].fs);
		assert_int_equal(log, cases[i].log);
	}
}

static void without_data_the_file_systems_device_is_left_alone(void)
{
	u32 fs;

	TWO(.ext_no_fua = true);
	report_data();
	change(0, BLOCK, 0);
	commit(0);
	fs = flushes_of(FS_DEVICE);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(flushes_of(FS_DEVICE), fs);
	assert_int_equal(val_after_crash(BLOCK), 1);
	/* Data that was written meanwhile is another matter. */
	zj_journal_data_written(fx.journal);
	change(0, BLOCK, 2);
	commit(0);
	assert_int_equal(flushes_of(FS_DEVICE), fs + 1);
	close_journal();
}

static void all_data_in_the_log_means_flushes_of_the_log_only(void)
{
	u32 fs, log;

	TWO(.ext_no_fua = true);
	fx.journal->j_flags |= ZJ_DATA_JOURNALED;
	fs = flushes_of(FS_DEVICE);
	log = flushes_of(LOG_DEVICE);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(flushes_of(FS_DEVICE), fs);
	assert_int_equal(flushes_of(LOG_DEVICE), log + 1);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

/* Log blocks on one device, data on the other: the commit block waits for both. */
static void stocks_commit_block_waits_for_both(void)
{
	u32 before, at, last;

	TWO_STOCK(.ext_no_fua = true);
	before = now();
	commit_with_data();
	/* First there are zeros in its place. */
	at = jblock(fx.zj->ring.head - 1);
	last = written(at, written(at, before) + 1);
	assert_int_equal(writes_of(at, before), 2);
	assert_true(unit_flushed_between(FS_DEVICE, written(500, before), last));
	assert_true(unit_flushed_between(LOG_DEVICE, record_written(before), last));
	assert_true(unit_flushed_between(LOG_DEVICE, last, now()));
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

/* In stock's format FUA of data pays even if the log blocks are flushed. */
static void fua_of_data_pays_in_any_case(void)
{
	TWO_STOCK();
	report_data();
	RECONFIGURE(.log_fua = false);
	zj_journal_flush_data(fx.journal);
	assert_true(zj_journal_wants_fua(fx.journal, 0));
	close_journal();
}

static void a_failed_flush_of_either_device_aborts(void)
{
	for (u32 nth = 1; nth <= 2; nth++) {
		TWO(.ext_no_fua = true);
		/* The data's first, then the record's. */
		fx.disk->fail_flush = fx.disk->flushes + nth;
		change(0, BLOCK, 1);
		seal(0);
		settle();
		assert_true(is_journal_aborted(fx.journal));
		assert_true(complained("a flush of the device's cache failed"));
		close_aborted();
	}
}

/* The data is lost: what the log has of it need not be durable, and that device may be slow. */
static void a_log_is_not_flushed_when_the_data_was_not(void)
{
	u64 log;

	TWO(.ext_no_fua = true);
	log = fx.zj->log_flush.issued;
	fail_next_flush();
	assert_int_equal(zj_data_flush(fx.zj, lane(0), 0, true), -EIO);
	assert_int_equal(fx.zj->log_flush.issued, log);
	close_aborted();
}

/* ---- the tail and block 0 ---- */

static void home_writes_are_flushed_before(u32 block, u32 before)
{
	u32 home = written(BLOCK, before), at = written(block, before);

	assert_true(home < at);
	assert_true(unit_flushed_between(FS_DEVICE, home, at));
}

static void checkpoint_stamp_waits_for_home_writes(void)
{
	u32 before;

	TWO();
	change(0, BLOCK, 1);
	commit(0);
	before = now();
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	home_writes_are_flushed_before(jblock(ZJ_BLOCK_CKPT + fx.zj->ckpt_seq % ZJ_CKPT_SLOTS),
				       before);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

static void stocks_tail_waits_for_home_writes(void)
{
	u32 before;

	TWO_STOCK();
	change(0, BLOCK, 1);
	commit(0);
	before = now();
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	home_writes_are_flushed_before(jblock(0), before);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

static void a_tail_whose_home_flush_fails_aborts(void)
{
	u64 stamp;

	TWO();
	change(0, BLOCK, 1);
	commit(0);
	stamp = stamp_on_disk();
	fail_next_flush();
	assert_int_equal(zj_checkpoint(fx.zj, true), -EIO);
	assert_int_equal(stamp_on_disk(), stamp);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_aborted();
}

/* The file system's device may be what has failed, so that its flush would fail as well. */
static void the_error_of_an_abort_waits_for_no_flush_of_the_other(void)
{
	const struct zj_jbd2_super *sb;
	struct image *image;
	u32 fs;

	TWO();
	fs = flushes_of(FS_DEVICE);
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(flushes_of(FS_DEVICE), fs);
	image = cut_power();
	sb = (const void *)image->block[jblock(0)];
	assert_int_equal((int)be32_to_cpu(sb->s_errno), -EIO);
	image_free(image);
	close_aborted();
}

/* What was brought home without barriers is durable before the log of it goes. */
static void empty_log_waits_for_home_writes(const struct setup *setup)
{
	struct image *image;

	open_journal(setup);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	fx.journal->j_flags |= JBD2_BARRIER;
	assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
	image = cut_power();
	assert_false(image_is_live(image));
	assert_int_equal(image_val(image, BLOCK), 1);
	image_free(image);
	close_journal();
}

/* The same if the log was emptied without barriers, too: before a new one begins. */
static void new_log_waits_for_home_writes(const struct setup *setup)
{
	struct image *image;

	open_journal(setup);
	report_data();
	fx.journal->j_flags &= ~JBD2_BARRIER;
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
	fx.journal->j_flags |= JBD2_BARRIER;
	change(0, BLOCK + 1, 1);
	seal(0);
	settle();
	image = cut_power();
	assert_true(image_is_live(image));
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 1);
	image_free(image);
	close_journal();
}

static void block_0_waits_for_home_writes_without_barriers(void)
{
	empty_log_waits_for_home_writes(&lanes);
	empty_log_waits_for_home_writes(&stock);
	new_log_waits_for_home_writes(&lanes);
	new_log_waits_for_home_writes(&stock);
}

/* Data that an inode has noted, committed without barriers; what builds on it waits. */
static void data_comes_first(const struct setup *setup, u32 log_flushes)
{
	u64 noted = 0;
	u32 fs, log;
	handle_t *h;

	open_journal(setup);
	report_data();
	fx.journal->j_flags &= ~JBD2_BARRIER;
	zj_journal_inode_written(fx.journal, &noted);
	h = start(0, 1);
	put(h, BLOCK, 1);
	zj_txn_take_written(h->h_transaction, noted);
	stop(h);
	commit(0);
	fs = flushes_of(FS_DEVICE);
	log = flushes_of(LOG_DEVICE);
	fx.journal->j_flags |= JBD2_BARRIER;
	change(0, BLOCK, 2);
	seal(0);
	settle();
	assert_int_equal(flushes_of(FS_DEVICE), fs + 1);
	assert_int_equal(flushes_of(LOG_DEVICE), log + log_flushes);
	close_journal();
}

static void data_without_barriers_is_flushed_when_they_are_back(void)
{
	struct setup setup = lanes;

	/* That record. */
	data_comes_first(&setup, 1);
	/* That record, and the next one. */
	setup.ext_no_fua = true;
	data_comes_first(&setup, 2);
	setup.ext_no_cache = true;
	data_comes_first(&setup, 0);
}

/* ---- where its blocks are ---- */

static struct image *crashed(const struct setup *setup, u8 val)
{
	struct image *image;

	open_journal(setup);
	change(0, BLOCK, val);
	commit(0);
	image = cut_power();
	assert_true(image_is_live(image));
	assert_int_equal(image_val(image, BLOCK), 0);
	close_journal();
	return image;
}

/* A log is recovered as it was written, though another format comes next. */
static void recovered_as(const struct setup *written_as, const struct setup *mounted_as)
{
	struct image *image = crashed(written_as, 5);

	make_disk_of(mounted_as, image);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(fx.zj->recovered.transactions, 1);
	assert_int_equal(home_val(BLOCK), 5);
	change(0, BLOCK, 6);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 6);
	image_free(image);
	close_journal();
}

static void formats_follow_each_other(void)
{
	recovered_as(&lanes, &lanes);
	recovered_as(&stock, &stock);
	recovered_as(&lanes, &stock);
	recovered_as(&stock, &lanes);
}

/* Neither in front of the journal's block 0, nor beyond the device's last block. */
static void log_keeps_to_its_place(const struct setup *setup, u32 blocks)
{
	struct setup small = *setup;

	small.journal = blocks;
	make_disk(&small);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(fx.zj->map.blocks, fx.journal->j_total_len);
	for (u32 i = 0; i < 4 * blocks; i++)
		change(0, BLOCK + i % 50, i);
	for (u32 i = 0; i < 2 * blocks / 20; i++) {
		handle_t *h = start(0, 20);

		for (u32 b = 0; b < 20; b++)
			put(h, BLOCK + b, i);
		stop(h);
		commit(0);
	}
	for (u32 b = HOME_BLOCKS - KIT_START; b < HOME_BLOCKS; b++)
		assert_int_equal(writes_of(b, 0), 0);
	/* The last block of the device is used. */
	assert_true(setup->jbd2 == (writes_of(fx.disk->nr - 1, 0) > 0));
	close_journal();
}

static void logs_keep_to_their_place(void)
{
	log_keeps_to_its_place(&stock, 1024);
	log_keeps_to_its_place(&lanes, 1024);
}

/* ---- what is refused ---- */

static void set_word(u32 at, u32 value)
{
	u8 sb[DISK_BLOCK];

	memcpy(sb, fx.disk->seen[jblock(0)], sizeof(sb));
	*(__be32 *)(sb + at) = cpu_to_be32(value);
	((struct zj_jbd2_super *)sb)->s_checksum = zj_jbd2_super_csum((void *)sb);
	disk_set(fx.disk, jblock(0), sb);
}

static void refused(u32 at, u32 value, int err, const char *why)
{
	make_disk(&lanes);
	set_word(at, value);
	assert_int_equal(mount_journal(), err);
	assert_true(complained(why));
	assert_int_equal(now(), 0);
	discard_disk();
}

static void journal_devices_that_do_not_fit_are_refused(void)
{
	refused(offsetof(struct zj_jbd2_super, s_nr_users), 2, -EINVAL, "has 2 file systems");
	refused(offsetof(struct zj_jbd2_super, s_nr_users), 0, -EINVAL, "has 0 file systems");
	refused(offsetof(struct zj_jbd2_super, s_magic), 0, -EINVAL, "not a journal superblock");
	refused(offsetof(struct zj_jbd2_super, s_maxlen), 4000, -EINVAL, "longer than");
}

/* A device that has lost its end. */
static void shorter_device_is_refused(void)
{
	make_disk(&lanes);
	fx.disk->nr -= 100;
	assert_int_equal(mount_journal(), -EUCLEAN);
	assert_true(complained("longer than the device"));
	assert_int_equal(now(), 0);
	fx.disk->nr += 100;
	discard_disk();
}

/* Block 0 would lie behind the end of the device that it tells of itself. */
static void device_that_ends_before_its_journal_is_refused(void)
{
	u32 len = HOME_BLOCKS / 2;

	make_disk(&lanes);
	set_word(offsetof(struct zj_jbd2_super, s_maxlen), len);
	/* What stands there is block 0, which is read as a buffer. */
	fx.disk->log_blocks = 0;
	for (u32 start = len - 1; start <= len + 1; start++) {
		journal_t *journal;

		disk_set(fx.disk, jblock(start - KIT_START), fx.disk->seen[jblock(0)]);
		journal = zj_journal_init_dev(fx.kit.dev, fx.kit.sb.s_bdev, start, len, DISK_BLOCK);
		if (start < len)
			assert_int_equal(zj_journal_destroy(journal), 0);
		else
			assert_ptr_equal(journal, ERR_PTR(-EUCLEAN));
	}
	/* Where there is no block 0, that is what is wrong. */
	assert_ptr_equal(zj_journal_init_dev(fx.kit.dev, fx.kit.sb.s_bdev, len + 2, len,
					     DISK_BLOCK), ERR_PTR(-EINVAL));
	discard_disk();
}

static void memory_and_a_device_exclude_each_other(void)
{
	struct zj_options options = { .lanes = 2, .log = ZJ_LOG_NVM, .nvm_path = "memory" };

	TWO();
	assert_int_equal(zj_journal_configure(fx.journal, &options), -EINVAL);
	assert_true(complained("not on a device of its own"));
	close_journal();
}

static void either_device_may_be_read_only(void)
{
	struct image *image = crashed(&lanes, 5);

	make_disk_of(&lanes, image);
	fx.read_only = true;
	assert_int_equal(mount_journal(), -EROFS);
	assert_int_equal(now(), 0);
	fx.read_only = false;
	image_free(image);
	discard_disk();
}

CORE_TESTS(two_devices,
	CORE_TEST(data_is_flushed_on_its_own_device),
	CORE_TEST(records_without_fua_are_flushed_on_the_other),
	CORE_TEST(each_device_is_asked_for_itself),
	CORE_TEST(without_data_the_file_systems_device_is_left_alone),
	CORE_TEST(all_data_in_the_log_means_flushes_of_the_log_only),
	CORE_TEST(stocks_commit_block_waits_for_both),
	CORE_TEST(fua_of_data_pays_in_any_case),
	CORE_TEST(a_failed_flush_of_either_device_aborts),
	CORE_TEST(a_log_is_not_flushed_when_the_data_was_not),
	CORE_TEST(checkpoint_stamp_waits_for_home_writes),
	CORE_TEST(stocks_tail_waits_for_home_writes),
	CORE_TEST(a_tail_whose_home_flush_fails_aborts),
	CORE_TEST(the_error_of_an_abort_waits_for_no_flush_of_the_other),
	CORE_TEST(block_0_waits_for_home_writes_without_barriers),
	CORE_TEST(data_without_barriers_is_flushed_when_they_are_back),
	CORE_TEST(formats_follow_each_other),
	CORE_TEST(logs_keep_to_their_place),
	CORE_TEST(journal_devices_that_do_not_fit_are_refused),
	CORE_TEST(shorter_device_is_refused),
	CORE_TEST(device_that_ends_before_its_journal_is_refused),
	CORE_TEST(memory_and_a_device_exclude_each_other),
	CORE_TEST(either_device_may_be_read_only),
);
