// SPDX-License-Identifier: GPL-2.0-only
/* zjverify: walks the recovered file system. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "verify.h"

struct found *founds;
uint32_t nfound;
uint64_t digest = 1;

static void mix(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		digest = (digest ^ word) * 0x9e3779b97f4a7c15ull;
		digest ^= digest >> 29;
	}
	while (len--)
		digest = (digest ^ *p++) * 0x9e3779b97f4a7c15ull;
}

static void mix_xattrs(const char *path)
{
	static const char *const names[] = { "user.v", "user.same" };
	char value[4096];
	ssize_t n;
	int i;

	for (i = 0; i < 2; i++) {
		n = getxattr(path, names[i], value, sizeof(value));
		if (n < 0 && errno != ENODATA)
			bad("getxattr %s %s: %s", path, names[i], strerror(errno));
		mix(&n, sizeof(n));
		if (n > 0)
			mix(value, n);
	}
}

void *read_file(const struct found *f)
{
	char *buf = must_alloc(f->size + 1), path[4096];
	uint64_t at = 0;
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "%s%s", mnt, f->path);
	fd = open(path, O_RDONLY);
	while (fd >= 0 && n > 0 && at < f->size) {
		n = read(fd, buf + at, f->size - at);
		if (n > 0)
			at += n;
	}
	if (fd < 0 || n <= 0 || at != f->size) {
		if (f->size || fd < 0) {
			bad("cannot read %s: %s at %llu", f->path,
			    n ? strerror(errno) : "short", (unsigned long long)at);
			free(buf);
			buf = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	if (buf)
		mix(buf, f->size);
	return buf;
}

static void add(char type, const char *path, uint32_t worker, uint32_t id, uint32_t dir,
		uint32_t name, const struct stat *st)
{
	static uint32_t room;

	if (nfound == room) {
		room = room ? room * 2 : 1024;
		founds = realloc(founds, room * sizeof(*founds));
		if (!founds)
			exit(2);
	}
	founds[nfound++] = (struct found){ type, worker, id, dir, name, st->st_nlink,
					   st->st_size, strdup(path) };
}

static void walk_dir(const char *path, uint32_t owner, uint32_t dir);

/* One entry of dir, which belongs to owner (or to all: the shared one). */
static void entry(const char *path, const char *name, uint32_t owner, uint32_t dir,
		  const struct stat *st)
{
	uint32_t worker, id, num;
	char type, again[4096];

	if (!strcmp(name, "shared.dat") && dir == DIR_SHARED) {
		add('S', path, 0, ID_SHARED, dir, 0, st);
		return;
	}
	if (sscanf(name, "%c%u.%u.%u", &type, &worker, &id, &num) == 4 &&
	    entry_name(again, sizeof(again), type, worker, id, num) > 0 &&
	    !strcmp(again, name) && worker < workers &&
	    (owner == worker || dir == DIR_SHARED) &&
	    (S_ISDIR(st->st_mode) ? type == 'd' : S_ISREG(st->st_mode) && type == 'f')) {
		add(type, path, worker, id, dir, num, st);
		if (type == 'd')
			walk_dir(path, worker, id);
		return;
	}
	if (sscanf(name, "%c%u.%u", &type, &worker, &id) == 3 && S_ISREG(st->st_mode) &&
	    (type == 'r' || type == 't') && id < SLOTS && dir == id % 2) {
		/* The temporary file of a replacement may be in any state. */
		if (type == 'r')
			add('r', path, worker, id, dir, 0, st);
		return;
	}
	bad("unexpected entry %s (mode %o)", path, st->st_mode);
}

static int list(const char *full, struct dirent ***names)
{
	int n = scandir(full, names, NULL, alphasort);

	if (n < 0)
		bad("cannot list %s: %s", full, strerror(errno));
	return n;
}

static void walk_dir(const char *path, uint32_t owner, uint32_t dir)
{
	char full[4096], sub[4096];
	struct dirent **names;
	struct stat st;
	int i, n;

	snprintf(full, sizeof(full), "%s%s", mnt, path);
	n = list(full, &names);
	for (i = 0; i < n; i++) {
		if (!strcmp(names[i]->d_name, ".") || !strcmp(names[i]->d_name, ".."))
			continue;
		snprintf(sub, sizeof(sub), "%s/%s", path, names[i]->d_name);
		snprintf(full, sizeof(full), "%s%s", mnt, sub);
		if (lstat(full, &st)) {
			bad("lstat %s: %s", sub, strerror(errno));
			continue;
		}
		mix(sub, strlen(sub));
		mix(&st.st_mode, sizeof(st.st_mode));
		mix(&st.st_nlink, sizeof(st.st_nlink));
		if (S_ISREG(st.st_mode)) {
			mix(&st.st_size, sizeof(st.st_size));
			mix_xattrs(full);
		}
		entry(sub, names[i]->d_name, owner, dir, &st);
	}
	while (n > 0)
		free(names[--n]);
}

void walk(void)
{
	struct dirent **names;
	char path[32];
	uint32_t i;
	int n;

	for (i = 0; i < workers; i++) {
		snprintf(path, sizeof(path), "/w%u", i);
		walk_dir(path, i, DIR_HOME);
	}
	walk_dir("/s", workers, DIR_SHARED);
	/* Beside those: ".", "..", "s" and an empty lost+found. */
	n = list(mnt, &names);
	if (n != (int)workers + 4)
		bad("%d entries in the root directory, expected %u", n, workers + 4);
	snprintf(path, sizeof(path), "/lost+found");
	walk_dir(path, workers, ~0u);
}
