// SPDX-License-Identifier: GPL-2.0-only
/* Parse the module's statistics, and print them but for the tables of lanes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "stats.h"

/* The kernel's names have no others, but --from may name any file. */
#define NAME_CHARS	"abcdefghijklmnopqrstuvwxyz0123456789_"

static void add_counter(struct stats_counters *c, const char *name, u64 value)
{
	if (c->nr == STATS_COUNTERS || name[strspn(name, NAME_CHARS)])
		return;
	snprintf(c->counter[c->nr].name, sizeof(c->counter[0].name), "%s", name);
	c->counter[c->nr++].value = value;
}

/* "3 in all, 2 at directory, 1 at inode_table" */
static void parse_kinds(struct stats_counters *c, const char *line)
{
	unsigned long long value;
	char name[24];

	c->nr = 0;
	while ((line = strchr(line, ','))) {
		line++;
		if (sscanf(line, " %llu at %23[^ ,\n]", &value, name) == 2)
			add_counter(c, name, value);
	}
}

static struct stats_lane *lane_of(struct stats *s, u32 number)
{
	struct stats_lane *more;

	for (u32 i = 0; i < s->nr_lanes; i++)
		if (s->lane[i].lane == number)
			return &s->lane[i];
	more = realloc(s->lane, (s->nr_lanes + 1) * sizeof(*more));
	if (!more)
		return NULL;
	s->lane = more;
	more += s->nr_lanes++;
	memset(more, 0, sizeof(*more));
	more->lane = number;
	return more;
}

/* "lane 3:  12 txns  34 handles ...", with all counters that the module has. */
static bool parse_lane(struct stats *s, const char *line)
{
	unsigned long long value;
	struct stats_lane *lane;
	char name[24];
	int used = 0;
	u32 number;

	if (sscanf(line, "lane %u:%n", &number, &used) != 1 || !used)
		return true;
	lane = lane_of(s, number);
	if (!lane)
		return false;
	lane->all.nr = 0;
	for (line += used; sscanf(line, " %llu %23s%n", &value, name, &used) == 2; line += used)
		add_counter(&lane->all, name, value);
	return true;
}

/* "united: 3 in all, ...", and the same of a lane. */
static bool parse_ties(struct stats *s, const char *line)
{
	struct stats_lane *lane;
	bool united = line[0] == 'u';
	u32 number;

	if (sscanf(line, "%*s in lane %u:", &number) != 1) {
		parse_kinds(united ? &s->united : &s->depends, line);
		return true;
	}
	lane = lane_of(s, number);
	if (lane)
		parse_kinds(united ? &lane->united : &lane->depends, line);
	return lane;
}

/* True if the line is of components. */
static bool parse_components(struct stats_components *c, const char *line)
{
	unsigned long long a, b, d, e;
	u32 x, y;

	if (sscanf(line, "components: %llu closed, %llu members, %u at most", &a, &b, &x) == 3) {
		c->closed = a;
		c->members = b;
		c->max_members = x;
	} else if (sscanf(line, "dependencies: %llu logged, %u at most, %llu awaited, %llu resolved, %llu arrivals",
			  &a, &x, &b, &d, &e) == 5) {
		c->deps = a;
		c->max_deps = x;
		c->awaited = b;
		c->resolved = d;
		c->arrivals = e;
	} else if (sscanf(line, " %llu of %u to %u members", &a, &x, &y) == 3) {
		if (c->nr_sizes == STATS_SIZES)
			return true;
		c->size[c->nr_sizes].from = x;
		c->size[c->nr_sizes].to = y;
		c->size[c->nr_sizes++].count = a;
	} else {
		return false;
	}
	return true;
}

/* "  12 below 64us", "  1 longer" */
static bool parse_fsyncs(struct stats_counters *c, const char *line)
{
	unsigned long long value;
	char name[24] = "";
	u32 us;

	if (sscanf(line, " %llu below %uus", &value, &us) == 2)
		snprintf(name, sizeof(name), "below_%uus", us);
	else if (sscanf(line, " %llu %23[a-z]", &value, name) != 2 || strcmp(name, "longer"))
		return false;
	add_counter(c, name, value);
	return true;
}

/*
 * Each line is compared with each form. Values that an incomplete match has left in the
 * scratch variables are ignored.
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
	} else if (sscanf(line, "stamps: %llu newest, %llu reclaimed", &a, &b) == 2) {
		s->newest_stamp = a;
		s->ckpt_stamp = b;
	} else if (sscanf(line, "recovered: %u transactions, %u blocks", &x, &y) == 2) {
		s->recovered_transactions = x;
		s->recovered_blocks = y;
	} else if (strstr(line, "us from seal to commit")) {
		s->commit_us = strtoull(line, NULL, 10);
	} else if (!strncmp(line, "united", 6) || !strncmp(line, "depends", 7)) {
		return parse_ties(s, line);
	} else if (parse_fsyncs(&s->fsyncs, line)) {
		return true;
	} else if (sscanf(line, "state: %15s", s->state) != 1 &&
		   sscanf(line, "log: %15s", s->format) != 1 &&
		   !parse_components(&s->components, line)) {
		return parse_lane(s, line);
	}
	return true;
}

bool stats_read(const char *file, const char *name, struct stats *s)
{
	FILE *f = fopen(file, "r");
	int err = f ? 0 : errno;
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
	errno = err;
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
	const struct stats_counters *c = &lane->all;

	for (u32 i = 0; i < c->nr; i++)
		if (!strcmp(c->counter[i].name, name))
			return c->counter[i].value;
	return 0;
}

/* ---- how long fsyncs take ---- */

/* The upper end of a bucket by its name, in us; 0: there is none, or it is no bucket. */
static u64 bucket_end(const char *name)
{
	u32 us;

	return sscanf(name, "below_%uus", &us) == 1 ? us : 0;
}

static u64 value_in(const struct stats_counters *c, const char *name)
{
	for (u32 i = 0; i < c->nr; i++)
		if (!strcmp(c->counter[i].name, name))
			return c->counter[i].value;
	return 0;
}

static double since(const struct stats_counters *c, const struct stats *before, u32 i)
{
	return (double)c->counter[i].value -
	       (double)value_in(&before->fsyncs, c->counter[i].name);
}

double stats_quantile(const struct stats *now, const struct stats *before, double share)
{
	const struct stats_counters *c = &now->fsyncs;
	double all = 0, below = 0, end = 0;

	for (u32 i = 0; i < c->nr; i++)
		all += since(c, before, i);
	if (all <= 0)
		return 0;
	for (u32 i = 0; i < c->nr; i++) {
		double here = since(c, before, i);

		/* Of those that took longest only the beginning of the bucket is known. */
		if (!bucket_end(c->counter[i].name))
			break;
		end = bucket_end(c->counter[i].name);
		/* A bucket begins at half of its end; the first one, of 64 us, at 0. */
		if (below + here >= share * all && here > 0)
			return end / 2 + end / 2 * (share * all - below) / here;
		below += here;
	}
	return end;
}

static void counters_json(const char *name, const struct stats_counters *c)
{
	js_object(name);
	for (u32 i = 0; i < c->nr; i++)
		js_u64(c->counter[i].name, c->counter[i].value);
	js_end();
}

static void components_json(const struct stats_components *c)
{
	js_object("components");
	js_u64("closed", c->closed);
	js_u64("members", c->members);
	js_u64("max_members", c->max_members);
	js_u64("dependencies", c->deps);
	js_u64("max_dependencies", c->max_deps);
	js_u64("awaited", c->awaited);
	js_u64("resolved", c->resolved);
	js_u64("arrivals", c->arrivals);
	js_array("sizes");
	for (u32 i = 0; i < c->nr_sizes; i++) {
		js_object(NULL);
		js_u64("from", c->size[i].from);
		js_u64("to", c->size[i].to);
		js_u64("count", c->size[i].count);
		js_end();
	}
	js_end();
	js_end();
}

void stats_json(const struct stats *s)
{
	js_text("name", s->name);
	js_text("state", s->state);
	if (s->format[0])
		js_text("format", s->format);
	js_u64("transactions", s->transactions);
	js_u64("max_credits", s->max_credits);
	js_u64("commit_us", s->commit_us);
	js_u64("segments", s->segments);
	js_u64("segment_blocks", s->segment_blocks);
	js_u64("segments_free", s->segments_free);
	js_u64("newest_stamp", s->newest_stamp);
	js_u64("checkpoint_stamp", s->ckpt_stamp);
	js_u64("recovered_transactions", s->recovered_transactions);
	js_u64("recovered_blocks", s->recovered_blocks);
	components_json(&s->components);
	counters_json("united", &s->united);
	counters_json("depends", &s->depends);
	counters_json("fsyncs", &s->fsyncs);
	js_array("lanes");
	for (u32 i = 0; i < s->nr_lanes; i++) {
		js_object(NULL);
		js_u64("lane", s->lane[i].lane);
		counters_json("counters", &s->lane[i].all);
		counters_json("united", &s->lane[i].united);
		counters_json("depends", &s->lane[i].depends);
		js_end();
	}
	js_end();
}

/* "fsyncs: 12 below_256us, 1 longer" */
static void counters_text(const char *what, const char *at, const struct stats_counters *c)
{
	char text[STATS_COUNTERS * 50];
	size_t used = 0;

	if (!c->nr)
		return;
	for (u32 i = 0; i < c->nr && used < sizeof(text); i++)
		used += snprintf(text + used, sizeof(text) - used, "%s %llu %s%s", i ? "," : "",
				 c->counter[i].value, at, c->counter[i].name);
	zx_line(2, "%s%s", what, text);
}

void stats_text(const struct stats *s)
{
	const struct stats_components *c = &s->components;

	printf("%s%s%s: %s%s%s, %s, %s, %llu us from seal to commit\n",
	       zx_on(ZX_BOLD), zx_text(s->name), zx_off(),
	       zx_on(strcmp(s->state, "aborted") ? ZX_GREEN : ZX_RED), zx_text(s->state), zx_off(),
	       zx_count(s->nr_lanes, "lane"), zx_count(s->transactions, "transaction"), s->commit_us);
	zx_line(2, "segments: %u of %s, %u free; stamps: %llu newest, %llu reclaimed; recovered at mount: %s",
		s->segments, zx_count(s->segment_blocks, "block"), s->segments_free, s->newest_stamp,
		s->ckpt_stamp, zx_count(s->recovered_transactions, "transaction"));
	if (c->closed)
		zx_line(2, "components: %llu of %s, the largest of %u; %llu dependencies, %u of one at most",
			c->closed, zx_count(c->members, "transaction"), c->max_members, c->deps,
			c->max_deps);
	counters_text("fsyncs:", "", &s->fsyncs);
	counters_text("lanes united:", "at ", &s->united);
	counters_text("lanes depending:", "at ", &s->depends);
}
