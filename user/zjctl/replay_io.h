/* SPDX-License-Identifier: GPL-2.0-only */
/* zjctl recover's I/O: long reads ahead, long writes. */
#ifndef ZJCTL_REPLAY_IO_H
#define ZJCTL_REPLAY_IO_H

#include "extimage.h"

/* One recovery at a time; rio_end() in any case. */
void rio_start(struct ext_image *img);
void rio_end(void);

/* As in struct zj_io_ops. */
void rio_start_read(u32 slot, u32 block, u32 nr, void *buf);
int rio_end_read(u32 slot);
u64 rio_room(void);
int rio_write_home(u64 block, const void *buf);
int rio_flush_home(void);

#endif /* ZJCTL_REPLAY_IO_H */
