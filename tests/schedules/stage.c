// SPDX-License-Identifier: GPL-2.0-only
/* The toy file system under a schedule: making, mounting, callbacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <klayer/bug.h>
#include <linux/bio.h>
#include <linux/pagemap.h>
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

u64 journal_map(const struct inode *inode, u64 block)
{
	return FIRST_JOURNAL + block;
}

static void make_journal(void)
{
	struct zj_jbd2_super *sb = calloc(1, DISK_BLOCK);

	sb->s_magic = cpu_to_be32(ZJ_JBD2_MAGIC);
	sb->s_blocktype = cpu_to_be32(ZJ_JBD2_SUPERBLOCK_V2);
	sb->s_blocksize = cpu_to_be32(DISK_BLOCK);
	sb->s_maxlen = cpu_to_be32(play.journal);
	sb->s_first = cpu_to_be32(1);
	sb->s_sequence = cpu_to_be32(1);
	sb->s_feature_incompat = cpu_to_be32(ZJ_JBD2_INCOMPAT_CSUM_V3);
	sb->s_checksum_type = ZJ_JBD2_CRC32C;
	sb->s_checksum = zj_jbd2_super_csum(sb);
	disk_set(play.disk, FIRST_JOURNAL, sb);
	free(sb);
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
	u32 nr = FIRST_JOURNAL + play.journal;

	play.disk = disk_new(nr, 7 + play.epoch);
	play.disk->cache = play.cache;
	play.disk->fua = play.fua;
	if (image) {
		for (u32 b = 0; b < nr; b++)
			disk_set(play.disk, b, image + (size_t)b * DISK_BLOCK);
	} else {
		make_journal();
		make_blocks();
	}
	play.initial = malloc(nr * sizeof(*play.initial));
	memcpy(play.initial, play.disk->seen, nr * sizeof(*play.initial));
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
	bio->bi_iter.bi_sector = (FIRST_HOME + block) * (DISK_BLOCK / DISK_SECTOR);
	bio->bi_private = b;
	bio->bi_end_io = page_end_io;
	bio_add_page(bio, virt_to_page(b->page), DISK_BLOCK,
		     offset_in_page(b->page));
	submit_bio(bio);
}

static int submit_data(struct jbd2_inode *jinode)
{
	for (u32 b = 0; b < MAX_BLOCKS; b++)
		page_write(b);
	return 0;
}

static int finish_data(struct jbd2_inode *jinode)
{
	for (u32 b = 0; b < MAX_BLOCKS; b++)
		wait_event(play.page_wait, !play.block[b].page_writing);
	return 0;
}

/* The free is real, says the journal: the block gets data at once. */
static void reuse(u32 block)
{
	struct block *b = &play.block[block];
	struct content *c = b->page ?: aligned_alloc(DISK_BLOCK, DISK_BLOCK);

	unit_must(b->freed_by);
	b->reuse = false;
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

static void commit_callback(journal_t *journal, transaction_t *txn)
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

static void open_journal(void)
{
	play.sb.s_bdev = &play.disk->bdev;
	play.sb.s_blocksize = DISK_BLOCK;
	play.sb.s_blocksize_bits = 10;
	memcpy(play.sb.s_uuid.b, "zjournal-schedul", 16);
	play.jnl_inode = (struct inode){ .i_sb = &play.sb, .i_ino = 8,
		.i_size = (loff_t)play.journal * DISK_BLOCK, .map = journal_map };
	play.journal_front = zj_journal_init_inode(&play.jnl_inode);
	if (IS_ERR(play.journal_front))
		kl_fail("init: error %ld", PTR_ERR(play.journal_front));
}

void stage_mount(void)
{
	int err = zj_caches_init();

	if (err)
		kl_fail("no caches: error %d", err);
	open_journal();
	play.journal_front->j_flags |= JBD2_BARRIER;
	/* No timer: a schedule says when a lane closes. */
	play.journal_front->j_commit_interval = 1UL << 30;
	play.journal_front->j_commit_callback = commit_callback;
	play.journal_front->j_submit_inode_data_buffers = submit_data;
	play.journal_front->j_finish_inode_data_buffers = finish_data;
	err = zj_journal_configure(play.journal_front,
				   &(struct zj_options){ .lanes = play.lanes });
	if (!err)
		err = zj_journal_load(play.journal_front);
	if (err)
		kl_fail("load: error %d", err);
	if (the_journal()->nr_lanes != play.lanes)
		kl_fail("%u lanes, not %u", the_journal()->nr_lanes, play.lanes);
	init_waitqueue_head(&play.page_wait);
	play.ino = (struct inode){ .i_sb = &play.sb, .i_ino = 100 };
	play.ino.i_mapping = &play.ino.i_data;
	play.ino.i_data.host = &play.ino;
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
	bool aborted = is_journal_aborted(play.journal_front);
	int err;

	zj_journal_release_jinode(play.journal_front, &play.jinode);
	err = zj_journal_destroy(play.journal_front);
	if (err && !aborted)
		kl_fail("unmount: error %d", err);
	for (u32 b = 0; b < MAX_BLOCKS; b++)
		wait_event(play.page_wait, !play.block[b].page_writing);
	sim_rcu_drain();
	buf_cache_exit(play.disk);
	zj_caches_exit();
}

/* ---- what the journal calls ---- */

int bmap(struct inode *inode, sector_t *block)
{
	*block = inode->map(inode, *block);
	return 0;
}

void iput(struct inode *inode)
{
}

static struct zj_journal *loaded;

/* What stands in the way of whom, by the printers that debugfs has (docs/looking-inside.md). */
static void print_journal(void)
{
	static char text[1 << 20];
	struct seq_buf out;

	seq_buf_init(&out, text, sizeof(text));
	zj_journal_to_text(&out, loaded);
	fprintf(stderr, "%.*s", (int)seq_buf_used(&out), text);
}

void zj_proc_add(struct zj_journal *zj)
{
	loaded = zj;
	sim_report = print_journal;
}

void zj_proc_remove(struct zj_journal *zj)
{
	sim_report = NULL;
}

int filemap_fdatawrite_range(struct address_space *mapping, loff_t first,
			     loff_t last)
{
	return submit_data(NULL);
}

int filemap_fdatawait_range_keep_errors(struct address_space *mapping,
					loff_t first, loff_t last)
{
	return finish_data(NULL);
}
