// SPDX-License-Identifier: GPL-2.0-only
/* fsync.c: fsync, force commit, flush. */
#include "warn.h"	/* first: claims are inline functions */
#include "fixture.h"

/* ---- fsync ---- */

static void fsync_waits_for_its_closure_and_for_that_only(void)
{
	tid_t old, mine, other;
	struct fiber *f;
	handle_t *h;

	OPEN(.lanes = 4);
	old = change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	seal(0);
	h = start(1, 2);
	mine = h->h_transaction->t_tid;
	put(h, BLOCK, 2);
	put(h, BLOCK + 1, 2);
	stop(h);
	other = change(2, BLOCK + 2, 2);
	f = GO(call_complete, .tid = mine);
	settle();
	/* Its own record is durable, but not what it depends on. */
	assert_false(f->done);
	assert_int_equal(stage_of(mine), ZJ_SEALED);
	/* An unrelated transaction is not even closed. */
	assert_int_equal(stage_of(other), ZJ_RUNNING);
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(stage_of(old), ZJ_COMMITTED);
	assert_int_equal(stage_of(other), ZJ_RUNNING);
	assert_int_equal(val_after_crash(BLOCK + 1), 2);
	close_journal();
}

static void fsync_does_not_wait_for_unrelated_transactions(void)
{
	tid_t mine;

	OPEN();
	change(0, BLOCK, 1);
	seal_held(0);
	mine = change(1, BLOCK + 1, 1);
	assert_int_equal(zj_complete_transaction(fx.journal, mine), 0);
	assert_int_equal(stage_of(mine), ZJ_COMMITTED);
	close_journal();
}

static void fsync_waits_for_the_members_of_its_component(void)
{
	struct fiber *f;
	handle_t *a, *b;
	tid_t tid;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	tid = a->h_transaction->t_tid;
	put(a, BLOCK, 1);
	put(b, BLOCK, 2);
	stop(a);
	f = GO(call_complete, .tid = tid);
	let_run();
	assert_int_equal(stage_of(tid), ZJ_LOCKED);
	stop(b);
	fx.hold_lane[1] = true;
	settle();
	assert_false(f->done);
	release();
	join(f);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

static void fsync_of_what_is_committed_or_unknown_returns(void)
{
	tid_t tid;

	OPEN();
	tid = change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_complete_transaction(fx.journal, tid), 0);
	assert_int_equal(zj_complete_transaction(fx.journal, 0), 0);
	assert_int_equal(zj_complete_transaction(fx.journal, tid + 100), 0);
	assert_int_equal(zj_log_wait_commit(fx.journal, tid), 0);
	assert_int_equal(zj_transaction_committed(fx.journal, tid), 1);
	assert_int_equal(zj_transaction_committed(fx.journal, 0), 1);
	close_journal();
}

static void call_wait_commit(struct fiber *f)
{
	f->ret = zj_log_wait_commit(fx.journal, f->tid);
}

static void log_wait_commit_requests_nothing(void)
{
	struct fiber *f;
	tid_t tid;

	OPEN();
	tid = change(0, BLOCK, 1);
	f = GO(call_wait_commit, .tid = tid);
	settle();
	assert_false(f->done);
	assert_int_equal(stage_of(tid), ZJ_RUNNING);
	assert_int_equal(zj_transaction_committed(fx.journal, tid), 0);
	seal(0);
	join(f);
	assert_int_equal(f->ret, 0);
	close_journal();
}

/* R8: the last holder of the sync tid answers for the earlier ones. */
static void fsync_by_sync_tid_covers_all_lanes_that_wrote(void)
{
	tid_t sync = 0;
	handle_t *h;

	OPEN(.lanes = 3);
	for (u32 i = 0; i < 3; i++) {
		h = start(i, 1);
		zj_journal_sync_tid(h, &sync);
		put(h, BLOCK + i, 1 + i);
		stop(h);
		if (!i)
			seal(0);
	}
	assert_int_equal(zj_complete_transaction(fx.journal, sync), 0);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(val_after_crash(BLOCK + i), 1 + i);
	close_journal();
}

static void hand_over_does_nothing_when_aborted(void)
{
	tid_t slot = 5;
	handle_t *h;

	OPEN();
	h = start(0, 1);
	zj_journal_abort(fx.journal, -EIO);
	zj_journal_sync_tid(h, &slot);
	assert_int_equal(slot, 5);
	stop(h);
	close_aborted();
}

/* R9 for what a claim guards: the reader is tied to the claimer, not to other readers. */
static void readers_of_a_claim_are_not_tied_to_each_other(void)
{
	handle_t *h[3];
	tid_t word = 0, claimer;

	OPEN(.lanes = 3);
	change(0, BLOCK, 1);
	h[0] = start(0, 1);
	zj_journal_claim(h[0], &word, ZJ_KIND_INODE);
	claimer = word;
	stop(h[0]);
	fx.hold_lane[0] = true;
	seal(0);
	for (u32 i = 1; i < 3; i++) {
		h[i] = start(i, 1);
		put(h[i], BLOCK + i, 1);
		zj_journal_read_claimed(h[i], &word, ZJ_KIND_INODE);
		assert_int_equal(word, claimer);
	}
	assert_ptr_not_equal(handle_txn(h[1])->comp, handle_txn(h[2])->comp);
	stop(h[1]);
	stop(h[2]);
	seal(1);
	settle();
	/* Durable, but not what it has read. */
	assert_int_equal(val_after_crash(BLOCK + 1), 0);
	release();
	settle();
	assert_int_equal(val_after_crash(BLOCK + 1), 1);
	close_journal();
}

static void reader_of_an_open_claim_closes_with_it(void)
{
	tid_t word = 0, mine;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	put(a, BLOCK, 1);
	zj_journal_claim(a, &word, ZJ_KIND_INODE);
	b = start(1, 1);
	put(b, BLOCK + 1, 1);
	zj_journal_read_claimed(b, &word, ZJ_KIND_INODE);
	mine = b->h_transaction->t_tid;
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	stop(b);
	zj_journal_start_commit(fx.journal, NULL);
	let_run();
	assert_int_equal(stage_of(mine), ZJ_LOCKED);
	stop(a);
	settle();
	assert_int_equal(val_after_crash(BLOCK), 1);
	assert_int_equal(val_after_crash(BLOCK + 1), 1);
	close_journal();
}

static void kept_claims_are_few(void)
{
	tid_t word[ZJ_HANDLE_CLAIMS + 1] = { };
	handle_t *h;

	OPEN();
	h = start(0, 1);
	for (u32 i = 0; i < ZJ_HANDLE_CLAIMS; i++)
		zj_journal_claim_keep(h, &word[i], ZJ_KIND_INODE);
	expect_warning("nr == ");
	zj_journal_claim_keep(h, &word[ZJ_HANDLE_CLAIMS], ZJ_KIND_INODE);
	warned();
	assert_int_equal(h->h_nr_claims, ZJ_HANDLE_CLAIMS);
	assert_int_equal(word[ZJ_HANDLE_CLAIMS], h->h_transaction->t_tid);
	stop(h);
	close_journal();
}

/* ---- everything ---- */

static void force_commit_makes_all_lanes_committed(void)
{
	tid_t a, b, c;

	OPEN(.lanes = 3);
	a = change(0, BLOCK, 1);
	seal(0);
	b = change(1, BLOCK + 1, 1);
	c = change(2, BLOCK + 2, 1);
	assert_int_equal(zj_journal_force_commit(fx.journal), 0);
	assert_int_equal(stage_of(a), ZJ_COMMITTED);
	assert_int_equal(stage_of(b), ZJ_COMMITTED);
	assert_int_equal(stage_of(c), ZJ_COMMITTED);
	close_journal();
}

static void force_commit_inside_a_handle_warns(void)
{
	handle_t open;

	OPEN();
	/* A handle of another journal, or it would wait for itself. */
	own(&open);
	expect_warning("journal_current_handle()");
	assert_int_equal(zj_journal_force_commit(fx.journal), 0);
	own(NULL);
	warned();
	close_journal();
}

static void nested_force_commit_waits_for_sealed_ones_only(void)
{
	tid_t sealed, mine;
	handle_t *h;

	OPEN();
	sealed = change(1, BLOCK, 1);
	h = start(0, 1);
	mine = h->h_transaction->t_tid;
	own(h);
	assert_int_equal(zj_journal_force_commit_nested(fx.journal), 1);
	own(NULL);
	assert_int_equal(stage_of(sealed), ZJ_COMMITTED);
	assert_int_equal(stage_of(mine), ZJ_LOCKED);
	own(h);
	assert_int_equal(zj_journal_force_commit_nested(fx.journal), 0);
	stop(h);
	close_journal();
}

static void start_commit_says_if_there_is_anything(void)
{
	tid_t tid, newest;

	OPEN();
	assert_int_equal(zj_journal_start_commit(fx.journal, NULL), 0);
	tid = change(0, BLOCK, 1);
	assert_int_equal(zj_journal_start_commit(fx.journal, &newest), 1);
	assert_int_equal(newest, tid);
	assert_int_equal(stage_of(tid), ZJ_SEALED);
	close_journal();
}

static void data_barrier_is_promised_until_its_flush(void)
{
	tid_t tid;

	OPEN();
	tid = change(0, BLOCK, 1);
	assert_int_equal(zj_trans_will_send_data_barrier(fx.journal, tid), 1);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	assert_int_equal(zj_trans_will_send_data_barrier(fx.journal, tid), 0);
	fx.journal->j_flags |= JBD2_BARRIER;
	fx.hold_flush = true;
	seal(0);
	assert_int_equal(zj_trans_will_send_data_barrier(fx.journal, tid), 1);
	settle();
	/* In flight: it may have missed what was written meanwhile. */
	assert_int_equal(zj_trans_will_send_data_barrier(fx.journal, tid), 0);
	release();
	settle();
	assert_int_equal(zj_trans_will_send_data_barrier(fx.journal, tid), 0);
	close_journal();
}

/* ---- flush ---- */

static int flush_journal(unsigned int flags)
{
	int err;

	zj_journal_lock_updates(fx.journal);
	err = zj_journal_flush(fx.journal, flags);
	zj_journal_unlock_updates(fx.journal);
	return err;
}

static void flush_brings_all_home_and_marks_the_log_empty(void)
{
	struct image *image;

	OPEN();
	change(0, BLOCK, 1);
	change(1, BLOCK + 1, 2);
	assert_int_equal(flush_journal(0), 0);
	image = cut_power();
	assert_false(image_is_live(image));
	assert_int_equal(image_val(image, BLOCK), 1);
	assert_int_equal(image_val(image, BLOCK + 1), 2);
	image_free(image);
	/* And it goes on. */
	change(0, BLOCK, 3);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

static void flush_erases_the_log_if_asked(void)
{
	OPEN();
	change(0, BLOCK, 1);
	assert_int_equal(flush_journal(JBD2_JOURNAL_FLUSH_ZEROOUT), 0);
	for (u32 b = ZJ_LOG_FIRST; b < fx.setup.journal; b++)
		assert_int_equal(home_val(jblock(b)), 0);
	assert_int_equal(flush_journal(JBD2_JOURNAL_FLUSH_DISCARD), 0);
	change(0, BLOCK, 2);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

static void flush_erases_a_log_in_stock_format(void)
{
	OPEN(.jbd2 = true, .lanes = 1);
	change(0, BLOCK, 1);
	commit(0);
	/* It begins behind the super block. */
	assert_int_not_equal(((u8 *)fx.disk->seen[jblock(1)])[0], 0);
	assert_int_equal(flush_journal(JBD2_JOURNAL_FLUSH_ZEROOUT), 0);
	for (u32 b = 1; b < fx.setup.journal; b++)
		assert_int_equal(home_val(jblock(b)), 0);
	change(0, BLOCK, 2);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

/* The journal's inode in pieces: what is not the journal's stays. */
static u64 map_in_pieces(const struct inode *inode, u64 block)
{
	return HOME_BLOCKS + block + block / 500 * 3 + (block >= 700) + (block > 700);
}

static void flush_erases_a_journal_in_pieces(void)
{
	u32 before;
	u8 mark[DISK_BLOCK];

	make_disk(&(struct setup){ .lanes = 2, .journal = 2048 });
	fx.kit.journal.map = map_in_pieces;
	memset(mark, 0x77, sizeof(mark));
	/* Between the pieces; the last one is behind what the disk has. */
	for (u32 b = 500; b < 1500; b += 500)
		for (u32 i = 1; i <= 3; i++)
			disk_set(fx.disk, map_in_pieces(NULL, b) - i, mark);
	/* Around a piece of one block. */
	disk_set(fx.disk, map_in_pieces(NULL, 700) - 1, mark);
	disk_set(fx.disk, map_in_pieces(NULL, 700) + 1, mark);
	{
		struct zj_jbd2_super *sb = malloc(DISK_BLOCK);

		memcpy(sb, fx.disk->seen[jblock(0)], DISK_BLOCK);
		sb->s_maxlen = cpu_to_be32(1500);
		sb->s_checksum = zj_jbd2_super_csum(sb);
		disk_set(fx.disk, jblock(0), sb);
		free(sb);
	}
	assert_int_equal(mount_journal(), 0);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(flush_journal(0), 0);
	before = fx.disk->writes;
	assert_int_equal(flush_journal(JBD2_JOURNAL_FLUSH_ZEROOUT), 0);
	/* Five pieces; the device takes 32 blocks at a time. */
	assert_in_range(fx.disk->writes - before, 3, 60);
	for (u32 b = ZJ_LOG_FIRST; b < 1500; b++)
		assert_int_equal(home_val(map_in_pieces(NULL, b)), 0);
	for (u32 b = 500; b < 1500; b += 500)
		for (u32 i = 1; i <= 3; i++)
			assert_int_equal(home_val(map_in_pieces(NULL, b) - i), 0x77);
	assert_int_equal(home_val(map_in_pieces(NULL, 700) - 1), 0x77);
	assert_int_equal(home_val(map_in_pieces(NULL, 700) + 1), 0x77);
	/* The first piece cannot be erased; that the others can does not hide it. */
	fail_next_write();
	assert_int_equal(flush_journal(JBD2_JOURNAL_FLUSH_ZEROOUT), -EIO);
	close_journal();
}

static void flush_with_wrong_flags_is_refused(void)
{
	OPEN();
	assert_int_equal(flush_journal(JBD2_JOURNAL_FLUSH_VALID), -EINVAL);
	assert_int_equal(flush_journal(8), -EINVAL);
	close_journal();
}

/* ---- wake-ups that come just before the sleep ---- */

/* The lane's thread has just written something when an fsync finds it busy. */
static void fsync_of_a_busy_lane_is_woken(void)
{
	struct fiber f = { .fn = call_complete };
	bool more;
	int n = 1;

	OPEN(.lanes = 1);
	do {
		fx.hold_lane[0] = true;
		change(0, BLOCK, n);
		seal(0);
		settle();
		f.tid = change(0, BLOCK + 1, n);
		more = preempt_task_at(n++, lane(0)->task, release, &f);
		assert_int_equal(stage_of(f.tid), ZJ_COMMITTED);
	} while (more);
	assert_true(n > 20);
	close_journal();
}

/* ---- what is waited for becomes committed, goes home and is reclaimed meanwhile ---- */

static void call_wait_buffer(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	assert_int_equal(zj_journal_wait_buffer(fx.journal, bh), 0);
	brelse(bh);
}

static void call_lock_committed(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	zj_journal_lock_committed_buffer(fx.journal, bh);
	unlock_buffer(bh);
	brelse(bh);
}

static void call_force_commit(struct fiber *f)
{
	assert_int_equal(zj_journal_force_commit(fx.journal), 0);
}

static void call_commit_early(struct fiber *f)
{
	zj_journal_commit_early(fx.journal, f->tid);
}

static void call_takes_written(struct fiber *f)
{
	zj_trans_takes_written(fx.journal, f->tid, 1);
}

static void call_buffer_tid(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);
	tid_t tid = zj_journal_buffer_tid(fx.journal, bh);

	assert_true(!tid || tid == f->tid);
	brelse(bh);
}

static void call_hand_over(struct fiber *f)
{
	tid_t slot = f->tid;

	call_start(f);
	own(f->h);
	zj_journal_hand_over(f->h, &slot, ZJ_KIND_INODE);
	assert_int_equal(slot, f->h->h_transaction->t_tid);
	stop(f->h);
}

static void call_read_claimed(struct fiber *f)
{
	call_start(f);
	own(f->h);
	zj_journal_read_claimed(f->h, &f->tid, ZJ_KIND_INODE);
	stop(f->h);
}

static void call_read_dependency(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	call_start(f);
	own(f->h);
	assert_int_equal(zj_journal_read_dependency(f->h, bh), 0);
	stop(f->h);
	brelse(bh);
}

static void (*const finders[])(struct fiber *f) = {
	call_complete, call_wait_commit, call_wait_buffer, call_lock_committed, call_force_commit,
	call_commit_early, call_takes_written, call_buffer_tid, call_hand_over,
	call_read_claimed, call_read_dependency,
};

static void commit_and_ckpt(struct fiber *f)
{
	seal(0);
	sleep_ms(5);
	assert_int_equal(zj_checkpoint(fx.zj, false), 0);
}

/* ASan reports a task that reads a transaction without a reference. */
static void who_looks_for_a_transaction_keeps_it(void)
{
	bool more;
	int n;

	for (u32 i = 0; i < ARRAY_SIZE(finders); i++) {
		OPEN();
		n = 1;
		do {
			tid_t tid = change(0, BLOCK, n);

			more = preempt_at(n++, CALL(finders[i], .tid = tid, .cpu = 1,
						    .block = BLOCK), CALL(commit_and_ckpt));
			commit_and_ckpt(NULL);
			assert_int_equal(stage_of(tid), ZJ_COMMITTED);
		} while (more);
		assert_true(n > 5);
		close_journal();
	}
}

static void call_complete_and_ask(struct fiber *f)
{
	assert_int_equal(zj_complete_transaction(fx.journal, f->tid), 0);
	assert_true(zj_transaction_committed(fx.journal, f->tid));
}

/* A task that knows that a transaction is committed does not find its tid any more. */
static void tid_is_dead_before_anybody_is_answered(void)
{
	struct fiber f = { .fn = call_complete_and_ask };
	bool more;
	int n = 1;

	OPEN(.lanes = 1);
	do {
		fx.hold_lane[0] = true;
		f.tid = change(0, BLOCK, n);
		seal(0);
		settle();
		more = preempt_task_at(n++, lane(0)->task, release, &f);
	} while (more);
	assert_true(n > 20);
	close_journal();
}

/* It requests the commit of all lanes at once, and waits until all are committed. */
static void force_commit_waits_for_all_at_once(void)
{
	struct fiber *f;
	handle_t *h;
	tid_t tid;

	OPEN(.lanes = 3);
	change(0, BLOCK, 1);
	tid = change(1, BLOCK + 1, 2);
	h = start(2, 1);
	put(h, BLOCK + 2, 3);
	fx.hold_lane[0] = true;
	f = GO(call_force_commit);
	settle();
	/* The others do not wait for the first one. */
	assert_int_equal(stage_of(tid), ZJ_COMMITTED);
	release();
	settle();
	assert_false(f->done);
	stop(h);
	join(f);
	assert_int_equal(f->ret, 0);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(val_after_crash(BLOCK + i), 1 + i);
	close_journal();
}

static bool others_stop;
static u32 changes;

static void call_change_on(struct fiber *f)
{
	while (!others_stop && changes < 3000) {
		handle_t *h = zj_journal_start_in(fx.journal, f->n, 1, 0, 0, 0, 0, 0);

		zj_journal_stop(h);
		changes++;
		schedule_timeout_uninterruptible(1);
	}
}

/* A sync waits for what was there when it began, and not for what others begin meanwhile. */
static void sync_ends_while_others_go_on(void)
{
	struct fiber *other[4], *sync;

	OPEN(.lanes = 4, .cpus = 4);
	for (u32 i = 0; i < 4; i++)
		other[i] = GO(call_change_on, .cpu = i, .n = i);
	sleep_ms(50);
	changes = 0;
	sync = GO(call_force_commit);
	while (!sync->done && changes < 3000)
		sleep_ms(1);
	assert_true(changes < 100);
	others_stop = true;
	for (u32 i = 0; i < 4; i++)
		join(other[i]);
	join(sync);
	assert_int_equal(sync->ret, 0);
	close_journal();
}

static void call_change(struct fiber *f)
{
	change(1, BLOCK + 1, f->n);
}

/* It closes transactions that begin meanwhile, or does not wait for them. */
static void force_commit_leaves_nothing_to_a_timer(void)
{
	bool more;
	int n = 1;

	OPEN();
	do {
		change(0, BLOCK, n);
		more = preempt_at(n, CALL(call_force_commit), CALL(call_change, .n = n));
		n++;
	} while (more);
	assert_true(n > 10);
	close_journal();
}

static void force_commit_of_an_aborted_journal_fails(void)
{
	OPEN();
	zj_journal_abort(fx.journal, -EIO);
	assert_int_equal(zj_journal_force_commit(fx.journal), -EIO);
	close_aborted();
}

/* Its mark would expire while the lane is busy, so no flush should wait for it yet. */
static void fsync_calls_for_a_flush_when_its_lane_is_idle(void)
{
	struct fiber *f;

	OPEN();
	fx.hold_lane[0] = true;
	change(0, BLOCK, 1);
	seal(0);
	settle();
	f = GO(call_complete, .tid = change(0, BLOCK + 1, 1));
	settle();
	assert_false(f->done);
	assert_int_equal(lane(0)->flush_expected_since, 0);
	release();
	join(f);
	close_journal();
}

CORE_TESTS(sync,
	CORE_TEST(sync_ends_while_others_go_on),
	CORE_TEST(tid_is_dead_before_anybody_is_answered),
	CORE_TEST(force_commit_waits_for_all_at_once),
	CORE_TEST(force_commit_leaves_nothing_to_a_timer),
	CORE_TEST(force_commit_of_an_aborted_journal_fails),
	CORE_TEST(who_looks_for_a_transaction_keeps_it),
	CORE_TEST(fsync_of_a_busy_lane_is_woken),
	CORE_TEST(fsync_waits_for_its_closure_and_for_that_only),
	CORE_TEST(fsync_does_not_wait_for_unrelated_transactions),
	CORE_TEST(fsync_waits_for_the_members_of_its_component),
	CORE_TEST(fsync_of_what_is_committed_or_unknown_returns),
	CORE_TEST(log_wait_commit_requests_nothing),
	CORE_TEST(fsync_by_sync_tid_covers_all_lanes_that_wrote),
	CORE_TEST(hand_over_does_nothing_when_aborted),
	CORE_TEST(readers_of_a_claim_are_not_tied_to_each_other),
	CORE_TEST(reader_of_an_open_claim_closes_with_it),
	CORE_TEST(kept_claims_are_few),
	CORE_TEST(force_commit_makes_all_lanes_committed),
	CORE_TEST(force_commit_inside_a_handle_warns),
	CORE_TEST(nested_force_commit_waits_for_sealed_ones_only),
	CORE_TEST(start_commit_says_if_there_is_anything),
	CORE_TEST(data_barrier_is_promised_until_its_flush),
	CORE_TEST(flush_brings_all_home_and_marks_the_log_empty),
	CORE_TEST(flush_erases_the_log_if_asked),
	CORE_TEST(flush_erases_a_log_in_stock_format),
	CORE_TEST(flush_erases_a_journal_in_pieces),
	CORE_TEST(flush_with_wrong_flags_is_refused),
	CORE_TEST(fsync_calls_for_a_flush_when_its_lane_is_idle),
);
