/* SPDX-License-Identifier: GPL-2.0-only */
/* What the virtual CPUs do: a list of steps, which each of them repeats. */
#ifndef ZJ_SIM_LOAD_H
#define ZJ_SIM_LOAD_H

#include "core.h"
#include "sim.h"

enum device { DEVICE_NVME, DEVICE_PLP, DEVICE_MEMORY };

enum step_kind {
	STEP_WORK,	/* the file system computes for a while */
	STEP_LOCK,	/* one of its mutexes, such as a directory's i_rwsem */
	STEP_UNLOCK,
	STEP_START,	/* a handle */
	STEP_BLOCK,	/* write access, change, dirty */
	STEP_RANGE,	/* the same, and zext4 declares what it changes */
	STEP_FILE,	/* as STEP_BLOCK, but the block is in a folio of a file */
	STEP_LOG,	/* a new block of file data, whose contents go to the log */
	STEP_STOP,
	STEP_SYNC,	/* wait until the last handle is durable, as fsync() */
	STEP_DATA,	/* data written to the device and waited for */
};

/**
 * struct step - one line of the list
 */
struct step {
	enum step_kind	kind;
	/*
	 * Nanoseconds, credits, or blocks of data. For a block 0, or the number of another CPU's
	 * that a hash of the operation and of this number chooses.
	 */
	u32		count;
	u32		region;		/* which blocks, or which mutex */
	u32		share;		/* CPUs that use the same ones; 0: all */
	u32		span;		/* blocks of each such group of CPUs */
	u32		per;		/* operations of the group for each; 0: any of them */
};

#define MAX_STEPS	1024u

/**
 * struct sim_load - what is simulated
 */
struct sim_load {
	struct step	step[MAX_STEPS];
	u32		nr_steps;
	enum device	device;
	bool		data_journal;	/* data=journal, else data=ordered */
	u32		cpus;
	u64		warm_up;	/* operations that are not counted */
	u64		count;		/* that are */
};

extern struct sim_load sim_load;

void load_read(const char *path);
/* Runs until enough is counted, prints the result, and ends the program. */
void load_run(void) __attribute__((__noreturn__));

#endif
