/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_SCHED_H
#define ZJ_USER_LINUX_SCHED_H

#include <linux/types.h>

#define PF_MEMALLOC		0x1u
#define PF_MEMALLOC_NOFS	0x2u
#define SCHED_IDLE		5
#define TASK_COMM_LEN		24

/**
 * struct task_struct - what kernel code sees of a task
 */
struct task_struct {
	unsigned int	flags;		/* PF_* */
	unsigned int	policy;		/* SCHED_*; 0: the usual one */
	int		nice;
	void		*journal_info;	/* the file system's */
	char		comm[TASK_COMM_LEN]; /* name */
	pid_t		pid;		/* its owner's business; 0: none */
};

extern kl_thread_local struct task_struct *kl_current;
#define current		kl_current

int cond_resched(void);
long schedule_timeout_uninterruptible(long timeout);
unsigned int raw_smp_processor_id(void);
int wake_up_process(struct task_struct *task);

static inline int task_nice(const struct task_struct *task)
{
	return task->nice;
}

static inline void get_task_struct(struct task_struct *task) { }
static inline void put_task_struct(struct task_struct *task) { }

#endif
