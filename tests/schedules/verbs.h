/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The words of a schedule, each a step of actor hN.  Kept apart from stage.h, as
 * the C library has functions of these names.
 */
#ifndef ZJ_TESTS_SCHEDULES_VERBS_H
#define ZJ_TESTS_SCHEDULES_VERBS_H

#include "stage.h"

#define start(h, lane)		step(h, OP_START, lane)
/* A start that reserves credits for use_reserved() by another actor. */
#define start_reserve(h, lane)	step(h, OP_RESERVE, lane)
#define stop(h)			step(h, OP_STOP, 0)
/* Write access, change, dirty. */
#define write(h, b)		step(h, OP_WRITE, b)
#define access(h, b)		step(h, OP_ACCESS, b)
#define modify(h, b)		step(h, OP_MODIFY, b)
/* A declared read (R9). */
#define read_from(h, b)		step(h, OP_READ, b)
/* Free a block of metadata: forget and revoke. */
#define free_block(h, b)	step(h, OP_FREE, b)
#define create(h, b)		step(h, OP_CREATE, b)
/* Ordered data in block b, metadata that points at it in b0. */
#define write_data(h, b)	step(h, OP_DATA, b)
/* An fsync logs block b of a file; it is revoked, but stays in use; its new data is written. */
#define log_data(h, b)		step(h, OP_LOG_DATA, b)
#define settle_data(h, b)	step(h, OP_SETTLE, b)
#define write_in_place(b)	step(CLOSER, OP_IN_PLACE, b)
/* Claim X and change it in core; write the whole of X out. */
#define change_inode(h)		step(h, OP_CHANGE_INODE, 0)
#define write_inode(h)		step(h, OP_WRITE_INODE, 0)
/* A claim on X for all parts of the handle; the end of one part. */
#define claim_keep(h)		step(h, OP_CLAIM_KEEP, 0)
#define restart(h)		step(h, OP_RESTART, 0)
/* X's sync tid names h's transaction, as after page_mkwrite (R8). */
#define take_sync_tid(h)	step(h, OP_TAKE_TID, 0)
/* Returns when h's transaction is committed: its change is promised. */
#define sync_of(h)		step(h, OP_SYNC, 0)
#define sync_inode(h)		step(h, OP_SYNC_INODE, 0)
#define checkpoint()		step(CLOSER, OP_CHECKPOINT, 0)
/* Close what runs in the lane; what is not held back is committed. */
#define lock(lane)		step(CLOSER, OP_LOCK, lane)

#endif
