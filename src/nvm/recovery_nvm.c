// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recovery of a log in memory: every lane is read backwards, from its tail word
 * over the TxnInfos down to the checkpoint stamp. Components are judged and
 * images chosen as in other logs (graph.c, replay.c). But an image may be a
 * part of a block, and is then put over older ones, or over the block at home.
 *
 * A tail word is stored only when all that it shows is durable. So damage below
 * it is not the end of the log, but an error.
 *
 * Memory may have lines that cannot be read. A plain load from one is a machine
 * check, so everything is read with a copy function that survives it.
 */
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/byteorder.h>
#include "nvm/nvm.h"
#include "recovery/recovery_int.h"

#define ZJ_NVM_AHEAD	512	/* images whose home blocks are read ahead */

/**
 * struct zj_nvm_scan - the position of the scan in one lane; on a stack
 */
struct zj_nvm_scan {
	struct zj_recovery *r;
	const struct zj_nvm_area *area;
	struct zj_nvm_chunk chunk;	/* the current chunk */
	u32	end;			/* line behind the current chunk */
	u32	lane;
	u64	stamp;			/* stamp that the chunk must have */
	u32	nr_chunks;		/* chunks of the current member */
	u32	index;			/* index that the chunk must have; a member's last chunk
					 * may have any
					 */
	bool	inside;			/* a later chunk of the same member was seen, so this one
					 * must not be its last
					 */
	u64	lines;			/* lines of all chunks so far, in all lanes */
};

#define corrupt_at(s, fmt, ...)						\
	zj_corrupt((s)->r, "lane %u, chunk before line %u: " fmt,	\
		   (s)->lane, (s)->end, ##__VA_ARGS__)

/* ---- loads ---- */

static int fetch_bytes(struct zj_recovery *r, const struct zj_nvm_area *area, u64 at,
		       void *to, u32 bytes)
{
	unsigned long left = copy_mc_to_kernel(to, area->base + at, bytes);

	if (!left)
		return 0;
	r->ops->msg(r->ctx, 0,
		    "the memory cannot be read at byte %llu; the log is kept: copy the device and what can be read of the memory, " ZJ_GO_ON,
		    at + bytes - left);
	return -EIO;
}

static int fetch_word(struct zj_recovery *r, const struct zj_nvm_area *area,
		      u64 at, u64 *value)
{
	__le64 word;
	int err = fetch_bytes(r, area, at, &word, sizeof(word));

	*value = err ? 0 : le64_to_cpu(word);
	return err;
}

static int fetch_lines(struct zj_recovery *r, const struct zj_nvm_area *area,
		       u32 line, u32 nr, void *to)
{
	return fetch_bytes(r, area, (u64)line * ZJ_NVM_LINE, to, nr * ZJ_NVM_LINE);
}

/*
 * Reads the lines of a record, each of @unit bytes, behind the block in the
 * buffer.
 */
static int fetch_record(struct zj_recovery *r, const struct zj_nvm_area *area,
			u32 line, u64 lines, u32 unit, void **data)
{
	*data = r->buf + r->geo.block_size;
	return fetch_lines(r, area, line,
			   hweight64(lines) * (unit / ZJ_NVM_LINE), *data);
}

/* Reads and checks the TxnInfo before line s->end, with its entries. */
static int fetch_info(struct zj_nvm_scan *s)
{
	const u32 tail = sizeof(struct zj_txninfo) / ZJ_NVM_LINE;
	struct zj_recovery *r = s->r;
	struct zj_txninfo t;
	const char *wrong;
	u32 lines = 0;
	int err = 0;

	wrong = zj_txninfo_place(&r->geo, s->end);
	if (!wrong)
		err = fetch_lines(r, s->area, s->end - tail, tail, &t);
	if (!wrong && !err)
		wrong = zj_txninfo_length(&r->geo, &t, s->end, &lines);
	if (!wrong && !err)
		err = fetch_lines(r, s->area, s->end - lines, lines, r->info);
	if (!wrong && !err)
		wrong = zj_check_txninfo(&r->geo, r->seed, r->info, lines,
					 s->end, &s->chunk);
	return wrong ? corrupt_at(s, "there is %s", wrong) : err;
}

/* ---- checks ---- */

static int check_order(struct zj_nvm_scan *s)
{
	const struct zj_nvm_chunk *c = &s->chunk;

	if (c->lane != s->lane)
		return corrupt_at(s, "it is of lane %u", c->lane);
	if (c->stamp != s->stamp)
		return corrupt_at(s, "stamp %llu where %llu was expected",
				  c->stamp, s->stamp);
	if (c->last == s->inside || (s->inside && c->chunk_index != s->index))
		return corrupt_at(s, "it is out of order in its transaction");
	/*
	 * Overlapping chunks could make the scan read the same lines again and
	 * again. Chunks that do not overlap have no more lines than the log.
	 */
	s->lines += c->end - c->start;
	if (s->lines > s->r->geo.total_blocks)
		return corrupt_at(s, "the chunks overlap");
	return 0;
}

static int check_records(struct zj_nvm_scan *s)
{
	const struct zj_nvm_chunk *c = &s->chunk;
	const struct zj_nvm_record *rec = zj_nvm_records(s->r->info, c->nr_deps,
							 c->nr_revokes);
	u32 unit = zj_lines_unit(s->r->geo.block_size), at = c->start, i;
	u64 hash = s->r->seed, left = c->data_lines, lines, size;
	void *data;
	int err;

	for (i = 0; i < c->count; i++, rec++) {
		lines = le64_to_cpu(rec->lines);
		size = hweight64(lines) * (unit / ZJ_NVM_LINE);
		if (le64_to_cpu(rec->block) >= s->r->home_blocks)
			return corrupt_at(s, "record of block %llu, but the device has %llu blocks",
					  le64_to_cpu(rec->block),
					  s->r->home_blocks);
		if (!lines || (lines & ~s->r->whole) || size > left)
			return corrupt_at(s, "record of block %llu with impossible lines %#llx",
					  le64_to_cpu(rec->block), lines);
		err = fetch_record(s->r, s->area, at, lines, unit, &data);
		if (err)
			return err;
		hash = zj_nvm_hash_record(hash, data, lines, unit);
		at += size;
		left -= size;
	}
	if (left || hash != c->data_hash)
		return corrupt_at(s, "the records do not match their TxnInfo");
	return 0;
}

static int check_entries(struct zj_nvm_scan *s)
{
	const struct zj_nvm_chunk *c = &s->chunk;
	const __le64 *dep = s->r->info;
	const __le64 *revoke = zj_nvm_revokes(s->r->info, c->nr_deps);
	u32 i;

	for (i = 0; i < c->nr_deps; i++)
		if (le64_to_cpu(dep[i]) >= c->stamp)
			return corrupt_at(s, "stamp %llu depends on %llu, which is not older",
					  c->stamp, le64_to_cpu(dep[i]));
	for (i = 0; i < c->nr_revokes; i++)
		if (le64_to_cpu(revoke[i]) >= s->r->home_blocks)
			return corrupt_at(s, "revoke of block %llu, but the device has %llu blocks",
					  le64_to_cpu(revoke[i]),
					  s->r->home_blocks);
	return check_records(s);
}

/* ---- keeping ---- */

static int keep_records(struct zj_nvm_scan *s)
{
	const struct zj_nvm_chunk *c = &s->chunk;
	const struct zj_nvm_record *rec = zj_nvm_records(s->r->info, c->nr_deps,
							 c->nr_revokes);
	u32 unit = zj_lines_unit(s->r->geo.block_size), at = c->start, i;

	for (i = 0; i < c->count; i++, rec++) {
		struct zj_rec_image *image = zj_vec_add(&s->r->images);

		if (!image)
			return zj_no_memory(s->r);
		*image = (struct zj_rec_image) {
			.block = le64_to_cpu(rec->block),
			.lines = le64_to_cpu(rec->lines),
			.stamp = c->stamp,
			.log_block = at,
		};
		at += hweight64(image->lines) * (unit / ZJ_NVM_LINE);
	}
	return 0;
}

static int keep_chunk(struct zj_nvm_scan *s)
{
	const struct zj_nvm_chunk *c = &s->chunk;
	struct zj_rec_chunk *kept = zj_vec_add(&s->r->chunks);
	int err;

	if (!kept)
		return zj_no_memory(s->r);
	*kept = (struct zj_rec_chunk) {
		.stamp = c->stamp,
		.lane = c->lane,
		.tid = c->tid,
		.nr_members = c->nr_members,
		.chunk_index = c->chunk_index,
		.nr_chunks = s->nr_chunks,
		.log_block = c->start,
		.first_dep = s->r->entries.nr,
		.nr_deps = c->nr_deps,
		.first_revoke = s->r->entries.nr + c->nr_deps,
		.nr_revokes = c->nr_revokes,
		.first_image = s->r->images.nr,
		.nr_images = c->count,
	};
	s->r->stats->chunks++;
	err = zj_keep_entries(s->r, s->r->info, c->nr_deps + c->nr_revokes);
	return err ?: keep_records(s);
}

/* ---- the scan of a lane ---- */

/* Returns 1 if there is another chunk, 0 at the end, or an error. */
static int scan_chunk(struct zj_nvm_scan *s)
{
	struct zj_nvm_chunk *c = &s->chunk;
	int err = check_order(s);

	if (err)
		return err;
	if (c->last)
		s->nr_chunks = c->chunk_index + 1;
	err = check_entries(s) ?: keep_chunk(s);
	if (err)
		return err;
	s->inside = c->chunk_index;
	if (s->inside && c->prev_stamp != c->stamp)
		return corrupt_at(s, "the transaction's beginning is missing");
	if (!s->inside && c->prev_stamp == c->stamp)
		return corrupt_at(s, "two transactions of stamp %llu", c->stamp);
	if (c->prev_stamp <= s->r->ckpt_stamp)
		return 0;
	s->index = c->chunk_index - 1;
	s->stamp = c->prev_stamp;
	s->end = c->prev;
	err = zj_yield() ?: fetch_info(s);
	return err ?: 1;
}

static int scan_lane(struct zj_nvm_scan *s)
{
	u64 tail;
	int more;

	more = fetch_word(s->r, s->area,
			  ZJ_NVM_TAILS_AT + s->lane * ZJ_NVM_LINE, &tail);
	if (more || zj_nvm_tail_dead(tail, s->r->ckpt_stamp))
		return more;
	s->end = (u32)tail;
	s->inside = false;
	more = fetch_info(s);
	if (more)
		return more;
	/*
	 * The tail word has half of the stamp only; the chunk's own stamp must
	 * agree with it.
	 */
	s->stamp = s->chunk.stamp;
	if (zj_nvm_tail(s->end, s->stamp) != tail)
		return corrupt_at(s, "stamp %llu is not that of the lane's tail",
				  s->stamp);
	if (s->stamp <= s->r->ckpt_stamp)
		return check_order(s);
	do {
		more = scan_chunk(s);
	} while (more > 0);
	return more;
}

static int scan_all(struct zj_recovery *r, const struct zj_nvm_area *area)
{
	struct zj_nvm_scan s = { .r = r, .area = area };
	int err = 0;

	for (s.lane = 0; s.lane < r->geo.nr_lanes && !err; s.lane++)
		err = scan_lane(&s);
	return err;
}

static int open_log(struct zj_recovery *r, const struct zj_nvm_area *area,
		    u32 block_size)
{
	struct zj_nvm_head head;
	const char *wrong;
	int err = fetch_bytes(r, area, ZJ_NVM_HEAD_AT, &head, sizeof(head));

	r->whole = zj_lines_all(block_size);
	r->memory = true;
	if (err)
		return err;
	wrong = zj_decode_nvm_head(&head, area->size, &r->geo);
	if (wrong)
		return zj_corrupt(r, "its header in memory: %s", wrong);
	if (r->geo.generation != area->generation)
		return zj_corrupt(r, "the memory holds generation %llu of it, but block 0 names generation %llu",
				  r->geo.generation, area->generation);
	if (r->geo.block_size != block_size)
		return zj_corrupt(r, "its block size is %u, but the file system's is %u",
				  r->geo.block_size, block_size);
	r->seed = zj_seed(r->geo.uuid, r->geo.generation);
	err = fetch_word(r, area, ZJ_NVM_CKPT_AT, &r->ckpt_stamp);
	r->stats->ckpt_stamp = r->ckpt_stamp;
	r->buf = kvmalloc(2 * block_size, GFP_KERNEL);
	r->info = kvmalloc(ZJ_TXNINFO_MAX_MAX, GFP_KERNEL);
	return !r->buf || !r->info ? zj_no_memory(r) : err;
}

/* ---- writing ---- */

static int read_failed(struct zj_recovery *r, int err, u64 block)
{
	r->ops->msg(r->ctx, 0,
		    "error %d reading block %llu, of which the log has only some lines; the log is kept: check the device, then mount or recover again",
		    err, block);
	return err;
}

/*
 * Writes one block: the chosen images from @first on, over each other, or over
 * the block at home if the first one is not whole. Sets @nr to the number of
 * images.
 */
static int write_block(struct zj_recovery *r, const struct zj_nvm_area *area,
		       u32 first, u32 *nr)
{
	const struct zj_rec_image *image = r->images.items;
	u32 unit = zj_lines_unit(r->geo.block_size), i = first;
	u64 block = image[first].block;
	void *data;
	int err;

	if (image[first].lines != r->whole) {
		err = r->ops->read_home(r->ctx, block, r->buf);
		if (err)
			return read_failed(r, err, block);
	}
	for (; i < r->images.nr && image[i].block == block; i++) {
		err = fetch_record(r, area, image[i].log_block, image[i].lines,
				   unit, &data);
		if (err)
			return err;
		zj_lines_apply(r->buf, data, image[i].lines,
			       r->geo.block_size);
	}
	*nr = i - first;
	err = r->ops->write_home(r->ctx, block, r->buf);
	return err ? zj_write_failed(r, err, "a block home", block) : 0;
}

/*
 * Asks the host to read blocks ahead of which the log has only a part, up to
 * image @end.
 */
static void look_ahead(struct zj_recovery *r, u32 *next, u32 end)
{
	const struct zj_rec_image *image = r->images.items;
	u32 i;

	if (!r->ops->ahead_home)
		return;
	for (; *next < min(end, r->images.nr); ++*next) {
		i = *next;
		if (image[i].lines != r->whole &&
		    (!i || image[i - 1].block != image[i].block))
			r->ops->ahead_home(r->ctx, image[i].block);
	}
}

static int write_all(struct zj_recovery *r, const struct zj_nvm_area *area)
{
	u32 i, nr, next = 0;
	int err;

	for (i = 0; i < r->images.nr; i += nr) {
		look_ahead(r, &next, i + ZJ_NVM_AHEAD);
		zj_tell(r, ZJ_WRITING_HOME, i, r->images.nr);
		err = write_block(r, area, i, &nr) ?: zj_yield();
		if (err)
			return err;
	}
	err = r->ops->flush_home(r->ctx);
	return err ? zj_write_failed(r, err, "the device's cache back", 0) : 0;
}

/**
 * zj_recover_nvm() - replay a log in memory; see recovery.h
 */
int zj_recover_nvm(const struct zj_recovery_args *args, const struct zj_nvm_area *area)
{
	struct zj_recovery_stats *stats = args->stats;
	struct zj_recovery r;
	int err;

	zj_recovery_begin(&r, args);
	r.flags &= ~ZJ_RECOVER_DROP_DAMAGED;
	err = open_log(&r, area, args->block_size);
	if (!err)
		err = scan_all(&r, area);
	if (!err)
		err = zj_graph(&r);
	if (!err)
		err = zj_choose(&r);
	if (!err)
		r.ops->msg(r.ctx, 1, "log in memory: %u transactions in %u components to replay, %u blocks; discarded as incomplete: %u transactions",
			 stats->transactions, stats->committed_components,
			 stats->replayed, stats->discarded);
	if (!err && !(r.flags & ZJ_RECOVER_DRY_RUN))
		err = write_all(&r, area);

	zj_recovery_end(&r);
	return err;
}
