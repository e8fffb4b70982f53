/* SPDX-License-Identifier: GPL-2.0-only */
/* A log format, as target.c needs it; each program has one. */
#ifndef ZJ_FUZZ_FORMAT_H
#define ZJ_FUZZ_FORMAT_H

#include "device.h"
#include "reference.h"

/**
 * struct format - one of the three log formats
 * @load: put an input on a device and say where the log is; false if recovery would
 *	not be called for it
 * @recover: run it
 * @bounds: what a run may cost at most
 * @check: what else must be as the reference says, of a log that was not refused;
 *	NULL: nothing
 * @again: after recovery; NULL: what recovery leaves is recovered to the same
 *	bytes once more
 * @trailer: writes and flushes after those of the blocks
 * @two_reads: what is written is read a second time, and compared
 */
struct format {
	bool (*load)(struct device *d, const struct input *in, struct ref_log *log);
	int (*recover)(struct device *d, bool dry_run, struct zj_recovery_stats *s);
	struct bounds (*bounds)(const struct device *d,
				const struct ref_result *ref);
	void (*check)(const struct ref_result *ref);
	void (*again)(struct device *d);
	u32	trailer;
	bool	two_reads;
};

/**
 * struct bounds - of one run
 */
struct bounds {
	u64	read;		/* blocks of the log, or of the file system */
	size_t	summed;		/* bytes that checksums go over, or copied from memory */
	size_t	memory;		/* bytes allocated */
	u64	steps;		/* of long loops: calls of zj_yield() */
};

extern const struct format format;

#endif
