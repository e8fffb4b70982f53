// SPDX-License-Identifier: GPL-2.0-only
// journal_ioprio applies to the threads of all lanes (E24).
//
// expect: super.c: ext4_load_and_init_journal=1 __ext4_remount=1

@@
expression J, prio;
@@
- set_task_ioprio(J->j_task, prio);
+ zj_journal_set_ioprio(J, prio);
