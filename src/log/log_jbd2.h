/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_LOG_JBD2_H
#define ZJ_LOG_JBD2_H

#include "core/journal.h"

extern const struct zj_log_ops zj_log_jbd2;

#endif /* ZJ_LOG_JBD2_H */
