// SPDX-License-Identifier: GPL-2.0-only
/*
 * The disk after a power cut: everything that is durable according to the log, and any
 * subset of the rest, sector by sector.
 */
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include "disk.h"

#define SCRATCH_BLOCKS	16384

static u8 scratch[SCRATCH_BLOCKS][DISK_BLOCK];
static u32 scratch_used;

void *scratch_block(void)
{
	if (scratch_used == SCRATCH_BLOCKS)
		kl_fail("too many blocks written by one recovery");
	return scratch[scratch_used++];
}

void scratch_reset(void)
{
	scratch_used = 0;
}

bool is_scratch_block(const void *block)
{
	return block >= (void *)scratch && block < (void *)scratch[SCRATCH_BLOCKS];
}

void walk_init(struct disk_walk *w, const struct kl_disk *disk,
	       const u8 **initial)
{
	w->disk = disk;
	w->at = 0;
	w->nr = 0;
	w->durable = malloc(disk->nr * sizeof(*w->durable));
	memcpy(w->durable, initial, disk->nr * sizeof(*w->durable));
	if (disk->pmem)
		pmem_walk_init(&w->pmem, disk->pmem);
}

void walk_free(struct disk_walk *w)
{
	free(w->durable);
	if (w->disk->pmem)
		pmem_walk_free(&w->pmem);
}

/* Make some pending writes durable, in their order. */
static void harden(struct disk_walk *w, bool (*which)(const struct disk_pending *,
						      u64), u64 number)
{
	u32 kept = 0;

	for (u32 i = 0; i < w->nr; i++) {
		struct disk_pending p = w->pending[i];

		if (!which(&p, number)) {
			w->pending[kept++] = p;
			continue;
		}
		w->durable[p.block] = p.data;
		/* Older ones of the block can't come back over it. */
		for (u32 k = 0; k < kept; ) {
			if (w->pending[k].block != p.block) {
				k++;
				continue;
			}
			memmove(&w->pending[k], &w->pending[k + 1],
				(--kept - k) * sizeof(p));
		}
	}
	w->nr = kept;
}

static bool of_request(const struct disk_pending *p, u64 number)
{
	return p->request == number;
}

/* A flush of the other device has another number, which may be higher. */
static bool covered(const struct disk_pending *p, u64 number)
{
	return !p->unit && p->flush && p->flush <= number;
}

static bool covered2(const struct disk_pending *p, u64 number)
{
	return p->unit && p->flush && p->flush <= number;
}

void walk_step(struct disk_walk *w)
{
	const struct disk_event *e = &w->disk->log[w->at++];

	switch (e->what) {
	case DISK_WRITE:
		if (w->nr == WALK_PENDING)
			kl_fail("too many writes without a flush");
		w->pending[w->nr++] = (struct disk_pending){
			.block = e->block, .data = e->data, .request = e->request,
			.unit = disk_unit(w->disk, e->block) };
		break;
	case DISK_DONE:
		for (u32 i = 0; i < w->nr; i++)
			if (w->pending[i].request == e->request)
				w->pending[i].done = true;
		break;
	case DISK_DONE_FUA:
		harden(w, of_request, e->request);
		break;
	case DISK_FLUSH:
		for (u32 i = 0; i < w->nr; i++)
			if (w->pending[i].done && !w->pending[i].flush &&
			    w->pending[i].unit == e->block)
				w->pending[i].flush = e->request;
		break;
	case DISK_FLUSHED:
		harden(w, e->block ? covered2 : covered, e->request);
		break;
	case DISK_PMEM:
		pmem_walk_step(&w->pmem);
		break;
	}
}

/* The sectors of a pending write that reach the disk: a bit each. */
static u32 fate(struct sim_rand *rand, u32 mode, u32 chosen, u32 i)
{
	switch (mode) {
	case 0:			/* nothing but the durable */
		return 0;
	case 1:			/* all */
		return 3;
	case 2:			/* all but one, which may be torn */
		return i == chosen ? sim_below(rand, 3) : 3;
	case 3:			/* one only */
		return i == chosen ? 1 + sim_below(rand, 3) : 0;
	case 4:			/* whole blocks by chance */
		return sim_one_in(rand, 2) ? 3 : 0;
	default:		/* sectors by chance */
		return sim_below(rand, 4);
	}
}

static const u8 *merge(const u8 *old, const u8 *new, u32 sectors)
{
	u8 *torn;

	if (sectors == 3 || !sectors)
		return sectors ? new : old;
	torn = scratch_block();
	memcpy(torn, sectors & 1 ? new : old, DISK_SECTOR);
	memcpy(torn + DISK_SECTOR, (sectors & 2 ? new : old) + DISK_SECTOR,
	       DISK_SECTOR);
	return torn;
}

/*
 * Each of two devices has a fate of its own, so that often one loses its cache and the other
 * does not.
 */
void walk_crash(const struct disk_walk *w, struct sim_rand *rand,
		struct disk_image *image)
{
	u32 mode = sim_below(rand, 7);
	u32 mode2 = w->disk->split ? sim_below(rand, 7) : mode;
	u32 chosen = sim_below(rand, w->nr ? w->nr : 1);

	memcpy(image->block, w->durable, image->nr * sizeof(*image->block));
	for (u32 i = 0; i < w->nr; i++) {
		const struct disk_pending *p = &w->pending[i];

		image->block[p->block] = merge(image->block[p->block], p->data,
					       fate(rand, p->unit ? mode2 : mode, chosen, i));
	}
	if (!w->disk->pmem || !image->pmem)
		return;
	if (image->made_by == w)
		pmem_crash_again(&w->pmem, rand, image->pmem);
	else
		pmem_crash(&w->pmem, rand, image->pmem);
	image->made_by = w;
}
