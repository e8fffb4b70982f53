/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's live statistics, /proc/fs/zjournal/<dev>/info, parsed. */
#ifndef ZJCTL_STATS_H
#define ZJCTL_STATS_H

#include <time.h>
#include "mounts.h"

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
	char	format[16];	/* of the log: zj, jbd2, nvm; "" if the module is older */
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

/* Parse a file in the module's format; false, with errno, if it is none (0) or unreadable. */
bool stats_read(const char *file, const char *name, struct stats *s);
void stats_free(struct stats *s);
/* 0 if the lane has no such counter. */
u64 stats_counter(const struct stats_lane *lane, const char *name);
void stats_json(const struct stats *s);
/* The first lines of the text: state, segments, stamps, and what ties lanes. */
void stats_text(const struct stats *s);

/* ---- stats_table.c ---- */

#define STATS_COLUMNS	9

/**
 * struct stats_row - a line of the table of lanes
 */
struct stats_row {
	u32	lane;
	struct stats_cell {
		u64	value;
		u64	events;		/* that it is divided by, in columns that are means */
	} cell[STATS_COLUMNS];
};

/* A row for each lane and one for their sum, to be freed: all since the mount, or since @before. */
struct stats_row *stats_rows(const struct stats *now, const struct stats *before);
/* Sorts lanes by a column, the largest first; -1: by lane. */
void stats_sort(struct stats_row *row, u32 nr, int column, bool reverse);
const char *stats_column_name(int column);
/* STATS_COLUMNS if there is none of this name. */
int stats_find_column(const char *name);
/* The table's lines without an end, of the columns that have room in @width. */
void stats_title_text(char *to, size_t room, u32 width);
void stats_row_text(const struct stats_row *row, bool all, double seconds, char *to, size_t room,
		    u32 width);
/* What a column means, from -1 on; false: there are no more. */
bool stats_legend_text(int column, char *to, size_t room);
/* The whole table on stdout: counts since the mount, or with @before rates over @seconds. */
void stats_table(const struct stats *now, const struct stats *before, double seconds, int column,
		 bool reverse);
/* What the columns mean. */
void stats_legend(void);
/* Every counter by the module's name: the sum and each lane's. */
void stats_all(const struct stats *s);
/* How much of the log is in use, in percent. */
u32 stats_log_percent(const struct stats *s);

/*
 * How long a fsync took that is the slowest but @share of them, in us, as Prometheus'
 * histogram_quantile() would say from the same buckets; 0: there was none.
 */
double stats_quantile(const struct stats *now, const struct stats *before, double share);

/* ---- sample.c: all journals that the user asks for, at one time ---- */

#define MAX_JOURNALS	64

/**
 * struct sample - the statistics of all of them
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

/* The operand of a command, or all. 0, or an exit code with a message. */
int sample_source(int argc, char **argv, struct source *from);
int sample_take(struct sample *s, const struct source *from);
/* As many as there are, which may be none. */
void sample_take_all(struct sample *s);
void sample_free(struct sample *s);
/* A message for who may not read @file. */
int sample_refuse_user(const char *file);
/*
 * The same where the statistics of journal @name are not there: there is no journal, or it
 * was unmounted meanwhile.
 */
int sample_refuse_missing(const char *name, const char *file);

/* ---- prometheus.c ---- */

/* All of @nr journals in Prometheus' text format. */
void stats_prometheus(const struct stats *s, u32 nr);

#endif /* ZJCTL_STATS_H */
