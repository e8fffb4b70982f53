// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include "format/codec.h"
#include "dice.h"
#include "nvm_seal.h"

#define UNIT		1024	/* bytes of memory in a block of the input */
#define LANES		4

/* ---- the input ---- */

/* The memory ends with the buffer, so that the sanitizer sees a read behind its end. */
void nvm_unpack(struct nvm_memory *m, const struct input *in)
{
	static u8 buffer[NVM_MAX_BYTES];

	m->bytes = clamp_t(u32, in->journal_blocks * UNIT, ZJ_NVM_MIN_SIZE, NVM_MAX_BYTES);
	m->at = buffer + sizeof(buffer) - m->bytes;
	m->block_size = 1024U << in->extra % 4;
	m->home_blocks = max(in->home_blocks, 1U);
	memset(m->at, 0, m->bytes);
	for (u32 i = 0; i < min(in->journal_blocks, m->bytes / UNIT); i++)
		if (in->block[i])
			memcpy(m->at + i * UNIT, in->block[i], UNIT);
}

void nvm_pack(const struct nvm_memory *m, struct input *in)
{
	static const u8 zero[UNIT];

	in->block_size = UNIT;
	in->journal_blocks = m->bytes / UNIT;
	for (u32 i = 0; i < in->journal_blocks; i++) {
		in->block[i] = NULL;
		if (memcmp(m->at + i * UNIT, zero, UNIT))
			memcpy(in_block(in, i), m->at + i * UNIT, UNIT);
	}
}

/* ---- what is in it ---- */

struct zj_log_geometry nvm_geometry(const struct nvm_memory *m)
{
	const struct zj_nvm_head *head = (const void *)(m->at + ZJ_NVM_HEAD_AT);
	struct zj_log_geometry geo = {
		.generation = le64_to_cpu(head->generation),
		.block_size = le32_to_cpu(head->block_size),
		.total_blocks = le32_to_cpu(head->total_lines),
		.log_first = le32_to_cpu(head->log_first),
		.seg_blocks = le32_to_cpu(head->seg_lines),
		.nr_segs = le32_to_cpu(head->nr_segs),
		.nr_lanes = le32_to_cpu(head->nr_lanes),
	};

	memcpy(geo.uuid, head->fs_uuid, sizeof(geo.uuid));
	return geo;
}

struct zj_txninfo *nvm_info(const struct nvm_memory *m, u32 end)
{
	struct zj_txninfo *t;

	if (end < ZJ_NVM_LOG_AT / ZJ_NVM_LINE + NVM_INFO_LINES ||
	    end > m->bytes / ZJ_NVM_LINE)
		return NULL;
	t = (void *)(m->at + end * ZJ_NVM_LINE - sizeof(*t));
	return le32_to_cpu(t->magic) == ZJ_TXNINFO_MAGIC ? t : NULL;
}

u32 nvm_find(const struct nvm_memory *m, u32 *ends)
{
	u32 nr = 0;

	for (u32 end = 0; end <= m->bytes / ZJ_NVM_LINE; end++)
		if (nvm_info(m, end))
			ends[nr++] = end;
	return nr;
}

u8 *nvm_entries(const struct nvm_memory *m, struct zj_txninfo *t)
{
	u32 lines = le32_to_cpu(t->info_lines);
	u32 end = ((u8 *)(t + 1) - m->at) / ZJ_NVM_LINE;

	if (lines < NVM_INFO_LINES || lines > end ||
	    8ULL * le32_to_cpu(t->nr_deps) + 8ULL * le32_to_cpu(t->nr_revokes) +
	    16ULL * le32_to_cpu(t->count) > (u64)lines * ZJ_NVM_LINE - sizeof(*t))
		return NULL;
	return m->at + (end - lines) * ZJ_NVM_LINE;
}

__le64 *nvm_tail(const struct nvm_memory *m, u32 lane)
{
	return (void *)(m->at + ZJ_NVM_TAILS_AT + lane * ZJ_NVM_LINE);
}

/* ---- checksums ---- */

static void seal_data(const struct nvm_memory *m, struct zj_txninfo *t, u32 seed)
{
	u32 nr_deps = le32_to_cpu(t->nr_deps), unit = zj_lines_unit(m->block_size);
	u32 end = ((u8 *)(t + 1) - m->at) / ZJ_NVM_LINE;
	u32 left = le32_to_cpu(t->data_lines), size;
	u64 hash = seed, lines;
	struct zj_nvm_record *rec;
	u8 *at;

	if (le32_to_cpu(t->info_lines) + (u64)left > end)
		return;
	at = nvm_entries(m, t);
	rec = zj_nvm_records(at, nr_deps, le32_to_cpu(t->nr_revokes));
	at -= left * ZJ_NVM_LINE;
	for (u32 i = 0; i < le32_to_cpu(t->count); i++, rec++) {
		lines = le64_to_cpu(rec->lines);
		size = hweight64(lines) * (unit / ZJ_NVM_LINE);
		if (size > left)
			return;
		hash = zj_nvm_hash_record(hash, at, lines, unit);
		at += size * ZJ_NVM_LINE;
		left -= size;
	}
	t->data_hash = cpu_to_le64(hash);
}

void nvm_seal(struct nvm_memory *m)
{
	struct zj_nvm_head *head = (void *)(m->at + ZJ_NVM_HEAD_AT);
	struct zj_log_geometry geo = nvm_geometry(m);
	static u32 ends[NVM_MAX_LINES + 1];
	u32 seed = zj_seed(geo.uuid, geo.generation), nr = nvm_find(m, ends);

	head->csum = cpu_to_le32(zj_crc_without(~0U, head, sizeof(*head),
						offsetof(struct zj_nvm_head, csum)));
	for (u32 i = 0; i < nr; i++) {
		struct zj_txninfo *t = nvm_info(m, ends[i]);
		u32 bytes = le32_to_cpu(t->info_lines) * ZJ_NVM_LINE;
		u8 *at = nvm_entries(m, t);

		if (at)
			seal_data(m, t, seed);
		else if (le32_to_cpu(t->info_lines) < NVM_INFO_LINES ||
			 le32_to_cpu(t->info_lines) > ends[i])
			continue;
		at = (u8 *)(t + 1) - bytes;
		t->csum = cpu_to_le32(zj_crc_without(seed, at, bytes, bytes - sizeof(*t) +
						     offsetof(struct zj_txninfo, csum)));
	}
}

/* ---- healing ---- */

/**
 * struct healing - a log being healed
 */
struct healing {
	struct nvm_memory *m;
	struct zj_log_geometry geo;
	u64	ckpt;
	u32	dice;
	bool	seen[NVM_MAX_LINES + 1];	/* a chunk that ends there */
	u32	nr;			/* chunks that a reader will see */
	struct zj_txninfo *info[512];
	u32	nr_records;		/* of these chunks */
	struct {
		u64	stamp;
		u64	block;
	} record[4096];
};

static bool rarely(struct healing *h)
{
	return !dice_below(&h->dice, 16);
}

static void heal_head(struct healing *h)
{
	struct nvm_memory *m = h->m;
	struct zj_nvm_head *head = (void *)(m->at + ZJ_NVM_HEAD_AT);
	u32 first = ZJ_NVM_LOG_AT / ZJ_NVM_LINE, lines = m->bytes / ZJ_NVM_LINE;
	struct zj_log_geometry geo;

	nvm_seal(m);
	/* The decoder is under test: what keeps us within bounds is said again. */
	if (!zj_decode_nvm_head(head, m->bytes, &geo) && geo.log_first >= first &&
	    geo.seg_blocks && geo.log_first + (u64)geo.nr_segs * geo.seg_blocks <= lines &&
	    geo.block_size == m->block_size && geo.generation == NVM_GENERATION) {
		h->geo = geo;
		return;
	}
	h->geo = (struct zj_log_geometry) {
		.generation = NVM_GENERATION,
		.block_size = m->block_size,
		.total_blocks = lines,
		.log_first = first,
		.seg_blocks = max(64U, 2 * m->block_size / ZJ_NVM_LINE),
		.nr_lanes = LANES,
	};
	h->geo.nr_segs = (lines - first) / h->geo.seg_blocks;
	memcpy(h->geo.uuid, head->fs_uuid, sizeof(h->geo.uuid));
	zj_encode_nvm_head(&h->geo, head);
}

static u32 seg_start(const struct healing *h, u32 line)
{
	return line - (line - h->geo.log_first) % h->geo.seg_blocks;
}

static void clamp32(__le32 *field, u32 low, u32 high)
{
	u32 val = le32_to_cpu(*field);

	if (val < low || val > high)
		*field = cpu_to_le32(low + val % (high - low + 1));
}

/* The counts, so that the entries are where the TxnInfo has room for them. */
static void heal_counts(struct healing *h, struct zj_txninfo *t, u32 room)
{
	u32 left;

	clamp32(&t->info_lines, NVM_INFO_LINES, min(room, NVM_INFO_LINES + 8));
	left = le32_to_cpu(t->info_lines) * ZJ_NVM_LINE - sizeof(*t);
	clamp32(&t->nr_deps, 0, min(left / 8, 2U));
	left -= 8 * le32_to_cpu(t->nr_deps);
	clamp32(&t->nr_revokes, 0, min(left / 8, 8U));
	left -= 8 * le32_to_cpu(t->nr_revokes);
	clamp32(&t->count, 0, left / sizeof(struct zj_nvm_record));
}

static bool record_is_there(struct healing *h, u64 stamp, u64 block)
{
	for (u32 i = 0; i < h->nr_records; i++)
		if (h->record[i].stamp == stamp && h->record[i].block == block)
			return true;
	return false;
}

static void heal_record(struct healing *h, u64 stamp, struct zj_nvm_record *rec)
{
	u64 whole = zj_lines_all(h->geo.block_size), lines = le64_to_cpu(rec->lines) & whole;
	u32 home = h->m->home_blocks / 4;
	u64 block = le64_to_cpu(rec->block) % home;

	/* The device has no journal in its first quarter. */
	for (u32 i = 0; i < home && record_is_there(h, stamp, block); i++)
		block = (block + 1) % home;
	if (!rarely(h))
		rec->block = cpu_to_le64(block);
	rec->lines = cpu_to_le64(lines ?: 1ULL << dice_below(&h->dice, 16));
	if (h->nr_records == ARRAY_SIZE(h->record))
		return;
	h->record[h->nr_records].stamp = stamp;
	h->record[h->nr_records++].block = block;
}

/* Limits the records to those for which there is room before the TxnInfo. */
static void heal_records(struct healing *h, struct zj_txninfo *t, u32 room)
{
	u32 unit = zj_lines_unit(h->geo.block_size), left = room, i, size;
	struct zj_nvm_record *rec;

	rec = zj_nvm_records(nvm_entries(h->m, t), le32_to_cpu(t->nr_deps),
			     le32_to_cpu(t->nr_revokes));
	for (i = 0; i < le32_to_cpu(t->count); i++, rec++) {
		heal_record(h, le64_to_cpu(t->stamp), rec);
		size = hweight64(le64_to_cpu(rec->lines)) * (unit / ZJ_NVM_LINE);
		if (size > left)
			break;
		left -= size;
	}
	t->count = cpu_to_le32(i);
	t->data_lines = cpu_to_le32(room - left);
}

static void heal_entries(struct healing *h, struct zj_txninfo *t)
{
	__le64 *entry = (void *)nvm_entries(h->m, t);
	u64 stamp = le64_to_cpu(t->stamp);
	u32 deps = le32_to_cpu(t->nr_deps);

	for (u32 i = 0; i < deps; i++)
		if (le64_to_cpu(entry[i]) >= stamp)
			entry[i] = cpu_to_le64(stamp - 1);
	for (u32 i = deps; i < deps + le32_to_cpu(t->nr_revokes); i++)
		if (!rarely(h))
			entry[i] = cpu_to_le64(le64_to_cpu(entry[i]) % h->m->home_blocks);
}

/* Chooses the lane's previous chunk, so that stamps and places decrease. */
static u32 heal_prev(struct healing *h, struct zj_txninfo *t)
{
	u64 stamp = le64_to_cpu(t->stamp), prev_stamp;
	struct zj_txninfo *prev = nvm_info(h->m, le32_to_cpu(t->prev));

	if (!prev || h->seen[le32_to_cpu(t->prev)] || stamp <= h->ckpt + 1 ||
	    le32_to_cpu(t->prev) <= h->geo.log_first) {
		t->prev = 0;
		t->prev_stamp = 0;
		t->chunk_index = 0;
		return 0;
	}
	clamp32(&t->chunk_index, 0, 2);
	prev_stamp = le64_to_cpu(prev->stamp);
	if (t->chunk_index)
		prev_stamp = stamp;
	else if (prev_stamp >= stamp || (prev_stamp <= h->ckpt && !rarely(h)))
		prev_stamp = stamp - 1;
	if (!prev_stamp)
		prev_stamp = 1;
	t->prev_stamp = cpu_to_le64(prev_stamp);
	return prev_stamp <= h->ckpt ? 0 : le32_to_cpu(t->prev);
}

/* @after: the chunk that the reader has come from; NULL: the tail. */
static void heal_order(struct zj_txninfo *t, const struct zj_txninfo *after)
{
	bool inside = after && after->chunk_index;

	t->flags = inside ? 0 : cpu_to_le32(ZJ_TXNINFO_LAST);
	if (inside)
		t->chunk_index = cpu_to_le32(le32_to_cpu(after->chunk_index) - 1);
	if (after)
		t->stamp = after->prev_stamp;
}

static struct zj_txninfo *heal_chunk(struct healing *h, u32 lane, u32 end,
				     const struct zj_txninfo *after, u32 *prev)
{
	struct zj_txninfo *t = nvm_info(h->m, end);
	u32 room = end - seg_start(h, end - 1), index;

	*prev = 0;
	if (!t || room < NVM_INFO_LINES)
		return NULL;
	h->seen[end] = true;
	heal_order(t, after);
	t->generation = cpu_to_le64(h->geo.generation);
	t->lane = cpu_to_le32(lane);
	t->end = cpu_to_le32(end);
	memset(t->reserved, 0, sizeof(t->reserved));
	index = le32_to_cpu(t->chunk_index);
	*prev = heal_prev(h, t);
	if (after && after->chunk_index && *prev)
		t->chunk_index = cpu_to_le32(index);
	heal_counts(h, t, room);
	heal_entries(h, t);
	heal_records(h, t, room - le32_to_cpu(t->info_lines));
	t->start = cpu_to_le32(end - le32_to_cpu(t->info_lines) - le32_to_cpu(t->data_lines));
	if (h->nr < ARRAY_SIZE(h->info))
		h->info[h->nr++] = t;
	return t;
}

static void heal_lane(struct healing *h, u32 lane)
{
	__le64 *tail = nvm_tail(h->m, lane);
	u32 end = (u32)le64_to_cpu(*tail), first;
	struct zj_txninfo *t = nvm_info(h->m, end);

	if (!*tail)
		return;
	if (!t || end <= h->geo.log_first || h->seen[end] ||
	    end > h->geo.log_first + h->geo.nr_segs * h->geo.seg_blocks) {
		*tail = 0;
		return;
	}
	if (le64_to_cpu(t->stamp) - h->ckpt - 1 > 1U << 20 && !rarely(h))
		t->stamp = cpu_to_le64(h->ckpt + 1 + le64_to_cpu(t->stamp) % 16);
	first = end;
	t = NULL;
	while (end && end <= h->geo.log_first + h->geo.nr_segs * h->geo.seg_blocks)
		t = heal_chunk(h, lane, end, t, &end) ?: t;
	/* A chunk that lies over it may have changed it. */
	t = nvm_info(h->m, first);
	*tail = t ? cpu_to_le64(zj_nvm_tail(first, le64_to_cpu(t->stamp))) : 0;
}

/* Members that a component has, one transaction of each lane. */
static void heal_members(struct healing *h)
{
	for (u32 i = 0; i < h->nr; i++) {
		u32 members = rarely(h);

		for (u32 k = 0; k < h->nr; k++) {
			if (h->info[k]->stamp != h->info[i]->stamp)
				continue;
			members += !!(h->info[k]->flags & cpu_to_le32(ZJ_TXNINFO_LAST));
			if (h->info[k]->lane == h->info[i]->lane)
				h->info[k]->tid = h->info[i]->tid;
		}
		members = clamp_t(u32, members, 1, h->geo.nr_lanes);
		for (u32 k = 0; k <= i; k++)
			if (h->info[k]->stamp == h->info[i]->stamp)
				h->info[k]->nr_members = cpu_to_le32(members);
	}
}

void nvm_heal(struct nvm_memory *m, u32 dice)
{
	static struct healing h;

	memset(h.seen, 0, sizeof(h.seen));
	h.m = m;
	h.dice = dice | 1;
	h.nr = 0;
	h.nr_records = 0;
	if (m->home_blocks < 64)
		m->home_blocks = 256;
	heal_head(&h);
	h.ckpt = le64_to_cpu(*(__le64 *)(m->at + ZJ_NVM_CKPT_AT));
	for (u32 lane = 0; lane < h.geo.nr_lanes; lane++)
		heal_lane(&h, lane);
	heal_members(&h);
}
