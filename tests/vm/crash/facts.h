/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What zjload (the load) and zjverify (the check after a power cut) share: the
 * fact log, the names and the contents of the files.
 *
 * Worker k works in its directory "w<k>" and in the shared directory "s", on
 * files and directories of its own; in the shared file "s/shared.dat" it writes
 * the blocks b with b % workers == k.  Its log, LOGDIR/w<k>.log, has one
 * struct fact per operation, in order.  Each is written before the operation
 * with end = 0 and again after it, outside the tested file system.
 */
#ifndef FACTS_H
#define FACTS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum fact_op {
	F_CREATE = 1,	/* file id as dir/name */
	F_LINK,		/* further name dir/name */
	F_RENAME,	/* of a file or directory, dir/name to dir2/name2 */
	F_UNLINK,	/* dir/name */
	F_MKDIR,	/* directory id as dir/name */
	F_RMDIR,	/* dir/name */
	F_WRITE,	/* off, len; FACT_SYNC: with O_SYNC; FACT_MAPPED: by stores */
	F_TRUNC,	/* to size off */
	F_PUNCH,	/* off, len read as zeros */
	F_FALLOC,	/* off, len allocated, size grows to off + len */
	F_XATTR,	/* user.v set to this fact's index */
	F_FSYNC,	/* file id */
	F_FDSYNC,	/* file id, fdatasync */
	F_DIRSYNC,	/* directory id */
	F_REPLACE,	/* slot id in dir: new file of len bytes, fsync, rename over */
};

#define FACT_SYNC	1
#define FACT_MAPPED	2

/* Directory ids that are not made by F_MKDIR. */
#define DIR_HOME	0	/* w<k> */
#define DIR_SHARED	1	/* s */
#define FIRST_ID	2

/* File ids that are not made by F_CREATE. */
#define ID_SHARED	0	/* shared.dat */
#define ID_SLOT(slot)	(0xff0000u + (slot))	/* F_REPLACE */

#define CELL		16u
#define BLOCK		4096u
#define FILE_MAX	(256u << 10)
#define SHARED_SIZE	(1u << 20)
#define MAX_WORKERS	64
#define SLOTS		4
#define VER_SETUP	0xffffffu	/* version of what "zjload setup" wrote */

/**
 * struct fact - one operation
 * @begin: stamp taken before it
 * @end: stamp taken after its success; 0: unknown or failed
 * @off: see enum fact_op
 * @len: see enum fact_op
 * @op: enum fact_op
 * @flags: FACT_SYNC
 * @id: file, directory or slot
 * @dir: directory of @name
 * @name: number in the name
 * @dir2: new directory
 * @name2: number in the new name
 * @pad: zero
 */
struct fact {
	uint64_t begin;
	uint64_t end;
	uint64_t off;
	uint64_t len;
	uint32_t op;
	uint32_t flags;
	uint32_t id;
	uint32_t dir;
	uint32_t name;
	uint32_t dir2;
	uint32_t name2;
	uint32_t pad;
};

/**
 * struct cell - 16 bytes of file content that say where they belong
 * @who: worker << 24 | file id
 * @ver: index of the fact that wrote it
 * @pos: offset in the file / CELL
 * @sum: cell_sum() of the others
 */
struct cell {
	uint32_t who;
	uint32_t ver;
	uint32_t pos;
	uint32_t sum;
};

static inline uint32_t cell_sum(const struct cell *c)
{
	uint64_t x = c->who * 0x9e3779b97f4a7c15ull + c->ver;

	x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull + c->pos;
	x = (x ^ (x >> 32)) * 0x94d049bb133111ebull;
	return (uint32_t)(x >> 32) | 1;
}

static inline void cells_fill(void *buf, uint64_t off, uint64_t len,
			      uint32_t worker, uint32_t id, uint32_t ver)
{
	struct cell *c = buf;
	uint64_t i;

	for (i = 0; i < len / CELL; i++, c++) {
		c->who = worker << 24 | id;
		c->ver = ver;
		c->pos = (uint32_t)(off / CELL + i);
		c->sum = cell_sum(c);
	}
}

/* "f<worker>.<id>.<number>", some with a tail to make directories long. */
static inline int entry_name(char *buf, size_t size, char type, uint32_t worker,
			     uint32_t id, uint32_t name)
{
	static const char tail[] = "-long-name-to-fill-directory-blocks-soon-"
		"long-name-to-fill-directory-blocks-soon-long-name";

	return snprintf(buf, size, "%c%u.%u.%u%s", type, worker, id, name,
			(id + name) % 3 ? "" : tail);
}

#endif
