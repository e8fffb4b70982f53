// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjfuzz-seeds DIR: write the logs that fuzzing starts from, the same ones each
 * time: those of the unit tests, with short images, in all block sizes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "randlog.h"
#include "seal.h"

#define NR_SEEDS	96
#define IMAGE_BYTES	16	/* of an image are kept, so that inputs stay short */
#define HOME_BLOCKS	128	/* blocks 1 to RL_HOME are not the journal's then */

static void take_block(struct input *in, struct memdev *d, u32 at)
{
	u8 *block = in_block(in, at);

	memcpy(block, ml_block(d, at), 1024);
	if (at >= d->geo.log_first && !seal_is_header(in, at))
		memset(block + IMAGE_BYTES, 0, 1024 - IMAGE_BYTES);
}

static void make_input(struct input *in, u32 seed)
{
	struct randlog *l = rl_new(seed, false);

	in_reset();
	memset(in, 0, sizeof(*in));
	in->block_size = 1024U << seed % 3;
	in->journal_blocks = l->d->geo.total_blocks;
	in->home_blocks = HOME_BLOCKS;
	in->failure = seed / 3 % 5;
	in->when = seed;
	for (u32 at = 1; at < in->journal_blocks; at++)
		take_block(in, l->d, at);
	seal_block_size(in);
	seal(in, SEAL_ALL);
	rl_free(l);
}

static int write_file(const char *dir, u32 seed, const u8 *data, size_t size)
{
	char path[4096];
	FILE *f;
	bool good;

	snprintf(path, sizeof(path), "%s/seed-%02u", dir, seed);
	f = fopen(path, "w");
	good = f && fwrite(data, 1, size, f) == size;
	if (f && fclose(f))
		good = false;
	if (!good)
		perror(path);
	return good ? 0 : 1;
}

int main(int argc, char **argv)
{
	static u8 data[IN_MAX_BYTES];
	struct input in;

	if (argc != 2) {
		fputs("usage: zjfuzz-seeds DIR\n", stderr);
		return 2;
	}
	for (u32 seed = 0; seed < NR_SEEDS; seed++) {
		make_input(&in, seed);
		if (write_file(argv[1], seed, data,
			       in_pack(&in, data, sizeof(data))))
			return 1;
	}
	return 0;
}
