// SPDX-License-Identifier: GPL-2.0-only
/* zjctl check: verify the whole log; say what recovery would do. */
#include <stdlib.h>
#include <string.h>
#include "log_view.h"
#include "zjctl.h"

static const char help[] =
	"usage: zjctl check [--nvm=NVM] [--json] DEV\n\n"
	"Read the whole log, verify every checksum and rule of the format, and say what\n"
	"recovery would do and what it would discard. Nothing is written. The log of a mounted\n"
	"file system changes meanwhile: this is told, and what was read is of some moment.\n\n"
	ZX_NVM_HELP "\n"
	"Exit status: 0 the log is good (whether recovery is due or not), 4 it is\n"
	"damaged, 8 it cannot be checked (read error, in use and changing), 16 usage.\n\n"
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

/* What counts: is it good, what would be done, how. Of a damaged one the error says it. */
static void verdict(const struct log *log, const struct log_official *o, const char *nvm,
		    bool mounted)
{
	const struct zj_recovery_stats *s = &o->stats;
	char in[64] = "";

	if (!log->ring.used)
		snprintf(in, sizeof(in), " in %s", zx_count(s->committed_components, "component"));
	printf("%sthe log is good%s", zx_on(ZX_GREEN), zx_off());
	if (mounted)
		printf("; after a crash now, recovery would replay %s%s\n",
		       zx_count(s->transactions, "transaction"), in);
	else
		printf("; to recover: zjctl recover %s%s%s%s\n", nvm ? "--nvm=" : "",
		       nvm ? zx_text(nvm) : "", nvm ? " " : "", zx_text(log->img->path));
	if (!mounted)
		zx_line(0, "recovery would replay %s%s and write %s home",
			zx_count(s->transactions, "transaction"), in, zx_count(s->replayed, "block"));
	if (s->unread_blocks)
		zx_line(0, "%s cannot be read; recovery does not need %s",
			zx_count(s->unread_blocks, "block of the log"),
			s->unread_blocks == 1 ? "it" : "them");
	if (s->discarded || s->torn_chunks)
		zx_line(0, "it would discard %s that had not ended when the system crashed (%s); this is normal",
			zx_count(s->discarded, "transaction"), zx_count(s->torn_chunks, "torn record"));
}

static void text(const struct log *log, const struct log_official *o, const char *nvm,
		 bool mounted)
{
	const struct zj_recovery_stats *s = &o->stats;
	char why[1024], name[64];

	if (!o->err)
		verdict(log, o, nvm, mounted);
	printf("details:\n");
	if (log->ring.used)
		printf("  log in stock's format, %s\n", zx_count(log->records.nr, "transaction"));
	else
		printf("  checkpoint stamp %llu, newest committed stamp %llu\n", s->ckpt_stamp,
		       s->newest_stamp);
	if (!log->ring.used && !log->area)
		printf("  committed stamp %llu\n", s->committed_stamp);
	for (u32 i = 0; i < log->components.nr; i++) {
		const struct log_component *c = log_component(log, i);

		if (c->verdict == LOG_COMMITTED || c->verdict == LOG_HOME)
			continue;
		log_why(log, c, why, sizeof(why));
		if (log->ring.used)
			log_record_name(log, log_record(log, c->first), name, sizeof(name));
		else
			snprintf(name, sizeof(name), "stamp %llu", c->stamp);
		zx_line(2, "%s is %s%s%s: %s", name, zx_on(ZX_YELLOW),
			log_verdict_name(c->verdict), zx_off(), why);
	}
}

/*
 * A log in use changes while it is read. What is good was good at some time; what is not may
 * be a change under way, so it is read again, and never called damaged.
 */
static void ask(struct ext_image *img, struct zj_jbd2_super *block0,
		const struct zx_memory *memory, bool mounted, struct log_official *official)
{
	enum { TRIES = 5 };
	enum zx_state state;

	log_ask_recovery(img, block0, memory, official);
	for (u32 i = 1; mounted && official->err && i < TRIES; i++) {
		ext_drop_cached_journal(img);
		if (zx_read_block0(img, block0, true, &state))
			break;
		log_ask_recovery(img, block0, memory, official);
	}
}

static int check_log(struct ext_image *img, struct zj_jbd2_super *block0,
		     const struct zx_memory *memory, const char *nvm, bool mounted)
{
	struct log_official official;
	struct log log = { 0 };
	int code = 0, err;

	ask(img, block0, memory, mounted, &official);
	if (mounted && official.err) {
		js_text("verdict", "busy");
		return zx_fail(ZX_FAILED, "%s: changes too fast to be judged while it is mounted; unmount it, or check a snapshot",
			       img->path);
	}
	err = log_read(&log, img, block0, memory);
	js_text("verdict", log_official_verdict(&official));
	if (!err && zx_json)
		json(&log, &official);
	else if (!err)
		text(&log, &official, memory->base ? nvm : NULL, mounted);
	if (official.err)
		code = zx_fail(log_official_code(&official), "%s: %s",
			       img->path, official.error);
	else if (err)
		code = zx_fail(ZX_FAILED, "%s: the log cannot be listed (%s); try again with more memory",
			       img->path, strerror(-err));
	else if (!mounted && !log_agrees(&log, &official))
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
	bool mounted = t->mounted_at[0];
	enum zx_state state = ZX_CLEAN;
	struct zx_memory memory = ZX_NO_MEMORY;
	struct ext_image img;
	void *block0;
	int code;

	code = zx_open(&img, t, EXT_READ);
	if (code)
		return code;
	block0 = malloc(img.block_size);
	code = block0 ? zx_read_block0(&img, block0, mounted, &state) :
	       zx_fail(ZX_FAILED, "out of memory; try again with more");
	if (!code)
		code = zx_open_memory(&memory, nvm, &img, block0, false);
	if (code == ZX_UNCORRECTED)
		js_text("verdict", "damaged");
	if (!code && mounted)
		zx_say(ZX_WARNING, "%s: is mounted at %s: the log changes while it is read, and this is what it was at some moment",
		       t->path, t->mounted_at);
	if (!code && zx_is_due(&img, state))
		code = check_log(&img, block0, &memory, nvm, mounted);
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

	while ((code = zx_getopt(argc, argv)) != -1) {
		if (code != 'M')
			return ZX_USAGE;
		nvm = optarg;
	}
	name = zx_operand(argc, argv, "device");
	if (!name)
		return ZX_USAGE;
	code = zx_find(name, &target);
	return code ? code : check(&target, nvm);
}

const struct zx_command cmd_check = {
	.name = "check",
	.brief = "verify the whole log; what recovery would do",
	.help = help,
	.shorts = "",
	.options = options,
	.operand = "device",
	.run = run,
};
