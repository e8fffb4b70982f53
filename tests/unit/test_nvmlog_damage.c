// SPDX-License-Identifier: GPL-2.0-only
/* Recovery of a log in memory: what it refuses, field by field. */
#include <asm/byteorder.h>
#include "nvmlog.h"
#include "tests.h"

/* One chunk that is good; what @change does to its end, named t, is not. */
#define TWIST(text, change)						\
	do {								\
		struct zj_txninfo *t;					\
									\
		new_log();						\
		PUT(.stamp = 1, .rec = { { 4, 1, 1 } });		\
		PUT(.stamp = 2, .deps = { 1 }, .revokes = { 60 },	\
		    .rec = { { 5, ALL, 1 }, { 6, 3, 1 } });		\
		t = info_before(nv.end[0]);				\
		change;							\
		reseal_lines(nv.end[0], 3);				\
		refused("lane 0, chunk before line ");			\
		refused(text);						\
		free_log();						\
	} while (0)

#define NUMBERS		"a TxnInfo with impossible numbers"
#define ENTRIES		"a TxnInfo with more entries than it can hold"
#define LENGTH		"a TxnInfo of impossible length"

static void fields_of_a_txninfo(void **state)
{
	TWIST(NUMBERS, t->flags |= cpu_to_le32(2));
	TWIST(NUMBERS, t->reserved[0] = 1);
	TWIST(NUMBERS, t->reserved[sizeof(t->reserved) - 1] = 1);
	TWIST(NUMBERS, t->end = cpu_to_le32(nv.end[0] + 1));
	TWIST(NUMBERS, t->end = cpu_to_le32(nv.end[0] - 1));
	TWIST(NUMBERS, t->start = cpu_to_le32(le32_to_cpu(t->start) + 1));
	TWIST(NUMBERS, t->start = cpu_to_le32(le32_to_cpu(t->start) - 1));
	TWIST(NUMBERS, t->start = cpu_to_le32(nv.end[0]));
	TWIST(NUMBERS, t->data_lines = cpu_to_le32(le32_to_cpu(t->data_lines) + 1));
	TWIST(NUMBERS, t->start = cpu_to_le32(FIRST - 1);
		       t->data_lines = cpu_to_le32(nv.end[0] - 3 - (FIRST - 1)));
	TWIST(NUMBERS, t->stamp = 0; t->prev_stamp = 0; t->prev = 0);
	TWIST(NUMBERS, t->lane = cpu_to_le32(2));
	TWIST(NUMBERS, t->nr_members = 0);
	TWIST(NUMBERS, t->nr_members = cpu_to_le32(3));
	TWIST(NUMBERS, t->chunk_index = cpu_to_le32(U32_MAX));
	TWIST(NUMBERS, t->prev_stamp = cpu_to_le64(3));
	TWIST(NUMBERS, t->prev_stamp = 0);
	TWIST(NUMBERS, t->prev = 0);
	TWIST(ENTRIES, t->nr_deps = cpu_to_le32(4));
	TWIST(ENTRIES, t->nr_revokes = cpu_to_le32(4));
	TWIST(ENTRIES, t->count = cpu_to_le32(4));
	TWIST(ENTRIES, t->nr_deps = cpu_to_le32(9); t->nr_revokes = 0; t->count = 0);
	TWIST(ENTRIES, t->nr_revokes = cpu_to_le32(9); t->nr_deps = 0; t->count = 0);
	TWIST(ENTRIES, t->nr_deps = cpu_to_le32(U32_MAX));
	TWIST(ENTRIES, t->nr_revokes = cpu_to_le32(U32_MAX));
	TWIST(ENTRIES, t->count = cpu_to_le32(U32_MAX));
	TWIST(LENGTH, t->info_lines = cpu_to_le32(1));
	TWIST(LENGTH, t->info_lines = cpu_to_le32(ZJ_TXNINFO_MAX_MAX / ZJ_NVM_LINE + 1));
	TWIST(LENGTH, t->info_lines = cpu_to_le32(nv.end[0] - FIRST + 1));
	TWIST("a TxnInfo with a wrong checksum", t->info_lines = cpu_to_le32(2));
	TWIST("no TxnInfo of this log", t->magic ^= cpu_to_le32(1));
	TWIST("no TxnInfo of this log", t->generation ^= cpu_to_le64(1));
	TWIST("two transactions of stamp 2", t->prev_stamp = cpu_to_le64(2));
	TWIST("the transaction's beginning is missing", t->chunk_index = cpu_to_le32(1));
	TWIST("it is out of order in its transaction", t->flags = 0);
	TWIST("it is of lane 1", t->lane = cpu_to_le32(1));
	TWIST("stamp 1 where 4294967296 was expected", t->stamp = cpu_to_le64(1ULL << 32 | 2);
	      t->prev_stamp = cpu_to_le64(1ULL << 32); set_ckpt(1));
	TWIST("the records do not match their TxnInfo", t->data_hash ^= cpu_to_le64(1));
}

/* Each of them is the last that will do: 3 lines hold 64 bytes of entries. */
static void fields_at_their_bounds(void **state)
{
	u32 end;

	new_log();
	end = PUT(.stamp = 1, .members = 2, .deps = { }, .revokes = { 1, 2 },
		  .rec = { { 5, ALL, 1 }, { 6, ALL, 2 }, { HOME - 1, 1, 3 } });
	assert_int_equal(le32_to_cpu(info_before(end)->info_lines), 3);
	PUT(.stamp = 1, .lane = 1, .members = 2, .revokes = { HOME - 1 }, .rec = { { 8, 1 << 15, 1 } });
	PUT(.stamp = 2, .deps = { 1 });
	assert_int_equal(accepted().transactions, 3);
	free_log();
}

static void places_of_chunks(void **state)
{
	u32 end;

	/* A tail that points before, into and behind the log. */
	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 } });
	set_tail(0, FIRST + 1, 1);
	refused("lane 0, chunk before line 1025: there is no place in the log");
	set_tail(0, FIRST + 2, 1);
	refused("no TxnInfo of this log");
	set_tail(0, FIRST + 8 * SEG_LINES, 1);
	refused("no TxnInfo of this log");
	set_tail(0, FIRST + 8 * SEG_LINES + 1, 1);
	refused("no place in the log");
	set_tail(0, nv.end[0], 2);
	refused("stamp 1 is not that of the lane's tail");
	set_tail(1, nv.end[0], 1);
	set_tail(0, 0, 0);
	refused("lane 1, chunk before line");
	free_log();

	/* One that fills the log's last lines, and one that lies in two segments. */
	new_log();
	nv.next = FIRST + 8 * SEG_LINES - LINES - 3;
	end = PUT(.stamp = 1, .rec = { { 5, ALL, 1 } });
	assert_int_equal(end, FIRST + 8 * SEG_LINES);
	assert_int_equal(accepted().replayed, 1);
	free_log();
	new_log();
	nv.next = FIRST + SEG_LINES - LINES;
	nv.geo.seg_blocks *= 2;
	PUT(.stamp = 1, .rec = { { 5, 0xff, 1 } });
	end = PUT(.stamp = 2, .rec = { { 5, 0xff, 1 } });
	nv.geo.seg_blocks /= 2;
	assert_true(end > FIRST + SEG_LINES);
	refused(NUMBERS);
	free_log();
}

static void chains_that_break(void **state)
{
	u32 end;

	/* The chunk before is another one than the newer one says. */
	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 } });
	PUT(.stamp = 2, .rec = { { 5, ALL, 1 } });
	end = PUT(.stamp = 4, .rec = { { 5, ALL, 1 } });
	info_before(end)->prev_stamp = cpu_to_le64(3);
	reseal(end);
	refused("stamp 2 where 3 was expected");
	free_log();
	/* A chunk in the middle of its transaction is missing. */
	new_log();
	PUT(.stamp = 1, .index = 0, .more = true);
	PUT(.stamp = 1, .index = 2);
	refused("it is out of order in its transaction");
	free_log();
	/* The last one of another transaction of its stamp. */
	new_log();
	PUT(.stamp = 1, .index = 0);
	PUT(.stamp = 1, .index = 1);
	refused("it is out of order in its transaction");
	free_log();
	new_log();
	PUT(.stamp = 1, .index = 0);
	PUT(.stamp = 2, .index = 1);
	refused("the transaction's beginning is missing");
	free_log();
	/* A transaction without an end. */
	new_log();
	PUT(.stamp = 1, .index = 0, .more = true);
	refused("it is out of order in its transaction");
	free_log();
}

static void entries_out_of_range(void **state)
{
	new_log();
	PUT(.stamp = 2, .deps = { 1, 2 });
	refused("stamp 2 depends on 2, which is not older");
	free_log();
	new_log();
	PUT(.stamp = 2, .deps = { 3 });
	refused("stamp 2 depends on 3, which is not older");
	free_log();
	new_log();
	PUT(.stamp = 1, .revokes = { 1, HOME });
	refused("revoke of block 64, but the device has 64");
	free_log();
	new_log();
	PUT(.stamp = 1, .rec = { { 5, 1, 1 }, { HOME, 1, 1 } });
	refused("record of block 64, but the device has 64");
	free_log();
	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL + 1, 1 } });
	refused("record of block 5 with impossible lines 0x10000");
	free_log();
}

/* The numbers of lines in the records are not those of the TxnInfo. */
static void records_that_do_not_add_up(void **state)
{
	struct zj_nvm_record *rec;

	for (u32 i = 0; i < 3; i++) {
		static const u64 lines[] = { 0, 0x7, 0x1 };

		new_log();
		PUT(.stamp = 1, .rec = { { 6, 1, 1 }, { 5, 0x3, 1 } });
		rec = line(nv.end[0] - 3);
		rec[1].lines = cpu_to_le64(lines[i]);
		reseal(nv.end[0]);
		refused(i == 2 ? "the records do not match their TxnInfo" :
			"record of block 5 with impossible lines");
		free_log();
	}
}

static void the_journals_own_blocks(void **state)
{
	new_log();
	nv.dev->log_home = 20;
	PUT(.stamp = 1, .rec = { { 19, ALL, 1 }, { 20 + JOURNAL, ALL, 1 } });
	assert_int_equal(accepted().replayed, 2);
	PUT(.stamp = 2, .rec = { { 20 + JOURNAL - 1, 1, 1 } });
	refused("which is the journal's own block 7");
	free_log();
}

static void heads_of_other_logs(void **state)
{
	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 } });
	nv.area.generation++;
	refused("the memory holds generation 1234605616436508552 of it, but block 0 names generation 1234605616436508553");
	nv.area.generation--;
	nv.geo.block_size = 2048;
	put_head();
	refused("its block size is 2048, but the file system's is 1024");
	nv.geo.block_size = 1024;
	put_head();
	nv.mem[ZJ_NVM_HEAD_AT] ^= 1;
	refused("its header in memory: wrong magic");
	nv.mem[ZJ_NVM_HEAD_AT] ^= 1;
	assert_int_equal(accepted().replayed, 1);
	free_log();
}

const struct CMUnitTest nvmlog_damage_tests[] = {
	cmocka_unit_test(fields_of_a_txninfo),
	cmocka_unit_test(fields_at_their_bounds),
	cmocka_unit_test(places_of_chunks),
	cmocka_unit_test(chains_that_break),
	cmocka_unit_test(entries_out_of_range),
	cmocka_unit_test(records_that_do_not_add_up),
	cmocka_unit_test(the_journals_own_blocks),
	cmocka_unit_test(heads_of_other_logs),
};

const size_t nr_nvmlog_damage_tests = ARRAY_SIZE(nvmlog_damage_tests);
