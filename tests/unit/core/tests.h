/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests of each subject, by the name of its file; main.c runs them all as one group. */
#ifndef ZJ_UNIT_CORE_TESTS_H
#define ZJ_UNIT_CORE_TESTS_H

#define FOR_EACH_FILE(DO) \
	DO(handle) DO(start_order) DO(reserved_handle) DO(access) DO(rules) DO(frozen_copy) DO(forget) DO(revoke) DO(file_block) \
	DO(block_index) DO(data_limit) \
	DO(component) DO(union) DO(seal_races) DO(txn) DO(commit) DO(commit_here) DO(write_order) DO(committed) \
	DO(flush) DO(lives) DO(flush_marks) DO(gather) DO(lost_writes) DO(sticky) DO(checkpoint) DO(neighbours) DO(checkpoint_thread) \
	DO(space) DO(promise) DO(lines) DO(lines_space) DO(spare) DO(space_queue) DO(space_wake) DO(ordered) \
	DO(invalidate) DO(older_image) DO(file_writeback) DO(sync) DO(barrier) \
	DO(super) DO(load) DO(lane) DO(tenant) DO(abort) DO(assert) DO(journal) DO(jhead) DO(stats) DO(scaling) DO(text) DO(text_lines) \
	DO(log_jbd2) DO(ring) DO(group_commit) DO(versions) DO(log_fua) DO(pmem) DO(two_devices) \
	DO(nvm) DO(nvm_ranges) DO(nvm_space) DO(nvm_mount) DO(nvm_errors) DO(nvm_crash) \
	DO(hibernate) DO(at_once)

#define DECLARE(name)						\
	extern const struct CMUnitTest name##_tests[];		\
	extern const size_t nr_##name##_tests;

FOR_EACH_FILE(DECLARE)

#endif
