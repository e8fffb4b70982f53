// SPDX-License-Identifier: GPL-2.0-only
/* zjctl stats: the live counters of mounted journals. */
#include <stdlib.h>
#include "stats.h"

static const char help[] =
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

static const struct option options[] = {
	{ "from", required_argument, NULL, 'f' },
	{ "all", no_argument, NULL, 'a' },
	{ "prometheus", no_argument, NULL, 'p' },
	ZX_PLAIN_OPTIONS,
	{ 0 }
};

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
			stats_table(&s->journal[i], NULL, 0, -1, false);
	}
	js_end();
	if (!zx_json && !all && s->nr)
		stats_legend();
}

/* Whoever collects metrics does so also where nothing is mounted at the moment. */
static int print_metrics(struct sample *s, const struct source *from)
{
	if (!from->file && !from->name[0]) {
		sample_take_all(s);
		if (s->forbidden)
			return sample_refuse_user(STATS_ROOT "/*/info");
	} else {
		int code = sample_take(s, from);

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

	while ((c = zx_getopt(argc, argv)) != -1) {
		if (c == 'f')
			from.file = optarg;
		else if (c == 'a')
			all = true;
		else if (c == 'p')
			metrics = true;
		else
			return ZX_USAGE;
	}
	if (metrics && (zx_json || all))
		return zx_usage("--prometheus cannot be combined with --json or --all");
	c = sample_source(argc, argv, &from);
	if (c)
		return c;
	s = calloc(1, sizeof(*s));
	if (!s)
		return zx_fail(ZX_FAILED, "out of memory; try again with more");
	if (metrics) {
		c = print_metrics(s, &from);
	} else {
		c = sample_take(s, &from);
		print(s, all);
	}
	sample_free(s);
	free(s);
	return c;
}

const struct zx_command cmd_stats = {
	.name = "stats",
	.brief = "what the lanes of a mounted file system have done",
	.help = help,
	.shorts = "",
	.options = options,
	.operand = "mounted",
	.run = run_stats,
};
