// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simulator's persistent memory (runtime/sim/pmem.c), by a toy log: records, and a
 * tail that says how many there are.  Done right, nothing is ever wrong in it; with
 * any step left out, a power cut is found that shows it.
 */
#include "fixture.h"

#define RECORDS		3u
#define RECORD_WORDS	5u	/* not whole lines: two records share one */
#define RECORD_BYTES	(RECORD_WORDS * PMEM_WORD)
#define FIRST		PMEM_LINE
#define MEMORY		512u
#define MAX_SUBSETS	(1u << 16)

enum step {
	ALL_STEPS	= 0,
	NO_DATA_FENCE	= 1,	/* the tail may overtake its record */
	NO_TAIL_BACK	= 2,	/* the tail stays in the CPU's cache */
	NO_TAIL_FENCE	= 4,	/* promised before it is durable */
	TAIL_FIRST	= 8,
	PLAIN_DATA	= 16,	/* the record is not written back */
	PART_OF_DATA	= 32,	/* its last word is not */
	FOREIGN_FENCE	= 64,	/* another task's, in place of the first */
};

static struct kl_pmem *pm;
static u32 promised[RECORDS + 1];	/* event after which n records must be there */

static u64 *tail(void)
{
	return (u64 *)pm->mem;
}

static u64 record_word(u32 record, u32 word)
{
	return 1000 * (record + 1) + word;
}

static void call_fence(struct fiber *f)
{
	pmem_wmb();
}

static void set_tail(u32 n, enum step leave_out)
{
	WRITE_ONCE(*tail(), n);
	if (!(leave_out & NO_TAIL_BACK))
		arch_wb_cache_pmem(tail(), sizeof(*tail()));
}

static void append(u32 record, enum step leave_out)
{
	u8 *to = pm->mem + FIRST + record * RECORD_BYTES;
	u64 data[RECORD_WORDS];

	for (u32 i = 0; i < RECORD_WORDS; i++)
		data[i] = record_word(record, i);
	if (leave_out & TAIL_FIRST)
		set_tail(record + 1, leave_out);
	if (leave_out & PLAIN_DATA) {
		memcpy(to, data, sizeof(data));
	} else if (leave_out & PART_OF_DATA) {
		memcpy_flushcache(to, data, sizeof(data) - PMEM_WORD);
		memcpy(to + sizeof(data) - PMEM_WORD, &data[RECORD_WORDS - 1], PMEM_WORD);
	} else {
		memcpy_flushcache(to, data, sizeof(data));
	}
	if (leave_out & FOREIGN_FENCE)
		join(GO(call_fence));
	else if (!(leave_out & NO_DATA_FENCE))
		pmem_wmb();
	if (!(leave_out & TAIL_FIRST))
		set_tail(record + 1, leave_out);
	if (!(leave_out & NO_TAIL_FENCE))
		pmem_wmb();
	promised[record + 1] = pm->nr_log;
}

/* What is wrong in an image at this place of the log, or NULL. */
static const char *judge(const u8 *image, u32 at)
{
	const u64 *word = (const void *)image;
	u64 n = word[0];

	if (n > RECORDS)
		return "no such tail";
	for (u32 r = 0; r < n; r++)
		for (u32 i = 0; i < RECORD_WORDS; i++)
			if (word[(FIRST + r * RECORD_BYTES) / PMEM_WORD + i] != record_word(r, i))
				return "a record is damaged";
	for (u32 r = n + 1; r <= RECORDS; r++)
		if (promised[r] && promised[r] <= at)
			return "a promised record is lost";
	return NULL;
}

/* The first wrong state of all that are possible at this place. */
static const char *judge_place(const struct pmem_walk *w)
{
	u8 image[MEMORY];
	u32 subsets = 1u << pmem_choose(w, 0, image);

	assert_true(subsets <= MAX_SUBSETS);
	for (u32 i = 0; i < subsets; i++) {
		const char *wrong;

		pmem_choose(w, i, image);
		wrong = judge(image, w->at);
		if (wrong)
			return wrong;
	}
	return NULL;
}

static void write_log(enum step leave_out)
{
	pm = pmem_new(MEMORY, NULL);
	memset(promised, 0, sizeof(promised));
	for (u32 r = 0; r < RECORDS; r++)
		append(r, leave_out);
	pmem_look(pm);
}

/* The first fault that a power cut at any place shows, or NULL. */
static const char *found(enum step leave_out)
{
	const char *wrong = NULL;
	struct pmem_walk w;

	write_log(leave_out);
	pmem_walk_init(&w, pm);
	for (;;) {
		wrong = judge_place(&w);
		if (wrong || w.at == pm->nr_log)
			break;
		pmem_walk_step(&w);
	}
	pmem_walk_free(&w);
	pmem_free(pm);
	return wrong;
}

/* The same with states by chance. */
static const char *found_by_chance(enum step leave_out)
{
	struct sim_rand rand = { 1 };
	const char *wrong = NULL;
	struct pmem_walk w;
	u8 image[MEMORY];

	write_log(leave_out);
	for (u32 i = 0; i < 200 && !wrong; i++) {
		pmem_walk_init(&w, pm);
		for (;;) {
			pmem_crash(&w, &rand, image);
			wrong = judge(image, w.at);
			if (wrong || w.at == pm->nr_log)
				break;
			pmem_walk_step(&w);
		}
		pmem_walk_free(&w);
	}
	pmem_free(pm);
	return wrong;
}

static void right_protocol_loses_nothing(void)
{
	assert_null(found(ALL_STEPS));
	assert_null(found_by_chance(ALL_STEPS));
}

static void every_missing_step_is_seen(void)
{
	static const struct {
		enum step	leave_out;
		const char	*wrong;
	} cases[] = {
		{ NO_DATA_FENCE, "a record is damaged" },
		{ NO_TAIL_BACK, "a promised record is lost" },
		{ NO_TAIL_FENCE, "a promised record is lost" },
		{ TAIL_FIRST, "a record is damaged" },
		{ TAIL_FIRST | NO_TAIL_BACK, "a record is damaged" },
		{ PLAIN_DATA, "a record is damaged" },
		{ PART_OF_DATA, "a record is damaged" },
		{ FOREIGN_FENCE, "a record is damaged" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *wrong = found(cases[i].leave_out);

		assert_non_null(wrong);
		assert_string_equal(wrong, cases[i].wrong);
		assert_non_null(found_by_chance(cases[i].leave_out));
	}
}

/* The faster way to the next image makes the same one. */
static void crash_again_is_the_same(void)
{
	u8 image[MEMORY], next[MEMORY];
	struct sim_rand rand = { 3 }, same;
	struct pmem_walk w;

	write_log(NO_TAIL_FENCE);
	pmem_walk_init(&w, pm);
	pmem_crash(&w, &rand, next);
	while (w.at < pm->nr_log) {
		pmem_walk_step(&w);
		for (u32 i = 0; i < 20; i++) {
			same = rand;
			pmem_crash_again(&w, &rand, next);
			memcpy(image, next, MEMORY);
			pmem_crash(&w, &same, next);
			assert_memory_equal(image, next, MEMORY);
		}
		for (u32 i = 0; i < 20; i++)
			pmem_crash_again(&w, &rand, next);
		same = rand;
		pmem_crash_again(&w, &rand, next);
		pmem_crash(&w, &same, image);
		assert_memory_equal(image, next, MEMORY);
		memcpy(next, image, MEMORY);
	}
	pmem_walk_free(&w);
	pmem_free(pm);
}

/* ---- single rules ---- */

static struct pmem_walk walk_to_end(void)
{
	struct pmem_walk w;

	pmem_look(pm);
	pmem_walk_init(&w, pm);
	while (w.at < pm->nr_log)
		pmem_walk_step(&w);
	return w;
}

/* Whether a word may hold a value after a power cut now. */
static bool possible(u32 word, u64 value)
{
	struct pmem_walk w = walk_to_end();
	u64 image[MEMORY / PMEM_WORD];
	u32 subsets = 1u << pmem_choose(&w, 0, (u8 *)image);
	bool there = false;

	for (u32 i = 0; i < subsets; i++) {
		pmem_choose(&w, i, (u8 *)image);
		there |= image[word] == value;
	}
	pmem_walk_free(&w);
	return there;
}

static u64 *word(u32 n)
{
	return (u64 *)pm->mem + n;
}

static void plain_store_may_be_durable_or_not(void)
{
	pm = pmem_new(MEMORY, NULL);
	*word(3) = 7;
	pmem_wmb();
	assert_true(possible(3, 7));
	assert_true(possible(3, 0));
	arch_wb_cache_pmem(word(3), 1);
	assert_true(possible(3, 0));
	pmem_wmb();
	assert_false(possible(3, 0));
	pmem_free(pm);
}

/* A write-back takes the line as it is then; what comes later is not in it. */
static void later_store_is_not_written_back(void)
{
	pm = pmem_new(MEMORY, NULL);
	*word(0) = 1;
	arch_wb_cache_pmem(word(0), PMEM_WORD);
	*word(0) = 2;
	pmem_wmb();
	assert_false(possible(0, 0));
	assert_true(possible(0, 1));
	assert_true(possible(0, 2));
	pmem_free(pm);
}

/* The whole line is written back, with the stores of all tasks, but not the next line. */
static void lines_are_written_back(void)
{
	u64 data = 5;

	pm = pmem_new(MEMORY, NULL);
	*word(1) = 1;
	*word(7) = 7;
	*word(8) = 8;
	arch_wb_cache_pmem(word(2), PMEM_WORD);
	memcpy_flushcache(word(16), &data, sizeof(data));
	*word(17) = 17;
	pmem_wmb();
	assert_false(possible(1, 0));
	assert_false(possible(7, 0));
	assert_true(possible(8, 0));
	assert_false(possible(16, 0));
	assert_true(possible(17, 0));
	pmem_free(pm);
}

/* All lines that the bytes are in, all words of a copy, the last one in part. */
static void what_is_asked_for_is_written_back(void)
{
	u64 data = ~0ULL;

	pm = pmem_new(MEMORY, NULL);
	*word(7) = 7;
	*word(8) = 8;
	arch_wb_cache_pmem((u8 *)word(8) - 1, 2);
	*word(20) = 20;
	memcpy_flushcache((u8 *)word(17) - 2, &data, 4);
	pmem_wmb();
	assert_true(possible(20, 20) && possible(20, 0));
	assert_false(possible(7, 0));
	assert_false(possible(8, 0));
	assert_false(possible(16, 0));
	assert_false(possible(17, 0));
	assert_true(possible(17, 0xffff));
	pmem_free(pm);
}

/* A value that a durable store has overwritten does not come back. */
static void older_store_does_not_come_back(void)
{
	u64 data = 3;

	pm = pmem_new(MEMORY, NULL);
	for (u32 i = 0; i < PMEM_WORDS; i++)
		*word(i) = 1;
	pmem_look(pm);
	memcpy_flushcache(word(2), &data, sizeof(data));
	pmem_wmb();
	assert_false(possible(2, 1));
	assert_false(possible(2, 0));
	assert_true(possible(1, 0));
	assert_true(possible(3, 1));
	pmem_free(pm);
}

/* Words of one line are there or not one by one; a word never tears. */
static void words_are_whole(void)
{
	struct sim_rand rand = { 7 };
	bool first = false, second = false;
	u64 data[2] = { ~0ULL, ~0ULL };
	u64 image[MEMORY / PMEM_WORD];
	struct pmem_walk w;

	pm = pmem_new(MEMORY, NULL);
	memcpy_flushcache(word(4), data, sizeof(data));
	w = walk_to_end();
	for (u32 i = 0; i < 500; i++) {
		pmem_crash(&w, &rand, (u8 *)image);
		assert_true(!image[4] || !~image[4]);
		assert_true(!image[5] || !~image[5]);
		first |= image[4] && !image[5];
		second |= image[5] && !image[4];
	}
	assert_true(first && second);
	pmem_walk_free(&w);
	pmem_free(pm);
}

/* The memory after a power cut can be used, and cut, again. */
static void image_goes_on(void)
{
	u8 image[MEMORY];
	u64 data = 9;

	pm = pmem_new(MEMORY, NULL);
	memcpy_flushcache(word(0), &data, sizeof(data));
	pmem_wmb();
	memcpy(image, pm->mem, MEMORY);
	pmem_free(pm);
	pm = pmem_new(MEMORY, image);
	*word(0) = 10;
	assert_true(possible(0, 9));
	assert_true(possible(0, 10));
	assert_false(possible(0, 0));
	assert_int_equal(pm->lines, 0);
	pmem_free(pm);
}

/* ---- one power cut for disk and memory ---- */

static u32 place_of(enum disk_what what)
{
	u32 at = 0;

	while (fx.disk->log[at].what != what)
		at++;
	return at;
}

/* The state when the disk has passed so many events, with all that is uncertain there. */
static void cut_both(u32 at, u8 *disk_val, u64 *memory)
{
	struct disk_walk *w = calloc(1, sizeof(*w));
	u8 image[MEMORY];

	walk_init(w, fx.disk, fx.initial);
	while (w->at < at)
		walk_step(w);
	pmem_choose(&w->pmem, ~0ULL, image);
	*disk_val = w->durable[BLOCK][0];
	memcpy(memory, image, sizeof(*memory));
	walk_free(w);
	free(w);
}

static void disk_and_memory_are_cut_together(void)
{
	struct buffer_head *bh;
	u8 disk_val;
	u64 memory;

	make_disk(&(const struct setup){ .lanes = 1, .cpus = 1, .journal = 1024,
					 .no_cache = true });
	pm = pmem_new(MEMORY, NULL);
	disk_join_pmem(fx.disk, pm);
	bh = buffer(BLOCK);
	lock_buffer(bh);
	memset(bh->b_data, 5, DISK_BLOCK);
	unlock_buffer(bh);
	set_buffer_dirty(bh);
	assert_int_equal(__sync_dirty_buffer(bh, 0), 0);
	brelse(bh);
	/* Plain, before the flush: it may be durable before that is done. */
	*word(0) = 6;
	assert_int_equal(blkdev_issue_flush(&fx.disk->bdev), 0);

	cut_both(place_of(DISK_WRITE), &disk_val, &memory);
	assert_int_equal(disk_val, 0);
	assert_int_equal(memory, 0);
	cut_both(place_of(DISK_DONE_FUA) + 1, &disk_val, &memory);
	assert_int_equal(disk_val, 5);
	assert_int_equal(memory, 0);
	assert_int_equal(fx.disk->log[place_of(DISK_FLUSHED) - 1].what, DISK_PMEM);
	cut_both(place_of(DISK_FLUSHED), &disk_val, &memory);
	assert_int_equal(memory, 6);
	fx.disk->pmem = NULL;
	pmem_free(pm);
	discard_disk();
}

CORE_TESTS(pmem,
	CORE_TEST(right_protocol_loses_nothing),
	CORE_TEST(every_missing_step_is_seen),
	CORE_TEST(crash_again_is_the_same),
	CORE_TEST(plain_store_may_be_durable_or_not),
	CORE_TEST(later_store_is_not_written_back),
	CORE_TEST(lines_are_written_back),
	CORE_TEST(what_is_asked_for_is_written_back),
	CORE_TEST(older_store_does_not_come_back),
	CORE_TEST(words_are_whole),
	CORE_TEST(image_goes_on),
	CORE_TEST(disk_and_memory_are_cut_together),
);
