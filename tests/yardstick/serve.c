// SPDX-License-Identifier: GPL-2.0-only
/* --serve: recover disks of another program's journal; runtime/sim/peer.c asks. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/crc32c.h>
#include "peer.h"
#include "yard.h"

#define STOCK_MIN	1024	/* blocks; stock takes no shorter journal */

/*
 * A journal that is too short for stock becomes the beginning of a longer one: its
 * super block says so. recover_disk() gets the real end of the log.
 */
static void lengthen(const u8 **super)
{
	static u8 sb[DISK_BLOCK];

	memcpy(sb, *super, sizeof(sb));
	*(__be32 *)(sb + 0x10) = cpu_to_be32(STOCK_MIN);
	*(__be32 *)(sb + 0xfc) = 0;
	*(__be32 *)(sb + 0xfc) = cpu_to_be32(crc32c(~0u, sb, sizeof(sb)));
	*super = sb;
}

static int serve_one(struct peer_shared *shared, const u8 **block)
{
	struct disk_image image = { .nr = shared->home + shared->journal, .block = block };
	bool only = shared->way == PEER_RECOVER;
	struct fs fs;
	int err;

	yard.journal = shared->journal;
	block[shared->home] = shared->disk[shared->home];
	if (only && yard.journal < STOCK_MIN) {
		lengthen(&block[shared->home]);
		yard.journal = STOCK_MIN;
	}
	err = recover_disk(&fs, &image, shared->home, 1, only ? shared->journal : 0);
	for (u32 b = 0; b < shared->home; b++)
		memcpy(shared->after[b], fs.disk->seen[b], DISK_BLOCK);
	fs_free(&fs);
	arena_reset();
	return err;
}

void peer_serve(void)
{
	struct peer_shared *shared = mmap(NULL, sizeof(*shared),
					      PROT_READ | PROT_WRITE, MAP_SHARED,
					      PEER_SHARED_FD, 0);
	const u8 **block = malloc(PEER_BLOCKS * sizeof(*block));
	char c;

	if (shared == MAP_FAILED)
		kl_fail("no shared memory: --serve is for other programs");
	for (u32 b = 0; b < PEER_BLOCKS; b++)
		block[b] = shared->disk[b];
	/* The same large pieces are wanted again and again. */
	mallopt(M_MMAP_THRESHOLD, 1 << 26);
	mallopt(M_TRIM_THRESHOLD, 1 << 28);
	drive_use(&(struct drive){ }, NULL);
	while (read(0, &c, 1) == 1) {
		shared->err = serve_one(shared, block);
		if (write(1, &c, 1) != 1)
			break;
	}
	free(block);
}
