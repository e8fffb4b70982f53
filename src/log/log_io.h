/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_LOG_IO_H
#define ZJ_LOG_IO_H

#include "core/journal.h"

bool zj_settle_images(struct zj_txn *txn);
void zj_log_io_begin(struct zj_log_io *io, struct zj_lane *lane, blk_opf_t flags, u32 blocks);
void zj_log_io_add(struct zj_log_io *io, u32 log_block, void *data);
void zj_log_io_send(struct zj_log_io *io);
int zj_log_io_wait(struct zj_log_io *io);

#endif /* ZJ_LOG_IO_H */
