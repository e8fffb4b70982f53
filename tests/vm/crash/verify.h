/* SPDX-License-Identifier: GPL-2.0-only */
/* zjverify: what was found in the file system, and the logs. */
#ifndef VERIFY_H
#define VERIFY_H

#include "facts.h"

/* data=writeback: blocks written since the last fsync may show anything. */
enum data_mode { MODE_JOURNAL, MODE_ORDERED, MODE_WRITEBACK };

/**
 * struct found - one directory entry of the recovered file system
 * @type: 'f' or 'd', 'r' for a replaced file, 'S' for shared.dat
 * @worker: whose it is
 * @id: file or directory id, or slot
 * @dir: id of the directory it is in
 * @name: number in the name
 * @nlink: link count
 * @size: size
 * @path: path below the mount point
 */
struct found {
	char type;
	uint32_t worker;
	uint32_t id;
	uint32_t dir;
	uint32_t name;
	uint32_t nlink;
	uint64_t size;
	char *path;
};

extern const char *mnt;
extern uint64_t cut;
extern uint32_t workers;
extern enum data_mode mode;
extern struct found *founds;
extern uint32_t nfound;
extern uint64_t digest;

/* Counts and prints a violation. */
void bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *must_alloc(size_t size);

/* walk.c: fills founds; complains about what nobody made. */
void walk(void);
/* Reads a file: returns its content (caller frees), or NULL after bad(). */
void *read_file(const struct found *f);

/**
 * struct log - the begun operations of one worker
 * @worker: its number
 * @n: how many
 * @facts: them; begin <= cut
 */
struct log {
	uint32_t worker;
	uint32_t n;
	struct fact *facts;
};

static inline int is_done(const struct fact *f)
{
	return f->end && f->end <= cut;
}

/* names.c, content.c: compare one worker's log with what was found. */
void check_names(const struct log *log);
void check_content(const struct log *log);

#endif
