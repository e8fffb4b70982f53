// SPDX-License-Identifier: GPL-2.0-only
/* All journals that the user asks for, at one time. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "stats.h"

void sample_free(struct sample *s)
{
	for (u32 i = 0; i < s->nr; i++)
		stats_free(&s->journal[i]);
	s->nr = 0;
}

static void add(struct sample *s, const char *file, const char *name)
{
	if (s->nr == MAX_JOURNALS)
		return;
	if (stats_read(file, name, &s->journal[s->nr]))
		s->nr++;
	else if (errno == EACCES)
		s->forbidden = true;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

void sample_take_all(struct sample *s)
{
	struct dirent **list;
	int n = scandir(STATS_ROOT, &list, NULL, by_name);
	char file[512];

	for (int i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.') {
			snprintf(file, sizeof(file), STATS_ROOT "/%s/info", list[i]->d_name);
			add(s, file, list[i]->d_name);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

int sample_refuse_user(const char *file)
{
	return zx_fail(ZX_FAILED, "%s: only root may read the statistics, which tell what others do: use sudo, or let a group read the file (zjournal(7))",
		       file);
}

int sample_refuse_missing(const char *name, const char *file)
{
	struct zx_mount m;

	if (access(file, F_OK) && zx_mount_of_journal(name, &m))
		return zx_fail(ZX_FAILED, "%s: has no journal, so there is nothing to show; tune2fs -O has_journal makes one while it is unmounted",
			       m.at);
	return zx_fail(ZX_FAILED, "%s: cannot be read; is it still mounted as zext4?", file);
}

int sample_take(struct sample *s, const struct source *from)
{
	char file[512];

	s->nr = 0;
	s->forbidden = false;
	clock_gettime(CLOCK_MONOTONIC, &s->time);
	if (from->file) {
		add(s, from->file, "file");
		if (s->forbidden)
			return sample_refuse_user(from->file);
		if (!s->nr)
			return zx_fail(ZX_FAILED, "%s: is not a copy of /proc/fs/zjournal/<dev>/info; make one with cat",
				       from->file);
	} else if (from->name[0]) {
		snprintf(file, sizeof(file), STATS_ROOT "/%s/info", from->name);
		add(s, file, from->name);
		if (s->forbidden)
			return sample_refuse_user(file);
		if (!s->nr)
			return sample_refuse_missing(from->name, file);
	} else {
		sample_take_all(s);
		if (s->forbidden && !s->nr)
			return sample_refuse_user(STATS_ROOT "/*/info");
		if (!s->nr)
			return zx_fail(ZX_FAILED, "no zext4 is mounted (nothing in " STATS_ROOT "); mount one: mount -t zext4 DEV DIR");
	}
	return 0;
}

int sample_source(int argc, char **argv, struct source *from)
{
	struct zx_target target;
	int code;

	if (argc - optind > 1 || (argc > optind && from->file))
		return zx_usage("give at most one device or mount point, and none with --from");
	if (argc == optind)
		return 0;
	code = zx_find(argv[optind], &target);
	if (code)
		return code;
	if (!target.zext4 || !target.proc_name[0])
		return zx_fail(ZX_FAILED, "%s: is not mounted as zext4; only mounted journals have statistics (zjctl info shows what is on the device)",
			       target.path);
	snprintf(from->name, sizeof(from->name), "%s", target.proc_name);
	return 0;
}
