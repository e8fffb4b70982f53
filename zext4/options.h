/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zext4's own mount options; included at the head of its ext4.h.
 */
#ifndef ZEXT4_OPTIONS_H
#define ZEXT4_OPTIONS_H

#include <linux/types.h>

enum zext4_option {
	ZEXT4_LANES,		/* a number; 0: one per CPU */
	ZEXT4_FSYNC,		/* enum zext4_fsync */
	ZEXT4_ALLOC,		/* enum zext4_alloc */
	ZEXT4_LANE_BY,		/* enum zext4_lane_by */
	ZEXT4_FROZEN_COPY,	/* enum zj_frozen_copy */
	ZEXT4_LOG,		/* enum zext4_log */
	ZEXT4_DATA_FUA,		/* enum zext4_data_fua */
	ZEXT4_LOG_FUA,		/* enum zext4_log_fua */
	ZEXT4_FSYNC_DATA,	/* enum zext4_fsync_data */
	ZEXT4_PIPELINE,		/* enum zext4_pipeline */
	ZEXT4_VERSIONS,		/* a number; 0: ZJ_VERSIONS */
	ZEXT4_FLUSH_BATCH,	/* a number; 0: ZJ_FLUSH_BATCH */
	ZEXT4_COALESCE,		/* enum zext4_coalesce */
	ZEXT4_JOURNAL_NVM,	/* 1 if given; then nvm_path */
	ZEXT4_NVM_UNIT,		/* enum zext4_nvm_unit */
	ZEXT4_TXNINFO_MAX,	/* bytes; 0: the default */
	ZEXT4_NVM_CHECK,	/* enum zext4_nvm_check */
	ZEXT4_NR_OPTIONS
};

enum zext4_log { ZEXT4_LOG_AUTO, ZEXT4_LOG_ZJ, ZEXT4_LOG_JBD2 };
enum zext4_data_fua { ZEXT4_DATA_FUA_AUTO, ZEXT4_DATA_FUA_NEVER };
enum zext4_log_fua { ZEXT4_LOG_FUA_AUTO, ZEXT4_LOG_FUA_NEVER };
enum zext4_fsync_data { ZEXT4_FSYNC_DATA_AUTO, ZEXT4_FSYNC_DATA_BEFORE };
enum zext4_pipeline { ZEXT4_PIPELINE_AUTO, ZEXT4_PIPELINE_ON, ZEXT4_PIPELINE_OFF };
enum zext4_coalesce { ZEXT4_COALESCE_ON, ZEXT4_COALESCE_OFF };
enum zext4_nvm_unit { ZEXT4_NVM_LINE, ZEXT4_NVM_BLOCK };
enum zext4_nvm_check { ZEXT4_NVM_CHECK_OFF, ZEXT4_NVM_CHECK_ON };
enum zext4_fsync { ZEXT4_FSYNC_OWN, ZEXT4_FSYNC_ALL };
enum zext4_alloc { ZEXT4_ALLOC_AUTO, ZEXT4_ALLOC_CORE, ZEXT4_ALLOC_STOCK };
enum zext4_lane_by { ZEXT4_LANE_BY_CPU, ZEXT4_LANE_BY_CGROUP, ZEXT4_LANE_BY_DIR };

/* Bytes of a device's path, the last one 0. */
#define ZEXT4_PATH_MAX		96

/**
 * struct zext4_options - what was given at mount or remount
 */
struct zext4_options {
	u32	given;				/* bits of enum zext4_option */
	u32	value[ZEXT4_NR_OPTIONS];	/* 0, the default, if not given */
	char	nvm_path[ZEXT4_PATH_MAX];	/* of journal_nvm= */
};

#endif /* ZEXT4_OPTIONS_H */
