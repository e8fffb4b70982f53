// SPDX-License-Identifier: GPL-2.0-only
/* zjctl info: the state of the journal, and advice on the layout of the file system. */
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include "dump.h"
#include "fsinfo.h"
#include "stats.h"

static const char help[] =
	"usage: zjctl info [--cpus N] [--nvm=NVM] [--json] DEV|MOUNTPOINT\n\n"
	"Show the state of the journal (clean, live, crashed), how its lanes use the\n"
	"log, and advice where the layout of the file system ties lanes together.\n"
	"Nothing is written.\n\n"
	"  --cpus N     advice for a machine with N CPUs instead of this one\n"
	ZX_NVM_HELP
	"               of a clean file system: show the memory nevertheless\n\n"
	"Examples:\n"
	"  zjctl info /dev/sdb1\n"
	"  zjctl info /srv\n"
	"  zjctl info --json UUID=0d7c... | jq .journal.state\n";

static const struct option options[] = {
	{ "cpus", required_argument, NULL, 'c' },
	ZX_NVM_OPTION,
	ZX_OPTIONS,
	{ 0 }
};

/**
 * struct info - everything that is printed
 */
struct info {
	struct zx_target target;
	struct fs_info fs;
	u64	cpus;		/* of this machine, or --cpus */
	struct ext_image img;
	bool	opened;		/* img is */
	struct zj_jbd2_super *block0; /* NULL: unreadable or no journal */
	enum zx_state state;
	const char *nvm;	/* --nvm, or NULL */
	struct zx_memory memory; /* open if the log is there, or --nvm was given */
	bool	memory_bad;	/* it is damaged */
	struct log log;
	bool	has_log;
	struct log_official official;
	struct stats live;
	bool	has_live;
	int	code;
};

static const char *state_name(const struct info *in)
{
	if (!in->fs.has_journal)
		return "no-journal";
	if (!in->block0)
		return in->opened || in->fs.journal_inode ? "damaged" : "external-journal";
	if (in->target.mounted_at[0])
		return in->state == ZX_LANES || in->target.zext4 ?
		       "live" : "stock-live";
	if (in->state == ZX_CLEAN)
		return "clean";
	if (in->memory_bad)
		return "damaged";
	if (in->official.err && strcmp(log_official_verdict(&in->official), "stock"))
		return "damaged";
	return in->state == ZX_LANES ? "crashed" : "stock-dirty";
}

static void gather_log(struct info *in)
{
	int err;

	/* The log is in use and changes, so recovery's result would mean nothing. */
	if (!in->target.mounted_at[0] && zx_is_due(&in->img, in->state)) {
		log_ask_recovery(&in->img, in->block0, &in->memory, &in->official);
		if (in->official.err)
			in->code = zx_fail(ZX_UNCORRECTED, "%s: %s", in->target.path,
					   in->official.error);
	}
	err = log_read(&in->log, &in->img, in->block0, &in->memory);
	in->has_log = !err;
	if (err == -ENOMEM || err == -EIO)
		in->code |= zx_fail(ZX_FAILED, "%s: the log cannot be read (%s); check the device and try again",
				    in->target.path, strerror(-err));
}

/* Is the log in persistent memory? */
static bool in_memory(const struct info *in)
{
	return in->block0 && zj_is_nvm_log(in->block0);
}

/* Without the memory, print at least what block 0 says. */
static int gather_memory(struct info *in)
{
	int code = 0;

	if (in_memory(in))
		code = zx_open_memory(&in->memory, in->nvm, &in->img, in->block0, false);
	else if (in->nvm)
		code = zx_map_memory(&in->memory, in->nvm, false);
	if (code)
		zx_close_memory(&in->memory);
	in->memory_bad = code == ZX_UNCORRECTED;
	return code;
}

static void gather(struct info *in)
{
	char file[256];

	if (in->target.proc_name[0] && in->target.zext4) {
		snprintf(file, sizeof(file), STATS_ROOT "/%s/info", in->target.proc_name);
		in->has_live = stats_read(file, in->target.proc_name, &in->live);
	}
	if (!in->fs.has_journal)
		return;
	in->code = zx_open(&in->img, &in->target, EXT_READ);
	if (in->code)
		return;
	in->opened = true;
	in->block0 = malloc(in->img.block_size);
	if (!in->block0) {
		in->code = zx_fail(ZX_FAILED, "out of memory; try again with more");
		return;
	}
	in->code = zx_read_block0(&in->img, in->block0, in->target.mounted_at[0],
				  &in->state);
	if (in->code) {
		free(in->block0);
		in->block0 = NULL;
		return;
	}
	in->code = gather_memory(in);
	if (!in->code && in->state != ZX_CLEAN)
		gather_log(in);
}

static const char *state_text(const struct info *in, const char *state)
{
	const struct {
		const char *state, *text;
	} texts[] = {
		{ "no-journal", "there is none" },
		{ "external-journal", "on another device, which is not there or not usable" },
		{ "clean", "clean; a plain ext4 for stock kernels and tools" },
		{ "stock-live", "in use by stock ext4" },
		{ "stock-dirty", log_has_fast_commits(&in->official) ?
		  "a log in stock ext4's format, with fast commits: recovery is due (mount as zext4 or ext4, or e2fsck)" :
		  in->fs.needs_recovery ?
		  "a log in stock ext4's format: recovery is due (zjctl recover, mount as zext4 or ext4, or e2fsck)" :
		  "an old log in stock ext4's format, but needs_recovery is not set: a mount discards it" },
		{ "live", "live: in use by zext4" },
		{ "crashed", in_memory(in) ?
		  "crashed: recovery is due (zjctl recover, or mount -t zext4 -o journal_nvm=)" :
		  "crashed: recovery is due (zjctl recover, or mount -t zext4)" },
		{ "damaged", "DAMAGED; copy the device before you do anything else" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(texts); i++)
		if (!strcmp(texts[i].state, state))
			return texts[i].text;
	return state;
}

/* ---- per lane ---- */

/**
 * struct lane_use - the part of the log that a lane uses
 */
struct lane_use {
	u32	segments;
	u32	blocks;
	u32	records;	/* good, above the checkpoint stamp */
	u32	transactions;
	u64	newest;
};

static bool segment_used(const struct log *log, const struct log_segment *s)
{
	return s->records && s->newest > log->ckpt_stamp;
}

static struct lane_use *count_lanes(const struct log *log)
{
	struct lane_use *use = calloc(log->geo.nr_lanes, sizeof(*use));

	for (u32 i = 0; use && i < log->geo.nr_segs; i++) {
		const struct log_segment *s = &log->segs[i];

		if (segment_used(log, s)) {
			use[s->lane].segments++;
			use[s->lane].blocks += s->used;
		}
	}
	for (u32 i = 0; use && i < log->records.nr; i++) {
		const struct log_record *r = log_record(log, i);
		struct lane_use *u = &use[r->chunk.lane];

		if (r->state != LOG_GOOD || r->chunk.stamp <= log->ckpt_stamp)
			continue;
		u->records++;
		u->transactions += !r->chunk.chunk_index;
		u->newest = r->chunk.stamp;
	}
	return use;
}

static u32 free_segments(const struct log *log)
{
	u32 n = 0;

	for (u32 i = 0; i < log->geo.nr_segs; i++)
		n += !segment_used(log, &log->segs[i]);
	return n;
}

/* ---- JSON ---- */

static void json_filesystem(const struct info *in)
{
	const struct fs_info *fs = &in->fs;
	char features[sizeof(fs->features)], *word, *rest = features;

	js_object("filesystem");
	js_text("uuid", fs->uuid);
	js_text("label", fs->label);
	js_u64("block_size", fs->block_size);
	js_u64("blocks", fs->blocks);
	js_u64("inode_size", fs->inode_size);
	js_u64("groups", fs->groups);
	js_u64("descriptor_blocks", fs->desc_blocks);
	js_bool("needs_recovery", fs->needs_recovery);
	js_bool("orphans", fs->orphan_list || fs->orphans_in_file);
	js_bool("errors", fs->errors);
	js_array("features");
	strcpy(features, fs->features);
	while ((word = strsep(&rest, " ")))
		if (*word)
			js_text(NULL, word);
	js_end();
	if (in->target.mounted_at[0]) {
		js_text("mounted_at", in->target.mounted_at);
		js_text("mount_type", in->target.mount_type);
	}
	js_end();
}

static void json_memory(const struct info *in)
{
	const struct zx_memory *m = &in->memory;
	char uuid[37];

	js_object("memory");
	js_text("path", m->path);
	zx_uuid_text(m->sb.uuid, uuid);
	js_text("uuid", uuid);
	zx_uuid_text(m->sb.fs_uuid, uuid);
	js_text("filesystem_uuid", uuid);
	js_bool("of_this_filesystem", !memcmp(m->sb.fs_uuid, in->img.uuid, 16));
	js_u64("bytes", le64_to_cpu(m->sb.size));
	js_bool("holds_log", in_memory(in));
	js_end();
}

static void json_lane_memory(const struct log *log, const struct log_tail *tail)
{
	js_u64("tail_line", (u32)tail->tail);
	js_u64("tail_stamp", tail->tail >> ZJ_NVM_TAIL_STAMP);
	js_text("tail_end", log_tail_name(tail));
}

static void json_log(const struct log *log)
{
	struct lane_use *use = count_lanes(log);

	js_object("log");
	js_text("format", log_format_name(log));
	if (log->ring.used)
		dump_ring(log);
	js_u64("generation", log->geo.generation);
	js_u64("lanes", log->geo.nr_lanes);
	js_u64("segments", log->geo.nr_segs);
	if (log->area)
		js_u64("unit_bytes", zj_lines_unit(log->geo.block_size));
	js_u64(log->area ? "segment_lines" : "segment_blocks", log->geo.seg_blocks);
	js_u64("segments_free", free_segments(log));
	js_u64("checkpoint_stamp", log->ckpt_stamp);
	if (!log->ring.used && !log->area)
		js_u64("committed_stamp", log->committed_stamp);
	js_u64("newest_stamp", log->newest);
	js_u64("newest_committed_stamp", log->newest_committed);
	js_array("per_lane");
	for (u32 i = 0; use && i < log->geo.nr_lanes; i++) {
		js_object(NULL);
		js_u64("lane", i);
		js_u64("segments", use[i].segments);
		js_u64(log->area ? "lines" : "blocks", use[i].blocks);
		js_u64("records", use[i].records);
		js_u64("transactions", use[i].transactions);
		js_u64("newest_stamp", use[i].newest);
		if (log->area)
			json_lane_memory(log, &log->tails[i]);
		js_end();
	}
	js_end();
	js_end();
	free(use);
}

/* As many as a mount would start if it were asked for the most, whatever this machine is. */
static u32 room_for_lanes(const struct info *in)
{
	return zx_lanes_that_fit(in->img.journal_blocks, in->img.block_size, ZJ_MAX_LANES);
}

static void json(const struct info *in)
{
	char uuid[37];

	json_filesystem(in);
	js_object("journal");
	js_text("state", state_name(in));
	js_bool("fast_commits", log_has_fast_commits(&in->official));
	if (in->opened) {
		if (in->img.log_start)
			js_text("device", in->img.log_path);
		js_u64("blocks", in->img.journal_blocks);
		js_u64("bytes", (u64)in->img.journal_blocks * in->img.block_size);
		js_u64("lanes_that_fit", zx_lanes_that_fit(in->img.journal_blocks,
							   in->img.block_size, in->cpus));
		js_u64("room_for_lanes", room_for_lanes(in));
	}
	if (in->block0)
		js_u64("error", (u32)-(int)be32_to_cpu(in->block0->s_errno));
	if (in_memory(in)) {
		zx_uuid_text(zj_nvm_mark_of(in->block0)->uuid, uuid);
		js_text("memory_uuid", uuid);
		js_u64("memory_generation",
		       be64_to_cpu(zj_nvm_mark_of(in->block0)->generation));
	}
	js_end();
	if (in->memory.base)
		json_memory(in);
	if (in->has_log)
		json_log(&in->log);
	if (in->has_live) {
		js_object("live");
		stats_json(&in->live);
		js_end();
	}
}

/* ---- text ---- */

#define COLUMN	20		/* in which values begin */

static void text_ring(const struct log *log)
{
	const struct log_ring *ring = &log->ring;
	u32 room = ring->how.last - ring->how.first;

	printf("\nLog\n");
	printf("  format            jbd2, as written by stock ext4 and with log=jbd2\n");
	printf("  ring              journal blocks %u to %u, %u of %u in use\n", ring->how.first,
	       ring->how.last - 1, ring->blocks, room);
	printf("  oldest            transaction %u in journal block %u\n", ring->sequence,
	       ring->start);
	printf("  whole             %s to replay\n", zx_count(log->newest_committed, "transaction"));
}

static void text_memory(const struct info *in)
{
	const struct zx_memory *m = &in->memory;
	char uuid[37];

	printf("\nMemory %s\n", zx_text(m->path));
	zx_uuid_text(m->sb.uuid, uuid);
	printf("  uuid              %s\n", uuid);
	zx_uuid_text(m->sb.fs_uuid, uuid);
	printf("  made for          the file system %s%s\n", uuid,
	       memcmp(m->sb.fs_uuid, in->img.uuid, 16) ? ", which is not this one" : "");
	printf("  size              %s\n", zx_size(le64_to_cpu(m->sb.size)));
	printf("  log               %s\n", in_memory(in) ? "this file system's" :
	       "not this file system's");
}

static void text_log_memory(const struct log *log)
{
	printf("  unit              %u bytes of a block\n", zj_lines_unit(log->geo.block_size));
	printf("\n  lane segments    lines  records   transactions   newest stamp  tail line\n");
}

/* @live: the log changes, and the statistics say better what is free. */
static void text_log(const struct log *log, bool live)
{
	u32 seg_unit = log->area ? ZJ_NVM_LINE : log->geo.block_size;
	struct lane_use *use;

	if (log->ring.used) {
		text_ring(log);
		return;
	}
	use = count_lanes(log);
	printf("\nLog\n");
	printf("  format            version %u, generation %llu%s\n",
	       log->area ? ZJ_NVM_VERSION : log->geo.version, log->geo.generation,
	       log->area ? ", in memory" : "");
	printf("  lanes             %u\n", log->geo.nr_lanes);
	printf("  segments          %u of %s", log->geo.nr_segs,
	       zx_size((u64)log->geo.seg_blocks * seg_unit));
	printf(live ? "\n" : ", %u free\n", free_segments(log));
	printf("  checkpoint stamp  %llu: everything up to it is in its place\n", log->ckpt_stamp);
	if (!log->area)
		printf("  committed stamp   %llu: everything up to it was complete on the device\n",
		       log->committed_stamp);
	printf("  newest stamp      %llu, newest committed %llu\n", log->newest, log->newest_committed);
	if (log->area)
		text_log_memory(log);
	else
		printf("\n  lane segments   blocks  records   transactions   newest stamp\n");
	for (u32 i = 0; use && i < log->geo.nr_lanes; i++) {
		printf("  %4u %8u %8u %8u %14u %14llu", i, use[i].segments, use[i].blocks,
		       use[i].records, use[i].transactions, use[i].newest);
		if (log->area)
			printf(" %10u", (u32)log->tails[i].tail);
		putchar('\n');
	}
	free(use);
}

static void text(const struct info *in)
{
	const struct fs_info *fs = &in->fs;
	const char *state = state_name(in);
	bool good = !strcmp(state, "clean") || !strcmp(state, "live");
	bool damaged = !strcmp(state, "damaged");
	int error = in->block0 ? (int)be32_to_cpu(in->block0->s_errno) : 0;
	char uuid[37];

	printf("%s%s%s\n", zx_on(ZX_BOLD), zx_text(in->target.path), zx_off());
	printf("  file system       %s, uuid %s%s%s\n", zx_size(fs->blocks * fs->block_size),
	       fs->uuid, fs->label[0] ? ", label " : "", zx_text(fs->label));
	if (in->target.mounted_at[0])
		printf("  mounted           at %s as %s\n", zx_text(in->target.mounted_at),
		       zx_text(in->target.mount_type));
	printf("  blocks            %llu of %u bytes, %s, %s\n", fs->blocks, fs->block_size,
	       zx_count(fs->groups, "group"), zx_count(fs->desc_blocks, "descriptor block"));
	printf("  inodes            of %u bytes\n", fs->inode_size);
	printf("  features          ");
	zx_wrap(stdout, COLUMN, COLUMN, fs->features);
	printf("  journal           %s", zx_on(good ? ZX_GREEN : ZX_RED));
	zx_wrap(stdout, COLUMN, COLUMN, state_text(in, state));
	fputs(zx_off(), stdout);
	if (in->opened && in->img.log_start)
		printf("  journal device    %s\n", zx_text(in->img.log_path));
	if (in->opened)
		printf("  journal size      %s, %s: room for %s (default: %u)\n",
		       zx_count(in->img.journal_blocks, "block"),
		       zx_size((u64)in->img.journal_blocks * in->img.block_size),
		       zx_count(room_for_lanes(in), "lane"),
		       zx_lanes_that_fit(in->img.journal_blocks, in->img.block_size, in->cpus));
	if (in_memory(in)) {
		zx_uuid_text(zj_nvm_mark_of(in->block0)->uuid, uuid);
		printf("  log               in the persistent memory %s\n", uuid);
	}
	if (error)
		printf("  journal error     %d: recorded when the journal was aborted%s\n", error,
		       damaged ? "" : "; run e2fsck -f");
	if (fs->orphan_list || fs->orphans_in_file)
		printf("  orphans           some files are partly deleted or truncated%s\n",
		       damaged ? "" : ";\n                    a mount or e2fsck finishes this");
	if (in->memory.base)
		text_memory(in);
	if (in->has_log)
		text_log(&in->log, in->has_live);
	if (in->has_live) {
		printf("\nLive\n");
		stats_text(&in->live);
		stats_table(&in->live, NULL, 0, -1, false);
	}
}

static void advise(const struct info *in)
{
	if (!strcmp(state_name(in), "damaged"))
		fs_advise_damaged();
	else
		fs_advise(&in->target, &in->fs,
			  in->opened && !in_memory(in) ? in->img.journal_blocks : 0, in->cpus);
}

static int run(int argc, char **argv)
{
	struct info *in;
	const char *name, *nvm = NULL;
	u64 cpus = zx_cpus();
	int code;

	while ((code = zx_getopt(argc, argv)) != -1) {
		if (code == 'M')
			nvm = optarg;
		else if (code != 'c' || !zx_number(optarg, "--cpus", 1, ZJ_MAX_LANES, &cpus))
			return ZX_USAGE;
	}
	name = zx_operand(argc, argv, "device or mount point");
	if (!name)
		return ZX_USAGE;
	in = calloc(1, sizeof(*in));
	if (!in)
		return zx_fail(ZX_FAILED, "out of memory; try again with more");
	in->cpus = cpus;
	in->nvm = nvm;
	in->memory = ZX_NO_MEMORY;
	in->code = zx_find(name, &in->target);
	if (!in->code)
		in->code = fs_read_info(in->target.path, &in->fs);
	if (!in->code && zx_journal && (!in->fs.has_journal || in->fs.journal_inode))
		in->code = zx_refuse_journal_option(in->target.path);
	if (!in->code) {
		gather(in);
		if (zx_json)
			json(in);
		else
			text(in);
		advise(in);
	}
	code = in->code;
	stats_free(&in->live);
	log_free(&in->log);
	zx_close_memory(&in->memory);
	free(in->block0);
	if (in->opened)
		ext_close(&in->img);
	free(in);
	return code;
}

const struct zx_command cmd_info = {
	.name = "info",
	.brief = "state of the journal, use of the log, advice on the layout",
	.help = help,
	.shorts = "",
	.options = options,
	.operand = "device",
	.run = run,
};
