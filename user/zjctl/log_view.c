// SPDX-License-Identifier: GPL-2.0-only
/* Reads the whole log, including damaged parts. */
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include <linux/sort.h>
#include "log_view.h"
#include "zjctl.h"

static u32 seg_first(const struct log *log, u32 seg)
{
	return log->geo.log_first + seg * log->geo.seg_blocks;
}

static void *block_at(const struct log *log, u32 pos)
{
	return log->buf + (size_t)pos * log->geo.block_size;
}

static int keep_entries(struct log *log, const struct zj_chunk *c, void *header)
{
	const __le64 *from = zj_chunk_deps(header);

	for (u32 i = 0; i < c->nr_deps + c->nr_revokes; i++) {
		u64 *entry = zj_vec_add(&log->entries);

		if (!entry)
			return -ENOMEM;
		*entry = le64_to_cpu(from[i]);
	}
	return 0;
}

/* Returns the number of images with a wrong checksum, or -ENOMEM. */
static int keep_images(struct log *log, u32 seg, u32 pos, const struct zj_chunk *c)
{
	struct zj_tag_walk walk;
	int bad = 0;

	zj_tag_walk_begin(&walk, &log->geo, c, block_at(log, pos));
	while (zj_tag_walk_next(&walk)) {
		struct log_image *image = zj_vec_add(&log->images);
		bool lines = zj_tag_has_lines(walk.tag);
		u32 at = lines ? pos : pos + walk.image;

		if (!image)
			return -ENOMEM;
		*image = (struct log_image) {
			.block = le64_to_cpu(walk.tag->block),
			.lines = le64_to_cpu(walk.tag->lines),
			.log_block = seg_first(log, seg) + at,
			.data = lines ? walk.data : 0,
			.flags = le16_to_cpu(walk.tag->flags),
			.good = lines || zj_image_csum(log->seed, block_at(log, at),
						      log->geo.block_size) ==
				le32_to_cpu(walk.tag->csum),
		};
		bad += !image->good;
	}
	return bad;
}

static int keep_record(struct log *log, u32 seg, u32 pos, const struct zj_chunk *c,
		       bool hidden)
{
	struct log_record *r = zj_vec_add(&log->records);
	int bad;

	if (!r)
		return -ENOMEM;
	log->committed_stamp = max(log->committed_stamp, c->committed_stamp);
	*r = (struct log_record) {
		.chunk = *c,
		.log_block = seg_first(log, seg) + pos,
		.first_entry = log->entries.nr,
		.first_image = log->images.nr,
	};
	if (keep_entries(log, c, block_at(log, pos)))
		return -ENOMEM;
	bad = keep_images(log, seg, pos, c);
	if (bad < 0)
		return bad;
	r->bad_images = bad;
	r->state = hidden ? LOG_HIDDEN : bad ? LOG_TORN : LOG_GOOD;
	if (r->state == LOG_GOOD && c->stamp > log->newest)
		log->newest = c->stamp;
	return 0;
}

static enum log_end why_ended(const struct log *log, u32 pos, bool decoded)
{
	const struct zj_chunk_header *h;

	if (pos == log->geo.seg_blocks)
		return LOG_FULL;
	if (log->unread[pos])
		return LOG_UNREADABLE;
	h = block_at(log, pos);
	if (decoded)
		return LOG_OLD_TENURE;
	if (le32_to_cpu(h->magic) != ZJ_CHUNK_MAGIC)
		return LOG_UNUSED;
	if (le64_to_cpu(h->generation) != log->geo.generation)
		return LOG_STALE;
	return zj_chunk_csum_good(&log->geo, log->seed, h) ? LOG_BAD_HEADER : LOG_TORN_HEADER;
}

/* Headers of this tenure that recovery does not reach, because an earlier one is lost. */
static int keep_hidden(struct log *log, u32 seg, u32 pos)
{
	const struct log_segment *s = &log->segs[seg];
	struct zj_chunk c;
	int err = 0;

	while (!err && pos < log->geo.seg_blocks) {
		if (!zj_decode_chunk(&log->geo, log->seed, seg, pos, block_at(log, pos), &c) ||
		    (s->used && c.seg_seq != s->seg_seq) || c.stamp <= log->ckpt_stamp) {
			pos++;
			continue;
		}
		err = keep_record(log, seg, pos, &c, true);
		pos += 1 + zj_chunk_images(&c);
	}
	return err;
}

void log_read_blocks(struct log *log, u32 block, u32 nr, u8 *buf, bool *unread)
{
	u32 size = log->geo.block_size;
	int err = ext_ops.read_log(log->img, block, nr, buf);

	for (u32 i = 0; i < nr; i++) {
		unread[i] = err && ext_ops.read_log(log->img, block + i, 1,
						    buf + (size_t)i * size);
		if (unread[i])
			memset(buf + (size_t)i * size, 0, size);
	}
}

static int read_segment(struct log *log, u32 seg)
{
	struct log_segment *s = &log->segs[seg];
	struct zj_chunk c;
	bool decoded = false;
	u32 pos = 0;
	int err = 0;

	log_read_blocks(log, seg_first(log, seg), log->geo.seg_blocks, log->buf, log->unread);
	while (!err && pos < log->geo.seg_blocks) {
		decoded = zj_decode_chunk(&log->geo, log->seed, seg, pos, block_at(log, pos), &c);
		if (!decoded || (pos && c.seg_seq != s->seg_seq))
			break;
		s->lane = c.lane;
		s->seg_seq = c.seg_seq;
		s->newest = c.stamp;
		s->records++;
		err = keep_record(log, seg, pos, &c, false);
		pos += 1 + zj_chunk_images(&c);
	}
	s->used = pos;
	s->end = why_ended(log, pos, decoded);
	return err ? err : keep_hidden(log, seg, pos);
}

/* Recovery refuses a damaged pair of slots; here the better one is used. */
static void read_ckpt(struct log *log)
{
	u64 best = 0;

	log->ckpt_stamp = log->geo.ckpt_stamp;

	for (u32 i = 0; i < ZJ_CKPT_SLOTS; i++) {
		log_read_blocks(log, ZJ_BLOCK_CKPT + i, 1, log->buf, log->unread);
		log->slot_good[i] = zj_decode_ckpt(&log->geo, log->buf, &log->slot_seq[i],
						   &log->slot_stamp[i]);
		if (log->slot_good[i] && log->slot_seq[i] >= best) {
			best = log->slot_seq[i];
			log->ckpt_stamp = max(log->geo.ckpt_stamp, log->slot_stamp[i]);
		}
	}
}

static int open_log(struct log *log)
{
	u8 *block = malloc(log->img->block_size);
	int err = -ENOMEM;

	if (block)
		err = ext_ops.read_log(log->img, ZJ_BLOCK_LOG_SUPER, 1, block);
	if (!err && (zj_decode_log_super(block, &log->geo) ||
		     log->geo.block_size != log->img->block_size ||
		     log->geo.total_blocks > log->img->journal_blocks))
		err = -EUCLEAN;
	free(block);
	if (err)
		return err;
	log->seed = zj_seed(log->geo.uuid, log->geo.generation);
	log->whole = ZJ_TAG_ALL_LINES;
	log->buf = malloc((size_t)log->geo.seg_blocks * log->geo.block_size);
	log->segs = calloc(log->geo.nr_segs, sizeof(*log->segs));
	log->unread = calloc(log->geo.seg_blocks, sizeof(*log->unread));
	return log->buf && log->segs && log->unread ? 0 : -ENOMEM;
}

static int read_lanes(struct log *log)
{
	int err = open_log(log);

	if (!err)
		read_ckpt(log);
	for (u32 seg = 0; !err && seg < log->geo.nr_segs; seg++) {
		err = read_segment(log, seg);
		zx_progress("reading the log", seg, log->geo.nr_segs);
	}
	zx_progress(NULL, 0, 0);
	return err;
}

static bool is_lanes(const struct zj_jbd2_super *block0)
{
	return block0->s_feature_incompat & cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES);
}

int log_read(struct log *log, struct ext_image *img, const struct zj_jbd2_super *block0,
	     const struct zx_memory *memory)
{
	int err;

	*log = (struct log) {
		.img = img,
		.records.size = sizeof(struct log_record),
		.images.size = sizeof(struct log_image),
		.entries.size = sizeof(u64),
		.components.size = sizeof(struct log_component),
	};
	err = zj_is_nvm_log(block0) ? nvm_read(log, memory) :
	      is_lanes(block0) ? read_lanes(log) : ring_read(log, block0);
	return err ? err : log_judge(log);
}

void log_free(struct log *log)
{
	free(log->buf);
	free(log->segs);
	free(log->unread);
	free(log->tails);
	free(log->records.items);
	free(log->images.items);
	free(log->entries.items);
	free(log->components.items);
}

static int read_lines(struct log *log, const struct log_image *image, void *buf)
{
	u8 *header = malloc(log->geo.block_size);
	int err = header ? ext_ops.read_log(log->img, image->log_block, 1, header) : -EIO;

	if (!err)
		zj_lines_apply(buf, header + image->data, image->lines, log->geo.block_size);
	free(header);
	return err;
}

int log_read_image(struct log *log, const struct log_image *image, void *buf)
{
	int err;

	if (log->area) {
		zj_lines_apply(buf, log->area->base + (u64)image->log_block * ZJ_NVM_LINE,
			       image->lines, log->geo.block_size);
		return 0;
	}
	if (image->data)
		return read_lines(log, image, buf);
	err = ext_ops.read_log(log->img, image->log_block, 1, buf);
	if (!err)
		zj_unescape(buf, image->flags);
	return err;
}

/* ---- recovery's own word ---- */

static struct log_official *asking;

static void keep_error(const struct ext_image *img, int level, const char *text)
{
	if (!level)
		snprintf(asking->error, sizeof(asking->error), "%s", text);
}

static void show_progress(void *ctx, const char *what, u32 done, u32 total)
{
	zx_progress("checking the log", done, total);
}

void log_ask_recovery(struct ext_image *img, const struct zj_jbd2_super *block0,
		      const struct zx_memory *memory, struct log_official *o)
{
	struct zj_io_ops ops = ext_ops;
	const struct zj_recovery_args args = {
		.ops = &ops,
		.ctx = img,
		.block_size = img->block_size,
		.journal_blocks = img->journal_blocks,
		.fs_blocks = img->device_blocks,
		.flags = ZJ_RECOVER_DRY_RUN,
		.stats = &o->stats,
	};
	u32 sequence;

	memset(o, 0, sizeof(*o));
	ops.progress = show_progress;
	asking = o;
	ext_message = keep_error;
	if (zj_is_nvm_log(block0))
		o->err = zj_recover_nvm(&args, &memory->area);
	else if (is_lanes(block0))
		o->err = zj_recover(&args, img->uuid);
	else
		o->err = zj_recover_jbd2(&args, block0, &sequence);
	ext_message = zx_image_message;
	zx_progress(NULL, 0, 0);
}

int log_refuse_due(struct ext_image *img, struct zj_jbd2_super *block0)
{
	struct log_official *o = calloc(1, sizeof(*o));
	int code = ZX_UNCORRECTED;

	if (!o)
		return zx_fail(ZX_FAILED, "out of memory; try again with more");
	/* What is in memory only recovery looks for. */
	if (!zj_is_nvm_log(block0))
		log_ask_recovery(img, block0, NULL, o);
	if (o->err == -EUCLEAN)
		zx_fail(code, "%s: %s", img->path, o->error);
	else
		zx_fail(code, "%s: is not clean; first: %s", img->path,
			zx_how_to_recover(block0, img->path));
	free(o);
	return code;
}

bool log_has_fast_commits(const struct log_official *o)
{
	return o->err == -EOPNOTSUPP;
}

int log_official_code(const struct log_official *o)
{
	return o->err == -EUCLEAN || log_has_fast_commits(o) ? ZX_UNCORRECTED : ZX_FAILED;
}

const char *log_official_verdict(const struct log_official *o)
{
	if (!o->err)
		return "good";
	if (log_has_fast_commits(o))
		return "stock";
	return o->err == -EUCLEAN ? "damaged" : "unreadable";
}

bool log_agrees(const struct log *log, const struct log_official *o)
{
	u32 committed = 0, members = 0;

	for (u32 i = 0; i < log->components.nr; i++) {
		const struct log_component *c = log_component(log, i);

		committed += c->verdict == LOG_COMMITTED;
		members += c->verdict == LOG_COMMITTED ? c->members : 0;
	}
	if (committed == o->stats.committed_components && members == o->stats.transactions &&
	    log->taken == o->stats.replayed && log->ckpt_stamp == o->stats.ckpt_stamp)
		return true;
	zx_say(ZX_ERROR, "%s: this listing finds %u committed components and %u blocks to write, recovery %u and %u: one of the two is wrong; please report it with a copy of %s",
	       log->img->path, committed, log->taken, o->stats.committed_components, o->stats.replayed,
	       log->area ? "the memory" : "the journal (debugfs -R 'dump <8> FILE' DEV)");
	return false;
}
