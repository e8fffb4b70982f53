// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random logs after a random crash, against a naive model; then random damage,
 * with and without repaired checksums, which recovery must survive and judge
 * before it writes.  Seeds are fixed, so a failure repeats.
 */
#include <asm/byteorder.h>
#include <linux/crc32c.h>
#include <stdlib.h>
#include "randlog.h"
#include "tests.h"

#define NR_LOGS		3000
#define NR_BASES	40
#define NR_MUTATIONS	5000	/* of each base */

static void random_logs(void **state)
{
	u32 with_discarded = 0, with_replayed = 0, with_lines = 0;

	for (u32 seed = 1; seed <= NR_LOGS; seed++) {
		struct randlog *l = rl_new(seed, true);
		struct zj_recovery_stats s;

		l->d->ahead = seed % 2;
		l->d->room = seed % 4 > 1 ? 2 << 20 : 0;
		ml_recover_ok(l->d, &s);
		for (u64 b = 0; b < RL_HOME; b++) {
			char line[RL_LINES + 1] = { 0 };
			u8 val = rl_expected(l, b, line);

			ml_expect_lines(l->d, b, val, line);
			with_lines += !!line[strspn(line, " ")];
		}
		with_discarded += s.discarded != 0;
		with_replayed += s.replayed != 0;
		rl_free(l);
	}
	/* The generator must not have gone dull. */
	assert_true(with_discarded > NR_LOGS / 10);
	assert_true(with_replayed > NR_LOGS / 10);
	assert_true(with_lines > NR_LOGS / 10);
}

static u32 pick_header(const struct randlog *l, u32 *rnd)
{
	u32 c = ml_rand(rnd) % l->nr;
	u32 m = ml_rand(rnd) % l->comp[c].nr_members;

	return l->comp[c].at[m][ml_rand(rnd) % l->comp[c].nr_chunks[m]];
}

static u32 pick_value(u32 *rnd)
{
	static const u32 extreme[] = { 0, 1, 2, 7, 8, 9, 0x7fffffff, 0x80000000,
				       0x20000000, 0x15555556, ~0U, ~0U - 1 };

	return ml_rand(rnd) % 3 ? extreme[ml_rand(rnd) % ARRAY_SIZE(extreme)] :
				  ml_rand(rnd);
}

static void mutate_once(struct memdev *d, const struct randlog *l, u32 *rnd)
{
	u32 total = d->geo.total_blocks, at;
	u8 *block;

	switch (ml_rand(rnd) % 8) {
	case 0:		/* a bit anywhere */
		block = ml_block(d, ml_rand(rnd) % total);
		block[ml_rand(rnd) % 1024] ^= 1 << ml_rand(rnd) % 8;
		break;
	case 1:		/* a word of the fixed blocks */
		block = ml_block(d, 1 + ml_rand(rnd) % 3);
		((u32 *)block)[ml_rand(rnd) % 16] = pick_value(rnd);
		break;
	case 2:		/* a word of a header */
	case 3:
		block = ml_block(d, pick_header(l, rnd));
		((u32 *)block)[ml_rand(rnd) % 24] = pick_value(rnd);
		break;
	case 4:		/* a word among the entries */
		block = ml_block(d, pick_header(l, rnd));
		((u32 *)block)[32 + ml_rand(rnd) % 24] = pick_value(rnd);
		break;
	case 5:		/* a block written to the wrong place */
		at = ml_rand(rnd) % total;
		memcpy(ml_block(d, at), ml_block(d, pick_header(l, rnd)), 1024);
		break;
	case 6:		/* a block lost */
		memset(ml_block(d, ml_rand(rnd) % total), 0, 1024);
		break;
	case 7:		/* one field of a header taken from another */
		at = ml_rand(rnd) % 20;
		block = ml_block(d, pick_header(l, rnd));
		((u32 *)block)[at] = ((u32 *)ml_block(d, pick_header(l, rnd)))[at];
		break;
	}
}

/* What an attacker who knows the format would do to pass the checksums. */
static void repair_checksums(struct memdev *d)
{
	struct zj_log_super *sb = ml_block(d, ZJ_BLOCK_LOG_SUPER);

	sb->csum = 0;
	sb->csum = cpu_to_le32(crc32c(~0U, sb, sizeof(*sb)));
	for (u32 i = 0; i < ZJ_CKPT_SLOTS; i++) {
		struct zj_ckpt_slot *slot = ml_block(d, ZJ_BLOCK_CKPT + i);

		slot->csum = 0;
		slot->csum = cpu_to_le32(crc32c(d->seed, slot, sizeof(*slot)));
	}
	for (u32 at = ZJ_LOG_FIRST; at < d->geo.total_blocks; at++) {
		struct zj_chunk_header *h = ml_block(d, at);
		u32 deps = le32_to_cpu(h->nr_deps);
		u32 revokes = le32_to_cpu(h->nr_revokes);
		u32 tags = le32_to_cpu(h->nr_tags);
		struct zj_tag *tag;

		if (le32_to_cpu(h->magic) != ZJ_CHUNK_MAGIC)
			continue;
		if (deps < 64 && revokes < 64 && tags < 16 &&
		    128 + 8 * (deps + revokes) + 24 * tags <= 1024) {
			tag = zj_chunk_tags(h, deps, revokes);
			for (u32 i = 0, image = at; i < tags; i++)
				if (!zj_tag_has_lines(&tag[i]) && ++image < d->geo.total_blocks)
					tag[i].csum = cpu_to_le32(zj_image_csum(d->seed,
							ml_block(d, image), 1024));
		}
		ml_reseal(d, at);
	}
}

/* Returns what recovery said. */
static int judge(struct memdev *d, struct memdev *before)
{
	int dry, err;

	ml_copy(before, d);
	dry = ml_recover(d, true, NULL);
	assert_int_equal(d->writes, 0);
	assert_true(dry == 0 || dry == -EUCLEAN);
	/* Log super block, slots, every segment once, headers twice. */
	assert_true(d->blocks_read <= 2 * d->geo.total_blocks);

	err = ml_recover(d, false, NULL);
	assert_int_equal(err, dry);
	if (err) {
		assert_int_equal(d->writes, 0);
		assert_non_null(strstr(d->error, "nothing was written"));
	} else {
		u32 replayed;
		struct zj_recovery_stats s;

		ml_power_cut(d);
		ml_copy(before, d);
		assert_int_equal(ml_recover(d, false, &s), 0);
		replayed = s.replayed;
		assert_int_equal(replayed, 0);
		assert_memory_equal(d->home, before->home, RL_HOME * 1024);
	}
	return err;
}

static void random_damage(void **state)
{
	u32 refused = 0, accepted = 0;

	for (u32 base = 1; base <= NR_BASES; base++) {
		struct randlog *l = rl_new(base, base % 2);
		struct memdev *d = ml_clone(l->d), *scratch = ml_clone(l->d);
		u32 rnd = base * 77777 + 1;

		for (u32 i = 0; i < NR_MUTATIONS; i++) {
			u32 n = 1 + ml_rand(&rnd) % 3;

			ml_copy(d, l->d);
			while (n--)
				mutate_once(d, l, &rnd);
			if (ml_rand(&rnd) % 4)
				repair_checksums(d);
			if (judge(d, scratch))
				refused++;
			else
				accepted++;
		}
		ml_free(scratch);
		ml_free(d);
		rl_free(l);
	}
	print_message("%u mutations: %u refused, %u taken\n",
		      refused + accepted, refused, accepted);
	assert_true(refused > 1000 && accepted > 1000);
}

const struct CMUnitTest random_tests[] = {
	cmocka_unit_test(random_logs),
	cmocka_unit_test(random_damage),
};
const size_t nr_random_tests = ARRAY_SIZE(random_tests);
