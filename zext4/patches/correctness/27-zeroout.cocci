// SPDX-License-Identifier: GPL-2.0-only
// Rules: E30.
//
// data=journal: stock ext4 may zero the rest of a small unwritten extent in place, past
// the journal.  In this mode freed blocks are never revoked, so recovery would write their
// old images over the zeros, and the file would show another file's data.  Such an extent is
// split instead.
//
// expect: extents.c: ext4_split_convert_extents=1
// expect: extents.c: ext4_ext_convert_to_initialized=1
//
// Newer kernels zero whole ranges so on request (FALLOC_FL_WRITE_ZEROES), blocks that the log holds
// included. Whoever is refused writes zeros.
//
// expect: extents.c: | ext4_zero_range=2

@@
expression inside;
@@
- split_flag |= inside ? EXT4_EXT_MAY_ZEROOUT : 0;
+ split_flag |= inside && !ext4_should_journal_data(inode) ?
+	EXT4_EXT_MAY_ZEROOUT : 0;

@@
expression end, eof, most;
identifier max_zeroout;
@@
ext4_ext_convert_to_initialized(...)
{
 ...
 unsigned int max_zeroout = 0;
<...
- if (end <= eof)
+ if (end <= eof && !ext4_should_journal_data(inode))
	max_zeroout = most;
...>
}

@asked@
@@
ext4_fallocate(...)
{
 <+...
 FALLOC_FL_WRITE_ZEROES
 ...+>
}

@depends on asked@
@@
ext4_zero_range(..., int mode)
{
 ...
 if (!(ext4_test_inode_flag(inode, EXT4_INODE_EXTENTS)))
	return -EOPNOTSUPP;
+ if (mode & FALLOC_FL_WRITE_ZEROES && ext4_should_journal_data(inode))
+	return -EOPNOTSUPP;
 ...
}
