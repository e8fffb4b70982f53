// SPDX-License-Identifier: GPL-2.0-only
/* SEEDS DIR: write the logs that fuzzing of a format starts from. */
#include <stdio.h>
#include "seeds.h"

#define NR_SEEDS	96

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
