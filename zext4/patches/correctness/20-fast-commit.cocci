// SPDX-License-Identifier: GPL-2.0-only
// Rules: E25.
//
// Fast commit looks for "the" running transaction, which lanes do not have (E25).
// It is never on (11-options), so this code is never reached; the patch makes it
// compile.
//
// expect: fast_commit.c: ext4_fc_mark_ineligible=2 ext4_fc_write_tail=1 ext4_fc_perform_commit=1 ext4_fc_commit=1

@@
expression J;
@@
(
- J->j_running_transaction->t_tid
+ zext4_no_fast_commit()
|
- J->j_running_transaction
+ zext4_no_fast_commit()
|
- J->j_commit_sequence
+ zext4_no_fast_commit()
)
