// SPDX-License-Identifier: GPL-2.0-only
// Rules: R6, E18.
//
// An fsync's data goes out with FUA if it is little. All other blocks that are written
// outside the log are reported to the journal, which flushes only if there are any (E18).
// A file's data is noted in its inode.
//
// An early commit has to know whether extents are to be converted after a write. Newer kernels do
// not count that in the inode, so it is done here.
//
// expect: ext4.h: -=1 | -=2 ext4_set_io_unwritten_flag=1 ext4_clear_io_unwritten_flag=1
// expect: file.c: ext4_dio_write_end_io=1
// expect: ialloc.c: ext4_init_inode_table=1
// expect: inode.c: ext4_issue_zeroout=4 ext4_inode_attach_jinode=1
// expect: page-io.c: ext4_end_bio=1 ext4_io_submit=2 ext4_io_submit_init=1
// expect: super.c: ext4_clear_inode=2 | ext4_clear_inode=2 ext4_alloc_inode=1

@@
@@
struct ext4_io_submit {
 ...
 sector_t io_next_block;
+ unsigned int zj_few;
};

@@
@@
struct ext4_inode_info {
 ...
 struct mapping_metadata_bhs *i_metadata_bhs;
+ atomic_t i_zj_unwritten;
 ...
};

@@
expression ei;
@@
ext4_alloc_inode(...)
{
 ...
 ei->i_metadata_bhs = NULL;
+ atomic_set(&ei->i_zj_unwritten, 0);
 ...
}

@@
identifier io_end;
@@
ext4_set_io_unwritten_flag(...)
{
- if (!(io_end->flag & EXT4_IO_END_UNWRITTEN))
+ if (!(io_end->flag & EXT4_IO_END_UNWRITTEN)) {
	io_end->flag |= EXT4_IO_END_UNWRITTEN;
+	atomic_inc(&EXT4_I(io_end->inode)->i_zj_unwritten);
+ }
}

@@
identifier io_end;
@@
ext4_clear_io_unwritten_flag(...)
{
- if (io_end->flag & EXT4_IO_END_UNWRITTEN)
+ if (io_end->flag & EXT4_IO_END_UNWRITTEN) {
	io_end->flag &= ~EXT4_IO_END_UNWRITTEN;
+	atomic_dec(&EXT4_I(io_end->inode)->i_zj_unwritten);
+ }
}

@@
identifier io;
@@
ext4_io_submit(...)
{
<...
- if (io->io_wbc->sync_mode == WB_SYNC_ALL)
-	io->io_bio->bi_opf |= REQ_SYNC;
+ io->io_bio->bi_opf |= zext4_data_flags(io);
(
 submit_bio(...);
|
 blk_crypto_submit_bio(...);
)
...>
}

@@
identifier io;
@@
ext4_io_submit_init(...)
{
 ...
 io->io_end = NULL;
+ io->zj_few = 0;
}

@@
identifier bio, io_end;
@@
ext4_end_bio(struct bio *bio)
{
 ext4_io_end_t *io_end = bio->bi_private;
 ...
+ zext4_inode_written(io_end->inode, bio);
 bio->bi_end_io = NULL;
 ...
}

// When an inode is evicted, its data is made to count for every commit before the journal
// forgets its ordered data.
@@
identifier inode;
@@
ext4_clear_inode(struct inode *inode)
{
+ zext4_forget_inode(inode);
 ...
}

@@
identifier inode, jinode;
@@
ext4_inode_attach_jinode(struct inode *inode)
{
<...
 jbd2_journal_init_jbd_inode(jinode, inode);
+ jinode->i_written = &EXT4_I(inode)->i_zj_written;
...>
}

// Here it is not known whether the write used FUA.
@@
identifier inode;
expression E;
@@
ext4_dio_write_end_io(...)
{
 ...
 struct inode *inode = E;
+ zext4_inode_written(inode, NULL);
 ...
}

@@
identifier inode, ret;
@@
ext4_issue_zeroout(struct inode *inode, ...)
{
<...
 ret = sb_issue_zeroout(...);
+ zext4_data_written(inode->i_sb, NULL);
...>
}

@@
identifier inode;
expression list es;
@@
ext4_issue_zeroout(struct inode *inode, ...)
{
<...
- return fscrypt_zeroout_range(es);
+ {
+	int err = fscrypt_zeroout_range(es);
+
+	zext4_data_written(inode->i_sb, NULL);
+	return err;
+ }
...>
}

@@
identifier sb, ret;
@@
ext4_init_inode_table(struct super_block *sb, ...)
{
<...
 ret = sb_issue_zeroout(...);
+ zext4_data_written(sb, NULL);
...>
}
