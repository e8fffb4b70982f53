// SPDX-License-Identifier: GPL-2.0-only
/* The fixed structures of a log in memory: what is refused, and with which message. */
#include <asm/byteorder.h>
#include "nvm/nvm.h"
#include "memlog.h"
#include "tests.h"

#define SIZE	(4u << 20)

static void seal_super(struct zj_nvm_super *sb)
{
	sb->csum = cpu_to_le32(zj_crc_without(~0U, sb, sizeof(*sb),
					      offsetof(struct zj_nvm_super, csum)));
}

static void seal_head(struct zj_nvm_head *head)
{
	head->csum = cpu_to_le32(zj_crc_without(~0U, head, sizeof(*head),
						offsetof(struct zj_nvm_head, csum)));
}

#define REFUSE_SUPER(text, change)					\
	do {								\
		sb = good;						\
		change;							\
		seal_super(&sb);					\
		assert_non_null(zj_check_nvm_super(&sb, SIZE));		\
		assert_non_null(strstr(zj_check_nvm_super(&sb, SIZE), text)); \
	} while (0)

static void super_blocks_are_refused(void **state)
{
	struct zj_nvm_super good, sb;

	zj_encode_nvm_super(mem_uuid, mem_uuid, SIZE, &good);
	assert_null(zj_check_nvm_super(&good, SIZE));
	assert_null(zj_check_nvm_super(&good, SIZE + 1));
	assert_memory_equal(good.uuid, mem_uuid, 16);
	assert_memory_equal(good.fs_uuid, mem_uuid, 16);
	sb = good;
	sb.uuid[0] ^= 1;
	assert_non_null(strstr(zj_check_nvm_super(&sb, SIZE), "wrong checksum"));
	REFUSE_SUPER("not formatted", sb.magic ^= cpu_to_le32(1));
	REFUSE_SUPER("another version", sb.version = cpu_to_le32(ZJ_NVM_VERSION + 1));
	REFUSE_SUPER("unknown fields", sb.reserved0 = cpu_to_le32(1));
	REFUSE_SUPER("unknown fields", sb.reserved[0] = 1);
	REFUSE_SUPER("unknown fields", sb.reserved[sizeof(sb.reserved) - 1] = 1);
	REFUSE_SUPER("smaller than", sb.size = cpu_to_le64(SIZE + 1));
	REFUSE_SUPER("impossible size", sb.size = cpu_to_le64(ZJ_NVM_MIN_SIZE - 1));
	sb = good;
	sb.size = cpu_to_le64(ZJ_NVM_MIN_SIZE);
	seal_super(&sb);
	assert_null(zj_check_nvm_super(&sb, ZJ_NVM_MIN_SIZE));
}

static struct zj_log_geometry geometry(u32 lanes)
{
	struct zj_log_geometry geo = { };

	assert_int_equal(zj_nvm_fit(&geo, SIZE, 1024, 8192, 50, lanes), lanes);
	memcpy(geo.uuid, mem_uuid, sizeof(geo.uuid));
	geo.block_size = 1024;
	geo.generation = 7;
	return geo;
}

#define REFUSE_HEAD(text, change)					\
	do {								\
		head = good;						\
		change;							\
		seal_head(&head);					\
		assert_non_null(zj_decode_nvm_head(&head, SIZE, &back));	\
		assert_non_null(strstr(zj_decode_nvm_head(&head, SIZE, &back), text)); \
	} while (0)

static void heads_are_refused(void **state)
{
	struct zj_log_geometry geo = geometry(2), back = { };
	struct zj_nvm_head good, head;
	u32 most;

	zj_encode_nvm_head(&geo, &good);
	assert_null(zj_decode_nvm_head(&good, SIZE, &back));
	assert_memory_equal(back.uuid, geo.uuid, sizeof(geo.uuid));
	assert_int_equal(back.generation, 7);
	assert_int_equal(back.block_size, 1024);
	assert_int_equal(back.total_blocks, geo.total_blocks);
	assert_int_equal(back.log_first, geo.log_first);
	assert_int_equal(back.seg_blocks, geo.seg_blocks);
	assert_int_equal(back.nr_segs, geo.nr_segs);
	assert_int_equal(back.nr_lanes, 2);
	head = good;
	head.generation ^= cpu_to_le64(1);
	assert_string_equal(zj_decode_nvm_head(&head, SIZE, &back), "wrong checksum");
	REFUSE_HEAD("wrong magic", head.magic ^= cpu_to_le32(1));
	REFUSE_HEAD("reserved field", head.reserved = cpu_to_le32(1));
	REFUSE_HEAD("longer than", head.total_lines = cpu_to_le32(SIZE / ZJ_NVM_LINE + 1));
	REFUSE_HEAD("fixed structures", head.log_first = cpu_to_le32(ZJ_NVM_LOG_AT / ZJ_NVM_LINE - 1));
	REFUSE_HEAD("segments out", head.seg_lines = cpu_to_le32(1024 / ZJ_NVM_LINE - 1));
	REFUSE_HEAD("segments out", head.nr_segs = 0);
	REFUSE_HEAD("lanes out", head.nr_lanes = 0);
	REFUSE_HEAD("lanes out", head.nr_lanes = cpu_to_le32(ZJ_MAX_LANES + 1));
	/* As many as there is room for, and the most lanes. */
	most = (geo.total_blocks - geo.log_first) / geo.seg_blocks;
	REFUSE_HEAD("segments out", head.nr_segs = cpu_to_le32(most + 1));
	head = good;
	head.nr_segs = cpu_to_le32(most);
	head.nr_lanes = cpu_to_le32(ZJ_MAX_LANES);
	seal_head(&head);
	assert_null(zj_decode_nvm_head(&head, SIZE, &back));
	/* A segment of one block, up to the last line. */
	head = good;
	head.seg_lines = cpu_to_le32(1024 / ZJ_NVM_LINE);
	head.nr_segs = cpu_to_le32(1);
	head.total_lines = cpu_to_le32(geo.log_first + 1024 / ZJ_NVM_LINE);
	seal_head(&head);
	assert_null(zj_decode_nvm_head(&head, SIZE, &back));
	REFUSE_HEAD("segments out",
		    head.seg_lines = cpu_to_le32(1024 / ZJ_NVM_LINE);
		    head.nr_segs = cpu_to_le32(1);
		    head.total_lines = cpu_to_le32(geo.log_first + 1024 / ZJ_NVM_LINE - 1));
}

/* Fewer lanes where there is no room for those that were asked for. */
static void small_memory_has_fewer_lanes(void **state)
{
	u32 lanes, more, last = 0;
	struct zj_log_geometry geo;

	assert_int_equal(zj_nvm_fit(&geo, ZJ_NVM_MIN_SIZE - 1, 1024, 8192, 50, 1), 0);
	for (u64 size = ZJ_NVM_MIN_SIZE; size <= 64 << 20; size *= 2) {
		lanes = zj_nvm_fit(&geo, size, 1024, 8192, 50, ZJ_MAX_LANES);
		assert_in_range(lanes, last, ZJ_MAX_LANES);
		assert_int_equal(geo.nr_lanes, lanes);
		assert_true(geo.nr_segs > 3 * (lanes - 1));
		assert_int_equal(geo.total_blocks, size / ZJ_NVM_LINE);
		assert_true(geo.log_first + (u64)geo.nr_segs * geo.seg_blocks <=
			    geo.total_blocks);
		if (lanes < ZJ_MAX_LANES) {
			more = zj_nvm_fit(&geo, size, 1024, 8192, 50, lanes + 1);
			assert_int_equal(more, lanes);
		}
		last = lanes;
	}
	assert_int_equal(last, ZJ_MAX_LANES);
	/* What is beyond the largest log stays unused. */
	assert_int_equal(zj_nvm_fit(&geo, 2 * ZJ_NVM_MAX_SIZE, 4096, 8192, 50, 1), 1);
	assert_int_equal(geo.total_blocks, ZJ_NVM_MAX_SIZE / ZJ_NVM_LINE);
}

/* As those of the log on disk (test_codec.c). */
static void promises_in_numbers(void **state)
{
	static const struct {
		u64 bytes;
		u32 block, info, largest, lanes, got, segs, seg, txn[4];
	} rows[] = {
		/* txn: lines of 0, 1, 100 and 5000 images */
		{ 256ULL << 10, 1024, 256, 50, 1, 1, 12, 256,
		  { 29, 46, 1844, 90964 } },
		{ 256ULL << 10, 1024, 8192, 50, 2, 2, 12, 256,
		  { 29, 46, 1786, 88940 } },
		{ 300ULL << 10, 1024, 8192, 62, 4, 4, 14, 256,
		  { 29, 46, 1786, 88940 } },
		{ 1024ULL << 10, 1024, 8192, 50, 2, 2, 15, 1024,
		  { 29, 46, 1676, 83088 } },
		{ 1024ULL << 10, 4096, 8192, 50, 8, 4, 15, 1024,
		  { 77, 142, 6922, 344874 } },
		{ 4096ULL << 10, 1024, 8192, 200, 16, 16, 63, 1024,
		  { 30, 47, 1677, 83089 } },
		{ 4096ULL << 10, 4096, 131072, 100, 16, 5, 15, 4096,
		  { 77, 142, 6572, 326857 } },
		{ 16384ULL << 10, 4096, 8192, 1000, 16, 16, 63, 4096,
		  { 78, 143, 6573, 326885 } },
		{ 65536ULL << 10, 4096, 8192, 4000, 256, 64, 255, 4096,
		  { 84, 149, 6579, 326891 } },
		{ 262144ULL << 10, 4096, 8192, 2000, 256, 256, 1023, 4096,
		  { 108, 173, 6603, 326915 } },
		{ 262144ULL << 10, 65536, 8192, 200, 16, 16, 63, 65536,
		  { 1038, 2063, 104493, 5203685 } },
		{ 134217728ULL << 10, 4096, 8192, 4000, 256, 256, 131071, 16384,
		  { 108, 173, 6533, 322715 } },
		{ 135266304ULL << 10, 4096, 8192, 4000, 1, 1, 131071, 16384,
		  { 77, 142, 6502, 322684 } },
	};
	static const u32 n[] = { 0, 1, 100, 5000 };
	struct zj_log_geometry geo;

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(zj_nvm_fit(&geo, rows[i].bytes, rows[i].block, rows[i].info,
					    rows[i].largest, rows[i].lanes), rows[i].got);
		assert_int_equal(geo.nr_lanes, rows[i].got);
		assert_int_equal(geo.nr_segs, rows[i].segs);
		assert_int_equal(geo.seg_blocks, rows[i].seg);
		assert_int_equal(geo.log_first, ZJ_NVM_LOG_AT / ZJ_NVM_LINE);
		for (u32 k = 0; k < ARRAY_SIZE(n); k++)
			assert_int_equal(zj_nvm_txn_lines(&geo, rows[i].info, n[k]),
					 rows[i].txn[k]);
	}
}

/* A record has a bit for each of them. */
static void units_of_large_blocks(void **state)
{
	for (u32 size = 1024; size <= 4096; size *= 2)
		assert_int_equal(zj_lines_unit(size), ZJ_NVM_LINE);
	for (u32 size = 8192; size <= 65536; size *= 2)
		assert_int_equal(zj_lines_unit(size), size / 64);
}

const struct CMUnitTest nvm_tests[] = {
	cmocka_unit_test(units_of_large_blocks),
	cmocka_unit_test(super_blocks_are_refused),
	cmocka_unit_test(heads_are_refused),
	cmocka_unit_test(small_memory_has_fewer_lanes),
	cmocka_unit_test(promises_in_numbers),
};
const size_t nr_nvm_tests = ARRAY_SIZE(nvm_tests);
