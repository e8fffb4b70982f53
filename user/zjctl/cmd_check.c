// SPDX-License-Identifier: GPL-2.0-only
/* zjctl check: verify the whole log; say what recovery would do. */
#include <stdlib.h>
#include <string.h>
#include "log_view.h"
#include "zjctl.h"

static const char help[] =
	"usage: zjctl check [--nvm=NVM] [--json] DEV\n\n"
	"Read the whole log, verify every checksum and rule of the format, and say what\n"
	"recovery would do and what it would discard. Nothing is written.\n\n"
	ZX_NVM_HELP "\n"
	"Exit status: 0 the log is good (whether recovery is due or not), 4 it is\n"
	"damaged, 8 it cannot be checked (mounted, read error), 16 usage.\n\n"
	"Examples:\n"
	"  zjctl check /dev/sdb1\n"
	"  zjctl check --json image.img\n"
	"  zjctl check --nvm=memory.img image.img\n";

static const struct option options[] = { ZX_NVM_OPTION, ZX_OPTIONS, { 0 } };

static void json(const struct log *log, const struct log_official *o)
{
	const struct zj_recovery_stats *s = &o->stats;
	char why[1024];

	js_text("format", log_format_name(log));
	js_object("recovery");
	js_u64("checkpoint_stamp", s->ckpt_stamp);
	if (!log->ring.used && !log->area) {
		js_u64("committed_stamp", s->committed_stamp);
		js_u64("lost_stamp", s->lost_stamp);
	}
	js_u64("unread_blocks", s->unread_blocks);
	js_u64("newest_committed_stamp", s->newest_stamp);
	js_u64("components", s->components);
	js_u64("committed_components", s->committed_components);
	js_u64("transactions", s->transactions);
	js_u64("discarded_transactions", s->discarded);
	js_u64("torn_records", s->torn_chunks);
	js_u64("images", s->images);
	js_u64("revoked_images", s->revoked);
	js_u64("blocks_to_write", s->replayed);
	js_end();
	js_array("not_committed");
	for (u32 i = 0; i < log->components.nr; i++) {
		const struct log_component *c = log_component(log, i);

		if (c->verdict == LOG_COMMITTED || c->verdict == LOG_HOME)
			continue;
		log_why(log, c, why, sizeof(why));
		js_object(NULL);
		js_u64("stamp", c->stamp);
		js_text("component", log_verdict_name(c->verdict));
		js_text("why", why);
		js_end();
	}
	js_end();
}

static void text(const struct log *log, const struct log_official *o, const char *nvm)
{
	const struct zj_recovery_stats *s = &o->stats;
	char why[1024], name[64];

	if (log->ring.used)
		printf("log in stock's format, %u transactions\n", log->records.nr);
	else
		printf("checkpoint stamp %llu, newest committed stamp %llu\n", s->ckpt_stamp,
		       s->newest_stamp);
	if (!log->ring.used && !log->area)
		printf("committed stamp %llu\n", s->committed_stamp);
	for (u32 i = 0; i < log->components.nr; i++) {
		const struct log_component *c = log_component(log, i);

		if (c->verdict == LOG_COMMITTED || c->verdict == LOG_HOME)
			continue;
		log_why(log, c, why, sizeof(why));
		if (log->ring.used)
			log_record_name(log, log_record(log, c->first), name, sizeof(name));
		else
			snprintf(name, sizeof(name), "stamp %llu", c->stamp);
		printf("  %s is %s%s%s: %s\n", name, zx_on(ZX_YELLOW),
		       log_verdict_name(c->verdict), zx_off(), why);
	}
	if (o->err)
		return;
	if (log->ring.used)
		printf("recovery would replay %u transactions and write %u blocks home\n",
		       s->transactions, s->replayed);
	else
		printf("recovery would replay %u transactions in %u components and write %u blocks home\n",
		       s->transactions, s->committed_components, s->replayed);
	if (s->unread_blocks)
		printf("%u blocks of the log cannot be read; recovery does not need them\n",
		       s->unread_blocks);
	if (s->discarded || s->torn_chunks)
		printf("it would discard %u transactions that were incomplete when the system crashed (%u torn records); this is normal\n",
		       s->discarded, s->torn_chunks);
	printf("%sthe log is good%s; to recover: zjctl recover %s%s%s%s\n", zx_on(ZX_GREEN),
	       zx_off(), nvm ? "--nvm=" : "", nvm ? zx_text(nvm) : "", nvm ? " " : "", zx_text(log->img->path));
}

static int check_log(struct ext_image *img, const struct zj_jbd2_super *block0,
		     const struct zx_memory *memory, const char *nvm)
{
	struct log_official official;
	struct log log = { 0 };
	int code = 0, err;

	log_ask_recovery(img, block0, memory, &official);
	err = log_read(&log, img, block0, memory);
	js_text("verdict", log_official_verdict(&official));
	if (!err && zx_json)
		json(&log, &official);
	else if (!err)
		text(&log, &official, memory->base ? nvm : NULL);
	if (official.err)
		code = zx_fail(log_official_code(&official), "%s: %s",
			       img->path, official.error);
	else if (err)
		code = zx_fail(ZX_FAILED, "%s: the log cannot be listed (%s); try again with more memory",
			       img->path, strerror(-err));
	else if (!log_agrees(&log, &official))
		code = ZX_FAILED;
	log_free(&log);
	return code;
}

static void not_due(const struct ext_image *img, enum zx_state state)
{
	js_text("verdict", state == ZX_CLEAN ? "clean" : "stock");
	if (zx_json)
		return;
	printf("%s: %s\n", zx_text(img->path), state == ZX_STOCK_LOG ?
	       "the journal holds an old log, but needs_recovery is not set: a mount discards it" :
	       img->needs_recovery ?
	       "the log is empty, nothing to replay, but needs_recovery is set: zjctl recover clears it" :
	       "clean: the log is empty, nothing to recover");
}

static int check(const struct zx_target *t, const char *nvm)
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
	code = block0 ? zx_read_block0(&img, block0, false, &state) :
	       zx_fail(ZX_FAILED, "out of memory; try again with more");
	if (!code)
		code = zx_open_memory(&memory, nvm, &img, block0, false);
	if (code == ZX_UNCORRECTED)
		js_text("verdict", "damaged");
	if (!code && zx_is_due(&img, state))
		code = check_log(&img, block0, &memory, nvm);
	else if (!code)
		not_due(&img, state);
	zx_close_memory(&memory);
	free(block0);
	ext_close(&img);
	return code;
}

static int run(int argc, char **argv)
{
	struct zx_target target;
	const char *name, *nvm = NULL;
	int code;

	while ((code = zx_getopt(argc, argv, "", options)) != -1) {
		if (code != 'M')
			return ZX_USAGE;
		nvm = optarg;
	}
	name = zx_operand(argc, argv, "device");
	if (!name)
		return ZX_USAGE;
	code = zx_find(name, &target);
	if (!code)
		code = zx_refuse_mounted(&target);
	return code ? code : check(&target, nvm);
}

const struct zx_command cmd_check = {
	.name = "check",
	.brief = "verify the whole log; what recovery would do",
	.help = help,
	.run = run,
};
