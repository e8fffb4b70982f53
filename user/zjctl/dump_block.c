// SPDX-License-Identifier: GPL-2.0-only
/* zjctl dump --block, --inode: the history of one block in the log. */
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include <et/com_err.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include "dump.h"

int dump_find_inode(const char *path, struct dump_filter *f)
{
	ext2_filsys fs;
	blk64_t table;
	u64 index, at;
	long err;
	int code = 0;

	err = ext2fs_open(path, EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS, 0, 0,
			  unix_io_manager, &fs);
	if (err)
		return zx_fail(ZX_FAILED, "%s: cannot be read as an ext4 file system (%s); run e2fsck -n",
			       path, error_message(err));
	if (f->inode > fs->super->s_inodes_count) {
		code = zx_fail(ZX_USAGE, "%s: has inodes 1 to %u, but no inode %llu", path,
			       fs->super->s_inodes_count, f->inode);
	} else {
		index = (f->inode - 1) % fs->super->s_inodes_per_group;
		at = index * EXT2_INODE_SIZE(fs->super);
		table = ext2fs_inode_table_loc(fs, (f->inode - 1) / fs->super->s_inodes_per_group);
		f->block = table + at / fs->blocksize;
		f->inode_offset = at % fs->blocksize;
	}
	ext2fs_close_free(&fs);
	return code;
}

/* What recovery does with an image, as text and as a JSON word. */
static const char *fate(const struct log_record *r, const struct log_component *c,
			const struct log_image *image, u64 revoked)
{
	if (r->state == LOG_HIDDEN)
		return "hidden";
	if (r->state == LOG_TORN)
		return "torn";
	if (r->state == LOG_UNCOMMITTED)
		return "uncommitted";
	if (c->verdict != LOG_COMMITTED)
		return log_verdict_name(c->verdict);
	if (image->taken)
		return "taken";
	return r->chunk.stamp <= revoked ? "revoked" : "superseded";
}

static void show_inode(const struct dump_filter *f, const u8 *block)
{
	struct ext2_inode inode;

	memcpy(&inode, block + f->inode_offset, sizeof(inode));
	if (zx_json) {
		js_object("inode");
		js_u64("mode", le16_to_cpu(inode.i_mode));
		js_u64("links", le16_to_cpu(inode.i_links_count));
		js_u64("size", le32_to_cpu(inode.i_size) |
		       (u64)le32_to_cpu(inode.i_size_high) << 32);
		js_u64("mtime", le32_to_cpu(inode.i_mtime));
		js_u64("dtime", le32_to_cpu(inode.i_dtime));
		js_end();
		return;
	}
	printf("        inode %llu: mode %06o, links %u, size %llu, mtime %u, dtime %u\n", f->inode,
	       le16_to_cpu(inode.i_mode), le16_to_cpu(inode.i_links_count),
	       le32_to_cpu(inode.i_size) | (u64)le32_to_cpu(inode.i_size_high) << 32,
	       le32_to_cpu(inode.i_mtime), le32_to_cpu(inode.i_dtime));
}

/**
 * struct history - one walk over the log for one block
 */
struct history {
	struct log *log;
	const struct dump_filter *f;
	u64	revoked;	/* highest stamp of a committed revoke */
	u8	*image;		/* one block */
	u8	*home;		/* one block, NULL if not readable */
	u8	*built;		/* one block: by the committed images so far, on what is home */
	u32	shown;
	bool	taken;
};

/* The block with this image applied; an image of some lines needs the earlier images. */
static bool read_image(struct history *h, const struct log_record *r,
		       const struct log_image *image, bool *same)
{
	const struct log_component *c = log_component(h->log, r->component);
	size_t size = h->log->geo.block_size;

	if (log_has_lines(h->log, image) && h->home) {
		/* Only the lines of the image are compared. */
		memcpy(h->image, h->home, size);
		log_read_image(h->log, image, h->image);
		*same = !memcmp(h->image, h->home, size);
	}
	memcpy(h->image, h->built, size);
	if (log_read_image(h->log, image, h->image))
		return false;
	if (!log_has_lines(h->log, image))
		*same = h->home && !memcmp(h->image, h->home, size);
	if (c->verdict == LOG_COMMITTED)
		memcpy(h->built, h->image, size);
	return true;
}

static void text_place(const struct history *h, const struct log_image *image)
{
	if (image->data)
		printf("lines %#llx of it in journal block %u", image->lines, image->log_block);
	else if (!h->log->area)
		printf("image in journal block %u", image->log_block);
	else if (log_has_lines(h->log, image))
		printf("lines %#llx of it from line %u on", image->lines, image->log_block);
	else
		printf("image from line %u on", image->log_block);
}

static void json_place(const struct history *h, const struct log_image *image)
{
	if (!h->log->area) {
		js_u64("journal_block", image->log_block);
		if (log_has_lines(h->log, image))
			dump_lines(image);
		return;
	}
	js_u64("first_line", image->log_block);
	dump_lines(image);
}

static void show_image(struct history *h, const struct log_record *r,
		       const struct log_image *image)
{
	const struct log_component *c = log_component(h->log, r->component);
	const char *what = fate(r, c, image, h->revoked);
	bool same = false, readable = read_image(h, r, image, &same);
	char why[1024], name[64];

	h->shown++;
	h->taken |= image->taken;
	log_why(h->log, c, why, sizeof(why));
	if (zx_json) {
		js_object(NULL);
		js_text("kind", "image");
		js_u64("stamp", r->chunk.stamp);
		js_u64("lane", r->chunk.lane);
		js_u64("tid", r->chunk.tid);
		json_place(h, image);
		js_bool("checksum_ok", image->good);
		js_bool("same_as_home", same);
		js_text("fate", what);
		js_text("why", why);
		if (h->f->inode && readable)
			show_inode(h->f, h->image);
		js_end();
		return;
	}
	printf("%s  ", log_record_name(h->log, r, name, sizeof(name)));
	text_place(h, image);
	printf(": %s%s%s%s%s%s\n", zx_on(image->taken ? ZX_GREEN : 0), what, image->taken ? " by recovery" : "",
	       zx_off(), image->good ? "" : ", BAD CHECKSUM",
	       same ? ", equal to the block on the device" : "");
	if (*why)
		printf("        %s\n", why);
	if (h->f->inode && readable)
		show_inode(h->f, h->image);
}

static void show_revoke(struct history *h, const struct log_record *r)
{
	const struct log_component *c = log_component(h->log, r->component);
	bool counts = r->state == LOG_GOOD && c->verdict == LOG_COMMITTED;
	char name[64];

	h->shown++;
	if (!zx_json) {
		printf("%s  revoke: %s\n", log_record_name(h->log, r, name, sizeof(name)),
		       !counts ? "ignored, because its component is not used" :
		       h->log->ring.used ? "images up to this transaction are ignored" :
		       "images up to this stamp are ignored");
		return;
	}
	js_object(NULL);
	js_text("kind", "revoke");
	js_u64("stamp", r->chunk.stamp);
	js_u64("lane", r->chunk.lane);
	js_u64("tid", r->chunk.tid);
	js_bool("counts", counts);
	js_end();
}

static u64 highest_revoke(const struct log *log, u64 block)
{
	u64 stamp = 0;

	for (u32 i = 0; i < log->records.nr; i++) {
		const struct log_record *r = log_record(log, i);

		if (r->state != LOG_GOOD ||
		    log_component(log, r->component)->verdict != LOG_COMMITTED)
			continue;
		for (u32 k = 0; k < r->chunk.nr_revokes; k++)
			if (log_revokes(log, r)[k] == block)
				stamp = r->chunk.stamp;
	}
	return stamp;
}

static void walk(struct history *h)
{
	for (u32 i = 0; i < h->log->records.nr; i++) {
		const struct log_record *r = log_record(h->log, i);

		if (!dump_passes(h->log, r, h->f))
			continue;
		for (u32 k = 0; k < r->chunk.nr_tags; k++) {
			const struct log_image *image = log_image(h->log, r->first_image + k);

			if (image->block == h->f->block)
				show_image(h, r, image);
		}
		for (u32 k = 0; k < r->chunk.nr_revokes; k++)
			if (log_revokes(h->log, r)[k] == h->f->block)
				show_revoke(h, r);
	}
}

int dump_block(struct log *log, const struct dump_filter *f)
{
	u32 size = log->geo.block_size;
	struct history h = {
		.log = log,
		.f = f,
		.image = malloc(size),
		.home = malloc(size),
		.built = calloc(1, size),
	};
	int code = 0;

	if (!h.image || !h.home || !h.built) {
		code = zx_fail(ZX_FAILED, "out of memory; try again with more");
		goto out;
	}
	if (f->block >= log->img->device_blocks) {
		code = zx_fail(ZX_USAGE, "%s: has blocks 0 to %llu, no block %llu",
			       log->img->path, log->img->device_blocks - 1, f->block);
		goto out;
	}
	if (ext_read_home(log->img, f->block, h.home)) {
		free(h.home);
		h.home = NULL;
	} else {
		memcpy(h.built, h.home, size);
	}
	h.revoked = highest_revoke(log, f->block);
	js_u64("block", f->block);
	if (f->inode)
		js_u64("inode", f->inode);
	js_u64("checkpoint_stamp", log->ckpt_stamp);
	js_array("history");
	if (!zx_json && f->inode)
		printf("inode %llu is in block %llu, at byte %u\n", f->inode, f->block,
		       f->inode_offset);
	walk(&h);
	js_end();
	js_bool("written_by_recovery", h.taken);
	if (!zx_json)
		printf("%s\n", h.taken ? "recovery writes this block" :
		       h.shown ? "recovery leaves this block as it is" :
		       "the log has neither an image nor a revoke of this block");
out:
	free(h.image);
	free(h.home);
	free(h.built);
	return code;
}
