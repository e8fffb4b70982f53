// SPDX-License-Identifier: GPL-2.0-only
// This tells the journal which buffers were read from the device: a log of lines then need
// not log a whole image of them first. Buffers that ext4 fills in memory are not reported.
//
// expect: ialloc.c: ext4_end_bitmap_read=2 | ext4_end_bitmap_read=1
// expect: super.c: __ext4_read_bh=1

@@
expression bh, end_io;
@@
__ext4_read_bh(...)
{
<...
(
- bh->b_end_io = end_io ? end_io : end_buffer_read_sync;
+ bh->b_end_io = end_io ? end_io : zext4_end_read;
|
- end_io = bh_end_read;
+ end_io = zext4_end_read;
)
...>
}

@@
identifier bh, uptodate;
@@
ext4_end_bitmap_read(...)
{
 ...
 if (uptodate) {
+	zj_journal_buffer_read(bh);
	set_buffer_uptodate(bh);
	...
 }
 ...
}
