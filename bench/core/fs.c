// SPDX-License-Identifier: GPL-2.0-only
/* A device with a journal and blocks, and what is done to it. */
#include <stdlib.h>
#include <time.h>
#include "core.h"

static s64 clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

s64 thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

s64 process_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void make(struct fs *fs, u32 home, u8 *contents)
{
	*fs = (struct fs){ .kit.first = home, .kit.blocks = core.journal };
	fs->disk = mem_disk_new(kit_disk_blocks(&fs->kit), CORE_BLOCK, contents);
	kit_init(&fs->kit, &fs->disk->disk.bdev, CORE_BLOCK, "core-file-system");
	if (!contents)
		kit_make_journal(&fs->kit, &fs->disk->disk, 1, KIT_CSUM_V3);
}

static s64 load(struct fs *fs)
{
	s64 begin;
	int err;

	fs->journal = kit_open(&fs->kit);
	if (IS_ERR(fs->journal))
		kl_fail("init: error %ld", PTR_ERR(fs->journal));
	journal_set_up(fs->journal, &core);
	begin = ktime_get();
	err = jbd2_journal_load(fs->journal);
	if (err)
		kl_fail("load: error %d", err);
	begin = ktime_get() - begin;
	/* What asks for commits is the test. */
	fs->journal->j_commit_interval = 3600 * HZ;
	return begin;
}

void fs_new(struct fs *fs, u32 home)
{
	make(fs, home, NULL);
	load(fs);
	fs->bh = calloc(home, sizeof(*fs->bh));
	for (u32 b = 0; b < home; b++) {
		fs->bh[b] = __getblk(&fs->disk->disk.bdev, b, CORE_BLOCK);
		memset(fs->bh[b]->b_data, 0, CORE_BLOCK);
		set_buffer_uptodate(fs->bh[b]);
	}
}

s64 fs_again(struct fs *fs, u32 home, u8 *contents)
{
	make(fs, home, contents);
	return load(fs);
}

void fs_end(struct fs *fs)
{
	if (jbd2_journal_destroy(fs->journal))
		kl_fail("unmount fails");
	journal_after_destroy();
	for (u32 b = 0; fs->bh && b < fs->kit.first; b++)
		brelse(fs->bh[b]);
	free(fs->bh);
	mem_disk_free(fs->disk);
}

void fs_sync(struct fs *fs, tid_t tid)
{
	bool flush = !jbd2_trans_will_send_data_barrier(fs->journal, tid);
	int err = jbd2_complete_transaction(fs->journal, tid);

	if (!err && flush)
		err = blkdev_issue_flush(&fs->disk->disk.bdev);
	if (err)
		kl_fail("sync: error %d", err);
}

tid_t fs_write(struct fs *fs, u32 lane, u32 first, u32 nr)
{
	handle_t *handle = journal_start_in(fs->journal, lane, nr);
	tid_t tid;

	if (IS_ERR(handle))
		kl_fail("start: error %ld", PTR_ERR(handle));
	tid = handle->h_transaction->t_tid;
	for (u32 b = first; b < first + nr; b++) {
		if (jbd2_journal_get_write_access(handle, fs->bh[b]))
			kl_fail("no access to block %u", b);
		++*(u32 *)fs->bh[b]->b_data;
		if (jbd2_journal_dirty_metadata(handle, fs->bh[b]))
			kl_fail("block %u is not taken", b);
	}
	if (jbd2_journal_stop(handle))
		kl_fail("stop fails");
	return tid;
}

/* ---- what the kit asks for; there is no ordered data ---- */

int submit_data(struct jbd2_inode *range)
{
	return 0;
}

int finish_data(struct jbd2_inode *range)
{
	return 0;
}

void commit_callback(journal_t *journal, transaction_t *txn)
{
}
