// SPDX-License-Identifier: GPL-2.0-only
/* What a power cut leaves, recovered; the log as recovery reads it. */
#include "fixture.h"

/* ---- images ---- */

static struct image *image_new(const u8 **block)
{
	struct image *image = calloc(1, sizeof(*image));
	size_t size = fx.disk->nr * sizeof(*block);

	image->block = malloc(size);
	memcpy(image->block, block, size);
	return image;
}

struct image *cut_power(void)
{
	struct disk_walk *walk = malloc(sizeof(*walk));
	struct image *image;

	walk_init(walk, fx.disk, fx.initial);
	while (walk->at < now())
		walk_step(walk);
	image = image_new(walk->durable);
	if (fx.pmem)
		image->pmem = memcpy(malloc(fx.pmem->size), walk->pmem.durable,
				     fx.pmem->size);
	walk_free(walk);
	free(walk);
	return image;
}

struct image *keep_all(void)
{
	struct image *image = image_new(fx.initial);

	for (u32 i = 0; i < now(); i++)
		if (fx.disk->log[i].what == DISK_WRITE)
			image->block[fx.disk->log[i].block] =
				fx.disk->log[i].data;
	if (fx.pmem)
		image->pmem = memcpy(malloc(fx.pmem->size), fx.pmem->mem,
				     fx.pmem->size);
	return image;
}

void image_free(struct image *image)
{
	free(image->block);
	free(image->pmem);
	free(image);
}

bool image_is_live(const struct image *image)
{
	const struct zj_jbd2_super *sb = (const void *)image->block[jblock(0)];
	bool live = sb->s_feature_incompat & cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES);

	assert_int_equal(sb->s_magic, cpu_to_be32(ZJ_JBD2_MAGIC));
	if (sb->s_feature_incompat & cpu_to_be32(ZJ_JBD2_INCOMPAT_CSUM_V2 |
						 ZJ_JBD2_INCOMPAT_CSUM_V3))
		assert_int_equal(sb->s_checksum, zj_jbd2_super_csum(sb));
	if (fx.setup.jbd2)
		assert_false(live);
	else
		assert_int_equal(live, !!sb->s_start);
	return sb->s_start;
}

u8 image_val(const struct image *image, u32 block)
{
	const u8 *p = image->block[block];

	for (u32 i = 1; i < DISK_BLOCK; i++)
		assert_int_equal(p[i], p[0]);
	return p[0];
}

static int image_read(void *ctx, u32 block, u32 nr, void *buf)
{
	struct image *image = ctx;

	for (u32 i = 0; i < nr; i++)
		memcpy(buf + i * DISK_BLOCK, image->block[jblock(block + i)],
		       DISK_BLOCK);
	return 0;
}

static int image_write_log(void *ctx, u32 block, const void *buf)
{
	struct image *image = ctx;

	image->block[jblock(block)] = arena_copy(buf);
	return 0;
}

static int image_write_home(void *ctx, u64 block, const void *buf)
{
	struct image *image = ctx;

	assert_true(block < HOME_BLOCKS);
	image->block[block] = arena_copy(buf);
	return 0;
}

static int image_read_home(void *ctx, u64 block, void *buf)
{
	struct image *image = ctx;

	assert_true(block < HOME_BLOCKS);
	memcpy(buf, image->block[block], DISK_BLOCK);
	return 0;
}

static int image_flush(void *ctx)
{
	return 0;
}

static __printf(3, 4) void image_msg(void *ctx, int level, const char *fmt, ...)
{
	const struct image *image = ctx;
	char line[512];
	va_list ap;

	if (level || image->quiet)
		return;
	va_start(ap, fmt);
	kl_vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	print_error("%s\n", line);
}

static const struct zj_io_ops image_ops = {
	.read_log = image_read,
	.write_log = image_write_log,
	.write_home = image_write_home,
	.flush_home = image_flush,
	.read_home = image_read_home,
	.msg = image_msg,
};

static int recover_memory(struct image *image, const struct zj_recovery_args *args)
{
	struct zj_nvm_mark *mark =
		zj_nvm_mark_of((void *)image->block[jblock(0)]);
	struct zj_nvm_area area = { image->pmem, fx.setup.nvm,
				    be64_to_cpu(mark->generation) };

	assert_memory_equal(mark->uuid, MEMORY_UUID, 16);
	return zj_recover_nvm(args, &area);
}

int recover_image(struct image *image)
{
	const struct zj_jbd2_super *sb = (const void *)image->block[jblock(0)];
	const struct zj_recovery_args args = {
		.ops = &image_ops,
		.ctx = image,
		.block_size = DISK_BLOCK,
		.journal_blocks = fx.setup.jbd2 ? kit_log_blocks(&fx.kit) : fx.setup.journal,
		.fs_blocks = HOME_BLOCKS,
		.stats = &image->stats,
	};
	u32 sequence;

	if (!image_is_live(image))
		return 0;
	if (fx.setup.jbd2)
		return zj_recover_jbd2(&args, sb, &sequence);
	if (fx.setup.nvm)
		return recover_memory(image, &args);
	return zj_recover(&args, fx.kit.sb.s_uuid.b);
}

u8 val_after_crash(u32 block)
{
	struct image *image = cut_power();
	u8 val;

	assert_int_equal(recover_image(image), 0);
	val = image_val(image, block);
	image_free(image);
	return val;
}

/* ---- the log ---- */

static u64 newest_ckpt(struct log *log)
{
	u64 best = 0, seq, stamp, s = 0;

	for (u32 i = 0; i < ZJ_CKPT_SLOTS; i++) {
		if (!zj_decode_ckpt(&log->r.geo,
				    log->image->block[jblock(ZJ_BLOCK_CKPT + i)],
				    &seq, &stamp) || seq < best)
			continue;
		best = seq;
		s = stamp;
	}
	return s;
}

void log_read(struct log *log)
{
	struct zj_recovery *r = &log->r;

	*log = (struct log){ };
	log->image = image_new(fx.disk->seen);
	*r = (struct zj_recovery){
		.ops = &image_ops,
		.ctx = log->image,
		.stats = &log->stats,
		.home_blocks = HOME_BLOCKS,
		.chunks.size = sizeof(struct zj_rec_chunk),
		.images.size = sizeof(struct zj_rec_image),
		.entries.size = sizeof(u64),
		.components.size = sizeof(struct zj_rec_component),
	};
	assert_null(zj_decode_log_super(log->image->block[jblock(1)], &r->geo));
	r->seed = zj_seed(r->geo.uuid, r->geo.generation);
	r->ckpt_stamp = newest_ckpt(log);
	assert_int_equal(zj_ahead_begin(r, r->geo.seg_blocks, r->geo.nr_segs), 0);
	assert_int_equal(zj_scan(r), 0);
	assert_int_equal(zj_graph(r), 0);
}

void log_free(struct log *log)
{
	image_free(log->image);
	zj_recovery_end(&log->r);
}

u64 stamp_on_disk(void)
{
	struct log log;
	u64 stamp;

	log_read(&log);
	stamp = log.r.ckpt_stamp;
	log_free(&log);
	return stamp;
}

const struct zj_rec_component *log_component(const struct log *log, u64 stamp)
{
	const struct zj_rec_component *c = log->r.components.items;

	for (u32 i = 0; i < log->r.components.nr; i++)
		if (c[i].stamp == stamp)
			return &c[i];
	return NULL;
}

const struct zj_rec_chunk *log_chunk(const struct log *log, u64 stamp, u32 lane,
				     u32 index)
{
	const struct zj_rec_chunk *c = log->r.chunks.items;

	for (u32 i = 0; i < log->r.chunks.nr; i++)
		if (c[i].stamp == stamp && c[i].lane == lane &&
		    c[i].chunk_index == index)
			return &c[i];
	return NULL;
}

u32 log_chunks(const struct log *log, u64 stamp, u32 lane)
{
	const struct zj_rec_chunk *c = log->r.chunks.items;
	u32 n = 0;

	for (u32 i = 0; i < log->r.chunks.nr; i++)
		n += c[i].stamp == stamp && c[i].lane == lane;
	return n;
}

const struct zj_rec_image *log_image(const struct log *log, u64 stamp, u32 block)
{
	const struct zj_rec_image *image = log->r.images.items;

	for (u32 i = 0; i < log->r.images.nr; i++)
		if (image[i].stamp == stamp && image[i].block == block)
			return &image[i];
	return NULL;
}

const u8 *log_data(const struct log *log, const struct zj_rec_image *image)
{
	assert_non_null(image);
	return log->image->block[jblock(image->log_block)];
}

static bool has_entry(const struct log *log, u64 stamp, bool revokes, u64 entry)
{
	const struct zj_rec_chunk *c = log->r.chunks.items;
	const u64 *e = log->r.entries.items;

	for (u32 i = 0; i < log->r.chunks.nr; i++) {
		u32 first = revokes ? c[i].first_revoke : c[i].first_dep;
		u32 nr = revokes ? c[i].nr_revokes : c[i].nr_deps;

		for (u32 k = first; c[i].stamp == stamp && k < first + nr; k++)
			if (e[k] == entry)
				return true;
	}
	return false;
}

bool log_depends(const struct log *log, u64 stamp, u64 on)
{
	return has_entry(log, stamp, false, on);
}

bool log_revokes(const struct log *log, u64 stamp, u32 block)
{
	return has_entry(log, stamp, true, block);
}
