// SPDX-License-Identifier: GPL-2.0-only
/* zjctl status: is every zext4 of this machine well? */
#include <errno.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "stats.h"

static const char help[] =
	"usage: zjctl status [-d SECONDS] [--root DIR] [--json]\n\n"
	"Show each mounted zext4 on one line: device, directory, lanes, format of the log, its\n"
	"state, what the mount had to recover, and how many fsyncs it serves now. A line of\n"
	"/etc/fstab with the type zext4 that is not mounted is shown, too.\n\n"
	"  -d SECONDS   count fsyncs for so long (default 1; 0: do not)\n"
	"  --root DIR   read /proc, /sys and /etc below DIR, such as a saved copy\n\n"
	"States: well; aborted (the journal has failed, nothing is written any more); errors\n"
	"(ext4 has found damage: e2fsck); no journal; not mounted; as ext4 (mount.zext4 found no\n"
	"zext4); unknown (you are not root).\n\n"
	"Exit status: 0 all are well, or none is mounted and none should be; 1 at least one\n"
	"needs attention (aborted, errors, not mounted, as ext4); 4 the state of at least one is\n"
	"unknown; 5 both; 16 usage.\n\n"
	"Examples:\n"
	"  zjctl status\n"
	"  zjctl status -d 0 >/dev/null || echo \"look at the file systems\"\n";

static const struct option options[] = {
	{ "delay", required_argument, NULL, 'd' },
	{ "root", required_argument, NULL, 'r' },
	ZX_PLAIN_OPTIONS,
	{ 0 }
};

/**
 * struct row - one file system
 */
struct row {
	char	device[256];
	char	at[512];
	char	name[64];	/* of its journal */
	const char *state;	/* a constant */
	bool	attention;
	bool	counted;	/* @stats has something, and @rate is known */
	struct stats stats;
	u64	errors;		/* that ext4 has counted on the device */
	double	rate;		/* fsyncs a second */
};

/**
 * struct rows - all of them
 */
struct rows {
	u32	nr;
	struct row *row;
};

static struct row *add(struct rows *rows, const char *device, const char *at)
{
	struct row *more = realloc(rows->row, (rows->nr + 1) * sizeof(*more));

	if (!more)
		return NULL;
	rows->row = more;
	more += rows->nr++;
	memset(more, 0, sizeof(*more));
	snprintf(more->device, sizeof(more->device), "%s", device);
	snprintf(more->at, sizeof(more->at), "%s", at);
	return more;
}

static u64 count_errors(const char *disk)
{
	/* As the module that serves the type ext4, it uses stock's folder. */
	static const char * const folders[] = { "zext4", "ext4" };
	char path[256], text[32];

	for (u32 i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "/sys/fs/%s/%s/errors_count", folders[i], disk);
		if (zx_first_line(path, text, sizeof(text)))
			return strtoull(text, NULL, 10);
	}
	return 0;
}

static u64 fsyncs(const struct stats *s)
{
	u64 sum = 0;

	for (u32 i = 0; i < s->nr_lanes; i++)
		sum += stats_counter(&s->lane[i], "fsyncs");
	return sum;
}

static bool read_stats(const struct row *row, struct stats *s)
{
	return stats_read(zx_below(STATS_ROOT "/%s/info", row->name), row->name, s);
}

static void judge(struct row *row)
{
	row->errors = count_errors(zx_disk_of(row->name));
	row->counted = read_stats(row, &row->stats);
	row->attention = row->errors;
	row->state = row->errors ? "errors" : "well";
	if (!row->counted) {
		row->state = errno == ENOENT ? "no journal" : "unknown";
	} else if (!strcmp(row->stats.state, "aborted")) {
		row->state = "aborted";
		row->attention = true;
	}
}

static bool is_known(const struct rows *rows, dev_t dev, dev_t *seen)
{
	for (u32 i = 0; i < rows->nr; i++)
		if (seen[i] == dev)
			return true;
	return false;
}

/* Each file system once, at the first of its mounts. */
static bool find_mounted(struct rows *rows)
{
	FILE *f = fopen(zx_below("/proc/self/mountinfo"), "r");
	dev_t *seen = NULL, *more;
	struct zx_mount m;
	struct row *row;
	char name[64];

	while (f && zx_next_mount(f, &m)) {
		if (!zx_is_zext4(&m, name, sizeof(name)) || is_known(rows, m.dev, seen))
			continue;
		more = realloc(seen, (rows->nr + 1) * sizeof(*seen));
		row = more ? add(rows, m.source, m.at) : NULL;
		seen = more ?: seen;
		if (!row)
			break;
		seen[rows->nr - 1] = m.dev;
		snprintf(row->name, sizeof(row->name), "%s", name);
		judge(row);
	}
	free(seen);
	if (f)
		fclose(f);
	return f;
}

static bool is_mounted_at(const struct rows *rows, const char *at)
{
	for (u32 i = 0; i < rows->nr; i++)
		if (!strcmp(rows->row[i].at, at))
			return true;
	return false;
}

/* Of several mounts on one directory the last is seen. */
static bool is_ext4_at(const char *at)
{
	FILE *f = fopen(zx_below("/proc/self/mountinfo"), "r");
	bool found = false;
	struct zx_mount m;

	while (f && zx_next_mount(f, &m))
		if (!strcmp(m.at, at))
			found = !strcmp(m.type, "ext4");
	if (f)
		fclose(f);
	return found;
}

/* A boot that could not mount it goes on where fstab says nofail, and nobody hears of it. */
static void find_missing(struct rows *rows)
{
	FILE *f = setmntent(zx_below("/etc/fstab"), "r");
	struct mntent *m;
	struct row *row;

	while (f && (m = getmntent(f))) {
		if (strcmp(m->mnt_type, "zext4") || hasmntopt(m, "noauto") ||
		    is_mounted_at(rows, m->mnt_dir))
			continue;
		row = add(rows, m->mnt_fsname, m->mnt_dir);
		if (!row)
			break;
		row->state = is_ext4_at(m->mnt_dir) ? "as ext4" : "not mounted";
		row->attention = true;
	}
	if (f)
		endmntent(f);
}

static void measure(struct rows *rows, double seconds)
{
	struct timespec t = { .tv_sec = seconds };
	struct stats s;

	t.tv_nsec = (seconds - t.tv_sec) * 1e9;
	nanosleep(&t, NULL);
	for (u32 i = 0; i < rows->nr; i++) {
		struct row *row = &rows->row[i];

		if (!row->counted || !read_stats(row, &s))
			continue;
		row->rate = (fsyncs(&s) - fsyncs(&row->stats)) / seconds;
		stats_free(&s);
	}
}

static void json(const struct rows *rows, double seconds)
{
	js_array("mounts");
	for (u32 i = 0; i < rows->nr; i++) {
		const struct row *row = &rows->row[i];

		js_object(NULL);
		js_text("device", row->device);
		js_text("directory", row->at);
		js_text("state", row->state);
		js_bool("attention", row->attention);
		if (row->name[0])
			js_u64("errors", row->errors);
		if (row->counted) {
			js_text("journal", row->name);
			js_u64("lanes", row->stats.nr_lanes);
			js_text("format", row->stats.format);
			js_u64("recovered_transactions", row->stats.recovered_transactions);
			if (seconds > 0)
				js_float("fsyncs_per_second", row->rate);
		}
		js_end();
	}
	js_end();
}

static void text_row(const struct row *row, int device, int at, double seconds)
{
	char recovered[48] = "-", rate[32] = "-", lanes[16] = "-";

	if (row->counted) {
		snprintf(lanes, sizeof(lanes), "%u", row->stats.nr_lanes);
		snprintf(recovered, sizeof(recovered), "%s", row->stats.recovered_transactions ?
			 zx_count(row->stats.recovered_transactions, "transaction") : "nothing");
		if (seconds > 0)
			snprintf(rate, sizeof(rate), "%.0f", row->rate);
	}
	printf("%-*s  %-*s  %5s  %-4s  ", device, zx_text(row->device), at, zx_text(row->at), lanes,
	       row->counted && row->stats.format[0] ? zx_text(row->stats.format) : "-");
	printf("%s%-11s%s  %-16s %8s\n",
	       zx_on(row->attention ? ZX_RED : strcmp(row->state, "well") ? ZX_YELLOW : ZX_GREEN),
	       row->state, zx_off(), recovered, rate);
}

static void text(const struct rows *rows, double seconds)
{
	int device = strlen("DEVICE"), at = strlen("DIRECTORY");

	if (!rows->nr) {
		printf("no zext4 is mounted, and /etc/fstab names none\n");
		return;
	}
	for (u32 i = 0; i < rows->nr; i++) {
		device = max_t(int, device, strlen(zx_text(rows->row[i].device)));
		at = max_t(int, at, strlen(zx_text(rows->row[i].at)));
	}
	printf("%-*s  %-*s  LANES  LOG   STATE        RECOVERED        FSYNCS/S\n", device, "DEVICE", at,
	       "DIRECTORY");
	for (u32 i = 0; i < rows->nr; i++)
		text_row(&rows->row[i], device, at, seconds);
}

/* The remedy of each state that needs one, once. */
static void advise(const struct rows *rows)
{
	for (u32 i = 0; i < rows->nr; i++) {
		const struct row *row = &rows->row[i];

		if (!strcmp(row->state, "aborted"))
			zx_say(ZX_WARNING, "%s: the journal is aborted, and nothing is written any more: the kernel log says why; unmount it, run fsck.zext4 -f, mount it again",
			       row->at);
		else if (!strcmp(row->state, "errors"))
			zx_say(ZX_WARNING, "%s: ext4 has counted %s since the last e2fsck: unmount it and run fsck.zext4 -f",
			       row->at, zx_count(row->errors, "error"));
		else if (!strcmp(row->state, "not mounted"))
			zx_say(ZX_WARNING, "%s: /etc/fstab has it as zext4, and it is not mounted: mount %s says why; zjctl kernels shows whether the running kernel has zext4",
			       row->at, row->at);
		else if (!strcmp(row->state, "as ext4"))
			zx_say(ZX_WARNING, "%s: /etc/fstab has it as zext4, and it is mounted as ext4: zjctl kernels shows whether the running kernel has zext4, and why not; then unmount it and mount it again",
			       row->at);
		else if (!strcmp(row->state, "unknown"))
			zx_say(ZX_WARNING, "%s: only root may read the statistics: use sudo", row->at);
	}
}

static int status(struct rows *rows, double seconds)
{
	bool attention = false, unknown = false;

	if (!find_mounted(rows))
		return zx_fail(ZX_UNCORRECTED, "%s cannot be read, so it is not known what is mounted",
			       zx_below("/proc/self/mountinfo"));
	find_missing(rows);
	if (rows->nr && seconds > 0)
		measure(rows, seconds);
	for (u32 i = 0; i < rows->nr; i++) {
		attention |= rows->row[i].attention;
		unknown |= !strcmp(rows->row[i].state, "unknown");
	}
	json(rows, seconds);
	if (!zx_json)
		text(rows, seconds);
	advise(rows);
	return (attention ? ZX_CORRECTED : 0) | (unknown ? ZX_UNCORRECTED : 0);
}

static int run(int argc, char **argv)
{
	struct rows rows = { 0 };
	double seconds = 1;
	char *end;
	int c;

	while ((c = zx_getopt(argc, argv)) != -1) {
		if (c == 'r') {
			zx_root = optarg;
		} else if (c == 'd') {
			seconds = strtod(optarg, &end);
			if (*end || end == optarg || !(seconds >= 0 && seconds <= 3600))
				return zx_usage("-d must be a number of seconds from 0 to 3600, not \"%s\"",
						optarg);
		} else {
			return ZX_USAGE;
		}
	}
	if (argc > optind)
		return zx_usage("status shows all, and takes no device");
	/* A copy does not change. */
	c = status(&rows, *zx_root ? 0 : seconds);
	for (u32 i = 0; i < rows.nr; i++)
		stats_free(&rows.row[i].stats);
	free(rows.row);
	return c;
}

const struct zx_command cmd_status = {
	.name = "status",
	.brief = "is every zext4 well? One line each, one exit status",
	.help = help,
	.shorts = "d:",
	.options = options,
	.operand = "",
	.run = run,
};
