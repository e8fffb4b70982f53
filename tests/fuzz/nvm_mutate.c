// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutations that know the log in memory: header, checkpoint stamp, tails, fields and entries of
 * TxnInfos, whole chunks elsewhere, the lanes' ways back; afterwards most checksums
 * are made right again.
 */
#include <string.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include "device.h"
#include "dice.h"
#include "nvm_seal.h"

#define FIRST	(ZJ_NVM_LOG_AT / ZJ_NVM_LINE)

/**
 * struct mutation - an input being changed
 */
struct mutation {
	struct input in;
	struct nvm_memory mem;
	u32	rand;
	u32	nr;			/* TxnInfos */
	u32	end[NVM_MAX_LINES + 1];	/* the line behind each */
};

static u32 below(struct mutation *m, u32 n)
{
	return dice_below(&m->rand, n);
}

static bool one_in(struct mutation *m, u32 n)
{
	return !below(m, n);
}

static u32 pick_end(struct mutation *m)
{
	return m->end[below(m, m->nr)];
}

/* An overlapping TxnInfo may have changed this one, which then does not exist any more. */
static struct zj_txninfo *info_at(struct mutation *m, u32 end)
{
	static struct zj_txninfo none;
	struct zj_txninfo *t = nvm_info(&m->mem, end);

	if (t)
		return t;
	memset(&none, 0, sizeof(none));
	return &none;
}

static struct zj_txninfo *pick(struct mutation *m)
{
	return info_at(m, pick_end(m));
}

static __le64 *ckpt(struct mutation *m)
{
	return (void *)(m->mem.at + ZJ_NVM_CKPT_AT);
}

/* A value that is at the edge of something. */
static u64 edge(struct mutation *m, u64 old)
{
	const struct nvm_memory *mem = &m->mem;
	u32 lines = mem->bytes / ZJ_NVM_LINE;
	const u64 values[] = {
		0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 255, 256, 257, ~0ULL, ~0U, ~0U - 1,
		1ULL << 31, 1ULL << 32, 1ULL << 63, ~0ULL / 8, ~0U / 16 + 1,
		old + 1, old - 1, old ^ 1ULL << below(m, 64), old * 2, old + (1ULL << 31),
		old + (1ULL << 32), mem->block_size, mem->block_size / ZJ_NVM_LINE,
		FIRST, FIRST + 1, FIRST + 2, FIRST - 1, lines, lines - 1, lines + 1,
		ZJ_TXNINFO_MAX_MAX / ZJ_NVM_LINE, ZJ_TXNINFO_MAX_MAX / ZJ_NVM_LINE + 1,
		mem->home_blocks, mem->home_blocks + 15, mem->home_blocks + 16,
	};

	return one_in(m, 4) ? below(m, ~0U) : values[below(m, ARRAY_SIZE(values))];
}

static void change(struct mutation *m, void *field, u32 size, const void *same)
{
	u64 val = 0;

	if (same && one_in(m, 2)) {
		memmove(field, same, size);
		return;
	}
	memcpy(&val, field, size);
	val = edge(m, val);
	memcpy(field, &val, size);
}

static u64 pick_block(struct mutation *m)
{
	struct device d = {
		.journal_blocks = 16,
		.home_blocks = m->mem.home_blocks,
	};

	if (one_in(m, 8))
		return edge(m, 0);
	if (one_in(m, 8))
		return dev_log_home(&d, below(m, d.journal_blocks));
	return below(m, 16);
}

/* ---- fixed places ---- */

static void change_head(struct mutation *m)
{
	static const u8 fields[] = { 0x00, 0x08, 0x18, 0x20, 0x24, 0x28, 0x2c, 0x30, 0x34, 0x38 };

	change(m, m->mem.at + ZJ_NVM_HEAD_AT + fields[below(m, ARRAY_SIZE(fields))], 4, NULL);
}

static void change_ckpt(struct mutation *m)
{
	if (one_in(m, 4))
		change(m, ckpt(m), 8, NULL);
	else
		*ckpt(m) = cpu_to_le64(le64_to_cpu(pick(m)->stamp) - below(m, 3));
}

static void change_tail(struct mutation *m)
{
	u32 end = pick_end(m);
	const struct zj_txninfo *t = info_at(m, end);
	__le64 *tail = nvm_tail(&m->mem, one_in(m, 16) ? below(m, 256) : below(m, 4));

	if (one_in(m, 4))
		change(m, (u8 *)tail + 4 * below(m, 2), 4, NULL);
	else
		*tail = cpu_to_le64(zj_nvm_tail(end, le64_to_cpu(t->stamp)));
}

/* ---- TxnInfos ---- */

/* Offset and size of every field of struct zj_txninfo but the last. */
static const struct {
	u8 at, size;
} info_fields[] = {
	{ 0x00, 8 }, { 0x08, 8 }, { 0x10, 8 }, { 0x18, 4 }, { 0x1c, 4 },
	{ 0x20, 4 }, { 0x24, 4 }, { 0x28, 4 }, { 0x2c, 4 }, { 0x30, 4 },
	{ 0x34, 4 }, { 0x38, 4 }, { 0x3c, 4 }, { 0x40, 8 }, { 0x50, 4 },
	{ 0x68, 4 }, { 0x6c, 4 }, { 0x70, 4 }, { 0x74, 4 }, { 0x78, 4 },
};

static void change_info(struct mutation *m)
{
	u32 i = below(m, ARRAY_SIZE(info_fields)), at = info_fields[i].at;

	change(m, (u8 *)pick(m) + at, info_fields[i].size, (u8 *)pick(m) + at);
}

/* Another way back, perhaps to itself. */
static void change_prev(struct mutation *m)
{
	u32 end = pick_end(m);
	const struct zj_txninfo *prev = info_at(m, end);
	struct zj_txninfo *t = pick(m);

	t->prev = cpu_to_le32(end);
	t->prev_stamp = one_in(m, 4) ? t->stamp : prev->stamp;
	if (one_in(m, 4))
		t->chunk_index = cpu_to_le32(below(m, 3));
}

static void change_entry(struct mutation *m)
{
	struct zj_txninfo *t = pick(m);
	__le64 *entry = (void *)nvm_entries(&m->mem, t);
	u32 deps = le32_to_cpu(t->nr_deps), revokes = le32_to_cpu(t->nr_revokes), i;

	if (!entry || !(deps + revokes))
		return;
	i = below(m, deps + revokes);
	entry[i] = cpu_to_le64(i >= deps ? pick_block(m) : one_in(m, 4) ?
			       edge(m, le64_to_cpu(t->stamp)) : le64_to_cpu(pick(m)->stamp));
}

static void change_record(struct mutation *m)
{
	struct zj_txninfo *t = pick(m);
	u8 *entries = nvm_entries(&m->mem, t);
	struct zj_nvm_record *rec;
	u64 lines;

	if (!entries || !t->count)
		return;
	rec = zj_nvm_records(entries, le32_to_cpu(t->nr_deps), le32_to_cpu(t->nr_revokes)) +
	      below(m, le32_to_cpu(t->count));
	lines = le64_to_cpu(rec->lines);
	switch (below(m, 4)) {
	case 0:
		rec->lines = cpu_to_le64(edge(m, lines));
		break;
	case 1:		/* as many as before */
		rec->lines = cpu_to_le64(lines << 1 | lines >> 63);
		break;
	default:
		rec->block = cpu_to_le64(pick_block(m));
		break;
	}
}

/* Adds an entry where there is room before the rest of the TxnInfo. */
static void add_entry(struct mutation *m)
{
	struct zj_txninfo *t = pick(m);
	u8 *entries = nvm_entries(&m->mem, t);
	u32 deps = le32_to_cpu(t->nr_deps), revokes = le32_to_cpu(t->nr_revokes);
	u32 used = 8 * (deps + revokes) + 16 * le32_to_cpu(t->count);
	bool dep = one_in(m, 2);
	u8 *at;

	if (!entries || (u8 *)t - entries < used + 8)
		return;
	at = entries + (dep ? 0 : 8 * deps);
	memmove(at + 8, at, used - (at - entries));
	*(__le64 *)at = cpu_to_le64(dep ? le64_to_cpu(pick(m)->stamp) : pick_block(m));
	if (dep)
		t->nr_deps = cpu_to_le32(deps + 1);
	else
		t->nr_revokes = cpu_to_le32(revokes + 1);
}

static void unite(struct mutation *m)
{
	struct zj_txninfo *a = pick(m), *b = pick(m);

	a->stamp = b->stamp;
	a->nr_members = b->nr_members = cpu_to_le32(1 + below(m, 3));
}

/* ---- lines ---- */

static void damage_line(struct mutation *m)
{
	u32 line = pick_end(m) - 1 - below(m, 8);
	u8 *at = m->mem.at + line * ZJ_NVM_LINE;

	if (line < FIRST)
		return;
	switch (below(m, 3)) {
	case 0:
		memset(at, 0, ZJ_NVM_LINE);
		break;
	case 1:
		at[below(m, ZJ_NVM_LINE)] ^= 1 << below(m, 8);
		break;
	default:
		LLVMFuzzerMutate(at, ZJ_NVM_LINE, ZJ_NVM_LINE);
		break;
	}
}

/* A chunk of @from that ends there, ending elsewhere, as the newest of a lane or not. */
static void splice(struct mutation *m, const struct nvm_memory *from, u32 end)
{
	const struct zj_txninfo *t = nvm_info(from, end);
	u32 lines = end - le32_to_cpu(t->start), to = pick_end(m), old;
	struct zj_txninfo *new;

	if (!lines || lines > 128 || lines > end)
		return;
	to += one_in(m, 4) ? below(m, 8) : lines;
	if (to > m->mem.bytes / ZJ_NVM_LINE || to < FIRST + lines)
		return;
	memmove(m->mem.at + (to - lines) * ZJ_NVM_LINE,
		from->at + (end - lines) * ZJ_NVM_LINE, lines * ZJ_NVM_LINE);
	new = nvm_info(&m->mem, to);
	if (!new)
		return;
	new->start = cpu_to_le32(to - lines);
	new->end = cpu_to_le32(to);
	if (one_in(m, 4))
		return;
	/* The newest of its lane. */
	old = pick_end(m);
	t = info_at(m, old);
	new->prev = cpu_to_le32(old);
	new->prev_stamp = t->stamp;
	new->lane = t->lane;
	new->stamp = cpu_to_le64(le64_to_cpu(t->stamp) + 1 + below(m, 2));
	*nvm_tail(&m->mem, le32_to_cpu(t->lane) % 4) =
		cpu_to_le64(zj_nvm_tail(to, le64_to_cpu(new->stamp)));
}

static void splice_own(struct mutation *m)
{
	splice(m, &m->mem, pick_end(m));
}

static void change_input(struct mutation *m)
{
	switch (below(m, 8)) {
	case 0:
		m->mem.home_blocks = edge(m, m->mem.home_blocks) % IN_MAX_BLOCKS;
		break;
	case 1:
		m->mem.block_size = 1024 << below(m, 4);
		break;
	default:
		m->in.failure = below(m, 7);
		m->in.when = below(m, 65536);
		break;
	}
}

/* ---- all of it ---- */

static void (*const mutations[])(struct mutation *m) = {
	change_head, change_ckpt, change_tail, change_tail, change_info,
	change_info, change_info, change_prev, change_prev, change_entry,
	change_record, change_record, change_record, add_entry, add_entry,
	unite, damage_line, splice_own, splice_own, change_input,
};

static void unpack(struct mutation *m, const u8 *data, size_t size)
{
	in_reset();
	in_unpack(&m->in, data, size);
	nvm_unpack(&m->mem, &m->in);
}

static size_t finish(struct mutation *m, u8 *data, size_t max_size)
{
	if (!one_in(m, 4))
		nvm_heal(&m->mem, m->rand);
	/* One wrong field in a log that is correct otherwise. */
	m->nr = nvm_find(&m->mem, m->end);
	if (one_in(m, 3) && m->nr)
		mutations[below(m, ARRAY_SIZE(mutations))](m);
	if (!one_in(m, 16))
		nvm_seal(&m->mem);
	m->nr = nvm_find(&m->mem, m->end);
	if (one_in(m, 6) && m->nr)
		damage_line(m);
	nvm_pack(&m->mem, &m->in);
	m->in.home_blocks = m->mem.home_blocks;
	m->in.extra = m->mem.block_size >> 11;
	m->in.extra -= m->in.extra == 4;
	return in_pack(&m->in, data, max_size);
}

size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max_size,
			       unsigned int seed)
{
	static struct mutation m;

	if (seed % 64 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	m.rand = seed | 1;
	unpack(&m, data, size);
	for (u32 n = 1 + below(&m, 4); n; n--) {
		m.nr = nvm_find(&m.mem, m.end);
		if (m.nr)
			mutations[below(&m, ARRAY_SIZE(mutations))](&m);
		else
			change_input(&m);
	}
	return finish(&m, data, max_size);
}

/* Some chunks of the second log among those of the first. */
size_t LLVMFuzzerCustomCrossOver(const u8 *data1, size_t size1,
				 const u8 *data2, size_t size2, u8 *out,
				 size_t max_size, unsigned int seed)
{
	static struct mutation m, from;
	static u8 copy[NVM_MAX_BYTES];

	m.rand = seed | 1;
	unpack(&from, data2, size2);
	memcpy(copy, from.mem.at, from.mem.bytes);
	from.mem.at = copy;
	from.nr = nvm_find(&from.mem, from.end);
	unpack(&m, data1, size1);
	for (u32 n = 1 + below(&m, 4); n; n--) {
		m.nr = nvm_find(&m.mem, m.end);
		if (m.nr && from.nr)
			splice(&m, &from.mem, from.end[below(&m, from.nr)]);
	}
	return finish(&m, out, max_size);
}
