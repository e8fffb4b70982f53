/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_USER_LINUX_COMPLETION_H
#define ZJ_USER_LINUX_COMPLETION_H

#include <linux/types.h>

/**
 * struct completion - a futex that counts; may vanish as soon as it is waited for
 */
struct completion {
	int	done;	/* times that it may be waited for */
};

void init_completion(struct completion *c);
void complete(struct completion *c);
bool completion_done(struct completion *c);
void wait_for_completion_io(struct completion *c);

#endif
