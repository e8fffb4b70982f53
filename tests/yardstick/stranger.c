// SPDX-License-Identifier: GPL-2.0-only
/*
 * One journal's crashed disk, recovered by the other one: this program writes the
 * disk to a second program (--serve), which mounts it and sends back the blocks.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "yard.h"

static int to = -1, from = -1;	/* the second program's stdin and stdout */

static void write_all(int fd, const void *data, size_t len)
{
	for (const char *p = data; len;) {
		ssize_t n = write(fd, p, len);

		if (n <= 0)
			kl_fail("the other program takes no disk");
		p += n;
		len -= n;
	}
}

static bool read_all(int fd, void *data, size_t len)
{
	for (char *p = data; len;) {
		ssize_t n = read(fd, p, len);

		if (n <= 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

static void start(void)
{
	char journal[16];
	int in[2], out[2];

	if (pipe(in) || pipe(out))
		kl_fail("no pipes");
	sprintf(journal, "%u", yard.journal);
	if (!fork()) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execl(yard.stranger, yard.stranger, "--serve", "--journal",
		      journal, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to = in[1];
	from = out[0];
}

int stranger_recover(const struct disk_image *image, u8 *home)
{
	int err;

	if (to < 0)
		start();
	for (u32 b = 0; b < image->nr; b++)
		write_all(to, image->block[b], DISK_BLOCK);
	if (!read_all(from, &err, sizeof(err)) ||
	    !read_all(from, home, LOAD_HOME * DISK_BLOCK))
		kl_fail("the other program has ended");
	return err;
}

void stranger_serve(void)
{
	struct disk_image image = { .nr = LOAD_HOME + yard.journal };
	u8 *disk = malloc(image.nr * DISK_BLOCK);

	image.block = malloc(image.nr * sizeof(*image.block));
	for (u32 b = 0; b < image.nr; b++)
		image.block[b] = disk + b * DISK_BLOCK;
	drive_use(&(struct drive){ }, NULL);
	while (read_all(0, disk, image.nr * DISK_BLOCK)) {
		struct fs fs;
		int err = recover_disk(&fs, &image, 1);

		write_all(1, &err, sizeof(err));
		for (u32 b = 0; b < LOAD_HOME; b++)
			write_all(1, fs.disk->seen[b], DISK_BLOCK);
		fs_free(&fs);
		arena_reset();
	}
	free(image.block);
	free(disk);
}
