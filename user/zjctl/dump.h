/* SPDX-License-Identifier: GPL-2.0-only */
/* Interfaces between the parts of zjctl dump. */
#ifndef ZJCTL_DUMP_H
#define ZJCTL_DUMP_H

#include "log_view.h"
#include "zjctl.h"

/**
 * struct dump_filter - the records to show; a field that is not set selects all
 */
struct dump_filter {
	bool	by_lane, by_tid, by_block;
	u64	lane;
	u64	tid;
	u64	block;
	u64	inode;		/* 0: none; else @block holds it */
	u32	inode_offset;	/* bytes into the block */
	const char *nvm;	/* --nvm, which filters nothing */
};

/* dump_records.c: the log, record by record, then its segments. */
void dump_records(const struct log *log, const struct dump_filter *f);
bool dump_passes(const struct log *log, const struct log_record *r,
		 const struct dump_filter *f);
/* The place of the log in its ring, as JSON. */
void dump_ring(const struct log *log);
/* The lines of its block that an image in memory has, as JSON. */
void dump_lines(const struct log_image *image);
/* dump_block.c: every image and revoke of one block. 0 or an exit code. */
int dump_block(struct log *log, const struct dump_filter *f);
/* Finds the block of an inode; 0 or an exit code. */
int dump_find_inode(const char *path, struct dump_filter *f);
/* dump_graph.c: the dependency graph for Graphviz. */
void dump_graph(const struct log *log, const struct dump_filter *f);

#endif /* ZJCTL_DUMP_H */
