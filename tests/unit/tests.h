/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests of each file; main.c runs them all as one group. */
#ifndef ZJ_TESTS_H
#define ZJ_TESTS_H

#define ZJ_TEST_FILE(name)				\
	extern const struct CMUnitTest name##_tests[];	\
	extern const size_t nr_##name##_tests

ZJ_TEST_FILE(codec);
ZJ_TEST_FILE(codec_jbd2);
ZJ_TEST_FILE(recovery);
ZJ_TEST_FILE(recovery_errors);
ZJ_TEST_FILE(recovery_lines);
ZJ_TEST_FILE(journal_map);
ZJ_TEST_FILE(recovery_durable);
ZJ_TEST_FILE(recovery_unread);
ZJ_TEST_FILE(recovery_cost);
ZJ_TEST_FILE(readahead);
ZJ_TEST_FILE(schedule);
ZJ_TEST_FILE(damage);
ZJ_TEST_FILE(random);
ZJ_TEST_FILE(jbd2);
ZJ_TEST_FILE(fast_commit);
ZJ_TEST_FILE(zjrecover);
ZJ_TEST_FILE(pmem);
ZJ_TEST_FILE(nvm);
ZJ_TEST_FILE(nvmlog);
ZJ_TEST_FILE(nvmlog_damage);

#endif /* ZJ_TESTS_H */
