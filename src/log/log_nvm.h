/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_LOG_NVM_H
#define ZJ_LOG_NVM_H

#include "core/journal.h"

extern const struct zj_log_ops zj_log_nvm;

#endif /* ZJ_LOG_NVM_H */
