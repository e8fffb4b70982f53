/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's live statistics, /proc/fs/zjournal/<dev>/info, parsed. */
#ifndef ZJCTL_STATS_H
#define ZJCTL_STATS_H

#include "zjctl.h"

#define STATS_COUNTERS	40
#define STATS_SIZES	16

/**
 * struct stats_counters - numbers with the names that the module gives them
 */
struct stats_counters {
	u32	nr;
	struct {
		char name[24];
		u64 value;
	} counter[STATS_COUNTERS];
};

/**
 * struct stats_lane - the counters of one lane
 */
struct stats_lane {
	u32	lane;
	struct stats_counters all;
	struct stats_counters united;	/* by the kind of block shared with other lanes */
	struct stats_counters depends;	/* the same */
};

/**
 * struct stats_components - sizes and dependencies of components
 */
struct stats_components {
	u64	closed;
	u64	members;
	u32	max_members;
	u32	nr_sizes;
	struct {
		u32 from, to;	/* members */
		u64 count;
	} size[STATS_SIZES];
	u64	deps;
	u32	max_deps;
	u64	awaited;
	u64	resolved;
	u64	arrivals;
};

/**
 * struct stats - one mounted journal
 */
struct stats {
	char	name[80];	/* e.g. "sda1-8" */
	char	state[16];	/* live, clean, aborted */
	u64	transactions;
	u32	max_credits;	/* of one transaction */
	u64	commit_us;	/* average, seal to commit */
	u32	segments;
	u32	segment_blocks;
	u32	segments_free;
	u64	newest_stamp;
	u64	ckpt_stamp;
	u32	recovered_transactions;	/* at the mount */
	u32	recovered_blocks;
	struct stats_components components;	/* all 0 if the module is older */
	struct stats_counters united;	/* by the kind of block that lanes shared */
	struct stats_counters depends;	/* the same */
	struct stats_counters fsyncs;	/* by time: below_64us, below_128us, ... longer */
	u32	nr_lanes;
	struct stats_lane *lane;
};

#define STATS_ROOT	"/proc/fs/zjournal"

/* Parse a file in the module's format; false, with errno, if it is none (0) or unreadable. */
bool stats_read(const char *file, const char *name, struct stats *s);
void stats_free(struct stats *s);
/* 0 if the lane has no such counter. */
u64 stats_counter(const struct stats_lane *lane, const char *name);
void stats_json(const struct stats *s);
/* The first lines of the text: state, segments, stamps, and what ties lanes. */
void stats_text(const struct stats *s);

/* ---- stats_table.c ---- */

/*
 * The table of lanes: counts since the mount, or with @before rates over @seconds, of at most
 * @most lanes (0: all), those that commit most.
 */
void stats_table(const struct stats *now, const struct stats *before, double seconds, u32 most);
/* What the columns mean. */
void stats_legend(bool rates);
/* Every counter by the module's name: the sum and each lane's. */
void stats_all(const struct stats *s);
/* How much of the log is in use, in percent. */
u32 stats_log_percent(const struct stats *s);

/* ---- prometheus.c ---- */

/* All of @nr journals in Prometheus' text format. */
void stats_prometheus(const struct stats *s, u32 nr);

#endif /* ZJCTL_STATS_H */
