// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lanes: their threads, which prefer a CPU each.
 *
 * The number of lanes does not depend on the number of CPUs. A handle's lane is
 * chosen when the handle starts and does not change. If there are more CPUs
 * than lanes, several share one. With lane_by=cgroup or dir lanes belong to no
 * CPU, and their threads run where the scheduler likes.
 */
#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "journal/journal.h"
#include "log/log.h"
#include "txn/txn.h"
#include <linux/cpumask.h>
#include <linux/ioprio.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/wait.h>

unsigned int zj_journal_lanes(journal_t *journal)
{
	return to_zj(journal)->nr_lanes;
}
EXPORT_SYMBOL_GPL(zj_journal_lanes);

unsigned int zj_journal_lane_at(journal_t *journal, int in)
{
	return zj_lane_at(to_zj(journal), in)->index;
}
EXPORT_SYMBOL_GPL(zj_journal_lane_at);

unsigned int zj_handle_lane(handle_t *handle)
{
	return handle_txn(handle)->lane->index;
}
EXPORT_SYMBOL_GPL(zj_handle_lane);

u64 *zj_journal_lane_hints(journal_t *journal, unsigned int lane)
{
	return to_zj(journal)->lanes[lane].hints;
}
EXPORT_SYMBOL_GPL(zj_journal_lane_hints);

static void lane_timer(struct timer_list *timer)
{
	struct zj_lane *lane = timer_container_of(lane, timer, timer);

	wake_up(&lane->wait_work);
}

static void lane_init(struct zj_lane *lane, struct zj_journal *zj, int index)
{
	lane->journal = zj;
	lane->index = index;
	spin_lock_init(&lane->lock);
	INIT_LIST_HEAD(&lane->to_issue);
	INIT_LIST_HEAD(&lane->flight);
	INIT_LIST_HEAD(&lane->in_hand);
	INIT_LIST_HEAD(&lane->full);
	INIT_LIST_HEAD(&lane->rsv_queue);
	INIT_LIST_HEAD(&lane->start_queue);
	lane->run = 1;
	lane->logged_at = jiffies;
	init_waitqueue_head(&lane->wait_space);
	init_waitqueue_head(&lane->wait_start);
	init_waitqueue_head(&lane->wait_work);
	init_waitqueue_head(&lane->wait_idle);
	init_waitqueue_head(&lane->wait_flush);
	zj_waits_init(&lane->waits);
	timer_setup(&lane->timer, lane_timer, 0);
}

/*
 * Tells whether lanes' threads may be bound to a CPU. They must not be if the
 * administrator keeps it for other work (isolcpus=, nohz_full=).
 */
static bool cpu_is_ours(unsigned int cpu)
{
	return cpu_online(cpu) && housekeeping_cpu(cpu, HK_TYPE_KTHREAD) &&
	       housekeeping_cpu(cpu, HK_TYPE_DOMAIN);
}

/*
 * Binding is only a preference: if the CPU is unplugged, the scheduler moves
 * the thread.
 *
 * The caller and another one, which has changed the option in between, may come
 * here at the same time. set_cpus_allowed_ptr() lets one after the other, so
 * that who comes last finds the option of the other if it looks again.
 */
static void thread_place(const struct zj_lane *lane, struct task_struct *task)
{
	const struct zj_journal *zj = lane->journal;
	unsigned int cpu = lane->index % nr_cpu_ids;
	bool unpinned, own;

	do {
		unpinned = READ_ONCE(zj->options.live.unpinned);
		own = !unpinned && zj->nr_lanes > 1 && cpu_is_ours(cpu);
		set_cpus_allowed_ptr(task, own ? cpumask_of(cpu) :
						 housekeeping_cpumask(HK_TYPE_KTHREAD));
	} while (unpinned != READ_ONCE(zj->options.live.unpinned));
}

static void lane_place(struct zj_lane *lane)
{
	thread_place(lane, lane->task);
	if (lane->flusher)
		thread_place(lane, lane->flusher);
}

/*
 * The threads place themselves: newer kernels let a thread run anywhere at its
 * first wake-up, whatever was set before.
 */
static int lane_main(void *lane)
{
	thread_place(lane, current);
	return zj_lane_thread(lane);
}

static int flusher_main(void *lane)
{
	thread_place(lane, current);
	return zj_flush_thread(lane);
}

static int thread_start(struct task_struct **to, struct task_struct *task)
{
	if (IS_ERR(task))
		return PTR_ERR(task);
	get_task_struct(task);
	*to = task;
	return 0;
}

static int lane_start(struct zj_lane *lane)
{
	struct zj_journal *zj = lane->journal;
	int err;

	err = thread_start(&lane->task,
			   kthread_create(lane_main, lane, "zj/%s:%d",
					  zj->public.j_devname, lane->index));
	if (!err && zj->options.pipeline)
		err = thread_start(&lane->flusher,
				   kthread_create(flusher_main, lane,
						  "zj/%s:%df",
						  zj->public.j_devname,
						  lane->index));
	if (err)
		return err;
	wake_up_process(lane->task);
	if (lane->flusher)
		wake_up_process(lane->flusher);
	return 0;
}

/**
 * zj_lanes_start() - allocate the lanes, and start all threads
 * @zj: the journal, geometry known
 *
 * Return: 0 or a negative error; zj_lanes_stop() and zj_lanes_free() clean up
 * then.
 */
int zj_lanes_start(struct zj_journal *zj)
{
	struct zj_lane *lanes;
	unsigned int i;
	int err;

	lanes = kvcalloc(zj->nr_lanes, sizeof(*lanes), GFP_KERNEL);
	if (!lanes)
		return -ENOMEM;
	for (i = 0; i < zj->nr_lanes; i++)
		lane_init(&lanes[i], zj, i);
	/* An abort, which lost memory may cause at any time, wakes who waits in them. */
	smp_store_release(&zj->lanes, lanes);
	for (i = 0; i < zj->nr_lanes; i++) {
		err = lane_start(&zj->lanes[i]);
		if (err)
			return err;
	}
	zj->public.j_task = zj->lanes[0].task;
	return thread_start(&zj->ckpt_task,
			    kthread_run(zj_checkpoint_thread, zj, "zj/%s:ckpt",
					zj->public.j_devname));
}

static void thread_stop(struct task_struct **from)
{
	if (!*from)
		return;
	kthread_stop(*from);
	put_task_struct(*from);
	*from = NULL;
}

/**
 * zj_lanes_stop() - stop all threads
 * @zj: the journal
 *
 * Transactions that are sealed and not written stay so.
 */
void zj_lanes_stop(struct zj_journal *zj)
{
	unsigned int i;

	thread_stop(&zj->ckpt_task);
	zj->public.j_task = NULL;
	for (i = 0; zj->lanes && i < zj->nr_lanes; i++) {
		struct zj_lane *lane = &zj->lanes[i];

		/*
		 * In this order, because the flush thread waits for what the
		 * lane's thread sends out.
		 */
		thread_stop(&lane->task);
		thread_stop(&lane->flusher);
		timer_shutdown_sync(&lane->timer);
	}
}

/* Checks that all counters are back at 0 when everything is home. */
static void check_idle(struct zj_lane *lane)
{
	struct zj_journal *zj = lane->journal;

	ZJ_ASSERT(zj, !lane->unwritten && list_empty(&lane->to_issue));
	ZJ_ASSERT(zj, list_empty(&lane->flight) && !lane->run_len);
	ZJ_ASSERT(zj, list_empty(&lane->rsv_queue));
	ZJ_ASSERT(zj, list_empty(&lane->start_queue));
	ZJ_ASSERT(zj, list_empty(&lane->full));
	ZJ_ASSERT(zj, list_empty(&lane->waits.now));
	ZJ_ASSERT(zj, !lane->depth);
	ZJ_ASSERT(zj, !atomic_read(&lane->copies));
	ZJ_ASSERT(zj, !lane->nr_sealed);
	ZJ_ASSERT(zj, !lane->sealed_credits);
	ZJ_ASSERT(zj, !lane->last_sealed);
	ZJ_ASSERT(zj, !lane->promised);
	ZJ_ASSERT(zj, !lane->rsv_credits);
	ZJ_ASSERT(zj, !lane->starts_waiting);
}

static void free_spares(struct zj_lane *lane)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(lane->spare); i++)
		if (lane->spare[i])
			kmem_cache_free(lane->journal->frozen_cache, lane->spare[i]);
}

static void check_all_home(struct zj_journal *zj)
{
	struct zj_comp_stats st;

	zj_comp_stats(zj, &st);
	ZJ_ASSERT(zj, list_empty(&zj->finishing));
	ZJ_ASSERT(zj, !zj->undirty);
	ZJ_ASSERT(zj, zj->ckpt_stamp == zj->stamp);
	ZJ_ASSERT(zj, zj->committed_stamp == zj->stamp);
	ZJ_ASSERT(zj, !zj->pass);
	ZJ_ASSERT(zj, !zj->pass_left);
	ZJ_ASSERT(zj, st.awaited == st.resolved);
}

void zj_lanes_free(struct zj_journal *zj)
{
	unsigned int i;

	/*
	 * An aborted journal may have left transactions unwritten, so these
	 * checks would fail.
	 */
	for (i = 0; zj->lanes && i < zj->nr_lanes && !zj_aborted(zj); i++)
		check_idle(&zj->lanes[i]);
	if (!zj_aborted(zj))
		check_all_home(zj);
	for (i = 0; zj->lanes && i < zj->nr_lanes; i++)
		free_spares(&zj->lanes[i]);
	kvfree(zj->lanes);
	zj->lanes = NULL;
}

/**
 * zj_lanes_place() - place the threads anew after the option "unpinned" has
 * changed
 * @zj: loaded or not
 *
 * Tenants are forgotten, too.
 *
 * Context: sleeps; one caller at a time.
 */
void zj_lanes_place(struct zj_journal *zj)
{
	unsigned int i;

	if (zj->tenants)
		zj_tenants_forget(zj);
	for (i = 0; zj->lanes && i < zj->nr_lanes; i++)
		if (zj->lanes[i].task)
			lane_place(&zj->lanes[i]);
}

void zj_journal_set_ioprio(journal_t *journal, int ioprio)
{
	struct zj_journal *zj = to_zj(journal);
	unsigned int i;

	WRITE_ONCE(zj->log_ioprio, ioprio);
	for (i = 0; zj->lanes && i < zj->nr_lanes; i++) {
		if (zj->lanes[i].task)
			set_task_ioprio(zj->lanes[i].task, ioprio);
		if (zj->lanes[i].flusher)
			set_task_ioprio(zj->lanes[i].flusher, ioprio);
	}
	if (zj->ckpt_task)
		set_task_ioprio(zj->ckpt_task, ioprio);
}
EXPORT_SYMBOL_GPL(zj_journal_set_ioprio);
