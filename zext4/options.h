/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zext4's own mount options; included at the beginning of its ext4.h. The table in
 * options.c says what each of them means.
 */
#ifndef ZEXT4_OPTIONS_H
#define ZEXT4_OPTIONS_H

#include <linux/types.h>

/*
 * The options that zext4 uses itself. Further ones, which are only passed on to the
 * journal, follow in the table without an identifier.
 */
enum zext4_option {
	ZEXT4_LANES,		/* a number; 0: auto */
	ZEXT4_LANE_BY,		/* enum zext4_lane_by */
	ZEXT4_LOG,		/* enum zext4_log */
	ZEXT4_JOURNAL_NVM,	/* 0; the path is in nvm_path */
	ZEXT4_FSYNC,		/* enum zext4_fsync */
	ZEXT4_ALLOC,		/* enum zext4_alloc */
	ZEXT4_DATA_FUA,		/* enum zext4_data_fua */
	ZEXT4_FSYNC_DATA,	/* enum zext4_fsync_data */
	ZEXT4_LOG_FUA,		/* enum zext4_log_fua */
	ZEXT4_PIPELINE,		/* enum zext4_pipeline */
	ZEXT4_NR_READ
};

/* Options that the table may have at most, as each is a bit of zext4_options.given. */
#define ZEXT4_MAX_OPTIONS	32

enum zext4_log { ZEXT4_LOG_AUTO, ZEXT4_LOG_ZJ, ZEXT4_LOG_JBD2 };
enum zext4_data_fua { ZEXT4_DATA_FUA_AUTO, ZEXT4_DATA_FUA_NEVER };
enum zext4_log_fua { ZEXT4_LOG_FUA_AUTO, ZEXT4_LOG_FUA_NEVER };
enum zext4_fsync_data {
	ZEXT4_FSYNC_DATA_AUTO, ZEXT4_FSYNC_DATA_BESIDE, ZEXT4_FSYNC_DATA_BEFORE
};
enum zext4_pipeline { ZEXT4_PIPELINE_AUTO, ZEXT4_PIPELINE_ON, ZEXT4_PIPELINE_OFF };
enum zext4_fsync { ZEXT4_FSYNC_OWN, ZEXT4_FSYNC_ALL };
enum zext4_alloc { ZEXT4_ALLOC_AUTO, ZEXT4_ALLOC_CORE, ZEXT4_ALLOC_STOCK };
enum zext4_lane_by { ZEXT4_LANE_BY_CPU, ZEXT4_LANE_BY_CGROUP, ZEXT4_LANE_BY_DIR };

/* Most bytes of a device's path, the terminating 0 included. */
#define ZEXT4_PATH_MAX		96

/**
 * struct zext4_options - the options that were given at mount or remount
 *
 * The options of a mount are changed by remounts only, which s_umount serialises, and are
 * read at any time.
 */
struct zext4_options {
	u32	given;				/* bits: indices in the table */
	u32	value[ZEXT4_MAX_OPTIONS];	/* 0, the default, if not given */
	char	nvm_path[ZEXT4_PATH_MAX];	/* of journal_nvm= */
};

/**
 * struct zext4_reads - what the log's disk was seen to do (zext4_one_head())
 *
 * Set before the journal is loaded, and only read afterwards.
 */
struct zext4_reads {
	u64	in_turn;	/* time of four reads one after the other, in ns; 0: not measured */
	u64	together;	/* of four reads at once */
};

#endif /* ZEXT4_OPTIONS_H */
