// SPDX-License-Identifier: GPL-2.0-only
/* The lanes' counters as tables for people: the few that matter most, or all. */
#include <stdlib.h>
#include <string.h>
#include "stats.h"

/* A cell of the table: counts that are added up, and divided by others for a mean. */
static const struct column {
	const char *name;
	int	width;
	const char *of[5];	/* counters, added up */
	const char *by;		/* the mean of this counter's events, from us to ms; or NULL */
	const char *what;	/* for the legend */
} columns[STATS_COLUMNS] = {
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

static void add_cells(struct stats_cell *cells, const struct stats_lane *now,
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

static const struct stats_lane *same_lane(const struct stats *before, u32 lane)
{
	for (u32 i = 0; before && i < before->nr_lanes; i++)
		if (before->lane[i].lane == lane)
			return &before->lane[i];
	return NULL;
}

struct stats_row *stats_rows(const struct stats *now, const struct stats *before)
{
	struct stats_row *row = calloc(now->nr_lanes + 1, sizeof(*row));

	for (u32 i = 0; row && i < now->nr_lanes; i++) {
		const struct stats_lane *old = same_lane(before, now->lane[i].lane);

		/* It was mounted anew meanwhile. */
		if (old && stats_counter(old, "txns") > stats_counter(&now->lane[i], "txns"))
			old = NULL;
		row[i].lane = now->lane[i].lane;
		add_cells(row[i].cell, &now->lane[i], old);
		add_cells(row[now->nr_lanes].cell, &now->lane[i], old);
	}
	return row;
}

/* ---- the order of the lanes ---- */

static double value_of(const struct stats_row *row, u32 column)
{
	const struct stats_cell *cell = &row->cell[column];

	if (!columns[column].by)
		return cell->value;
	return cell->events ? (double)cell->value / cell->events : -1;
}

static int by_lane(const void *a, const void *b)
{
	const struct stats_row *x = a, *y = b;

	return (x->lane > y->lane) - (x->lane < y->lane);
}

static int by_column(const void *a, const void *b, void *column)
{
	double x = value_of(a, *(int *)column), y = value_of(b, *(int *)column);

	/* The largest first; of equals the lower lane. */
	return x < y ? 1 : x > y ? -1 : by_lane(a, b);
}

void stats_sort(struct stats_row *row, u32 nr, int column, bool reverse)
{
	if (column < 0)
		qsort(row, nr, sizeof(*row), by_lane);
	else
		qsort_r(row, nr, sizeof(*row), by_column, &column);
	for (u32 i = 0; reverse && i < nr / 2; i++) {
		struct stats_row other = row[i];

		row[i] = row[nr - 1 - i];
		row[nr - 1 - i] = other;
	}
}

const char *stats_column_name(int column)
{
	return column < 0 ? "lane" : columns[column].name;
}

int stats_find_column(const char *name)
{
	for (int i = -1; i < STATS_COLUMNS; i++)
		if (!strcmp(stats_column_name(i), name))
			return i;
	return STATS_COLUMNS;
}

/* ---- text ---- */

/* How many columns have room in a line of @width. */
static u32 columns_in(u32 width)
{
	u32 used = 5, n = 0;

	while (n < ARRAY_SIZE(columns) && used + 1 + columns[n].width <= width)
		used += 1 + columns[n++].width;
	return n;
}

void stats_title_text(char *to, size_t room, u32 width)
{
	size_t used = snprintf(to, room, " %4s", "lane");

	for (u32 i = 0; i < columns_in(width) && used < room; i++)
		used += snprintf(to + used, room - used, " %*s", columns[i].width, columns[i].name);
}

void stats_row_text(const struct stats_row *row, bool all, double seconds, char *to, size_t room,
		    u32 width)
{
	size_t used = all ? snprintf(to, room, " %4s", "all") :
		      snprintf(to, room, " %4u", row->lane);

	for (u32 i = 0; i < columns_in(width) && used < room; i++) {
		const struct stats_cell *cell = &row->cell[i];
		int w = columns[i].width;
		char text[32];

		if (columns[i].by && !cell->events)
			strcpy(text, "-");
		else if (columns[i].by)
			snprintf(text, sizeof(text), "%.2f", cell->value / 1e3 / cell->events);
		else if (seconds)
			snprintf(text, sizeof(text), "%.1f", cell->value / seconds);
		else
			snprintf(text, sizeof(text), "%llu", cell->value);
		used += snprintf(to + used, room - used, " %*s", w, text);
	}
}

static void print_row(const struct stats_row *row, bool all, double seconds)
{
	char line[256];

	stats_row_text(row, all, seconds, line, sizeof(line), zx_width(stdout));
	puts(line);
}

void stats_table(const struct stats *now, const struct stats *before, double seconds, int column,
		 bool reverse)
{
	struct stats_row *row = stats_rows(now, before);
	char line[256];

	if (!row)
		return;
	stats_sort(row, now->nr_lanes, column, reverse);
	stats_title_text(line, sizeof(line), zx_width(stdout));
	puts(line);
	for (u32 i = 0; i < now->nr_lanes; i++)
		print_row(&row[i], false, seconds);
	fputs(zx_on(ZX_BOLD), stdout);
	print_row(&row[now->nr_lanes], true, seconds);
	fputs(zx_off(), stdout);
	free(row);
}

bool stats_legend_text(int column, char *to, size_t room)
{
	if (column >= STATS_COLUMNS)
		return false;
	snprintf(to, room, "%-9s %s", stats_column_name(column), column < 0 ?
		 "the lane; \"all\" is their sum" : columns[column].what);
	return true;
}

void stats_legend(void)
{
	char line[128];

	printf("\n  Everything is since the mount.\n");
	for (int i = 0; stats_legend_text(i, line, sizeof(line)); i++)
		printf("  %s\n", line);
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
