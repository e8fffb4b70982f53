// SPDX-License-Identifier: GPL-2.0-only
/* ordered.c: R6, data that is durable before the record that points at it. */
#include "fixture.h"

static void write_range(handle_t *h, struct file *file, loff_t start, loff_t len)
{
	assert_int_equal(zj_journal_inode_ranged_write(h, &file->jinode, start,
						       len), 0);
}

static int calls(enum call_what what, tid_t tid)
{
	int n = 0;

	for (int i = 0; i < fx.nr_calls; i++)
		n += fx.call[i].what == what && fx.call[i].tid == tid;
	return n;
}

static void r6_data_is_submitted_and_waited_for(void)
{
	struct file file;
	handle_t *h;
	tid_t tid;

	OPEN();
	file_init(&file);
	h = start(0, 1);
	tid = h->h_transaction->t_tid;
	write_range(h, &file, 4096, 1024);
	write_range(h, &file, 1024, 512);
	stop(h);
	assert_int_equal(fx.nr_calls, 0);
	commit(0);
	assert_int_equal(fx.nr_calls, 3);
	assert_int_equal(fx.call[0].what, CALL_SUBMIT);
	assert_int_equal(fx.call[0].tid, tid);
	assert_ptr_equal(fx.call[0].inode, &file.inode);
	/* One range that holds both. */
	assert_int_equal(fx.call[0].start, 1024);
	assert_int_equal(fx.call[0].end, 4096 + 1024 - 1);
	assert_int_equal(fx.call[1].what, CALL_FINISH);
	assert_int_equal(fx.call[1].start, 1024);
	assert_int_equal(fx.call[2].what, CALL_COMMIT);
	assert_true(list_empty(&file.jinode.i_entries));
	close_journal();
}

static void range_of_the_first_byte_ends_there(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	file_init(&file);
	h = start(0, 1);
	write_range(h, &file, 0, 1);
	stop(h);
	commit(0);
	assert_int_equal(fx.call[0].start, 0);
	assert_int_equal(fx.call[0].end, 0);
	close_journal();
}

static void data_under_way_is_only_waited_for(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	file_init(&file);
	h = start(0, 1);
	assert_int_equal(zj_journal_inode_ranged_wait(h, &file.jinode, 0, 10), 0);
	stop(h);
	commit(0);
	assert_int_equal(fx.nr_calls, 2);
	assert_int_equal(fx.call[0].what, CALL_FINISH);
	close_journal();
}

/* Written data of the inode is flushed although no handle has taken its number. */
static void r6_what_is_waited_for_is_taken(void)
{
	u64 written = 0;
	struct file file;
	handle_t *h;
	u32 before;

	OPEN();
	report_data();
	file_init(&file);
	file.jinode.i_written = &written;
	h = start(0, 1);
	assert_int_equal(zj_journal_inode_ranged_wait(h, &file.jinode, 0, 10), 0);
	stop(h);
	before = now();
	zj_journal_inode_written(fx.journal, &written);
	commit(0);
	assert_true(flushed_between(before, record_written(before)));
	close_journal();
}

static void r6_running_owner_unites_and_takes_the_range(void)
{
	struct file file;
	handle_t *a, *b;
	tid_t ta, tb;

	OPEN();
	file_init(&file);
	a = start(0, 1);
	b = start(1, 1);
	ta = a->h_transaction->t_tid;
	tb = b->h_transaction->t_tid;
	write_range(a, &file, 0, 100);
	write_range(b, &file, 100, 100);
	assert_ptr_equal(handle_txn(a)->comp, handle_txn(b)->comp);
	stop(a);
	stop(b);
	commit(0);
	assert_int_equal(calls(CALL_SUBMIT, ta), 1);
	assert_int_equal(calls(CALL_SUBMIT, tb), 0);
	assert_int_equal(fx.call[0].end, 199);
	close_journal();
}

static void r6_sealed_owner_is_depended_on(void)
{
	struct zj_txn *old;
	struct file file;
	handle_t *h;
	tid_t tid;

	OPEN();
	file_init(&file);
	h = start(0, 1);
	write_range(h, &file, 0, 100);
	stop(h);
	old = running(0);
	seal(0);
	h = start(1, 1);
	tid = h->h_transaction->t_tid;
	write_range(h, &file, 50, 100);
	assert_true(depends(handle_txn(h), old));
	stop(h);
	commit(1);
	assert_int_equal(calls(CALL_SUBMIT, old->public.t_tid), 1);
	assert_int_equal(calls(CALL_SUBMIT, tid), 1);
	zj_txn_put(old);
	close_journal();
}

static void r6_committed_owner_is_none(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	file_init(&file);
	h = start(0, 1);
	write_range(h, &file, 0, 100);
	stop(h);
	commit(0);
	h = start(1, 1);
	write_range(h, &file, 0, 100);
	assert_int_equal(unions(1) + dependencies(1), 0);
	stop(h);
	commit(1);
	close_journal();
}

static void r6_record_waits_for_the_data_of_all_inodes(void)
{
	struct file one, two;
	handle_t *h;
	u32 before;

	OPEN();
	file_init(&one);
	file_init(&two);
	fx.data_block = 500;
	h = start(0, 1);
	put(h, BLOCK, 1);
	write_range(h, &one, 0, 10);
	write_range(h, &two, 0, 10);
	stop(h);
	before = now();
	fx.hold_block = 500;
	seal(0);
	settle();
	assert_int_equal(record_written(before), -1);
	release();
	settle();
	assert_true(record_written(before) > 0);
	assert_int_equal(writes_of(500, before), 2);
	close_journal();
}

static void released_inode_leaves_its_transactions(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	file_init(&file);
	h = start(0, 1);
	write_range(h, &file, 0, 10);
	stop(h);
	zj_journal_release_jinode(fx.journal, &file.jinode);
	assert_true(list_empty(&file.jinode.i_entries));
	commit(0);
	assert_int_equal(fx.nr_calls, 1);
	assert_int_equal(fx.call[0].what, CALL_COMMIT);
	close_journal();
}

static void call_orders(struct fiber *f)
{
	struct file *file = f->p;

	f->ret = zj_journal_inode_orders(&file->jinode, 0, 4096);
}

/* The entries are looked at under the inode's lock: one that is filed just before counts. */
static void f4_newest_ordered_data_is_told(void)
{
	struct file file;
	struct fiber *f;
	handle_t *h;

	OPEN();
	file_init(&file);
	h = start(0, 1);
	f = GO(call_orders, .p = &file);
	stop_before(&f->task->task, &file.jinode.i_lock, 1);
	let_run();
	assert_true(stopped(&f->task->task));
	write_range(h, &file, 0, 10);
	go_on(&f->task->task);
	join(f);
	assert_true(f->ret);
	stop(h);
	close_journal();
}

static void call_release(struct fiber *f)
{
	zj_journal_release_jinode(fx.journal, f->p);
}

/* Once the commit is at the next inode it has let go of the one before. */
static void release_waits_for_no_other_inode(void)
{
	struct file first, second;
	struct fiber *f;
	handle_t *h;

	OPEN();
	file_init(&first);
	file_init(&second);
	h = start(0, 1);
	own(h);
	assert_int_equal(zj_journal_inode_ranged_wait(h, &first.jinode, 0, 100), 0);
	assert_int_equal(zj_journal_inode_ranged_write(h, &second.jinode, 0, 100), 0);
	own(NULL);
	put(h, BLOCK, 1);
	stop(h);
	fx.hold_submit = true;
	seal(0);
	settle();
	f = GO(call_release, .p = &first.jinode);
	settle();
	assert_true(f->done);
	fx.hold_submit = false;
	settle();
	join(f);
	close_journal();
}

/* Acts as a caller that writes the data itself. */
static void data_without_callbacks(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	fx.journal->j_submit_inode_data_buffers = NULL;
	fx.journal->j_finish_inode_data_buffers = NULL;
	file_init(&file);
	h = start(0, 1);
	own(h);
	assert_int_equal(zj_journal_inode_ranged_write(h, &file.jinode, 0, 100), 0);
	own(NULL);
	put(h, BLOCK, 1);
	stop(h);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 1);
	zj_journal_release_jinode(fx.journal, &file.jinode);
	close_journal();
}

static void release_waits_for_a_commit_that_works_on_the_inode(void)
{
	struct file file;
	struct fiber *f;
	handle_t *h;

	OPEN();
	file_init(&file);
	fx.data_block = 500;
	h = start(0, 1);
	write_range(h, &file, 0, 10);
	stop(h);
	fx.hold_block = 500;
	seal(0);
	settle();
	f = GO(call_release, .p = &file.jinode);
	settle();
	assert_false(f->done);
	release();
	join(f);
	assert_true(list_empty(&file.jinode.i_entries));
	close_journal();
}

/* ---- errors ---- */

static void commit_with_data_error(bool submit, bool abort_on_error)
{
	struct file file;
	handle_t *h;

	file_init(&file);
	if (submit)
		fx.submit_err = -EIO;
	else
		fx.finish_err = -EIO;
	if (abort_on_error)
		fx.journal->j_flags |= JBD2_ABORT_ON_SYNCDATA_ERR;
	h = start(0, 1);
	put(h, BLOCK, 1);
	write_range(h, &file, 0, 10);
	stop(h);
	seal(0);
	settle();
	assert_true(list_empty(&file.jinode.i_entries));
}

static void data_error_is_reported_and_the_commit_goes_on(void)
{
	OPEN();
	commit_with_data_error(false, false);
	assert_false(is_journal_aborted(fx.journal));
	assert_true(said("while writing file data"));
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

static void data_error_aborts_if_ext4_wants_it(void)
{
	OPEN();
	commit_with_data_error(false, true);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(val_after_crash(BLOCK), 0);
	close_aborted();
}

static void data_that_could_not_be_sent_aborts(void)
{
	OPEN();
	commit_with_data_error(true, false);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(val_after_crash(BLOCK), 0);
	close_aborted();
}

/* ---- truncate ---- */

static void truncate_writes_what_a_sealed_transaction_waits_for(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	file_init(&file);
	assert_int_equal(zj_journal_begin_ordered_truncate(fx.journal,
							   &file.jinode, 7), 0);
	h = start(0, 1);
	write_range(h, &file, 0, 100);
	stop(h);
	assert_int_equal(zj_journal_begin_ordered_truncate(fx.journal,
							   &file.jinode, 7), 0);
	assert_int_equal(fx.nr_calls, 0);
	seal(0);
	assert_int_equal(zj_journal_begin_ordered_truncate(fx.journal,
							   &file.jinode, 7), 0);
	assert_int_equal(fx.nr_calls, 1);
	assert_int_equal(fx.call[0].what, CALL_SUBMIT);
	assert_int_equal(fx.call[0].start, 7);
	assert_int_equal(fx.call[0].end, LLONG_MAX);
	close_journal();
}

static void truncate_that_cannot_write_aborts(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	file_init(&file);
	h = start(0, 1);
	write_range(h, &file, 0, 100);
	stop(h);
	seal(0);
	fx.submit_err = -EIO;
	assert_int_equal(zj_journal_begin_ordered_truncate(fx.journal,
							   &file.jinode, 0), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	close_aborted();
}

static void finish_inode_data_waits_for_the_range(void)
{
	struct file file;

	OPEN();
	file_init(&file);
	file.jinode.i_dirty_start = 3;
	file.jinode.i_dirty_end = 9;
	fx.finish_err = -EIO;
	assert_int_equal(zj_journal_finish_inode_data(&file.jinode), -EIO);
	assert_int_equal(fx.call[0].start, 3);
	assert_int_equal(fx.call[0].end, 9);
	close_journal();
}

static void wait_range(handle_t *h, struct file *file, loff_t start, loff_t len)
{
	assert_int_equal(zj_journal_inode_ranged_wait(h, &file->jinode, start,
						      len), 0);
}

/*
 * A range that is to be written stays so when another range is only waited for, in any order.
 */
static void wait_takes_no_write_back(void)
{
	struct file file;
	handle_t *a, *b;
	tid_t tid;

	OPEN();
	file_init(&file);
	for (int write_first = 0; write_first < 2; write_first++) {
		fx.nr_calls = 0;
		a = start(0, 1);
		tid = a->h_transaction->t_tid;
		if (write_first)
			write_range(a, &file, 4096, 1024);
		wait_range(a, &file, 0, 10);
		if (!write_first)
			write_range(a, &file, 4096, 1024);
		stop(a);
		commit(0);
		assert_int_equal(calls(CALL_SUBMIT, tid), 1);
		assert_int_equal(fx.call[0].start, 0);
		assert_int_equal(fx.call[0].end, 4096 + 1024 - 1);
	}
	/* Another member's entry is as good. */
	fx.nr_calls = 0;
	a = start(0, 1);
	b = start(1, 1);
	tid = a->h_transaction->t_tid;
	wait_range(a, &file, 0, 10);
	write_range(b, &file, 100, 10);
	wait_range(b, &file, 200, 10);
	stop(a);
	stop(b);
	commit(0);
	assert_int_equal(calls(CALL_SUBMIT, tid), 1);
	close_journal();
}

/* The running transaction is the newer one: the data is the sealed one's as well. */
static void truncate_looks_at_the_oldest_transaction(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	file_init(&file);
	h = start(0, 1);
	write_range(h, &file, 0, 100);
	stop(h);
	seal(0);
	h = start(1, 1);
	write_range(h, &file, 50, 100);
	stop(h);
	assert_int_equal(zj_journal_begin_ordered_truncate(fx.journal,
							   &file.jinode, 7), 0);
	assert_int_equal(fx.nr_calls, 1);
	assert_int_equal(fx.call[0].what, CALL_SUBMIT);
	assert_int_equal(fx.call[0].start, 7);
	settle();
	/* It is committed, the other runs: the truncation will be in that one. */
	fx.nr_calls = 0;
	assert_int_equal(zj_journal_begin_ordered_truncate(fx.journal,
							   &file.jinode, 7), 0);
	assert_int_equal(fx.nr_calls, 0);
	commit(1);
	close_journal();
}

/* After an error of one inode the data of the others is still waited for. */
static void data_error_of_one_inode_skips_no_other(void)
{
	struct file one, two;
	handle_t *h;
	tid_t tid;

	OPEN();
	file_init(&one);
	file_init(&two);
	fx.finish_err = -EIO;
	h = start(0, 1);
	tid = h->h_transaction->t_tid;
	write_range(h, &one, 0, 10);
	write_range(h, &two, 0, 10);
	stop(h);
	commit(0);
	assert_int_equal(calls(CALL_SUBMIT, tid), 2);
	assert_int_equal(calls(CALL_FINISH, tid), 2);
	fx.finish_err = 0;
	close_journal();
}

/* ---- two handles of one transaction meet at an inode ---- */

static struct file shared_file;

static void call_ranged_write(struct fiber *f)
{
	own(f->h);
	write_range(f->h, &shared_file, f->n, 100);
	own(NULL);
}

/* One entry for both; the memory that the other has brought is not kept. */
static void entries_meet_anywhere(void)
{
	struct zj_inode_entry *entry;
	handle_t *a, *b;
	bool more;
	int n = 1;

	OPEN(.lanes = 2);
	for (u32 other = 0; other < 2; other++) {
		n = 1;
		do {
			file_init(&shared_file);
			a = start(0, 1);
			b = start(other, 1);
			more = preempt_at(n++, CALL(call_ranged_write, .h = a, .n = 1000),
					  CALL(call_ranged_write, .h = b, .n = 3000));
			entry = list_first_entry(&shared_file.jinode.i_entries,
						 struct zj_inode_entry, inode_link);
			assert_true(list_is_last(&entry->inode_link,
						 &shared_file.jinode.i_entries));
			assert_int_equal(entry->proxy.i_dirty_start, 1000);
			assert_int_equal(entry->proxy.i_dirty_end, 3099);
			stop(a);
			stop(b);
			assert_int_equal(zj_journal_force_commit(fx.journal), 0);
			assert_true(list_empty(&shared_file.jinode.i_entries));
		} while (more);
		assert_true(n > 5);
	}
	close_journal();
}

/* ext4's allocator does not clear it. */
static void inode_begins_with_nothing(void)
{
	struct file file;

	OPEN();
	file_init(&file);
	memset(&file.jinode, 0xa5, sizeof(file.jinode));
	zj_journal_init_jinode(&file.jinode, &file.inode);
	assert_null(file.jinode.i_transaction);
	assert_ptr_equal(file.jinode.i_vfs_inode, &file.inode);
	assert_int_equal(file.jinode.i_dirty_start, 0);
	assert_int_equal(file.jinode.i_dirty_end, 0);
	assert_true(list_empty(&file.jinode.i_entries));
	close_journal();
}

/* What is given up then needs no report. */
static void commit_that_fails_after_an_abort_says_nothing(void)
{
	struct file file;
	handle_t *h;

	OPEN();
	file_init(&file);
	h = start(0, 1);
	own(h);
	assert_int_equal(zj_journal_inode_ranged_write(h, &file.jinode, 0, 100), 0);
	own(NULL);
	put(h, BLOCK, 1);
	stop(h);
	fx.hold_submit = true;
	seal(0);
	settle();
	zj_journal_abort(fx.journal, -EIO);
	fx.submit_err = -EIO;
	fx.hold_submit = false;
	settle();
	assert_true(said("file data (data=ordered) could not be submitted"));
	assert_false(said("commit of transaction"));
	close_aborted();
}

CORE_TESTS(ordered,
	CORE_TEST(entries_meet_anywhere),
	CORE_TEST(wait_takes_no_write_back),
	CORE_TEST(truncate_looks_at_the_oldest_transaction),
	CORE_TEST(data_error_of_one_inode_skips_no_other),
	CORE_TEST(r6_data_is_submitted_and_waited_for),
	CORE_TEST(range_of_the_first_byte_ends_there),
	CORE_TEST(data_under_way_is_only_waited_for),
	CORE_TEST(r6_what_is_waited_for_is_taken),
	CORE_TEST(r6_running_owner_unites_and_takes_the_range),
	CORE_TEST(r6_sealed_owner_is_depended_on),
	CORE_TEST(r6_committed_owner_is_none),
	CORE_TEST(r6_record_waits_for_the_data_of_all_inodes),
	CORE_TEST(released_inode_leaves_its_transactions),
	CORE_TEST(f4_newest_ordered_data_is_told),
	CORE_TEST(release_waits_for_no_other_inode),
	CORE_TEST(data_without_callbacks),
	CORE_TEST(release_waits_for_a_commit_that_works_on_the_inode),
	CORE_TEST(data_error_is_reported_and_the_commit_goes_on),
	CORE_TEST(data_error_aborts_if_ext4_wants_it),
	CORE_TEST(data_that_could_not_be_sent_aborts),
	CORE_TEST(truncate_writes_what_a_sealed_transaction_waits_for),
	CORE_TEST(truncate_that_cannot_write_aborts),
	CORE_TEST(finish_inode_data_waits_for_the_range),
	CORE_TEST(inode_begins_with_nothing),
	CORE_TEST(commit_that_fails_after_an_abort_says_nothing),
);
