// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjctl stats --prometheus: the statistics in Prometheus' text format, version 0.0.4. The
 * names of metrics are an interface: they stay. Times are in seconds.
 */
#include <string.h>
#include "stats.h"

/* The counters of a lane that have a meaning of their own for the reader. */
static const struct {
	const char *name, *help;
} helps[] = {
	{ "txns", "transactions committed" },
	{ "handles", "handles (changes of the file system) in committed transactions" },
	{ "blocks", "blocks of metadata logged" },
	{ "headers", "header blocks logged" },
	{ "flushes", "cache flushes sent to the device" },
	{ "flush_calls", "calls for a cache flush, several of which may share one" },
	{ "copies", "copies of blocks made by tasks, because the block was being logged" },
	{ "ahead", "copies of blocks made by the lane's thread" },
	{ "wait_log", "accesses that waited for the log to be written" },
	{ "wait_locked", "starts that waited for a transaction to be closed" },
	{ "wait_space", "starts that waited for space in the log" },
	{ "wait_reserved", "starts that waited for reserved handles" },
	{ "commit_us", "time from the seal of transactions to their commit, added up" },
	{ "conflicts", "accesses that made a commit or themselves wait" },
	{ "deferred", "commits that were put off for such conflicts" },
	{ "locked_us", "time that transactions waited for their last handles, added up" },
	{ "runs", "groups of transactions that shared their flushes" },
	{ "depth", "transactions on their way to the log, counted whenever one is sent, added up" },
	{ "max_depth", "the most transactions on their way at a time" },
	{ "max_copies", "the most copies of blocks at a time" },
	{ "fsyncs", "fsyncs that waited for a commit" },
	{ "fsync_us", "time that fsyncs waited for a commit, added up" },
	{ "file_blocks", "blocks of file data logged" },
	{ "file_merged", "of these, those that replaced an older image not yet in its place" },
	{ "file_syncs", "fsyncs that logged all their data" },
	{ "nvm_bytes", "bytes stored to persistent memory" },
	{ "nvm_full", "transactions closed because their description was full" },
	{ "united", "unions of two lanes' open transactions" },
	{ "depends", "dependencies on another lane's transaction" },
};

static void label(const char *value)
{
	for (value = zx_text(value); *value; value++) {
		if (*value == '"' || *value == '\\')
			putchar('\\');
		putchar(*value);
	}
}

static void family(const char *name, const char *type, const char *help)
{
	printf("# HELP zjournal_%s %s\n# TYPE zjournal_%s %s\n", name, help, name, type);
}

static void sample(const char *name, const char *suffix, const struct stats *s)
{
	printf("zjournal_%s%s{journal=\"", name, suffix);
	label(s->name);
	putchar('"');
}

static void number(u64 value)
{
	printf("} %llu\n", value);
}

/* ---- of a journal ---- */

static u64 get_live(const struct stats *s)
{
	return !!strcmp(s->state, "aborted");
}

static u64 get_lanes(const struct stats *s)
{
	return s->nr_lanes;
}

static u64 get_segments_free(const struct stats *s)
{
	return s->segments_free;
}

static u64 get_segments(const struct stats *s)
{
	return s->segments;
}

static u64 get_newest(const struct stats *s)
{
	return s->newest_stamp;
}

static u64 get_reclaimed(const struct stats *s)
{
	return s->ckpt_stamp;
}

static u64 get_recovered(const struct stats *s)
{
	return s->recovered_transactions;
}

static u64 get_components(const struct stats *s)
{
	return s->components.closed;
}

static u64 get_members(const struct stats *s)
{
	return s->components.members;
}

static u64 get_deps(const struct stats *s)
{
	return s->components.deps;
}

static const struct {
	const char *name, *type, *help;
	u64 (*get)(const struct stats *s);
} of_journal[] = {
	{ "up", "gauge", "1 while the journal works, 0 when it is aborted", get_live },
	{ "lanes", "gauge", "lanes of the journal", get_lanes },
	{ "segments", "gauge", "segments of the log", get_segments },
	{ "segments_free", "gauge", "segments of the log that no lane holds", get_segments_free },
	{ "newest_stamp", "gauge", "number of the newest sealed component", get_newest },
	{ "reclaimed_stamp", "gauge", "number of the newest component whose blocks are all in their places",
	  get_reclaimed },
	{ "recovered_transactions", "gauge", "transactions that the mount has recovered", get_recovered },
	{ "components_total", "counter", "components sealed", get_components },
	{ "component_members_total", "counter", "transactions in these components", get_members },
	{ "component_dependencies_total", "counter", "dependencies between components", get_deps },
};

static void journals(const struct stats *s, u32 nr)
{
	for (u32 k = 0; k < ARRAY_SIZE(of_journal); k++) {
		family(of_journal[k].name, of_journal[k].type, of_journal[k].help);
		for (u32 i = 0; i < nr; i++) {
			sample(of_journal[k].name, "", &s[i]);
			number(of_journal[k].get(&s[i]));
		}
	}
}

/* ---- fsyncs ---- */

#define BUCKETS	15	/* from 64 us on, each twice as long as the one before */

static u64 bucket(const struct stats *s, const char *name)
{
	for (u32 i = 0; i < s->fsyncs.nr; i++)
		if (!strcmp(s->fsyncs.counter[i].name, name))
			return s->fsyncs.counter[i].value;
	return 0;
}

static void fsync_histogram(const struct stats *s)
{
	static const char name[] = "fsync_seconds";
	u64 sum = 0, us = 0;
	char text[32];

	for (u32 k = 0; k < BUCKETS; k++) {
		snprintf(text, sizeof(text), "below_%uus", 64U << k);
		sum += bucket(s, text);
		sample(name, "_bucket", s);
		printf(",le=\"%.6f\"", (64U << k) / 1e6);
		number(sum);
	}
	sum += bucket(s, "longer");
	sample(name, "_bucket", s);
	printf(",le=\"+Inf\"");
	number(sum);
	for (u32 i = 0; i < s->nr_lanes; i++)
		us += stats_counter(&s->lane[i], "fsync_us");
	sample(name, "_sum", s);
	printf("} %.6f\n", us / 1e6);
	sample(name, "_count", s);
	number(sum);
}

/* ---- of a lane ---- */

static const char *help_of(const char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(helps); i++)
		if (!strcmp(helps[i].name, name))
			return helps[i].help;
	return "a counter of the module";
}

/* "commit_us" is lane_commit_seconds_total, "max_depth" is no counter. */
static void lane_counter(const struct stats *s, u32 nr, const char *name)
{
	int length = strlen(name);
	bool time = length > 3 && !strcmp(name + length - 3, "_us");
	bool gauge = !strncmp(name, "max_", 4);
	char metric[64];

	snprintf(metric, sizeof(metric), "lane_%.*s%s%s", time ? length - 3 : length, name,
		 time ? "_seconds" : "", gauge ? "" : "_total");
	family(metric, gauge ? "gauge" : "counter", help_of(name));
	for (u32 i = 0; i < nr; i++)
		for (u32 k = 0; k < s[i].nr_lanes; k++) {
			u64 value = stats_counter(&s[i].lane[k], name);

			sample(metric, "", &s[i]);
			printf(",lane=\"%u\"", s[i].lane[k].lane);
			if (time)
				printf("} %.6f\n", value / 1e6);
			else
				number(value);
		}
}

static bool has_counter(const struct stats *s, const char *name)
{
	for (u32 k = 0; k < s->lane[0].all.nr; k++)
		if (!strcmp(s->lane[0].all.counter[k].name, name))
			return true;
	return false;
}

/* Of journals with different counters, each counter is printed once, with all journals. */
static void lanes(const struct stats *s, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		for (u32 k = 0; k < s[i].lane[0].all.nr; k++) {
			const char *name = s[i].lane[0].all.counter[k].name;
			bool seen = false;

			for (u32 before = 0; before < i; before++)
				seen |= has_counter(&s[before], name);
			if (!seen)
				lane_counter(s, nr, name);
		}
}

static void ties(const struct stats *s, u32 nr, bool united)
{
	const char *name = united ? "united_by_cause_total" : "depends_by_cause_total";

	family(name, "counter", united ? "unions of two lanes' open transactions, by what both changed" :
	       "dependencies on another lane's transaction, by what both changed");
	for (u32 i = 0; i < nr; i++) {
		const struct stats_counters *c = united ? &s[i].united : &s[i].depends;

		for (u32 k = 0; k < c->nr; k++) {
			sample(name, "", &s[i]);
			printf(",cause=\"");
			label(c->counter[k].name);
			putchar('"');
			number(c->counter[k].value);
		}
	}
}

void stats_prometheus(const struct stats *s, u32 nr)
{
	journals(s, nr);
	family("fsync_seconds", "histogram", "how long fsyncs waited for a commit");
	for (u32 i = 0; i < nr; i++)
		fsync_histogram(&s[i]);
	lanes(s, nr);
	ties(s, nr, true);
	ties(s, nr, false);
}
