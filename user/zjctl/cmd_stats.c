// SPDX-License-Identifier: GPL-2.0-only
/* zjctl stats, zjctl top: the live counters of mounted journals. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "stats.h"

static const char stats_help[] =
	"usage: zjctl stats [--all | --prometheus] [--from FILE] [--json] [DEV|MOUNTPOINT]\n\n"
	"Show what the lanes of a mounted zext4, or of all that are mounted, have done.\n"
	"Only root may read the statistics.\n\n"
	"  --all         every counter of every lane, by the module's names\n"
	"  --prometheus  in Prometheus' text format; without a mounted zext4, nothing\n"
	"  --from FILE   read a saved copy of /proc/fs/zjournal/<dev>/info\n\n"
	"Examples:\n"
	"  zjctl stats\n"
	"  zjctl stats --json /srv\n"
	"  zjctl stats --prometheus >zjournal.prom\n";

static const char top_help[] =
	"usage: zjctl top [-d SECONDS] [-n COUNT] [--from FILE] [--json] [DEV|MOUNTPOINT]\n\n"
	"Show what the lanes do per second, refreshed until interrupted. A terminal shows as\n"
	"many lanes as fit, those that commit most. With --json, print one document for each\n"
	"refresh, one to a line. Only root may read the statistics.\n\n"
	"  -d SECONDS    time between two refreshes (default 2)\n"
	"  -n COUNT      end after this many refreshes\n"
	"  --from FILE   read a file in the format of /proc/fs/zjournal/<dev>/info\n\n"
	"Examples:\n"
	"  zjctl top /srv\n"
	"  zjctl top -d 10 --json >>lanes.jsonl\n";

static const struct option options[] = {
	{ "delay", required_argument, NULL, 'd' },
	{ "count", required_argument, NULL, 'n' },
	{ "from", required_argument, NULL, 'f' },
	{ "all", no_argument, NULL, 'a' },
	{ "prometheus", no_argument, NULL, 'p' },
	ZX_OPTIONS,
	{ 0 }
};

#define MAX_JOURNALS	64

/**
 * struct sample - all journals asked for, at one time
 */
struct sample {
	u32	nr;
	bool	forbidden;	/* there is one that this user may not read */
	struct timespec time;
	struct stats journal[MAX_JOURNALS];
};

/**
 * struct source - where the statistics come from
 */
struct source {
	const char *file;	/* --from */
	char	name[80];	/* one journal; "" for all */
};

static void free_sample(struct sample *s)
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

static void add_all(struct sample *s)
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

static int refuse_user(const char *file)
{
	return zx_fail(ZX_FAILED, "%s: only root may read the statistics, which tell what others do: use sudo, or let a group read the file (zjournal(7))",
		       file);
}

/* 0, or an exit code with a message. */
static int take(struct sample *s, const struct source *from)
{
	char file[512];

	s->nr = 0;
	s->forbidden = false;
	clock_gettime(CLOCK_MONOTONIC, &s->time);
	if (from->file) {
		add(s, from->file, "file");
		if (s->forbidden)
			return refuse_user(from->file);
		if (!s->nr)
			return zx_fail(ZX_FAILED, "%s: is not a copy of /proc/fs/zjournal/<dev>/info; make one with cat",
				       from->file);
	} else if (from->name[0]) {
		snprintf(file, sizeof(file), STATS_ROOT "/%s/info", from->name);
		add(s, file, from->name);
		if (s->forbidden)
			return refuse_user(file);
		if (!s->nr)
			return zx_fail(ZX_FAILED, "%s: cannot be read; is it still mounted as zext4?",
				       file);
	} else {
		add_all(s);
		if (s->forbidden && !s->nr)
			return refuse_user(STATS_ROOT "/*/info");
		if (!s->nr)
			return zx_fail(ZX_FAILED, "no zext4 is mounted (nothing in " STATS_ROOT "); mount one: mount -t zext4 DEV DIR");
	}
	return 0;
}

static int find_source(int argc, char **argv, struct source *from)
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

/* ---- stats ---- */

static void print(const struct sample *s, bool all)
{
	js_array("journals");
	for (u32 i = 0; i < s->nr; i++) {
		js_object(NULL);
		stats_json(&s->journal[i]);
		js_end();
		if (zx_json)
			continue;
		stats_text(&s->journal[i]);
		if (all)
			stats_all(&s->journal[i]);
		else
			stats_table(&s->journal[i], NULL, 0, 0);
	}
	js_end();
	if (!zx_json && !all && s->nr)
		stats_legend(false);
}

/* Whoever collects metrics does so also where nothing is mounted at the moment. */
static int print_metrics(struct sample *s, const struct source *from)
{
	if (!from->file && !from->name[0]) {
		add_all(s);
		if (s->forbidden)
			return refuse_user(STATS_ROOT "/*/info");
	} else {
		int code = take(s, from);

		if (code)
			return code;
	}
	stats_prometheus(s->journal, s->nr);
	return 0;
}

static int run_stats(int argc, char **argv)
{
	bool all = false, metrics = false;
	struct source from = { 0 };
	struct sample *s;
	int c;

	while ((c = zx_getopt(argc, argv, "", options)) != -1) {
		if (c == 'f')
			from.file = optarg;
		else if (c == 'a')
			all = true;
		else if (c == 'p')
			metrics = true;
		else
			return c == '?' ? ZX_USAGE : zx_usage("-d and -n are options of zjctl top only");
	}
	if (metrics && (zx_json || all))
		return zx_usage("--prometheus cannot be combined with --json or --all");
	c = find_source(argc, argv, &from);
	if (c)
		return c;
	s = calloc(1, sizeof(*s));
	if (!s)
		return zx_fail(ZX_FAILED, "out of memory; try again with more");
	if (metrics) {
		c = print_metrics(s, &from);
	} else {
		c = take(s, &from);
		print(s, all);
	}
	free_sample(s);
	free(s);
	return c;
}

/* ---- top ---- */

static const struct stats *same_journal(const struct sample *s, const struct stats *j)
{
	for (u32 i = 0; i < s->nr; i++)
		if (!strcmp(s->journal[i].name, j->name))
			return &s->journal[i];
	return NULL;
}

static void json_rates(const struct stats *now, const struct stats *before, double seconds)
{
	js_array("rates");
	for (u32 i = 0; before && i < now->nr_lanes && i < before->nr_lanes; i++) {
		js_object(NULL);
		js_u64("lane", now->lane[i].lane);
		js_object("per_second");
		for (u32 k = 0; k < now->lane[i].all.nr; k++) {
			const char *name = now->lane[i].all.counter[k].name;
			u64 was = stats_counter(&before->lane[i], name);

			js_float(name, (now->lane[i].all.counter[k].value - was) / seconds);
		}
		js_end();
		js_end();
	}
	js_end();
}

/* Lines of the terminal; 0 if the output goes elsewhere. */
static u32 terminal_lines(void)
{
	struct winsize size;

	if (zx_json || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return 0;
	return size.ws_row ? size.ws_row : 24;
}

#define OTHER_LINES	8	/* of a journal: what stats_text() says, titles, the sum */
#define LEGEND_LINES	12

static void show_rates(const struct stats *now, const struct stats *before, double seconds,
		       u32 lines)
{
	u32 percent = stats_log_percent(now);

	stats_text(now);
	printf("  log: %s%u %% in use%s\n", zx_on(percent > 66 ? ZX_YELLOW : ZX_GREEN), percent,
	       zx_off());
	stats_table(now, before, seconds, lines);
}

static void show_text(const struct sample *now, const struct sample *before, double seconds)
{
	u32 lines = terminal_lines(), each = 0;

	if (lines) {
		printf("\033[H\033[2J");
		each = lines / max_t(u32, now->nr, 1);
		each = each > OTHER_LINES + LEGEND_LINES ? each - OTHER_LINES - LEGEND_LINES : 4;
	}
	for (u32 i = 0; i < now->nr; i++) {
		const struct stats *old = same_journal(before, &now->journal[i]);

		if (old)
			show_rates(&now->journal[i], old, seconds, each);
	}
	stats_legend(true);
}

static void show_json(const struct sample *now, const struct sample *before, double seconds)
{
	js_start("top");
	js_float("seconds", seconds);
	js_array("journals");
	for (u32 i = 0; i < now->nr; i++) {
		const struct stats *j = &now->journal[i];

		js_object(NULL);
		stats_json(j);
		json_rates(j, same_journal(before, j), seconds);
		js_end();
	}
	js_end();
	js_finish(0);
}

static void show(const struct sample *now, const struct sample *before)
{
	double seconds = now->time.tv_sec - before->time.tv_sec +
			 (now->time.tv_nsec - before->time.tv_nsec) / 1e9;

	if (zx_json)
		show_json(now, before, seconds);
	else
		show_text(now, before, seconds);
	fflush(stdout);
}

static void pause_for(double seconds)
{
	struct timespec t = { .tv_sec = seconds };

	t.tv_nsec = (seconds - t.tv_sec) * 1e9;
	nanosleep(&t, NULL);
}

static int watch(const struct source *from, double delay, u64 count)
{
	struct sample *now = calloc(1, sizeof(*now)), *before = calloc(1, sizeof(*before));
	int code;

	code = now && before ? take(before, from) :
	       zx_fail(ZX_FAILED, "out of memory; try again with more");
	for (u64 i = 0; !code && (!count || i < count); i++) {
		struct sample *swap = before;

		pause_for(delay);
		code = take(now, from);
		if (!code)
			show(now, before);
		free_sample(before);
		before = now;
		now = swap;
		if (ferror(stdout))
			break;
	}
	if (before)
		free_sample(before);
	free(now);
	free(before);
	if (code && zx_json) {
		js_start("top");
		js_finish(code);
	}
	return code;
}

static int run_top(int argc, char **argv)
{
	struct source from = { 0 };
	double delay = 2;
	u64 count = 0;
	char *end;
	int c;

	while ((c = zx_getopt(argc, argv, "d:n:", options)) != -1) {
		if (c == 'f') {
			from.file = optarg;
		} else if (c == 'd') {
			delay = strtod(optarg, &end);
			if (*end || end == optarg || !(delay >= 0.05 && delay <= 86400))
				return zx_usage("-d must be a number of seconds from 0.05 to 86400, not \"%s\"",
						optarg);
		} else if (c == 'a' || c == 'p') {
			return zx_usage("--all and --prometheus are options of zjctl stats only");
		} else if (c != 'n' || !zx_number(optarg, "-n", 1, U32_MAX, &count)) {
			return ZX_USAGE;
		}
	}
	c = find_source(argc, argv, &from);
	if (c && zx_json && c != ZX_USAGE) {
		js_start("top");
		js_finish(c);
	}
	return c ? c : watch(&from, delay, count);
}

const struct zx_command cmd_stats = {
	.name = "stats",
	.brief = "what the lanes of a mounted file system have done",
	.help = stats_help,
	.run = run_stats,
};

const struct zx_command cmd_top = {
	.name = "top",
	.brief = "the same as rates, refreshed",
	.help = top_help,
	.run = run_top,
	.many_documents = true,
};
