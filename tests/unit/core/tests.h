/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests of each file of src/; main.c runs them all as one group. */
#ifndef ZJ_UNIT_CORE_TESTS_H
#define ZJ_UNIT_CORE_TESTS_H

#define FOR_EACH_FILE(DO) \
	DO(handle) DO(access) DO(forget) DO(component) DO(txn) DO(commit) DO(flush) DO(validity) DO(checkpoint) DO(space) DO(revoke) \
	DO(ordered) DO(invalidate) DO(sync) DO(super) DO(load) DO(lane) DO(tenant) \
	DO(abort) DO(journal) DO(jhead) DO(stats) DO(text) DO(log_jbd2) DO(pipeline) DO(pmem) DO(nvm)

#define DECLARE(name)						\
	extern const struct CMUnitTest name##_tests[];		\
	extern const size_t nr_##name##_tests;

FOR_EACH_FILE(DECLARE)

#endif
