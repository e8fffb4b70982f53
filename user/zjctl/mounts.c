// SPDX-License-Identifier: GPL-2.0-only
/* What /proc, /sys and /etc say of mounts. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <ext2fs/ext2_fs.h>
#include "mounts.h"

const char *zx_root = "";

const char *zx_below(const char *fmt, ...)
{
	enum { NR = 4 };
	static char paths[NR][4096];
	static u32 turn;
	char *path = paths[turn++ % NR];
	size_t used = snprintf(path, sizeof(paths[0]), "%.2000s", zx_root);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path + used, sizeof(paths[0]) - used, fmt, ap);
	va_end(ap);
	return path;
}

bool zx_first_line(const char *path, char *to, size_t room)
{
	FILE *f = fopen(zx_below("%s", path), "r");
	bool found = f && fgets(to, room, f);

	if (f)
		fclose(f);
	if (found)
		to[strcspn(to, "\n")] = 0;
	return found;
}

/* The kernel writes blanks and backslashes in octal. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] && s[2] && s[3]) {
			*to++ = (s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0');
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = 0;
}

static bool parse_mount(const char *line, struct zx_mount *m)
{
	const char *rest = strstr(line, " - ");
	char own[1024] = "", of_fs[3000] = "";
	unsigned int major, minor;

	if (!rest ||
	    sscanf(line, "%*u %*u %u:%u %*s %4095s %1023s", &major, &minor, m->at, own) != 4 ||
	    sscanf(rest, " - %63s %4095s %2999s", m->type, m->source, of_fs) < 2)
		return false;
	m->dev = makedev(major, minor);
	snprintf(m->options, sizeof(m->options), "%s%s%s", own, *of_fs ? "," : "", of_fs);
	unescape(m->at);
	unescape(m->source);
	return true;
}

bool zx_next_mount(FILE *f, struct zx_mount *m)
{
	bool found = false;
	char *line = NULL;
	size_t room = 0;

	while (!found && getline(&line, &room, f) > 0)
		found = parse_mount(line, m);
	free(line);
	return found;
}

bool zx_find_mount(dev_t dev, struct zx_mount *m)
{
	FILE *f = fopen("/proc/self/mountinfo", "r");
	bool found = false;

	while (f && !found && zx_next_mount(f, m))
		found = m->dev == dev;
	if (f)
		fclose(f);
	return found;
}

bool zx_kernel_name(dev_t dev, char *to, size_t room)
{
	char name[256];
	ssize_t n;

	n = readlink(zx_below("/sys/dev/block/%u:%u", major(dev), minor(dev)), name,
		     sizeof(name) - 1);
	if (n <= 0)
		return false;
	name[n] = 0;
	snprintf(to, room, "%s", strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
	return true;
}

/*
 * The name under which the module shows its statistics: the device, and the journal's
 * inode or its own device.
 */
static void find_stats(dev_t dev, char *name, size_t room)
{
	char disk[51];
	struct dirent *e;
	DIR *dir;

	*name = 0;
	if (!zx_kernel_name(dev, disk, sizeof(disk)))
		return;
	snprintf(name, room, "%s-%u", disk, EXT2_JOURNAL_INO);
	dir = opendir(zx_below(STATS_ROOT));
	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, disk, strlen(disk)) && e->d_name[strlen(disk)] == '-')
			snprintf(name, room, "%.63s", e->d_name);
	if (dir)
		closedir(dir);
}

bool zx_is_zext4(const struct zx_mount *m, char *name, size_t room)
{
	find_stats(m->dev, name, room);
	return !strcmp(m->type, "zext4") ||
	       (*name && !access(zx_below(STATS_ROOT "/%s/info", name), F_OK));
}

const char *zx_disk_of(const char *name)
{
	static char disk[80];

	snprintf(disk, sizeof(disk), "%s", name);
	if (strrchr(disk, '-'))
		*strrchr(disk, '-') = 0;
	return disk;
}

bool zx_mount_of_journal(const char *name, struct zx_mount *m)
{
	FILE *f = fopen(zx_below("/proc/self/mountinfo"), "r");
	bool found = false;
	char its[80];

	while (f && !found && zx_next_mount(f, m))
		found = zx_is_zext4(m, its, sizeof(its)) && !strcmp(its, name);
	if (f)
		fclose(f);
	return found;
}
