// SPDX-License-Identifier: GPL-2.0-only
/* The toy file system under a schedule: making, mounting, callbacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include <linux/bio.h>
#include "stage.h"

struct play play;

u32 content_sum(const struct content *c)
{
	u32 sum = 17;

	sum = (sum ^ c->kind) * 0x01000193;
	sum = (sum ^ c->block) * 0x01000193;
	sum = (sum ^ c->gen) * 0x01000193;
	for (u32 i = 0; i < MAX_UNITS; i++)
		sum = (sum ^ c->mark[i]) * 0x01000193;
	return sum;
}

static void make_blocks(void)
{
	struct content c = { .kind = KIND_META };

	for (u32 b = 0; b < MAX_BLOCKS; b++) {
		c.block = b;
		c.sum = content_sum(&c);
		disk_set(play.disk, FIRST_HOME + b, &c);
	}
}

void stage_make(const u8 *image)
{
	play.kit = (struct kit){ .first = FIRST_JOURNAL, .blocks = play.journal };
	play.disk = disk_new(kit_disk_blocks(&play.kit), 7 + play.epoch);
	kit_init(&play.kit, &play.disk->bdev, DISK_BLOCK, "zjournal-schedul");
	play.disk->cache = play.cache;
	play.disk->fua = play.fua;
	if (image) {
		disk_set_all(play.disk, image);
	} else {
		kit_make_journal(&play.kit, play.disk, 1, KIT_CSUM_V3);
		make_blocks();
	}
	play.initial = disk_contents(play.disk);
}

void stage_free(void)
{
	for (u32 b = 0; b < MAX_BLOCKS; b++)
		free(play.block[b].page);
	disk_free(play.disk);
	free(play.initial);
	arena_reset();
}

struct buffer_head *read_home(u32 block)
{
	return __bread(&play.disk->bdev, FIRST_HOME + block, DISK_BLOCK);
}

/* ---- data ---- */

static void page_end_io(struct bio *bio)
{
	struct block *b = bio->bi_private;

	b->page_writing = false;
	wake_up_all(&play.page_wait);
	bio_put(bio);
}

void page_write(u32 block)
{
	struct block *b = &play.block[block];
	struct bio *bio;

	if (!b->page_dirty || b->page_writing)
		return;
	b->page_dirty = false;
	b->page_writing = true;
	bio = bio_alloc(&play.disk->bdev, 1, REQ_OP_WRITE, GFP_NOFS);
	bio->bi_private = b;
	bio->bi_end_io = page_end_io;
	kit_write(&play.kit, bio, FIRST_HOME + block, b->page);
}

int submit_data(struct jbd2_inode *range)
{
	for (u32 b = 0; b < MAX_BLOCKS; b++)
		page_write(b);
	return 0;
}

int finish_data(struct jbd2_inode *range)
{
	for (u32 b = 0; b < MAX_BLOCKS; b++)
		wait_event(play.page_wait, !play.block[b].page_writing);
	return 0;
}

/* The block gets new data, in place. */
void data_new(u32 block)
{
	struct block *b = &play.block[block];
	struct content *c = b->page ?: aligned_alloc(DISK_BLOCK, DISK_BLOCK);

	b->kind = KIND_DATA;
	b->page = c;
	b->page_dirty = true;
	memset(c, 0, DISK_BLOCK);
	c->kind = KIND_DATA;
	c->block = block;
	c->gen = ++b->gen;
	c->sum = content_sum(c);
	page_write(block);
}

/* The free is real, says the journal: the block is used again at once. */
static void reuse(u32 block)
{
	struct block *b = &play.block[block];

	unit_must(b->freed_by);
	b->reuse = false;
	data_new(block);
}

void commit_callback(journal_t *journal, transaction_t *txn)
{
	if (is_journal_aborted(journal))
		return;
	for (u32 u = 0; u < play.nr_units; u++)
		if (play.unit[u].tid == txn->t_tid &&
		    play.unit[u].epoch == play.epoch)
			unit_must(u);
	for (u32 b = 0; b < MAX_BLOCKS; b++)
		if (play.block[b].reuse && play.block[b].freed_by >= 0 &&
		    play.unit[play.block[b].freed_by].tid == txn->t_tid)
			reuse(b);
}

/* ---- mounting ---- */

void stage_mount(void)
{
	int err = zj_caches_init();

	if (err)
		kl_fail("no caches: error %d", err);
	play.journal_public = kit_open(&play.kit);
	if (IS_ERR(play.journal_public))
		kl_fail("init: error %ld", PTR_ERR(play.journal_public));
	/* No timer: a schedule says when a lane closes. */
	play.journal_public->j_commit_interval = 1UL << 30;
	kit_call_back(play.journal_public);
	err = zj_journal_configure(play.journal_public,
				   &(struct zj_options){ .lanes = play.lanes,
							 .log_blocks = play.images });
	if (!err)
		err = zj_journal_load(play.journal_public);
	if (err)
		kl_fail("load: error %d", err);
	if (the_journal()->nr_lanes != play.lanes)
		kl_fail("%u lanes, not %u", the_journal()->nr_lanes, play.lanes);
	init_waitqueue_head(&play.page_wait);
	kit_inode(&play.kit, &play.ino, 100);
	zj_journal_init_jinode(&play.jinode, &play.ino);
	play.claim = 0;
	play.sync_tid = 0;
	for (u32 b = 0; b < MAX_BLOCKS; b++) {
		const struct content *c = (const void *)play.disk->seen[FIRST_HOME + b];

		play.block[b] = (struct block){ .gen = c->gen, .kind = c->kind,
			.freed_by = -1, .data_must = NEVER, .data_of = -1,
			.page = play.block[b].page };
		if (b == bX)
			memcpy(play.core, c->mark, MAX_UNITS);
	}
}

void stage_unmount(void)
{
	bool aborted = is_journal_aborted(play.journal_public);
	int err;

	zj_journal_release_jinode(play.journal_public, &play.jinode);
	err = zj_journal_destroy(play.journal_public);
	if (err && !aborted)
		kl_fail("unmount: error %d", err);
	for (u32 b = 0; b < MAX_BLOCKS; b++)
		wait_event(play.page_wait, !play.block[b].page_writing);
	sim_rcu_drain();
	buf_cache_exit(play.disk);
	zj_caches_exit();
}
