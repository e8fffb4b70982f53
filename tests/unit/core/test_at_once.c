// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices some of whose requests end before submit_bio() returns, as those of memory do: what
 * counts or frees a request must not rely on its still being on its way then.
 */
#include "fixture.h"

/* Neighbours change places, so that each block needs a request of its own. */
static u64 map_in_pairs(const struct inode *inode, u64 block)
{
	return HOME_BLOCKS + (block < 2 ? block : block ^ 1);
}

static void mount(void)
{
	fx.kit.journal.map = map_in_pairs;
	assert_int_equal(mount_journal(), 0);
}

/* Commits, home writes, and a crash after which all of it is read again. */
static void work(const struct setup *setup)
{
	struct image *image;

	make_disk(setup);
	mount();
	for (u32 i = 0; i < 20; i++) {
		handle_t *h = start(i % setup->lanes, 1 + i);

		for (u32 k = 0; k <= i; k++)
			put(h, BLOCK + k, 'a' + i);
		stop(h);
		commit(i % setup->lanes);
		if (i == 10)
			assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	}
	image = cut_power();
	close_journal();
	for (u32 k = 0; k < 20; k++)
		assert_false(image_val(image, BLOCK + k) == 'a' + 19);
	make_disk_of(setup, image);
	mount();
	for (u32 k = 0; k < 20; k++)
		assert_int_equal(home_val(BLOCK + k), 'a' + 19);
	image_free(image);
	close_journal();
}

static void lanes_work(void)
{
	work(&(struct setup){ .lanes = 2, .journal = 2048, .at_once = true });
}

static void a_ring_works(void)
{
	work(&(struct setup){ .lanes = 1, .journal = 2048, .jbd2 = true, .at_once = true });
}

static void a_pipeline_works(void)
{
	work(&(struct setup){ .lanes = 1, .journal = 2048, .jbd2 = true, .pipeline = true,
			      .at_once = true });
}

CORE_TESTS(at_once,
	CORE_TEST(lanes_work),
	CORE_TEST(a_ring_works),
	CORE_TEST(a_pipeline_works));
