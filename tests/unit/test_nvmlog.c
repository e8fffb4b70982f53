// SPDX-License-Identifier: GPL-2.0-only
/* Recovery of a log in memory: hand-made logs, what it makes of them, what it refuses. */
#include <stdlib.h>
#include <asm/byteorder.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "format/codec_nvm.h"
#include "memlog.h"
#include "tests.h"

#define SIZE		(1u << 20)
#define BLOCK_SIZE	1024
#define LINES		(BLOCK_SIZE / ZJ_NVM_LINE)
#define ALL		0xffff
#define SEG_LINES	(16 * LINES)
#define FIRST		(ZJ_NVM_LOG_AT / ZJ_NVM_LINE)
#define JOURNAL		8	/* blocks, behind those that may be replayed */
#define HOME		64
#define GENERATION	0x1122334455667788ULL
#define UNTOUCHED	0xee	/* every byte of a home block that nobody wrote */
#define MAX_RECS	8

/**
 * struct nvrec - one chunk; unset fields get sensible values
 */
struct nvrec {
	u64	stamp;
	u32	lane;
	u32	tid;			/* 0: made from stamp and lane */
	u32	members;		/* 0: 1 */
	u32	index;
	bool	more;			/* not the last one of its member */
	u64	deps[4];		/* up to the first 0 */
	u64	revokes[4];		/* up to the first 0 */
	struct {
		u64	block;
		u64	lines;
		u8	val;
	} rec[MAX_RECS];		/* up to the first without lines */
};

/**
 * struct nvlog - memory with a log, and the device beside it
 */
struct nvlog {
	struct memdev	*dev;		/* its home blocks, and what was written */
	struct zj_log_geometry geo;
	struct zj_nvm_area area;
	u32		seed;
	u8		*mem;
	u32		next;		/* first line that is free */
	u32		end[4];		/* of each lane's newest chunk; 0: none */
	u64		stamp[4];	/* the same */
};

static struct nvlog nv;
static u32 home_reads, bad_home_reads;	/* so many; those that fail */

static int read_home(void *ctx, u64 block, void *buf)
{
	home_reads++;
	if (bad_home_reads && !--bad_home_reads)
		return -EIO;
	memcpy(buf, nv.dev->home + block * BLOCK_SIZE, BLOCK_SIZE);
	return 0;
}

static void put_head(void)
{
	zj_encode_nvm_head(&nv.geo, (void *)(nv.mem + ZJ_NVM_HEAD_AT));
}

static void set_trim(u64 stamp)
{
	*(__le64 *)(nv.mem + ZJ_NVM_TRIM_AT) = cpu_to_le64(stamp);
}

static void set_tail(u32 lane, u32 end, u64 stamp)
{
	*(__le64 *)(nv.mem + ZJ_NVM_TAILS_AT + lane * ZJ_NVM_LINE) =
		cpu_to_le64(zj_nvm_tail(end, stamp));
}

static void new_log(void)
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

static void free_log(void)
{
	ml_free(nv.dev);
	free(nv.mem);
}

static void *line(u32 n)
{
	return nv.mem + n * ZJ_NVM_LINE;
}

static struct zj_txninfo *info_before(u32 end)
{
	return line(end - sizeof(struct zj_txninfo) / ZJ_NVM_LINE);
}

/* The sum over so many lines, whatever the TxnInfo says itself. */
static void reseal_lines(u32 end, u32 lines)
{
	struct zj_txninfo *t = info_before(end);
	u32 bytes = lines * ZJ_NVM_LINE;

	t->csum = cpu_to_le32(zj_crc_without(nv.seed, line(end - lines), bytes,
					     bytes - sizeof(*t) +
					     offsetof(struct zj_txninfo, csum)));
}

static void reseal(u32 end)
{
	reseal_lines(end, le32_to_cpu(info_before(end)->info_lines));
}

static void put_entries(const struct nvrec *rec, struct zj_nvm_chunk *c, __le64 *entry)
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
static u32 put_chunk(const struct nvrec *rec)
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
	zj_seal_txninfo(&nv.geo, nv.seed, &c, info);
	memcpy(data, info, bytes);
	nv.end[rec->lane] = c.end;
	nv.stamp[rec->lane] = c.stamp;
	set_tail(rec->lane, c.end, c.stamp);
	return c.end;
}

#undef PUT
#define PUT(...)	put_chunk(&(const struct nvrec){ __VA_ARGS__ })

static int recover(bool dry_run, struct zj_recovery_stats *stats)
{
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats unused;

	ops.read_home = read_home;
	nv.dev->error[0] = 0;
	nv.dev->notices = 0;
	nv.dev->writes = 0;
	return zj_recover_nvm(&ops, nv.dev, &nv.area, BLOCK_SIZE, JOURNAL, HOME, dry_run,
			      stats ? stats : &unused);
}

/* Without a write at first; then for good, and with the power cut at every write. */
static struct zj_recovery_stats accepted(void)
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
	assert_int_equal(recover(false, &wet), 0);
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

static void refused(const char *text)
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
static void expect_block(u64 block, const u8 *vals)
{
	for (u32 i = 0; i < BLOCK_SIZE; i++)
		assert_int_equal(nv.dev->home[block * BLOCK_SIZE + i], vals[i / ZJ_NVM_LINE]);
}

#define EXPECT(block, ...)	expect_block(block, (const u8[LINES]){ __VA_ARGS__ })
#define REST(from)		[from ... LINES - 1] = UNTOUCHED

static u8 val_of(u64 block)
{
	return nv.dev->home[block * BLOCK_SIZE];
}

/* ---- what is replayed ---- */

static void lines_lie_over_each_other_and_over_what_is_home(void **state)
{
	new_log();
	PUT(.stamp = 1, .rec = { { 5, 0x000f, 1 }, { 6, 0x8421, 1 } });
	PUT(.stamp = 2, .lane = 1, .rec = { { 5, 0x0006, 2 } });
	PUT(.stamp = 3, .rec = { { 7, ALL, 3 }, { 5, 0x0004, 3 }, { 63, 1, 3 } });
	assert_int_equal(accepted().replayed, 4);
	EXPECT(5, 1, 2, 3, 1, REST(4));
	EXPECT(6, 1, [1 ... 4] = UNTOUCHED, 1, [6 ... 9] = UNTOUCHED, 1,
	       [11 ... 14] = UNTOUCHED, 1);
	EXPECT(7, [0 ... LINES - 1] = 3);
	EXPECT(63, 3, REST(1));
	EXPECT(4, REST(0));
	free_log();
}

/* What is older than a whole block is not looked at, nor is the block that is home. */
static void a_whole_block_stands_for_itself(void **state)
{
	new_log();
	PUT(.stamp = 1, .rec = { { 5, 0x00ff, 1 } });
	PUT(.stamp = 2, .rec = { { 5, ALL, 2 } });
	PUT(.stamp = 3, .rec = { { 5, 0x0002, 3 } });
	bad_home_reads = 1;
	assert_int_equal(recover(false, NULL), 0);
	assert_int_equal(home_reads, 0);
	EXPECT(5, 2, 3, [2 ... LINES - 1] = 2);
	free_log();
}

static void a_home_block_that_cannot_be_read_keeps_the_log(void **state)
{
	new_log();
	PUT(.stamp = 1, .rec = { { 5, 0x00ff, 1 } });
	bad_home_reads = 1;
	assert_int_equal(recover(false, NULL), -EIO);
	assert_non_null(strstr(nv.dev->error, "error -5 reading block 5"));
	assert_int_equal(nv.dev->writes, 0);
	assert_int_equal(accepted().replayed, 1);
	EXPECT(5, [0 ... 7] = 1, REST(8));
	free_log();
}

static void only_what_is_above_s_is_replayed(void **state)
{
	struct zj_recovery_stats s;

	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 } });
	PUT(.stamp = 2, .lane = 1, .rec = { { 6, ALL, 2 } });
	PUT(.stamp = 3, .rec = { { 7, ALL, 3 } });
	PUT(.stamp = 4, .rec = { { 8, ALL, 4 } });
	set_trim(2);
	s = accepted();
	assert_int_equal(s.trim_stamp, 2);
	assert_int_equal(s.newest_stamp, 4);
	assert_int_equal(s.chunks, 2);
	assert_int_equal(s.components, 2);
	assert_int_equal(s.valid_components, 2);
	assert_int_equal(s.transactions, 2);
	assert_int_equal(s.images, 2);
	assert_int_equal(s.replayed, 2);
	assert_int_equal(val_of(5), UNTOUCHED);
	assert_int_equal(val_of(6), UNTOUCHED);
	assert_int_equal(val_of(7), 3);
	assert_int_equal(val_of(8), 4);
	/* What S has passed is not even looked at. */
	memset(line(FIRST), 0xff, 16);
	set_trim(4);
	assert_int_equal(accepted().chunks, 0);
	free_log();
}

static void an_empty_log(void **state)
{
	struct zj_recovery_stats s;

	new_log();
	s = accepted();
	assert_int_equal(s.chunks, 0);
	assert_int_equal(s.replayed, 0);
	free_log();
}

static void members_and_what_they_depend_on(void **state)
{
	struct zj_recovery_stats s;

	new_log();
	PUT(.stamp = 1, .lane = 0, .members = 2, .rec = { { 5, ALL, 1 } });
	PUT(.stamp = 1, .lane = 1, .members = 2, .rec = { { 6, ALL, 1 } });
	PUT(.stamp = 2, .lane = 0, .deps = { 1 }, .rec = { { 7, ALL, 2 } });
	/* Its other member is not there, and what depends on it goes with it. */
	PUT(.stamp = 3, .lane = 1, .members = 2, .rec = { { 8, ALL, 3 } });
	PUT(.stamp = 4, .lane = 0, .deps = { 2, 3 }, .rec = { { 9, ALL, 4 } });
	s = accepted();
	assert_int_equal(s.components, 4);
	assert_int_equal(s.valid_components, 2);
	assert_int_equal(s.transactions, 3);
	assert_int_equal(s.discarded, 2);
	assert_int_equal(s.newest_stamp, 2);
	assert_int_equal(val_of(5), 1);
	assert_int_equal(val_of(6), 1);
	assert_int_equal(val_of(7), 2);
	assert_int_equal(val_of(8), UNTOUCHED);
	assert_int_equal(val_of(9), UNTOUCHED);
	free_log();
}

static void revokes_end_what_is_older(void **state)
{
	struct zj_recovery_stats s;

	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 }, { 6, ALL, 1 }, { 63, ALL, 1 } });
	PUT(.stamp = 2, .lane = 1, .deps = { 1 }, .revokes = { 5, 6, 63 }, .rec = { { 7, 1, 2 } });
	PUT(.stamp = 3, .rec = { { 6, ALL, 3 } });
	s = accepted();
	assert_int_equal(s.revoked, 3);
	assert_int_equal(val_of(5), UNTOUCHED);
	assert_int_equal(val_of(6), 3);
	assert_int_equal(val_of(63), UNTOUCHED);
	EXPECT(7, 2, REST(1));
	/* A part of what was revoked is on nothing. */
	PUT(.stamp = 4, .rec = { { 5, 1, 4 } });
	refused("stamp 4: a part of block 5, which was revoked before");
	free_log();
}

static void members_of_several_chunks(void **state)
{
	struct zj_recovery_stats s;

	new_log();
	for (u32 stamp = 1; stamp < 3; stamp++) {
		for (u32 i = 0; i < 3; i++)
			PUT(.stamp = stamp, .lane = 1, .index = i, .more = i < 2, .tid = stamp,
			    .rec = { { 5 + i, 1 << stamp, stamp } });
	}
	s = accepted();
	assert_int_equal(s.chunks, 6);
	assert_int_equal(s.transactions, 2);
	for (u32 i = 0; i < 3; i++)
		EXPECT(5 + i, UNTOUCHED, 1, 2, REST(3));
	free_log();
}

/* Over many segments, with TxnInfos that end with a line and such that do not. */
static void long_chains(void **state)
{
	u32 n = 0;

	new_log();
	for (u32 i = 1; i <= 60; i++) {
		struct nvrec rec = { .stamp = i, .lane = i % 2 };

		for (u32 k = 0; k <= i % MAX_RECS; k++, n++) {
			rec.rec[k].block = n % 40;
			rec.rec[k].lines = 1 + i % 3;
			rec.rec[k].val = i;
		}
		put_chunk(&rec);
	}
	assert_true(nv.next > FIRST + SEG_LINES);
	assert_int_equal(accepted().chunks, 60);
	free_log();
}

/* Its tail has half of a stamp, which seems to be above S. */
static void the_tail_of_a_lane_that_has_rested_for_long(void **state)
{
	new_log();
	PUT(.stamp = 5, .rec = { { 5, ALL, 1 } });
	set_trim((1ULL << 32) + 3);
	assert_int_equal(accepted().chunks, 0);
	info_before(nv.end[0])->lane = cpu_to_le32(1);
	reseal(nv.end[0]);
	refused("it is of lane 1");
	free_log();
}

/* Each field in its place, and back. */
static void fields_of_a_txninfo_there_and_back(void **state)
{
	const struct zj_nvm_chunk c = {
		.stamp = 0x1112131415161718ULL, .prev_stamp = 0x1112131415161717ULL,
		.prev = 0x21222324, .start = FIRST + 5, .end = FIRST + 5 + 7 + 3,
		.tid = 0x31323334, .lane = 1, .nr_members = 2, .chunk_index = 0x41424344,
		.last = true, .nr_deps = 1, .nr_revokes = 2, .count = 2, .data_lines = 7,
		.data_hash = 0x5152535455565758ULL, .commit_sec = 0x6162636465666768ULL,
	};
	struct zj_nvm_chunk back;
	struct zj_txninfo *t;

	new_log();
	zj_seal_txninfo(&nv.geo, nv.seed, &c, line(c.end - 3));
	memset(&back, 0xee, sizeof(back));
	assert_null(zj_read_txninfo(&nv.geo, nv.seed, nv.mem, c.end, &back));
	assert_int_equal(back.stamp, c.stamp);
	assert_int_equal(back.prev_stamp, c.prev_stamp);
	assert_int_equal(back.prev, c.prev);
	assert_int_equal(back.start, c.start);
	assert_int_equal(back.end, c.end);
	assert_int_equal(back.tid, c.tid);
	assert_int_equal(back.lane, c.lane);
	assert_int_equal(back.nr_members, c.nr_members);
	assert_int_equal(back.chunk_index, c.chunk_index);
	assert_true(back.last);
	assert_int_equal(back.nr_deps, c.nr_deps);
	assert_int_equal(back.nr_revokes, c.nr_revokes);
	assert_int_equal(back.count, c.count);
	assert_int_equal(back.data_lines, c.data_lines);
	assert_int_equal(back.data_hash, c.data_hash);
	assert_int_equal(back.commit_sec, c.commit_sec);
	t = info_before(c.end);
	assert_int_equal(le64_to_cpu(t->generation), GENERATION);
	assert_int_equal(le64_to_cpu(t->stamp), c.stamp);
	assert_int_equal(le64_to_cpu(t->prev_stamp), c.prev_stamp);
	assert_int_equal(le32_to_cpu(t->prev), c.prev);
	assert_int_equal(le32_to_cpu(t->start), c.start);
	assert_int_equal(le32_to_cpu(t->tid), c.tid);
	assert_int_equal(le32_to_cpu(t->lane), c.lane);
	assert_int_equal(le32_to_cpu(t->nr_members), c.nr_members);
	assert_int_equal(le32_to_cpu(t->chunk_index), c.chunk_index);
	assert_int_equal(le32_to_cpu(t->flags), ZJ_TXNINFO_LAST);
	assert_int_equal(le32_to_cpu(t->nr_deps), c.nr_deps);
	assert_int_equal(le32_to_cpu(t->nr_revokes), c.nr_revokes);
	assert_int_equal(le32_to_cpu(t->data_lines), c.data_lines);
	assert_int_equal(le64_to_cpu(t->data_hash), c.data_hash);
	assert_int_equal(le64_to_cpu(t->commit_sec), c.commit_sec);
	assert_int_equal(le32_to_cpu(t->info_lines), 3);
	assert_int_equal(le32_to_cpu(t->end), c.end);
	assert_int_equal(le32_to_cpu(t->count), c.count);
	free_log();
}

/* ---- what is refused ---- */

/* One chunk that is good; what @change does to its end, named t, is not. */
#define TWIST(text, change)						\
	do {								\
		struct zj_txninfo *t;					\
									\
		new_log();						\
		PUT(.stamp = 1, .rec = { { 4, 1, 1 } });		\
		PUT(.stamp = 2, .deps = { 1 }, .revokes = { 60 },	\
		    .rec = { { 5, ALL, 1 }, { 6, 3, 1 } });		\
		t = info_before(nv.end[0]);				\
		change;							\
		reseal_lines(nv.end[0], 3);				\
		refused("lane 0, chunk before line ");			\
		refused(text);						\
		free_log();						\
	} while (0)

#define NUMBERS		"a TxnInfo with impossible numbers"
#define ENTRIES		"a TxnInfo with more entries than it can hold"
#define LENGTH		"a TxnInfo of impossible length"

static void fields_of_a_txninfo(void **state)
{
	TWIST(NUMBERS, t->flags |= cpu_to_le32(2));
	TWIST(NUMBERS, t->reserved[0] = 1);
	TWIST(NUMBERS, t->reserved[sizeof(t->reserved) - 1] = 1);
	TWIST(NUMBERS, t->end = cpu_to_le32(nv.end[0] + 1));
	TWIST(NUMBERS, t->end = cpu_to_le32(nv.end[0] - 1));
	TWIST(NUMBERS, t->start = cpu_to_le32(le32_to_cpu(t->start) + 1));
	TWIST(NUMBERS, t->start = cpu_to_le32(le32_to_cpu(t->start) - 1));
	TWIST(NUMBERS, t->start = cpu_to_le32(nv.end[0]));
	TWIST(NUMBERS, t->data_lines = cpu_to_le32(le32_to_cpu(t->data_lines) + 1));
	TWIST(NUMBERS, t->start = cpu_to_le32(FIRST - 1);
		       t->data_lines = cpu_to_le32(nv.end[0] - 3 - (FIRST - 1)));
	TWIST(NUMBERS, t->stamp = 0; t->prev_stamp = 0; t->prev = 0);
	TWIST(NUMBERS, t->lane = cpu_to_le32(2));
	TWIST(NUMBERS, t->nr_members = 0);
	TWIST(NUMBERS, t->nr_members = cpu_to_le32(3));
	TWIST(NUMBERS, t->chunk_index = cpu_to_le32(U32_MAX));
	TWIST(NUMBERS, t->prev_stamp = cpu_to_le64(3));
	TWIST(NUMBERS, t->prev_stamp = 0);
	TWIST(NUMBERS, t->prev = 0);
	TWIST(ENTRIES, t->nr_deps = cpu_to_le32(4));
	TWIST(ENTRIES, t->nr_revokes = cpu_to_le32(4));
	TWIST(ENTRIES, t->count = cpu_to_le32(4));
	TWIST(ENTRIES, t->nr_deps = cpu_to_le32(9); t->nr_revokes = 0; t->count = 0);
	TWIST(ENTRIES, t->nr_revokes = cpu_to_le32(9); t->nr_deps = 0; t->count = 0);
	TWIST(ENTRIES, t->nr_deps = cpu_to_le32(U32_MAX));
	TWIST(ENTRIES, t->nr_revokes = cpu_to_le32(U32_MAX));
	TWIST(ENTRIES, t->count = cpu_to_le32(U32_MAX));
	TWIST(LENGTH, t->info_lines = cpu_to_le32(1));
	TWIST(LENGTH, t->info_lines = cpu_to_le32(ZJ_TXNINFO_MAX_MAX / ZJ_NVM_LINE + 1));
	TWIST(LENGTH, t->info_lines = cpu_to_le32(nv.end[0] - FIRST + 1));
	TWIST("a TxnInfo with a wrong checksum", t->info_lines = cpu_to_le32(2));
	TWIST("no TxnInfo of this log", t->magic ^= cpu_to_le32(1));
	TWIST("no TxnInfo of this log", t->generation ^= cpu_to_le64(1));
	TWIST("two transactions of stamp 2", t->prev_stamp = cpu_to_le64(2));
	TWIST("the transaction's beginning is missing", t->chunk_index = cpu_to_le32(1));
	TWIST("it is out of order in its transaction", t->flags = 0);
	TWIST("it is of lane 1", t->lane = cpu_to_le32(1));
	TWIST("stamp 1 where 4294967296 was expected", t->stamp = cpu_to_le64(1ULL << 32 | 2);
	      t->prev_stamp = cpu_to_le64(1ULL << 32); set_trim(1));
	TWIST("the records are not those of their TxnInfo", t->data_hash ^= cpu_to_le64(1));
}

/* Each of them is the last that will do: 3 lines hold 64 bytes of entries. */
static void fields_at_their_bounds(void **state)
{
	u32 end;

	new_log();
	end = PUT(.stamp = 1, .members = 2, .deps = { }, .revokes = { 1, 2 },
		  .rec = { { 5, ALL, 1 }, { 6, ALL, 2 }, { HOME - 1, 1, 3 } });
	assert_int_equal(le32_to_cpu(info_before(end)->info_lines), 3);
	PUT(.stamp = 1, .lane = 1, .members = 2, .revokes = { HOME - 1 }, .rec = { { 8, 1 << 15, 1 } });
	PUT(.stamp = 2, .deps = { 1 });
	assert_int_equal(accepted().transactions, 3);
	free_log();
}

static void places_of_chunks(void **state)
{
	u32 end;

	/* A tail that points before, into and behind the log. */
	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 } });
	set_tail(0, FIRST + 1, 1);
	refused("lane 0, chunk before line 1025: there is no place in the log");
	set_tail(0, FIRST + 2, 1);
	refused("no TxnInfo of this log");
	set_tail(0, FIRST + 8 * SEG_LINES, 1);
	refused("no TxnInfo of this log");
	set_tail(0, FIRST + 8 * SEG_LINES + 1, 1);
	refused("no place in the log");
	set_tail(0, nv.end[0], 2);
	refused("stamp 1 is not that of the lane's tail");
	set_tail(1, nv.end[0], 1);
	set_tail(0, 0, 0);
	refused("lane 1, chunk before line");
	free_log();

	/* One that fills the log's last lines, and one that lies in two segments. */
	new_log();
	nv.next = FIRST + 8 * SEG_LINES - LINES - 3;
	end = PUT(.stamp = 1, .rec = { { 5, ALL, 1 } });
	assert_int_equal(end, FIRST + 8 * SEG_LINES);
	assert_int_equal(accepted().replayed, 1);
	free_log();
	new_log();
	nv.next = FIRST + SEG_LINES - LINES;
	nv.geo.seg_blocks *= 2;
	PUT(.stamp = 1, .rec = { { 5, 0xff, 1 } });
	end = PUT(.stamp = 2, .rec = { { 5, 0xff, 1 } });
	nv.geo.seg_blocks /= 2;
	assert_true(end > FIRST + SEG_LINES);
	refused(NUMBERS);
	free_log();
}

static void chains_that_break(void **state)
{
	u32 end;

	/* The chunk before is another one than the newer one says. */
	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 } });
	PUT(.stamp = 2, .rec = { { 5, ALL, 1 } });
	end = PUT(.stamp = 4, .rec = { { 5, ALL, 1 } });
	info_before(end)->prev_stamp = cpu_to_le64(3);
	reseal(end);
	refused("stamp 2 where 3 was expected");
	free_log();
	/* A chunk in the middle of its transaction is missing. */
	new_log();
	PUT(.stamp = 1, .index = 0, .more = true);
	PUT(.stamp = 1, .index = 2);
	refused("it is out of order in its transaction");
	free_log();
	/* The last one of another transaction of its stamp. */
	new_log();
	PUT(.stamp = 1, .index = 0);
	PUT(.stamp = 1, .index = 1);
	refused("it is out of order in its transaction");
	free_log();
	new_log();
	PUT(.stamp = 1, .index = 0);
	PUT(.stamp = 2, .index = 1);
	refused("the transaction's beginning is missing");
	free_log();
	/* A transaction that nobody has ended. */
	new_log();
	PUT(.stamp = 1, .index = 0, .more = true);
	refused("it is out of order in its transaction");
	free_log();
}

static void entries_out_of_range(void **state)
{
	new_log();
	PUT(.stamp = 2, .deps = { 1, 2 });
	refused("stamp 2 depends on 2, which is not older");
	free_log();
	new_log();
	PUT(.stamp = 2, .deps = { 3 });
	refused("stamp 2 depends on 3, which is not older");
	free_log();
	new_log();
	PUT(.stamp = 1, .revokes = { 1, HOME });
	refused("revoke of block 64, the device has 64");
	free_log();
	new_log();
	PUT(.stamp = 1, .rec = { { 5, 1, 1 }, { HOME, 1, 1 } });
	refused("record of block 64, the device has 64");
	free_log();
	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL + 1, 1 } });
	refused("record of block 5 with impossible lines 0x10000");
	free_log();
}

/* The numbers of lines in the records are not those of the TxnInfo. */
static void records_that_do_not_add_up(void **state)
{
	struct zj_nvm_record *rec;

	for (u32 i = 0; i < 3; i++) {
		static const u64 lines[] = { 0, 0x7, 0x1 };

		new_log();
		PUT(.stamp = 1, .rec = { { 6, 1, 1 }, { 5, 0x3, 1 } });
		rec = line(nv.end[0] - 3);
		rec[1].lines = cpu_to_le64(lines[i]);
		reseal(nv.end[0]);
		refused(i == 2 ? "the records are not those of their TxnInfo" :
			"record of block 5 with impossible lines");
		free_log();
	}
}

static void the_journals_own_blocks(void **state)
{
	new_log();
	nv.dev->log_home = 20;
	PUT(.stamp = 1, .rec = { { 19, ALL, 1 }, { 20 + JOURNAL, ALL, 1 } });
	assert_int_equal(accepted().replayed, 2);
	PUT(.stamp = 2, .rec = { { 20 + JOURNAL - 1, 1, 1 } });
	refused("which is the journal's own block 7");
	free_log();
}

static void heads_of_other_logs(void **state)
{
	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 } });
	nv.area.generation++;
	refused("the memory holds generation 1234605616436508552 of it, block 0 asks for 1234605616436508553");
	nv.area.generation--;
	nv.geo.block_size = 2048;
	put_head();
	refused("its block size is 2048, the file system's 1024");
	nv.geo.block_size = 1024;
	put_head();
	nv.mem[ZJ_NVM_HEAD_AT] ^= 1;
	refused("its head in memory: wrong magic");
	nv.mem[ZJ_NVM_HEAD_AT] ^= 1;
	assert_int_equal(accepted().replayed, 1);
	free_log();
}

/* ---- errors ---- */

static u32 bad_write;		/* home writes until one fails, and no other */

static int write_home(void *ctx, u64 block, const void *buf)
{
	return --bad_write ? mem_ops.write_home(ctx, block, buf) : -EIO;
}

static void a_home_write_that_fails_keeps_the_log(void **state)
{
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.read_home = read_home;
	ops.write_home = write_home;
	for (u32 n = 1; n <= 2; n++) {
		new_log();
		PUT(.stamp = 1, .rec = { { 5, ALL, 1 }, { 6, 1, 1 } });
		bad_write = n;
		assert_int_equal(zj_recover_nvm(&ops, nv.dev, &nv.area, BLOCK_SIZE, JOURNAL,
						HOME, false, &s), -EIO);
		assert_non_null(strstr(nv.dev->error, "error -5 writing a block home (block "));
		assert_int_equal(accepted().replayed, 2);
		free_log();
	}
}

static int poison_and_write(void *ctx, u64 block, const void *buf)
{
	/* Where the second block's lines are. */
	kl_poison = line(FIRST + LINES);
	return mem_ops.write_home(ctx, block, buf);
}

/* It could be read when the log was looked at. */
static void memory_that_fails_meanwhile_keeps_the_log(void **state)
{
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.write_home = poison_and_write;
	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 }, { 6, ALL, 2 } });
	assert_int_equal(zj_recover_nvm(&ops, nv.dev, &nv.area, BLOCK_SIZE, JOURNAL, HOME,
					false, &s), -EIO);
	kl_poison = NULL;
	assert_non_null(strstr(nv.dev->error, "the memory cannot be read at byte"));
	assert_int_equal(val_of(6), UNTOUCHED);
	assert_int_equal(accepted().replayed, 2);
	assert_int_equal(val_of(6), 2);
	free_log();
}

static bool announced[HOME];

static void ahead_home(void *ctx, u64 block)
{
	assert_false(announced[block]);
	announced[block] = true;
}

static int announced_write(void *ctx, u64 block, const void *buf)
{
	assert_true(announced[7]);
	assert_int_equal(home_reads, block == 7);
	return mem_ops.write_home(ctx, block, buf);
}

/* Those that the log has parts of, and nothing whole: before the first is written. */
static void home_blocks_are_read_ahead(void **state)
{
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.read_home = read_home;
	ops.ahead_home = ahead_home;
	ops.write_home = announced_write;
	home_reads = 0;
	memset(announced, 0, sizeof(announced));
	new_log();
	PUT(.stamp = 1, .rec = { { 5, ALL, 1 }, { 6, ALL, 1 }, { 7, 1, 1 } });
	PUT(.stamp = 2, .rec = { { 6, 1, 2 }, { 7, 2, 2 } });
	assert_int_equal(zj_recover_nvm(&ops, nv.dev, &nv.area, BLOCK_SIZE, JOURNAL, HOME,
					false, &s), 0);
	assert_false(announced[5] || announced[6]);
	assert_int_equal(home_reads, 1);
	free_log();
}

static void chunks_of_all_kinds(void)
{
	new_log();
	PUT(.stamp = 1, .members = 2, .rec = { { 5, ALL, 1 } });
	PUT(.stamp = 1, .members = 2, .lane = 1, .rec = { { 6, 1, 1 } });
	PUT(.stamp = 2, .deps = { 1 }, .revokes = { 5 }, .rec = { { 7, 1, 1 } });
	/* More than one allocation's worth of each. */
	for (u32 i = 3; i < 90; i++)
		PUT(.stamp = i, .deps = { i - 1 }, .rec = { { 7 + i % 3, 1, i } });
}

static void without_memory_nothing_is_written(void **state)
{
	u32 n = 0;
	int err;

	do {
		chunks_of_all_kinds();
		zj_fail_alloc = ++n;
		err = recover(false, NULL);
		zj_fail_alloc = 0;
		assert_true(!err || err == -ENOMEM);
		if (err) {
			assert_non_null(strstr(nv.dev->error, "out of memory"));
			assert_int_equal(nv.dev->writes, 0);
		}
		free_log();
	} while (err);
	/* Two buffers, two tables, and what grows: each once at least. */
	assert_true(n > 8);
}

/* A load of any of it would be a machine check. */
static void lines_that_cannot_be_read(void **state)
{
	u32 bad = 0, good = 0;

	chunks_of_all_kinds();
	set_trim(1);
	for (u32 at = FIRST; at < nv.next; at++) {
		int err;

		kl_poison = line(at);
		err = recover(true, NULL);
		assert_true(!err || err == -EIO);
		good += !err;
		bad += err == -EIO;
		if (err)
			assert_non_null(strstr(nv.dev->error, "the memory cannot be read at byte"));
		kl_poison = NULL;
	}
	/* What S has passed: a block, a line, and their TxnInfos; and a segment's end. */
	assert_in_range(good, LINES + 1 + 2 * 3, LINES + 1 + 3 * 3);
	assert_true(bad > 87 * 3);
	free_log();
}

const struct CMUnitTest nvmlog_tests[] = {
	cmocka_unit_test(lines_lie_over_each_other_and_over_what_is_home),
	cmocka_unit_test(a_whole_block_stands_for_itself),
	cmocka_unit_test(a_home_block_that_cannot_be_read_keeps_the_log),
	cmocka_unit_test(only_what_is_above_s_is_replayed),
	cmocka_unit_test(an_empty_log),
	cmocka_unit_test(members_and_what_they_depend_on),
	cmocka_unit_test(revokes_end_what_is_older),
	cmocka_unit_test(members_of_several_chunks),
	cmocka_unit_test(long_chains),
	cmocka_unit_test(the_tail_of_a_lane_that_has_rested_for_long),
	cmocka_unit_test(fields_of_a_txninfo_there_and_back),
	cmocka_unit_test(fields_of_a_txninfo),
	cmocka_unit_test(fields_at_their_bounds),
	cmocka_unit_test(places_of_chunks),
	cmocka_unit_test(chains_that_break),
	cmocka_unit_test(entries_out_of_range),
	cmocka_unit_test(records_that_do_not_add_up),
	cmocka_unit_test(the_journals_own_blocks),
	cmocka_unit_test(heads_of_other_logs),
	cmocka_unit_test(a_home_write_that_fails_keeps_the_log),
	cmocka_unit_test(home_blocks_are_read_ahead),
	cmocka_unit_test(memory_that_fails_meanwhile_keeps_the_log),
	cmocka_unit_test(without_memory_nothing_is_written),
	cmocka_unit_test(lines_that_cannot_be_read),
};
const size_t nr_nvmlog_tests = ARRAY_SIZE(nvmlog_tests);
