// SPDX-License-Identifier: GPL-2.0-only
/* What users see of a journal: its objects as text, waits, and fsyncs by phase. */
#include "text.h"

/* ---- objects ---- */

static void lane_shows_what_it_runs_and_what_it_has_sealed(void)
{
	tid_t sealed, open;
	handle_t *h;

	OPEN();
	fx.hold_lane[0] = true;
	sealed = change(0, BLOCK, 1);
	seal(0);
	h = start(0, 3);
	open = h->h_transaction->t_tid;
	put(h, BLOCK + 1, 2);
	PRINT(zj_lane_to_text, lane(0));
	assert_says("lane 0: 1 not written yet");
	assert_says("transaction %u: lane 0, running, 1 open handles", open);
	assert_says("transaction %u: lane 0, sealed, 0 open handles", sealed);
	stop(h);
	release();
	commit(0);
	close_journal();
}

/* A handle of a reservation is one like others. */
static void transaction_shows_how_many_handles_it_has_had(void)
{
	handle_t *h, *rsv;

	OPEN();
	change(0, BLOCK, 1);
	h = start_more(0, 4, 3, 0);
	rsv = h->h_rsv_handle;
	h->h_rsv_handle = NULL;
	own(h);
	assert_int_equal(zj_journal_extend(h, 2, 0), 0);
	stop(h);
	assert_int_equal(zj_journal_start_reserved(rsv, 0, 0), 0);
	PRINT(zj_lane_to_text, lane(0));
	assert_says("running, 1 open handles, 3 handles, 4 credits\n");
	put(rsv, BLOCK + 1, 1);
	seal(0);
	PRINT(zj_lane_to_text, lane(0));
	assert_says("locked, 1 open handles, 3 handles, 4 credits\n");
	stop(rsv);
	settle();
	close_journal();
}

static void transaction_shows_parts_that_hold_up_its_seal(void)
{
	struct zj_txn *txn;
	handle_t *h;

	OPEN();
	h = start(0, 1);
	txn = handle_txn(h);
	atomic_set(&txn->crowded, 2);
	PRINT(zj_lane_to_text, lane(0));
	assert_says("1 credits, 2 crowded parts\n");
	atomic_set(&txn->crowded, 0);
	PRINT(zj_lane_to_text, lane(0));
	assert_says("1 credits\n");
	stop(h);
	close_journal();
}

static void component_shows_its_members_and_what_it_waits_for(void)
{
	handle_t *a, *b;

	OPEN(.lanes = 3);
	fx.hold_lane[2] = true;
	change(2, BLOCK + 2, 1);
	seal(2);
	a = start(0, 2);
	b = start(1, 2);
	put(a, BLOCK, 1);
	put(b, BLOCK, 2);
	put(b, BLOCK + 2, 2);
	PRINT(zj_components_to_text, fx.zj);
	assert_says("running, 2 members");
	assert_says("transaction %u: lane 0", a->h_transaction->t_tid);
	assert_says("transaction %u: lane 1", b->h_transaction->t_tid);
	assert_says("waits for stamp %llu through lane 2", fx.zj->stamp);
	assert_says("component %llu: sealed, 1 members", fx.zj->stamp);
	assert_says("component 0: running, 2 members, 1 missing");
	stop(a);
	stop(b);
	release();
	commit(0);
	PRINT(zj_components_to_text, fx.zj);
	assert_false(says("missing"));
	close_journal();
}

static void component_shows_all_that_it_waits_for(void)
{
	handle_t *h;

	OPEN(.lanes = 3);
	fx.hold_lane[1] = true;
	fx.hold_lane[2] = true;
	for (u32 i = 1; i <= 2; i++) {
		change(i, BLOCK + i, 1);
		seal(i);
	}
	h = start(0, 2);
	put(h, BLOCK + 1, 2);
	put(h, BLOCK + 2, 2);
	PRINT(zj_components_to_text, fx.zj);
	assert_says("through lane 1");
	assert_says("through lane 2");
	stop(h);
	release();
	commit(0);
	close_journal();
}

static void journal_shows_all_of_it(void)
{
	struct fiber *f;

	OPEN();
	change(0, BLOCK + 1, 1);
	commit(0);
	fx.hold_lane[0] = true;
	f = GO(call_complete, .tid = change(0, BLOCK, 1));
	settle();
	PRINT(zj_journal_to_text, fx.zj);
	assert_says("lane 0: 1 not written yet");
	assert_says("component %llu: sealed", fx.zj->stamp);
	assert_says("now lane=0 reason=committed");
	assert_says("segment ");
	assert_says("sum lane=0 fsyncs=");
	release();
	join(f);
	close_journal();
}

static void oldest_component_in_the_log_comes_last(void)
{
	const char *oldest, *open;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	h = start(1, 1);
	PRINT(zj_components_to_text, fx.zj);
	open = strstr(text, "component 0: running");
	oldest = strstr(text, "oldest in the log:\ncomponent ");
	assert_non_null(open);
	assert_true(oldest > open);
	stop(h);
	close_journal();
}

static void log_map_names_the_segment_that_a_lane_fills(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	PRINT(zj_log_map_to_text, fx.zj);
	assert_says("segments of %u blocks", fx.zj->geo.seg_blocks);
	assert_says("segment %u: being filled", lane(0)->cur->index);
	assert_says("newest stamp %llu", fx.zj->stamp);
	close_journal();
}

static void log_map_names_full_segments(void)
{
	OPEN(.lanes = 1);
	while (list_empty(&lane(0)->full)) {
		change(0, BLOCK, 1);
		commit(0);
	}
	PRINT(zj_log_map_to_text, fx.zj);
	assert_says("segment %u: full, tenure",
		    list_first_entry(&lane(0)->full, struct zj_seg, link)->index);
	close_journal();
}

static void log_map_shows_the_pool(void)
{
	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	atomic_set(&fx.zj->space_waiters, 3);
	PRINT(zj_log_map_to_text, fx.zj);
	atomic_set(&fx.zj->space_waiters, 0);
	assert_says("pool: %u free, 3 handle starts wait\n", fx.zj->nr_pool);
	assert_false(says("ring:"));
	close_journal();
}

static void log_map_names_the_next_block_of_a_ring(void)
{
	OPEN(.lanes = 1, .jbd2 = true);
	change(0, BLOCK, 1);
	commit(0);
	PRINT(zj_log_map_to_text, fx.zj);
	assert_true(fx.zj->ring.head > fx.zj->geo.log_first);
	assert_says("pool: %u free, 0 handle starts wait\nring: next block %u\n",
		    fx.zj->nr_pool, fx.zj->ring.head);
	close_journal();
}

static void text_that_does_not_fit_is_cut_off(void)
{
	struct seq_buf out;
	char small[40];

	OPEN();
	seq_buf_init(&out, small, sizeof(small));
	zj_journal_to_text(&out, fx.zj);
	assert_true(seq_buf_has_overflowed(&out));
	assert_int_equal(seq_buf_used(&out), sizeof(small));
	assert_true(memchr(small, 0, sizeof(small)));
	close_journal();
}

/* ---- waits ---- */

static void fsync_shows_for_which_transaction_it_waits(void)
{
	struct fiber *f;
	tid_t tid;

	OPEN();
	fx.hold_lane[0] = true;
	tid = change(0, BLOCK, 1);
	f = GO(call_complete, .tid = tid);
	sleep_ms(5);
	PRINT(zj_waits_to_text, lane(0));
	assert_says("now lane=0 reason=committed");
	assert_says("for=%u for_lane=0 phase=sealed pid=0 comm=fiber", tid);
	/* The transaction that the lane's thread waits for is shown as well. */
	assert_says("now lane=0 reason=record");
	PRINT(zj_waits_to_text, lane(1));
	assert_false(says("now"));
	release();
	join(f);
	PRINT(zj_waits_to_text, lane(0));
	assert_false(says("now"));
	assert_says("past lane=0 reason=committed");
	close_journal();
}

static void start_in_a_closing_lane_shows_who_keeps_it_closed(void)
{
	struct fiber *f;
	handle_t *h;
	tid_t tid;

	OPEN();
	h = start(0, 2);
	tid = h->h_transaction->t_tid;
	seal(0);
	f = GO(call_start, .cpu = 0, .n = 1);
	let_run();
	PRINT(zj_waits_to_text, lane(0));
	assert_says("now lane=0 reason=locked");
	assert_says("for=%u for_lane=0 phase=locked", tid);
	stop(h);
	join(f);
	stop(f->h);
	commit(0);
	close_journal();
}

static void barrier_shows_the_lane_that_it_waits_for(void)
{
	struct fiber *f;
	handle_t *h;

	OPEN();
	h = start(1, 2);
	f = GO(call_barrier);
	let_run();
	PRINT(zj_all_waits_to_text, fx.zj);
	assert_says("now lane=1 reason=drain");
	assert_false(says("now lane=0"));
	stop(h);
	let_run();
	f->n = 1;
	join(f);
	close_journal();
}

static void barrier_shows_that_it_waits_for_another(void)
{
	struct fiber *f;

	OPEN();
	zj_journal_lock_updates(fx.journal);
	f = GO(call_barrier, .n = 1);
	let_run();
	PRINT(zj_waits_to_text, lane(0));
	assert_says("now lane=0 reason=drain");
	zj_journal_unlock_updates(fx.journal);
	join(f);
	close_journal();
}

/* Any task may set its own name, even with a newline in it. */
static void name_of_a_task_makes_no_line(void)
{
	struct zj_wait wait;
	char old[TASK_COMM_LEN];

	OPEN();
	strscpy(old, current->comm, sizeof(old));
	strscpy(current->comm, "a b\nnow us=9\x7f", sizeof(current->comm));
	zj_wait_begin(&wait, lane(1), ZJ_WAIT_SPACE, NULL);
	PRINT(zj_waits_to_text, lane(1));
	zj_wait_end(&wait);
	strscpy(current->comm, old, sizeof(current->comm));
	assert_says("comm=a b?now us=9?\n");
	close_journal();
}

static void longest_waits_are_kept_and_shorter_ones_are_not(void)
{
	struct zj_past_wait *kept;
	struct zj_wait wait;

	OPEN();
	kept = lane(1)->waits.longest[ZJ_WAIT_SPACE];
	for (u32 i = 1; i <= 4; i++) {
		zj_wait_begin(&wait, lane(1), ZJ_WAIT_SPACE, NULL);
		sleep_ms(i == 3 ? 1 : 10 * i);
		zj_wait_end(&wait);
	}
	assert_true(max(kept[0].took, kept[1].took) >= 40 * NSEC_PER_MSEC);
	assert_in_range(min(kept[0].took, kept[1].took), 20 * NSEC_PER_MSEC,
			30 * NSEC_PER_MSEC);
	close_journal();
}

static void past_waits_of_all_reasons_are_shown(void)
{
	u32 nr = 0;

	OPEN();
	for (u32 why = 0; why < ZJ_NR_WAITS; why++) {
		struct zj_wait wait;

		zj_wait_begin(&wait, lane(1), why, NULL);
		sleep_ms(1);
		zj_wait_end(&wait);
	}
	PRINT(zj_waits_to_text, lane(1));
	for (const char *at = text; (at = strstr(at, "past lane=1 ")); at++)
		nr++;
	assert_int_equal(nr, ZJ_NR_WAITS);
	close_journal();
}

static void shown_as(const char *reason)
{
	sleep_ms(5);
	PRINT(zj_waits_to_text, lane(0));
	assert_says("now lane=0 reason=%s", reason);
}

static void commit_shows_that_it_waits_for_the_device(void)
{
	struct file file;
	handle_t *h;

	OPEN(.lanes = 1);
	file_init(&file);
	fx.hold_submit = true;
	fx.hold_block = fx.data_block = 500;
	h = start(0, 1);
	put(h, BLOCK, 1);
	zj_journal_inode_ranged_write(h, &file.jinode, 0, DISK_BLOCK);
	stop(h);
	seal(0);
	shown_as("submit");
	fx.hold_submit = false;
	shown_as("data");
	release();
	settle();
	close_journal();
	/* In stock's format log blocks come before the record. */
	OPEN(.lanes = 1, .jbd2 = true);
	fx.hold_block = jblock(fx.zj->ring.head);
	change(0, BLOCK, 1);
	seal(0);
	shown_as("log");
	close_journal();
}

static void checkpoint_shows_that_it_waits_for_the_device(void)
{
	struct fiber *f;

	OPEN(.lanes = 1);
	change(0, BLOCK, 1);
	commit(0);
	fx.hold_block = BLOCK;
	f = GO(call_full_checkpoint);
	shown_as("home");
	release();
	fx.hold_block = jblock(ZJ_BLOCK_CKPT + (fx.zj->ckpt_seq + 1) % ZJ_CKPT_SLOTS);
	shown_as("checkpoint");
	release();
	join(f);
	close_journal();
}

/* Three batches, of which a lane's thread takes one. */
static void checkpoint_shows_that_it_waits_for_helpers(void)
{
	OPEN();
	atomic_inc(&fx.zj->space_waiters);
	fx.zj->batch_size = 4;
	for (u32 stuck = 0; stuck < 12; stuck += 4) {
		handle_t *h = start(0, 12);
		struct fiber *f;

		for (u32 i = 0; i < 12; i++)
			put(h, BLOCK + i, stuck + 1);
		stop(h);
		fx.hold_block = BLOCK + stuck;
		commit(0);
		f = GO(call_checkpoint);
		shown_as("home");
		release();
		join(f);
	}
	atomic_dec(&fx.zj->space_waiters);
	close_journal();
}

/* ---- fsyncs ---- */

static void phases_of_an_fsync_add_up_to_its_time(void)
{
	const struct zj_past_fsync *slow;
	s64 sum = 0;
	tid_t tid;

	OPEN();
	tid = change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	struct fiber *f = GO(call_complete, .tid = tid);

	sleep_ms(30);
	release();
	join(f);
	slow = &lane(0)->waits.slowest[0];
	if (slow->tid != tid)
		slow++;
	assert_int_equal(slow->tid, tid);
	for (u32 i = 0; i < ZJ_NR_FSYNC_PHASES; i++)
		sum += slow->phase[i];
	assert_int_equal(sum, slow->took);
	/* It is the record that was held back. */
	assert_true(slow->phase[ZJ_FSYNC_RECORD] >= 29 * NSEC_PER_MSEC);
	assert_true(slow->phase[ZJ_FSYNC_COMMITTED] < NSEC_PER_MSEC);
	PRINT(zj_fsyncs_to_text, lane(0));
	assert_says("slow lane=0 us=");
	assert_says("tid=%u", tid);
	close_journal();
}

static s64 sum_of(enum zj_fsync_phase phase)
{
	return lane(0)->waits.phase_ns[phase];
}

static void second_fsync_waits_for_its_turn(void)
{
	struct fiber *first, *second;
	u64 before;

	OPEN(.lanes = 1);
	before = lane(0)->waits.fsyncs;
	fx.hold_lane[0] = true;
	first = GO(call_complete, .tid = change(0, BLOCK, 1));
	settle();
	second = GO(call_complete, .tid = change(0, BLOCK + 1, 1));
	sleep_ms(30);
	assert_true(sum_of(ZJ_FSYNC_TURN) < NSEC_PER_MSEC);
	release();
	join(first);
	join(second);
	assert_true(sum_of(ZJ_FSYNC_TURN) >= 29 * NSEC_PER_MSEC);
	assert_int_equal(lane(0)->waits.fsyncs, before + 2);
	close_journal();
}

static bool is_kept(tid_t tid)
{
	bool kept = false;

	for (u32 i = 0; i < ZJ_KEPT_WAITS; i++)
		kept |= lane(0)->waits.slowest[i].tid == tid;
	return kept;
}

/* One more than are kept; the shortest one goes, wherever it is. */
static void slowest_fsyncs_are_kept(void)
{
	tid_t tid[ZJ_KEPT_WAITS + 1];

	for (u32 shortest = 0; shortest <= ZJ_KEPT_WAITS; shortest++) {
		OPEN(.lanes = 1);
		for (u32 i = 0; i <= ZJ_KEPT_WAITS; i++) {
			struct fiber *f;

			tid[i] = change(0, BLOCK, i);
			fx.hold_lane[0] = true;
			f = GO(call_complete, .tid = tid[i]);
			sleep_ms(i == shortest ? 5 : 20 + i);
			release();
			join(f);
		}
		for (u32 i = 0; i <= ZJ_KEPT_WAITS; i++)
			assert_int_equal(is_kept(tid[i]), i != shortest);
		close_journal();
	}
}

CORE_TESTS(text,
	CORE_TEST(component_shows_all_that_it_waits_for),
	CORE_TEST(journal_shows_all_of_it),
	CORE_TEST(second_fsync_waits_for_its_turn),
	CORE_TEST(slowest_fsyncs_are_kept),
	CORE_TEST(lane_shows_what_it_runs_and_what_it_has_sealed),
	CORE_TEST(transaction_shows_how_many_handles_it_has_had),
	CORE_TEST(transaction_shows_parts_that_hold_up_its_seal),
	CORE_TEST(component_shows_its_members_and_what_it_waits_for),
	CORE_TEST(oldest_component_in_the_log_comes_last),
	CORE_TEST(log_map_names_the_segment_that_a_lane_fills),
	CORE_TEST(log_map_names_full_segments),
	CORE_TEST(log_map_shows_the_pool),
	CORE_TEST(log_map_names_the_next_block_of_a_ring),
	CORE_TEST(text_that_does_not_fit_is_cut_off),
	CORE_TEST(fsync_shows_for_which_transaction_it_waits),
	CORE_TEST(start_in_a_closing_lane_shows_who_keeps_it_closed),
	CORE_TEST(barrier_shows_the_lane_that_it_waits_for),
	CORE_TEST(barrier_shows_that_it_waits_for_another),
	CORE_TEST(commit_shows_that_it_waits_for_the_device),
	CORE_TEST(checkpoint_shows_that_it_waits_for_the_device),
	CORE_TEST(checkpoint_shows_that_it_waits_for_helpers),
	CORE_TEST(name_of_a_task_makes_no_line),
	CORE_TEST(longest_waits_are_kept_and_shorter_ones_are_not),
	CORE_TEST(past_waits_of_all_reasons_are_shown),
	CORE_TEST(phases_of_an_fsync_add_up_to_its_time));
