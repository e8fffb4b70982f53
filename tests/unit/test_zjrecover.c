// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjrecover on a real file system.  Its log holds what debugfs changed in a
 * copy, so afterwards the image must have become that copy.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <asm/byteorder.h>
#include "extimage.h"
#include "memlog.h"
#include "tests.h"

#define IMAGE	BUILD_DIR "/test.img"
#define CHANGED	BUILD_DIR "/changed.img"
#define SAVED	BUILD_DIR "/saved.img"
#define OUTPUT	BUILD_DIR "/output.txt"
#define QUIET	" >" OUTPUT " 2>&1"

#define ROOT	"PATH=$PATH:/usr/sbin:/sbin "

static void must(const char *command)
{
	if (system(command))
		fail_msg("failed: %s", command);
}

static bool printed(const char *text)
{
	char line[4096];
	bool found = false;
	FILE *f = fopen(OUTPUT, "r");

	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, text);
	fclose(f);
	return found;
}

static void make_live(struct ext_image *img)
{
	u8 block[4096];
	struct zj_jbd2_super *sb = (void *)block;

	assert_int_equal(ext_ops.read_log(img, 0, 1, block), 0);
	assert_int_equal(be32_to_cpu(sb->s_magic), ZJ_JBD2_MAGIC);
	sb->s_start = cpu_to_be32(1);
	sb->s_feature_incompat |= cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES);
	assert_int_equal(ext_ops.write_log(img, 0, block), 0);
}

/* Log every block in which CHANGED differs, in turns to two lanes. */
static u32 log_changes(struct ext_image *img, struct memdev *d)
{
	u8 old[1024], new[1024];
	struct rec rec[2];
	u32 n = 0;
	int fd = open(CHANGED, O_RDONLY);

	assert_true(fd >= 0);
	memset(rec, 0, sizeof(rec));
	for (u64 b = 0; b < img->device_blocks; b++) {
		assert_int_equal(pread(img->fd, old, 1024, b * 1024), 1024);
		assert_int_equal(pread(fd, new, 1024, b * 1024), 1024);
		if (!memcmp(old, new, 1024))
			continue;
		rec[n % 2].img[n / 2].block = b;
		rec[n % 2].img[n / 2].val = 1;
		n++;
		assert_true(n < 2 * ML_ENTRIES);
	}
	for (u32 lane = 0; lane < 2; lane++) {
		u32 at;

		rec[lane].stamp = 1;
		rec[lane].lane = lane;
		rec[lane].members = 2;
		at = ml_put(d, lane, &rec[lane]);
		for (u32 i = 0; rec[lane].img[i].val; i++) {
			u8 *image = ml_block(d, at + 1 + i);
			struct zj_tag *tag = zj_chunk_tags(ml_block(d, at), 0, 0);

			assert_int_equal(pread(fd, image, 1024,
					       rec[lane].img[i].block * 1024), 1024);
			tag[i].flags = cpu_to_le16(zj_escape(image));
			tag[i].csum = cpu_to_le32(zj_image_csum(d->seed, image, 1024));
		}
		ml_reseal(d, at);
	}
	close(fd);
	return n;
}

/* The image as a power cut leaves it, journal live. */
static void make_crashed(void)
{
	struct memdev *d = ml_new(15, 64, 1);
	struct ext_image img;

	must("rm -f " IMAGE " " CHANGED " " SAVED);
	must(ROOT "mke2fs -q -F -t ext4 -b 1024 -O metadata_csum,64bit -J size=1 " IMAGE " 16M" QUIET);
	must(ROOT "debugfs -w -R 'feature +needs_recovery' " IMAGE QUIET);
	must("cp " IMAGE " " CHANGED);
	must(ROOT "debugfs -w -R 'mkdir lost-in-the-log' " CHANGED QUIET);

	assert_int_equal(ext_open(&img, IMAGE, EXT_WRITE), 0);
	assert_true(img.needs_recovery);
	assert_int_equal(img.block_size, 1024);
	assert_int_equal(img.device_blocks, 16384);
	assert_int_equal(img.journal_blocks, 1024);
	memcpy(d->geo.uuid, img.uuid, 16);
	d->seed = zj_seed(img.uuid, d->geo.generation);
	ml_log_super(d);
	assert_true(log_changes(&img, d) >= 4);
	for (u32 i = 1; i < d->geo.total_blocks; i++)
		assert_int_equal(ext_ops.write_log(&img, i, ml_block(d, i)), 0);
	make_live(&img);
	ext_close(&img);
	ml_free(d);
	must("cp " IMAGE " " SAVED);
}

static void zjrecover_recovers(void **state)
{
	make_crashed();

	/* Stock tools refuse it, and find no directory in it. */
	assert_int_not_equal(system(ROOT "e2fsck -fy " IMAGE QUIET), 0);
	must("cmp " IMAGE " " SAVED);
	must(BUILD_DIR "/zjrecover -n " IMAGE QUIET);
	assert_true(printed("2 transactions in 1 component"));
	must("cmp " IMAGE " " SAVED);

	must(BUILD_DIR "/zjrecover " IMAGE QUIET);
	must(ROOT "e2fsck -fn " IMAGE QUIET);
	must(ROOT "debugfs -R 'stat lost-in-the-log' " IMAGE QUIET);
	assert_true(printed("Type: directory"));
	must(ROOT "dumpe2fs -h " IMAGE QUIET);
	assert_false(printed("needs_recovery"));

	must("cp " IMAGE " " SAVED);
	must(BUILD_DIR "/zjrecover " IMAGE QUIET);
	assert_true(printed("nothing to do"));
	must("cmp " IMAGE " " SAVED);
}

static void zjrecover_refuses_damage(void **state)
{
	struct ext_image img;
	u8 block[1024];

	make_crashed();
	assert_int_equal(ext_open(&img, IMAGE, EXT_WRITE), 0);
	assert_int_equal(ext_ops.read_log(&img, 1, 1, block), 0);
	block[0x20] ^= 1;
	assert_int_equal(ext_ops.write_log(&img, 1, block), 0);
	ext_close(&img);
	must("cp " IMAGE " " SAVED);
	assert_int_not_equal(system(BUILD_DIR "/zjrecover " IMAGE QUIET), 0);
	assert_true(printed("wrong checksum; nothing was written"));
	must("cmp " IMAGE " " SAVED);
}

/* What docs/recovery.md advises the owner of a damaged log to do. */
static void giving_up_a_damaged_log(void **state)
{
	make_crashed();
	must(ROOT "debugfs -w -R 'feature -needs_recovery' " IMAGE QUIET);
	must(ROOT "tune2fs -O ^has_journal " IMAGE QUIET);
	assert_true(system(ROOT "e2fsck -fy " IMAGE QUIET) >> 8 < 4);
	must(ROOT "tune2fs -O has_journal " IMAGE QUIET);
	must(ROOT "e2fsck -fn " IMAGE QUIET);
}

static void zjrecover_bad_arguments(void **state)
{
	must("rm -f " IMAGE);
	assert_int_not_equal(system(BUILD_DIR "/zjrecover" QUIET), 0);
	assert_true(printed("usage:"));
	assert_int_not_equal(system(BUILD_DIR "/zjrecover -n " IMAGE QUIET), 0);
	must(ROOT "mke2fs -q -F -t ext2 " IMAGE " 8M" QUIET);
	assert_int_not_equal(system(BUILD_DIR "/zjrecover " IMAGE QUIET), 0);
	assert_true(printed("has no journal"));
}

const struct CMUnitTest zjrecover_tests[] = {
	cmocka_unit_test(zjrecover_recovers),
	cmocka_unit_test(zjrecover_refuses_damage),
	cmocka_unit_test(giving_up_a_damaged_log),
	cmocka_unit_test(zjrecover_bad_arguments),
};
const size_t nr_zjrecover_tests = ARRAY_SIZE(zjrecover_tests);
