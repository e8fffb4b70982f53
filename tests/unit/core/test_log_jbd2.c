// SPDX-License-Identifier: GPL-2.0-only
/*
 * log_jbd2.c: what stock's recovery finds in the log, and in what order it came
 * there. The bytes are looked at here, not by the journal's own decoder.
 */
#include <linux/crc32c.h>
#include "fixture.h"

#define JBD2(...)	OPEN(.jbd2 = true, .lanes = 1, ##__VA_ARGS__)
#define RING_FIRST	1	/* make_super() */
#define PER_DESCRIPTOR	62	/* images, 1 KiB, checksum 3 */

/* ---- bytes ---- */

static u32 be(const u8 *p, u32 at)
{
	return (u32)p[at] << 24 | p[at + 1] << 16 | p[at + 2] << 8 | p[at + 3];
}

static const u8 *disk_block(u32 b)
{
	return fx.disk->seen[jblock(b)];
}

static u32 super_start(void)
{
	return be(disk_block(0), 0x1c);
}

static u32 super_sequence(void)
{
	return be(disk_block(0), 0x18);
}

static u32 step(u32 block, u32 n)
{
	for (; n; n--)
		block = block + 1 == fx.setup.journal ? RING_FIRST : block + 1;
	return block;
}

/* Where a transaction's block of this type is, from its first block on. */
static u32 type_at(u32 block)
{
	return be(disk_block(block), 0) == ZJ_JBD2_MAGIC ?
	       be(disk_block(block), 4) : 0;
}

static u32 crc(u32 seed, const u8 *p, u32 len, u32 hole)
{
	u8 copy[DISK_BLOCK];

	memcpy(copy, p, len);
	if (hole < len)
		memset(copy + hole, 0, 4);
	return crc32c(seed, copy, len);
}

static void change_many(u32 first, u32 nr, u8 val)
{
	handle_t *h = start(0, nr);

	for (u32 i = 0; i < nr; i++)
		put(h, first + i, val);
	stop(h);
	commit(0);
}

static int revoke(handle_t *h, u32 block)
{
	int err;

	own(h);
	err = zj_journal_revoke(h, block, buffer(block));
	own(NULL);
	return err;
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
	assert_int_equal(revoke(h, BLOCK), 0);
	assert_int_equal(revoke(h, BLOCK + 1), 0);
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
	/* In use again, in a later transaction. */
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
	assert_int_equal(revoke(h, BLOCK), 0);
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
		assert_int_equal(revoke(h, BLOCK + i), 0);
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

/* While its log blocks are in flight there is no record, and nobody is told. */
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
	freeze(0);
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

/* ---- the ring ---- */

static void trim_moves_the_start(void)
{
	u32 at, seq, before;

	JBD2();
	at = super_start();
	seq = super_sequence();
	change_many(BLOCK, 2, 3);
	change_many(BLOCK + 2, 1, 4);
	before = now();
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(super_start(), step(at, 4 + 3));
	assert_int_equal(super_sequence(), seq + 2);
	assert_int_equal(fx.zj->nr_pool, fx.zj->geo.nr_segs - 1);
	/* Home, durable, then that. */
	assert_true(written(BLOCK, before) < written(jblock(0), before));
	assert_int_equal(val_after_crash(BLOCK), 3);
	change_many(BLOCK, 1, 5);
	assert_int_equal(be(disk_block(step(at, 7)), 8), seq + 2);
	assert_int_equal(val_after_crash(BLOCK), 5);
	close_journal();
}

static void ring_goes_round(void)
{
	u32 turns = 0, old = 0;

	JBD2(.journal = 130);
	for (u32 i = 0; i < 200; i++) {
		change_many(BLOCK, 1 + i % 5, i);
		assert_int_equal(val_after_crash(BLOCK), (u8)i);
		turns += fx.zj->ring.head < old;
		old = fx.zj->ring.head;
	}
	assert_true(turns > 5);
	assert_true(lane(0)->stats.txns > 200);
	close_journal();
}

static void full_ring_lets_starts_wait(void)
{
	struct fiber *f;
	int most;

	JBD2(.journal = 130);
	most = fx.zj->max_credits;
	/* What is not home keeps its place, and what comes after it. */
	change_many(BLOCK, 1, 1);
	fx.hold_block = BLOCK;
	while (fx.zj->nr_pool >= zj_log_blocks(fx.zj, most))
		change_many(BLOCK + 10, 10, 1);
	f = GO(call_start, .n = most);
	settle();
	assert_false(f->done);
	release();
	join(f);
	assert_int_equal(stop(f->h), 0);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

static void clean_is_stocks_clean(void)
{
	struct image *image;
	u32 seq;

	JBD2();
	change_many(BLOCK, 2, 3);
	seq = be(disk_block(super_start()), 8);
	assert_int_equal(unmount_journal(), 0);
	image = cut_power();
	assert_false(image_is_live(image));
	assert_int_equal(image_val(image, BLOCK), 3);
	image_free(image);
	assert_true(super_sequence() > seq);
	/* And on from there, never with a number that was. */
	assert_int_equal(mount_journal(), 0);
	change_many(BLOCK, 1, 4);
	assert_true(super_sequence() > seq + 1);
	assert_int_equal(val_after_crash(BLOCK), 4);
	close_journal();
}

static void flush_empties_it(void)
{
	JBD2();
	change_many(BLOCK, 2, 3);
	zj_journal_lock_updates(fx.journal);
	assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
	zj_journal_unlock_updates(fx.journal);
	assert_int_equal(super_start(), 0);
	change_many(BLOCK, 2, 4);
	assert_int_not_equal(super_start(), 0);
	assert_int_equal(val_after_crash(BLOCK), 4);
	close_journal();
}

static void call_clean(struct fiber *f)
{
	f->ret = zj_make_clean(fx.zj);
}

static void call_checkpoint(struct fiber *f)
{
	f->ret = zj_checkpoint(fx.zj, false);
}

/* The log is marked empty while a trim is on its way to block 0. */
static void late_trim_leaves_it_empty(void)
{
	struct fiber *clean, *trim;

	JBD2();
	change_many(BLOCK, 2, 3);
	fx.hold_block = jblock(0);
	clean = GO(call_clean);
	settle();
	assert_int_equal(nr_held(), 1);
	trim = GO(call_checkpoint);
	settle();
	assert_int_equal(home_val(BLOCK), 3);
	assert_false(trim->done);
	release();
	join(clean);
	join(trim);
	assert_int_equal(clean->ret | trim->ret, 0);
	assert_int_equal(super_start(), 0);
	assert_int_equal(fx.zj->trimmed, 2);
	change_many(BLOCK, 1, 4);
	assert_int_equal(val_after_crash(BLOCK), 4);
	assert_int_equal(val_after_crash(BLOCK + 1), 3);
	close_journal();
}

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
		assert_int_equal(revoke(h, BLOCK + 1), 0);
		stop(h);
		commit(0);
		assert_int_equal(val_after_crash(BLOCK), 4);
		assert_int_equal(val_after_crash(BLOCK + 1), 0);
		assert_int_equal(val_after_crash(BLOCK + 69), 3);
		close_journal();
	}
}

/* As ext4 asks for it at every mount, after the load. */
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
	freeze(0);
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

/* All blocks of the transaction that wrote most of them last, or none of it. */
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
			assert_int_equal(revoke(h, BLOCK + 50), 0);
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

/* The first block that is in use, and how many are. */
static u32 ring_used(void)
{
	u32 head = fx.zj->ring.head, tail = fx.zj->ring.tail;

	return head >= tail ? head - tail : head + fx.zj->geo.nr_segs - tail;
}

/* All blocks are accounted for, at each place, whole and in part. */
static void ring_loses_and_gains_no_block(void)
{
	u32 turns = 0, old = 0;

	JBD2(.journal = 130);
	for (u32 i = 0; i < 120; i++) {
		change_many(BLOCK, 1 + i % 7, i);
		assert_int_equal(fx.zj->nr_pool + ring_used(),
				 fx.zj->geo.nr_segs - 1);
		if (i % 3)
			continue;
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		assert_int_equal(ring_used(), 0);
		assert_int_equal(fx.zj->nr_pool, fx.zj->geo.nr_segs - 1);
		turns += fx.zj->ring.head < old;
		old = fx.zj->ring.head;
	}
	assert_true(turns > 3);
	close_journal();
}

/* Images, revoke blocks, descriptors and a commit block: never more than promised. */
static void ring_promise_covers_every_size(void)
{
	u32 features[] = { ZJ_JBD2_INCOMPAT_CSUM_V3,
			   ZJ_JBD2_INCOMPAT_CSUM_V3 | ZJ_JBD2_INCOMPAT_64BIT };

	for (u32 f = 0; f < ARRAY_SIZE(features); f++) {
		JBD2(.journal = 1024, .features = features[f]);
		for (u32 n = 1; n <= fx.zj->max_credits; n++) {
			u32 at = ring_used();

			change_many(BLOCK, n, n);
			assert_in_range(ring_used() - at, n + 2,
					zj_log_blocks(fx.zj, n));
			if (fx.zj->nr_pool < 600)
				assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		}
		close_journal();
	}
}

static void ring_promise_covers_revokes(void)
{
	u32 at, credits;
	handle_t *h;

	JBD2();
	for (u32 n = 1; n < 1000; n += 61) {
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		h = start_more(0, 1, 0, n);
		credits = h->h_total_credits;
		put(h, BLOCK, 1);
		for (u32 i = 0; i < n; i++)
			assert_int_equal(revoke(h, 100 + i), 0);
		stop(h);
		at = ring_used();
		commit(0);
		assert_true(ring_used() - at <= zj_log_blocks(fx.zj, credits));
	}
	close_journal();
}

/* A journal that is not loaded: for what its geometry alone decides. */
static void bare_ring(struct zj_journal *zj, struct zj_jbd2_super *sb, u32 size,
		      u32 blocks)
{
	sb->s_blocksize = cpu_to_be32(size);
	sb->s_maxlen = cpu_to_be32(blocks);
	sb->s_first = cpu_to_be32(RING_FIRST);
	zj->front.j_superblock = sb;
	zj->front.j_blocksize = size;
	zj->front.j_total_len = blocks;
	zj->max_credits = zj_largest_handle(blocks, size);
}

#define LARGEST_BLOCK	65536u

/* What stock makes of them: bytes of a tag, of a revoke, of a checksum at the end. */
static const struct kind {
	u32	features, tag, revoke, tail;
} kinds[] = {
	{ 0, 8, 4, 0 },
	{ ZJ_JBD2_INCOMPAT_64BIT, 12, 8, 0 },
	{ ZJ_JBD2_INCOMPAT_CSUM_V2, 10, 4, 4 },
	{ ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_64BIT, 14, 8, 4 },
	{ ZJ_JBD2_INCOMPAT_CSUM_V3, 16, 4, 4 },
	{ ZJ_JBD2_INCOMPAT_CSUM_V3 | ZJ_JBD2_INCOMPAT_64BIT, 16, 8, 4 },
};

/* Blocks of a transaction with @images of one handle and @revokes of others. */
static u32 ring_takes(const struct kind *kind, u32 size, u32 images, u32 revokes)
{
	u32 tags = (size - 12 - 16 - kind->tail) / kind->tag;
	u32 most = (size - 16 - kind->tail) / kind->revoke;

	return images + DIV_ROUND_UP(images, tags) + DIV_ROUND_UP(revokes, most) + 1;
}

/* The real writer fills 1 KiB (above); this is its arithmetic at all other sizes. */
static void ring_promise_holds_at_every_block_size(void)
{
	struct zj_journal *zj = calloc(1, sizeof(*zj));
	struct zj_jbd2_super sb = { };
	struct zj_jbd2_log log;

	for (u32 size = 1024; size <= LARGEST_BLOCK; size *= 2) {
		u32 ours = zj_chunk_room(size) / sizeof(__le64);

		bare_ring(zj, &sb, size, 1 << 20);
		assert_int_equal(zj_log_jbd2.fit(zj, 1), 1);
		for (u32 k = 0; k < ARRAY_SIZE(kinds); k++) {
			sb.s_feature_incompat = cpu_to_be32(kinds[k].features);
			zj_jbd2_log_of(&sb, &log);
			assert_int_equal(zj_jbd2_tags_per_block(&log),
					 (size - 28 - kinds[k].tail) / kinds[k].tag);
			/* Of all revokes that so many credits are asked for: the most. */
			for (u32 n = 0; n < size / 4 + 70; n++)
				for (u32 r = 0; r <= min(n, 5u); r++)
					assert_true(ring_takes(&kinds[k], size,
							       n - r, r * ours) <=
						    zj_log_jbd2.blocks(zj, n));
		}
	}
	free(zj);
}

/* The largest handle with a reservation: an empty ring lets it start. */
static void ring_that_fits_holds_the_largest_handle(void)
{
	struct zj_journal *zj = calloc(1, sizeof(*zj));
	struct zj_jbd2_super sb = { };

	for (u32 size = 1024; size <= LARGEST_BLOCK; size *= 2)
		for (u32 blocks = 16; blocks < 20000; blocks += 1 + blocks / 100) {
			bare_ring(zj, &sb, size, blocks);
			if (!zj_log_jbd2.fit(zj, 1))
				continue;
			for (u32 rsv = 0; rsv <= zj->max_credits / 2; rsv++)
				assert_true(zj_log_jbd2.blocks(zj, zj->max_credits - rsv) +
					    (rsv ? zj_log_jbd2.blocks(zj, rsv) : 0) <=
					    zj->geo.nr_segs - 1);
		}
	free(zj);
}

/* The error is written with the block that the new tail was to be in. */
static void tail_that_could_not_be_written_stays(void)
{
	u32 at, seq;

	JBD2();
	at = super_start();
	seq = super_sequence();
	change_many(BLOCK, 1, 3);
	buf_write_back(fx.disk, BLOCK);
	settle();
	fail_next_write();
	assert_int_equal(zj_checkpoint(fx.zj, false), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	settle();
	assert_int_equal((int)be(disk_block(0), 0x20), -EIO);
	assert_int_equal(super_start(), at);
	assert_int_equal(super_sequence(), seq);
	assert_int_equal(fx.zj->nr_pool + ring_used(), fx.zj->geo.nr_segs - 1);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_aborted();
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
 * Data may complete only when somebody has got at a block that the log is written
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
	freeze(0);
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

/*
 * Block 0 may name lanes still, as barriers were off when they were emptied: then the
 * ring must not go over their super block, or the file system could not be mounted.
 */
static void ring_does_not_outrun_a_clean_block_0(void)
{
	size_t size;
	const u8 **initial;
	struct image *image;

	OPEN(.lanes = 1);
	change(0, BLOCK, 1);
	commit(0);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	assert_int_equal(unmount_journal(), 0);
	/* A mount of what is in the device's cache. */
	size = fx.disk->nr * sizeof(*initial);
	initial = memcpy(malloc(size), fx.initial, size);
	fx.setup.jbd2 = true;
	assert_int_equal(mount_journal(), 0);
	memcpy(fx.initial, initial, size);
	free(initial);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	change(0, BLOCK, 2);
	commit(0);
	image = cut_power();
	assert_true(memcmp(image->block[jblock(RING_FIRST)], disk_block(RING_FIRST), DISK_BLOCK));
	/* The device has written that one already. */
	image->block[jblock(RING_FIRST)] = disk_block(RING_FIRST);
	fx.setup.jbd2 = !(be(image->block[jblock(0)], 0x28) & ZJ_JBD2_INCOMPAT_LANES);
	assert_int_equal(recover_image(image), 0);
	image_free(image);
	fx.setup.jbd2 = true;
	close_journal();
}

CORE_TESTS(log_jbd2,
	CORE_TEST(ring_does_not_outrun_a_clean_block_0),
	CORE_TEST(log_blocks_go_out_in_few_requests),
	CORE_TEST(ring_loses_and_gains_no_block),
	CORE_TEST(ring_promise_covers_every_size),
	CORE_TEST(ring_promise_covers_revokes),
	CORE_TEST(ring_promise_holds_at_every_block_size),
	CORE_TEST(ring_that_fits_holds_the_largest_handle),
	CORE_TEST(tail_that_could_not_be_written_stays),
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
	CORE_TEST(trim_moves_the_start),
	CORE_TEST(ring_goes_round),
	CORE_TEST(full_ring_lets_starts_wait),
	CORE_TEST(clean_is_stocks_clean),
	CORE_TEST(flush_empties_it),
	CORE_TEST(late_trim_leaves_it_empty),
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
