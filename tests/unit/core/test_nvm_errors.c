// SPDX-License-Identifier: GPL-2.0-only
/* Memory that goes away, has errors, or has to be flushed, under a mounted journal. */
#include <klayer/nvm.h>
#include "nvmview.h"

/* ---- the memory is unbound ---- */

static bool memory_is(const u8 *before)
{
	return !memcmp(before, fx.pmem->mem, fx.pmem->size);
}

/* Unbound: nothing is stored from then on, nothing waits, what was committed is there. */
static void unbound_while_mounted(void)
{
	struct image *image;
	u8 *before;

	NVM();
	change(0, BLOCK, 7);
	commit(0);
	before = malloc(fx.pmem->size);
	memcpy(before, fx.pmem->mem, fx.pmem->size);
	fx.messages[0] = 0;
	fx.zj->nvm.map.lost(&fx.zj->nvm.map, true);
	kl_nvm.gone = true;
	assert_true(said("is being removed"));
	assert_true(is_journal_aborted(fx.journal));
	settle();
	assert_int_equal(unmount_journal(), -EIO);
	assert_true(memory_is(before));
	kl_nvm.gone = false;
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 7);
	image_free(image);
	free(before);
	discard_disk();
}

/* The driver gives no notice, as for a partition: the next commit notices it. */
static void a_commit_finds_the_memory_gone(void)
{
	struct image *image;
	u8 *before;

	NVM();
	change(0, BLOCK, 7);
	commit(0);
	change(0, BLOCK, 8);
	before = malloc(fx.pmem->size);
	memcpy(before, fx.pmem->mem, fx.pmem->size);
	kl_nvm.gone = true;
	assert_int_equal(zj_journal_force_commit(fx.journal), -EIO);
	assert_true(memory_is(before));
	kl_nvm.gone = false;
	image = cut_power();
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 7);
	image_free(image);
	free(before);
	close_aborted();
}

static void an_error_in_the_memory_aborts(void)
{
	NVM();
	change(0, BLOCK, 7);
	commit(0);
	fx.messages[0] = 0;
	fx.zj->nvm.map.lost(&fx.zj->nvm.map, false);
	assert_true(said("uncorrectable"));
	close_aborted();
}

/* ---- memory that has to be flushed ---- */

static void only_memory_with_queues_is_flushed(void)
{
	u64 before;

	for (u32 queues = 0; queues < 2; queues++) {
		NVM(.nvm_queues = queues);
		change(0, BLOCK, 7);
		before = fx.pmem->flushes;
		commit(0);
		/* The record, then the tail that shows it. */
		assert_int_equal(fx.pmem->flushes - before, 2 * queues);
		before = fx.pmem->flushes;
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		/* The checkpoint stamp, then the tail that it has passed. */
		assert_int_equal(fx.pmem->flushes - before, 2 * queues);
		close_journal();
	}
}

static int flush_fails(void)
{
	return -EIO;
}

static void a_flush_that_fails_aborts(void)
{
	NVM(.nvm_queues = true);
	change(0, BLOCK, 7);
	kl_nvm.flush = flush_fails;
	assert_int_equal(zj_journal_force_commit(fx.journal), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	/* No tail names a record that may be lost. */
	assert_int_equal(tail(0), 0);
	close_aborted();
}

static void a_tail_whose_flush_fails_aborts(void)
{
	NVM(.nvm_queues = true);
	change(0, BLOCK, 7);
	commit(0);
	kl_nvm.flush = flush_fails;
	assert_int_equal(zj_checkpoint(fx.zj, true), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_not_equal(tail(0), 0);
	close_aborted();
}

CORE_TESTS(nvm_errors,
	CORE_TEST(unbound_while_mounted),
	CORE_TEST(a_commit_finds_the_memory_gone),
	CORE_TEST(an_error_in_the_memory_aborts),
	CORE_TEST(only_memory_with_queues_is_flushed),
	CORE_TEST(a_flush_that_fails_aborts),
	CORE_TEST(a_tail_whose_flush_fails_aborts),
);
