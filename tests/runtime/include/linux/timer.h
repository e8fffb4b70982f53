/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_TIMER_H
#define ZJ_RUNTIME_LINUX_TIMER_H

#include <linux/ktime.h>

struct timer_list {
	void	(*function)(struct timer_list *timer);
	u64	armed;		/* number of the event that counts; 0: none */
	bool	dead;		/* shut down */
	unsigned long expires;	/* jiffies; of add_timer(), by its caller */
};

#define timer_container_of(var, timer, field) \
	container_of(timer, __typeof__(*(var)), field)
/* Its name in older kernels, which stock jbd2 uses. */
#define from_timer(var, timer, field)	timer_container_of(var, timer, field)

void timer_setup(struct timer_list *timer,
		 void (*function)(struct timer_list *), unsigned int flags);
void mod_timer(struct timer_list *timer, unsigned long expires);
void timer_shutdown_sync(struct timer_list *timer);
void del_timer_sync(struct timer_list *timer);

#endif
