/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A log in memory as an input holds it, and making it right again: checksums as a
 * forger would, and on demand the rest of it, too.
 */
#ifndef ZJ_FUZZ_NVM_SEAL_H
#define ZJ_FUZZ_NVM_SEAL_H

#include "nvm/nvm.h"
#include "input.h"

#define NVM_MAX_BYTES	(384U << 10)
#define NVM_MAX_LINES	(NVM_MAX_BYTES / ZJ_NVM_LINE)
#define NVM_GENERATION	0x1122334455667788ULL	/* that block 0 names */
#define NVM_INFO_LINES	((u32)(sizeof(struct zj_txninfo) / ZJ_NVM_LINE))

/**
 * struct nvm_memory - the memory; an input holds it by blocks of 1024 bytes
 */
struct nvm_memory {
	u8	*at;		/* its first byte; behind its last one there is nothing */
	u32	bytes;
	u32	block_size;	/* of the file system: 1024 << in->extra % 4 */
	u32	home_blocks;
};

void nvm_unpack(struct nvm_memory *m, const struct input *in);
void nvm_pack(const struct nvm_memory *m, struct input *in);
/* The geometry in the head, valid or not, with the real seed of the log. */
struct zj_log_geometry nvm_geometry(const struct nvm_memory *m);
/* The end of a TxnInfo before line @end, NULL if there is none. */
struct zj_txninfo *nvm_info(const struct nvm_memory *m, u32 end);
/* The lines before each of which a TxnInfo ends; returns their number. */
u32 nvm_find(const struct nvm_memory *m, u32 *ends);
/* The first byte of that TxnInfo; NULL if it says more than fits. */
u8 *nvm_entries(const struct nvm_memory *m, struct zj_txninfo *t);
__le64 *nvm_tail(const struct nvm_memory *m, u32 lane);
void nvm_heal(struct nvm_memory *m, u32 dice);
void nvm_seal(struct nvm_memory *m);

#endif
