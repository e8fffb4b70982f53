/* SPDX-License-Identifier: GPL-2.0-only */
/* zjctl recover's I/O: long reads ahead, images kept in memory, long writes. */
#ifndef ZJCTL_REPLAY_IO_H
#define ZJCTL_REPLAY_IO_H

#include "extimage.h"

/* One recovery at a time; rio_end() in any case. */
void rio_start(struct ext_image *img);
void rio_end(void);

/* As in struct zj_io_ops. */
int rio_read_log(u32 block, u32 nr, void *buf);
void *rio_keep(const void *image);
int rio_write_home(u64 block, const void *buf);
int rio_flush_home(void);

#endif /* ZJCTL_REPLAY_IO_H */
