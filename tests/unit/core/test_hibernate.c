// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hibernation copies the memory and goes on until the power is off; then the copy goes on (L3).
 * A child process plays what comes after the copy. What it has written is on the disk when the
 * test, which is the copy, is resumed.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/bio.h>
#include <asm/barrier.h>
#include <klayer/nvm.h>
#include "fixture.h"
#include "core/core.h"

#define PMEM		(1u << 20)
#define JOURNAL		400u

/**
 * struct left - what the first life has left; shared by both
 */
struct left {
	u8	pmem[PMEM];
	u8	disk[HOME_BLOCKS + JOURNAL][DISK_BLOCK];
};

static void leave(struct left *left)
{
	for (u32 b = 0; b < fx.disk->nr; b++)
		memcpy(left->disk[b], fx.disk->seen[b], DISK_BLOCK);
	if (fx.pmem)
		memcpy(left->pmem, fx.pmem->mem, PMEM);
}

/* The device has a block that the journal knows nothing of. */
static void device_has(u32 block, const u8 *data)
{
	void *page = kmem_cache_alloc(fx.zj->frozen_cache, GFP_KERNEL);
	struct bio *bio = bio_alloc(fx.journal->j_fs_dev, 1,
				    REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_FUA,
				    GFP_KERNEL);

	memcpy(page, data, DISK_BLOCK);
	bio->bi_iter.bi_sector = block * (DISK_BLOCK >> SECTOR_SHIFT);
	bio_add_page(bio, virt_to_page(page), DISK_BLOCK, offset_in_page(page));
	assert_int_equal(submit_bio_wait(bio), 0);
	bio_put(bio);
	kmem_cache_free(fx.zj->frozen_cache, page);
}

/* Returns how many blocks and bytes of memory are not what the copy knows. */
static u32 find(const struct left *left)
{
	u32 changed = 0;

	for (u32 b = 0; b < fx.disk->nr; b++) {
		if (!memcmp(fx.disk->seen[b], left->disk[b], DISK_BLOCK))
			continue;
		device_has(b, left->disk[b]);
		changed++;
	}
	for (u32 i = 0; fx.pmem && i < PMEM; i++)
		if (fx.pmem->mem[i] != left->pmem[i])
			changed++;
	if (fx.pmem) {
		memcpy(fx.pmem->mem, left->pmem, PMEM);
		arch_wb_cache_pmem(fx.pmem->mem, PMEM);
		pmem_wmb();
	}
	return changed;
}

/* All that can be frozen is frozen; returns what was changed before the copy is resumed. */
static u32 hibernate(void (*first_life)(void))
{
	struct left *left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	u32 changed;
	int status;
	pid_t pid;

	assert_true(fx.disk->nr <= ARRAY_SIZE(left->disk));
	zj_writes_hold();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		first_life();
		leave(left);
		/* Who waits for the end of it does not keep the memory from being taken away. */
		if (kl_nvm.begun)
			kl_fail("%d accesses to the memory go on", kl_nvm.begun);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	changed = find(left);
	munmap(left, sizeof(*left));
	zj_writes_release();
	return changed;
}

/* ---- what a hibernation does not freeze ---- */

static void call_change(struct fiber *f)
{
	change(f->cpu, f->block, f->n);
}

static void call_commit_all(struct fiber *f)
{
	f->ret = zj_journal_force_commit(fx.journal);
}

/* Write-back has handles of its own, and whoever frees an inode may need the log empty. */
static void call_empty(struct fiber *f)
{
	zj_journal_lock_updates(fx.journal);
	f->ret = zj_journal_flush(fx.journal, 0);
	zj_journal_unlock_updates(fx.journal);
}

static void commit_timers_expire(void)
{
	sleep_ms(20000);
}

static void lanes_commit_in_turn(void)
{
	seal(0);
	settle();
	seal(1);
	settle();
}

static void write_back_commits(void)
{
	GO(call_commit_all);
	settle();
	for (u32 i = 0; i < fx.zj->nr_lanes; i++)
		GO(call_change, .cpu = i, .block = BLOCK + 50 * i, .n = 2);
	GO(call_change, .cpu = 0, .block = BLOCK + 1, .n = 2);
	settle();
	GO(call_commit_all);
	sleep_ms(20000);
}

static void everything_goes_home(void)
{
	GO(call_full_checkpoint);
	sleep_ms(20000);
}

static void log_is_emptied(void)
{
	GO(call_empty);
	sleep_ms(20000);
}

static void call_abort(struct fiber *f)
{
	zj_journal_abort(fx.journal, -EIO);
}

/* Block 0 is to have the error. */
static void journal_is_aborted(void)
{
	GO(call_abort);
	sleep_ms(20000);
}

/* ---- nothing is written ---- */

static void nothing_is_written_in(const struct setup *setup)
{
	static void (*const lives[])(void) = {
		commit_timers_expire, write_back_commits, everything_goes_home, log_is_emptied,
		journal_is_aborted,
	};

	for (u32 i = 0; i < ARRAY_SIZE(lives); i++) {
		open_journal(setup);
		/* The log is in use, a block is to go home, and a transaction is open. */
		change(0, BLOCK, 1);
		change(0, BLOCK + 1, 1);
		commit(0);
		change(0, BLOCK, 2);
		assert_int_equal(hibernate(lives[i]), 0);
		/* The copy goes on as if nothing had been. */
		commit(0);
		assert_int_equal(val_after_crash(BLOCK), 2);
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		assert_int_equal(home_val(BLOCK), 2);
		close_journal();
	}
}

static void nothing_is_written_to_a_log_of_lanes(void)
{
	nothing_is_written_in(&(const struct setup){ .lanes = 2, .journal = JOURNAL });
}

static void nothing_is_written_with_flush_threads(void)
{
	nothing_is_written_in(&(const struct setup){ .lanes = 2, .journal = JOURNAL,
						     .pipeline = true });
}

static void nothing_is_written_to_a_log_in_stocks_format(void)
{
	nothing_is_written_in(&(const struct setup){ .lanes = 1, .journal = JOURNAL,
						     .jbd2 = true });
	nothing_is_written_in(&(const struct setup){ .lanes = 1, .journal = JOURNAL,
						     .jbd2 = true, .pipeline = true });
}

static void nothing_is_written_to_a_log_in_memory(void)
{
	nothing_is_written_in(&(const struct setup){ .lanes = 2, .journal = JOURNAL,
						     .nvm = PMEM });
}

/* Nor is the log made live, by the first commit of all. */
static void go_live(const struct setup *setup)
{
	open_journal(setup);
	change(0, BLOCK, 1);
	assert_int_equal(hibernate(write_back_commits), 0);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

static void log_does_not_become_live(void)
{
	go_live(&(const struct setup){ .lanes = 2, .journal = JOURNAL, .new = true });
	go_live(&(const struct setup){ .lanes = 1, .journal = JOURNAL, .jbd2 = true, .new = true });
	go_live(&(const struct setup){ .lanes = 2, .journal = JOURNAL, .nvm = PMEM, .new = true });
}

/* Nor does the tail move, if write-back has brought home all that was in its way. */
static void move_tail(const struct setup *setup)
{
	open_journal(setup);
	change(0, BLOCK, 1);
	commit(0);
	buf_write_back(fx.disk, BLOCK);
	settle();
	assert_int_equal(home_val(BLOCK), 1);
	assert_int_equal(hibernate(everything_goes_home), 0);
	close_journal();
}

static void tail_does_not_move(void)
{
	move_tail(&(const struct setup){ .lanes = 2, .journal = JOURNAL });
	move_tail(&(const struct setup){ .lanes = 1, .journal = JOURNAL, .jbd2 = true });
	move_tail(&(const struct setup){ .lanes = 2, .journal = JOURNAL, .nvm = PMEM });
}

/* ---- what it would do ---- */

/* The copy gives out the same stamps for other changes; the older future must not win. */
static void other_changes_after_the_resume(bool jbd2)
{
	OPEN(.lanes = 1, .journal = JOURNAL, .jbd2 = jbd2);
	change(0, BLOCK, 1);
	hibernate(write_back_commits);
	change(0, BLOCK, 5);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 5);
	close_journal();
}

static void commits_after_the_copy_are_not_replayed(void)
{
	other_changes_after_the_resume(false);
}

static void commits_after_the_copy_are_not_replayed_in_stocks_format(void)
{
	other_changes_after_the_resume(true);
}

/* Two lanes commit in one order, and after the resume in the other. */
static void lanes_that_commit_after_the_copy_do_not_spoil_the_log(void)
{
	struct image *image;

	OPEN(.lanes = 2, .journal = JOURNAL);
	change(0, BLOCK, 1);
	change(1, BLOCK + 50, 1);
	hibernate(lanes_commit_in_turn);
	change(1, BLOCK + 50, 5);
	commit(1);
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK + 50), 5);
	image_free(image);
	close_journal();
}

/* Recovery would skip what the copy commits under stamps that are reclaimed already. */
static void tail_that_moves_after_the_copy_hides_no_commit(void)
{
	OPEN(.lanes = 2, .journal = JOURNAL);
	change(0, BLOCK, 1);
	commit(0);
	change(0, BLOCK, 2);
	hibernate(everything_goes_home);
	change(1, BLOCK + 50, 5);
	commit(1);
	assert_int_equal(val_after_crash(BLOCK + 50), 5);
	close_journal();
}

/* ---- writes on their way ---- */

/* What has passed before the copy goes out in both lives, and is the same. */
static void write_on_its_way_is_sent_twice(void)
{
	OPEN(.lanes = 2, .journal = JOURNAL);
	change(0, BLOCK, 1);
	seal_held(0);
	assert_true(nr_held() > 0);
	hibernate(release);
	release();
	change(1, BLOCK + 50, 5);
	commit(1);
	assert_int_equal(val_after_crash(BLOCK), 1);
	assert_int_equal(val_after_crash(BLOCK + 50), 5);
	close_journal();
}

/* The threads wait in no other way than they would for a slow device. */
static void a_hold_without_a_copy_only_delays(void)
{
	struct fiber *f;

	OPEN(.lanes = 2, .journal = JOURNAL);
	zj_writes_hold();
	f = GO(call_complete, .tid = change(0, BLOCK, 1));
	sleep_ms(20000);
	assert_false(f->done);
	zj_writes_release();
	join(f);
	assert_int_equal(f->ret, 0);
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

CORE_TESTS(hibernate,
	CORE_TEST(nothing_is_written_to_a_log_of_lanes),
	CORE_TEST(nothing_is_written_with_flush_threads),
	CORE_TEST(nothing_is_written_to_a_log_in_stocks_format),
	CORE_TEST(nothing_is_written_to_a_log_in_memory),
	CORE_TEST(log_does_not_become_live),
	CORE_TEST(tail_does_not_move),
	CORE_TEST(commits_after_the_copy_are_not_replayed),
	CORE_TEST(commits_after_the_copy_are_not_replayed_in_stocks_format),
	CORE_TEST(lanes_that_commit_after_the_copy_do_not_spoil_the_log),
	CORE_TEST(tail_that_moves_after_the_copy_hides_no_commit),
	CORE_TEST(write_on_its_way_is_sent_twice),
	CORE_TEST(a_hold_without_a_copy_only_delays),
);
