// SPDX-License-Identifier: GPL-2.0-only
/* A disk with a journal and blocks, and mounting it. */
#include <stdlib.h>
#include "yard.h"

void fs_make(struct fs *fs, u32 home, u64 seed)
{
	*fs = (struct fs){ .kit.first = home, .kit.blocks = yard.journal };
	fs->disk = disk_new(kit_disk_blocks(&fs->kit), seed);
	fs->disk->fua = yard.fua;
	kit_init(&fs->kit, &fs->disk->bdev, DISK_BLOCK, "yard-file-system");
	kit_make_journal(&fs->kit, fs->disk, 1, KIT_CSUM_V3);
}

void fs_free(struct fs *fs)
{
	disk_free(fs->disk);
}

static void init(struct fs *fs)
{
	journal_before_load();
	fs->journal = kit_open(&fs->kit);
	if (IS_ERR(fs->journal))
		kl_fail("init: error %ld", PTR_ERR(fs->journal));
	journal_set_up(fs->journal, &yard);
}

static void give_up(struct fs *fs)
{
	jbd2_journal_destroy(fs->journal);
	journal_after_destroy();
	buf_cache_exit(fs->disk);
}

int fs_mount(struct fs *fs)
{
	int err;

	init(fs);
	err = jbd2_journal_load(fs->journal);
	if (err)
		give_up(fs);
	return err;
}

int fs_recover(struct fs *fs, u32 end)
{
	int err;

	init(fs);
	err = journal_recover(fs->journal, end);
	give_up(fs);
	return err;
}

int fs_unmount(struct fs *fs)
{
	int err = jbd2_journal_destroy(fs->journal);

	journal_after_destroy();
	sim_rcu_drain();
	buf_cache_exit(fs->disk);
	return err;
}

int fs_sync(struct fs *fs, tid_t tid)
{
	bool flush = !jbd2_trans_will_send_data_barrier(fs->journal, tid);
	int err = jbd2_complete_transaction(fs->journal, tid);

	if (!err && flush)
		err = blkdev_issue_flush(&fs->disk->bdev);
	return err;
}

/* There is no ordered data. */
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
