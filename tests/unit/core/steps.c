// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exact schedules: fibers that run until they wait, stops before a lock, device
 * requests that are held back.  The linker sends the calls named __wrap_* here.
 */
#include "fixture.h"
#include "wrap.h"

#define MAX_FIBERS	256
#define MAX_STOPS	8
#define MAX_HELD	256
#define DEVICE_NS	1000000		/* a request takes that long */
#define STOP_NS		100000		/* a stopped task checks again after that */

static struct fiber fibers[MAX_FIBERS];
static int nr_fibers;

/**
 * struct stop - a task is to stop before it takes a lock, or anywhere
 */
struct stop {
	struct task_struct *task;	/* NULL: unused */
	const struct kl_lock *lock;	/* NULL: every point where it could be preempted */
	int		nth;		/* times that are left */
	bool		here;		/* it has stopped */
};

static struct stop stops[MAX_STOPS];

/**
 * struct held - the end of a device request that is held back
 */
struct held {
	void	(*fn)(void *arg, u64 number);
	void	*arg;
};

static struct held held[MAX_HELD];
static int held_count;

/* ---- no switch but where the test says so ---- */

static void (*point_fn)(void);

static struct stop *stop_of(struct task_struct *task)
{
	for (int i = 0; i < MAX_STOPS; i++)
		if (stops[i].task == task)
			return &stops[i];
	return NULL;
}

/* Called at every point while a task should stop at one. */
static void refill(void)
{
	bool all = false;

	for (int i = 0; i < MAX_STOPS; i++)
		all |= stops[i].task && !stops[i].lock && !stops[i].here;
	kl_budget = all ? 0 : 2 * SELDOM;
	sim_set_granularity(all ? 0 : SELDOM);
}

static void look_again(void *arg, u64 number)
{
	struct sim_task *t = arg;

	if (stopped(&t->task))
		sim_make_runnable(t);
}

/* Neither runs nor sleeps: what it holds it keeps, and what wakes it is noted. */
static void stop_here(struct stop *s)
{
	struct task_struct *me = current;

	s->here = true;
	while (stopped(me)) {
		__real_sim_event(STOP_NS, look_again, me);
		sim_reschedule(SIM_ASLEEP);
	}
}

static void end_stop(struct stop *s)
{
	struct sim_task *t = (struct sim_task *)s->task;
	bool here = s->here;

	*s = (struct stop){ };
	if (here)
		sim_make_runnable(t);
}

void __wrap_kl_switch(void)
{
	struct stop *s = sim_running && !sim_in_irq ? stop_of(current) : NULL;
	void (*fn)(void) = point_fn;

	refill();
	point_fn = NULL;
	if (fn)
		fn();
	if (s && !s->lock && !--s->nth)
		stop_here(s);
	refill();
}

void at_point(int nth, void (*fn)(void))
{
	point_fn = fn;
	kl_budget = nth - 1;
}

bool still_to_come(void)
{
	bool to_come = point_fn;

	point_fn = NULL;
	refill();
	return to_come;
}

static bool may_run(struct task_struct *task)
{
	struct sim_task *t = (struct sim_task *)task;

	return t && t->state == SIM_RUNNABLE && !stopped(task);
}

static bool somebody_may_run(void)
{
	for (int i = 0; i < nr_fibers; i++)
		if (fibers[i].task && may_run(&fibers[i].task->task))
			return true;
	if (!fx.journal || !fx.zj->lanes)
		return false;
	for (u32 i = 0; i < fx.zj->nr_lanes; i++)
		if (may_run(lane(i)->task))
			return true;
	return may_run(fx.zj->ckpt_task);
}

void let_run(void)
{
	while (somebody_may_run())
		__real_kl_switch();
}

void sleep_ms(u32 ms)
{
	schedule_timeout_uninterruptible(ms * HZ / 1000 + 1);
}

void settle(void)
{
	sleep_ms(1000);
	let_run();
}

/* ---- fibers ---- */

static int fiber_main(void *arg)
{
	struct fiber *f = arg;

	sim_current->cpu = f->cpu;
	f->fn(f);
	f->done = true;
	return 0;
}

struct fiber *go_fiber(const struct fiber *f)
{
	struct fiber *new = &fibers[nr_fibers++];

	assert_true(nr_fibers <= MAX_FIBERS);
	*new = *f;
	new->done = false;
	new->task = sim_spawn(fiber_main, new, "fiber", f->cpu);
	return new;
}

void join(struct fiber *f)
{
	sim_join(f->task);
	f->task = NULL;
	assert_true(f->done);
}

void all_joined(void)
{
	for (int i = 0; i < nr_fibers; i++)
		assert_null(fibers[i].task);
	nr_fibers = 0;
}

void call_start(struct fiber *f)
{
	f->h = zj_journal_start(fx.journal, f->n, 0, 0, 0, 0, 0);
	f->ret = IS_ERR(f->h) ? PTR_ERR(f->h) : 0;
	own(NULL);
}

void call_stop(struct fiber *f)
{
	f->ret = stop(f->h);
}

void call_access(struct fiber *f)
{
	struct buffer_head *bh = buffer(f->block);

	own(f->h);
	f->ret = zj_journal_get_write_access(f->h, bh);
	own(NULL);
	brelse(bh);
}

void call_complete(struct fiber *f)
{
	f->ret = zj_complete_transaction(fx.journal, f->tid);
}

void call_restart(struct fiber *f)
{
	own(f->h);
	f->ret = zj_journal_restart(f->h, f->n, 0, 0);
	own(NULL);
}

void call_reserved(struct fiber *f)
{
	f->ret = zj_journal_start_reserved(f->h, 0, 0);
	own(NULL);
}

void call_forget(struct fiber *f)
{
	own(f->h);
	f->ret = zj_journal_forget(f->h, buffer(f->block));
	own(NULL);
}

void call_barrier(struct fiber *f)
{
	zj_journal_lock_updates(fx.journal);
	f->ret = 1;
	while (!READ_ONCE(f->n))
		sleep_ms(1);
	zj_journal_unlock_updates(fx.journal);
}

void call_seal(struct fiber *f)
{
	zj_try_seal(fx.zj, f->p);
}

/* ---- stops ---- */

void stop_before(struct task_struct *task, spinlock_t *lock, int nth)
{
	struct stop *s = stop_of(NULL);

	assert_non_null(s);
	assert_null(stop_of(task));
	*s = (struct stop){ .task = task, .lock = &lock->kl, .nth = nth };
}

void stop_at_point(struct task_struct *task, int nth)
{
	struct stop *s = stop_of(NULL);

	assert_non_null(s);
	assert_null(stop_of(task));
	*s = (struct stop){ .task = task, .nth = nth };
	refill();
}

/* Time for the device: for a commit and a checkpoint. */
static void run_until(struct task_struct *task, const bool *done)
{
	for (int ms = 0; ms < 12; ms++) {
		let_run();
		if (*done || stopped(task))
			return;
		sleep_ms(1);
	}
}

bool preempt_at(int nth, const struct fiber *one, const struct fiber *other)
{
	int before = nr_fibers;
	struct fiber *a = go_fiber(one), *b;
	bool there;

	stop_at_point(&a->task->task, nth);
	run_until(&a->task->task, &a->done);
	b = go_fiber(other);
	run_until(&b->task->task, &b->done);
	/* The other may have been what it waited for. */
	there = stopped(&a->task->task);
	stop_nowhere(&a->task->task);
	join(a);
	join(b);
	nr_fibers = before;
	return there;
}

bool preempt_task_at(int nth, struct task_struct *task, void (*begin)(void),
		     const struct fiber *other)
{
	const bool never = false;
	int before = nr_fibers;
	struct fiber *b;
	bool there;

	stop_at_point(task, nth);
	begin();
	run_until(task, &never);
	there = stopped(task);
	b = go_fiber(other);
	run_until(&b->task->task, &b->done);
	stop_nowhere(task);
	join(b);
	nr_fibers = before;
	settle();
	return there;
}

bool stopped(struct task_struct *task)
{
	struct stop *s = stop_of(task);

	return s && s->here;
}

void go_on(struct task_struct *task)
{
	assert_true(stopped(task));
	end_stop(stop_of(task));
}

void stop_nowhere(struct task_struct *task)
{
	struct stop *s = stop_of(task);

	if (s)
		end_stop(s);
	refill();
}

u64 locks_taken;
static struct kl_lock *counted_lock;
static u64 counted_taken;

void count_lock(spinlock_t *lock)
{
	counted_lock = &lock->kl;
	counted_taken = 0;
}

u64 lock_count(void)
{
	counted_lock = NULL;
	return counted_taken;
}

void __wrap_kl_spin_lock(struct kl_lock *l)
{
	struct task_struct *me = current;
	struct stop *s = sim_running && !sim_in_irq ? stop_of(me) : NULL;

	if (s && s->lock == l && !--s->nth)
		stop_here(s);
	locks_taken++;
	counted_taken += l == counted_lock;
	__real_kl_spin_lock(l);
}

/* ---- the device ---- */

/* The lane that a request's record is of; -1: it is none. */
static int record_lane(u32 first)
{
	const struct zj_chunk_header *h = (const void *)fx.disk->log[first].data;

	return h->magic == cpu_to_le32(ZJ_CHUNK_MAGIC) ? le32_to_cpu(h->lane) : -1;
}

static bool to_be_held(void)
{
	const struct disk_event *log = fx.disk->log;
	u32 first = now() - 1;
	int of;

	if (log[first].what == DISK_FLUSH)
		return fx.hold_flush;
	while (first && log[first - 1].what == DISK_WRITE &&
	       log[first - 1].request == log[first].request)
		first--;
	for (u32 i = first; fx.hold_block && i < now(); i++)
		if (log[i].block == fx.hold_block)
			return true;
	of = log[first].block > HOME_BLOCKS ? record_lane(first) : -1;
	return of >= 0 && fx.hold_lane[of];
}

/* Is what has just been asked for a read, or another request of the device? */
static bool is_read(void)
{
	bool read = fx.disk && fx.disk->reads_sent != fx.reads_sent;

	if (read)
		fx.reads_sent = fx.disk->reads_sent;
	return read;
}

static bool is_request(void)
{
	bool request = fx.disk && fx.disk->last_request != fx.last_request;

	if (request)
		fx.last_request = fx.disk->last_request;
	return request;
}

/* A device request has just been noted in the disk's log, if it is one but a read. */
u64 __wrap_sim_event(s64 ns, void (*fn)(void *arg, u64 number), void *arg)
{
	bool read = is_read(), other = is_request();

	if (fx.setup.at_once && (read || other) && ++fx.nr_requests % 2) {
		fn(arg, 0);
		return 0;
	}
	if (!other)
		return __real_sim_event(ns, fn, arg);
	if (!to_be_held())
		return __real_sim_event(ns ? DEVICE_NS : 0, fn, arg);
	assert_true(held_count < MAX_HELD);
	held[held_count++] = (struct held){ fn, arg };
	return 0;
}

int nr_held(void)
{
	return held_count;
}

void release(void)
{
	memset(fx.hold_lane, 0, sizeof(fx.hold_lane));
	fx.hold_block = 0;
	fx.hold_flush = false;
	for (int i = 0; i < held_count; i++)
		__real_sim_event(0, held[i].fn, held[i].arg);
	held_count = 0;
}

void fail_next_write(void)
{
	fx.disk->fail_write = fx.disk->writes + 1;
}

void fail_next_flush(void)
{
	fx.disk->fail_flush = fx.disk->flushes + 1;
}

int written(u32 block, u32 from)
{
	for (u32 i = from; i < now(); i++)
		if (fx.disk->log[i].what == DISK_WRITE &&
		    fx.disk->log[i].block == block)
			return i;
	return -1;
}

int record_written(u32 from)
{
	for (u32 i = from; i < now(); i++)
		if (fx.disk->log[i].what == DISK_WRITE &&
		    fx.disk->log[i].block >= HOME_BLOCKS + ZJ_LOG_FIRST)
			return i;
	return -1;
}

int writes_of(u32 block, u32 from)
{
	int n = 0, at;

	while ((at = written(block, from)) >= 0) {
		from = at + 1;
		n++;
	}
	return n;
}

static int end_of_flush(u64 request, u32 from)
{
	for (u32 i = from; i < now(); i++)
		if (fx.disk->log[i].what == DISK_FLUSHED &&
		    fx.disk->log[i].request == request)
			return i;
	return -1;
}

static bool flush_between(u32 from, u32 to, bool (*of)(const struct disk_event *e, u32 unit),
			  u32 unit)
{
	for (u32 i = from; i < to; i++) {
		const struct disk_event *e = &fx.disk->log[i];
		int end = e->what == DISK_FLUSH ? end_of_flush(e->request, i) : -1;

		if (end >= 0 && (u32)end < to && of(e, unit))
			return true;
	}
	return false;
}

static bool of_any(const struct disk_event *e, u32 unit)
{
	return true;
}

static bool of_unit(const struct disk_event *e, u32 unit)
{
	return e->block == unit;
}

bool flushed_between(u32 from, u32 to)
{
	return flush_between(from, to, of_any, 0);
}

bool unit_flushed_between(enum unit unit, u32 from, u32 to)
{
	return flush_between(from, to, of_unit, unit);
}

void call_checkpoint(struct fiber *f)
{
	f->ret = zj_checkpoint(fx.zj, false);
}

void call_full_checkpoint(struct fiber *f)
{
	f->ret = zj_checkpoint(fx.zj, true);
}

void call_unmount(struct fiber *f)
{
	f->ret = unmount_journal();
}

void call_flush(struct fiber *f)
{
	f->ret = zj_journal_flush_data(fx.journal);
}

void call_flush_reported(struct fiber *f)
{
	f->ret = zj_journal_flush_reported(fx.journal, 0);
}
