/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of bh.c for the back ends, in addition to those in the kernel's headers. */
#ifndef ZJ_RUNTIME_BH_H
#define ZJ_RUNTIME_BH_H

#include <linux/buffer_head.h>

/* A bio of the whole buffer; takes a reference to the buffer. */
struct bio *buf_bio(struct buffer_head *bh, blk_opf_t opf);
/* The buffer is locked, and unlocked at the end. */
void buf_submit(struct buffer_head *bh, blk_opf_t opf);

#endif
