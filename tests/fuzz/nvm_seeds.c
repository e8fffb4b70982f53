// SPDX-License-Identifier: GPL-2.0-only
/* Logs in memory as a writer leaves them, with short lines, in four block sizes. */
#include <string.h>
#include "format/codec.h"
#include "dice.h"
#include "nvm_seal.h"
#include "seeds.h"

#define LANES		4
#define HOME_BLOCKS	256	/* the first quarter is not the journal's then */
#define HOT_BLOCKS	12
#define MAX_ENTRIES	16

/**
 * struct writer - a log under construction
 */
struct writer {
	struct nvm_memory m;
	struct zj_log_geometry geo;
	u32	seed;
	u32	rand;
	u32	nr_segs;		/* that lanes have taken */
	bool	down;			/* from the memory's end on */
	u64	stamp;			/* of the newest component */
	bool	revoked[HOT_BLOCKS];	/* whose next record is the whole block */
	struct {
		u32	next, limit;	/* lines of its segment */
		u64	stamp;		/* of its newest chunk */
		u32	end;
	} lane[LANES];
};

static u32 below(struct writer *w, u32 n)
{
	return dice_below(&w->rand, n);
}

/* Lines for a chunk of that lane, in a new segment if there is no room. */
static u32 take_lines(struct writer *w, u32 lane, u32 lines)
{
	u32 at = w->lane[lane].next;

	if (at + lines > w->lane[lane].limit) {
		at = w->nr_segs++;
		if (w->down)
			at = w->geo.nr_segs - 1 - at;
		at = w->geo.log_first + at * w->geo.seg_blocks;
		w->lane[lane].limit = at + w->geo.seg_blocks;
	}
	w->lane[lane].next = at + lines;
	return at;
}

/* The contents of a chunk before its place is known. */
struct plan {
	__le64	entry[2 * MAX_ENTRIES];
	struct zj_nvm_record record[MAX_ENTRIES];
	struct zj_nvm_chunk c;
};

static void plan_records(struct writer *w, struct plan *p, u32 of, u32 nr)
{
	u32 unit = zj_lines_unit(w->geo.block_size), size;
	u64 all = zj_lines_all(w->geo.block_size), lines;

	/* Members and chunks of one component have blocks of their own. */
	for (u32 b = of; b < HOT_BLOCKS && p->c.count < nr; b += 3) {
		lines = (1ULL << below(w, 16) | 1ULL << below(w, 16)) & all;
		if (w->revoked[b] || !below(w, 8))
			lines = all;
		size = hweight64(lines) * (unit / ZJ_NVM_LINE);
		if (p->c.data_lines + size + 8 > w->geo.seg_blocks)
			break;
		w->revoked[b] = false;
		p->record[p->c.count].block = cpu_to_le64(b);
		p->record[p->c.count++].lines = cpu_to_le64(lines);
		p->c.data_lines += size;
	}
}

static void plan_entries(struct writer *w, struct plan *p, u32 of)
{
	if (w->stamp > 1 && !below(w, 2))
		p->entry[p->c.nr_deps++] = cpu_to_le64(w->stamp - 1 - below(w, 2));
	if (below(w, 4))
		return;
	p->entry[p->c.nr_deps + p->c.nr_revokes++] = cpu_to_le64(of);
}

static void put(struct writer *w, struct plan *p)
{
	u32 unit = zj_lines_unit(w->geo.block_size), lane = p->c.lane;
	u32 bytes = zj_nvm_info_bytes(p->c.nr_deps, p->c.nr_revokes, p->c.count);
	u32 entries = p->c.nr_deps + p->c.nr_revokes;
	u8 *at, *info;

	p->c.start = take_lines(w, lane, p->c.data_lines + bytes / ZJ_NVM_LINE);
	p->c.end = p->c.start + p->c.data_lines + bytes / ZJ_NVM_LINE;
	p->c.prev = w->lane[lane].end;
	p->c.prev_stamp = w->lane[lane].stamp;
	p->c.data_hash = w->seed;
	at = w->m.at + p->c.start * ZJ_NVM_LINE;
	info = at + p->c.data_lines * ZJ_NVM_LINE;
	for (u8 *to = at; to < info; to += ZJ_NVM_LINE)
		memset(to, 1 + below(w, 255), 4);
	memcpy(info, p->entry, entries * sizeof(p->entry[0]));
	memcpy(info + entries * sizeof(p->entry[0]), p->record,
	       p->c.count * sizeof(p->record[0]));
	for (u32 i = 0; i < p->c.count; i++) {
		u64 lines = le64_to_cpu(p->record[i].lines);

		p->c.data_hash = zj_nvm_hash_record(p->c.data_hash, at, lines, unit);
		at += hweight64(lines) * unit;
	}
	zj_encode_txninfo(&w->geo, w->seed, &p->c, info);
	w->lane[lane].stamp = p->c.stamp;
	w->lane[lane].end = p->c.end;
	*nvm_tail(&w->m, lane) = cpu_to_le64(zj_nvm_tail(p->c.end, p->c.stamp));
}

static void put_component(struct writer *w, u64 stamp)
{
	u32 members = 1 + !below(w, 3), chunks = 1 + !below(w, 4), first = below(w, LANES);

	for (u32 i = 0; i < members; i++)
		for (u32 k = 0; k < chunks; k++) {
			u32 of = members > 1 ? i : chunks > 1 ? k : below(w, 3);
			struct plan p = { .c = {
				.stamp = stamp,
				.lane = (first + i) % LANES,
				.tid = stamp * 16 + i,
				.nr_members = members,
				.chunk_index = k,
				.last = k + 1 == chunks,
			} };

			if (!i && !k)
				plan_entries(w, &p, of);
			if (!k || members == 1)
				plan_records(w, &p, of, 1 + below(w, 3));
			put(w, &p);
			/* The component's own image of the block is void. */
			if (p.c.nr_revokes)
				w->revoked[of] = true;
		}
}

/* Chunks whose records are the chunks before them, so that they are more than the memory. */
static void pile_up(struct writer *w)
{
	u32 whole = w->geo.block_size / ZJ_NVM_LINE, nr = w->geo.seg_blocks / whole / 2, end;
	u32 bytes = zj_nvm_info_bytes(0, 0, nr), first = w->geo.log_first;
	struct zj_nvm_record *rec;
	struct zj_nvm_chunk c = {
		.nr_members = 1,
		.last = true,
		.count = nr,
		.data_lines = nr * whole,
		.stamp = w->stamp,
	};

	for (end = first + c.data_lines + bytes / ZJ_NVM_LINE; end <= first + w->geo.seg_blocks;
	     end += bytes / ZJ_NVM_LINE) {
		c.prev = c.end;
		c.prev_stamp = c.end ? c.stamp : 0;
		c.stamp++;
		c.end = end;
		c.start = end - bytes / ZJ_NVM_LINE - c.data_lines;
		rec = (void *)(w->m.at + (end - bytes / ZJ_NVM_LINE) * ZJ_NVM_LINE);
		for (u32 i = 0; i < nr; i++) {
			rec[i].block = cpu_to_le64(i);
			rec[i].lines = cpu_to_le64(zj_lines_all(w->geo.block_size));
		}
		zj_encode_txninfo(&w->geo, w->seed, &c, rec);
	}
	*nvm_tail(&w->m, 0) = cpu_to_le64(zj_nvm_tail(c.end, c.stamp));
	nvm_seal(&w->m);
}

void make_input(struct input *in, u32 seed)
{
	struct writer w = { .rand = seed * 2654435761U + 1 };
	bool hostile = seed % 16 == 15;

	in_reset();
	memset(in, 0, sizeof(*in));
	in->extra = hostile ? seed / 16 % 2 : seed % 4;
	in->journal_blocks = 256 + seed % 3 * 63;
	in->home_blocks = HOME_BLOCKS;
	in->failure = seed % 7;
	in->when = seed * 101;
	nvm_unpack(&w.m, in);
	/* A head that is healed is as good as any. */
	nvm_heal(&w.m, 1);
	w.geo = nvm_geometry(&w.m);
	w.down = seed % 2;
	if (hostile) {
		w.geo.seg_blocks = 32 * w.m.block_size / ZJ_NVM_LINE;
		w.geo.nr_segs = 1;
		w.geo.total_blocks = w.geo.log_first + w.geo.seg_blocks;
		zj_encode_nvm_head(&w.geo, (void *)(w.m.at + ZJ_NVM_HEAD_AT));
	}
	w.seed = zj_seed(w.geo.uuid, w.geo.generation);
	w.stamp = seed % 5 ? 0 : (1ULL << 32) - 4;
	*(__le64 *)(w.m.at + ZJ_NVM_CKPT_AT) = cpu_to_le64(w.stamp);
	if (hostile)
		pile_up(&w);
	for (u32 n = 2 + below(&w, 10 >> in->extra); n && !hostile; n--)
		put_component(&w, ++w.stamp);
	if (!hostile && !below(&w, 3))
		*(__le64 *)(w.m.at + ZJ_NVM_CKPT_AT) = cpu_to_le64(w.stamp - 2);
	nvm_pack(&w.m, in);
}
