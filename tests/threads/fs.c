// SPDX-License-Identifier: GPL-2.0-only
/* Making, mounting and unmounting the toy file system. */
#include <stdlib.h>
#include "stress.h"

struct fs fs;

/* The journal is not in one piece, so that bios have to be split. */
static struct kit kit_of(const struct params *p)
{
	return (struct kit){ .first = NR_HOME, .blocks = p->journal, .piece = 50 };
}

u32 disk_blocks(const struct params *p)
{
	struct kit kit = kit_of(p);

	return kit_disk_blocks(&kit);
}

static void open_disk(bool create)
{
	fs.kit = kit_of(&fs.p);
	fs.disk = disk_open(fs.p.file, kit_disk_blocks(&fs.kit), fs.p.block, create);
	kit_init(&fs.kit, &fs.disk->bdev, fs.p.block, "zjstress-file-sy");
}

/* ---- making ---- */

void fs_make(void)
{
	void *data = malloc(fs.p.block);

	open_disk(true);
	kit_make_journal(&fs.kit, fs.disk, 1, KIT_CSUM_V3);
	for (u32 b = FIRST_SHARED; b <= MAP_BLOCK; b++) {
		content_init(data, b, KIND_FIXED, 0);
		disk_set(fs.disk, b, data);
	}
	free(data);
	disk_close(fs.disk);
	memset(fs.promises, 0, sizeof(*fs.promises));
}

/* ---- mounting ---- */

static void load_journal(void)
{
	struct zj_options options = {
		.lanes = fs.p.jbd2 ? 1 : fs.p.lanes,
		.log = fs.p.jbd2 ? ZJ_LOG_JBD2 : ZJ_LOG_LANES,
		.data_reported = fs.p.seed % 4,
		.pipeline = fs.p.pipeline,
		.live.versions = fs.p.pipeline ? 2 : 0,
		.live.by_thread = fs.p.seed % 2,
	};
	int err;

	fs.journal = kit_open(&fs.kit);
	if (IS_ERR(fs.journal))
		kl_fail("init: error %ld", PTR_ERR(fs.journal));
	fs.journal->j_commit_interval = HZ / 10;
	kit_call_back(fs.journal);
	err = zj_journal_configure(fs.journal, &options);
	if (err)
		kl_fail("configure: error %d", err);
	/* Small batches, so that lanes take their share of checkpoints. */
	to_zj(fs.journal)->batch_size = 1 + fs.p.seed % 3;
	err = zj_journal_load(fs.journal);
	if (err)
		kl_fail("load: error %d", err);
	/* As ext4 does once it has noted the error in its own super block. */
	if (zj_journal_errno(fs.journal)) {
		zj_journal_clear_err(fs.journal);
		zj_journal_update_sb_errno(fs.journal);
	}
}

static void mount_inode(u32 i, void *data)
{
	struct toy_inode *ino = &fs.inode[i];

	kit_inode(&fs.kit, &ino->vfs, 100 + i);
	mutex_init(&ino->lock);
	zj_journal_init_jinode(&ino->jinode, &ino->vfs);
	ino->jinode.i_written = &ino->written;
	disk_read(fs.disk, FIRST_INODE + i, data);
	memcpy(&ino->core, data, sizeof(ino->core));
}

static void mount_files(void)
{
	for (u32 i = 0; i < NR_FILE; i++) {
		fs.file[i] = buf_of_file(fs.disk, &fs.inode[0].vfs, FIRST_FILE + i);
		disk_read(fs.disk, FIRST_FILE + i, fs.file[i]->b_data);
		set_buffer_uptodate(fs.file[i]);
	}
}

static void mount_allocs(const struct content *map)
{
	mutex_init(&fs.alloc_lock);
	for (u32 i = 0; i < NR_ALLOC; i++) {
		struct alloc *a = &fs.alloc[i];
		u32 gen = map->map[i] / 2;

		a->gen = gen;
		a->use = !(gen & 1) ? USE_FREE :
			 map->map[i] & 1 ? USE_DATA : USE_META;
		a->page.block = FIRST_ALLOC + i;
		a->page.mem = malloc(fs.p.block);
		init_waitqueue_head(&a->page.wait);
	}
}

static void mount_threads(void *data)
{
	const struct content *own = data;

	for (u32 t = 0; t < MAX_THREADS; t++) {
		disk_read(fs.disk, FIRST_OWN + t, data);
		fs.unit[t] = own->unit;
		fs.stopped[t] = own->unit;
		fs.promises->begun[t] = own->unit;
		fs.promises->acked[t] = own->unit;
		memcpy(fs.notes[t], own->notes, sizeof(own->notes));
		memcpy(fs.seen[t], own->seen, sizeof(own->seen));
	}
}

/* What is there after recovery is where this mount starts. */
void fs_mount(void)
{
	struct params p = fs.p;
	struct promises *promises = fs.promises;
	void *data = malloc(p.block);

	memset(&fs, 0, sizeof(fs));
	fs.p = p;
	fs.promises = promises;
	if (zj_caches_init())
		kl_fail("no caches");
	open_disk(false);
	fs.disk->fua = p.fua;
	fs.disk->fail_write = p.fail_write;
	for (u32 i = 0; i < NR_HOME; i++)
		mutex_init(&fs.content[i]);
	load_journal();
	for (u32 i = 0; i < NR_INODES; i++)
		mount_inode(i, data);
	mount_files();
	disk_read(fs.disk, MAP_BLOCK, data);
	mount_allocs(data);
	mount_threads(data);
	free(data);
}

int fs_unmount(void)
{
	int err;

	/* As umount does: write data, evict inodes, then destroy the journal. */
	for (u32 i = 0; i < NR_INODES; i++) {
		filemap_fdatawrite_range(fs.inode[i].vfs.i_mapping, 0, LLONG_MAX);
		filemap_fdatawait_range_keep_errors(fs.inode[i].vfs.i_mapping, 0,
						    LLONG_MAX);
		zj_journal_release_jinode(fs.journal, &fs.inode[i].jinode);
	}
	err = zj_journal_destroy(fs.journal);
	if (!err)
		promise(fs.stopped);
	for (u32 i = 0; i < NR_FILE; i++) {
		folio_wait_writeback(fs.file[i]->b_folio);
		wait_on_buffer(fs.file[i]);
	}
	disk_close(fs.disk);
	for (u32 i = 0; i < NR_FILE; i++)
		buf_free(fs.file[i]);
	for (u32 i = 0; i < NR_ALLOC; i++)
		free(fs.alloc[i].page.mem);
	zj_caches_exit();
	return err;
}
