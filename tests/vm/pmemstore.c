// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stores into a file that is mapped right from persistent memory: no write(), no
 * fsync(), only CPU caches in between.
 *
 *   pmemstore store FILE COUNT SEED	make it and store COUNT words
 *   pmemstore check FILE COUNT SEED	0 if they are all there
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LINE	64

static void die(const char *what)
{
	fprintf(stderr, "pmemstore: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_back(const void *from, size_t size)
{
	for (size_t i = 0; i < size; i += LINE)
		__builtin_ia32_clflush((const char *)from + i);
	__builtin_ia32_sfence();
}

int main(int argc, char **argv)
{
	size_t count = argc == 5 ? strtoul(argv[3], NULL, 0) : 0;
	uint64_t x = argc == 5 ? strtoull(argv[4], NULL, 0) : 0;
	uint64_t *word;
	int store, fd;

	if (!count)
		return 2;
	store = !strcmp(argv[1], "store");
	fd = open(argv[2], store ? O_CREAT | O_RDWR : O_RDWR, 0644);
	if (fd < 0 || (store && posix_fallocate(fd, 0, count * sizeof(*word))))
		die(argv[2]);
	/* Fails unless the file has DAX. */
	word = mmap(NULL, count * sizeof(*word), PROT_READ | PROT_WRITE,
		    MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
	if (word == MAP_FAILED)
		die("mmap with MAP_SYNC");
	for (size_t i = 0; i < count; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		if (store) {
			word[i] = x;
		} else if (word[i] != x) {
			fprintf(stderr, "pmemstore: word %zu of %zu is lost\n", i, count);
			return 1;
		}
	}
	if (store)
		write_back(word, count * sizeof(*word));
	return 0;
}
