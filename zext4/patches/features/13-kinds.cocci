// SPDX-License-Identifier: GPL-2.0-only
// This tells the journal the kinds of its blocks, so that its statistics can say what ties
// lanes together.
//
// expect: super.c: __ext4_fill_super=1

@@
expression journal;
@@
__ext4_fill_super(...)
{
<...
 if (journal)
- journal->j_commit_callback = ext4_journal_commit_callback;
+ {
+	journal->j_commit_callback = ext4_journal_commit_callback;
+	journal->j_block_kind = zext4_block_kind;
+ }
...>
}
