// SPDX-License-Identifier: GPL-2.0-only
/* zjctl dump: records and segments. */
#include <time.h>
#include "dump.h"

bool dump_passes(const struct log *log, const struct log_record *r,
		 const struct dump_filter *f)
{
	return (!f->by_lane || r->chunk.lane == f->lane) &&
	       (!f->by_tid || r->chunk.tid == f->tid);
}

static u32 seg_of(const struct log *log, const struct log_record *r)
{
	return (r->log_block - log->geo.log_first) / log->geo.seg_blocks;
}

/* ---- JSON ---- */

static void json_place(const struct log *log, const struct log_record *r)
{
	if (log->area) {
		js_u64("first_line", r->log_block);
		js_u64("lines", r->lines);
		return;
	}
	if (!log->ring.used) {
		js_u64("segment", seg_of(log, r));
		js_u64("segment_block", r->chunk.seg_block);
		js_u64("tenure", r->chunk.seg_seq);
	}
	js_u64("journal_block", r->log_block);
}

void dump_lines(const struct log_image *image)
{
	char text[32];

	snprintf(text, sizeof(text), "%#llx", image->lines);
	js_text("block_lines", text);
}

static void json_record(const struct log *log, const struct log_record *r)
{
	const struct log_component *c = log_component(log, r->component);
	char why[1024];

	log_why(log, c, why, sizeof(why));
	js_object(NULL);
	js_u64("stamp", r->chunk.stamp);
	js_u64("lane", r->chunk.lane);
	js_u64("tid", r->chunk.tid);
	js_u64("members", r->chunk.nr_members);
	js_u64("chunk", r->chunk.chunk_index);
	js_u64("chunks", r->chunk.nr_chunks);
	json_place(log, r);
	js_u64("time", r->chunk.commit_sec);
	js_text("record", log_state_name(r->state));
	js_text("component", log_verdict_name(c->verdict));
	js_text("why", why);
	if (c->verdict == LOG_ORPHANED)
		js_u64("missing_ancestor", c->ancestor);
	js_array("depends_on");
	for (u32 i = 0; i < r->chunk.nr_deps; i++)
		js_u64(NULL, log_deps(log, r)[i]);
	js_end();
	js_array("images");
	for (u32 i = 0; i < r->chunk.nr_tags; i++) {
		const struct log_image *image = log_image(log, r->first_image + i);

		js_object(NULL);
		js_u64("block", image->block);
		js_bool("checksum_ok", image->good);
		if (log->area || log_has_lines(log, image))
			dump_lines(image);
		if (!log->area)
			js_bool("escaped", image->flags);
		js_bool("taken", image->taken);
		js_end();
	}
	js_end();
	js_array("revokes");
	for (u32 i = 0; i < r->chunk.nr_revokes; i++)
		js_u64(NULL, log_revokes(log, r)[i]);
	js_end();
	js_end();
}

void dump_ring(const struct log *log)
{
	const struct log_ring *ring = &log->ring;

	js_object("ring");
	js_u64("first_block", ring->how.first);
	js_u64("last_block", ring->how.last - 1);
	js_u64("start", ring->start);
	js_u64("sequence", ring->sequence);
	js_u64("used_blocks", ring->blocks);
	js_u64("end_block", ring->end);
	js_text("end", log_end_name(ring->why));
	js_end();
}

static void json_segments(const struct log *log, const struct dump_filter *f)
{
	js_array("segments");
	for (u32 i = 0; i < log->geo.nr_segs; i++) {
		const struct log_segment *s = &log->segs[i];

		if (!s->records || (f->by_lane && s->lane != f->lane))
			continue;
		js_object(NULL);
		js_u64("segment", i);
		js_u64("lane", s->lane);
		js_u64("tenure", s->seg_seq);
		js_u64("records", s->records);
		js_u64("used_blocks", s->used);
		js_u64("newest_stamp", s->newest);
		js_text("end", log_end_name(s->end));
		js_end();
	}
	js_end();
}

static void json_tails(const struct log *log, const struct dump_filter *f)
{
	js_array("tails");
	for (u32 i = 0; i < log->geo.nr_lanes; i++) {
		const struct log_tail *t = &log->tails[i];

		if (f->by_lane && i != f->lane)
			continue;
		js_object(NULL);
		js_u64("lane", i);
		js_u64("line", (u32)t->tail);
		js_u64("stamp", t->tail >> ZJ_NVM_TAIL_STAMP);
		js_u64("records", t->records);
		js_u64("lines", t->lines);
		js_text("end", log_tail_name(t));
		if (t->wrong) {
			js_u64("wrong_at", t->wrong_at);
			js_text("wrong", t->wrong);
		}
		js_end();
	}
	js_end();
}

static void json(const struct log *log, const struct dump_filter *f)
{
	js_u64("checkpoint_stamp", log->ckpt_stamp);
	if (!log->ring.used && !log->area)
		js_u64("committed_stamp", log->committed_stamp);
	if (log->ring.used)
		dump_ring(log);
	js_array("records");
	for (u32 i = 0; i < log->records.nr; i++)
		if (dump_passes(log, log_record(log, i), f))
			json_record(log, log_record(log, i));
	js_end();
	if (log->area)
		json_tails(log, f);
	else
		json_segments(log, f);
}

/* ---- text ---- */

static enum zx_colour colour_of(const struct log_component *c)
{
	return c->verdict == LOG_COMMITTED ? ZX_GREEN : c->verdict == LOG_HOME ? 0 : ZX_RED;
}

static void text_images(const struct log *log, const struct log_record *r)
{
	if (!r->chunk.nr_tags)
		return;
	printf("    blocks     ");
	for (u32 i = 0; i < r->chunk.nr_tags; i++) {
		const struct log_image *image = log_image(log, r->first_image + i);

		printf(" %llu", image->block);
		if (log_has_lines(log, image))
			printf("(lines %#llx)", image->lines);
		if (image->flags)
			printf("(escaped)");
		if (!image->good)
			printf("%s(BAD CHECKSUM)%s", zx_on(ZX_RED), zx_off());
	}
	putchar('\n');
}

static void text_list(const char *title, const u64 *list, u32 nr)
{
	if (!nr)
		return;
	printf("    %-11s", title);
	while (nr--)
		printf(" %llu", *list++);
	putchar('\n');
}

static void text_record(const struct log *log, const struct log_record *r)
{
	const struct log_component *c = log_component(log, r->component);
	time_t when = r->chunk.commit_sec;
	char why[1024], date[32] = "", name[64], at[128];
	struct tm tm;

	if (when && localtime_r(&when, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
	log_why(log, c, why, sizeof(why));
	if (log->ring.used)
		snprintf(at, sizeof(at), "journal block %u", r->log_block);
	else if (log->area)
		snprintf(at, sizeof(at), "record %u of %u  members %u  lines %u to %u",
			 r->chunk.chunk_index + 1, r->chunk.nr_chunks, r->chunk.nr_members,
			 r->log_block, r->log_block + r->lines - 1);
	else
		snprintf(at, sizeof(at), "record %u of %u  members %u  segment %u block %u",
			 r->chunk.chunk_index + 1, r->chunk.nr_chunks, r->chunk.nr_members,
			 seg_of(log, r), r->chunk.seg_block);
	printf("%s  %s  %s\n", log_record_name(log, r, name, sizeof(name)), at, date);
	printf("    state       %s%s%s%s%s%s\n", zx_on(colour_of(c)),
	       c->verdict == LOG_COMMITTED || c->verdict == LOG_HOME ? "" : "NOT COMMITTED, ",
	       log_verdict_name(c->verdict), zx_off(), *why ? ": " : "", why);
	printf("    checksums   %s\n", log->ring.used && r->state == LOG_TORN ? "NOT ok" :
	       r->state == LOG_TORN ? "header ok, images NOT ok" : "ok");
	if (r->state == LOG_HIDDEN)
		printf("    hidden      it follows a lost header of its segment: recovery does not reach it\n");
	text_list("depends on ", log_deps(log, r), r->chunk.nr_deps);
	text_images(log, r);
	text_list("revokes    ", log_revokes(log, r), r->chunk.nr_revokes);
}

static void text_segments(const struct log *log, const struct dump_filter *f)
{
	printf("\nsegment lane   tenure  records  blocks         newest  ends\n");
	for (u32 i = 0; i < log->geo.nr_segs; i++) {
		const struct log_segment *s = &log->segs[i];

		if (s->records && (!f->by_lane || s->lane == f->lane))
			printf("%7u %4u %8llu %8u %7u %14llu  %s\n", i, s->lane, s->seg_seq,
			       s->records, s->used, s->newest, log_end_name(s->end));
	}
}

static void text_tails(const struct log *log, const struct dump_filter *f)
{
	printf("\n   lane  tail line       stamp  records     lines  back to\n");
	for (u32 i = 0; i < log->geo.nr_lanes; i++) {
		const struct log_tail *t = &log->tails[i];

		if (f->by_lane && i != f->lane)
			continue;
		printf("%7u %10u %11llu %8u %9u  %s", i, (u32)t->tail,
		       t->tail >> ZJ_NVM_TAIL_STAMP, t->records, t->lines,
		       log_tail_name(t));
		if (t->wrong)
			printf(": %s before line %u", t->wrong, t->wrong_at);
		putchar('\n');
	}
}

/* What a person in an emergency wants to know first. */
static void text_summary(const struct log *log)
{
	u32 used = 0;

	for (u32 i = 0; i < log->records.nr; i++)
		used += log_component(log, log_record(log, i)->component)->verdict ==
			LOG_COMMITTED;
	printf("%s in the log; recovery uses %u\n", zx_count(log->records.nr, "record"), used);
}

void dump_records(const struct log *log, const struct dump_filter *f)
{
	if (zx_json) {
		json(log, f);
		return;
	}
	text_summary(log);
	if (log->ring.used)
		printf("log in stock's format, from transaction %u in journal block %u\n",
		       log->ring.sequence, log->ring.start);
	else
		printf("checkpoint stamp %llu, committed stamp %llu\n", log->ckpt_stamp,
		       log->committed_stamp);
	for (u32 i = 0; i < log->records.nr; i++)
		if (dump_passes(log, log_record(log, i), f))
			text_record(log, log_record(log, i));
	if (log->ring.used)
		printf("it ends in journal block %u: %s\n", log->ring.end,
		       log_end_name(log->ring.why));
	else if (log->area)
		text_tails(log, f);
	else
		text_segments(log, f);
}
