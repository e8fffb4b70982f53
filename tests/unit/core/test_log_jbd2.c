// SPDX-License-Identifier: GPL-2.0-only
/*
 * log_jbd2.c: what stock's recovery finds in the log, and in what order it came
 * there. The bytes are looked at here, not by the journal's own decoder.
 */
#include <linux/crc32c.h>
#include "jbd2view.h"

/* ---- bytes ---- */

static u32 crc(u32 seed, const u8 *p, u32 len, u32 hole)
{
	u8 copy[DISK_BLOCK];

	memcpy(copy, p, len);
	if (hole < len)
		memset(copy + hole, 0, 4);
	return crc32c(seed, copy, len);
}

static void a_transaction_byte_by_byte(void)
{
	u32 at, seq, seed;
	const u8 *d, *c;
	__be32 be_seq;

	JBD2();
	seed = crc32c(~0U, disk_block(0) + 0x30, 16);
	at = super_start();
	seq = super_sequence();
	assert_int_equal(at, step(RING_FIRST, 3));
	change_many(BLOCK, 2, 3);
	/* Block 0 says where it starts, and nothing that stock does not know. */
	assert_int_equal(super_start(), at);
	assert_int_equal(be(disk_block(0), 0x28),
			 ZJ_JBD2_INCOMPAT_CSUM_V3 | ZJ_JBD2_INCOMPAT_REVOKE);
	d = disk_block(at);
	assert_int_equal(be(d, 0), 0xc03b3998);
	assert_int_equal(be(d, 4), 1);
	assert_int_equal(be(d, 8), seq);
	be_seq = cpu_to_be32(seq);
	/* The first tag, a uuid, the second and last. */
	assert_int_equal(be(d, 12), BLOCK);
	assert_int_equal(be(d, 16), 0);
	assert_int_equal(be(d, 20), 0);
	assert_int_equal(be(d, 24), crc32c(crc32c(seed, &be_seq, 4),
					   disk_block(at + 1), DISK_BLOCK));
	assert_memory_equal(d + 28, disk_block(0) + 0x30, 16);
	assert_int_equal(be(d, 44), BLOCK + 1);
	assert_int_equal(be(d, 48), 2 | 8);
	assert_int_equal(be(d, 56), crc32c(crc32c(seed, &be_seq, 4),
					   disk_block(at + 2), DISK_BLOCK));
	assert_int_equal(be(d, DISK_BLOCK - 4),
			 crc(seed, d, DISK_BLOCK, DISK_BLOCK - 4));
	assert_int_equal(disk_block(at + 1)[0], 3);
	assert_int_equal(disk_block(at + 2)[DISK_BLOCK - 1], 3);
	c = disk_block(at + 3);
	assert_int_equal(be(c, 0), 0xc03b3998);
	assert_int_equal(be(c, 4), 2);
	assert_int_equal(be(c, 8), seq);
	assert_int_equal(c[12] | c[13] | c[14] | c[15], 0);
	assert_int_equal(be(c, 16), crc(seed, c, DISK_BLOCK, 16));
	assert_int_equal(be(c, 20), 0);
	/* Whole seconds. */
	assert_int_equal(be(c, 56), 0);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

static void numbers_are_consecutive(void)
{
	u32 at, seq;

	JBD2();
	at = super_start();
	seq = super_sequence();
	for (u32 i = 0; i < 5; i++) {
		/* A tid is used up without a transaction. */
		zj_txn_free_unused(zj_txn_alloc(lane(0)));
		change(0, BLOCK + i, 1);
		commit(0);
		assert_int_equal(be(disk_block(at), 8), seq + i);
		at = step(at, 3);
	}
	close_journal();
}

static void long_transactions_have_more_descriptors(void)
{
	u32 at;

	JBD2();
	at = super_start();
	change_many(BLOCK, 2 * PER_DESCRIPTOR + 1, 4);
	assert_int_equal(type_at(at), ZJ_JBD2_DESCRIPTOR);
	at = step(at, 1 + PER_DESCRIPTOR);
	assert_int_equal(type_at(at), ZJ_JBD2_DESCRIPTOR);
	at = step(at, 1 + PER_DESCRIPTOR);
	assert_int_equal(type_at(at), ZJ_JBD2_DESCRIPTOR);
	assert_int_equal(be(disk_block(at), 16), ZJ_JBD2_TAG_LAST);
	assert_int_equal(type_at(step(at, 2)), ZJ_JBD2_COMMIT);
	for (u32 i = 0; i < 2 * PER_DESCRIPTOR + 1; i += 20)
		assert_int_equal(val_after_crash(BLOCK + i), 4);
	close_journal();
}

static void magic_numbers_are_escaped(void)
{
	const __be32 magic = cpu_to_be32(ZJ_JBD2_MAGIC);
	const __le32 chunk = cpu_to_le32(ZJ_CHUNK_MAGIC);
	struct buffer_head *bh, *bh2;
	struct image *image;
	handle_t *h;
	u32 at;

	JBD2();
	bh = buffer(BLOCK);
	bh2 = buffer(BLOCK + 1);
	at = super_start();
	h = start(0, 2);
	put(h, BLOCK, 5);
	put(h, BLOCK + 1, 5);
	memcpy(bh->b_data, &magic, 4);
	/* Ours means nothing in this log. */
	memcpy(bh2->b_data, &chunk, 4);
	stop(h);
	commit(0);
	assert_int_equal(be(disk_block(at), 16) & ZJ_JBD2_TAG_ESCAPED, 1);
	assert_int_equal(be(disk_block(at), 48) & ZJ_JBD2_TAG_ESCAPED, 0);
	assert_int_equal(be(disk_block(at + 1), 0), 0);
	assert_memory_equal(disk_block(at + 2), &chunk, 4);
	assert_memory_equal(bh->b_data, &magic, 4);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_memory_equal(image->block[BLOCK], &magic, 4);
	assert_int_equal(image->block[BLOCK][4], 5);
	assert_memory_equal(image->block[BLOCK + 1], &chunk, 4);
	image_free(image);
	brelse(bh);
	brelse(bh2);
	close_journal();
}

/* ---- revokes ---- */

static void revokes_void_older_images_only(void)
{
	handle_t *h;
	u32 at;

	JBD2();
	change_many(BLOCK, 3, 1);
	at = step(super_start(), 5);
	h = start_more(0, 2, 0, 2);
	assert_int_equal(revoke_block(h, BLOCK), 0);
	assert_int_equal(revoke_block(h, BLOCK + 1), 0);
	put(h, BLOCK + 5, 2);
	stop(h);
	commit(0);
	assert_int_equal(type_at(at), ZJ_JBD2_REVOKE);
	assert_int_equal(be(disk_block(at), 12), 16 + 2 * 4);
	assert_int_equal(be(disk_block(at), 16), BLOCK);
	assert_int_equal(be(disk_block(at), 20), BLOCK + 1);
	assert_int_equal(type_at(step(at, 1)), ZJ_JBD2_DESCRIPTOR);
	assert_int_equal(type_at(step(at, 3)), ZJ_JBD2_COMMIT);
	assert_int_equal(val_after_crash(BLOCK), 0);
	assert_int_equal(val_after_crash(BLOCK + 1), 0);
	assert_int_equal(val_after_crash(BLOCK + 2), 1);
	/* The block is used again, in a later transaction. */
	change_many(BLOCK, 1, 7);
	assert_int_equal(val_after_crash(BLOCK), 7);
	assert_int_equal(val_after_crash(BLOCK + 1), 0);
	close_journal();
}

static void what_is_logged_again_is_not_revoked(void)
{
	handle_t *h;
	u32 at;

	JBD2();
	change_many(BLOCK, 1, 1);
	at = step(super_start(), 3);
	h = start_more(0, 2, 0, 1);
	assert_int_equal(revoke_block(h, BLOCK), 0);
	put(h, BLOCK, 2);
	stop(h);
	commit(0);
	assert_int_equal(type_at(at), ZJ_JBD2_DESCRIPTOR);
	assert_int_equal(type_at(step(at, 2)), ZJ_JBD2_COMMIT);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

static void many_revokes_spill(void)
{
	const u32 nr = 2 * ((DISK_BLOCK - 20) / 4) + 1;
	handle_t *h;
	u32 at;

	JBD2();
	at = super_start();
	h = start_more(0, 0, 0, nr);
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(revoke_block(h, BLOCK + i), 0);
	stop(h);
	commit(0);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(type_at(step(at, i)), ZJ_JBD2_REVOKE);
	assert_int_equal(be(disk_block(step(at, 2)), 12), 16 + 4);
	assert_int_equal(type_at(step(at, 3)), ZJ_JBD2_COMMIT);
	close_journal();
}

/* ---- order ---- */

static void record_after_log_blocks_are_durable(void)
{
	int zeros, record, image;
	u32 before, at;

	for (u32 fua = 0; fua < 2; fua++) {
		JBD2(.no_fua = !fua);
		before = now();
		at = super_start();
		/* File data, too. */
		fx.data_block = 900;
		change(0, BLOCK, 3);
		commit(0);
		image = written(jblock(at + 1), before);
		zeros = written(jblock(at + 2), before);
		record = written(jblock(at + 2), zeros + 1);
		assert_true(image > 0 && zeros > 0 && record > 0);
		assert_true(flushed_between(max(image, zeros), record));
		assert_true(!memcmp(fx.disk->log[zeros].data,
				    (u8 [DISK_BLOCK]) { }, DISK_BLOCK));
		if (!fua)
			assert_true(flushed_between(record, now()));
		/* One flush serves data and log blocks. */
		assert_int_equal(lane(0)->stats.flushes, fua ? 2 : 4);
		assert_int_equal(val_after_crash(BLOCK), 3);
		close_journal();
	}
}

static void without_a_cache_nothing_is_flushed(void)
{
	JBD2(.no_cache = true);
	change(0, BLOCK, 3);
	commit(0);
	assert_int_equal(lane(0)->stats.flushes, 0);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

/* While its log blocks are in flight there is no record, and no waiter is woken. */
static void record_waits_for_log_blocks(void)
{
	struct fiber *f;
	u32 at, before;
	tid_t tid;

	JBD2();
	at = super_start();
	before = now();
	fx.hold_block = jblock(at + 1);
	tid = change(0, BLOCK, 3);
	f = GO(call_complete, .tid = tid);
	settle();
	assert_true(nr_held() > 0);
	assert_false(f->done);
	assert_int_equal(writes_of(jblock(at + 2), before), 1);
	release();
	join(f);
	assert_int_equal(writes_of(jblock(at + 2), before), 2);
	close_journal();
}

static void next_record_after_this_one_is_durable(void)
{
	u32 at, before;
	struct fiber *f;
	tid_t tid;

	JBD2(.no_fua = true);
	at = super_start();
	before = now();
	change(0, BLOCK, 3);
	seal(0);
	tid = change(0, BLOCK + 1, 4);
	fx.hold_flush = true;
	f = GO(call_complete, .tid = tid);
	settle();
	/* The first one's record waits for that flush. */
	assert_int_equal(writes_of(jblock(at + 2), before), 1);
	assert_int_equal(writes_of(jblock(step(at, 5)), before), 0);
	release();
	join(f);
	assert_true(flushed_between(written(jblock(at + 2), before),
				    written(jblock(step(at, 5)), before)));
	close_journal();
}

/* ---- features, and what others have left ---- */

static void fast_commit_area_is_taken_over(void)
{
	JBD2(.features = ZJ_JBD2_INCOMPAT_CSUM_V3 | ZJ_JBD2_INCOMPAT_FAST_COMMIT,
	     .journal = 1400);
	change_many(BLOCK, 2, 3);
	assert_int_equal(be(disk_block(0), 0x28) & ZJ_JBD2_INCOMPAT_FAST_COMMIT, 0);
	assert_int_equal(fx.zj->geo.nr_segs, 1400 - RING_FIRST);
	close_journal();
}

static void every_kind_of_checksum(void)
{
	static const u32 kinds[] = {
		ZJ_JBD2_INCOMPAT_REVOKE,
		ZJ_JBD2_INCOMPAT_64BIT,
		ZJ_JBD2_INCOMPAT_CSUM_V2,
		ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_64BIT,
		ZJ_JBD2_INCOMPAT_CSUM_V3 | ZJ_JBD2_INCOMPAT_64BIT,
	};

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		handle_t *h;

		JBD2(.features = kinds[i]);
		change_many(BLOCK, 70, 3);
		change_many(BLOCK, 3, 4);
		h = start_more(0, 0, 0, 1);
		assert_int_equal(revoke_block(h, BLOCK + 1), 0);
		stop(h);
		commit(0);
		assert_int_equal(val_after_crash(BLOCK), 4);
		assert_int_equal(val_after_crash(BLOCK + 1), 0);
		assert_int_equal(val_after_crash(BLOCK + 69), 3);
		close_journal();
	}
}

/* Set the feature as ext4 does at every mount, after the load. */
static void features_come_before_the_first_commit(void)
{
	JBD2(.features = ZJ_JBD2_INCOMPAT_REVOKE, .new = true);
	assert_int_equal(zj_journal_set_features(fx.journal, 0, 0,
						 ZJ_JBD2_INCOMPAT_CSUM_V3 |
						 ZJ_JBD2_INCOMPAT_64BIT), 1);
	change_many(BLOCK, 2, 3);
	assert_int_equal(be(disk_block(0), 0x28), ZJ_JBD2_INCOMPAT_CSUM_V3 |
			 ZJ_JBD2_INCOMPAT_64BIT | ZJ_JBD2_INCOMPAT_REVOKE);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

static void features_of_a_log_in_use_stay(void)
{
	JBD2();
	expect_warning("obeys_features");
	assert_int_equal(zj_journal_set_features(fx.journal, 0, 0,
						 ZJ_JBD2_INCOMPAT_64BIT), 0);
	warned();
	change_many(BLOCK, 2, 3);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

static void mounts_change_the_format(void)
{
	struct image *image;

	JBD2();
	change_many(BLOCK, 2, 3);
	image = cut_power();
	close_journal();
	/* Left by log=jbd2, mounted with lanes, left again. */
	make_disk_of(&(struct setup){ .lanes = 2, .journal = 2048 }, image);
	image_free(image);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(home_val(BLOCK), 3);
	change(1, BLOCK, 4);
	commit(1);
	image = cut_power();
	assert_true(image_is_live(image));
	close_journal();
	make_disk_of(&(struct setup){ .lanes = 1, .jbd2 = true,
				      .journal = 2048 }, image);
	image_free(image);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(home_val(BLOCK), 4);
	change(0, BLOCK, 5);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 5);
	close_journal();
}

/* ---- faults ---- */

static void record_that_fails_aborts(void)
{
	struct image *image;
	u32 at;

	JBD2();
	change_many(BLOCK, 1, 3);
	at = step(super_start(), 3);
	change(0, BLOCK, 4);
	/* Log blocks in one request, then the record. */
	fx.disk->fail_write = fx.disk->writes + 2;
	assert_int_equal(zj_journal_force_commit(fx.journal), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(type_at(at), ZJ_JBD2_DESCRIPTOR);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 3);
	image_free(image);
	close_aborted();
}

static void flush_that_fails_leaves_no_record(void)
{
	u32 at;

	JBD2();
	at = super_start();
	change(0, BLOCK, 4);
	fail_next_flush();
	assert_int_equal(zj_journal_force_commit(fx.journal), -EIO);
	assert_int_equal(type_at(step(at, 2)), 0);
	close_aborted();
}

/* The promise of a commit block is broken: block 0 is not to be in its place. */
static void run_without_a_place_for_its_record_aborts(void)
{
	struct image *image;
	u32 before;

	JBD2();
	change_many(BLOCK, 1, 3);
	before = now();
	change(0, BLOCK, 4);
	seal(0);
	/* An image and its descriptor, no more. */
	fx.zj->nr_pool = 2;
	expect_warning("take(");
	settle();
	warned();
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(fx.journal->j_errno, -ENOSPC);
	/* The abort writes it once, with its error. */
	assert_int_equal(writes_of(jblock(0), before), 1);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 3);
	image_free(image);
	close_aborted();
}

#define CRASH_TXNS	60
#define CRASH_BLOCKS	5

/*
 * All blocks must hold the value of one transaction, not older than the last acknowledged one.
 */
static void judge(struct image *image, u32 acked, u32 begun)
{
	u8 val;

	assert_int_equal(recover_image(image), 0);
	val = image_val(image, BLOCK);
	assert_in_range(val, acked, begun);
	for (u32 i = 1; i < CRASH_BLOCKS; i++)
		assert_int_equal(image_val(image, BLOCK + i), val);
	/* Freed in every tenth, used again in the one after it, as file data. */
	if (val % 10 == 1)
		assert_int_equal(image->block[BLOCK + 50][7], 0xda);
}

static void crash_at_every_event(u32 features, bool fua)
{
	u32 done[CRASH_TXNS + 1] = { }, begun[CRASH_TXNS + 1] = { };
	struct sim_rand rand = { 1 };
	struct disk_walk *walk = malloc(sizeof(*walk));
	struct disk_image crash = { };
	u32 acked = 0, started = 0;
	struct buffer_head *bh;
	handle_t *h;

	OPEN(.jbd2 = true, .lanes = 1, .journal = 130, .features = features,
	     .no_fua = !fua, .new = true);
	for (u32 i = 1; i <= CRASH_TXNS; i++) {
		begun[i] = now();
		h = start_more(0, CRASH_BLOCKS + 1, 0, 1);
		for (u32 b = 0; b < CRASH_BLOCKS; b++)
			put(h, BLOCK + b, i);
		if (i % 10 != 0 && i % 10 != 1)
			put(h, BLOCK + 50, i);
		else if (i % 10 == 0)
			assert_int_equal(revoke_block(h, BLOCK + 50), 0);
		stop(h);
		if (i % 10 == 1) {
			/* Ordered data: durable before the record. */
			bh = buffer(BLOCK + 50);
			memset(bh->b_data, 0xda, DISK_BLOCK);
			set_buffer_dirty(bh);
			write_dirty_buffer(bh, 0);
			wait_on_buffer(bh);
			brelse(bh);
		}
		commit(0);
		done[i] = now();
	}
	crash.nr = fx.disk->nr;
	crash.block = malloc(crash.nr * sizeof(*crash.block));
	walk_init(walk, fx.disk, fx.initial);
	while (walk->at < now()) {
		while (acked < CRASH_TXNS && done[acked + 1] <= walk->at)
			acked++;
		while (started < CRASH_TXNS && begun[started + 1] <= walk->at)
			started++;
		for (u32 n = 0; n < 8; n++) {
			struct image image = { .block = crash.block };

			walk_crash(walk, &rand, &crash);
			judge(&image, acked, started);
		}
		scratch_reset();
		walk_step(walk);
	}
	walk_free(walk);
	free(walk);
	free(crash.block);
	close_journal();
}

static void torn_writes_with_checksums(void)
{
	crash_at_every_event(ZJ_JBD2_INCOMPAT_CSUM_V3, true);
}

static void torn_writes_without_checksums(void)
{
	crash_at_every_event(ZJ_JBD2_INCOMPAT_64BIT, true);
}

static void torn_writes_without_fua(void)
{
	crash_at_every_event(ZJ_JBD2_INCOMPAT_CSUM_V2, false);
}

static struct fiber *accessor;

static void wait_for_the_accessor(void)
{
	while (!accessor || !accessor->done)
		sleep_ms(1);
}

static void call_change(struct fiber *f)
{
	change(0, f->block, f->n);
}

/*
 * Data may complete only when a task has got access to a block that the log is written
 * from: he waits for that, so it is waited for first.
 */
static void log_is_waited_for_before_the_data(void)
{
	static struct file file;
	handle_t *h;

	JBD2();
	RECONFIGURE(.frozen_copy = ZJ_FROZEN_COPY_NEVER);
	file_init(&file);
	h = start(0, 1);
	put(h, BLOCK, 1);
	assert_int_equal(zj_journal_inode_ranged_write(h, &file.jinode, 0, 10), 0);
	stop(h);
	fx.on_finish = wait_for_the_accessor;
	seal(0);
	let_run();
	accessor = GO(call_change, .block = BLOCK, .n = 2);
	settle();
	join(accessor);
	fx.on_finish = NULL;
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

/* Neighbours in the log go out together. */
static void log_blocks_go_out_in_few_requests(void)
{
	static const struct setup logs[] = {
		{ .lanes = 1, .journal = 2048, .jbd2 = true }, { .lanes = 1, .journal = 2048 },
	};
	handle_t *h;
	u32 before;

	for (u32 i = 0; i < ARRAY_SIZE(logs); i++) {
		open_journal(&logs[i]);
		h = start(0, 20);
		for (u32 b = 0; b < 20; b++)
			put(h, BLOCK + b, 1);
		stop(h);
		before = fx.disk->writes;
		commit(0);
		/* The log blocks; the super block, or the record. */
		assert_in_range(fx.disk->writes - before, 1, 3);
		close_journal();
	}
}

CORE_TESTS(log_jbd2,
	CORE_TEST(log_blocks_go_out_in_few_requests),
	CORE_TEST(log_is_waited_for_before_the_data),
	CORE_TEST(a_transaction_byte_by_byte),
	CORE_TEST(numbers_are_consecutive),
	CORE_TEST(long_transactions_have_more_descriptors),
	CORE_TEST(magic_numbers_are_escaped),
	CORE_TEST(revokes_void_older_images_only),
	CORE_TEST(what_is_logged_again_is_not_revoked),
	CORE_TEST(many_revokes_spill),
	CORE_TEST(record_after_log_blocks_are_durable),
	CORE_TEST(without_a_cache_nothing_is_flushed),
	CORE_TEST(record_waits_for_log_blocks),
	CORE_TEST(next_record_after_this_one_is_durable),
	CORE_TEST(fast_commit_area_is_taken_over),
	CORE_TEST(every_kind_of_checksum),
	CORE_TEST(features_come_before_the_first_commit),
	CORE_TEST(features_of_a_log_in_use_stay),
	CORE_TEST(mounts_change_the_format),
	CORE_TEST(record_that_fails_aborts),
	CORE_TEST(flush_that_fails_leaves_no_record),
	CORE_TEST(run_without_a_place_for_its_record_aborts),
	CORE_TEST(torn_writes_with_checksums),
	CORE_TEST(torn_writes_without_checksums),
	CORE_TEST(torn_writes_without_fua),
);
