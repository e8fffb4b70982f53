// SPDX-License-Identifier: GPL-2.0-only
/* A builder for hand-made logs in memory, and their recovery. */
#include <stdlib.h>
#include <asm/byteorder.h>
#include "nvmlog.h"

struct nvlog nv;
u32 home_reads, bad_home_reads;

int read_home(void *ctx, u64 block, void *buf)
{
	home_reads++;
	if (bad_home_reads && !--bad_home_reads)
		return -EIO;
	memcpy(buf, nv.dev->home + block * BLOCK_SIZE, BLOCK_SIZE);
	return 0;
}

void put_head(void)
{
	zj_encode_nvm_head(&nv.geo, (void *)(nv.mem + ZJ_NVM_HEAD_AT));
}

void set_ckpt(u64 stamp)
{
	*(__le64 *)(nv.mem + ZJ_NVM_CKPT_AT) = cpu_to_le64(stamp);
}

void set_tail(u32 lane, u32 end, u64 stamp)
{
	*(__le64 *)(nv.mem + ZJ_NVM_TAILS_AT + lane * ZJ_NVM_LINE) =
		cpu_to_le64(zj_nvm_tail(end, stamp));
}

void new_log(void)
{
	nv = (struct nvlog){ .dev = ml_new(1, JOURNAL, HOME), .next = FIRST };
	memset(nv.dev->home, UNTOUCHED, HOME * BLOCK_SIZE);
	memset(nv.dev->stable, UNTOUCHED, HOME * BLOCK_SIZE);
	nv.mem = calloc(1, SIZE);
	nv.geo = (struct zj_log_geometry) {
		.generation = GENERATION,
		.block_size = BLOCK_SIZE,
		.total_blocks = SIZE / ZJ_NVM_LINE,
		.log_first = FIRST,
		.seg_blocks = SEG_LINES,
		.nr_segs = 8,
		.nr_lanes = 2,
	};
	memcpy(nv.geo.uuid, mem_uuid, sizeof(nv.geo.uuid));
	nv.seed = zj_seed(mem_uuid, GENERATION);
	nv.area = (struct zj_nvm_area){ nv.mem, SIZE, GENERATION };
	put_head();
	home_reads = 0;
	bad_home_reads = 0;
}

void free_log(void)
{
	ml_free(nv.dev);
	free(nv.mem);
}

void *line(u32 n)
{
	return nv.mem + n * ZJ_NVM_LINE;
}

struct zj_txninfo *info_before(u32 end)
{
	return line(end - sizeof(struct zj_txninfo) / ZJ_NVM_LINE);
}

/* The sum over so many lines, not over those that the TxnInfo names. */
void reseal_lines(u32 end, u32 lines)
{
	struct zj_txninfo *t = info_before(end);
	u32 bytes = lines * ZJ_NVM_LINE;

	t->csum = cpu_to_le32(zj_crc_without(nv.seed, line(end - lines), bytes,
					     bytes - sizeof(*t) +
					     offsetof(struct zj_txninfo, csum)));
}

void reseal(u32 end)
{
	reseal_lines(end, le32_to_cpu(info_before(end)->info_lines));
}

void put_entries(const struct nvrec *rec, struct zj_nvm_chunk *c, __le64 *entry)
{
	for (; c->nr_deps < 4 && rec->deps[c->nr_deps]; c->nr_deps++)
		*entry++ = cpu_to_le64(rec->deps[c->nr_deps]);
	for (; c->nr_revokes < 4 && rec->revokes[c->nr_revokes]; c->nr_revokes++)
		*entry++ = cpu_to_le64(rec->revokes[c->nr_revokes]);
	for (; c->count < MAX_RECS && rec->rec[c->count].lines; c->count++) {
		*entry++ = cpu_to_le64(rec->rec[c->count].block);
		*entry++ = cpu_to_le64(rec->rec[c->count].lines);
	}
}

/* Append a chunk to its lane; returns the line behind it. */
u32 put_chunk(const struct nvrec *rec)
{
	struct zj_nvm_chunk c = {
		.stamp = rec->stamp,
		.prev_stamp = nv.stamp[rec->lane],
		.prev = nv.end[rec->lane],
		.tid = rec->tid ? rec->tid : (u32)rec->stamp * 16 + rec->lane,
		.lane = rec->lane,
		.nr_members = rec->members ? rec->members : 1,
		.chunk_index = rec->index,
		.last = !rec->more,
		.data_hash = nv.seed,
	};
	u8 info[512] = { };
	u32 bytes, lines;
	u8 *data;

	put_entries(rec, &c, (__le64 *)info);
	for (u32 i = 0; i < c.count; i++)
		c.data_lines += hweight64(rec->rec[i].lines);
	bytes = zj_nvm_info_bytes(c.nr_deps, c.nr_revokes, c.count);
	lines = c.data_lines + bytes / ZJ_NVM_LINE;
	if ((nv.next - FIRST) % nv.geo.seg_blocks + lines > nv.geo.seg_blocks)
		nv.next += nv.geo.seg_blocks - (nv.next - FIRST) % nv.geo.seg_blocks;
	c.start = nv.next;
	c.end = nv.next += lines;
	data = line(c.start);
	for (u32 i = 0; i < c.count; i++) {
		u32 len = hweight64(rec->rec[i].lines) * ZJ_NVM_LINE;

		memset(data, rec->rec[i].val, len);
		c.data_hash = zj_nvm_hash_record(c.data_hash, data, rec->rec[i].lines,
						 ZJ_NVM_LINE);
		data += len;
	}
	zj_encode_txninfo(&nv.geo, nv.seed, &c, info);
	memcpy(data, info, bytes);
	nv.end[rec->lane] = c.end;
	nv.stamp[rec->lane] = c.stamp;
	set_tail(rec->lane, c.end, c.stamp);
	return c.end;
}

int recover_with(const struct zj_io_ops *ops, unsigned int flags,
		 struct zj_recovery_stats *stats)
{
	struct zj_recovery_args args = ml_args(nv.dev, ops, flags, stats);

	args.block_size = BLOCK_SIZE;
	args.journal_blocks = JOURNAL;
	return zj_recover_nvm(&args, &nv.area);
}

int recover(bool dry_run, struct zj_recovery_stats *stats)
{
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats unused;

	ops.read_home = read_home;
	nv.dev->error[0] = 0;
	nv.dev->notices = 0;
	nv.dev->writes = 0;
	return recover_with(&ops, dry_run ? ZJ_RECOVER_DRY_RUN : 0, stats ? stats : &unused);
}

/* Without a write at first; then for good, and with the power cut at every write. */
struct zj_recovery_stats accepted(void)
{
	struct memdev *before = ml_clone(nv.dev), *done;
	struct zj_recovery_stats dry, wet;
	u32 writes;

	if (recover(true, &dry))
		print_message("%s\n", nv.dev->error);
	assert_int_equal(nv.dev->error[0], 0);
	assert_int_equal(recover(true, &dry), 0);
	assert_int_equal(nv.dev->writes, 0);
	assert_int_equal(nv.dev->notices, 1);
	nv.dev->told_home = 0;
	assert_int_equal(recover(false, &wet), 0);
	assert_int_equal(!!nv.dev->told_home, !!wet.replayed);
	assert_memory_equal(&dry, &wet, sizeof(dry));
	writes = nv.dev->writes;
	assert_int_equal(writes, wet.replayed + 1);
	ml_power_cut(nv.dev);
	done = ml_clone(nv.dev);
	for (u32 k = 0; k < writes; k++) {
		ml_copy(nv.dev, before);
		nv.dev->power_cut_at = k;
		assert_int_equal(recover(false, NULL), -EIO);
		assert_non_null(strstr(nv.dev->error, "log is kept"));
		ml_power_cut(nv.dev);
		assert_int_equal(recover(false, NULL), 0);
		assert_memory_equal(nv.dev->home, done->home, HOME * BLOCK_SIZE);
	}
	ml_free(before);
	ml_free(done);
	return wet;
}

void refused(const char *text)
{
	for (int dry_run = 0; dry_run < 2; dry_run++) {
		assert_int_equal(recover(dry_run, NULL), -EUCLEAN);
		if (!strstr(nv.dev->error, text))
			print_message("no \"%s\" in: %s\n", text, nv.dev->error);
		assert_non_null(strstr(nv.dev->error, text));
		assert_non_null(strstr(nv.dev->error, "copy the device and the memory"));
		assert_int_equal(nv.dev->writes, 0);
	}
}

/* Every line of a block. */
void expect_block(u64 block, const u8 *vals)
{
	for (u32 i = 0; i < BLOCK_SIZE; i++)
		assert_int_equal(nv.dev->home[block * BLOCK_SIZE + i], vals[i / ZJ_NVM_LINE]);
}

u8 val_of(u64 block)
{
	return nv.dev->home[block * BLOCK_SIZE];
}
