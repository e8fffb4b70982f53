// SPDX-License-Identifier: GPL-2.0-only
/* lane.c and journal.c: how many lanes there are, and which handle uses which. */
#include <linux/ioprio.h>
#include "fixture.h"
#include <linux/sched/isolation.h>

static struct zj_lane *lane_of(handle_t *h)
{
	return handle_txn(h)->lane;
}

static void auto_is_one_lane_for_each_cpu(void)
{
	OPEN(.lanes = 0, .cpus = 3);
	assert_int_equal(fx.zj->nr_lanes, 3);
	close_journal();
}

static void cpus_beyond_the_lanes_share(void)
{
	handle_t *h;

	OPEN(.lanes = 2, .cpus = 5);
	for (u32 cpu = 0; cpu < 5; cpu++) {
		h = start(cpu, 1);
		assert_ptr_equal(lane_of(h), lane(cpu % 2));
		stop(h);
	}
	close_journal();
}

static void lanes_beyond_the_cpus_stay_idle(void)
{
	handle_t *h;

	OPEN(.lanes = 4, .cpus = 2);
	assert_int_equal(fx.zj->nr_lanes, 4);
	for (u32 cpu = 0; cpu < 2; cpu++) {
		h = start(cpu, 1);
		assert_ptr_equal(lane_of(h), lane(cpu));
		stop(h);
	}
	assert_null(lane(2)->running);
	assert_null(lane(3)->running);
	assert_int_equal(zj_journal_force_commit(fx.journal), 0);
	close_journal();
}

static void handle_keeps_its_lane(void)
{
	handle_t *h;

	OPEN();
	h = start(0, 2);
	sim_current->cpu = 1;
	put(h, BLOCK, 1);
	own(h);
	assert_int_equal(zj_journal_extend(h, 1, 0), 0);
	own(NULL);
	assert_ptr_equal(lane_of(h), lane(0));
	stop(h);
	assert_null(lane(1)->running);
	close_journal();
}

static void small_journal_has_fewer_lanes(void)
{
	OPEN(.lanes = 64, .journal = 1024);
	assert_true(fx.zj->nr_lanes < 64);
	assert_true(fx.zj->nr_lanes >= 1);
	assert_true(said("has room for only"));
	/* Three segments a lane, besides the largest handle. */
	assert_true(fx.zj->geo.nr_segs >= 3 * fx.zj->nr_lanes);
	close_journal();
}

static void largest_handle_does_not_depend_on_the_lanes(void)
{
	u32 one;

	OPEN(.lanes = 1, .journal = 4096);
	one = fx.zj->max_credits;
	close_journal();
	OPEN(.lanes = 8, .journal = 4096);
	/* Except for what is lost by rounding to whole segments. */
	assert_true(fx.zj->max_credits >= one - one / 8);
	stop(start(7, fx.zj->max_credits));
	close_journal();
}

static void journal_of_8192_blocks_holds_a_resize(void)
{
	OPEN(.lanes = 4, .journal = 8192);
	assert_true(fx.zj->max_credits >= 1100);
	close_journal();
}

static void too_small_a_journal_is_refused(void)
{
	make_disk(&(struct setup){ .lanes = 1, .journal = 60 });
	assert_int_equal(mount_journal(), -ENOSPC);
	assert_true(said("too small"));
	assert_true(said("tune2fs"));
	assert_int_equal(now(), 0);
	discard_disk();
}

static void lanes_are_limited(void)
{
	make_disk(&(struct setup){ .lanes = 100000, .cpus = 2, .journal = 2048 });
	assert_int_equal(mount_journal(), 0);
	assert_true(fx.zj->nr_lanes <= ZJ_MAX_LANES);
	close_journal();
}

static void every_lane_has_a_thread_that_prefers_its_cpu(void)
{
	OPEN(.lanes = 3, .cpus = 2);
	for (u32 i = 0; i < 3; i++) {
		struct sim_task *t = (struct sim_task *)lane(i)->task;
		char name[24];

		snprintf(name, sizeof(name), "zj/sim-8:%d", i);
		assert_string_equal(t->task.comm, name);
		assert_int_equal(t->cpu, i % 2);
	}
	assert_ptr_equal(fx.journal->j_task, lane(0)->task);
	assert_string_equal(fx.zj->ckpt_task->comm, "zj/sim-8:ckpt");
	close_journal();
}

/* Threads do not run on a CPU that the administrator has isolated. */
static void threads_keep_off_an_isolated_cpu(void)
{
	kl_isolated_cpu = 1;
	OPEN(.lanes = 3);
	assert_int_equal(((struct sim_task *)lane(0)->task)->allowed, 0);
	assert_int_equal(((struct sim_task *)lane(1)->task)->allowed, KL_ANY_CPU);
	assert_int_equal(((struct sim_task *)lane(2)->task)->allowed, 2);
	kl_isolated_cpu = KL_ANY_CPU;
	close_journal();
}

/* Each lane's, those that flush, and the checkpoint's. */
static void io_of_all_threads_has_the_priority(void)
{
	OPEN(.lanes = 3, .pipeline = true);
	kl_ioprio_calls = 0;
	zj_journal_set_ioprio(fx.journal, 5);
	assert_int_equal(kl_ioprio_calls, 3 * 2 + 1);
	close_journal();
	OPEN(.lanes = 2);
	kl_ioprio_calls = 0;
	zj_journal_set_ioprio(fx.journal, 5);
	assert_int_equal(kl_ioprio_calls, 2 + 1);
	close_journal();
}

static void lanes_write_in_parallel(void)
{
	OPEN(.lanes = 4);
	for (u32 i = 0; i < 4; i++) {
		change(i, BLOCK + i, 1);
		fx.hold_lane[i] = true;
		seal(i);
	}
	settle();
	assert_int_equal(nr_held(), 4);
	close_journal();
}

static void lanes_never_mix_in_a_segment(void)
{
	struct log log;
	const struct zj_rec_chunk *c;

	OPEN(.lanes = 4, .journal = 4096);
	for (u32 i = 0; i < 40; i++) {
		change(i % 4, BLOCK + i, 1);
		commit(i % 4);
	}
	/* Recovery would refuse the log if they did; look all the same. */
	log_read(&log);
	c = log.r.chunks.items;
	for (u32 i = 0; i < log.r.chunks.nr; i++)
		for (u32 k = 0; k < i; k++)
			if (zj_seg_of(&log.r, c[i].log_block) ==
			    zj_seg_of(&log.r, c[k].log_block))
				assert_int_equal(c[i].lane, c[k].lane);
	assert_int_equal(log.r.chunks.nr, 40);
	log_free(&log);
	close_journal();
}

static void lanes_are_reported_to_the_file_system(void)
{
	u64 *hints;
	handle_t *h;

	OPEN(.lanes = 3);
	assert_int_equal(zj_journal_lanes(fx.journal), 3);
	/* Named, or of the CPU that the caller runs on. */
	assert_int_equal(zj_journal_lane_at(fx.journal, 2), 2);
	assert_int_equal(zj_journal_lane_at(fx.journal, -1), 0);
	h = start(1, 1);
	assert_int_equal(zj_handle_lane(h), 1);
	stop(h);
	/* Each has hints of its own, which stay. */
	hints = zj_journal_lane_hints(fx.journal, 1);
	for (u32 i = 0; i < ZJ_LANE_HINTS; i++) {
		assert_int_equal(hints[i], 0);
		hints[i] = 7;
	}
	assert_int_equal(zj_journal_lane_hints(fx.journal, 0)[0], 0);
	assert_int_equal(zj_journal_lane_hints(fx.journal, 2)[0], 0);
	commit(1);
	assert_int_equal(zj_journal_lane_hints(fx.journal, 1)[ZJ_LANE_HINTS - 1], 7);
	close_journal();
}

CORE_TESTS(lane,
	CORE_TEST(auto_is_one_lane_for_each_cpu),
	CORE_TEST(cpus_beyond_the_lanes_share),
	CORE_TEST(lanes_beyond_the_cpus_stay_idle),
	CORE_TEST(handle_keeps_its_lane),
	CORE_TEST(small_journal_has_fewer_lanes),
	CORE_TEST(largest_handle_does_not_depend_on_the_lanes),
	CORE_TEST(journal_of_8192_blocks_holds_a_resize),
	CORE_TEST(too_small_a_journal_is_refused),
	CORE_TEST(lanes_are_limited),
	CORE_TEST(every_lane_has_a_thread_that_prefers_its_cpu),
	CORE_TEST(threads_keep_off_an_isolated_cpu),
	CORE_TEST(io_of_all_threads_has_the_priority),
	CORE_TEST(lanes_write_in_parallel),
	CORE_TEST(lanes_never_mix_in_a_segment),
	CORE_TEST(lanes_are_reported_to_the_file_system),
);
