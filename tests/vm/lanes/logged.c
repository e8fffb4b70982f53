// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjace: a log that has the blocks of the base tree before a workload begins, and what of the
 * workload is in the log as lines.
 *
 * A log on a disk takes the lines of a block only if it has an image of it already, and a file
 * system that was just mounted has an empty log: without this nearly all of a workload is images.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zjournal/format.h"
#include "ace.h"

static struct {
	off_t first;
	size_t size;
	uint32_t block;
	uint8_t *copy;
} journal;

/* One that is made and goes again: it changes the directory, both bitmaps, the descriptor. */
static void touch_dir(const char *dir)
{
	char path[320], data[512] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/logged", dir);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
	must(fd >= 0 && write(fd, data, sizeof(data)) == sizeof(data) && !fsync(fd), "%s", path);
	must(!close(fd) && !unlink(path), "%s", path);
}

/* Blocks behind its end come and go; a file with indirect blocks cannot have them. */
static void touch_file(const char *path)
{
	int fd = open(path, O_RDWR);
	struct stat s;

	must(fd >= 0 && !fstat(fd, &s), "%s", path);
	must(!fallocate(fd, FALLOC_FL_KEEP_SIZE, s.st_size, 4096) || errno == EOPNOTSUPP, "%s", path);
	must(!ftruncate(fd, s.st_size) && !close(fd), "%s", path);
}

/**
 * log_images() - give the log images of the blocks that the objects of a tree have
 * @mnt: where it is mounted
 * @t: the tree, which stays as it is
 */
void log_images(const char *mnt, const struct tree *t)
{
	char path[256], full[300];
	int fd;

	for (int node = 0; node < NODES; node++) {
		mode_t mode = t->node[node].mode;

		if ((!S_ISDIR(mode) && !S_ISREG(mode)) || !path_of(t, node, path, sizeof(path)))
			continue;
		must(go_to_lane(node & 1), "going to a lane");
		snprintf(full, sizeof(full), "%s%s", mnt, path);
		if (S_ISDIR(mode))
			touch_dir(full);
		else
			touch_file(full);
		must(!chmod(full, mode & 07777), "chmod %s", full);
	}
	fd = open(mnt, O_RDONLY);
	must(fd >= 0 && !syncfs(fd) && !close(fd), "syncfs");
}

/**
 * find_log() - find the journal of the disk that workloads begin with
 * @block: size of a block
 *
 * Reads what lies between its first block and its last one, which are nearly all its own.
 */
void find_log(uint32_t block)
{
	unsigned long nr, first = ~0UL, last = 0;
	FILE *f = popen("debugfs -R 'blocks <8>' /dev/zjd0 2>/dev/null", "r");

	must(f, "debugfs");
	while (fscanf(f, "%lu", &nr) == 1) {
		first = nr < first ? nr : first;
		last = nr > last ? nr : last;
	}
	pclose(f);
	must(first < last, "no journal");
	journal.block = block;
	journal.first = (off_t)first * block;
	journal.size = (last + 1 - first) * block;
	journal.copy = aligned_alloc(4096, (journal.size + 4095) / 4096 * 4096);
	must(journal.copy, "memory");
}

static void read_log(int dev)
{
	int fd = open(disk_path(dev), O_RDONLY | O_DIRECT);

	must(fd >= 0 && pread(fd, journal.copy, journal.size, journal.first) == (ssize_t)journal.size,
	     "reading the log of %s", disk_path(dev));
	close(fd);
}

/* The next header of a record from there on, or NULL. */
static const struct zj_chunk_header *next_header(size_t *at)
{
	for (; *at < journal.size; *at += journal.block) {
		const struct zj_chunk_header *h = (void *)(journal.copy + *at);

		if (h->magic != ZJ_CHUNK_MAGIC)
			continue;
		*at += journal.block;
		return h;
	}
	return NULL;
}

/* Returns the newest stamp in a disk's log, 0 if it has none. */
uint64_t newest_stamp(int dev)
{
	const struct zj_chunk_header *h;
	uint64_t newest = 0;

	read_log(dev);
	for (size_t at = 0; (h = next_header(&at));)
		newest = h->stamp > newest ? h->stamp : newest;
	return newest;
}

/* Tells whether records in a disk's log that are newer have lines. */
bool has_lines(int dev, uint64_t stamp)
{
	const struct zj_chunk_header *h;

	read_log(dev);
	for (size_t at = 0; (h = next_header(&at));)
		if (h->stamp > stamp && h->nr_line_tags)
			return true;
	return false;
}
