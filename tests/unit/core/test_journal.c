// SPDX-License-Identifier: GPL-2.0-only
/* The checkpoint stamp over the whole journal: order (H3) and durability (H4). */
#include "fixture.h"
#include <linux/sched/signal.h>
#include <linux/mm.h>

static u64 stamp_in(const struct image *image)
{
	u64 seq, stamp, best = 0, s = 0;
	struct zj_log_geometry geo = { };

	assert_null(zj_decode_log_super(image->block[jblock(1)], &geo));
	for (u32 i = 0; i < ZJ_CKPT_SLOTS; i++)
		if (zj_decode_ckpt(&geo, image->block[jblock(ZJ_BLOCK_CKPT + i)],
				   &seq, &stamp) && seq > best) {
			best = seq;
			s = stamp;
		}
	return s;
}

static void h3_checkpoint_stamp_stays_below_what_is_sealed_and_not_durable(void)
{
	tid_t older;

	OPEN();
	older = change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	seal(0);
	change(1, BLOCK + 1, 1);
	commit(1);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	/* Stamp 3 may be home; 2 is not even durable. */
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	release();
	settle();
	assert_int_equal(stage_of(older), ZJ_COMMITTED);
	/* Recovery would ignore it, had the checkpoint stamp passed it. */
	assert_int_equal(val_after_crash(BLOCK), 1);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(fx.zj->ckpt_stamp, 3);
	close_journal();
}

static void h3_checkpoint_stamp_stays_below_what_is_durable_and_not_committed(void)
{
	handle_t *h;

	OPEN(.lanes = 3);
	change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	seal(0);
	h = start(1, 2);
	put(h, BLOCK, 2);
	put(h, BLOCK + 1, 2);
	stop(h);
	seal(1);
	settle();
	change(2, BLOCK + 2, 1);
	commit(2);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	assert_int_equal(writes_of(BLOCK, 0), 0);
	release();
	settle();
	assert_int_equal(val_after_crash(BLOCK + 1), 2);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(fx.zj->ckpt_stamp, 4);
	close_journal();
}

/* Reclaiming lane by lane would let recovery write the old image over the new. */
static void per_lane_tail(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 2);
	put(h, BLOCK, 1);
	put(h, BLOCK + 1, 1);
	stop(h);
	commit(0);
	change(1, BLOCK, 2);
	commit(1);
	/* The old lane's other block cannot go home. */
	h = start(0, 1);
	put(h, BLOCK + 1, 3);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
	assert_int_equal(home_val(BLOCK), 2);
	assert_int_equal(val_after_crash(BLOCK), 2);
	assert_int_equal(val_after_crash(BLOCK + 1), 1);
	stop(h);
	close_journal();
}

static void h4_log_is_not_reused_before_the_stamp_is_durable(void)
{
	struct fiber *f;
	u32 i, before;

	OPEN(.lanes = 1, .journal = 140);
	/* The checkpoint slots stay in flight. */
	for (i = 0; i < 100; i++) {
		handle_t *h;

		fx.hold_block = jblock(ZJ_BLOCK_CKPT + (fx.zj->ckpt_seq + 1) % 2);
		f = GO(call_start, .cpu = 0, .n = 10);
		settle();
		if (!f->done)
			break;
		join(f);
		h = f->h;
		for (u32 k = 0; k < 10; k++)
			put(h, BLOCK + k, i + 1);
		stop(h);
		commit(0);
	}
	assert_false(f->done);
	assert_int_equal(nr_held(), 1);
	before = now();
	assert_int_equal(record_written(before), -1);
	/*
	 * All blocks are home, but the log shows this only when the checkpoint stamp is
	 * durable.
	 */
	assert_int_equal(val_after_crash(BLOCK), i);
	release();
	join(f);
	stop(f->h);
	close_journal();
}

static void h3_stamp_on_the_disk_never_passes_what_is_home(void)
{
	struct image *image;
	struct fiber *f;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	buf_write_back(fx.disk, BLOCK);
	settle();
	fx.hold_flush = true;
	f = GO(call_full_checkpoint);
	settle();
	/* Written, not flushed: a cut may lose it, so the checkpoint stamp must not be there. */
	image = cut_power();
	assert_int_equal(image_val(image, BLOCK), 0);
	assert_int_equal(stamp_in(image), 1);
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 1);
	image_free(image);
	release();
	join(f);
	image = cut_power();
	assert_int_equal(stamp_in(image), 2);
	assert_int_equal(image_val(image, BLOCK), 1);
	image_free(image);
	close_journal();
}

static void what_the_checkpoint_stamp_covers_is_not_replayed(void)
{
	struct buffer_head *bh;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	/* Its record is still in the log, but the block is used for something else now. */
	bh = buffer(BLOCK);
	memset(bh->b_data, 9, DISK_BLOCK);
	mark_buffer_dirty(bh);
	assert_int_equal(__sync_dirty_buffer(bh, REQ_FUA), 0);
	brelse(bh);
	assert_int_equal(val_after_crash(BLOCK), 9);
	close_journal();
}

static void stamps_go_in_the_order_of_sealing(void)
{
	struct zj_component *comp;
	u64 last = 0;

	OPEN(.lanes = 4);
	for (u32 i = 0; i < 4; i++)
		change(i, BLOCK + i, 1);
	seal(2);
	seal(0);
	seal(3);
	seal(1);
	list_for_each_entry(comp, &fx.zj->ckpt_list, ckpt_link) {
		assert_int_equal(comp->stamp, last ? last + 1 : 2);
		last = comp->stamp;
	}
	assert_int_equal(last, 5);
	close_journal();
}

static void unmount_leaves_an_empty_log_and_no_memory(void)
{
	struct image *image;
	handle_t *a, *b;

	OPEN(.lanes = 3);
	change(0, BLOCK, 1);
	seal(0);
	a = start(1, 1);
	b = start_more(2, 1, 0, 1);
	put(a, BLOCK, 2);
	put(b, BLOCK, 3);
	own(b);
	assert_int_equal(zj_journal_revoke(b, 1900, NULL), 0);
	stop(a);
	stop(b);
	assert_int_equal(unmount_journal(), 0);
	image = cut_power();
	assert_false(image_is_live(image));
	assert_int_equal(image_val(image, BLOCK), 3);
	image_free(image);
	discard_disk();
}

/* ---- what a mount without options has ---- */

static void defaults(void)
{
	journal_t *journal;
	struct zj_journal *zj;
	unsigned long n = 0;

	make_disk(&(struct setup){ .lanes = 2, .journal = 2048 });
	do {
		zj_fail_alloc = ++n;
		journal = zj_journal_init_inode(&fx.kit.journal);
		if (IS_ERR(journal))
			assert_int_equal(PTR_ERR(journal), -ENOMEM);
	} while (IS_ERR(journal));
	zj_fail_alloc = 0;
	assert_true(n > 1);
	zj = to_zj(journal);
	assert_int_equal(zj->options.live.flush_batch, ZJ_FLUSH_BATCH);
	assert_int_equal(zj->options.live.versions, ZJ_VERSIONS);
	assert_false(zj->options.live.no_coalesce);
	assert_int_equal(zj->options.live.frozen_copy, ZJ_FROZEN_COPY_AUTO);
	assert_int_equal(journal->j_commit_interval, 5 * HZ);
	assert_int_equal(zj->batch_size, ZJ_BATCH_SIZE);
	assert_ptr_equal(zj->log_ops, &zj_log_lanes);
	assert_int_equal(zj_journal_destroy(journal), 0);
	discard_disk();
}

/* ---- options ---- */

static void options_that_contradict_each_other_are_refused(void)
{
	static const struct zj_options wrong[] = {
		{ .log = ZJ_LOG_NVM + 1 },
		{ .log = ZJ_LOG_JBD2, .lanes = 2 },
		{ .log = ZJ_LOG_NVM },
		{ .log = ZJ_LOG_JBD2, .nvm_path = "memory" },
		{ .nvm_path = "memory" },
		{ .txninfo_max = 512 },
		{ .log = ZJ_LOG_NVM, .nvm_path = "memory", .txninfo_max = 128 },
		{ .log = ZJ_LOG_NVM, .nvm_path = "memory", .txninfo_max = 300 },
		{ .log = ZJ_LOG_NVM, .nvm_path = "memory", .txninfo_max = 1 << 18 },
	};
	journal_t *journal;

	make_disk(&(struct setup){ .lanes = 2, .journal = 2048 });
	journal = zj_journal_init_inode(&fx.kit.journal);
	assert_false(IS_ERR(journal));
	for (u32 i = 0; i < ARRAY_SIZE(wrong); i++) {
		fx.errors[0] = 0;
		assert_int_equal(zj_journal_configure(journal, &wrong[i]), -EINVAL);
		assert_non_null(strstr(fx.errors, "contradict each other"));
		assert_ptr_equal(to_zj(journal)->log_ops, &zj_log_lanes);
	}
	assert_int_equal(zj_journal_destroy(journal), 0);
	discard_disk();
}

static void options_are_kept_with_their_defaults(void)
{
	struct zj_options options = {
		.log = ZJ_LOG_JBD2, .data_journaled = 1, .live.versions = 3,
	};
	journal_t *journal;
	struct zj_journal *zj;

	make_disk(&(struct setup){ .lanes = 2, .journal = 2048 });
	journal = zj_journal_init_inode(&fx.kit.journal);
	assert_false(IS_ERR(journal));
	zj = to_zj(journal);
	assert_int_equal(zj_journal_configure(journal, &options), 0);
	assert_ptr_equal(zj->log_ops, &zj_log_jbd2);
	assert_int_equal(zj->options.lanes, 1);
	assert_int_equal(zj->options.live.versions, 3);
	assert_int_equal(zj->options.live.flush_batch, ZJ_FLUSH_BATCH);
	assert_true(journal->j_flags & ZJ_DATA_JOURNALED);
	assert_false(journal->j_flags & ZJ_DATA_REPORTED);
	/* As the file system shows them. */
	assert_int_equal(zj_journal_options(journal)->log, ZJ_LOG_JBD2);
	assert_int_equal(zj_journal_options(journal)->lanes, 1);
	assert_int_equal(zj_journal_options(journal)->live.versions, 3);
	/* Earlier options are forgotten. */
	options = (struct zj_options){ .data_reported = 1 };
	assert_int_equal(zj_journal_configure(journal, &options), 0);
	assert_ptr_equal(zj->log_ops, &zj_log_lanes);
	assert_int_equal(zj->options.live.versions, ZJ_VERSIONS);
	assert_false(journal->j_flags & ZJ_DATA_JOURNALED);
	assert_true(journal->j_flags & ZJ_DATA_REPORTED);
	assert_int_equal(zj_journal_destroy(journal), 0);
	discard_disk();
}

/* Only a size that was asked for bounds a transaction. */
static void a_size_of_txninfo_is_a_limit(void)
{
	struct zj_options options = {
		.log = ZJ_LOG_NVM, .nvm_path = "memory", .txninfo_max = ZJ_TXNINFO_BYTES,
	};
	journal_t *journal;
	struct zj_nvm *nvm;

	make_disk(&(struct setup){ .lanes = 2, .journal = 2048 });
	journal = zj_journal_init_inode(&fx.kit.journal);
	assert_false(IS_ERR(journal));
	nvm = &to_zj(journal)->nvm;
	assert_int_equal(zj_journal_configure(journal, &options), 0);
	assert_int_equal(nvm->info_max, ZJ_TXNINFO_BYTES);
	assert_true(nvm->one_info);
	options.txninfo_max = 0;
	assert_int_equal(zj_journal_configure(journal, &options), 0);
	assert_int_equal(nvm->info_max, ZJ_TXNINFO_BYTES);
	assert_false(nvm->one_info);
	/* The smallest and the largest one are possible. */
	options.txninfo_max = ZJ_TXNINFO_MAX_MIN;
	assert_int_equal(zj_journal_configure(journal, &options), 0);
	options.txninfo_max = ZJ_TXNINFO_MAX_MAX;
	assert_int_equal(zj_journal_configure(journal, &options), 0);
	assert_int_equal(zj_journal_destroy(journal), 0);
	discard_disk();
}

/* ---- what follows from the log's size (docs/decisions 0041) ---- */

static void limits_of_a_log(void)
{
	static const struct setup logs[] = {
		{ .lanes = 1, .journal = 1024 }, { .lanes = 2, .journal = 2048 },
		{ .lanes = 4, .journal = 16384 }, { .lanes = 1, .journal = 16384 },
		{ .lanes = 2, .journal = 400 },
		{ .lanes = 2, .journal = 400, .nvm = 1 << 20 },
		{ .lanes = 1, .journal = 4000, .nvm = 16 << 20 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(logs); i++) {
		struct zj_journal *zj;
		u32 images;

		make_disk(&logs[i]);
		assert_int_equal(mount_journal(), 0);
		zj = fx.zj;
		assert_int_equal(zj->nr_lanes, logs[i].lanes);
		/* A block in memory takes its lines, a record and a share of a TxnInfo. */
		images = zj->geo.nr_segs * zj->geo.seg_blocks / (logs[i].nvm ? 18 : 1);
		assert_int_equal(zj->budget, images / 3);
		assert_int_equal(zj->low_pool, zj->geo.nr_segs / 3);
		assert_int_equal(zj->max_txn, zj->budget);
		assert_int_equal(zj->max_credits,
				 max(zj_largest_handle(logs[i].journal, DISK_BLOCK), zj->max_txn));
		assert_int_equal(zj->grant, min(max(images / 3 / 64, 64u), zj->max_txn));
		assert_int_equal(zj->max_found, min(images / 3 / 2, 16384u));
		assert_int_equal(zj->max_copies, max(images / 8 / logs[i].lanes, 64u));
		assert_int_equal(zj->revokes_per_block, (DISK_BLOCK - 128) / 8);
		close_journal();
	}
}

/* A sixteenth of memory, where that is less than a third of the log. */
static void what_runs_fits_in_memory(void)
{
	unsigned long before = kl_totalram_pages;

	make_disk(&(struct setup){ .lanes = 2, .journal = 4000 });
	kl_totalram_pages = 16 * 200 * DISK_BLOCK / PAGE_SIZE;
	assert_int_equal(mount_journal(), 0);
	kl_totalram_pages = before;
	assert_int_equal(fx.zj->budget, 200);
	assert_int_equal(fx.zj->max_txn, 200);
	assert_int_equal(fx.zj->max_credits, zj_largest_handle(4000, DISK_BLOCK));
	close_journal();
}

static void a_log_that_is_too_small_is_refused(void)
{
	make_disk(&(struct setup){ .lanes = 2, .journal = 60 });
	assert_int_equal(mount_journal(), -ENOSPC);
	assert_true(said("is too small, one lane needs"));
	discard_disk();
	make_disk(&(struct setup){ .lanes = 1, .journal = 64, .jbd2 = true });
	assert_int_equal(mount_journal(), -ENOSPC);
	discard_disk();
	make_disk(&(struct setup){ .lanes = 1, .journal = 65, .jbd2 = true });
	assert_int_equal(mount_journal(), 0);
	close_journal();
	make_disk(&(struct setup){ .lanes = 64, .journal = 1024 });
	assert_int_equal(mount_journal(), 0);
	assert_true(said("has room for only 1 of 64 lanes"));
	close_journal();
}

/* Mounts a ring of so many blocks, behind others that are not the log's. */
static int mount_ring_of(u32 blocks)
{
	static const struct setup whole = { .lanes = 1, .journal = 2048, .jbd2 = true };
	struct zj_jbd2_super *sb = malloc(DISK_BLOCK);
	int err;

	make_disk(&whole);
	memcpy(sb, fx.disk->seen[jblock(0)], DISK_BLOCK);
	sb->s_first = cpu_to_be32(whole.journal - blocks);
	sb->s_checksum = zj_jbd2_super_csum(sb);
	disk_set(fx.disk, jblock(0), sb);
	free(sb);
	err = mount_journal();
	if (err)
		discard_disk();
	return err;
}

/*
 * The largest handle with its descriptor and commit blocks, a commit block for an empty
 * transaction, and the block that stays empty.
 */
static void the_smallest_ring_holds_the_largest_handle(void)
{
	const u32 largest = zj_largest_handle(2048, DISK_BLOCK);
	const u32 least = largest + DIV_ROUND_UP(largest, 62) + 3;

	assert_int_equal(mount_ring_of(least - 1), -ENOSPC);
	assert_int_equal(mount_ring_of(least), 0);
	assert_int_equal(fx.zj->max_credits, largest);
	close_journal();
}

static void inode_is_let_go_once(void)
{
	OPEN();
	assert_int_equal(fx.kit.journal.nr_put, 0);
	assert_int_equal(unmount_journal(), 0);
	assert_int_equal(fx.kit.journal.nr_put, 1);
	discard_disk();
}

static bool others_ran;

static void others_run(void)
{
	others_ran = true;
}

static u64 map_beside_others(const struct inode *inode, u64 block)
{
	if (block == 100)
		at_point(1, others_run);
	if (block == 101)
		assert_true(others_ran);
	return kit_place(&fx.kit, block);
}

/* A CPU that is not preempted would otherwise be taken for one that hangs. */
static void others_run_while_a_journal_is_mapped(void)
{
	make_disk(&(const struct setup){ .lanes = 1, .journal = 1024 });
	fx.kit.journal.map = map_beside_others;
	assert_int_equal(mount_journal(), 0);
	assert_true(others_ran);
	close_journal();
}

static void mount_of_a_killed_task_ends_while_it_maps(void)
{
	make_disk(&(const struct setup){ .lanes = 1, .journal = 1024 });
	kl_killed_in = 100;
	assert_int_equal(mount_journal(), -EINTR);
	kl_killed_in = 0;
	discard_disk();
}

/* The format allows one lane, and no option has asked for more. */
static void log_of_stock_wants_one_lane(void)
{
	OPEN(.jbd2 = true, .lanes = 1, .cpus = 2);
	assert_int_equal(fx.zj->nr_lanes, 1);
	assert_false(said("room for"));
	close_journal();
}

CORE_TESTS(journal,
	CORE_TEST(defaults),
	CORE_TEST(options_that_contradict_each_other_are_refused),
	CORE_TEST(options_are_kept_with_their_defaults),
	CORE_TEST(a_size_of_txninfo_is_a_limit),
	CORE_TEST(limits_of_a_log),
	CORE_TEST(what_runs_fits_in_memory),
	CORE_TEST(a_log_that_is_too_small_is_refused),
	CORE_TEST(the_smallest_ring_holds_the_largest_handle),
	CORE_TEST(h3_checkpoint_stamp_stays_below_what_is_sealed_and_not_durable),
	CORE_TEST(h3_checkpoint_stamp_stays_below_what_is_durable_and_not_committed),
	CORE_TEST(per_lane_tail),
	CORE_TEST(h4_log_is_not_reused_before_the_stamp_is_durable),
	CORE_TEST(h3_stamp_on_the_disk_never_passes_what_is_home),
	CORE_TEST(what_the_checkpoint_stamp_covers_is_not_replayed),
	CORE_TEST(stamps_go_in_the_order_of_sealing),
	CORE_TEST(unmount_leaves_an_empty_log_and_no_memory),
	CORE_TEST(inode_is_let_go_once),
	CORE_TEST(others_run_while_a_journal_is_mapped),
	CORE_TEST(mount_of_a_killed_task_ends_while_it_maps),
	CORE_TEST(log_of_stock_wants_one_lane),
);
