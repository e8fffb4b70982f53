// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads a log in memory: each lane from its tail backwards, as recovery does.  Records
 * that recovery refuses are kept here as far as they can be read.
 */
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include "log_view.h"
#include "zjctl.h"

/**
 * struct way_back - the position of a walk through a lane
 */
struct way_back {
	struct log *log;
	struct zj_nvm_chunk chunk;	/* at hand */
	u64	stamp;			/* that it must have; 0: the tail's */
	u64	lines;			/* of all lanes up to here */
	u32	lane;
	u32	end;			/* line behind the chunk */
	u32	nr_chunks;		/* of its transaction */
	u32	index;			/* that it must have, if @inside */
	bool	inside;			/* of a transaction: not its last chunk */
};

static const void *line_at(const struct log *log, u32 line)
{
	return log->area->base + (u64)line * ZJ_NVM_LINE;
}

/* ---- keeping ---- */

static int keep_entries(struct log *log, const struct zj_nvm_chunk *c, const __le64 *from)
{
	for (u32 i = 0; i < c->nr_deps + c->nr_revokes; i++) {
		u64 *entry = zj_vec_add(&log->entries);

		if (!entry)
			return -ENOMEM;
		*entry = le64_to_cpu(from[i]);
	}
	return 0;
}

/*
 * The images up to the first impossible one. @good: they match their TxnInfo, which has
 * one hash for all of them.
 */
static int keep_images(struct log *log, const struct zj_nvm_chunk *c,
		       const struct zj_nvm_record *rec, bool *good)
{
	u32 unit = zj_lines_unit(log->geo.block_size), at = c->start, first = log->images.nr;
	u64 hash = log->seed, left = c->data_lines;

	for (u32 i = 0; i < c->count; i++, rec++) {
		u64 lines = le64_to_cpu(rec->lines);
		u32 size = hweight64(lines) * (unit / ZJ_NVM_LINE);
		struct log_image *image;

		if (!lines || (lines & ~log->whole) || size > left)
			break;
		image = zj_vec_add(&log->images);
		if (!image)
			return -ENOMEM;
		*image = (struct log_image) {
			.block = le64_to_cpu(rec->block),
			.lines = lines,
			.log_block = at,
		};
		hash = zj_nvm_hash_record(hash, line_at(log, at), lines, unit);
		at += size;
		left -= size;
	}
	*good = log->images.nr - first == c->count && !left && hash == c->data_hash;
	for (u32 i = first; i < log->images.nr; i++)
		log_image(log, i)->good = *good;
	return 0;
}

static void count_segment(struct log *log, const struct zj_nvm_chunk *c)
{
	struct log_segment *s = &log->segs[(c->start - log->geo.log_first) /
					   log->geo.seg_blocks];

	s->lane = c->lane;
	s->records++;
	s->used += c->end - c->start;
	s->newest = max(s->newest, c->stamp);
}

static int keep_chunk(struct way_back *w)
{
	struct log *log = w->log;
	const struct zj_nvm_chunk *c = &w->chunk;
	void *info = (void *)line_at(log, c->start + c->data_lines);
	struct log_record *r = zj_vec_add(&log->records);
	bool good;
	int err;

	if (!r)
		return -ENOMEM;
	*r = (struct log_record) {
		.chunk.stamp = c->stamp,
		.chunk.tid = c->tid,
		.chunk.lane = c->lane,
		.chunk.nr_members = c->nr_members,
		.chunk.chunk_index = c->chunk_index,
		.chunk.nr_chunks = w->nr_chunks,
		.chunk.nr_deps = c->nr_deps,
		.chunk.nr_revokes = c->nr_revokes,
		.chunk.commit_sec = c->commit_sec,
		.log_block = c->start,
		.lines = c->end - c->start,
		.first_entry = log->entries.nr,
		.first_image = log->images.nr,
	};
	err = keep_entries(log, c, info);
	if (!err)
		err = keep_images(log, c, zj_nvm_records(info, c->nr_deps, c->nr_revokes),
				  &good);
	if (err)
		return err;
	r->chunk.nr_tags = log->images.nr - r->first_image;
	r->bad_images = good ? 0 : r->chunk.nr_tags;
	r->state = good ? LOG_GOOD : LOG_TORN;
	if (good)
		log->newest = max(log->newest, c->stamp);
	count_segment(log, c);
	log->tails[w->lane].records++;
	log->tails[w->lane].lines += r->lines;
	return 0;
}

/* ---- the way back ---- */

static const char *out_of_order(struct way_back *w)
{
	const struct zj_nvm_chunk *c = &w->chunk;

	if (c->lane != w->lane)
		return "another lane's chunk";
	if (w->stamp && c->stamp != w->stamp)
		return "a chunk of another stamp";
	if (c->last == w->inside || (w->inside && c->chunk_index != w->index))
		return "a chunk out of order in its transaction";
	w->lines += c->end - c->start;
	return w->lines > w->log->geo.total_blocks ? "chunks that overlap" : NULL;
}

/* Moves to the previous chunk; false at the checkpoint stamp, or if that chunk is wrong. */
static bool step(struct way_back *w, const char **wrong)
{
	const struct zj_nvm_chunk *c = &w->chunk;

	w->inside = c->chunk_index;
	if (w->inside && c->prev_stamp != c->stamp)
		*wrong = "a transaction whose beginning is missing";
	else if (!w->inside && c->prev_stamp == c->stamp)
		*wrong = "two transactions of one stamp";
	w->index = c->chunk_index - 1;
	w->stamp = c->prev_stamp;
	w->end = c->prev;
	return !*wrong && c->prev_stamp > w->log->ckpt_stamp;
}

static int walk_lane(struct way_back *w, struct log_tail *tail)
{
	struct zj_nvm_chunk *c = &w->chunk;
	struct log *log = w->log;
	bool more = true;
	int err = 0;

	while (more && !err) {
		tail->wrong_at = w->end;
		tail->wrong = zj_read_txninfo(&log->geo, log->seed, log->area->base, w->end, c);
		if (!tail->wrong && !w->stamp && zj_nvm_tail(w->end, c->stamp) != tail->tail)
			tail->wrong = "a chunk to which no lane's tail points";
		if (!tail->wrong)
			tail->wrong = out_of_order(w);
		if (tail->wrong || c->stamp <= log->ckpt_stamp)
			break;
		if (c->last)
			w->nr_chunks = c->chunk_index + 1;
		err = keep_chunk(w);
		more = step(w, &tail->wrong);
	}
	return err;
}

static int open_log(struct log *log)
{
	if (zj_decode_nvm_head(log->area->base + ZJ_NVM_HEAD_AT, log->area->size, &log->geo) ||
	    log->geo.generation != log->area->generation ||
	    log->geo.block_size != log->img->block_size)
		return -EUCLEAN;
	log->seed = zj_seed(log->geo.uuid, log->geo.generation);
	log->whole = zj_lines_all(log->geo.block_size);
	log->ckpt_stamp = le64_to_cpup(log->area->base + ZJ_NVM_CKPT_AT);
	log->segs = calloc(log->geo.nr_segs, sizeof(*log->segs));
	log->tails = calloc(log->geo.nr_lanes, sizeof(*log->tails));
	return log->segs && log->tails ? 0 : -ENOMEM;
}

int nvm_read(struct log *log, const struct zx_memory *memory)
{
	struct way_back w = { .log = log };
	int err;

	log->area = &memory->area;
	err = open_log(log);
	for (w.lane = 0; !err && w.lane < log->geo.nr_lanes; w.lane++) {
		struct log_tail *tail = &log->tails[w.lane];

		tail->tail = le64_to_cpup(log->area->base + ZJ_NVM_TAILS_AT +
					  w.lane * ZJ_NVM_LINE);
		if (zj_nvm_tail_dead(tail->tail, log->ckpt_stamp))
			continue;
		w.end = (u32)tail->tail;
		w.stamp = 0;
		w.inside = false;
		err = walk_lane(&w, tail);
		zx_progress("reading the log", w.lane, log->geo.nr_lanes);
	}
	zx_progress(NULL, 0, 0);
	return err;
}
