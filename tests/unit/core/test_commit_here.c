// SPDX-License-Identifier: GPL-2.0-only
/* commit.c: a task that syncs commits in place of its lane's thread. */
#include "fixture.h"
#include <linux/sched.h>

#define HERE(...)	OPEN(.by_task = true, ##__VA_ARGS__)

static void call_force(struct fiber *f)
{
	f->ret = zj_journal_force_commit(fx.journal);
}

/* An fsync of a changed block, as far as it gets. */
static struct fiber *fsync_in(u32 lane, u32 block, u8 val)
{
	struct fiber *f = GO(call_complete, .cpu = lane, .tid = change(lane, block, val));

	settle();
	return f;
}

/* The lane's thread stops before it looks for work. */
static void catch_thread(u32 i)
{
	settle();
	stop_before(lane(i)->task, &lane(i)->lock, 1);
}

static bool caught(u32 i)
{
	return stopped(lane(i)->task);
}

static void assert_idle(u32 i)
{
	assert_int_equal(lane(i)->unwritten, 0);
	assert_false(lane(i)->committing);
}

static void no_thread_is_woken(void)
{
	for (u32 nvm = 0; nvm < 2; nvm++) {
		HERE(.lanes = 2, .nvm = nvm ? 4 << 20 : 0);
		catch_thread(0);
		for (u32 i = 1; i <= 3; i++) {
			join(fsync_in(0, BLOCK, i));
			assert_int_equal(val_after_crash(BLOCK), i);
		}
		assert_false(caught(0));
		assert_idle(0);
		stop_nowhere(lane(0)->task);
		close_journal();
	}
}

/* Others of the lane would wait for a task that gets no CPU, or that waits for their memory. */
static void call_as(struct fiber *f)
{
	u32 flags = current->flags;

	switch (f->n) {
	case 0: current->nice = 1; break;
	case 1: current->policy = SCHED_IDLE; break;
	case 2: current->flags |= PF_MEMALLOC; break;
	case 3: current->nice = -1; break;
	}
	call_complete(f);
	current->flags = flags;
}

static void thread_commits_for_tasks_that_others_should_not_wait_for(void)
{
	for (int as = 0; as <= 3; as++) {
		struct fiber *f;

		HERE(.lanes = 1);
		catch_thread(0);
		f = GO(call_as, .n = as, .tid = change(0, BLOCK, 1));
		settle();
		assert_int_equal(caught(0), as < 3);
		assert_int_equal(f->done, as == 3);
		if (caught(0))
			go_on(lane(0)->task);
		else
			stop_nowhere(lane(0)->task);
		join(f);
		assert_int_equal(val_after_crash(BLOCK), 1);
		close_journal();
	}
}

static void thread_commits_if_commits_overlap_or_if_it_is_to(void)
{
	for (u32 pipeline = 0; pipeline < 2; pipeline++) {
		struct fiber *f;

		OPEN(.lanes = 1, .pipeline = pipeline, .by_task = pipeline);
		catch_thread(0);
		f = fsync_in(0, BLOCK, 1);
		assert_true(caught(0));
		go_on(lane(0)->task);
		join(f);
		close_journal();
	}
}

/* While the task commits nobody else does, and afterwards the thread goes on. */
static void thread_goes_on_with_what_comes_meanwhile(void)
{
	struct fiber *f;
	tid_t later;

	HERE(.lanes = 1);
	fx.hold_lane[0] = true;
	f = fsync_in(0, BLOCK, 1);
	assert_true(lane(0)->committing);
	later = change(0, BLOCK + 1, 2);
	seal(0);
	settle();
	assert_int_equal(lane(0)->unwritten, 2);
	assert_int_equal(nr_held(), 1);
	release();
	join(f);
	settle();
	assert_int_equal(stage_of(later), ZJ_COMMITTED);
	assert_int_equal(val_after_crash(BLOCK + 1), 2);
	assert_idle(0);
	close_journal();
}

/* It would have the task's I/O priority and cgroup. What is on its way already has those that it has. */
static void thread_commits_what_has_file_data_to_send(void)
{
	int (*const add[])(handle_t *handle, struct jbd2_inode *jinode, loff_t start, loff_t len) = {
		zj_journal_inode_ranged_wait, zj_journal_inode_ranged_write,
	};

	for (int write = 0; write < 2; write++) {
		struct file file;
		struct fiber *f;
		handle_t *h;
		tid_t tid;

		HERE(.lanes = 1);
		file_init(&file);
		h = start(0, 1);
		tid = h->h_transaction->t_tid;
		put(h, BLOCK, 1);
		assert_int_equal(add[write](h, &file.jinode, 0, 10), 0);
		stop(h);
		catch_thread(0);
		f = GO(call_complete, .tid = tid);
		settle();
		assert_int_equal(caught(0), write);
		assert_int_equal(f->done, !write);
		if (write)
			go_on(lane(0)->task);
		else
			stop_nowhere(lane(0)->task);
		join(f);
		assert_idle(0);
		assert_int_equal(val_after_crash(BLOCK), 1);
		close_journal();
	}
}

/* What was logged has to be written home, and tasks wait for the space. */
static void thread_writes_home_after_a_task_has_committed(void)
{
	struct fiber *f;
	tid_t tid;

	HERE(.lanes = 1);
	tid = change(0, BLOCK, 1);
	catch_thread(0);
	/* It would begin another pass, and call for help. */
	stop_before(fx.zj->ckpt_task, &fx.zj->pool_lock, 1);
	fx.zj->batch_size = 1;
	atomic_inc(&fx.zj->space_waiters);
	fx.zj->pass_left = 1;
	f = GO(call_complete, .tid = tid);
	settle();
	assert_true(f->done);
	assert_true(caught(0));
	fx.zj->pass_left = 0;
	atomic_dec(&fx.zj->space_waiters);
	go_on(lane(0)->task);
	go_on(fx.zj->ckpt_task);
	join(f);
	close_journal();
}

/* The other member's lane has a thread of its own. */
static void members_in_other_lanes_are_committed_by_their_threads(void)
{
	handle_t *a, *b;
	struct fiber *f;
	tid_t tid;

	HERE(.lanes = 2);
	a = start(0, 1);
	b = start(1, 1);
	tid = a->h_transaction->t_tid;
	put(a, BLOCK, 1);
	put(b, BLOCK, 2);
	stop(a);
	stop(b);
	catch_thread(0);
	catch_thread(1);
	f = GO(call_complete, .tid = tid);
	settle();
	assert_false(caught(0));
	assert_true(caught(1));
	assert_idle(0);
	assert_false(f->done);
	go_on(lane(1)->task);
	join(f);
	stop_nowhere(lane(0)->task);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

/*
 * It is not full: in a lane that has a large transaction on its way it waits for that no more than
 * with a commit by the thread.
 */
static void commit_by_a_task_is_sealed_beside_a_large_one(void)
{
	struct fiber *f;
	handle_t *h, *other;
	tid_t tid;
	u32 n;

	HERE(.lanes = 2, .journal = 4096);
	n = zj_space_share(fx.zj);
	h = start(1, n);
	for (u32 i = 0; i < n; i++)
		put(h, BLOCK + i, 1);
	stop(h);
	seal_held(1);
	h = start(0, 1);
	tid = h->h_transaction->t_tid;
	other = start(1, 1);
	tie(h, other, BLOCK + n);
	stop(h);
	stop(other);
	f = GO(call_complete, .tid = tid);
	let_run();
	assert_true(stage_of(tid) >= ZJ_SEALED);
	release();
	join(f);
	close_journal();
}

static void next_task_waits_for_its_turn_and_commits(void)
{
	struct fiber *first, *second;

	HERE(.lanes = 1);
	fx.hold_lane[0] = true;
	first = fsync_in(0, BLOCK, 1);
	second = fsync_in(0, BLOCK + 1, 2);
	catch_thread(0);
	assert_false(first->done || second->done);
	assert_int_equal(lane(0)->unwritten, 1);
	release();
	join(first);
	join(second);
	assert_false(caught(0));
	stop_nowhere(lane(0)->task);
	assert_int_equal(val_after_crash(BLOCK + 1), 2);
	close_journal();
}

/* It waits for its own write, and nobody waits for the task. */
static void abort_ends_all_that_wait_for_the_task(void)
{
	struct fiber *first, *second;

	HERE(.lanes = 1);
	fx.hold_lane[0] = true;
	first = fsync_in(0, BLOCK, 1);
	second = fsync_in(0, BLOCK + 1, 2);
	zj_journal_abort(fx.journal, -EIO);
	let_run();
	join(second);
	assert_false(first->done);
	release();
	join(first);
	assert_int_equal(first->ret, -EIO);
	assert_int_equal(second->ret, -EIO);
	close_aborted();
}

/* Whoever comes at whatever moment, nothing is left that nobody commits. */
static void nothing_is_left_to_nobody(void)
{
	void (*const others[])(struct fiber *f) = { call_force, call_complete };
	bool more;
	int n;

	for (u32 i = 0; i < ARRAY_SIZE(others); i++) {
		HERE(.lanes = 1);
		n = 1;
		do {
			tid_t tid = change(0, BLOCK, n);

			more = preempt_at(n, CALL(call_complete, .tid = tid),
					  &(const struct fiber){ .fn = others[i], .tid = tid });
			settle();
			assert_idle(0);
			assert_int_equal(val_after_crash(BLOCK), (u8)n);
			n++;
		} while (more);
		assert_true(n > 20);
		close_journal();
	}
}

static void call_change_and_force(struct fiber *f)
{
	change(0, BLOCK + 1, f->n);
	call_force(f);
}

static void newer_transaction_finds_somebody_who_commits_it(void)
{
	bool more;
	int n = 1;

	HERE(.lanes = 1);
	do {
		tid_t tid = change(0, BLOCK, n);

		more = preempt_at(n, CALL(call_complete, .tid = tid),
				  CALL(call_change_and_force, .n = n));
		settle();
		assert_idle(0);
		assert_int_equal(val_after_crash(BLOCK + 1), (u8)n);
		n++;
	} while (more);
	assert_true(n > 20);
	close_journal();
}

CORE_TESTS(commit_here,
	CORE_TEST(no_thread_is_woken),
	CORE_TEST(thread_commits_for_tasks_that_others_should_not_wait_for),
	CORE_TEST(thread_commits_if_commits_overlap_or_if_it_is_to),
	CORE_TEST(thread_goes_on_with_what_comes_meanwhile),
	CORE_TEST(thread_commits_what_has_file_data_to_send),
	CORE_TEST(thread_writes_home_after_a_task_has_committed),
	CORE_TEST(members_in_other_lanes_are_committed_by_their_threads),
	CORE_TEST(commit_by_a_task_is_sealed_beside_a_large_one),
	CORE_TEST(next_task_waits_for_its_turn_and_commits),
	CORE_TEST(abort_ends_all_that_wait_for_the_task),
	CORE_TEST(nothing_is_left_to_nobody),
	CORE_TEST(newer_transaction_finds_somebody_who_commits_it),
);
