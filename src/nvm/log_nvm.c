// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log in byte-addressable memory (docs/decisions/0015). For each block it
 * holds the lines that changed, or all of it, followed by one TxnInfo that
 * describes them.
 *
 *   records, TxnInfo past the caches -> fence -> tail word, written back -> fence
 *
 * If the platform does not save its write queues when the power fails, the
 * memory is flushed after each fence.
 *
 * The lane's tail word makes a transaction visible to recovery, all of it at
 * once, so it is stored when everything before it is durable. Each lane has its
 * own, in a line of its own. Segments, promises and the log's tail are those of
 * the log on disk, counted in lines.
 *
 * Chen et al., Fine-grained Metadata Journaling on NVM, III-B and III-C.
 */
#include "core/core.h"
#include "format/codec.h"
#include "log/log.h"
#include "nvm/nvm.h"
#include "txn/txn.h"
#include <linux/ktime.h>
#include <linux/libnvdimm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/barrier.h>

/*
 * After Chen et al., who checkpoint when half of the space is used, or every
 * ten minutes.
 */
#define ZJ_NVM_CHECKPOINT_AGE	(600UL * HZ)

/**
 * struct zj_nvm_write - a transaction that is being written to memory; on a
 * stack
 */
struct zj_nvm_write {
	struct zj_txn	*txn;
	struct zj_journal *zj;
	struct zj_nvm_chunk chunk;	/* the chunk that is being filled */
	struct zj_cursor at;		/* what is written next */
	u32		left;		/* lines of the segment from the chunk's start on */
};

static u64 *word_at(const struct zj_journal *zj, u32 at)
{
	return zj->nvm.map.base + at;
}

static void *line_at(const struct zj_journal *zj, u32 line)
{
	return zj->nvm.map.base + (u64)line * ZJ_NVM_LINE;
}

/*
 * Stores 8 bytes at once, so that a power cut leaves the old value or the new
 * one.
 */
static void put_word(u64 *word, u64 value)
{
	WRITE_ONCE(*(__le64 *)word, cpu_to_le64(value));
}

static void write_back(u64 *word)
{
	arch_wb_cache_pmem(word, sizeof(*word));
}

/* Makes durable what was written back. */
static int make_durable(struct zj_journal *zj)
{
	pmem_wmb();
	return zj->nvm.map.needs_flush ? zj_nvm_flush(&zj->nvm.map) : 0;
}

/* ---- tails ---- */

static u64 *tail_of(const struct zj_lane *lane)
{
	return word_at(lane->journal,
		       ZJ_NVM_TAILS_AT + lane->index * ZJ_NVM_LINE);
}

/*
 * Makes the lane's records up to its newest chunk, which are durable, visible
 * to recovery.
 */
static int show_tail(struct zj_lane *lane)
{
	u64 *tail = tail_of(lane);

	/*
	 * The lock keeps clear_tail() from storing its 0 over the new tail
	 * word.
	 */
	spin_lock(&lane->lock);
	ZJ_ASSERT(lane->journal, lane->nvm_shown < lane->nvm_stamp);
	lane->nvm_shown = lane->nvm_stamp;
	put_word(tail, zj_nvm_tail(lane->nvm_end, lane->nvm_stamp));
	spin_unlock(&lane->lock);
	write_back(tail);
	return make_durable(lane->journal);
}

/*
 * A tail word has room for half of a stamp only. If an idle lane's one stayed,
 * it would seem to be newer than the checkpoint stamp again once that has grown
 * by 2^31, and would point to records that were overwritten long ago.
 */
static void clear_tail(struct zj_lane *lane, u64 ckpt_stamp)
{
	u64 *tail = tail_of(lane);
	bool dead;

	spin_lock(&lane->lock);
	dead = lane->nvm_shown && lane->nvm_shown <= ckpt_stamp;
	if (dead) {
		lane->nvm_shown = 0;
		put_word(tail, 0);
	}
	spin_unlock(&lane->lock);
	if (dead)
		write_back(tail);
}

/*
 * Clears the tail words of lanes whose records are all reclaimed. The
 * checkpoint stamp is durable already; the cleared words are durable before the
 * next one is stored.
 */
static int clear_tails(struct zj_journal *zj, u64 ckpt_stamp)
{
	u32 i;

	for (i = 0; i < zj->nr_lanes; i++)
		clear_tail(&zj->lanes[i], ckpt_stamp);
	return make_durable(zj);
}

static int store_ckpt(struct zj_journal *zj, u64 ckpt_stamp)
{
	u64 *word = word_at(zj, ZJ_NVM_CKPT_AT);

	put_word(word, ckpt_stamp);
	write_back(word);
	return make_durable(zj);
}

/* ---- space, in lines ---- */

static u32 nvm_fit(struct zj_journal *zj, u32 lanes)
{
	zj->credit_units = zj->public.j_blocksize / ZJ_NVM_LINE + 2;
	return zj_nvm_fit(&zj->geo, zj->nvm.map.size, zj->public.j_blocksize,
			  zj->nvm.info_max, zj->max_credits, lanes);
}

static u32 nvm_blocks(const struct zj_journal *zj, u32 credits)
{
	return zj_nvm_txn_lines(&zj->geo, zj->nvm.info_max, credits);
}

/*
 * Tells whether the only TxnInfo that a transaction is to have has no room for
 * another record. Without tune=txninfo_max only credits limit a transaction, as
 * with the log on disk. Credits of open handles do not count, because handles
 * use few of them; what does not fit goes to another TxnInfo.
 */
static bool nvm_full(const struct zj_txn *txn)
{
	u32 records = max(txn->used, 0) + 1;

	lockdep_assert_held(&txn->lane->lock);
	if (!txn_zj(txn)->nvm.one_info)
		return false;
	return sizeof(struct zj_txninfo) + 8 * READ_ONCE(txn->nr_revokes) +
	       sizeof(struct zj_nvm_record) * records >
	       txn_zj(txn)->nvm.info_max;
}

static void need_info(struct zj_lane *lane)
{
	if (!lane->info)
		lane->info = kvmalloc(lane->journal->nvm.info_max,
				      GFP_NOFS | __GFP_NOFAIL);
}

/* ---- the fixed places ---- */

/*
 * Block 0 does not name this log yet, so these stores need no order among each
 * other.
 */
static int new_log(struct zj_journal *zj)
{
	struct zj_nvm_head head;
	int id, err;
	u32 i;

	zj_writes_wait();
	err = zj_nvm_begin(&zj->nvm.map, &id);
	if (err)
		return err;
	zj_new_generation(zj);
	zj_encode_nvm_head(&zj->geo, &head);
	memcpy_flushcache(zj->nvm.map.base + ZJ_NVM_HEAD_AT, &head, sizeof(head));
	for (i = 0; i < zj->nr_lanes; i++) {
		zj->lanes[i].nvm_end = 0;
		zj->lanes[i].nvm_stamp = 0;
		zj->lanes[i].nvm_shown = 0;
		put_word(tail_of(&zj->lanes[i]), 0);
		write_back(tail_of(&zj->lanes[i]));
	}
	err = store_ckpt(zj, READ_ONCE(zj->ckpt_stamp));
	zj_nvm_end(id);
	return err;
}

static int nvm_go_live(struct zj_journal *zj)
{
	struct zj_jbd2_super *sb = zj->public.j_superblock;
	int err;

	lockdep_assert_held(&zj->super_lock);
	/*
	 * A first attempt failed after the mark was set, and its block 0 may be
	 * on the device.
	 */
	if (zj_is_nvm_log(sb))
		return zj_super_write(zj);
	/*
	 * This flush is needed even without barriers: block 0 on the device may
	 * still say that the old log is in use.
	 */
	err = zj_issue_flush(zj, zj->public.j_dev);
	if (!err)
		err = new_log(zj);
	if (err)
		return err;
	zj_set_nvm_mark(sb, zj->nvm.uuid, zj->geo.generation);
	sb->s_feature_incompat |= cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES);
	sb->s_start = sb->s_first;
	return zj_super_write(zj);
}

static int nvm_advance_tail(struct zj_journal *zj, const struct zj_component *last)
{
	/*
	 * The home writes must be durable before the checkpoint stamp covers
	 * them.
	 */
	int err = zj_dev_flush(zj, &zj->lanes[0]), id;

	lockdep_assert_held(&zj->ckpt_lock);
	zj_writes_wait();
	if (!err)
		err = zj_nvm_begin(&zj->nvm.map, &id);
	if (err)
		return err;
	err = store_ckpt(zj, last->stamp);
	if (!err)
		err = clear_tails(zj, last->stamp);
	zj_nvm_end(id);
	return err;
}

/* ---- filling a chunk ---- */

/*
 * Tells whether @entries bytes of entries and @lines lines of records can be
 * added to the chunk.
 */
static bool chunk_fits(const struct zj_nvm_write *w, u32 entries, u32 lines)
{
	const struct zj_nvm_chunk *c = &w->chunk;
	u32 bytes = 8 * c->nr_deps + 8 * c->nr_revokes +
		    sizeof(struct zj_nvm_record) * c->count + entries +
		    sizeof(struct zj_txninfo);

	return bytes <= w->zj->nvm.info_max &&
	       c->data_lines + lines + DIV_ROUND_UP(bytes, ZJ_NVM_LINE) <= w->left;
}

static bool chunk_is_empty(const struct zj_nvm_chunk *c)
{
	return !c->nr_deps && !c->nr_revokes && !c->count;
}

static void put_deps(struct zj_nvm_write *w)
{
	__le64 *to = w->txn->lane->info;

	while (w->at.nr_deps && chunk_fits(w, sizeof(*to), 0))
		to[w->chunk.nr_deps++] = cpu_to_le64(zj_cursor_dep(&w->at));
}

static void put_revokes(struct zj_nvm_write *w)
{
	__le64 *to = zj_nvm_revokes(w->txn->lane->info, w->chunk.nr_deps);

	while (w->at.nr_revokes && chunk_fits(w, sizeof(*to), 0))
		to[w->chunk.nr_revokes++] = cpu_to_le64(zj_cursor_revoke(&w->at));
}

/*
 * Returns the lines of the whole super block, because it has a checksum and is
 * also changed without the journal being told. The rest of its file system
 * block is never changed here.
 */
static u64 super_lines(u32 size)
{
	return zj_lines_of(ZJ_SUPER_OFFSET % size, ZJ_SUPER_SIZE, size);
}

/*
 * Returns the lines to be logged. Without a base to compare with, or with
 * tune=nvm_unit:block, they are all lines of the block.
 */
static u64 changed_lines(const struct zj_journal *zj, const struct zj_part *part)
{
	u32 size = zj->geo.block_size;

	return zj_logs_lines(zj) && zj_bh_is_super(part->jh->bh) ?
		super_lines(size) : zj_part_lines(part);
}

static void copy_lines(struct zj_nvm_write *w, const void *image, u64 lines)
{
	u32 unit = zj_lines_unit(w->zj->geo.block_size), first, nr;
	struct zj_nvm_chunk *c = &w->chunk;

	while ((nr = zj_lines_run(&lines, &first))) {
		const void *run = image + first * unit;

		memcpy_flushcache(line_at(w->zj, c->start + c->data_lines), run,
				  nr * unit);
		c->data_hash = zj_nvm_hash(c->data_hash, run, nr * unit);
		c->data_lines += nr * (unit / ZJ_NVM_LINE);
	}
}

static void put_records(struct zj_nvm_write *w)
{
	u32 unit_lines = zj_lines_unit(w->zj->geo.block_size) / ZJ_NVM_LINE;
	struct zj_nvm_record *to;

	to = zj_nvm_records(w->txn->lane->info, w->chunk.nr_deps,
			    w->chunk.nr_revokes);
	for (; w->at.nr_images; zj_cursor_image(&w->at)) {
		const struct zj_part *part = zj_cursor_peek(&w->at);
		u64 lines = changed_lines(w->zj, part);

		/* The block has got its old contents back. */
		if (!lines)
			continue;
		if (!chunk_fits(w, sizeof(*to), hweight64(lines) * unit_lines))
			break;
		to[w->chunk.count].block = cpu_to_le64(part->jh->bh->b_blocknr);
		to[w->chunk.count++].lines = cpu_to_le64(lines);
		copy_lines(w, part->image, lines);
		w->txn->lane->stats.blocks++;
	}
}

/* ---- chunks ---- */

/*
 * Puts the chunk where the lane's segment is free, or into the next segment if
 * the last chunk found no room.
 */
static bool find_place(struct zj_nvm_write *w, bool next)
{
	struct zj_lane *lane = w->txn->lane;
	const struct zj_log_geometry *geo = &w->zj->geo;
	bool ok = true;

	spin_lock(&lane->lock);
	lane->limit = 0;
	if (!lane->cur || next)
		ok = zj_space_next(lane);
	if (ok) {
		w->left = geo->seg_blocks - lane->cur_off;
		w->chunk.start = geo->log_first + lane->cur_off +
				 lane->cur->index * geo->seg_blocks;
		lane->cur->max_stamp = w->txn->comp->stamp;
	}
	spin_unlock(&lane->lock);
	return ok;
}

static void take_place(struct zj_nvm_write *w)
{
	struct zj_lane *lane = w->txn->lane;

	spin_lock(&lane->lock);
	lane->cur_off += w->chunk.end - w->chunk.start;
	ZJ_ASSERT(w->zj, lane->cur_off <= w->zj->geo.seg_blocks);
	spin_unlock(&lane->lock);
}

/*
 * Completes the chunk's TxnInfo, linked to the lane's newest one, and writes it
 * to the memory.
 */
static void write_txninfo(struct zj_nvm_write *w, bool last)
{
	struct zj_lane *lane = w->txn->lane;
	struct zj_nvm_chunk *c = &w->chunk;
	u32 used = 8 * c->nr_deps + 8 * c->nr_revokes +
		   sizeof(struct zj_nvm_record) * c->count;
	u32 bytes = zj_nvm_info_bytes(c->nr_deps, c->nr_revokes, c->count);

	c->end = c->start + c->data_lines + bytes / ZJ_NVM_LINE;
	ZJ_ASSERT(w->zj, c->stamp >= lane->nvm_stamp);
	c->prev = lane->nvm_end;
	c->prev_stamp = lane->nvm_stamp;
	c->last = last;
	memset(lane->info + used, 0, bytes - used);
	zj_encode_txninfo(&w->zj->geo, w->zj->seed, c, lane->info);
	memcpy_flushcache(line_at(w->zj, c->start + c->data_lines), lane->info,
			  bytes);
	take_place(w);
	lane->nvm_end = c->end;
	lane->nvm_stamp = c->stamp;
	lane->stats.headers++;
	lane->stats.nvm_bytes += (c->end - c->start) * ZJ_NVM_LINE;
}

static void begin_chunk(struct zj_nvm_write *w, u32 index)
{
	struct zj_component *comp = w->txn->comp;

	w->chunk = (struct zj_nvm_chunk) {
		.stamp = comp->stamp,
		.tid = w->txn->public.t_tid,
		.lane = w->txn->lane->index,
		.nr_members = comp->nr_members,
		.chunk_index = index,
		.data_hash = w->zj->seed,
		.commit_sec = ktime_get_real_seconds(),
	};
}

/* Returns false if there is more to write. */
static bool fill_chunk(struct zj_nvm_write *w)
{
	put_deps(w);
	put_revokes(w);
	put_records(w);
	return !w->at.nr_deps && !w->at.nr_revokes && !w->at.nr_images;
}

static int write_chunks(struct zj_nvm_write *w)
{
	bool done = false, next = false;
	u32 index = 0;

	while (!done) {
		begin_chunk(w, index);
		if (!find_place(w, next))
			return -ENOSPC;
		/* The rest of a segment may be too small for any entry. */
		next = true;
		if (!chunk_fits(w, 0, 0))
			continue;
		done = fill_chunk(w);
		if (!done && chunk_is_empty(&w->chunk))
			continue;
		next = false;
		write_txninfo(w, done);
		index++;
	}
	w->txn->nr_chunks = index;
	return 0;
}

static int check_declared(struct zj_journal *zj, struct zj_cursor at)
{
	int err = 0;

	while (at.nr_images && !err)
		err = zj_part_check(zj, zj_cursor_image(&at));
	return err;
}

/**
 * write_member() - write a sealed member's record, durable on return
 * @txn: the member
 *
 * Context: the thread that writes the run.
 * Return: 0; -ENOSPC if promised log space is not there; -EUCLEAN if
 * tune=log_check:on has found something; or the error of a flush.
 */
static int write_member(struct zj_txn *txn)
{
	struct zj_lane *lane = txn->lane;
	struct zj_journal *zj = lane->journal;
	struct zj_nvm_write w = { .txn = txn, .zj = zj };
	int err;

	need_info(lane);
	zj_settle_images(txn);
	zj_cursor_init(&w.at, txn);
	if (zj->options.log_check) {
		err = check_declared(zj, w.at);
		if (err)
			return err;
	}
	lane->stats.nvm_full += txn->full;
	err = write_chunks(&w);
	txn->cached = false;
	if (err)
		return err;
	/* Everything has to be durable before the tail word shows it. */
	err = make_durable(zj);
	/* The record is complete, so that it is the same one that the resumed system shows. */
	zj_writes_wait();
	return err ?: show_tail(lane);
}

static int nvm_record(struct zj_run *run, bool fua)
{
	struct zj_txn *txn;
	int id, gone, err;

	zj_writes_wait();
	gone = zj_nvm_begin(&run->lane->journal->nvm.map, &id);
	err = gone;
	list_for_each_entry(txn, &run->txns, lane_link) {
		if (!err)
			err = write_member(txn);
		zj_txn_logged(txn);
	}
	if (!gone)
		zj_nvm_end(id);
	return err;
}

/* ---- load ---- */

/*
 * Checks that the memory belongs to this file system. If the log is live, the
 * mark in block 0 decides, because tune2fs -U may have changed the file
 * system's UUID.
 */
static int check_pair(struct zj_journal *zj, const struct zj_nvm_super *sb)
{
	struct zj_nvm_mark *mark = zj_nvm_mark_of(zj->public.j_superblock);
	bool live = zj_is_nvm_log(zj->public.j_superblock);

	if (live && memcmp(mark->uuid, sb->uuid, sizeof(sb->uuid))) {
		zj_err(zj, "journal_nvm=%s is the memory %pU, but the log is in the memory %pU: name the device of that one; nothing was written\n",
		       zj->nvm.path, sb->uuid, mark->uuid);
		return -EINVAL;
	}
	if (!live && memcmp(zj->geo.uuid, sb->fs_uuid, sizeof(sb->fs_uuid))) {
		zj_err(zj, "journal_nvm=%s was prepared for the file system %pU, but this one is %pU; to use it here, run zjctl nvm-format\n",
		       zj->nvm.path, sb->fs_uuid, zj->geo.uuid);
		return -EINVAL;
	}
	return 0;
}

/*
 * Called while the memory is still there: accesses under way complete, or fail.
 */
static void memory_lost(struct zj_nvm_map *map, bool gone)
{
	struct zj_journal *zj = container_of(map, struct zj_journal, nvm.map);

	if (gone)
		zj_err(zj, "journal_nvm=%s is being removed: unmount the file system, and mount it again when the memory is back\n",
		       zj->nvm.path);
	else
		zj_err(zj, "journal_nvm=%s has an uncorrectable error: unmount the file system and mount it again; recovery fails if it needs the lost part\n",
		       zj->nvm.path);
	zj_abort(zj, -EIO);
}

static int read_super(struct zj_journal *zj, struct zj_nvm_super *sb)
{
	unsigned long left;
	int id, err;

	err = zj_nvm_begin(&zj->nvm.map, &id);
	if (err)
		return err;
	left = copy_mc_to_kernel(sb, zj->nvm.map.base + ZJ_NVM_SUPER_AT,
				 sizeof(*sb));
	zj_nvm_end(id);
	if (left)
		zj_err(zj, "journal_nvm=%s: its superblock cannot be read (uncorrectable memory error)\n",
		       zj->nvm.path);
	return left ? -EIO : 0;
}

static int check_memory(struct zj_journal *zj)
{
	struct zj_nvm_super sb;
	const char *wrong;
	int err;

	if (zj->nvm.map.size < ZJ_NVM_MIN_SIZE) {
		zj_err(zj, "journal_nvm=%s: the memory has %llu bytes, but a log needs at least %llu\n",
		       zj->nvm.path, zj->nvm.map.size, ZJ_NVM_MIN_SIZE);
		return -EINVAL;
	}
	err = read_super(zj, &sb);
	if (err)
		return err;
	wrong = zj_check_nvm_super(&sb, zj->nvm.map.size);
	if (wrong) {
		zj_err(zj, "journal_nvm=%s: the memory %s\n", zj->nvm.path, wrong);
		return -EINVAL;
	}
	memcpy(zj->nvm.uuid, sb.uuid, sizeof(zj->nvm.uuid));
	zj->nvm.map.size = le64_to_cpu(sb.size);
	return check_pair(zj, &sb);
}

/* Opens the memory first, because its super block tells which memory it is. */
static int nvm_open(struct zj_journal *zj)
{
	int err;

	zj->nvm.map.lost = memory_lost;
	err = zj_nvm_open(zj->nvm.path, &zj->nvm.map);
	if (!err)
		err = check_memory(zj);
	return err;
}

static void nvm_release(struct zj_journal *zj)
{
	unsigned int i;

	for (i = 0; zj->lanes && i < zj->nr_lanes; i++)
		kvfree(zj->lanes[i].info);
	zj_nvm_close(&zj->nvm.map);
}

const struct zj_log_ops zj_log_nvm = {
	.name		= "nvm",
	.logs_lines	= true,
	.in_memory	= true,
	.counts_images	= true,
	.max_lanes	= ZJ_MAX_LANES,
	.max_age	= ZJ_NVM_CHECKPOINT_AGE,
	.open		= nvm_open,
	.release	= nvm_release,
	.fit		= nvm_fit,
	.blocks		= nvm_blocks,
	.room		= zj_seg_room,
	.init		= zj_seg_init,
	.go_live	= nvm_go_live,
	.advance_tail	= nvm_advance_tail,
	.record		= nvm_record,
	.full		= nvm_full,
};
