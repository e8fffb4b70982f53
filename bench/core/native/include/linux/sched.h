/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_NATIVE_LINUX_SCHED_H
#define ZJ_NATIVE_LINUX_SCHED_H

#include_next <linux/sched.h>

/* A task's number stands for its CPU, so that a lane has one task if there are enough. */
extern __thread unsigned int kl_cpu;
#define raw_smp_processor_id()	kl_cpu

#endif
