/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_KLAYER_NVM_H
#define ZJ_RUNTIME_KLAYER_NVM_H

#include <linux/types.h>
#include <zjournal/nvm_dev.h>

/**
 * struct kl_nvm - the memory that journal_nvm= names; NULL: there is none
 */
struct kl_nvm {
	void	*base;
	u64	size;
	int	users;	/* maps that are open */
	int	begun;	/* accesses that have not ended */
	bool	gone;	/* no longer */
	bool	needs_flush;
	int	(*flush)(void);	/* what zj_nvm_flush() does; NULL: nothing */
};

extern struct kl_nvm kl_nvm;

#endif
