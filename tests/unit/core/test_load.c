// SPDX-License-Identifier: GPL-2.0-only
/* load.c and journal.c: recovery at mount, what is refused there. */
#include "format/codec_jbd2.h"
#include "fixture.h"

static const struct setup two = { .lanes = 2, .journal = 2048, .new = true };

/* A disk after a power cut: one transaction of lane 1 that is committed, not home. */
static struct image *crashed(u8 val)
{
	struct image *image;

	OPEN();
	change(1, BLOCK, val);
	commit(1);
	image = cut_power();
	assert_true(image_is_live(image));
	close_journal();
	return image;
}

static void mount_recovers(void)
{
	struct image *image = crashed(5);
	struct buffer_head *bh;
	u64 generation;

	make_disk_of(&two, image);
	generation = ((const struct zj_log_super *)
		      fx.disk->seen[jblock(1)])->generation;
	/* ext4 has read it before: it must see the change in memory (E23). */
	bh = buffer(BLOCK);
	assert_int_equal(bh->b_data[0], 0);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(bh->b_data[0], 5);
	brelse(bh);
	assert_int_equal(home_val(BLOCK), 5);
	assert_int_equal(fx.zj->recovered.transactions, 1);
	assert_int_equal(fx.zj->recovered.replayed, 1);
	assert_true(said("recovered 1 transactions"));
	assert_true(said("recovery: log: 1 transactions"));
	assert_false(complained("recovery"));
	assert_false(said("% done"));
	assert_int_not_equal(((const struct zj_log_super *)
			      fx.disk->seen[jblock(1)])->generation, generation);
	/* One write empties the log: the checkpoint stamp is left alone. */
	assert_int_equal(writes_of(jblock(ZJ_BLOCK_CKPT), 0) +
			 writes_of(jblock(ZJ_BLOCK_CKPT + 1), 0), 0);
	/* Clean now, durably: home first. */
	image_free(image);
	image = cut_power();
	assert_false(image_is_live(image));
	assert_int_equal(image_val(image, BLOCK), 5);
	assert_true(written(BLOCK, 0) < written(jblock(1), 0));
	assert_true(written(jblock(1), 0) < written(jblock(0), 0));
	image_free(image);
	change(0, BLOCK, 6);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 6);
	close_journal();
}

/* An error of before stays for those who have yet to see it, and is not one of recovery's. */
static void older_error_of_the_device_stays(void)
{
	struct image *image = crashed(5);

	make_disk_of(&two, image);
	fx.disk->bdev.bd_mapping->wb_err = 3;
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(fx.disk->bdev.bd_mapping->wb_err, 3);
	image_free(image);
	close_journal();
}

/*
 * Also when it is the last step that had no memory: block 0, which is not written then, is
 * still in memory, as while another program has the device open.
 */
static void a_mount_without_memory_can_be_tried_again(void)
{
	static const struct setup logs[] = {
		{ .lanes = 2, .journal = 2048 },
		{ .lanes = 1, .journal = 2048, .jbd2 = true },
		{ .lanes = 1, .journal = 2048, .jbd2 = true, .external = true },
	};

	for (u32 i = 0; i < ARRAY_SIZE(logs); i++) {
		struct setup again = logs[i];
		struct image *image;
		int nr = 0, failed = 0;

		open_journal(&logs[i]);
		change(0, BLOCK, 5);
		commit(0);
		image = cut_power();
		close_journal();
		again.new = true;
		do {
			make_disk_of(&again, image);
			zj_fail_alloc = ++nr;
			failed += !!mount_journal();
			assert_false(said("pieces"));
			if (!fx.journal)
				assert_int_equal(mount_journal(), 0);
			assert_int_equal(home_val(BLOCK), 5);
			assert_int_equal(unmount_journal(), 0);
			discard_disk();
		} while (!zj_fail_alloc);
		zj_fail_alloc = 0;
		assert_true(failed > 0);
		image_free(image);
	}
}

static void six_seconds(struct buffer_head *bh)
{
	schedule_timeout_uninterruptible(6 * HZ);
}

static void recovery_that_takes_long_says_how_far_it_is(void)
{
	struct image *image;

	OPEN();
	change(0, BLOCK, 5);
	change(1, BLOCK + 1, 6);
	commit(0);
	commit(1);
	image = cut_power();
	close_journal();
	make_disk_of(&two, image);
	fx.on_dirty = six_seconds;
	assert_int_equal(mount_journal(), 0);
	fx.on_dirty = NULL;
	assert_true(said("recovery: writing blocks home, 50 % done"));
	assert_false(said("recovery: reading the log"));
	image_free(image);
	close_journal();
}

static void damaged_log_is_refused_and_nothing_is_written(void)
{
	struct image *image = crashed(5);
	u8 bad[DISK_BLOCK];

	make_disk_of(&two, image);
	memcpy(bad, fx.disk->seen[jblock(1)], DISK_BLOCK);
	bad[9] ^= 1;
	disk_set(fx.disk, jblock(1), bad);
	assert_int_equal(mount_journal(), -EUCLEAN);
	assert_true(complained("damaged log"));
	assert_true(complained("the log is kept"));
	assert_int_equal(now(), 0);
	image_free(image);
	discard_disk();
}

static void recovery_on_a_read_only_device_is_refused(void)
{
	struct image *image = crashed(5);

	make_disk_of(&two, image);
	fx.read_only = true;
	assert_int_equal(mount_journal(), -EROFS);
	assert_true(said("writable"));
	assert_int_equal(now(), 0);
	image_free(image);
	discard_disk();
}

static void recovery_that_cannot_write_keeps_the_log(void)
{
	struct image *image = crashed(5), *after;

	make_disk_of(&two, image);
	fail_next_write();
	assert_int_equal(mount_journal(), -EIO);
	after = keep_all();
	assert_true(image_is_live(after));
	assert_int_equal(recover_image(after), 0);
	assert_int_equal(image_val(after, BLOCK), 5);
	image_free(after);
	image_free(image);
	discard_disk();
}

/* Before recovery's second block another task syncs the device, and gets the error. */
static void sync_that_fails(struct buffer_head *bh)
{
	if (bh->b_blocknr != BLOCK + 1)
		return;
	fail_next_write();
	assert_int_equal(sync_blockdev(bh->b_bdev), -EIO);
}

static void write_back_that_fails_elsewhere_keeps_the_log(void)
{
	struct image *image;

	OPEN();
	change(1, BLOCK, 5);
	change(1, BLOCK + 1, 6);
	commit(1);
	image = cut_power();
	close_journal();
	make_disk_of(&two, image);
	image_free(image);
	fx.on_dirty = sync_that_fails;
	assert_int_equal(mount_journal(), -EIO);
	fx.on_dirty = NULL;
	image = cut_power();
	assert_true(image_is_live(image));
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 5);
	assert_int_equal(image_val(image, BLOCK + 1), 6);
	image_free(image);
	discard_disk();
}

static void log_of_four_lanes_is_recovered_by_one(void)
{
	struct image *image;

	OPEN(.lanes = 4);
	for (u32 i = 0; i < 4; i++) {
		change(i, BLOCK + i, 1 + i);
		commit(i);
	}
	change(0, BLOCK + 3, 9);
	commit(0);
	image = cut_power();
	close_journal();
	make_disk_of(&(struct setup){ .lanes = 1, .journal = 2048 }, image);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(fx.zj->nr_lanes, 1);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(home_val(BLOCK + i), 1 + i);
	assert_int_equal(home_val(BLOCK + 3), 9);
	image_free(image);
	close_journal();
}

static void set_super(u32 start, u32 incompat)
{
	struct zj_jbd2_super sb;

	memcpy(&sb, fx.disk->seen[jblock(0)], sizeof(sb));
	sb.s_start = cpu_to_be32(start);
	sb.s_feature_incompat |= cpu_to_be32(incompat);
	sb.s_checksum = zj_jbd2_super_csum(&sb);
	disk_set(fx.disk, jblock(0), &sb);
}

/* Puts a transaction of stock's format on the disk, which sets BLOCK to @val. */
static void put_stock_log(u32 start, u8 val, bool commit)
{
	struct zj_jbd2_image tag = { .block = BLOCK };
	u8 block[DISK_BLOCK], image[DISK_BLOCK];
	struct zj_jbd2_geo log;

	set_super(start, 0);
	zj_jbd2_geo_of((const void *)fx.disk->seen[jblock(0)], &log);
	memset(image, val, sizeof(image));
	memset(block, 0, sizeof(block));
	tag.csum = zj_jbd2_image_csum(&log, 7, image);
	zj_jbd2_put_header(block, ZJ_JBD2_DESCRIPTOR, 7);
	zj_jbd2_put_tag(&log, block, 0, true, &tag);
	zj_jbd2_set_csum(&log, block);
	disk_set(fx.disk, jblock(start), block);
	disk_set(fx.disk, jblock(zj_jbd2_step(&log, start, 1)), image);
	if (!commit)
		return;
	memset(block, 0, sizeof(block));
	zj_jbd2_put_commit(&log, block, 7, 1000, 0);
	disk_set(fx.disk, jblock(zj_jbd2_step(&log, start, 2)), block);
}

static void log_of_stock_is_recovered(void)
{
	const struct zj_jbd2_super *sb;
	struct buffer_head *bh;
	struct image *image;

	make_disk(&two);
	/* Over the end of the ring. */
	put_stock_log(two.journal - 1, 5, true);
	bh = buffer(BLOCK);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(bh->b_data[0], 5);
	brelse(bh);
	assert_int_equal(fx.zj->recovered.transactions, 1);
	image = cut_power();
	assert_false(image_is_live(image));
	assert_int_equal(image_val(image, BLOCK), 5);
	assert_true(written(BLOCK, 0) < written(jblock(0), 0));
	sb = (const void *)image->block[jblock(0)];
	/* Blocks of transaction 8 may follow, although it has no commit block. */
	assert_int_equal(be32_to_cpu(sb->s_sequence), 9);
	image_free(image);
	change(0, BLOCK, 6);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 6);
	close_journal();
}

static void log_of_stock_without_commit_is_empty(void)
{
	make_disk(&two);
	put_stock_log(1, 5, false);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(home_val(BLOCK), 0);
	assert_int_equal(fx.zj->recovered.discarded, 1);
	close_journal();
}

static void damaged_log_of_stock_is_refused(void)
{
	u8 bad[DISK_BLOCK];

	make_disk(&two);
	put_stock_log(1, 5, true);
	memset(bad, 6, sizeof(bad));
	disk_set(fx.disk, jblock(2), bad);
	assert_int_equal(mount_journal(), -EUCLEAN);
	assert_true(said("image of block 8 in journal block 2: wrong checksum"));
	assert_int_equal(now(), 0);
	discard_disk();
	make_disk(&two);
	set_super(two.journal, 0);
	assert_int_equal(mount_journal(), -EUCLEAN);
	assert_true(said("it starts at block"));
	discard_disk();
}

/* Blocks of the area that the replay below has got in its passes. */
static u32 fast_scanned, fast_replayed;
static int fast_scan_result, fast_replay_result;

/* A fast commit of one block, which changes another block, without the journal. */
static int replay_fast_commit(journal_t *journal, struct buffer_head *bh,
			      enum passtype pass, int off, tid_t tid)
{
	struct buffer_head *home;

	assert_ptr_equal(journal, fx.journal);
	assert_int_equal(bh->b_size, DISK_BLOCK);
	assert_int_equal(tid, 8);
	if (pass == PASS_SCAN) {
		assert_int_equal(off, fast_scanned++);
		assert_int_equal(fast_replayed, 0);
		return off ? fast_scan_result : JBD2_FC_REPLAY_CONTINUE;
	}
	assert_int_equal(pass, PASS_REPLAY);
	assert_int_equal(off, fast_replayed++);
	/* The transaction before it is home. */
	assert_int_equal(home_val(BLOCK), 5);
	if (off)
		return fast_replay_result;
	assert_int_equal(bh->b_data[DISK_BLOCK - 1], 77);
	home = buffer(BLOCK + 1);
	memset(home->b_data, 6, DISK_BLOCK);
	mark_buffer_dirty(home);
	brelse(home);
	return JBD2_FC_REPLAY_CONTINUE;
}

/* A log of stock's: transaction 7, and after it a fast commit. */
static void put_fast_commit(void)
{
	const struct { __le16 tag, len; __le32 features, tid; } head = {
		cpu_to_le16(9), cpu_to_le16(8), 0, cpu_to_le32(8),
	};
	u8 block[DISK_BLOCK] = { };

	make_disk(&two);
	put_stock_log(1, 5, true);
	set_super(1, ZJ_JBD2_INCOMPAT_FAST_COMMIT);
	memcpy(block, &head, sizeof(head));
	block[DISK_BLOCK - 1] = 77;
	disk_set(fx.disk, jblock(two.journal - ZJ_JBD2_FC_BLOCKS + 1), block);
	fast_scanned = fast_replayed = 0;
	fast_scan_result = fast_replay_result = JBD2_FC_REPLAY_STOP;
}

static void fast_commits_of_stock_are_replayed(void)
{
	const struct zj_jbd2_super *sb;
	struct image *image;

	put_fast_commit();
	fx.fc_replay = replay_fast_commit;
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(fast_scanned, 2);
	assert_int_equal(fast_replayed, 2);
	assert_int_equal(fx.zj->recovered.fast_blocks, 1);
	assert_true(said("1 blocks of fast commits"));
	/* They are durable before block 0 says that the log is empty. */
	image = cut_power();
	assert_false(image_is_live(image));
	assert_int_equal(image_val(image, BLOCK + 1), 6);
	assert_true(written(BLOCK + 1, 0) < written(jblock(0), 0));
	sb = (const void *)image->block[jblock(0)];
	assert_int_equal(sb->s_start, 0);
	/* Above the number of the fast commits, which are leftovers now. */
	assert_true(be32_to_cpu(sb->s_sequence) > 8);
	image_free(image);
	close_journal();
}

static void first_fast_commit_is_not_whole(void)
{
	put_fast_commit();
	fx.fc_replay = replay_fast_commit;
	fast_scan_result = -ECANCELED;
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(fast_replayed, 0);
	assert_int_equal(home_val(BLOCK), 5);
	assert_true(said("first fast commit is not whole"));
	close_journal();
}

/* The log stays, so that the next mount can try again. */
static void fast_commit_that_cannot_be_replayed(void)
{
	put_fast_commit();
	fx.fc_replay = replay_fast_commit;
	fast_scan_result = -EOPNOTSUPP;
	assert_int_equal(mount_journal(), -EOPNOTSUPP);
	assert_int_equal(now(), 0);
	discard_disk();
	put_fast_commit();
	fx.fc_replay = replay_fast_commit;
	fast_replay_result = -ECANCELED;
	assert_int_equal(mount_journal(), -ECANCELED);
	assert_true(said("the log is kept"));
	assert_int_equal(writes_of(jblock(0), 0), 0);
	discard_disk();
}

static void fast_commits_without_ext4_are_refused(void)
{
	put_fast_commit();
	assert_int_equal(mount_journal(), -EOPNOTSUPP);
	assert_true(said("fast commits"));
	assert_true(said("mount it once"));
	assert_int_equal(now(), 0);
	discard_disk();
}

static journal_t *init_only(void)
{
	journal_t *journal = zj_journal_init_inode(&fx.kit.journal);

	assert_false(IS_ERR(journal));
	journal->j_flags |= JBD2_BARRIER;
	return journal;
}

static void log_of_stock_is_wiped_when_ext4_says_so(void)
{
	journal_t *journal;

	make_disk(&two);
	set_super(1, 0);
	journal = init_only();
	assert_int_equal(zj_journal_wipe(journal, 0), 0);
	/* For this mount it is, though the device is read-only. */
	assert_int_equal(journal->j_superblock->s_start, 0);
	assert_int_equal(now(), 0);
	assert_int_equal(zj_journal_destroy(journal), 0);
	buf_reclaim(fx.disk, jblock(0));
	journal = init_only();
	assert_int_equal(zj_journal_wipe(journal, 1), 0);
	assert_int_equal(writes_of(jblock(0), 0), 1);
	assert_int_equal(zj_journal_destroy(journal), 0);
	assert_int_equal(mount_journal(), 0);
	close_journal();
}

static void live_lanes_are_never_wiped(void)
{
	struct image *image = crashed(5);
	journal_t *journal;

	make_disk_of(&two, image);
	journal = init_only();
	assert_int_equal(zj_journal_wipe(journal, 1), 0);
	assert_int_equal(now(), 0);
	assert_true(zj_journal_is_live(journal));
	zj_journal_destroy(journal);
	image_free(image);
	discard_disk();
}

static void hole_in_the_journal_inode_is_refused(void)
{
	make_disk(&(struct setup){ .lanes = 1, .journal = 1024, .hole = 700 });
	assert_int_equal(mount_journal(), -EUCLEAN);
	assert_true(said("hole at block 700"));
	assert_int_equal(now(), 0);
	discard_disk();
}

static int no_map(journal_t *journal, sector_t *block)
{
	return -EIO;
}

static void error_of_the_mapping_is_passed_on(void)
{
	journal_t *journal;

	make_disk(&two);
	journal = init_only();
	journal->j_bmap = no_map;
	assert_int_equal(zj_journal_load(journal), -EIO);
	assert_int_equal(zj_journal_destroy(journal), 0);
	discard_disk();
}

static u64 nowhere(const struct inode *inode, u64 block)
{
	return 0;
}

static void journal_inode_without_blocks_is_refused(void)
{
	make_disk(&two);
	fx.kit.journal.map = nowhere;
	assert_int_equal(mount_journal(), -EINVAL);
	/* Block 0 of the device is not looked at instead. */
	assert_int_equal(fx.messages[0], 0);
	discard_disk();
}

/* Lets each allocation fail in turn; nothing may be left behind. */
static void out_of_memory(const struct setup *setup)
{
	u32 n = 0;
	int err;

	do {
		make_disk(setup);
		zj_fail_alloc = ++n;
		err = mount_journal();
		if (zj_fail_alloc) {
			assert_int_equal(err, 0);
			assert_int_equal(unmount_journal(), 0);
		} else {
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(now(), 0);
		}
		discard_disk();
	} while (!zj_fail_alloc);
	zj_fail_alloc = 0;
	assert_true(n > 4);
}

static void load_without_memory_fails_cleanly(void)
{
	out_of_memory(&two);
	out_of_memory(&(const struct setup){ .lanes = 1, .journal = 2048, .jbd2 = true,
					     .pipeline = true });
	out_of_memory(&(const struct setup){ .lanes = 2, .journal = 400, .nvm = 1 << 20 });
	out_of_memory(&(const struct setup){ .lanes = 2, .journal = 2048, .external = true });
}

/* The journal never logs itself: replay would write over what it reads. */
static void image_of_the_journal_itself_is_refused(void)
{
	struct image *image;

	OPEN();
	/* It is written home as well. */
	fx.disk->log_blocks = 0;
	change(0, jblock(700), 5);
	commit(0);
	image = cut_power();
	close_journal();
	make_disk_of(&two, image);
	assert_int_equal(mount_journal(), -EUCLEAN);
	assert_true(said("which is the journal's own block 700"));
	image_free(image);
	discard_disk();
}

static u64 map_around(const struct inode *inode, u64 block)
{
	return HOME_BLOCKS + block + (block >= 100 ? 50 : 0);
}

/* Makes the journal shorter than its inode, of which a test uses some blocks otherwise. */
static void shorten(u32 blocks)
{
	struct zj_jbd2_super *sb = malloc(DISK_BLOCK);

	memcpy(sb, fx.disk->seen[jblock(0)], DISK_BLOCK);
	sb->s_maxlen = cpu_to_be32(blocks);
	sb->s_checksum = zj_jbd2_super_csum(sb);
	disk_set(fx.disk, jblock(0), sb);
	free(sb);
}

/* There are no more requests than the journal has pieces. */
static void journal_blocks_are_read_together(void)
{
	u8 *buf = malloc(8 * DISK_BLOCK), val[DISK_BLOCK];
	u32 before;

	make_disk(&(struct setup){ .lanes = 2, .journal = 2048 });
	fx.kit.journal.map = map_around;
	shorten(1900);
	for (u32 b = 96; b < 104; b++) {
		memset(val, b, DISK_BLOCK);
		disk_set(fx.disk, map_around(NULL, b), val);
	}
	assert_int_equal(mount_journal(), 0);
	before = fx.disk->reads;
	assert_int_equal(zj_dev_rw(fx.zj, 96, 8, buf, REQ_OP_READ), 0);
	assert_int_equal(fx.disk->reads - before, 2);
	for (u32 i = 0; i < 8 * DISK_BLOCK; i++)
		assert_int_equal(buf[i], 96 + i / DISK_BLOCK);
	before = fx.disk->reads;
	assert_int_equal(zj_dev_rw(fx.zj, 101, 3, buf, REQ_OP_READ), 0);
	assert_int_equal(fx.disk->reads - before, 1);
	free(buf);
	close_journal();
}

static u64 map_every_third(const struct inode *inode, u64 block)
{
	return HOME_BLOCKS + block + block / 3;
}

/*
 * Whichever read fails once: the mount fails, or has everything. The journal is in small
 * pieces: of what is asked for at once a part may come.
 */
static void reads_that_fail_lose_nothing(void)
{
	const u32 nr = 60;

	for (u32 jbd2 = 0; jbd2 < 2; jbd2++) {
		struct setup setup = { .lanes = jbd2 ? 1 : 2, .journal = 2048, .jbd2 = jbd2 };
		struct image *image;
		u32 mounted = 0, n = 1;
		bool all;

		make_disk(&setup);
		fx.kit.journal.map = map_every_third;
		shorten(1500);
		assert_int_equal(mount_journal(), 0);
		for (u32 i = 0; i < nr; i++) {
			change(i % setup.lanes, BLOCK + i, 1 + i);
			commit(i % setup.lanes);
		}
		image = cut_power();
		close_journal();
		do {
			make_disk_of(&setup, image);
			fx.kit.journal.map = map_every_third;
			fx.disk->fail_read = n++;
			if (mount_journal()) {
				all = false;
				discard_disk();
				continue;
			}
			mounted++;
			all = fx.disk->reads < fx.disk->fail_read;
			for (u32 i = 0; i < nr; i++)
				assert_int_equal(home_val(BLOCK + i), 1 + i);
			close_journal();
		} while (!all);
		assert_true(mounted > 1 && n > 20);
		image_free(image);
	}
}

/* The next read with the same struct has a result of its own. */
static void error_of_a_read_is_reported_once(void)
{
	struct zj_dev_reads reads = { };
	void *buf;

	OPEN();
	buf = kmalloc(2 * DISK_BLOCK, GFP_KERNEL);
	assert_int_equal(zj_dev_read_end(&reads), 0);
	fx.disk->fail_read = fx.disk->reads + 1;
	zj_dev_read_start(fx.zj, &reads, 1, 2, buf);
	assert_int_equal(zj_dev_read_end(&reads), -EIO);
	zj_dev_read_start(fx.zj, &reads, 1, 2, buf);
	assert_int_equal(zj_dev_read_end(&reads), 0);
	assert_int_equal(zj_dev_read_end(&reads), 0);
	kfree(buf);
	close_journal();
}

CORE_TESTS(load,
	CORE_TEST(reads_that_fail_lose_nothing),
	CORE_TEST(image_of_the_journal_itself_is_refused),
	CORE_TEST(journal_blocks_are_read_together),
	CORE_TEST(mount_recovers),
	CORE_TEST(older_error_of_the_device_stays),
	CORE_TEST(a_mount_without_memory_can_be_tried_again),
	CORE_TEST(recovery_that_takes_long_says_how_far_it_is),
	CORE_TEST(damaged_log_is_refused_and_nothing_is_written),
	CORE_TEST(recovery_on_a_read_only_device_is_refused),
	CORE_TEST(recovery_that_cannot_write_keeps_the_log),
	CORE_TEST(write_back_that_fails_elsewhere_keeps_the_log),
	CORE_TEST(log_of_four_lanes_is_recovered_by_one),
	CORE_TEST(log_of_stock_is_recovered),
	CORE_TEST(log_of_stock_without_commit_is_empty),
	CORE_TEST(damaged_log_of_stock_is_refused),
	CORE_TEST(fast_commits_of_stock_are_replayed),
	CORE_TEST(first_fast_commit_is_not_whole),
	CORE_TEST(fast_commit_that_cannot_be_replayed),
	CORE_TEST(fast_commits_without_ext4_are_refused),
	CORE_TEST(log_of_stock_is_wiped_when_ext4_says_so),
	CORE_TEST(live_lanes_are_never_wiped),
	CORE_TEST(hole_in_the_journal_inode_is_refused),
	CORE_TEST(error_of_the_mapping_is_passed_on),
	CORE_TEST(journal_inode_without_blocks_is_refused),
	CORE_TEST(load_without_memory_fails_cleanly),
	CORE_TEST(error_of_a_read_is_reported_once),
);
