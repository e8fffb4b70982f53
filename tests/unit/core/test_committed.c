// SPDX-License-Identifier: GPL-2.0-only
/* committed.c: counting, the two phases; long chains: test_stats.c. */
#include "fixture.h"

static void committed_when_all_it_depends_on_is(void)
{
	struct zj_txn *txn;
	handle_t *h;

	OPEN(.lanes = 3);
	change(0, BLOCK, 1);
	change(1, BLOCK + 1, 1);
	fx.hold_lane[0] = true;
	fx.hold_lane[1] = true;
	seal(0);
	seal(1);
	h = start(2, 2);
	put(h, BLOCK, 2);
	put(h, BLOCK + 1, 2);
	stop(h);
	txn = running(2);
	seal(2);
	settle();
	assert_int_equal(txn->comp->missing, 2);
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	assert_int_equal(fx.nr_calls, 0);
	release();
	settle();
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	/* In the order of their stamps. */
	assert_int_equal(fx.nr_calls, 3);
	assert_int_equal(fx.call[2].tid, txn->public.t_tid);
	zj_txn_put(txn);
	close_journal();
}

static void chain_of_real_commits_becomes_committed_at_once(void)
{
	tid_t tid[ZJ_MAX_SEALED];

	OPEN(.lanes = 5);
	/* Each lane's depends on the lane's before. */
	for (u32 i = 0; i < ZJ_MAX_SEALED; i++) {
		fx.hold_lane[i] = !i;
		tid[i] = change(i, BLOCK, i + 1);
		seal(i);
	}
	settle();
	for (u32 i = 0; i < ZJ_MAX_SEALED; i++)
		assert_int_equal(stage_of(tid[i]), ZJ_SEALED);
	assert_int_equal(val_after_crash(BLOCK), 0);
	release();
	settle();
	for (u32 i = 0; i < ZJ_MAX_SEALED; i++) {
		assert_int_equal(stage_of(tid[i]), ZJ_COMMITTED);
		assert_int_equal(fx.call[i].tid, tid[i]);
	}
	assert_int_equal(val_after_crash(BLOCK), ZJ_MAX_SEALED);
	close_journal();
}

static void never_committed_when_an_ancestor_fails(void)
{
	struct fiber *f;
	struct zj_txn *txn;
	handle_t *h;

	OPEN();
	change(0, BLOCK, 1);
	fx.hold_lane[0] = true;
	seal(0);
	h = start(1, 2);
	put(h, BLOCK, 2);
	put(h, BLOCK + 1, 2);
	stop(h);
	txn = running(1);
	seal(1);
	settle();
	f = GO(call_complete, .tid = txn->public.t_tid);
	settle();
	/* Its record is durable, but what it depends on never will be. */
	zj_journal_abort(fx.journal, -EIO);
	join(f);
	assert_int_equal(f->ret, -EIO);
	settle();
	release();
	settle();
	assert_int_equal(txn->comp->stage, ZJ_SEALED);
	assert_int_not_equal(txn->public.t_state, T_FINISHED);
	assert_int_equal(fx.nr_calls, 0);
	zj_txn_put(txn);
	close_aborted();
}

/* ---- the two phases ---- */

static u32 dirtied;

static void forgets_are_done(struct buffer_head *bh)
{
	if (bh->b_blocknr != BLOCK)
		return;
	dirtied++;
	assert_false(buffer_jbd(&fx.disk->bufs[BLOCK + 1]->bh));
}

static void all_is_dirty(struct zj_txn *txn)
{
	struct buffer_head *bh = buffer(BLOCK);

	assert_true(buffer_dirty(bh));
	assert_false(buffer_jbddirty(bh));
	brelse(bh);
	assert_true(txn->stage < ZJ_FINISHED);
}

/*
 * Forgotten blocks of all members first, then dirty, then callbacks, then waiters;
 * whichever of the two is the component's first member.
 */
static void two_phases(bool writer_first)
{
	struct fiber *f;
	handle_t *a, *b;

	OPEN();
	change(1, BLOCK + 1, 1);
	commit(1);
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	forget(b, BLOCK + 1);
	/* The transaction that asks for the union comes first. */
	get_access(writer_first ? b : a, BLOCK + 2);
	get_access(writer_first ? a : b, BLOCK + 2);
	assert_ptr_equal(list_first_entry(&handle_txn(a)->comp->members,
					  struct zj_txn, comp_link),
			 handle_txn(writer_first ? a : b));
	f = GO(call_complete, .tid = a->h_transaction->t_tid);
	stop(a);
	stop(b);
	fx.on_dirty = forgets_are_done;
	fx.on_commit = all_is_dirty;
	fx.nr_calls = 0;
	join(f);
	assert_int_equal(dirtied, 1);
	assert_int_equal(fx.nr_calls, 2);
	fx.on_dirty = NULL;
	close_journal();
}

static void forgets_of_all_members_come_first(void)
{
	two_phases(true);
}

static void forgets_of_all_members_come_first_the_other_way_round(void)
{
	two_phases(false);
}

static void nothing_is_dirty_before_it_is_committed(void)
{
	struct buffer_head *bh;
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 2);
	put(a, BLOCK, 1);
	put(b, BLOCK, 1);
	put(b, BLOCK + 1, 1);
	stop(a);
	stop(b);
	fx.hold_lane[1] = true;
	seal(0);
	settle();
	bh = buffer(BLOCK);
	assert_false(buffer_dirty(bh));
	assert_true(buffer_jbddirty(bh));
	buf_write_back(fx.disk, BLOCK);
	assert_int_equal(writes_of(BLOCK, 0), 0);
	release();
	settle();
	assert_true(buffer_dirty(bh));
	brelse(bh);
	close_journal();
}

static void commit_makes_room_for_the_next_seal(void)
{
	struct zj_txn *txn;

	OPEN();
	fx.hold_lane[0] = true;
	for (u32 i = 0; i < ZJ_MAX_SEALED; i++) {
		change(0, BLOCK + i, 1);
		seal(0);
	}
	change(0, BLOCK, 2);
	txn = running(0);
	seal(0);
	assert_int_equal(txn->comp->stage, ZJ_LOCKED);
	release();
	settle();
	assert_int_equal(txn->comp->stage, ZJ_COMMITTED);
	zj_txn_put(txn);
	close_journal();
}

/* A chain of any length: others get at comp_lock after each of its components. */
static void cascade_lets_comp_lock_go_after_each(void)
{
	struct task_struct *task;
	struct zj_txn *a, *b;
	handle_t *h;

	OPEN(.lanes = 3);
	task = lane(0)->task;
	fx.hold_lane[0] = true;
	a = txn_of(change(0, BLOCK, 1));
	seal(0);
	h = start(1, 1);
	put(h, BLOCK, 2);
	b = running(1);
	stop(h);
	seal(1);
	settle();
	assert_true(depends(b, a));
	/* The first one's arrival and what depends on it; what depends on the second. */
	stop_before(task, &fx.zj->comp_lock, 2);
	release();
	settle();
	assert_true(stopped(task));
	assert_int_equal(zj_txn_comp_stage(a), ZJ_COMMITTED);
	assert_int_equal(zj_txn_comp_stage(b), ZJ_COMMITTED);
	/* None is finished yet, but a handle that touches them depends on nothing any more. */
	assert_int_equal(fx.nr_calls, 0);
	h = start(2, 1);
	put(h, BLOCK, 3);
	stop(h);
	go_on(task);
	settle();
	assert_int_equal(fx.nr_calls, 2);
	zj_txn_put(a);
	zj_txn_put(b);
	commit(2);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

static void begin_lane(void)
{
	seal(0);
}

static void call_ckpt(struct fiber *f)
{
	f->ret = zj_checkpoint(fx.zj, false);
}

/*
 * It is written home and reclaimed at any place of its commit: the thread must not read it
 * again.
 */
static void component_goes_at_any_place_of_its_commit(void)
{
	bool more;
	int n = 1;

	OPEN(.lanes = 1);
	do {
		change(0, BLOCK, n);
		more = preempt_task_at(n, lane(0)->task, begin_lane, CALL(call_ckpt));
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		/* Most of the way is the same for all. */
		n += n < 150 ? 3 : 1;
	} while (more);
	assert_true(n > 150);
	close_journal();
}

/*
 * An image that is owed to the disk, and not dirty as a newer owner may change it: by
 * this bit ext4's write-back leaves the folio dirty, else the inode could leave core.
 */
static void jbddirty_until_the_image_may_go_home(void)
{
	struct buffer_head *bh;
	handle_t *h;

	OPEN();
	bh = buffer(BLOCK);
	for (u32 changes = 0; changes < 2; changes++) {
		change(0, BLOCK, 1);
		seal(0);
		h = start(1, 1);
		get_access(h, BLOCK);
		if (changes)
			assert_int_equal(dirty(h, BLOCK, 2), 0);
		assert_true(buffer_jbddirty(bh));
		settle();
		assert_true(buffer_jbddirty(bh));
		assert_false(buffer_dirty(bh));
		stop(h);
		commit(1);
		assert_false(buffer_jbddirty(bh));
		assert_true(buffer_dirty(bh));
	}
	/* It was committed before it was touched. */
	h = start(1, 1);
	get_access(h, BLOCK);
	assert_true(buffer_jbddirty(bh));
	assert_false(buffer_dirty(bh));
	stop(h);
	commit(1);
	assert_false(buffer_jbddirty(bh));
	assert_true(buffer_dirty(bh));
	brelse(bh);
	close_journal();
}

/*
 * A newer image of the block is committed while the older one's thread is about to look for
 * its part; the second task finds none.
 */
static void newer_part_may_drop_what_is_being_finished(void)
{
	struct journal_head *jh;
	struct buffer_head *bh;
	bool more;
	int n = 1;

	do {
		OPEN();
		change(0, BLOCK, 1);
		bh = buffer(BLOCK);
		jh = zj_jh_get(bh);
		stop_before(lane(0)->task, &jh->lock, n++);
		seal(0);
		change(1, BLOCK, 9);
		seal(1);
		settle();
		more = stopped(lane(0)->task);
		stop_nowhere(lane(0)->task);
		settle();
		zj_jh_put(jh);
		brelse(bh);
		assert_int_equal(val_after_crash(BLOCK), 9);
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		assert_int_equal(home_val(BLOCK), 9);
		close_journal();
	} while (more);
	assert_true(n > 4);
}

CORE_TESTS(committed,
	CORE_TEST(jbddirty_until_the_image_may_go_home),
	CORE_TEST(component_goes_at_any_place_of_its_commit),
	CORE_TEST(cascade_lets_comp_lock_go_after_each),
	CORE_TEST(committed_when_all_it_depends_on_is),
	CORE_TEST(chain_of_real_commits_becomes_committed_at_once),
	CORE_TEST(never_committed_when_an_ancestor_fails),
	CORE_TEST(forgets_of_all_members_come_first),
	CORE_TEST(forgets_of_all_members_come_first_the_other_way_round),
	CORE_TEST(nothing_is_dirty_before_it_is_committed),
	CORE_TEST(commit_makes_room_for_the_next_seal),
	CORE_TEST(newer_part_may_drop_what_is_being_finished),
);
