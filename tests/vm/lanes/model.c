// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjace: what an operation does to a tree, as POSIX and ext4 define it.  A step
 * that does not succeed in a tree cannot have happened there.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "ops.h"

#define INHERITED (FS_NODUMP_FL | FS_NOATIME_FL | FS_PROJINHERIT_FL)

/**
 * struct doing - one step being applied
 * @t: the tree
 * @op: the operation
 * @step: the step
 * @a: node of the first path, -1: none
 * @b: node of the second path, -1: none
 * @dir: directory of the first path, -1: none
 * @dir2: directory of the second path, -1: none
 * @name: last name of the first path
 * @name2: last name of the second path
 * @effect: what it touches
 */
struct doing {
	struct tree *t;
	const struct op *op;
	const struct step *step;
	int a;
	int b;
	int dir;
	int dir2;
	char name[NAME];
	char name2[NAME];
	struct effect *effect;
};

static void touch(struct doing *d, int node)
{
	d->effect->touched |= 1ULL << node;
}

static void touch_data(struct doing *d, int node)
{
	touch(d, node);
	d->effect->data |= 1ULL << node;
}

/* What read() gives is another: fdatasync promises that. */
static void touch_written(struct doing *d, int node)
{
	touch_data(d, node);
	d->effect->written |= 1ULL << node;
}

static struct node *node_a(struct doing *d)
{
	return &d->t->node[d->a];
}

static bool is_dir(struct doing *d, int node)
{
	return S_ISDIR(d->t->node[node].mode);
}

/* May names be added to the directory?  Its key is nowhere if it is encrypted. */
static bool takes_names(struct doing *d, int dir)
{
	return dir >= 0 && is_dir(d, dir) && !(d->t->node[dir].flags & FS_ENCRYPT_FL);
}

static void drop_dent(struct doing *d, int dir, const char *name)
{
	struct dent *e = find_dent(d->t, dir, name);
	int node = e->node;

	memset(e, 0, sizeof(*e));
	touch(d, dir);
	touch(d, node);
	if (!count_names(d->t, node))
		memset(&d->t->node[node], 0, sizeof(struct node));
}

/* It gets a name in @dir, and inherits from @from. */
static bool make_node(struct doing *d, int dir, int from, const char *name, uint16_t mode)
{
	int node = NEW_NODE + 2 * d->step->pos;
	struct node *n = &d->t->node[node], *parent = &d->t->node[from];

	/* The second node of an operation: a whiteout. */
	if (n->mode)
		n = &d->t->node[++node];
	memset(n, 0, sizeof(*n));
	n->mode = mode;
	if (S_ISREG(mode) || S_ISDIR(mode)) {
		n->flags = FS_EXTENT_FL | (parent->flags & INHERITED);
		n->projid = parent->flags & FS_PROJINHERIT_FL ? parent->projid : 0;
	}
	if (S_ISLNK(mode))
		strcpy(n->target, "target");
	touch(d, node);
	touch(d, dir);
	return add_dent(d->t, dir, name, node);
}

static bool make(struct doing *d, uint16_t mode)
{
	if (d->a >= 0 || !takes_names(d, d->dir))
		return false;
	return make_node(d, d->dir, d->dir, d->name, mode);
}

static bool do_mknod(struct doing *d)
{
	if (!make(d, S_IFCHR | 0644))
		return false;
	d->t->node[NEW_NODE + 2 * d->step->pos].rdev = makedev(1, 3);
	return true;
}

static bool do_link(struct doing *d)
{
	if (d->a < 0 || is_dir(d, d->a) || !takes_names(d, d->dir2) || d->b >= 0)
		return false;
	touch(d, d->a);
	touch(d, d->dir2);
	return add_dent(d->t, d->dir2, d->name2, d->a);
}

static bool do_unlink(struct doing *d)
{
	if (d->a < 0 || is_dir(d, d->a))
		return false;
	drop_dent(d, d->dir, d->name);
	return true;
}

static bool is_empty(struct doing *d, int dir)
{
	for (int i = 0; i < DENTS; i++)
		if (d->t->dent[i].node && d->t->dent[i].parent == dir)
			return false;
	return true;
}

static bool do_rmdir(struct doing *d)
{
	if (d->a < 0 || !is_dir(d, d->a) || !is_empty(d, d->a))
		return false;
	drop_dent(d, d->dir, d->name);
	return true;
}

static bool do_exchange(struct doing *d)
{
	struct dent *from = find_dent(d->t, d->dir, d->name);
	struct dent *to = find_dent(d->t, d->dir2, d->name2);

	if (!to || is_below(d->t, d->dir, d->b) || is_below(d->t, d->dir2, d->a))
		return false;
	from->node = d->b;
	to->node = d->a;
	touch(d, d->dir);
	touch(d, d->dir2);
	touch(d, d->a);
	touch(d, d->b);
	return true;
}

/* Does the present owner of the new name make way for the moved node? */
static bool makes_way(struct doing *d, int old)
{
	if (d->op->flags & RENAME_NOREPLACE)
		return false;
	if (is_dir(d, d->a) != is_dir(d, old))
		return false;
	return !is_dir(d, old) || is_empty(d, old);
}

static bool do_rename(struct doing *d)
{
	if (d->a < 0 || !takes_names(d, d->dir2) || is_below(d->t, d->dir2, d->a))
		return false;
	if (d->op->flags & RENAME_EXCHANGE)
		return do_exchange(d);
	/* Two names of one inode: nothing happens. */
	if (d->b == d->a)
		return true;
	if (d->b >= 0 && !makes_way(d, d->b))
		return false;
	if (d->b >= 0)
		drop_dent(d, d->dir2, d->name2);
	memset(find_dent(d->t, d->dir, d->name), 0, sizeof(struct dent));
	touch(d, d->dir);
	touch(d, d->dir2);
	touch(d, d->a);
	if (!add_dent(d->t, d->dir2, d->name2, d->a))
		return false;
	return !(d->op->flags & RENAME_WHITEOUT) || make_node(d, d->dir, d->dir, d->name, S_IFCHR);
}

static bool do_tmpfile(struct doing *d)
{
	if (!takes_names(d, d->a) || !takes_names(d, d->dir2) || d->b >= 0)
		return false;
	return make_node(d, d->dir2, d->a, d->name2, S_IFREG | 0644);
}

/* ---- data ---- */

static bool is_writable(struct doing *d)
{
	return d->a >= 0 && S_ISREG(node_a(d)->mode) && !(node_a(d)->flags & FS_VERITY_FL);
}

static void fill(struct node *n, uint32_t from, uint32_t to, uint8_t with)
{
	for (uint32_t c = from / CELL; c < to / CELL && c < CELLS; c++)
		n->cell[c] = with;
}

static bool do_truncate(struct doing *d)
{
	if (!is_writable(d))
		return false;
	fill(node_a(d), d->op->x, CELL * CELLS, 0);
	node_a(d)->size = d->op->x;
	node_a(d)->dated = false;
	touch_written(d, d->a);
	return true;
}

static bool do_write(struct doing *d)
{
	uint32_t end = d->op->x + d->op->y;

	if (!is_writable(d))
		return false;
	fill(node_a(d), d->op->x, end, pattern(d->step->pos));
	if (node_a(d)->size < end)
		node_a(d)->size = end;
	node_a(d)->dated = false;
	touch_written(d, d->a);
	return true;
}

static bool do_store(struct doing *d)
{
	return is_writable(d) && node_a(d)->size >= d->op->x + d->op->y && do_write(d);
}

static bool shift(struct doing *d)
{
	struct node *n = node_a(d);
	uint32_t at = d->op->x / CELL, by = d->op->y / CELL;

	d->effect->moved |= 1ULL << d->a;
	if (d->op->flags & FALLOC_FL_COLLAPSE_RANGE) {
		if (n->size <= d->op->x + d->op->y)
			return false;
		memmove(n->cell + at, n->cell + at + by, CELLS - at - by);
		memset(n->cell + CELLS - by, 0, by);
		n->size -= d->op->y;
		return true;
	}
	if (n->size <= d->op->x)
		return false;
	memmove(n->cell + at + by, n->cell + at, CELLS - at - by);
	memset(n->cell + at, 0, by);
	n->size += d->op->y;
	return true;
}

static bool do_fallocate(struct doing *d)
{
	uint32_t end = d->op->x + d->op->y, flags = d->op->flags;
	struct node *n;

	if (!is_writable(d))
		return false;
	n = node_a(d);
	if (!(flags & FALLOC_FL_PUNCH_HOLE) && !(n->flags & FS_EXTENT_FL))
		return false;
	if (flags & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) {
		if (!shift(d))
			return false;
	} else if (flags & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) {
		fill(n, d->op->x, end, 0);
	}
	if (!(flags & ~FALLOC_FL_ZERO_RANGE) && n->size < end)
		n->size = end;
	n->dated = false;
	touch_written(d, d->a);
	return true;
}

/* ---- inodes ---- */

static bool do_verity(struct doing *d)
{
	if (!is_writable(d) || !(node_a(d)->flags & FS_EXTENT_FL))
		return false;
	node_a(d)->flags |= FS_VERITY_FL;
	touch_data(d, d->a);
	return true;
}

/* The donor gets the blocks in exchange; their contents are then undefined. */
static bool do_move_ext(struct doing *d)
{
	int donor = d->b;
	struct node *n;

	if (d->t->journals_data || !is_writable(d) || donor < 0 || node_a(d)->size < d->op->y)
		return false;
	n = &d->t->node[donor];
	fill(n, 0, n->size, WILD);
	touch_data(d, d->a);
	touch_data(d, donor);
	d->effect->moved |= 1ULL << d->a | 1ULL << donor;
	return true;
}

static bool do_swap_boot(struct doing *d)
{
	struct node *n = node_a(d), *boot = &d->t->boot, old;

	if (!is_writable(d) || count_names(d->t, d->a) != 1)
		return false;
	/* Stock ext4's handle is too small to charge users for it. */
	if (d->t->quota != NO_QUOTA)
		return false;
	/* Stock ext4 counts blocks of attributes in the wrong inode until its second handle. */
	if (n->xattr[1] || n->xattr[2])
		return false;
	old = *n;
	n->size = boot->size;
	memcpy(n->cell, boot->cell, CELLS);
	n->dated = false;
	n->versioned = false;
	n->flags |= FS_EXTENT_FL;
	*boot = old;
	touch_data(d, d->a);
	return true;
}

static bool do_migrate(struct doing *d)
{
	if (node_a(d)->flags & FS_EXTENT_FL)
		return false;
	node_a(d)->flags |= FS_EXTENT_FL;
	touch_data(d, d->a);
	return true;
}

static bool do_encrypt(struct doing *d)
{
	if (!d->t->has_encrypt || d->a < 0 || !is_dir(d, d->a) || !is_empty(d, d->a))
		return false;
	node_a(d)->flags |= FS_ENCRYPT_FL;
	touch(d, d->a);
	return true;
}

/* The first caller generates it; later callers get the same value. */
static bool do_salt(struct doing *d)
{
	if (!d->t->has_encrypt)
		return false;
	if (!d->t->salt)
		d->t->salt = d->step->returned;
	d->effect->touched |= SB_TOUCHED;
	return d->t->salt == d->step->returned;
}

static bool do_salt_kept(struct doing *d)
{
	if (!d->step->part)
		return do_salt(d);
	if (d->t->salt != d->step->returned)
		return false;
	node_a(d)->uid = returned_owner(d->step->returned);
	touch(d, d->a);
	return true;
}

static bool do_super(struct doing *d)
{
	switch (d->op->kind) {
	case RESIZE:
		if (d->t->blocks + NEW_BLOCKS > d->t->room)
			return false;
		d->t->blocks += NEW_BLOCKS;
		break;
	case LABEL:
		strcpy(d->t->label, "new label");
		break;
	default:
		/* Stock ext4 does not read attributes again that have inodes of their own. */
		if (!d->t->has_seed)
			return false;
		memset(&d->t->uuid, 'u', sizeof(d->t->uuid));
	}
	d->effect->touched |= SB_TOUCHED;
	return true;
}

static bool do_attribute(struct doing *d)
{
	const struct op *op = d->op;
	struct node *n;

	if (d->a < 0)
		return false;
	n = node_a(d);
	switch (op->kind) {
	case SETXATTR:
		n->xattr[op->x] = '1' + op->x;
		break;
	case REMOVEXATTR:
		if (!n->xattr[op->x])
			return false;
		n->xattr[op->x] = 0;
		break;
	case CHMOD:
		n->mode = (n->mode & S_IFMT) | op->x;
		break;
	case CHOWN:
		n->uid = op->x;
		break;
	case SETFLAGS:
		n->flags |= op->x;
		break;
	case PROJECT:
		n->projid = op->x;
		break;
	case SETVERSION:
		/* ext4 refuses: checksums are made with it. */
		if (d->t->has_csum)
			return false;
		n->versioned = true;
		break;
	default:
		n->dated = true;
	}
	touch(d, d->a);
	return true;
}

static bool do_quota(struct doing *d)
{
	int wanted = d->op->kind == QUOTA_ON ? QUOTA_IS_OFF : QUOTA_IS_ON;

	if (d->t->quota != wanted)
		return false;
	d->t->quota = d->op->kind == QUOTA_ON ? QUOTA_IS_ON : QUOTA_IS_OFF;
	return true;
}

/* Device nodes and whiteouts cannot be opened, nor have attributes of users. */
static bool needs_file(enum kind kind)
{
	switch (kind) {
	case SETXATTR: case REMOVEXATTR: case SETFLAGS: case PROJECT: case SETVERSION:
	case MIGRATE: case SALT_KEPT: case FSYNC: case FDATASYNC: case WRITE_BACK:
		return true;
	default:
		return false;
	}
}

static bool is_file(struct doing *d)
{
	return d->a >= 0 && (S_ISREG(node_a(d)->mode) || is_dir(d, d->a));
}

static bool apply(struct doing *d)
{
	if (needs_file(d->op->kind) && !is_file(d))
		return false;
	switch (d->op->kind) {
	case MKDIR:		return make(d, S_IFDIR | 0755);
	case CREATE:		return make(d, S_IFREG | 0644);
	case SYMLINK:		return make(d, S_IFLNK | 0777);
	case MKNOD:		return do_mknod(d);
	case LINK:		return do_link(d);
	case UNLINK:		return do_unlink(d);
	case RMDIR:		return do_rmdir(d);
	case RENAME:		return do_rename(d);
	case TMPFILE:		return do_tmpfile(d);
	case TRUNCATE:		return do_truncate(d);
	case FALLOCATE:		return do_fallocate(d);
	case WRITE:
	case DIRECT:		return do_write(d);
	case STORE:		return do_store(d);
	case VERITY:		return do_verity(d);
	case MOVE_EXT:		return do_move_ext(d);
	case SWAP_BOOT:		return do_swap_boot(d);
	case MIGRATE:		return do_migrate(d);
	case ENCRYPT:		return do_encrypt(d);
	case RESIZE: case LABEL: case UUID:
				return do_super(d);
	case SALT:		return do_salt(d);
	case SALT_KEPT:		return do_salt_kept(d);
	case CHECKPOINT:
	case EVICT:		return true;
	case QUOTA_ON:
	case QUOTA_OFF:		return do_quota(d);
	case FSYNC:
	case FDATASYNC:
	case WRITE_BACK:	return true;
	default:		return do_attribute(d);
	}
}

static int node_at(const struct tree *t, int dir, const char *name)
{
	struct dent *e = dir < 0 ? NULL : find_dent((struct tree *)t, dir, name);

	return e ? e->node : -1;
}

/**
 * model_resolve() - note which inodes an operation is about
 * @t: the tree in which it happens
 * @step: the step
 */
void model_resolve(const struct tree *t, struct step *step)
{
	char name[NAME];

	step->dir = step->op->a[1] ? split_path(t, step->op->a, name) : -1;
	step->node = step->op->a[1] ? node_at(t, step->dir, name) : 0;
	step->dir2 = step->op->b ? split_path(t, step->op->b, name) : -1;
	step->node2 = node_at(t, step->dir2, name);
}

/* Operations on names; the others are on inodes, under any name. */
static bool is_about_names(enum kind kind)
{
	return kind <= TMPFILE;
}

/* In this tree, are these the inodes, and have names what they had? */
static bool is_same_place(struct doing *d)
{
	const struct step *s = d->step;

	if (s->dir >= 0 && !is_dir(d, s->dir))
		return false;
	if (s->node >= 0 && !d->t->node[s->node].mode)
		return false;
	if (s->dir2 >= 0 && !is_dir(d, s->dir2))
		return false;
	if (!is_about_names(d->op->kind))
		return s->node2 < 0 || d->t->node[s->node2].mode;
	if (d->op->kind == TMPFILE)
		return node_at(d->t, s->dir2, d->name2) == s->node2;
	return node_at(d->t, s->dir, d->name) == s->node &&
		(s->dir2 < 0 || node_at(d->t, s->dir2, d->name2) == s->node2);
}

static void last_name(const char *path, char *name)
{
	strcpy(name, strrchr(path, '/') + 1);
}

/**
 * model_step() - apply one step to a tree
 * @t: the tree
 * @step: the step, resolved
 * @effect: what it has changed is added here
 *
 * Return: it succeeds in this tree; if not, the tree is of no more use.
 */
bool model_step(struct tree *t, const struct step *step, struct effect *effect)
{
	struct doing d = {
		.t = t, .op = step->op, .step = step, .effect = effect,
		.a = step->node, .b = step->node2, .dir = step->dir, .dir2 = step->dir2,
	};

	last_name(step->op->a, d.name);
	if (step->op->b)
		last_name(step->op->b, d.name2);
	return is_same_place(&d) && apply(&d);
}
