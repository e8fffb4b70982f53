// SPDX-License-Identifier: GPL-2.0-only
/* Persistent memory for programs (user/lib/pmem.c), on a file without DAX. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <klayer/pmem.h>
#include "memlog.h"
#include "tests.h"

#define FILE_NAME	BUILD_DIR "/pmem.img"
#define SIZE		10000u	/* not whole pages */

static void make_file(u32 size)
{
	int fd = open(FILE_NAME, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

static void file_has(u32 at, const char *text)
{
	int fd = open(FILE_NAME, O_RDONLY);
	char buf[64] = "";

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, buf, strlen(text), at), strlen(text));
	close(fd);
	assert_string_equal(buf, text);
}

/* Across pages and to the very end; all that was stored since a fence is synced by the next. */
static void stores_reach_the_file(void **state)
{
	struct pmem_map map;

	make_file(SIZE);
	assert_int_equal(pmem_map(&map, FILE_NAME, 0), 0);
	assert_int_equal(map.size, SIZE);
	memcpy_flushcache(map.addr + 4090, "across two pages", 16);
	memcpy(map.addr + SIZE - 4, "last", 4);
	arch_wb_cache_pmem(map.addr + SIZE - 4, 4);
	if (!map.dax) {
		assert_int_equal(map.from, 4090);
		assert_int_equal(map.to, SIZE);
	}
	pmem_wmb();
	assert_int_equal(map.from, map.to);
	memcpy_flushcache(map.addr + 8, "again", 5);
	assert_true(map.dax || map.to - map.from == 5);
	pmem_wmb();
	assert_int_equal(pmem_unmap(&map), 0);
	file_has(4090, "across two pages");
	file_has(SIZE - 4, "last");
	file_has(8, "again");
}

static void two_maps_are_kept_apart(void **state)
{
	struct pmem_map map, reader;

	make_file(SIZE);
	assert_int_equal(pmem_map(&map, FILE_NAME, PMEM_NO_SYNC), 0);
	assert_int_equal(pmem_map(&reader, FILE_NAME, PMEM_READ_ONLY), 0);
	memcpy_flushcache(map.addr, "seen", 4);
	pmem_wmb();
	assert_int_equal(map.to, 0);
	assert_memory_equal(reader.addr, "seen", 4);
	assert_int_equal(pmem_unmap(&map), 0);
	assert_int_equal(pmem_unmap(&reader), 0);
}

static void errors_are_reported(void **state)
{
	struct pmem_map map;

	unlink(FILE_NAME);
	assert_int_equal(pmem_map(&map, FILE_NAME, 0), -ENOENT);
	make_file(0);
	assert_int_equal(pmem_map(&map, FILE_NAME, 0), -EINVAL);
	assert_int_equal(pmem_map(&map, BUILD_DIR, PMEM_READ_ONLY) < 0, 1);
	pmem_wmb();
	unlink(FILE_NAME);
}

const struct CMUnitTest pmem_tests[] = {
	cmocka_unit_test(stores_reach_the_file),
	cmocka_unit_test(two_maps_are_kept_apart),
	cmocka_unit_test(errors_are_reported),
};
const size_t nr_pmem_tests = ARRAY_SIZE(pmem_tests);
