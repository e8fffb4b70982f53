// SPDX-License-Identifier: GPL-2.0-only
/* zjace: trees of names and inodes, and the comparison of two trees. */
#include <string.h>
#include <sys/stat.h>

#include "ace.h"

struct dent *find_dent(struct tree *t, int parent, const char *name)
{
	for (int i = 0; i < DENTS; i++)
		if (t->dent[i].node && t->dent[i].parent == parent &&
		    !strcmp(t->dent[i].name, name))
			return &t->dent[i];
	return NULL;
}

/* Node of the path's last directory, -1: none; the last name is left in @name. */
int split_path(const struct tree *t, const char *path, char *name)
{
	int at = 0;

	for (;;) {
		size_t len = strcspn(++path, "/");
		struct dent *d;

		memcpy(name, path, len);
		name[len] = 0;
		path += len;
		if (!*path)
			return S_ISDIR(t->node[at].mode) ? at : -1;
		d = find_dent((struct tree *)t, at, name);
		if (!d)
			return -1;
		at = d->node;
	}
}

/* -1: there is no such path. */
int find_node(const struct tree *t, const char *path)
{
	char name[NAME];
	struct dent *d;
	int dir;

	if (!path[1])
		return 0;
	dir = split_path(t, path, name);
	d = dir < 0 ? NULL : find_dent((struct tree *)t, dir, name);
	return d ? d->node : -1;
}

bool add_dent(struct tree *t, int parent, const char *name, int node)
{
	for (int i = 0; i < DENTS; i++) {
		if (t->dent[i].node)
			continue;
		t->dent[i].parent = parent;
		t->dent[i].node = node;
		strcpy(t->dent[i].name, name);
		return true;
	}
	return false;
}

int count_names(const struct tree *t, int node)
{
	int n = 0;

	for (int i = 0; i < DENTS; i++)
		n += t->dent[i].node == node;
	return n;
}

/* Is the node @top, or below it? */
bool is_below(const struct tree *t, int node, int top)
{
	for (;;) {
		int i;

		if (node == top)
			return true;
		for (i = 0; i < DENTS && (!node || t->dent[i].node != node); i++)
			;
		if (i == DENTS)
			return false;
		node = t->dent[i].parent;
	}
}

bool path_of(const struct tree *t, int node, char *path, size_t size)
{
	char rest[256] = "", next[256];

	while (node) {
		int i;

		for (i = 0; i < DENTS && t->dent[i].node != node; i++)
			;
		if (i == DENTS)
			return false;
		snprintf(next, sizeof(next), "/%s%.200s", t->dent[i].name, rest);
		strcpy(rest, next);
		node = t->dent[i].parent;
	}
	snprintf(path, size, "%s", *rest ? rest : "/");
	return true;
}

/**
 * struct pairing - a comparison of two trees
 * @want: what a subset of the steps gives
 * @got: what was recovered
 * @alt: what data may be instead, NULL: nothing
 * @pair: for each node of @want 1 + its partner in @got
 * @taken: nodes of @got that have a partner
 * @why: text about the first difference
 * @size: its space
 */
struct pairing {
	const struct tree *want;
	const struct tree *got;
	const struct alternatives *alt;
	uint8_t pair[NODES];
	bool taken[NODES];
	char *why;
	size_t size;
};

static bool differ(struct pairing *p, int node, const char *what, uint64_t want, uint64_t got)
{
	char path[256];

	if (!path_of(p->want, node, path, sizeof(path)))
		strcpy(path, "?");
	snprintf(p->why, p->size, "%s: %s is %#llx, not %#llx", path, what,
		 (unsigned long long)got, (unsigned long long)want);
	return false;
}

static bool same_cell(struct pairing *p, int node, int c, uint8_t got)
{
	uint8_t want = p->want->node[node].cell[c];

	if (got == want || want == WILD)
		return true;
	if (!p->alt || !(p->alt->loose & 1ULL << node))
		return false;
	/* A block that is new shows zeros until its data is written. */
	if (!got)
		return true;
	for (int i = 0; i < p->alt->n; i++) {
		const uint8_t *cell = p->alt->tree[i]->node[node].cell;

		if (cell[c] == got || cell[c] == WILD)
			return true;
		if (p->alt->moved & 1ULL << node && memchr(cell, got, CELLS))
			return true;
	}
	return false;
}

static bool same_data(struct pairing *p, int node, const struct node *got)
{
	const struct node *want = &p->want->node[node];

	if (want->size != got->size)
		return differ(p, node, "the size", want->size, got->size);
	for (int c = 0; c * CELL < (int)want->size && c < CELLS; c++)
		if (!same_cell(p, node, c, got->cell[c]))
			return differ(p, node, "a cell", want->cell[c] | c << 8,
				      got->cell[c] | c << 8);
	return true;
}

#define SAME(field, what)							\
	do {									\
		if (want->field != got->field)					\
			return differ(p, node, what, want->field, got->field);	\
	} while (0)

static bool same_node(struct pairing *p, int node, int other)
{
	const struct node *want = &p->want->node[node], *got = &p->got->node[other];

	SAME(mode, "the mode");
	SAME(uid, "the owner");
	SAME(projid, "the project");
	SAME(flags, "flags");
	SAME(rdev, "the device");
	SAME(dated, "a time that was set");
	SAME(versioned, "a generation that was set");
	for (int x = 0; x < XATTRS; x++)
		SAME(xattr[x], "an extended attribute");
	if (strcmp(want->target, got->target))
		return differ(p, node, "the target", want->target[0], got->target[0]);
	return !S_ISREG(want->mode) || same_data(p, node, got);
}

static int entries(const struct tree *t, int dir)
{
	int n = 0;

	for (int i = 0; i < DENTS; i++)
		n += t->dent[i].node && t->dent[i].parent == dir;
	return n;
}

static bool same_nodes(struct pairing *p, int node, int other);

static bool same_directory(struct pairing *p, int node, int other)
{
	for (int i = 0; i < DENTS; i++) {
		const struct dent *d = &p->want->dent[i], *e;

		if (!d->node || d->parent != node)
			continue;
		e = find_dent((struct tree *)p->got, other, d->name);
		if (!e)
			return differ(p, d->node, "its name's existence", 1, 0);
		if (!same_nodes(p, d->node, e->node))
			return false;
	}
	if (entries(p->want, node) != entries(p->got, other))
		return differ(p, node, "the number of entries", entries(p->want, node),
			      entries(p->got, other));
	return true;
}

static bool same_nodes(struct pairing *p, int node, int other)
{
	if (p->pair[node] && p->pair[node] == other + 1)
		return true;
	if (p->pair[node] || p->taken[other])
		return differ(p, node, "link identity", p->pair[node], other + 1);
	p->pair[node] = other + 1;
	p->taken[other] = true;
	if (!same_node(p, node, other))
		return false;
	return !S_ISDIR(p->want->node[node].mode) || same_directory(p, node, other);
}

/* Of the super block; a tree that was walked while mounted has none of it. */
static bool same_super(struct pairing *p)
{
	const struct tree *want = p->want, *got = p->got;

	if (!got->blocks)
		return true;
	if (strcmp(want->label, got->label))
		return differ(p, 0, "the label", want->label[0], got->label[0]);
	if (want->uuid != got->uuid)
		return differ(p, 0, "the UUID", want->uuid, got->uuid);
	if (want->salt != got->salt)
		return differ(p, 0, "the salt", want->salt, got->salt);
	if (want->blocks != got->blocks)
		return differ(p, 0, "the number of blocks", want->blocks, got->blocks);
	return true;
}

bool same_tree(const struct tree *want, const struct tree *got,
	       const struct alternatives *alt, char *why, size_t size)
{
	struct pairing p = { .want = want, .got = got, .alt = alt, .why = why, .size = size };

	return same_nodes(&p, 0, 0) && same_super(&p);
}
