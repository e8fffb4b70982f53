// SPDX-License-Identifier: GPL-2.0-only
/* What recovery does with logs that a correct writer and a crash can leave. */
#include <stdio.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <asm/byteorder.h>
#include "memlog.h"
#include "recovery/recovery_int.h"
#include "tests.h"

static void empty_log(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 0);
	assert_int_equal(s.replayed, 0);
	ml_free(d);
}

static void valid_chain(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' }, { 6, 'a' } });
	PUT(d, 0, .stamp = 2, .deps = { 1 }, .img = { { 5, 'b' } });
	PUT(d, 3, .stamp = 3, .lane = 1, .deps = { 1, 2 }, .img = { { 7, 'c' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 3);
	assert_int_equal(s.valid_components, 3);
	assert_int_equal(s.transactions, 3);
	assert_int_equal(s.chunks, 3);
	assert_int_equal(s.images, 4);
	assert_int_equal(s.replayed, 3);
	assert_int_equal(s.newest_stamp, 3);
	ml_expect(d, 5, 'b');
	ml_expect(d, 6, 'a');
	ml_expect(d, 7, 'c');
	ml_expect(d, 8, 0);
	ml_free(d);
}

/* One member, three chunks in two segments, the last one first. */
static void member_of_many_chunks(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 1, .stamp = 1, .chunks = 3, .index = 2, .img = { { 1, 'a' } });
	PUT(d, 4, .stamp = 1, .chunks = 3, .index = 0, .img = { { 2, 'a' } });
	PUT(d, 4, .stamp = 1, .chunks = 3, .index = 1, .img = { { 3, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.chunks, 3);
	assert_int_equal(s.transactions, 1);
	for (u64 b = 1; b <= 3; b++)
		ml_expect(d, b, 'a');
	ml_free(d);
}

static void missing_chunk(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 1, .stamp = 1, .chunks = 3, .index = 2, .img = { { 1, 'a' } });
	PUT(d, 4, .stamp = 1, .chunks = 3, .index = 0, .img = { { 2, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.discarded, 1);
	assert_int_equal(s.replayed, 0);
	ml_expect(d, 1, 0);
	ml_free(d);
}

static void missing_dependency(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 2, .img = { { 5, 'a' } });
	PUT(d, 1, .stamp = 3, .lane = 1, .deps = { 1, 2 }, .img = { { 6, 'a' } });
	PUT(d, 2, .stamp = 4, .lane = 2, .deps = { 3 }, .img = { { 7, 'a' } });
	PUT(d, 3, .stamp = 5, .lane = 3, .deps = { 2 }, .img = { { 8, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.valid_components, 2);
	assert_int_equal(s.discarded, 2);
	ml_expect(d, 5, 'a');
	ml_expect(d, 6, 0);
	ml_expect(d, 7, 0);
	ml_expect(d, 8, 'a');
	ml_free(d);
}

static void dependency_on_trimmed(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	ml_trim(d, 1, 7);
	PUT(d, 0, .stamp = 7, .img = { { 5, 'o' } });
	PUT(d, 0, .stamp = 8, .deps = { 7, 3 }, .img = { { 6, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.trim_stamp, 7);
	assert_int_equal(s.components, 1);
	ml_expect(d, 5, 0);
	ml_expect(d, 6, 'a');
	ml_free(d);
}

static void trimmed_images_are_not_read(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;
	u32 at;

	ml_trim(d, 1, 7);
	at = PUT(d, 0, .stamp = 7, .img = { { 5, 'o' } });
	memset(ml_block(d, at + 1), 0xff, 1024);
	PUT(d, 0, .stamp = 8, .img = { { 6, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.torn_chunks, 0);
	ml_expect(d, 6, 'a');
	ml_free(d);
}

static void torn_image(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;
	u32 at;

	at = PUT(d, 0, .stamp = 1, .img = { { 5, 'a' }, { 6, 'a' } });
	PUT(d, 0, .stamp = 2, .img = { { 7, 'b' } });
	memset(ml_block(d, at + 2) + ZJ_SECTOR, 0, ZJ_SECTOR);
	ml_recover_ok(d, &s);
	assert_int_equal(s.torn_chunks, 1);
	ml_expect(d, 5, 0);
	ml_expect(d, 6, 0);
	/* Scanning goes on after it; nothing says that 2 needs 1. */
	ml_expect(d, 7, 'b');
	ml_free(d);
}

static void torn_header(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;
	u32 at;

	at = PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 2, .deps = { 1 }, .img = { { 6, 'b' } });
	memset(ml_block(d, at) + ZJ_SECTOR, 0xff, ZJ_SECTOR);
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 0);
	ml_expect(d, 5, 0);
	ml_expect(d, 6, 0);
	ml_free(d);
}

static void trim_slots_alternate(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	for (u64 seq = 1; seq < 6; seq++) {
		ml_trim(d, seq, seq * 10);
		assert_int_equal(ml_recover(d, true, &s), 0);
		assert_int_equal(s.trim_stamp, seq * 10);
	}
	ml_free(d);
}

static void trim_slot_torn(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	ml_trim(d, 1, 10);
	memset(ml_block(d, 3) + 0x18, 0, 8);
	assert_int_equal(ml_recover(d, true, &s), 0);
	assert_int_equal(s.trim_stamp, 0);
	ml_trim(d, 1, 10);
	ml_trim(d, 2, 20);
	memset(ml_block(d, 2) + 0x18, 0, 8);
	assert_int_equal(ml_recover(d, true, &s), 0);
	assert_int_equal(s.trim_stamp, 10);
	ml_free(d);
}

/* A slot of the last generation says nothing about this one. */
static void trim_slot_stale(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	d->geo.generation--;
	ml_trim(d, 8, 1000);
	ml_trim(d, 9, 1001);
	d->geo.generation++;
	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.trim_stamp, 0);
	ml_expect(d, 5, 'a');
	ml_free(d);
}

static void stale_generation(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'o' } });
	PUT(d, 0, .stamp = 2, .img = { { 6, 'o' } });
	d->geo.generation++;
	d->seed = zj_seed(mem_uuid, d->geo.generation);
	ml_log_super(d);
	PUT(d, 1, .stamp = 1, .img = { { 7, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 1);
	ml_expect(d, 5, 0);
	ml_expect(d, 6, 0);
	ml_expect(d, 7, 'a');
	ml_free(d);
}

/* The new tenure is shorter; the old one's chunks after it are in place. */
static void stale_tenure(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'o' } });
	PUT(d, 0, .stamp = 2, .img = { { 6, 'o' } });
	PUT(d, 0, .stamp = 9, .lane = 0, .img = { { 7, 'o' } });
	ml_tenure(d, 0, 500);
	PUT(d, 0, .stamp = 11, .img = { { 8, 'a' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 1);
	ml_expect(d, 6, 0);
	ml_expect(d, 7, 0);
	ml_expect(d, 8, 'a');
	ml_free(d);
}

/* The new tenure's first header was lost: the old one's is there instead. */
static void stale_first_chunk(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;
	u8 old[1024];

	ml_trim(d, 1, 1);
	PUT(d, 0, .stamp = 1, .img = { { 5, 'o' } });
	memcpy(old, ml_block(d, 4), sizeof(old));
	ml_tenure(d, 0, 500);
	PUT(d, 0, .stamp = 2, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 3, .deps = { 2 }, .img = { { 6, 'a' } });
	memcpy(ml_block(d, 4), old, sizeof(old));
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 0);
	ml_expect(d, 5, 0);
	ml_expect(d, 6, 0);
	ml_free(d);
}

/* A segment filled to its last block, and one that ends in a lone header. */
static void full_segment(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 15, .stamp = 1, .img = { { 1, 'a' }, { 2, 'a' }, { 3, 'a' },
					{ 4, 'a' }, { 5, 'a' }, { 6, 'a' },
					{ 7, 'a' } });
	PUT(d, 14, .stamp = 2, .lane = 1,
	    .img = { { 11, 'a' }, { 12, 'a' }, { 13, 'a' }, { 14, 'a' },
		     { 15, 'a' }, { 16, 'a' } });
	PUT(d, 14, .stamp = 3, .lane = 1, .revokes = { 11 });
	ml_recover_ok(d, NULL);
	for (u64 b = 1; b <= 7; b++)
		ml_expect(d, b, 'a');
	ml_expect(d, 11, 0);
	ml_expect(d, 16, 'a');
	ml_free(d);
}

static void revokes(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' }, { 6, 'a' }, { 7, 'a' } });
	PUT(d, 0, .stamp = 2, .img = { { 5, 'b' } });
	PUT(d, 1, .stamp = 3, .lane = 1, .revokes = { 5, 6, 20 });
	PUT(d, 1, .stamp = 4, .lane = 1, .img = { { 6, 'c' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.images, 5);
	assert_int_equal(s.revoked, 3);
	assert_int_equal(s.replayed, 2);
	ml_expect(d, 5, 0);
	ml_expect(d, 6, 'c');
	ml_expect(d, 7, 'a');
	ml_free(d);
}

static void revoke_in_invalid_component(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 1, .stamp = 2, .lane = 1, .members = 2, .revokes = { 5 });
	ml_recover_ok(d, NULL);
	ml_expect(d, 5, 'a');
	ml_free(d);
}

/* The revoke is trimmed, so what it revoked is too. */
static void revoke_trimmed(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	ml_trim(d, 1, 2);
	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 1, .stamp = 2, .lane = 1, .revokes = { 5 });
	PUT(d, 1, .stamp = 3, .lane = 1, .img = { { 5, 'b' } });
	ml_recover_ok(d, NULL);
	ml_expect(d, 5, 'b');
	ml_free(d);
}

static void escaped_images(void **state)
{
	static const u8 magic[2][4] = {
		{ 0xc0, 0x3b, 0x39, 0x98 }, { 'Z', 'J', 'C', 'H' },
	};
	struct memdev *d = ml_new(16, 8, 32);

	for (u32 i = 0; i < 2; i++) {
		u32 at = PUT(d, i, .stamp = i + 1, .lane = i,
			     .img = { { 5 + i, 'a' } });
		struct zj_tag *tag = zj_chunk_tags(ml_block(d, at), 0, 0);
		u8 *image = ml_block(d, at + 1);

		memcpy(image, magic[i], 4);
		tag->flags = cpu_to_le16(zj_escape(image));
		assert_int_not_equal(tag->flags, 0);
		tag->csum = cpu_to_le32(zj_image_csum(d->seed, image, 1024));
		ml_reseal(d, at);
	}
	ml_recover_ok(d, NULL);
	for (u32 i = 0; i < 2; i++)
		assert_memory_equal(d->home + (5 + i) * 1024, magic[i], 4);
	ml_free(d);
}

/* Far more of everything than the arrays begin with. */
static void large_log(void **state)
{
	struct memdev *d = ml_new(32, 512, 4096);
	struct zj_recovery_stats s;
	u64 stamp = 0;

	for (u32 seg = 0; seg < 32; seg++)
		for (u32 i = 0; i < 500 / 5; i++) {
			stamp++;
			PUT(d, seg, .stamp = stamp, .lane = seg % 8,
			    .deps = { stamp - 1, stamp / 2 },
			    .revokes = { 4000 },
			    .img = { { stamp % 3000, 'x' }, { 3500, 'y' },
				     { 3600 + seg, 'a' + i % 20 },
				     { 3700 + i, 'b' } });
		}
	/* Stamp 1 has no dependencies, so revokes came first in its list. */
	assert_int_equal(ml_recover(d, false, &s), 0);
	assert_int_equal(s.valid_components, 3200);
	assert_int_equal(s.images, 4 * 3200);
	assert_int_equal(s.replayed, 3000 + 1 + 32 + 100);
	ml_expect(d, 3500, 'y');
	ml_expect(d, 3600, 'a' + 99 % 20);
	ml_free(d);
}

/* A chain of 3,000 whose first link is missing: nothing of it is valid. */
static void long_broken_chain(void **state)
{
	struct memdev *d = ml_new(32, 512, 32);
	struct zj_recovery_stats s;

	for (u64 stamp = 2; stamp < 3002; stamp++)
		PUT(d, (stamp - 2) / 256, .stamp = stamp, .deps = { stamp - 1 },
		    .img = { { 3, 'x' } });
	assert_int_equal(ml_recover(d, false, &s), 0);
	assert_int_equal(s.components, 3000);
	assert_int_equal(s.valid_components, 0);
	ml_expect(d, 3, 0);
	ml_free(d);
}

static struct memdev *small_log(void)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' }, { 6, 'a' } });
	PUT(d, 1, .stamp = 2, .lane = 1, .deps = { 1 }, .img = { { 7, 'a' } });
	return d;
}

static void read_errors(void **state)
{
	struct memdev *d = small_log(), *c = ml_clone(d);
	u32 i;

	for (i = 0; ; i++) {
		ml_copy(c, d);
		c->read_error_at = i;
		if (!ml_recover(c, false, NULL))
			break;
		assert_non_null(strstr(c->error, "error -5 reading"));
		/* Nothing but images written so far, and the log is as before. */
		c->read_error_at = ML_NEVER;
		ml_power_cut(c);
		assert_int_equal(ml_recover(c, false, NULL), 0);
		ml_expect(c, 5, 'a');
		ml_expect(c, 7, 'a');
	}
	assert_true(i > 16);
	ml_free(c);
	ml_free(d);
}

static u32 bad_write;		/* home writes until one fails, and no other */

static int write_home(void *ctx, u64 block, const void *buf)
{
	return --bad_write ? mem_ops.write_home(ctx, block, buf) : -EIO;
}

static void one_write_fails(void **state)
{
	struct memdev *d = small_log(), *c = ml_clone(d);
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.write_home = write_home;
	for (u32 n = 1; n <= 3; n++) {
		ml_copy(c, d);
		bad_write = n;
		assert_int_equal(zj_recover(&ops, c, mem_uuid, 1024, c->geo.total_blocks, 32, 0,
					    &s), -EIO);
		assert_non_null(strstr(c->error, "writing a block home"));
		assert_int_equal(c->writes, n - 1);
		ml_power_cut(c);
		ml_recover_ok(c, &s);
		assert_int_equal(s.replayed, 3);
	}
	ml_free(c);
	ml_free(d);
}

static void no_memory(void **state)
{
	struct memdev *d = small_log();
	unsigned long i;
	int err;

	for (i = 1; ; i++) {
		zj_fail_alloc = i;
		err = ml_recover(d, false, NULL);
		zj_fail_alloc = 0;
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_non_null(strstr(d->error, "out of memory"));
		assert_int_equal(d->writes, 0);
	}
	assert_true(i > 5);
	ml_expect(d, 5, 'a');
	ml_free(d);
}

/* The image reads well in the scan and badly at replay. */
static int fickle_read(void *ctx, u32 block, u32 nr, void *buf)
{
	struct memdev *d = ctx;
	int err = mem_ops.read_log(ctx, block, nr, buf);

	if (d->writes)
		memset(buf, 0x77, d->geo.block_size);
	return err;
}

static void image_changes_between_reads(void **state)
{
	struct memdev *d = small_log();
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.read_log = fickle_read;
	assert_int_equal(zj_recover(&ops, d, mem_uuid, 1024,
				    d->geo.total_blocks, 32, false, &s), -EIO);
	assert_non_null(strstr(d->error, "second time"));
	ml_power_cut(d);
	ml_recover_ok(d, NULL);
	ml_expect(d, 6, 'a');
	ml_free(d);
}

/* Nothing is home until it is flushed; the log may be emptied only then. */
static u32 writes_before_flush;

static int noting_flush(void *ctx)
{
	writes_before_flush = ((struct memdev *)ctx)->writes;
	return mem_ops.flush_home(ctx);
}

static void order_of_writes(void **state)
{
	struct memdev *d = small_log();
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.flush_home = noting_flush;
	assert_int_equal(zj_recover(&ops, d, mem_uuid, 1024,
				    d->geo.total_blocks, 32, false, &s), 0);
	assert_int_equal(writes_before_flush, 3);
	assert_int_equal(d->writes, 5);
	ml_free(d);
}

/* ---- the durable stamp ---- */

/* Three components of one lane, then one of another lane that knows of all three. */
static struct memdev *durable_log(u32 at[3])
{
	struct memdev *d = ml_new(16, 8, 32);

	at[0] = PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	at[1] = PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
	at[2] = PUT(d, 0, .stamp = 3, .durable = 2, .img = { { 7, 'c' } });
	PUT(d, 4, .stamp = 4, .lane = 1, .durable = 3, .img = { { 8, 'd' } });
	return d;
}

static void durable_and_whole(void **state)
{
	struct zj_recovery_stats s;
	struct memdev *d;
	u32 at[3];

	d = durable_log(at);
	ml_recover_ok(d, &s);
	assert_int_equal(s.durable_stamp, 3);
	assert_int_equal(s.valid_components, 4);
	ml_free(d);
}

/* The lowest of several torn ones is told with its place; others are not in the log. */
static void durable_lost_is_told_with_its_place(void **state)
{
	for (u32 first = 1; first <= 3; first++) {
		u32 at[3], place;
		struct memdev *d;
		char text[128];

		for (u32 also = 0; also < 2; also++) {
			d = durable_log(at);
			for (u32 i = first - 1; i < (also ? 3 : first); i++)
				((u8 *)ml_block(d, at[i] + 1))[700] ^= 1;
			place = at[first - 1] - ml_seg_block(d, 0, 0);
			snprintf(text, sizeof(text), "stamp %u: a block of segment 0 block %u has a wrong checksum, though all up to stamp 3",
				 first, place);
			ml_recover_refused(d, text);
			ml_free(d);
		}
	}
	for (u32 newer = 0; newer < 2; newer++) {
		struct memdev *d = ml_new(16, 8, 32);
		/* The older one is found later. */
		u32 b = PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
		u32 a = PUT(d, 1, .stamp = 1, .lane = 1, .img = { { 5, 'a' } });

		PUT(d, 2, .stamp = 3, .lane = 2, .durable = 2, .img = { { 7, 'c' } });
		((u8 *)ml_block(d, a + 1))[700] ^= 1;
		((u8 *)ml_block(d, b + 1))[700] ^= newer;
		ml_recover_refused(d, "stamp 1: a block of segment 1 block 0 has a wrong");
		ml_free(d);
	}
}

/* A changed image, a changed header, a block that was never written. */
static void durable_lost(void **state)
{
	struct memdev *d;
	char text[64];
	u32 at[3];

	for (u32 i = 0; i < 9; i++) {
		d = durable_log(at);
		if (i % 3 == 0)
			((u8 *)ml_block(d, at[i / 3] + 1))[700] ^= 1;
		else if (i % 3 == 1)
			((u8 *)ml_block(d, at[i / 3]))[700] ^= 1;
		else
			memset(ml_block(d, at[i / 3]), 0, 1024);
		snprintf(text, sizeof(text), "damaged log: stamp %u", 1 + i / 3);
		ml_recover_refused(d, text);
		ml_free(d);
	}
}

/* What only a header behind the lost one tells; the last chunk nobody vouches for. */
static void durable_behind_lost_header(void **state)
{
	struct zj_recovery_stats s;
	struct memdev *d = ml_new(16, 8, 32);
	u32 at, last;

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	at = PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
	last = PUT(d, 0, .stamp = 3, .durable = 2, .img = { { 7, 'c' } });
	((u8 *)ml_block(d, last + 1))[1000] ^= 1;
	ml_recover_ok(d, &s);
	assert_int_equal(s.valid_components, 2);
	assert_int_equal(s.durable_stamp, 2);
	ml_free(d);

	d = ml_new(16, 8, 32);
	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	at = PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
	PUT(d, 0, .stamp = 3, .durable = 2, .img = { { 7, 'c' } });
	((u8 *)ml_block(d, at))[900] ^= 1;
	ml_recover_refused(d, "stamp 2 is not in the log, or in part only, though all up to stamp 2 was durable");
	ml_free(d);
}

static void durable_first_block_lost(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	u32 at = PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });

	PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
	((u8 *)ml_block(d, at))[900] ^= 1;
	ml_recover_refused(d, "stamp 1 is not in the log");
	ml_free(d);
}

/* Trimmed stamps are missed by nobody, whoever tells what is trimmed. */
static void durable_and_trimmed(void **state)
{
	struct zj_recovery_stats s;
	struct memdev *d;
	u32 at[3];

	d = durable_log(at);
	memset(ml_block(d, at[0]), 0, 1024);
	ml_trim(d, 1, 3);
	ml_recover_ok(d, &s);
	assert_int_equal(s.valid_components, 1);
	ml_free(d);

	d = ml_new(16, 8, 32);
	d->geo.trim_stamp = 70;
	ml_log_super(d);
	PUT(d, 0, .stamp = 71, .durable = 70, .img = { { 5, 'a' } });
	PUT(d, 0, .stamp = 72, .durable = 71, .img = { { 6, 'b' } });
	ml_recover_ok(d, &s);
	assert_int_equal(s.trim_stamp, 70);
	assert_int_equal(s.valid_components, 2);
	ml_free(d);
}

/* The newest trim slot has rotted, and what it freed is in use again. */
static void trim_slot_rotten(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);

	PUT(d, 0, .stamp = 1, .img = { { 5, 'a' } });
	PUT(d, 1, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
	ml_trim(d, 1, 0);
	ml_trim(d, 2, 1);
	ml_tenure(d, 0, 500);
	PUT(d, 0, .stamp = 3, .durable = 2, .img = { { 7, 'c' } });
	((u8 *)ml_block(d, 2))[0x100] ^= 1;
	ml_recover_refused(d, "stamp 1 is not in the log");
	ml_free(d);
}

static void durable_dropped(void **state)
{
	struct zj_recovery_stats s;
	struct memdev *d;
	u32 at[3];

	d = durable_log(at);
	((u8 *)ml_block(d, at[1] + 1))[700] ^= 1;
	assert_int_equal(ml_recover_dropping(d, &s), 0);
	assert_int_equal(s.lost_stamp, 2);
	assert_int_equal(s.transactions, 1);
	assert_int_equal(s.discarded, 2);
	assert_int_equal(s.newest_stamp, 1);
	ml_expect(d, 5, 'a');
	for (u64 b = 6; b <= 8; b++)
		ml_expect(d, b, 0);
	ml_recover_ok(d, &s);
	assert_int_equal(s.components, 0);
	ml_free(d);
}

/* The first one is lost; of those above it one is incomplete anyway. */
static void durable_dropped_from_the_first_on(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	PUT(d, 0, .stamp = 2, .durable = 1, .img = { { 6, 'b' } });
	PUT(d, 0, .stamp = 3, .members = 2, .durable = 1, .img = { { 7, 'c' } });
	PUT(d, 1, .stamp = 4, .lane = 1, .durable = 1, .img = { { 8, 'd' } });
	assert_int_equal(ml_recover_dropping(d, &s), 0);
	assert_int_equal(s.lost_stamp, 1);
	assert_int_equal(s.components, 3);
	assert_int_equal(s.valid_components, 0);
	assert_int_equal(s.transactions, 0);
	assert_int_equal(s.discarded, 3);
	assert_int_equal(s.newest_stamp, 0);
	assert_int_equal(s.replayed, 0);
	for (u64 b = 6; b <= 8; b++)
		ml_expect(d, b, 0);
	ml_free(d);
}

/* ---- what is read ---- */

/* One block tells of a segment that it is free, or that its tenure is stale. */
static void free_segments_cost_a_block(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	__le64 generation = cpu_to_le64(d->geo.generation);

	assert_int_equal(ml_recover(d, true, NULL), 0);
	assert_int_equal(d->blocks_read, 1 + 2 + 16);
	/* Another generation's header; this one's without the magic number. */
	d->geo.generation--;
	PUT(d, 3, .stamp = 1, .img = { { 5, 'o' } });
	d->geo.generation++;
	memcpy(ml_block(d, ml_seg_block(d, 4, 0)) + offsetof(struct zj_chunk_header, generation),
	       &generation, sizeof(generation));
	d->blocks_read = 0;
	assert_int_equal(ml_recover(d, true, NULL), 0);
	assert_int_equal(d->blocks_read, 1 + 2 + 16);
	PUT(d, 5, .stamp = 1, .img = { { 5, 'a' } });
	d->blocks_read = 0;
	assert_int_equal(ml_recover(d, true, NULL), 0);
	assert_int_equal(d->blocks_read, 1 + 2 + 16 + 7);
	ml_free(d);
}

/* A host whose journal is not within the file system. */
static void journal_elsewhere(void **state)
{
	struct memdev *d = small_log();
	struct zj_io_ops ops = mem_ops;
	struct zj_recovery_stats s;

	ops.log_home = NULL;
	assert_int_equal(zj_recover(&ops, d, mem_uuid, 1024, d->geo.total_blocks, 32, 0, &s), 0);
	assert_int_equal(s.replayed, 3);
	ml_expect(d, 7, 'a');
	ml_free(d);
}

/* Whoever is killed while he waits for a mount gets away; the log is as it was. */
static void killed_anywhere(void **state)
{
	struct memdev *d = small_log(), *c = ml_clone(d);
	u32 before = 0, after = 0;
	int err;

	for (u32 n = 1; ; n++) {
		ml_copy(c, d);
		kl_killed_in = n;
		err = ml_recover(c, false, NULL);
		kl_killed_in = 0;
		if (!err)
			break;
		assert_int_equal(err, -EINTR);
		if (c->writes)
			after++;
		else
			before++;
		ml_power_cut(c);
		ml_recover_ok(c, NULL);
		ml_expect(c, 5, 'a');
		ml_expect(c, 7, 'a');
	}
	/* Each segment, component, own block, chunk with revokes; each image. */
	assert_true(before >= 16 + 2 + c->geo.total_blocks + 2);
	assert_int_equal(after, 3);
	ml_free(c);
	ml_free(d);
}

/* ---- logs that nobody would write but to keep recovery busy ---- */

static void more_dependencies_than_lanes(void **state)
{
	struct memdev *d = ml_new(16, 8, 32), *c;

	/* Eight lanes: what one chunk may have, and one more in another member's. */
	for (u64 stamp = 1; stamp <= 8; stamp++)
		PUT(d, 0, .stamp = stamp);
	c = ml_clone(d);
	PUT(d, 1, .stamp = 9, .lane = 1, .members = 2,
	    .deps = { 1, 2, 3, 4, 5, 6, 7, 8 });
	PUT(d, 2, .stamp = 9, .lane = 2, .members = 2);
	ml_recover_ok(d, NULL);
	PUT(c, 1, .stamp = 9, .lane = 1, .members = 2,
	    .deps = { 1, 2, 3, 4, 5, 6, 7, 8 });
	PUT(c, 2, .stamp = 9, .lane = 2, .members = 2, .deps = { 3 });
	ml_recover_refused(c, "stamp 9: 9 dependencies, in a log of 8 lanes");
	ml_free(c);
	ml_free(d);
}

/* Numbers that meet in one place, for whoever knows how they are scattered. */
static void table_of_chosen_numbers(void **state)
{
	enum { NR = 4096 };

	for (u32 shift = 0; shift <= 52; shift += 4) {
		struct zj_table t = { 0 }, other = { 0 };

		assert_int_equal(zj_table_init(&t, NR), 0);
		for (u32 i = 0; i < NR; i++)
			zj_table_add(&t, (u64)i << shift, i);
		for (u32 i = 0; i < NR; i++)
			assert_int_equal(zj_table_find(&t, (u64)i << shift), i);
		assert_int_equal(zj_table_find(&t, ~0ULL), -1);
		assert_in_range(t.steps, 2 * NR + 1, 8 * NR);
		/* Another one is scattered in another way. */
		assert_int_equal(zj_table_init(&other, 1), 0);
		assert_true(other.salt >> 32 && (u32)other.salt && other.salt != t.salt);
		zj_table_free(&other);
		zj_table_free(&t);
	}
}

enum { BUSY = 2000, BUSY_REVOKES = 60 };

/* As a scan of BUSY chunks leaves it, each with an image and all that it may name. */
static void busy_log(struct zj_recovery *r, struct memdev *d, struct zj_recovery_stats *st)
{
	u64 *entry;

	zj_recovery_begin(r, &mem_ops, d, st);
	r->geo = d->geo;
	r->geo.nr_lanes = ZJ_MAX_LANES;
	for (u32 i = 0; i < BUSY; i++) {
		u32 deps = min_t(u32, i, ZJ_MAX_LANES);

		*(struct zj_rec_chunk *)zj_vec_add(&r->chunks) = (struct zj_rec_chunk) {
			.stamp = 1 + i * 1000ULL, .nr_members = 1, .nr_chunks = 1,
			.first_dep = r->entries.nr, .nr_deps = deps,
			.first_revoke = r->entries.nr + deps, .nr_revokes = BUSY_REVOKES,
			.first_image = i, .nr_images = 1,
		};
		*(struct zj_rec_image *)zj_vec_add(&r->images) = (struct zj_rec_image) {
			.block = i * 64ULL, .stamp = 1 + i * 1000ULL,
		};
		for (u32 k = 0; k < deps + BUSY_REVOKES; k++) {
			entry = zj_vec_add(&r->entries);
			*entry = k < deps ? 1 + (i - 1 - k) * 1000ULL :
				 (i + k * 7919ULL) % BUSY * 64;
		}
	}
}

/* A few steps an entry, however many components and images there are. */
static void busy_log_in_few_steps(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats st;
	struct zj_recovery r;

	busy_log(&r, d, &st);
	assert_int_equal(zj_graph(&r), 0);
	assert_int_equal(st.valid_components, BUSY);
	assert_int_equal(zj_choose(&r), 0);
	assert_in_range(r.by_stamp.steps + r.by_block.steps, r.entries.nr, 4 * r.entries.nr);
	zj_recovery_end(&r);
	ml_free(d);
}

static void array_above_two_gib(void **state)
{
	struct zj_vec v = { .size = 32 << 20 };

	/* Of the 64 elements that it makes room for, none is touched. */
	assert_non_null(zj_vec_add(&v));
	assert_true((u64)v.room * v.size > INT_MAX);
	kvfree(v.items);
}

/* ---- others run, and a kill ends it ---- */

static u32 compared;

static int compare_numbers(const void *a, const void *b)
{
	compared++;
	return zj_cmp(*(const u64 *)a, *(const u64 *)b);
}

static struct zj_vec numbers(u32 nr)
{
	struct zj_vec v = { .size = sizeof(u64) };

	for (u64 i = 0; i < nr; i++)
		*(u64 *)zj_vec_add(&v) = i * 2654435761U % nr;
	return v;
}

static void sorting_lets_others_run(void **state)
{
	struct zj_vec v = numbers(100000);
	const u64 *item = v.items;

	compared = 0;
	kl_asked = 0;
	assert_int_equal(zj_sort(&v, compare_numbers), 0);
	for (u32 i = 1; i < v.nr; i++)
		assert_true(item[i - 1] <= item[i]);
	/* Ten thousand comparisons or so take no millisecond. */
	assert_true(kl_asked >= compared / 10000);
	kvfree(v.items);
	/* Nothing to sort. */
	v = (struct zj_vec){ .size = sizeof(u64) };
	assert_int_equal(zj_sort(&v, compare_numbers), 0);
}

static void a_kill_ends_the_sorting(void **state)
{
	struct zj_vec v = numbers(100000);

	compared = 0;
	kl_asked = 0;
	kl_killed_in = 3;
	assert_int_equal(zj_sort(&v, compare_numbers), -EINTR);
	kl_killed_in = 0;
	assert_in_range(compared, 1, 30000);
	kvfree(v.items);
}

/* And may be killed there. */
static void every_pass_lets_others_run(void **state)
{
	struct memdev *d = ml_new(16, 8, 32);
	struct zj_recovery_stats s;

	for (u64 stamp = 1; stamp <= 30; stamp++)
		PUT(d, stamp / 4, .stamp = stamp, .lane = stamp / 4, .revokes = { stamp % 7 },
		    .img = { { 8 + stamp % 20, stamp } });
	kl_asked = 0;
	assert_int_equal(ml_recover(d, false, &s), 0);
	/* At segments, components, chunks twice, images, the journal's blocks, blocks, writes. */
	assert_true(kl_asked >= 16 + 4 * 30 + d->geo.total_blocks + 2 * s.replayed);
	ml_free(d);
}

const struct CMUnitTest recovery_tests[] = {
	cmocka_unit_test(empty_log),
	cmocka_unit_test(valid_chain),
	cmocka_unit_test(member_of_many_chunks),
	cmocka_unit_test(missing_chunk),
	cmocka_unit_test(missing_dependency),
	cmocka_unit_test(dependency_on_trimmed),
	cmocka_unit_test(trimmed_images_are_not_read),
	cmocka_unit_test(torn_image),
	cmocka_unit_test(torn_header),
	cmocka_unit_test(trim_slots_alternate),
	cmocka_unit_test(trim_slot_torn),
	cmocka_unit_test(trim_slot_stale),
	cmocka_unit_test(stale_generation),
	cmocka_unit_test(stale_tenure),
	cmocka_unit_test(stale_first_chunk),
	cmocka_unit_test(full_segment),
	cmocka_unit_test(revokes),
	cmocka_unit_test(revoke_in_invalid_component),
	cmocka_unit_test(revoke_trimmed),
	cmocka_unit_test(escaped_images),
	cmocka_unit_test(large_log),
	cmocka_unit_test(long_broken_chain),
	cmocka_unit_test(read_errors),
	cmocka_unit_test(one_write_fails),
	cmocka_unit_test(no_memory),
	cmocka_unit_test(image_changes_between_reads),
	cmocka_unit_test(order_of_writes),
	cmocka_unit_test(durable_and_whole),
	cmocka_unit_test(durable_lost),
	cmocka_unit_test(durable_lost_is_told_with_its_place),
	cmocka_unit_test(durable_behind_lost_header),
	cmocka_unit_test(durable_first_block_lost),
	cmocka_unit_test(durable_and_trimmed),
	cmocka_unit_test(trim_slot_rotten),
	cmocka_unit_test(durable_dropped),
	cmocka_unit_test(durable_dropped_from_the_first_on),
	cmocka_unit_test(free_segments_cost_a_block),
	cmocka_unit_test(journal_elsewhere),
	cmocka_unit_test(killed_anywhere),
	cmocka_unit_test(more_dependencies_than_lanes),
	cmocka_unit_test(table_of_chosen_numbers),
	cmocka_unit_test(busy_log_in_few_steps),
	cmocka_unit_test(array_above_two_gib),
	cmocka_unit_test(sorting_lets_others_run),
	cmocka_unit_test(a_kill_ends_the_sorting),
	cmocka_unit_test(every_pass_lets_others_run),
};
const size_t nr_recovery_tests = ARRAY_SIZE(recovery_tests);
