// SPDX-License-Identifier: GPL-2.0-only
/* Making, mounting and unmounting the toy file system. */
#include <stdlib.h>
#include "stress.h"

struct fs fs;

/* Not in one piece, so that bios have to be split. */
static u64 journal_map(const struct inode *inode, u64 block)
{
	return NR_HOME + block + block / 50;
}

u32 disk_blocks(const struct params *p)
{
	return NR_HOME + p->journal + p->journal / 50 + 1;
}

/* ---- making ---- */

static void make_journal(void)
{
	struct zj_jbd2_super *sb = calloc(1, fs.p.block);

	sb->s_magic = cpu_to_be32(ZJ_JBD2_MAGIC);
	sb->s_blocktype = cpu_to_be32(ZJ_JBD2_SUPERBLOCK_V2);
	sb->s_blocksize = cpu_to_be32(fs.p.block);
	sb->s_maxlen = cpu_to_be32(fs.p.journal);
	sb->s_first = cpu_to_be32(1);
	sb->s_sequence = cpu_to_be32(1);
	sb->s_feature_incompat = cpu_to_be32(ZJ_JBD2_INCOMPAT_CSUM_V3);
	sb->s_checksum_type = ZJ_JBD2_CRC32C;
	sb->s_checksum = zj_jbd2_super_csum(sb);
	disk_write(fs.disk, journal_map(NULL, 0), sb);
	free(sb);
}

void fs_make(void)
{
	void *data = malloc(fs.p.block);

	fs.disk = disk_open(fs.p.file, disk_blocks(&fs.p), fs.p.block, true);
	make_journal();
	for (u32 b = FIRST_SHARED; b <= MAP_BLOCK; b++) {
		content_init(data, b, KIND_FIXED, 0);
		disk_write(fs.disk, b, data);
	}
	free(data);
	disk_close(fs.disk);
	memset(fs.promises, 0, sizeof(*fs.promises));
}

/* ---- mounting ---- */

static void load_journal(void)
{
	struct zj_options options = {
		.lanes = fs.p.lanes,
		.data_reported = fs.p.seed % 4,
		.pipeline = fs.p.pipeline,
		.live.versions = fs.p.pipeline ? 2 : 0,
	};
	int err;

	fs.sb.s_bdev = &fs.disk->bdev;
	fs.sb.s_blocksize = fs.p.block;
	fs.sb.s_blocksize_bits = ilog2(fs.p.block);
	memcpy(fs.sb.s_uuid.b, "zjstress-file-sy", 16);
	fs.journal_inode.i_sb = &fs.sb;
	fs.journal_inode.i_ino = 8;
	fs.journal_inode.i_size = (loff_t)fs.p.journal * fs.p.block;
	fs.journal_inode.map = journal_map;
	fs.journal = zj_journal_init_inode(&fs.journal_inode);
	if (IS_ERR(fs.journal))
		kl_fail("init: error %ld", PTR_ERR(fs.journal));
	fs.journal->j_flags |= JBD2_BARRIER;
	fs.journal->j_commit_interval = HZ / 10;
	fs.journal->j_commit_callback = commit_callback;
	fs.journal->j_submit_inode_data_buffers = submit_data;
	fs.journal->j_finish_inode_data_buffers = finish_data;
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

	ino->vfs.i_sb = &fs.sb;
	ino->vfs.i_ino = 100 + i;
	ino->vfs.i_mapping = &ino->vfs.i_data;
	ino->vfs.i_data.host = &ino->vfs;
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
	fs.disk = disk_open(p.file, disk_blocks(&p), p.block, false);
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

	/* As umount does: data is written, then inodes go, then the journal. */
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

/* ---- what the journal calls ---- */

int bmap(struct inode *inode, sector_t *block)
{
	*block = inode->map(inode, *block);
	return 0;
}

void iput(struct inode *inode)
{
}

void zj_proc_add(struct zj_journal *zj)
{
}

void zj_proc_remove(struct zj_journal *zj)
{
}

int filemap_fdatawrite_range(struct address_space *mapping, loff_t start,
			     loff_t end)
{
	struct jbd2_inode range = { .i_vfs_inode = mapping->host,
				    .i_dirty_start = start, .i_dirty_end = end };

	return submit_data(&range);
}

int filemap_fdatawait_range_keep_errors(struct address_space *mapping,
					loff_t start, loff_t end)
{
	struct jbd2_inode range = { .i_vfs_inode = mapping->host,
				    .i_dirty_start = start, .i_dirty_end = end };

	return finish_data(&range);
}
