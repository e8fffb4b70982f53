/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zjace: the causality oracle.  Small workloads over lanes, a power cut, and a
 * model of the recovered trees that are allowed.
 */
#ifndef ACE_H
#define ACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CELL		512	/* bytes of a file that are compared as one */
#define CELLS		32	/* of a file at most */
#define NODES		64
#define NEW_NODE	48	/* what a step makes gets this number and up */
#define DENTS		96
#define NAME		16
#define XATTRS		3
#define OPS		4	/* operations of a workload, at most */
#define STEPS		(2 * OPS)
#define WILD		0xff	/* a cell that may hold anything */
#define SB_TOUCHED	(1ULL << 63)

/**
 * struct node - one inode of the model, or of a tree that was walked
 * @mode: type and permissions; 0: unused
 * @uid: owner; SALT_KEPT stores a returned value here
 * @projid: project
 * @flags: those of FS_IOC_GETFLAGS that are compared
 * @rdev: of a device node
 * @size: of a regular file
 * @dated: the modification time is the one that the operation utime sets
 * @versioned: the generation is the one that the operation setversion sets
 * @xattr: for each of the names: which value; 0: none
 * @target: of a symbolic link
 * @cell: the byte that fills each cell; 0: zeros or a hole
 * @ino: inode number in a tree that was walked
 * @links: its link count there
 */
struct node {
	uint16_t mode;
	uint32_t uid;
	uint32_t projid;
	uint32_t flags;
	uint32_t rdev;
	uint32_t size;
	bool dated;
	bool versioned;
	uint8_t xattr[XATTRS];
	char target[NAME];
	uint8_t cell[CELLS];
	uint32_t ino;
	uint32_t links;
};

/**
 * struct dent - one name
 * @parent: node of the directory
 * @node: what it names; 0 (the root): unused
 * @name: the name
 */
struct dent {
	uint8_t parent;
	uint8_t node;
	char name[NAME];
};

/* Limits of users; usage is always counted if the file system has quota. */
enum { NO_QUOTA, PROJECT_QUOTA, QUOTA_IS_OFF, QUOTA_IS_ON };

/**
 * struct tree - a whole file system
 * @node: node 0 is the root
 * @dent: names, in no order
 * @label: of the super block
 * @uuid: of the super block
 * @salt: of the super block; 0: not made yet
 * @blocks: size of the file system
 * @room: the size up to which its blocks of descriptors suffice
 * @block: size of a block
 * @has_xattr: it has the feature ext_attr
 * @has_csum: it has the feature metadata_csum
 * @has_encrypt: it has the feature encrypt
 * @has_seed: its checksums do not depend on the UUID
 * @journals_data: it is mounted with data=journal
 * @quota: are limits of users in force; nothing on the disk says so
 * @boot: what the boot loader's inode holds
 */
struct tree {
	struct node node[NODES];
	struct dent dent[DENTS];
	char label[NAME + 1];
	uint64_t uuid;
	uint64_t salt;
	uint32_t blocks;
	uint32_t room;
	uint32_t block;
	bool has_xattr;
	bool has_csum;
	bool has_encrypt;
	bool has_seed;
	bool journals_data;
	int quota;
	struct node boot;
};

enum kind {
	MKDIR, CREATE, SYMLINK, MKNOD, LINK, UNLINK, RMDIR, RENAME, TMPFILE,	/* change the tree */
	TRUNCATE, FALLOCATE, WRITE, STORE, DIRECT, WRITE_BACK,
	SETXATTR, REMOVEXATTR, CHMOD, CHOWN, SETFLAGS, PROJECT, UTIME, SETVERSION,
	ENCRYPT, VERITY, MOVE_EXT, SWAP_BOOT, MIGRATE, RESIZE, LABEL, UUID, SALT, SALT_KEPT,
	QUOTA_ON, QUOTA_OFF, FSYNC, FDATASYNC, CHECKPOINT, EVICT,
};

/* What may tie an operation to others with which it shares no block. */
enum {
	MOVES = 1,	/* a directory gets another parent (R11) */
	INHERITS = 2,	/* a new inode takes what its directory has (R9) */
	FIRST_XATTR = 4, /* a feature bit that the first one sets (R9) */
	TELLS = 8,	/* a value that user space is told (E28) */
	AGAIN = 16,	/* an inode leaves core and is read in again (R8, R10) */
};

#define TIES		5	/* kinds of them */

/**
 * struct op - one operation
 * @name: what it is called in reports, and by --one
 * @kind: what it does
 * @a: path
 * @b: second path, or none
 * @x: first argument: mode, offset, ...
 * @y: second argument: length, ...
 * @flags: of renameat2() or fallocate()
 * @ties: what ties it to others beside blocks, one bit each; a sample looks at these more often
 */
struct op {
	const char *name;
	enum kind kind;
	const char *a;
	const char *b;
	uint32_t x;
	uint32_t y;
	uint32_t flags;
	uint32_t ties;
};

/**
 * struct step - what can be durable by itself; most operations are one
 * @op: the operation
 * @pos: its place in the workload
 * @part: 0, or 1 for the second step of an operation
 * @returned: the value that the operation returned
 * @dir: directory of the first path, when all happened; -1: none
 * @node: what the first path named; -1: nothing
 * @dir2: directory of the second path
 * @node2: what the second path named
 *
 * An operation is about the inodes that its paths led to, as if it had held them
 * open: POSIX does not promise with a file or directory that directories above
 * it keep their names, and fsync=own does not make an earlier move of one durable.
 */
struct step {
	const struct op *op;
	int pos;
	int part;
	uint64_t returned;
	int dir;
	int node;
	int dir2;
	int node2;
};

/**
 * struct effect - what a step has changed
 * @touched: nodes, one bit each
 * @data: nodes whose data or size it has changed
 * @written: those of them whose data fdatasync promises
 * @moved: nodes whose blocks have got other places in the file, or in another one
 */
struct effect {
	uint64_t touched;
	uint64_t data;
	uint64_t written;
	uint64_t moved;
};

/* ops.c */
extern const struct op ops[];
extern const int nr_ops;
int nr_tree_ops(void);
int op_steps(const struct op *op);
int do_op(const char *mnt, const struct op *op, int pos, uint64_t *returned);

/* model.c */
void model_resolve(const struct tree *t, struct step *step);
bool model_step(struct tree *t, const struct step *step, struct effect *effect);

/* tree.c */
struct dent *find_dent(struct tree *t, int parent, const char *name);
int find_node(const struct tree *t, const char *path);
int split_path(const struct tree *t, const char *path, char *name);
bool add_dent(struct tree *t, int parent, const char *name, int node);
int count_names(const struct tree *t, int node);
bool is_below(const struct tree *t, int node, int top);
bool path_of(const struct tree *t, int node, char *path, size_t size);

/**
 * struct alternatives - which data a file may hold whose fsync has not returned
 * @loose: nodes with such data
 * @moved: nodes of which blocks were moved that may be overwritten, and be in the old place
 * @tree: trees of other subsets of the steps
 * @n: number of @tree
 */
struct alternatives {
	uint64_t loose;
	uint64_t moved;
	const struct tree *tree[1 << STEPS];
	int n;
};

bool same_tree(const struct tree *want, const struct tree *got,
	       const struct alternatives *alt, char *why, size_t size);

/* walk.c */
bool walk_tree(const char *mnt, struct tree *t, char *why, size_t size);
bool read_super(const char *dev, struct tree *t);
uint32_t descs_per_block(const uint8_t *sb);
bool all_reached(const char *dev, char *why, size_t size);

/* disk.c */
bool disk_open(void);
bool disk_cmd(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
uint64_t disk_mark(int dev);
int disk_moments(int dev, uint64_t last, uint64_t *moments, int max);
bool disk_mount(int dev, const char *type, const char *opts, bool ro);
bool disk_umount(int dev);
const char *disk_path(int dev);
const char *disk_mnt(int dev);
bool make_base(const char *mkfs);
bool run_e2fsck(int dev, char *out, size_t size);
bool go_to_lane(int lane);
extern const char *cgroups;

/* logged.c */
void log_images(const char *mnt, const struct tree *t);
void find_log(uint32_t block);
uint64_t newest_stamp(int dev);
bool has_lines(int dev, uint64_t stamp);

#define must(ok, ...) do {						\
		if (!(ok)) {						\
			fprintf(stderr, "zjace: " __VA_ARGS__);		\
			fprintf(stderr, ": %m\n");			\
			exit(2);					\
		}							\
	} while (0)

#endif
