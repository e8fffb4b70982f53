// SPDX-License-Identifier: GPL-2.0-only
/* Parse and print the module's statistics. */
#include <stdlib.h>
#include <string.h>
#include "stats.h"

/* "lane 3:  12 txns  34 handles ...": whatever counters this module has. */
static bool parse_lane(struct stats *s, const char *line)
{
	struct stats_lane *lane, *more;
	int used = 0;
	u32 number;

	if (sscanf(line, "lane %u:%n", &number, &used) != 1 || !used)
		return true;
	more = realloc(s->lane, (s->nr_lanes + 1) * sizeof(*lane));
	if (!more)
		return false;
	s->lane = more;
	lane = &s->lane[s->nr_lanes++];
	memset(lane, 0, sizeof(*lane));
	lane->lane = number;
	for (line += used; lane->nr < STATS_COUNTERS; line += used) {
		used = 0;
		if (sscanf(line, " %llu %23s%n", &lane->counter[lane->nr].value,
			   lane->counter[lane->nr].name, &used) != 2 || !used)
			break;
		lane->nr++;
	}
	return true;
}

/*
 * Each line is tried against each form; what a half match leaves in the
 * scratch variables must not count.
 */
static bool parse_line(struct stats *s, const char *line)
{
	unsigned long long a, b;
	u32 x, y, z;

	if (sscanf(line, "%llu transactions in %u lanes, %u credits", &a, &x, &y) == 3) {
		s->transactions = a;
		s->max_credits = y;
	} else if (sscanf(line, "segments: %u of %u blocks, %u free", &x, &y, &z) == 3) {
		s->segments = x;
		s->segment_blocks = y;
		s->segments_free = z;
	} else if (sscanf(line, "stamps: %llu newest, %llu trimmed", &a, &b) == 2) {
		s->newest_stamp = a;
		s->trim_stamp = b;
	} else if (sscanf(line, "recovered: %u transactions, %u blocks", &x, &y) == 2) {
		s->recovered_transactions = x;
		s->recovered_blocks = y;
	} else if (strstr(line, "us from freeze to validity")) {
		s->commit_us = strtoull(line, NULL, 10);
	} else if (sscanf(line, "state: %15s", s->state) != 1) {
		return parse_lane(s, line);
	}
	return true;
}

bool stats_read(const char *file, const char *name, struct stats *s)
{
	FILE *f = fopen(file, "r");
	bool good = f;
	char *line = NULL;
	size_t room = 0;

	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "%s", name);
	while (good && getline(&line, &room, f) > 0)
		good = parse_line(s, line);
	free(line);
	if (f)
		fclose(f);
	if (good && s->nr_lanes && s->state[0])
		return true;
	stats_free(s);
	return false;
}

void stats_free(struct stats *s)
{
	free(s->lane);
	s->lane = NULL;
	s->nr_lanes = 0;
}

u64 stats_counter(const struct stats_lane *lane, const char *name)
{
	for (u32 i = 0; i < lane->nr; i++)
		if (!strcmp(lane->counter[i].name, name))
			return lane->counter[i].value;
	return 0;
}

void stats_json(const struct stats *s)
{
	js_text("name", s->name);
	js_text("state", s->state);
	js_u64("transactions", s->transactions);
	js_u64("max_credits", s->max_credits);
	js_u64("commit_us", s->commit_us);
	js_u64("segments", s->segments);
	js_u64("segment_blocks", s->segment_blocks);
	js_u64("segments_free", s->segments_free);
	js_u64("newest_stamp", s->newest_stamp);
	js_u64("trim_stamp", s->trim_stamp);
	js_u64("recovered_transactions", s->recovered_transactions);
	js_u64("recovered_blocks", s->recovered_blocks);
	js_array("lanes");
	for (u32 i = 0; i < s->nr_lanes; i++) {
		js_object(NULL);
		js_u64("lane", s->lane[i].lane);
		js_object("counters");
		for (u32 k = 0; k < s->lane[i].nr; k++)
			js_u64(s->lane[i].counter[k].name, s->lane[i].counter[k].value);
		js_end();
		js_end();
	}
	js_end();
}

void stats_text(const struct stats *s)
{
	printf("%s%s%s: %s%s%s, %u lanes, %llu transactions, %llu us from freeze to validity on average\n",
	       zx_on(ZX_BOLD), s->name, zx_off(),
	       zx_on(strcmp(s->state, "aborted") ? ZX_GREEN : ZX_RED), s->state, zx_off(),
	       s->nr_lanes, s->transactions, s->commit_us);
	printf("  segments: %u of %u blocks, %u free; stamps: %llu newest, %llu trimmed; recovered at mount: %u transactions\n",
	       s->segments, s->segment_blocks, s->segments_free, s->newest_stamp,
	       s->trim_stamp, s->recovered_transactions);
}

void stats_table(const struct stats *now, const struct stats *before, double seconds)
{
	const struct stats_lane *lane = now->lane;

	printf("  %4s", "lane");
	for (u32 k = 0; k < lane->nr; k++)
		printf(" %*s", (int)max_t(size_t, 9, strlen(lane->counter[k].name)),
		       lane->counter[k].name);
	printf("%s\n", before ? "   (per second)" : "");
	for (u32 i = 0; i < now->nr_lanes; i++, lane++) {
		printf("  %4u", lane->lane);
		for (u32 k = 0; k < lane->nr; k++) {
			const char *name = lane->counter[k].name;
			int width = max_t(size_t, 9, strlen(name));
			u64 value = lane->counter[k].value;

			if (before)
				printf(" %*.1f", width, i < before->nr_lanes ?
				       (value - stats_counter(&before->lane[i], name)) / seconds :
				       0.0);
			else
				printf(" %*llu", width, value);
		}
		putchar('\n');
	}
}
