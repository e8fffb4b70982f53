/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_LOG_LANES_H
#define ZJ_LOG_LANES_H

#include "core/journal.h"
#include "log/log_types.h"

extern const struct zj_log_ops zj_log_lanes;

#endif /* ZJ_LOG_LANES_H */
