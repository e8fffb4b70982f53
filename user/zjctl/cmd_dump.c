// SPDX-License-Identifier: GPL-2.0-only
/* zjctl dump: the log, record by record. */
#include <stdlib.h>
#include <string.h>
#include "dump.h"

static const char help[] =
	"usage: zjctl dump [--lane N] [--tid N] [--nvm=NVM] [--json] DEV\n"
	"       zjctl dump --block N | --inode N [--nvm=NVM] [--json] DEV\n"
	"       zjctl dump --graph [--lane N] [--nvm=NVM] DEV\n\n"
	"Show the log record by record, in the order of stamps: lane, transaction id,\n"
	"dependencies, blocks, revokes, checksums, and whether recovery uses it, or why\n"
	"not. Of a log in stock's format (log=jbd2, or stock ext4's own) each transaction\n"
	"is a record of lane 0. Nothing is written.\n\n"
	"  --lane N     only records of lane N\n"
	"  --tid N      only records of transaction N\n"
	"  --block N    every image and revoke of file system block N, in order, and\n"
	"               which one recovery uses\n"
	"  --inode N    the same for the inode table block that holds inode N, with the\n"
	"               inode as each image has it\n"
	"  --graph      dependencies between components, for Graphviz; with --json, the\n"
	"               document is the same as without, and has them as depends_on\n"
	ZX_NVM_HELP "\n"
	"Examples:\n"
	"  zjctl dump /dev/sdb1 | less\n"
	"  zjctl dump --block 1057 /dev/sdb1\n"
	"  zjctl dump --graph /dev/sdb1 | dot -Tsvg >log.svg\n";

static const struct option options[] = {
	{ "lane", required_argument, NULL, 'l' },
	{ "tid", required_argument, NULL, 't' },
	{ "block", required_argument, NULL, 'b' },
	{ "inode", required_argument, NULL, 'i' },
	{ "graph", no_argument, NULL, 'g' },
	ZX_NVM_OPTION,
	ZX_OPTIONS,
	{ 0 }
};

static bool parse(int argc, char **argv, struct dump_filter *f, bool *graph)
{
	bool good = true;
	int c;

	while (good && (c = zx_getopt(argc, argv)) != -1) {
		switch (c) {
		case 'l':
			f->by_lane = true;
			good = zx_number(optarg, "--lane", 0, ZJ_MAX_LANES - 1, &f->lane);
			break;
		case 't':
			f->by_tid = true;
			good = zx_number(optarg, "--tid", 0, U32_MAX, &f->tid);
			break;
		case 'b':
			f->by_block = true;
			good = zx_number(optarg, "--block", 0, U64_MAX, &f->block);
			break;
		case 'i':
			good = zx_number(optarg, "--inode", 1, U32_MAX, &f->inode);
			break;
		case 'g':
			*graph = true;
			break;
		case 'M':
			f->nvm = optarg;
			break;
		default:
			return false;
		}
	}
	if (good && f->by_block && f->inode)
		return zx_usage("--block and --inode cannot be combined"), false;
	if (good && *graph && (f->by_block || f->inode))
		return zx_usage("--graph can be combined only with --lane and --tid"), false;
	/* The records of the JSON document name their dependencies. */
	if (zx_json)
		*graph = false;
	return good;
}

/* @ask: compare with recovery; not for a log that is in use or need not be recovered. */
static int dump_log(struct ext_image *img, const struct zj_jbd2_super *block0,
		    const struct zx_memory *memory, struct dump_filter *f, bool graph,
		    bool ask)
{
	struct log_official official = { 0 };
	struct log log = { 0 };
	int code = 0, err;

	if (ask)
		log_ask_recovery(img, block0, memory, &official);
	err = log_read(&log, img, block0, memory);
	js_text("format", log_format_name(&log));
	if (!err && graph)
		dump_graph(&log, f);
	else if (!err && (f->by_block || f->inode))
		code = dump_block(&log, f);
	else if (!err)
		dump_records(&log, f);
	if (official.err)
		code |= zx_fail(log_official_code(&official), "%s: %s",
				img->path, official.error);
	else if (err)
		code |= zx_fail(ZX_FAILED, "%s: the log cannot be listed (%s); run zjctl check",
				img->path, strerror(-err));
	else if (ask && !log_agrees(&log, &official))
		code |= ZX_FAILED;
	log_free(&log);
	return code;
}

static int dump(const struct zx_target *t, struct dump_filter *f, bool graph)
{
	enum zx_state state = ZX_CLEAN;
	struct zx_memory memory = ZX_NO_MEMORY;
	struct ext_image img;
	void *block0;
	int code;

	code = zx_open(&img, t, EXT_READ);
	if (code)
		return code;
	block0 = malloc(img.block_size);
	code = block0 ? zx_read_block0(&img, block0, t->mounted_at[0], &state) :
	       zx_fail(ZX_FAILED, "out of memory; try again with more");
	if (!code && f->inode)
		code = dump_find_inode(t->path, f);
	if (!code) {
		js_bool("live", state == ZX_LANES);
		if (state == ZX_CLEAN)
			zx_say(ZX_NOTE, "%s: the log is empty: the file system is clean", t->path);
		else if (!zx_is_due(&img, state))
			zx_say(ZX_NOTE, "%s: needs_recovery is not set: a mount discards this log",
			       t->path);
		code = zx_open_memory(&memory, f->nvm, &img, block0, false);
		if (!code && state != ZX_CLEAN)
			code = dump_log(&img, block0, &memory, f, graph,
					!t->mounted_at[0] && zx_is_due(&img, state));
	}
	zx_close_memory(&memory);
	free(block0);
	ext_close(&img);
	return code;
}

static int run(int argc, char **argv)
{
	struct dump_filter f = { 0 };
	struct zx_target target;
	bool graph = false;
	const char *name;
	int code;

	if (!parse(argc, argv, &f, &graph))
		return ZX_USAGE;
	name = zx_operand(argc, argv, "device");
	if (!name)
		return ZX_USAGE;
	code = zx_find(name, &target);
	if (code)
		return code;
	if (target.mounted_at[0])
		zx_say(ZX_WARNING, "%s is mounted and its log is in use: the output may be inconsistent",
		       target.path);
	return dump(&target, &f, graph);
}

const struct zx_command cmd_dump = {
	.name = "dump",
	.brief = "the log, record by record; one block's history; the graph",
	.help = help,
	.shorts = "",
	.options = options,
	.operand = "device",
	.run = run,
};
