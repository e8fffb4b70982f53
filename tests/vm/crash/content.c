// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjverify: what a file may contain after the cut.
 *
 * Every 16 bytes (a cell) are zeros or say which operation wrote them.  Allowed
 * is what was there at the file's last durable point, and what any operation
 * begun after it wrote (or made zero) at this place.
 *
 * With data=writeback ext4 gives freed blocks of file data out again at once, not
 * when the transaction that freed them has committed.  So a block may show anything
 * if the file let go of it after its last durable point, by a truncate, a punch or
 * the removal of its last name.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "verify.h"

/**
 * struct model - a file as the log tells it
 * @ncells: room in the arrays
 * @base: per cell, fact + 1 that wrote what is durable; 0: zeros
 * @cur: per cell, the same for the last begun operation
 * @since: per cell, facts before this index are included in @base
 * @size: after the last begun operation
 * @min: smallest allowed size
 * @max: largest allowed size
 * @touched: per block, index + 1 of the last operation on it
 * @names: how many the file has after the last begun operation
 * @freed: index + 1 of the operation that removed the last name; 0: none
 * @xbase: fact + 1 of the durable xattr; 0: none
 * @xcur: fact + 1 of the last begun one
 */
struct model {
	uint32_t ncells;
	uint32_t *base;
	uint32_t *cur;
	uint32_t *since;
	uint64_t size;
	uint64_t min;
	uint64_t max;
	uint32_t *touched;
	uint32_t names;
	uint32_t freed;
	uint32_t xbase;
	uint32_t xcur;
};

static void model_init(struct model *m, uint64_t size)
{
	memset(m, 0, sizeof(*m));
	m->ncells = size / CELL;
	m->base = must_alloc(m->ncells * 4);
	m->cur = must_alloc(m->ncells * 4);
	m->since = must_alloc(m->ncells * 4);
	m->touched = must_alloc((size / BLOCK + 1) * 4);
}

static void model_free(struct model *m)
{
	free(m->base);
	free(m->cur);
	free(m->since);
	free(m->touched);
}

static void set_cells(struct model *m, uint64_t off, uint64_t len, uint32_t value, uint32_t index)
{
	uint64_t c, last = (off + len) / CELL;

	if (last > m->ncells)
		last = m->ncells;
	for (c = off / CELL; c < last; c++) {
		m->cur[c] = value;
		m->touched[c * CELL / BLOCK] = index + 1;
	}
}

static void set_size(struct model *m, uint64_t size)
{
	m->size = size;
	if (size < m->min)
		m->min = size;
	if (size > m->max)
		m->max = size;
}

static void all_durable(struct model *m, uint32_t index)
{
	uint32_t c;

	memcpy(m->base, m->cur, m->ncells * 4);
	for (c = 0; c < m->ncells; c++)
		m->since[c] = index;
	m->min = m->max = m->size;
}

/* O_SYNC: this range only, and a size that includes it. */
static void range_durable(struct model *m, const struct fact *f, uint32_t index)
{
	uint64_t c;

	for (c = f->off / CELL; c < (f->off + f->len) / CELL; c++) {
		m->base[c] = index + 1;
		m->since[c] = index + 1;
	}
	if (m->min < f->off + f->len)
		m->min = f->off + f->len;
}

static void step(struct model *m, const struct fact *f, uint32_t index)
{
	switch (f->op) {
	case F_CREATE:
	case F_LINK:
		m->names++;
		break;
	case F_UNLINK:
		if (!--m->names)
			m->freed = index + 1;
		break;
	case F_WRITE:
		set_cells(m, f->off, f->len, index + 1, index);
		if (f->off + f->len > m->size)
			set_size(m, f->off + f->len);
		if (f->flags & FACT_SYNC && is_done(f))
			range_durable(m, f, index);
		break;
	case F_TRUNC:
		set_cells(m, f->off, m->ncells * (uint64_t)CELL - f->off, 0, index);
		set_size(m, f->off);
		break;
	case F_PUNCH:
		set_cells(m, f->off, f->len, 0, index);
		break;
	case F_FALLOC:
		if (f->off + f->len > m->size)
			set_size(m, f->off + f->len);
		m->touched[f->off / BLOCK] = index + 1;
		break;
	case F_XATTR:
		m->xcur = index + 1;
		break;
	case F_FSYNC:
		if (is_done(f))
			m->xbase = m->xcur;
		/* fall through */
	case F_FDSYNC:
		if (is_done(f))
			all_durable(m, index);
		break;
	}
}

static int covers(const struct fact *f, uint64_t pos)
{
	return f->off <= pos && pos < f->off + f->len;
}

static int zero_allowed(const struct log *log, const struct model *m, uint32_t id, uint32_t c)
{
	uint64_t pos = (uint64_t)c * CELL;
	uint32_t i;

	if (!m->base[c])
		return 1;
	for (i = m->since[c]; i < log->n; i++) {
		const struct fact *f = &log->facts[i];

		if (f->id == id && ((f->op == F_TRUNC && f->off <= pos) ||
				    (f->op == F_PUNCH && covers(f, pos))))
			return 1;
	}
	return 0;
}

/* Which bytes of a cell are those of a whole version. */
static uint32_t same_bytes(const struct cell *cell, const struct cell *whole)
{
	const uint8_t *a = (const uint8_t *)cell, *b = (const uint8_t *)whole;
	uint32_t i, same = 0;

	for (i = 0; i < CELL; i++)
		same |= (uint32_t)(a[i] == b[i]) << i;
	return same;
}

/*
 * A store through a mapping is not atomic: the page may have been copied in the
 * middle of it, so each byte may be that of another version. If the page itself goes
 * to the disk, not a copy in the log, so it is with write(): nobody keeps pages
 * stable that are being written.
 */
static int torn_store(const struct log *log, const struct model *m, uint32_t id,
		      const struct cell *cell, uint32_t c)
{
	uint64_t pos = (uint64_t)c * CELL;
	struct cell whole = {};
	uint32_t i, same = 0;
	int may_tear = 0;

	if (zero_allowed(log, m, id, c))
		same |= same_bytes(cell, &whole);
	if (m->base[c]) {
		cells_fill(&whole, pos, CELL, log->worker, id, m->base[c] - 1);
		same |= same_bytes(cell, &whole);
	}
	for (i = m->since[c]; i < log->n; i++) {
		const struct fact *f = &log->facts[i];

		if (f->op != F_WRITE || f->id != id || !covers(f, pos))
			continue;
		may_tear |= f->flags & FACT_MAPPED || mode != MODE_JOURNAL;
		cells_fill(&whole, pos, CELL, log->worker, id, i);
		same |= same_bytes(cell, &whole);
	}
	return may_tear && same == (1U << CELL) - 1;
}

static int cell_allowed(const struct log *log, const struct model *m, uint32_t id,
			const struct cell *cell, uint32_t c)
{
	static const struct cell zero;
	const struct fact *f;

	if (!memcmp(cell, &zero, sizeof(zero)))
		return zero_allowed(log, m, id, c);
	if (cell->sum != cell_sum(cell))
		return torn_store(log, m, id, cell, c);
	if (cell->who != (log->worker << 24 | id) || cell->pos != c)
		return 0;
	if (cell->ver + 1 == m->base[c])
		return 1;
	if (cell->ver >= log->n || cell->ver < m->since[c])
		return 0;
	f = &log->facts[cell->ver];
	return f->op == F_WRITE && f->id == id && covers(f, (uint64_t)c * CELL);
}

static void describe(char *buf, size_t size, const struct cell *cell, uint32_t who)
{
	static const struct cell zero;

	if (!memcmp(cell, &zero, sizeof(zero)))
		snprintf(buf, size, "zeros");
	else if (cell->sum == cell_sum(cell))
		snprintf(buf, size, "%s fact %u (w%u file %u offset %u)",
			 cell->who == who ? "the data of" : "FOREIGN data of",
			 cell->ver, cell->who >> 24, cell->who & 0xffffff, cell->pos * CELL);
	else
		snprintf(buf, size, "%s %08x %08x %08x %08x",
			 cell->who == 0x4f504a5a ? "POISON" : "garbage",
			 cell->who, cell->ver, cell->pos, cell->sum);
}

/* Whether data=writeback lets this block show anything. */
static int may_be_reused(const struct model *m, uint32_t c)
{
	return mode == MODE_WRITEBACK &&
	       (m->freed || m->touched[c * CELL / BLOCK] > m->since[c]);
}

/* Reports the first wrong cell of each stretch of wrong cells. */
static void check_cells(const struct log *log, const struct model *m, uint32_t id,
			const struct found *found, const struct cell *data)
{
	uint32_t c, n = found->size / CELL, reported = 0;
	int was_bad = 0, now_bad;
	char text[128];

	for (c = 0; c < n && c < m->ncells && reported < 4; c++) {
		if (id == ID_SHARED && c * CELL / BLOCK % workers != log->worker)
			continue;
		now_bad = !cell_allowed(log, m, id, &data[c], c) && !may_be_reused(m, c);
		if (now_bad && !was_bad) {
			describe(text, sizeof(text), &data[c], log->worker << 24 | id);
			bad("%s offset %u: %s; durable: %s %d, since %u", found->path, c * CELL,
			    text, m->base[c] ? "fact" : "zeros", (int)m->base[c] - 1,
			    m->since[c]);
			reported++;
		}
		was_bad = now_bad;
	}
}

static void check_xattr(const struct log *log, const struct model *m, uint32_t id,
			const struct found *found)
{
	char path[4096], value[1024];
	uint32_t ver, since = m->xbase;
	struct stat st = {};
	ssize_t n;

	snprintf(path, sizeof(path), "%s%s", mnt, found->path);
	n = getxattr(path, "user.v", value, sizeof(value) - 1);
	if (n < 0 && errno == ENODATA) {
		if (!m->xbase)
			return;
		/* crash.sh looks for these words. */
		stat(path, &st);
		bad("inode %lu, %s: xattr of fact %u is gone", (unsigned long)st.st_ino,
		    found->path, m->xbase - 1);
		return;
	}
	value[n < 0 ? 0 : n] = 0;
	if (n < 8 || sscanf(value, "%8x", &ver) != 1) {
		bad("%s: damaged xattr", found->path);
		return;
	}
	if (ver + 1 < since || ver >= log->n || log->facts[ver].op != F_XATTR ||
	    log->facts[ver].id != id)
		bad("%s: xattr of fact %u, durable %d", found->path, ver, (int)since - 1);
}

static void check_file(const struct log *log, uint32_t id, const struct found *found)
{
	uint64_t room = id == ID_SHARED ? SHARED_SIZE : FILE_MAX;
	struct model m;
	uint32_t i;
	void *data;

	model_init(&m, room);
	if (id == ID_SHARED) {
		for (i = 0; i < m.ncells; i++)
			m.cur[i] = VER_SETUP + 1;
		m.size = SHARED_SIZE;
		all_durable(&m, 0);
	}
	for (i = 0; i < log->n; i++)
		if (log->facts[i].id == id && log->facts[i].op != F_DIRSYNC &&
		    log->facts[i].op != F_REPLACE)
			step(&m, &log->facts[i], i);
	if (found->size < m.min || found->size > m.max)
		bad("%s: size %llu, allowed %llu to %llu", found->path,
		    (unsigned long long)found->size, (unsigned long long)m.min,
		    (unsigned long long)m.max);
	data = read_file(found);
	if (data)
		check_cells(log, &m, id, found, data);
	if (id != ID_SHARED)
		check_xattr(log, &m, id, found);
	free(data);
	model_free(&m);
}

/*
 * Whether the file can be a version not older than the durable one whose blocks were
 * freed, because a later version was begun, and given out again.
 */
static int slot_may_be_reused(const struct log *log, const struct found *found,
			      uint32_t durable)
{
	uint32_t i, slot = found->id;
	int fits = 0;

	for (i = durable ? durable - 1 : 0; mode == MODE_WRITEBACK && i < log->n; i++) {
		const struct fact *f = &log->facts[i];

		if (f->op != F_REPLACE || f->id != slot)
			continue;
		if (fits)
			return 1;
		fits |= f->len == found->size;
	}
	return 0;
}

/* A replaced file is one whole version, not older than the durable one. */
static void check_slot(const struct log *log, const struct found *found)
{
	uint32_t slot = found->id, last = 0, durable = 0, i, ver;
	struct cell *data, *want;
	const struct fact *f;

	for (i = 0; i < log->n; i++) {
		f = &log->facts[i];
		if (f->op == F_REPLACE && f->id == slot && is_done(f))
			last = i + 1;
		if (f->op == F_DIRSYNC && f->id == slot % 2 && is_done(f))
			durable = last;
	}
	if (slot_may_be_reused(log, found, durable))
		return;
	data = read_file(found);
	if (!data)
		return;
	ver = found->size ? data[0].ver : ~0u;
	if (ver >= log->n || ver + 1 < durable || log->facts[ver].op != F_REPLACE ||
	    log->facts[ver].id != slot || log->facts[ver].len != found->size) {
		bad("%s: size %llu, version %d, durable %d", found->path,
		    (unsigned long long)found->size, (int)ver, (int)durable - 1);
	} else {
		want = must_alloc(found->size);
		cells_fill(want, 0, found->size, log->worker, ID_SLOT(slot), ver);
		if (memcmp(want, data, found->size))
			bad("%s: not the whole content of fact %u", found->path, ver);
		free(want);
	}
	free(data);
}

void check_content(const struct log *log)
{
	uint32_t i;

	for (i = 0; i < nfound; i++) {
		if (founds[i].type == 'S')
			check_file(log, ID_SHARED, &founds[i]);
		else if (founds[i].worker == log->worker && founds[i].type == 'f' &&
			 founds[i].id >= FIRST_ID)
			check_file(log, founds[i].id, &founds[i]);
		else if (founds[i].worker == log->worker && founds[i].type == 'r')
			check_slot(log, &founds[i]);
	}
}
