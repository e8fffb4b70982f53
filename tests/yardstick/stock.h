/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Linux API that stock jbd2 uses and src/ does not, over user/include and
 * tests/runtime.  Forced in before each source of the stock program; the headers that
 * jbd2 includes for these things are made empty (Makefile: EMPTY).
 */
#ifndef ZJ_YARDSTICK_STOCK_H
#define ZJ_YARDSTICK_STOCK_H

#include <stdarg.h>
#include <time.h>
#include <linux/types.h>
#include <linux/list.h>
#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <linux/timer.h>
#include <linux/ktime.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/buffer_head.h>
#include <linux/crc32c.h>

struct file;

/* ---- messages: shown with --verbose ---- */

#define KERN_EMERG	""
#define KERN_ALERT	""
#define KERN_ERR	""
#define KERN_WARNING	""
#define printk(fmt, ...)	kl_printk(4, fmt, ##__VA_ARGS__)
#define pr_emerg(fmt, ...)	kl_printk(0, fmt, ##__VA_ARGS__)
#define pr_warn(fmt, ...)	kl_printk(4, fmt, ##__VA_ARGS__)
#define pr_notice_ratelimited	pr_notice

#define BUG_ON(cond)							\
do {									\
	if (cond)							\
		kl_fail("%s:%d: BUG: %s", __FILE__, __LINE__, #cond);	\
} while (0)
#define BUG()			BUG_ON(true)
#define BUILD_BUG_ON(cond)	_Static_assert(!(cond), #cond)
#define WARN_ON(cond)		WARN_ON_ONCE(cond)

/* ---- small things ---- */

#define EXPORT_SYMBOL(x)	struct kl_module_unused
#define MODULE_DESCRIPTION(x)	struct kl_module_unused
#define MODULE_LICENSE(x)	struct kl_module_unused
#define MODULE_SOFTDEP(x)	struct kl_module_unused
#define module_init(fn)		int stock_module_init(void) { return fn(); }
#define module_exit(fn)		void stock_module_exit(void) { fn(); }

#define __must_hold(lock)
#define __acquire(lock)		do { } while (0)
#define __release(lock)		do { } while (0)
#define data_race(x)		(x)
#define smp_mb__after_atomic()	smp_mb()
#define __maybe_unused		__attribute__((__unused__))
#define BITS_PER_LONG		64
#define U16_MAX			0xffff
#define BDEVNAME_SIZE		32
#define S_IRUGO			0444
#define ERR_CAST(p)		((void *)(p))
#define str_plural(n)		((n) == 1 ? "" : "s")
#define div_u64(a, b)		((u64)(a) / (u32)(b))

static inline int order_base_2(unsigned long n)
{
	return n > 1 ? ilog2(n - 1) + 1 : 0;
}

#define list_for_each(pos, head)					\
	for (pos = (head)->next; pos != (head); pos = pos->next)

static inline char *strreplace(char *s, char from, char to)
{
	for (char *c = s; *c; c++)
		if (*c == from)
			*c = to;
	return s;
}

static inline void set_bit(int bit, unsigned long *word)
{
	kl_point();
	__atomic_fetch_or(word, BIT(bit), __ATOMIC_RELAXED);
	kl_point();
}

static inline void clear_bit_unlock(int bit, unsigned long *word)
{
	kl_point();
	__atomic_fetch_and(word, ~BIT(bit), __ATOMIC_RELEASE);
	kl_point();
}

#define atomic_add(i, v)	((void)atomic_add_return(i, v))
#define atomic_sub_return(i, v)	atomic_add_return(-(i), v)
#define atomic_dec_return(v)	atomic_add_return(-1, v)

/* ---- locks ---- */

#define assert_spin_locked(l)	lockdep_assert_held(l)
#define mutex_lock_io(l)	mutex_lock(l)
#define DEFINE_MUTEX(name)	struct mutex name = { { NULL, &stock_mutex } }
extern struct kl_class stock_mutex;	/* of those that are never initialised */
#define mutex_is_locked(l)	((l)->kl.owner != NULL)
#define spin_needbreak(l)	((l)->kl.waiters != 0)
#define need_resched()		false
#define cond_resched_lock(l)						\
do {									\
	if (spin_needbreak(l)) {					\
		spin_unlock(l);						\
		cond_resched();						\
		spin_lock(l);						\
	}								\
} while (0)

/* Lockdep's handle pseudo-lock: what it would find, the deadlock check finds. */
struct lock_class_key {
	int	unused;
};

#define lockdep_register_key(k)		do { } while (0)
#define lockdep_unregister_key(k)	do { } while (0)
#define lockdep_init_map(m, n, k, s)	do { } while (0)
#define rwsem_acquire(m, s, t, i)	do { } while (0)
#define rwsem_acquire_read(m, s, t, i)	do { } while (0)
#define rwsem_release(m, i)		do { } while (0)

/* ---- waiting ---- */

#define TASK_INTERRUPTIBLE	0
#define TASK_UNINTERRUPTIBLE	0
#define HRTIMER_MODE_ABS	0

#define DEFINE_WAIT(name)	struct kl_wait name = { }
#define DEFINE_WAIT_BIT(name, word, bit)				\
	struct {							\
		struct kl_wait wq_entry;				\
	} name = { { .key = (word) } }
#define prepare_to_wait(wq, wait, state) \
	kl_wait_prepare(wq, wait, (wait)->key)
#define prepare_to_wait_exclusive(wq, wait, state) \
	kl_wait_prepare(wq, wait, (wait)->key)
#define finish_wait(wq, wait)	kl_wait_finish(wait)
#define schedule()		((void)kl_wait_sleep(KL_FOREVER))
#define bit_waitqueue(word, bit) (&kl_var_queue)
#define wake_up_bit(word, bit)	wake_up_var(word)
#define wait_on_bit_io(word, bit, state) \
	wait_var_event(word, !(READ_ONCE(*(word)) & BIT(bit)))
#define set_current_state(state) do { } while (0)
void schedule_hrtimeout(const ktime_t *expires, int mode);

#define set_freezable()		do { } while (0)
#define freezing(task)		false
#define try_to_freeze()		do { } while (0)

/* Remembers the thread, whose end the file system has to wait for. */
extern struct task_struct *stock_thread;
#undef kthread_run
#define kthread_run(fn, arg, fmt, ...)					\
({									\
	stock_thread = kthread_create(fn, arg, fmt, ##__VA_ARGS__);	\
	wake_up_process(stock_thread);					\
	stock_thread;							\
})

/* ---- time ---- */

struct timespec64 {
	s64	tv_sec;
	long	tv_nsec;
};

void ktime_get_coarse_real_ts64(struct timespec64 *ts);

#define ktime_to_ns(t)		(t)
#define ktime_sub(a, b)		((a) - (b))
#define ktime_add_ns(t, ns)	((ktime_t)((t) + (ns)))
#define time_after(a, b)	((long)((b) - (a)) < 0)
#define jiffies_to_msecs(j)	((unsigned int)((j) * (1000 / HZ)))
#define round_jiffies_up(j)	(j)
#define MAX_JIFFY_OFFSET	((~0UL >> 2) - 1)

void add_timer(struct timer_list *timer);

/* ---- memory ---- */

#define __GFP_FS		8u
#define SLAB_HWCACHE_ALIGN	0u
#define SLAB_TEMPORARY		0u
#define SLAB_TYPESAFE_BY_RCU	0u
#define ZERO_OR_NULL_PTR(p)	(!(p))
#define kmalloc_array(n, size, flags)	zj_user_alloc(n, size, flags)
#define get_order(size)		((unsigned int)(size))
#define __get_free_pages(flags, size) \
	((unsigned long)aligned_alloc(PAGE_SIZE, size))
#define free_pages(p, size)	free((void *)(p))

struct shrink_control {
	unsigned long	nr_to_scan;
};

/**
 * struct shrinker - memory is never short here
 */
struct shrinker {
	unsigned long	(*count_objects)(struct shrinker *s,
					 struct shrink_control *sc);
	unsigned long	(*scan_objects)(struct shrinker *s,
					struct shrink_control *sc);
	void		*private_data;	/* the owner's */
};

#define shrinker_alloc(flags, fmt, ...)	\
	((struct shrinker *)kzalloc(sizeof(struct shrinker), GFP_KERNEL))
#define shrinker_register(s)	do { } while (0)
#define shrinker_free(s)	kfree(s)
#define SHRINK_STOP		(~0UL)

struct percpu_counter {
	s64	count;
};

static inline int percpu_counter_init(struct percpu_counter *c, s64 n, gfp_t gfp)
{
	c->count = n;
	return 0;
}

#define percpu_counter_destroy(c)	do { } while (0)
#define percpu_counter_inc(c)		((void)(c)->count++)
#define percpu_counter_dec(c)		((void)(c)->count--)
#define percpu_counter_read_positive(c)	max_t(s64, (c)->count, 0)

/* ---- buffers and folios ---- */

typedef void bh_end_io_t(struct buffer_head *bh, int uptodate);

#define getblk_unmovable(bdev, block, size)	__getblk(bdev, block, size)
#define __bforget(bh)		bforget(bh)
#define trylock_buffer(bh)	(!test_set_buffer_locked(bh))

struct buffer_head *alloc_buffer_head(gfp_t gfp);
void free_buffer_head(struct buffer_head *bh);
void submit_bh(blk_opf_t opf, struct buffer_head *bh);
void end_buffer_read_sync(struct buffer_head *bh, int uptodate);
void end_buffer_write_sync(struct buffer_head *bh, int uptodate);
/* 1: was up to date; 0: is now; or an error. */
int bh_read(struct buffer_head *bh, blk_opf_t opf);
void bh_read_nowait(struct buffer_head *bh, blk_opf_t opf);
void bh_readahead_batch(int nr, struct buffer_head *bhs[], blk_opf_t opf);

/*
 * A folio is a block's (the simulator), or names allocated memory: then it is the
 * address of its first byte with the lowest bit set, and the offset is zero.
 */
static inline struct folio *virt_to_folio(const void *p)
{
	return (struct folio *)((uintptr_t)p | 1);
}

#define offset_in_folio(folio, p)	((size_t)0)
#define bh_offset(bh)			((size_t)0)

static inline void *kmap_local_folio(struct folio *folio, size_t offset)
{
	if ((uintptr_t)folio & 1)
		return (char *)((uintptr_t)folio & ~1UL) + offset;
	return folio->private->b_data + offset;
}

#define kunmap_local(p)		do { } while (0)
#define flush_dcache_folio(f)	do { } while (0)
#define memcpy_from_folio(to, folio, offset, n) \
	memcpy(to, kmap_local_folio(folio, offset), n)

static inline void folio_set_bh(struct buffer_head *bh, struct folio *folio,
				size_t offset)
{
	bh->b_folio = folio;
	bh->b_data = kmap_local_folio(folio, offset);
}

#define folio_get(f)		do { } while (0)
#define folio_put(f)		do { } while (0)
#define folio_test_locked(f)	((f)->locked != NULL)
bool folio_trylock(struct folio *folio);
void folio_unlock(struct folio *folio);
#define flush_dcache_page(p)	do { } while (0)

/* The yardstick truncates no folio: stock asks for this of an unmapped range. */
#define truncate_inode_pages_range(m, from, to)	do { } while (0)
#define bdev_max_discard_sectors(bdev)	0u

/* ---- checksums ---- */

struct crypto_shash {
	int	unused;
};

struct shash_desc {
	struct crypto_shash *tfm;
};

extern struct crypto_shash stock_crc32c;

#define crypto_alloc_shash(name, type, mask)	(&stock_crc32c)
#define crypto_free_shash(tfm)			do { } while (0)
#define crypto_shash_descsize(tfm)		4

/* The state comes after the description. */
static inline int crypto_shash_update(struct shash_desc *desc, const void *data,
				      unsigned int len)
{
	u32 *state = (u32 *)(desc + 1);

	*state = crc32c(*state, data, len);
	return 0;
}

/* ---- proc: not used ---- */

struct seq_file {
	void	*private;
};

struct seq_operations {
	void	*(*start)(struct seq_file *seq, loff_t *pos);
	void	(*stop)(struct seq_file *seq, void *v);
	void	*(*next)(struct seq_file *seq, void *v, loff_t *pos);
	int	(*show)(struct seq_file *seq, void *v);
};

struct file {
	void	*private_data;
};

struct proc_ops {
	int	(*proc_open)(struct inode *inode, struct file *file);
	void	*proc_read;
	void	*proc_lseek;
	int	(*proc_release)(struct inode *inode, struct file *file);
};

#define SEQ_START_TOKEN			((void *)1)
#define seq_printf(seq, fmt, ...)	do { } while (0)
#define seq_open(file, ops)		(-ENODEV)
#define seq_release(inode, file)	0
#define seq_read			NULL
#define seq_lseek			NULL
#define pde_data(inode)			NULL
#define proc_mkdir(name, parent)	((struct proc_dir_entry *)NULL)
#define proc_create_data(n, m, p, o, d)	do { } while (0)
#define remove_proc_entry(name, parent)	do { } while (0)

/* ---- tracepoints ---- */

#define trace_jbd2_submit_inode_data(...)	do { } while (0)
#define trace_jbd2_handle_start(...)		do { } while (0)
#define trace_jbd2_handle_restart(...)		do { } while (0)
#define trace_jbd2_handle_extend(...)		do { } while (0)
#define trace_jbd2_handle_stats(...)		do { } while (0)
#define trace_jbd2_write_superblock(...)	do { } while (0)
#define trace_jbd2_update_log_tail(...)		do { } while (0)
#define trace_jbd2_start_commit(...)		do { } while (0)
#define trace_jbd2_commit_locking(...)		do { } while (0)
#define trace_jbd2_commit_flushing(...)		do { } while (0)
#define trace_jbd2_commit_logging(...)		do { } while (0)
#define trace_jbd2_end_commit(...)		do { } while (0)
#define trace_jbd2_drop_transaction(...)	do { } while (0)
#define trace_jbd2_run_stats(...)		do { } while (0)
#define trace_jbd2_lock_buffer_stall(...)	do { } while (0)
#define trace_jbd2_checkpoint(...)		do { } while (0)
#define trace_jbd2_checkpoint_stats(...)	do { } while (0)
#define trace_jbd2_shrink_count(...)		do { } while (0)
#define trace_jbd2_shrink_scan_enter(...)	do { } while (0)
#define trace_jbd2_shrink_scan_exit(...)	do { } while (0)
#define trace_jbd2_shrink_checkpoint_list(...)	do { } while (0)

#endif
