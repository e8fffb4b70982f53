/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages, and warnings: in user space a warning is a failure. */
#ifndef ZJ_RUNTIME_KLAYER_BUG_H
#define ZJ_RUNTIME_KLAYER_BUG_H

#include <linux/types.h>
#include <linux/compiler.h>
#include <stdarg.h>

/* Print what went wrong with the seed and the call, then end the run. */
__attribute__((__noreturn__, __format__(printf, 1, 2)))
void kl_fail(const char *fmt, ...);

/**
 * struct va_format - a format with its arguments, for %pV
 */
struct va_format {
	const char	*fmt;
	va_list		*va;
};

/* As the kernel's, with %pV and %pg, which gives this. */
extern const char kl_disk_name[];
int kl_vsnprintf(char *buf, size_t size, const char *fmt, va_list ap);
int kl_snprintf(char *buf, size_t size, const char *fmt, ...);
void kl_printk(int level, const char *fmt, ...);

#define snprintf		kl_snprintf
#define pr_err(fmt, ...)	kl_printk(3, fmt, ##__VA_ARGS__)
#define pr_err_ratelimited	pr_err
#define pr_notice(fmt, ...)	kl_printk(5, fmt, ##__VA_ARGS__)
#define no_printk(fmt, ...)	do { } while (0)

#define WARN_ONCE(cond, fmt, ...)					\
({									\
	bool __w = (cond);						\
	if (__w)							\
		kl_fail("%s:%d: " fmt, __FILE__, __LINE__, ##__VA_ARGS__); \
	__w;								\
})
#define panic(fmt, ...)		kl_fail(fmt, ##__VA_ARGS__)
#define WARN_ON_ONCE(cond)	WARN_ONCE(cond, "warning: %s", #cond)

#endif
