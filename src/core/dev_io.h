/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_DEV_IO_H
#define ZJ_DEV_IO_H

#include "core/dev_io_types.h"
#include "core/journal.h"

void zj_bio_of_all(struct zj_journal *zj, struct bio *bio);
int zj_issue_flush(struct zj_journal *zj, struct block_device *bdev);
int zj_dev_rw(struct zj_journal *zj, u32 block, u32 nr, void *buf,
	      blk_opf_t opf);
void zj_dev_read_start(struct zj_journal *zj, struct zj_dev_reads *reads,
		       u32 block, u32 nr, void *buf);
int zj_dev_read_end(struct zj_dev_reads *reads);
void zj_writes_hold(void);
void zj_writes_release(void);
void zj_writes_wait(void);

#endif /* ZJ_DEV_IO_H */
