// SPDX-License-Identifier: GPL-2.0-only
/*
 * biglog IMAGE TRANSACTIONS LANES RUN [KIND]: fill the journal of a new ext4 image
 * with that many small transactions, as a crash leaves it.  A lane's images are of
 * RUN home blocks side by side, then it goes on elsewhere; 1: all over the device.
 * Prints the distinct home blocks, one a line.
 *
 * KIND: what makes recovery work.  deps: each transaction depends on as many others
 * as it may; revokes: it revokes as many blocks as its header has room for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include <et/com_err.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include "format/codec.h"
#include "extimage.h"

static struct ext_image img;
static struct zj_log_geometry geo;
static u32 seed, nr_segs_used;
static bool many_deps, many_revokes;
static u64 state = 88172645463325252ULL;

static struct {
	u32	seg;		/* being filled */
	u32	pos;		/* blocks used in it */
	u64	last;		/* stamp */
	u64	home;		/* block of its last image */
	u32	left;		/* blocks to the end of its run */
	u8	*buf;		/* the segment */
} lanes[ZJ_MAX_LANES];

static u64 any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void die(const char *what)
{
	fprintf(stderr, "biglog: %s\n", what);
	exit(1);
}

static void flush_segment(u32 lane)
{
	u32 first = geo.log_first + lanes[lane].seg * geo.seg_blocks;

	for (u32 i = 0; i < lanes[lane].pos; i++)
		if (ext_ops.write_home(&img, zj_map_block(&img.map, first + i),
				       lanes[lane].buf + (size_t)i * geo.block_size))
			die("write");
}

static void next_segment(u32 lane)
{
	if (lanes[lane].pos)
		flush_segment(lane);
	if (nr_segs_used == geo.nr_segs)
		die("the log is full: fewer transactions");
	lanes[lane].seg = nr_segs_used++;
	lanes[lane].pos = 0;
}

/* Others before it, all different, as a component's dependencies are. */
static void add_deps(struct zj_chunk *c, void *header)
{
	u64 step = (c->stamp - 1) / geo.nr_lanes;

	for (; step && c->nr_deps < geo.nr_lanes; c->nr_deps++)
		zj_chunk_deps(header)[c->nr_deps] =
			cpu_to_le64(1 + c->nr_deps * step + any() % step);
}

static void add_revokes(struct zj_chunk *c, void *header)
{
	u32 room = (geo.block_size - sizeof(struct zj_chunk_header) - 8 * c->nr_deps -
		    c->nr_tags * sizeof(struct zj_tag)) / 8;

	for (; c->nr_revokes < room; c->nr_revokes++)
		zj_chunk_revokes(header, c->nr_deps)[c->nr_revokes] =
			cpu_to_le64(any() % img.device_blocks);
}

static void put(u64 stamp, u32 lane, u64 home, bool has_image)
{
	u32 blocks = 1 + has_image;
	struct zj_chunk c = { .stamp = stamp, .tid = stamp, .lane = lane, .nr_members = 1,
			      .nr_chunks = 1, .nr_tags = has_image };
	u8 *header;

	if (!lanes[lane].buf || lanes[lane].pos + blocks > geo.seg_blocks) {
		if (!lanes[lane].buf)
			lanes[lane].buf = malloc((size_t)geo.seg_blocks * geo.block_size);
		next_segment(lane);
	}
	c.seg_seq = lanes[lane].seg + 1;
	c.seg_index = lanes[lane].seg;
	c.seg_block = lanes[lane].pos;
	header = lanes[lane].buf + (size_t)lanes[lane].pos * geo.block_size;
	memset(header, 0, geo.block_size);
	if (many_deps)
		add_deps(&c, header);
	else if (lanes[lane].last)
		zj_chunk_deps(header)[c.nr_deps++] = cpu_to_le64(lanes[lane].last);
	if (!many_deps && stamp > 2 && any() % 4 == 0 && lanes[lane].last < stamp - 1)
		zj_chunk_deps(header)[c.nr_deps++] = cpu_to_le64(stamp - 1);
	if (many_revokes)
		add_revokes(&c, header);
	if (has_image) {
		u8 *image = header + geo.block_size;
		struct zj_tag *tag = zj_chunk_tags(header, c.nr_deps, c.nr_revokes);

		memset(image, (u8)stamp, geo.block_size);
		memcpy(image + 8, &stamp, sizeof(stamp));
		tag->block = cpu_to_le64(home);
		tag->lines = cpu_to_le64(ZJ_TAG_ALL_LINES);
		tag->csum = cpu_to_le32(zj_image_csum(seed, image, geo.block_size));
	}
	zj_encode_chunk(&geo, seed, &c, header);
	lanes[lane].pos += blocks;
	lanes[lane].last = stamp;
}

/* The block that @lane changes next, one that no task uses. */
static u64 next_home(ext2_filsys fs, u32 lane, u32 run)
{
	u64 home = lanes[lane].left ? lanes[lane].home + 1 : 0;

	while (!home || home >= ext2fs_blocks_count(fs->super) ||
	       ext2fs_test_block_bitmap2(fs->block_map, home)) {
		home = any() % ext2fs_blocks_count(fs->super);
		lanes[lane].left = run;
	}
	lanes[lane].left--;
	lanes[lane].home = home;
	return home;
}

static void go_live(void)
{
	u8 *block = calloc(1, geo.block_size);
	struct zj_jbd2_super *sb = (void *)block;

	zj_encode_log_super(&geo, block);
	if (ext_ops.write_log(&img, ZJ_BLOCK_LOG_SUPER, block) ||
	    ext_ops.read_log(&img, 0, 1, block))
		die("super blocks");
	sb->s_start = cpu_to_be32(1);
	sb->s_feature_incompat |= cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES);
	if (ext_ops.write_log(&img, 0, block))
		die("block 0");
	free(block);
}

int main(int argc, char **argv)
{
	u32 nr = argc > 4 ? atoi(argv[2]) : 0, nr_lanes = argc > 4 ? atoi(argv[3]) : 0;
	u32 run = argc > 4 ? atoi(argv[4]) : 0;
	const char *kind = argc > 5 ? argv[5] : "";
	u64 room, images;
	ext2_filsys fs;
	u8 *seen;

	if (!nr || !nr_lanes || nr_lanes > ZJ_MAX_LANES || !run || ext_open(&img, argv[1], EXT_WRITE))
		die("usage: biglog IMAGE TRANSACTIONS LANES RUN [KIND]");
	if (ext2fs_open(argv[1], EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs) ||
	    ext2fs_read_bitmaps(fs) ||
	    zj_make_geometry(&geo, img.journal_blocks, img.block_size, nr_lanes))
		die("no such image, or its journal is too small");
	memcpy(geo.uuid, img.uuid, 16);
	geo.generation = 4711;
	many_deps = !strcmp(kind, "deps");
	many_revokes = !strcmp(kind, "revokes");
	seed = zj_seed(geo.uuid, geo.generation);
	/* Leave a block for each segment's end and a segment for each lane. */
	room = (u64)(geo.nr_segs - nr_lanes) * (geo.seg_blocks - 1);
	if (room <= nr)
		die("the journal is too small");
	images = room - nr < nr ? room - nr : nr;
	seen = calloc(1, img.device_blocks);
	for (u32 i = 0; i < nr; i++) {
		bool has_image = (u64)(i + 1) * images / nr != (u64)i * images / nr;
		u32 lane = any() % nr_lanes;
		u64 home = has_image ? next_home(fs, lane, run) : 0;

		seen[home] = has_image;
		put(i + 1, lane, home, has_image);
	}
	for (u32 i = 0; i < nr_lanes; i++)
		if (lanes[i].pos)
			flush_segment(i);
	go_live();
	for (u64 home = 1; home < ext2fs_blocks_count(fs->super); home++)
		if (seen[home])
			printf("%llu\n", home);
	ext2fs_close_free(&fs);
	ext_close(&img);
	return 0;
}
