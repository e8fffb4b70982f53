// SPDX-License-Identifier: GPL-2.0-only
/* The lanes' counters as tables for people: the few that matter most, or all. */
#include <string.h>
#include "stats.h"

/* A cell of the table: counts that are added up, and divided by others for a mean. */
static const struct column {
	const char *name;
	int	width;
	const char *of[5];	/* counters, added up */
	const char *by;		/* the mean of this counter's events, from us to ms; or NULL */
	const char *what;	/* for the legend */
} columns[] = {
	{ "commits", 8, { "txns" }, NULL, "transactions that became durable" },
	{ "commit ms", 9, { "commit_us" }, "txns", "mean time from the end of its changes to its commit" },
	{ "handles", 8, { "handles" }, NULL, "changes that these transactions hold" },
	{ "blocks", 7, { "blocks" }, NULL, "blocks of metadata that were logged" },
	{ "fsyncs", 7, { "fsyncs" }, NULL, "fsyncs that waited for a commit" },
	{ "fsync ms", 8, { "fsync_us" }, "fsyncs", "mean time of these" },
	{ "flushes", 7, { "flushes" }, NULL, "cache flushes of the device that the lane sent" },
	{ "waits", 6, { "wait_log", "wait_locked", "wait_space", "wait_reserved" }, NULL,
	  "changes that waited for the log, for room in it, or for a commit" },
	{ "shared", 6, { "united", "depends" }, NULL,
	  "commits tied to another lane's, because both changed one thing" },
};

static u64 sum(const struct stats_lane *lane, const char * const *names)
{
	u64 value = 0;

	for (; *names; names++)
		value += stats_counter(lane, *names);
	return value;
}

static u64 by_count(const struct stats_lane *lane, const struct column *c)
{
	return c->by ? stats_counter(lane, c->by) : 0;
}

/**
 * struct cell - what a column adds up to, over one lane or several
 */
struct cell {
	u64	value;
	u64	events;		/* that it is divided by */
};

static void add_cells(struct cell *cells, const struct stats_lane *now,
		      const struct stats_lane *before)
{
	for (u32 i = 0; i < ARRAY_SIZE(columns); i++) {
		cells[i].value += sum(now, columns[i].of);
		cells[i].events += by_count(now, &columns[i]);
		if (!before)
			continue;
		cells[i].value -= sum(before, columns[i].of);
		cells[i].events -= by_count(before, &columns[i]);
	}
}

static void print_cells(const struct cell *cells, double seconds)
{
	for (u32 i = 0; i < ARRAY_SIZE(columns); i++) {
		int width = columns[i].width;

		if (columns[i].by && !cells[i].events)
			printf(" %*s", width, "-");
		else if (columns[i].by)
			printf(" %*.2f", width, cells[i].value / 1e3 / cells[i].events);
		else if (seconds)
			printf(" %*.1f", width, cells[i].value / seconds);
		else
			printf(" %*llu", width, cells[i].value);
	}
	putchar('\n');
}

static const struct stats_lane *same_lane(const struct stats *before, u32 i)
{
	return before && i < before->nr_lanes ? &before->lane[i] : NULL;
}

/* How many transactions lane @i has committed between the two. */
static u64 commits(const struct stats *now, const struct stats *before, u32 i)
{
	const struct stats_lane *old = same_lane(before, i);

	return stats_counter(&now->lane[i], "txns") - (old ? stats_counter(old, "txns") : 0);
}

/* Is the lane among the @most that have committed most? The first of equals are. */
static bool is_busy(const struct stats *now, const struct stats *before, u32 i, u32 most)
{
	u64 mine = commits(now, before, i);
	u32 more = 0;

	for (u32 k = 0; k < now->nr_lanes; k++) {
		u64 other = commits(now, before, k);

		more += other > mine || (other == mine && k < i);
	}
	return more < most;
}

void stats_table(const struct stats *now, const struct stats *before, double seconds, u32 most)
{
	struct cell all[ARRAY_SIZE(columns)] = { };

	if (!most || most > now->nr_lanes)
		most = now->nr_lanes;
	printf(" %4s", "lane");
	for (u32 i = 0; i < ARRAY_SIZE(columns); i++)
		printf(" %*s", columns[i].width, columns[i].name);
	putchar('\n');
	for (u32 i = 0; i < now->nr_lanes; i++) {
		struct cell cells[ARRAY_SIZE(columns)] = { };

		add_cells(all, &now->lane[i], same_lane(before, i));
		add_cells(cells, &now->lane[i], same_lane(before, i));
		if (!is_busy(now, before, i, most))
			continue;
		printf(" %4u", now->lane[i].lane);
		print_cells(cells, seconds);
	}
	printf(" %s%4s", zx_on(ZX_BOLD), "all");
	print_cells(all, seconds);
	fputs(zx_off(), stdout);
	if (most < now->nr_lanes)
		printf("  (the %u busiest of %u lanes)\n", most, now->nr_lanes);
}

void stats_legend(bool rates)
{
	printf("\n  %s\n", rates ? "Everything is per second, except times." :
	       "Everything is since the mount.");
	for (u32 i = 0; i < ARRAY_SIZE(columns); i++)
		printf("  %-9s %s\n", columns[i].name, columns[i].what);
}

void stats_all(const struct stats *s)
{
	printf("  %-14s %12s", "counter", "all lanes");
	for (u32 i = 0; i < s->nr_lanes; i++)
		printf("    lane %3u", s->lane[i].lane);
	putchar('\n');
	for (u32 k = 0; k < s->lane[0].all.nr; k++) {
		const char *name = s->lane[0].all.counter[k].name;
		bool most = !strncmp(name, "max_", 4);
		u64 all = 0;

		for (u32 i = 0; i < s->nr_lanes; i++) {
			u64 value = stats_counter(&s->lane[i], name);

			all = most ? max_t(u64, all, value) : all + value;
		}
		printf("  %-14s %12llu", name, all);
		for (u32 i = 0; i < s->nr_lanes; i++)
			printf(" %11llu", stats_counter(&s->lane[i], name));
		putchar('\n');
	}
}

u32 stats_log_percent(const struct stats *s)
{
	return s->segments ? 100 - 100ULL * s->segments_free / s->segments : 0;
}
