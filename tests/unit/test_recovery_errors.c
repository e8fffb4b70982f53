// SPDX-License-Identifier: GPL-2.0-only
/* Recovery when a read or a write fails, memory is short, or it is killed. */
#include <linux/slab.h>
#include <linux/sched/signal.h>
#include "memlog.h"
#include "tests.h"

static struct memdev *small_log(void)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' }, { 6, 'a' } });
	PUT(d, 1, .stamp = 2, .lane = 1, .deps = { 1 }, .img = { { 7, 'a' } });
	return d;
}

/* One read fails: it is tried again, but for the log super block's and those at replay. */
static void read_errors(void **state)
{
	struct memdev *d = small_log(), *c = ml_clone(d);
	u32 i, reads, failed = 0;

	assert_int_equal(ml_recover(c, false, NULL), 0);
	reads = c->reads;
	for (i = 0; i < reads; i++) {
		ml_copy(c, d);
		c->read_error_at = i;
		if (!ml_recover(c, false, NULL)) {
			ml_expect(c, 7, 'a');
			continue;
		}
		failed++;
		assert_non_null(strstr(c->error, "error -5 reading"));
		/* Nothing but images written so far, and the log is as before. */
		c->read_error_at = ML_NEVER;
		ml_power_cut(c);
		assert_int_equal(ml_recover(c, false, NULL), 0);
		ml_expect(c, 5, 'a');
		ml_expect(c, 7, 'a');
	}
	assert_true(reads > 16);
	assert_int_equal(failed, 1 + 3);
	ml_free(c);
	ml_free(d);
}

static u32 bad_write;		/* home writes until one fails, and no other */

static int write_home(void *ctx, u64 block, const void *buf)
{
	return --bad_write ? mem_ops.write_home(ctx, block, buf) : -EIO;
}

static void one_write_fails(void **state)
{
	struct memdev *d = small_log(), *c = ml_clone(d);
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.write_home = write_home;
	for (u32 n = 1; n <= 3; n++) {
		ml_copy(c, d);
		bad_write = n;
		assert_int_equal(ml_recover_with(c, &ops, 0, &s), -EIO);
		assert_non_null(strstr(c->error, "writing a block home"));
		assert_int_equal(c->writes, n - 1);
		ml_power_cut(c);
		ml_recover_ok(c, &s);
		assert_int_equal(s.replayed, 3);
	}
	ml_free(c);
	ml_free(d);
}

static void no_memory(void **state)
{
	struct memdev *d = small_log();
	unsigned long i;
	int err;

	for (i = 1; ; i++) {
		zj_fail_alloc = i;
		err = ml_recover(d, false, NULL);
		zj_fail_alloc = 0;
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_non_null(strstr(d->error, "out of memory"));
		assert_int_equal(d->writes, 0);
	}
	assert_true(i > 5);
	ml_expect(d, 5, 'a');
	ml_free(d);
}

/* The image reads well in the scan and badly at replay. */
static int fickle_read(void *ctx, u32 block, u32 nr, void *buf)
{
	struct memdev *d = ctx;
	int err = mem_ops.read_log(ctx, block, nr, buf);

	if (d->writes)
		memset(buf, 0x77, d->geo.block_size);
	return err;
}

static void image_changes_between_reads(void **state)
{
	struct memdev *d = small_log();
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.read_log = fickle_read;
	assert_int_equal(ml_recover_with(d, &ops, 0, &s), -EIO);
	assert_non_null(strstr(d->error, "second time"));
	ml_power_cut(d);
	ml_recover_ok(d, NULL);
	ml_expect(d, 6, 'a');
	ml_free(d);
}

/* Nothing is home until it is flushed; the log may be emptied only then. */
static u32 writes_before_flush;

static int noting_flush(void *ctx)
{
	writes_before_flush = ((struct memdev *)ctx)->writes;
	return mem_ops.flush_home(ctx);
}

static void order_of_writes(void **state)
{
	struct memdev *d = small_log();
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.flush_home = noting_flush;
	assert_int_equal(ml_recover_with(d, &ops, 0, &s), 0);
	assert_int_equal(writes_before_flush, 3);
	assert_int_equal(d->writes, 5);
	ml_free(d);
}

/* ---- a journal elsewhere; a kill ---- */

/* A host whose journal is not within the file system. */
static void journal_elsewhere(void **state)
{
	struct memdev *d = small_log();
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.log_home = NULL;
	assert_int_equal(ml_recover_with(d, &ops, 0, &s), 0);
	assert_int_equal(s.replayed, 3);
	ml_expect(d, 7, 'a');
	ml_free(d);
}

/* A task that is killed during a mount can end; the log is as it was before. */
static void killed_anywhere(void **state)
{
	struct memdev *d = small_log(), *c = ml_clone(d);
	u32 before = 0, after = 0;
	int err;

	for (u32 n = 1; ; n++) {
		ml_copy(c, d);
		kl_killed_in = n;
		err = ml_recover(c, false, NULL);
		kl_killed_in = 0;
		if (!err)
			break;
		assert_int_equal(err, -EINTR);
		if (c->writes)
			after++;
		else
			before++;
		ml_power_cut(c);
		ml_recover_ok(c, NULL);
		ml_expect(c, 5, 'a');
		ml_expect(c, 7, 'a');
	}
	/* Each segment, component, own block, chunk with revokes; each image. */
	assert_true(before >= 16 + 2 + c->geo.total_blocks + 2);
	assert_int_equal(after, 3);
	ml_free(c);
	ml_free(d);
}

const struct CMUnitTest recovery_errors_tests[] = {
	cmocka_unit_test(read_errors),
	cmocka_unit_test(one_write_fails),
	cmocka_unit_test(no_memory),
	cmocka_unit_test(image_changes_between_reads),
	cmocka_unit_test(order_of_writes),
	cmocka_unit_test(journal_elsewhere),
	cmocka_unit_test(killed_anywhere),
};

const size_t nr_recovery_errors_tests = ARRAY_SIZE(recovery_errors_tests);
