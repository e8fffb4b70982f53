// SPDX-License-Identifier: GPL-2.0-only
/*
 * What recovery does with each record, and why.  This follows docs/internals/format.md
 * ("Recovery") step by step, and is compared with recovery's own counts.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sort.h>
#include "log_view.h"
#include "zjctl.h"

static int cmp_record(const void *pa, const void *pb)
{
	const struct log_record *a = pa, *b = pb;
	int c = zj_cmp(a->chunk.stamp, b->chunk.stamp);

	if (!c)
		c = zj_cmp(a->chunk.lane, b->chunk.lane);
	if (!c)
		c = zj_cmp(a->chunk.chunk_index, b->chunk.chunk_index);
	if (!c)
		c = zj_cmp(a->log_block, b->log_block);
	return c;
}

struct log_component *log_find(const struct log *log, u64 stamp)
{
	u32 lo = 0, hi = log->components.nr;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		struct log_component *c = log_component(log, mid);

		if (c->stamp == stamp)
			return c;
		if (c->stamp < stamp)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* ---- is it whole? ---- */

static bool contradicts(const struct zj_chunk *a, const struct zj_chunk *b)
{
	if (a->nr_members != b->nr_members)
		return true;
	return a->lane == b->lane &&
	       (a->tid != b->tid || a->nr_chunks != b->nr_chunks ||
		a->chunk_index == b->chunk_index);
}

/* Counts the records; false if good records contradict each other. */
static bool count(const struct log *log, struct log_component *c)
{
	const struct zj_chunk *last = NULL;
	bool sound = true;

	for (u32 i = c->first; i < c->first + c->nr; i++) {
		const struct log_record *r = log_record(log, i);

		c->torn += r->state == LOG_TORN;
		c->hidden += r->state == LOG_HIDDEN;
		if (r->state != LOG_GOOD)
			continue;
		if (last && contradicts(last, &r->chunk))
			sound = false;
		if (!last || last->lane != r->chunk.lane) {
			c->members++;
			c->chunks_due += r->chunk.nr_chunks;
		}
		c->members_due = r->chunk.nr_members;
		c->chunks++;
		last = &r->chunk;
	}
	if (!last)
		c->members_due = log_record(log, c->first)->chunk.nr_members;
	return sound && c->members <= c->members_due;
}

/* ---- is what it depends on committed? ---- */

static bool dep_missing(const struct log *log, struct log_component *c, u64 dep)
{
	const struct log_component *on;

	if (dep <= log->ckpt_stamp)
		return false;
	on = log_find(log, dep);
	if (on && on->verdict == LOG_COMMITTED)
		return false;
	c->blocker = dep;
	c->ancestor = on && on->verdict == LOG_ORPHANED ? on->ancestor : dep;
	return true;
}

static bool orphaned(const struct log *log, struct log_component *c)
{
	for (u32 i = c->first; i < c->first + c->nr; i++) {
		const struct log_record *r = log_record(log, i);

		for (u32 k = 0; r->state == LOG_GOOD && k < r->chunk.nr_deps; k++)
			if (dep_missing(log, c, log_deps(log, r)[k]))
				return true;
	}
	return false;
}

static enum log_verdict judge(const struct log *log, struct log_component *c)
{
	bool sound = count(log, c);

	if (c->stamp <= log->ckpt_stamp)
		return LOG_HOME;
	if (!sound)
		return LOG_CONTRADICTORY;
	if (c->members != c->members_due || c->chunks != c->chunks_due)
		return LOG_INCOMPLETE;
	return orphaned(log, c) ? LOG_ORPHANED : LOG_COMMITTED;
}

static int make_components(struct log *log)
{
	u32 i, end;

	sort(log->records.items, log->records.nr, sizeof(struct log_record), cmp_record, NULL);
	for (i = 0; i < log->records.nr; i = end) {
		struct log_component *c = zj_vec_add(&log->components);

		if (!c)
			return -ENOMEM;
		end = i;
		while (end < log->records.nr &&
		       log_record(log, end)->chunk.stamp == log_record(log, i)->chunk.stamp)
			log_record(log, end++)->component = log->components.nr - 1;
		*c = (struct log_component) {
			.stamp = log_record(log, i)->chunk.stamp,
			.first = i,
			.nr = end - i,
		};
		c->verdict = judge(log, c);
		if (c->verdict == LOG_COMMITTED)
			log->newest_committed = c->stamp;
	}
	return 0;
}

/* ---- which images are taken? ---- */

/* An image of a block, or a revoke of it, in a committed component. */
struct event {
	u64	block;
	u64	stamp;
	struct log_image *image;	/* NULL: a revoke */
};

static int cmp_event(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;
	int c = zj_cmp(a->block, b->block);

	if (!c)
		c = zj_cmp(a->stamp, b->stamp);
	/* A revoke wins over an image of the same component. */
	return c ? c : !!b->image - !!a->image;
}

static bool add_event(struct zj_vec *events, u64 block, u64 stamp, struct log_image *image)
{
	struct event *e = zj_vec_add(events);

	if (e)
		*e = (struct event) { block, stamp, image };
	return e;
}

static bool add_events(const struct log *log, struct zj_vec *events)
{
	for (u32 i = 0; i < log->records.nr; i++) {
		const struct log_record *r = log_record(log, i);

		if (r->state != LOG_GOOD ||
		    log_component(log, r->component)->verdict != LOG_COMMITTED)
			continue;
		for (u32 k = 0; k < r->chunk.nr_tags; k++) {
			struct log_image *image = log_image(log, r->first_image + k);

			if (!add_event(events, image->block, r->chunk.stamp, image))
				return false;
		}
		for (u32 k = 0; k < r->chunk.nr_revokes; k++)
			if (!add_event(events, log_revokes(log, r)[k], r->chunk.stamp, NULL))
				return false;
	}
	return true;
}

/*
 * The newest image of a block and, if it has only some lines, those that it is applied to. On a
 * disk, lines without an image are home.
 */
static bool take(const struct log *log, const struct event *from, const struct event *end)
{
	const struct event *e = end;

	while (e > from && e[-1].image) {
		e--;
		if (!log_has_lines(log, e->image))
			break;
	}
	if (e == end || (!log->area && log_has_lines(log, e->image)))
		return false;
	for (; e < end; e++)
		e->image->taken = true;
	return true;
}

int log_judge(struct log *log)
{
	struct zj_vec events = { .size = sizeof(struct event) };
	const struct event *e;
	u32 end;
	int err = make_components(log);

	if (!err && !add_events(log, &events))
		err = -ENOMEM;
	if (!err && events.nr)
		sort(events.items, events.nr, sizeof(*e), cmp_event, NULL);
	for (u32 i = 0; !err && i < events.nr; i = end) {
		e = events.items;
		for (end = i + 1; end < events.nr && e[end].block == e[i].block; end++)
			;
		log->taken += take(log, e + i, e + end);
	}
	free(events.items);
	return err;
}

/* ---- in words ---- */

static void __printf(3, 4) append(char *text, size_t room, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + used, room - used, fmt, ap);
	va_end(ap);
}

static u32 seg_of(const struct log *log, u32 log_block)
{
	return (log_block - log->geo.log_first) / log->geo.seg_blocks;
}

static u32 seg_block_of(const struct log *log, u32 log_block)
{
	return (log_block - log->geo.log_first) % log->geo.seg_blocks;
}

/* A transaction of a ring, which is a component with one member in one record. */
static const char *why_cut_off(const struct log_record *r)
{
	return r->state == LOG_UNCOMMITTED ? "it has no commit block" :
		"its commit block or one of its log blocks has a wrong checksum";
}

/* Torn and hidden records are the best explanation. */
static void name_losses(const struct log *log, const struct log_component *c,
			char *text, size_t room)
{
	for (u32 i = c->first; i < c->first + c->nr; i++) {
		const struct log_record *r = log_record(log, i);

		if (r->state == LOG_GOOD)
			continue;
		append(text, room, "; the record of lane %u (tid %u) in segment %u block %u %s",
		       r->chunk.lane, r->chunk.tid, seg_of(log, r->log_block),
		       seg_block_of(log, r->log_block),
		       r->state == LOG_TORN ? "is torn" : "follows a lost header");
		if (r->state == LOG_TORN)
			append(text, room, " (%u of %u images with a wrong checksum)",
			       r->bad_images, r->chunk.nr_tags);
	}
}

static void why_incomplete(const struct log *log, const struct log_component *c,
			   char *text, size_t room)
{
	const struct zj_chunk *member = NULL;
	u32 chunks = 0;

	if (c->members != c->members_due)
		append(text, room, "%u of %u members are in the log", c->members, c->members_due);
	for (u32 i = c->first; i <= c->first + c->nr; i++) {
		const struct log_record *r = i < c->first + c->nr ? log_record(log, i) : NULL;

		if (r && r->state != LOG_GOOD)
			continue;
		if (member && (!r || r->chunk.lane != member->lane)) {
			if (chunks != member->nr_chunks)
				append(text, room, "%slane %u has %u of %u records",
				       *text ? "; " : "", member->lane, chunks, member->nr_chunks);
			chunks = 0;
		}
		member = r ? &r->chunk : NULL;
		chunks++;
	}
	name_losses(log, c, text, room);
}

void log_why(const struct log *log, const struct log_component *c, char *text, size_t room)
{
	const struct log_component *on;
	char more[512] = "";

	*text = 0;
	switch (c->verdict) {
	case LOG_HOME:
		append(text, room, "not newer than the checkpoint stamp %llu: its blocks are already in their places",
		       log->ckpt_stamp);
		break;
	case LOG_COMMITTED:
		break;
	case LOG_CONTRADICTORY:
		append(text, room, "its records contradict each other");
		break;
	case LOG_INCOMPLETE:
		if (log->ring.used)
			append(text, room, "%s", why_cut_off(log_record(log, c->first)));
		else
			why_incomplete(log, c, text, room);
		break;
	case LOG_ORPHANED:
		on = log_find(log, c->ancestor);
		append(text, room, "depends on stamp %llu", c->blocker);
		if (c->ancestor != c->blocker)
			append(text, room, ", which in turn depends on stamp %llu", c->ancestor);
		if (on) {
			log_why(log, on, more, sizeof(more));
			append(text, room, ", which is %s: %s", log_verdict_name(on->verdict), more);
		} else {
			append(text, room, ", which is not in the log");
		}
		break;
	}
}

const char *log_verdict_name(enum log_verdict verdict)
{
	static const char * const names[] = {
		[LOG_HOME] = "home",
		[LOG_COMMITTED] = "committed",
		[LOG_CONTRADICTORY] = "contradictory",
		[LOG_INCOMPLETE] = "incomplete",
		[LOG_ORPHANED] = "orphaned",
	};

	return names[verdict];
}

const char *log_state_name(enum log_record_state state)
{
	static const char * const names[] = {
		[LOG_GOOD] = "good",
		[LOG_TORN] = "torn",
		[LOG_HIDDEN] = "hidden",
		[LOG_UNCOMMITTED] = "uncommitted",
	};

	return names[state];
}

const char *log_end_name(enum log_end end)
{
	static const char * const names[] = {
		[LOG_FULL] = "full",
		[LOG_UNUSED] = "unused",
		[LOG_STALE] = "stale",
		[LOG_OLD_TENURE] = "old-tenure",
		[LOG_TORN_HEADER] = "torn-header",
		[LOG_BAD_HEADER] = "bad-header",
		[LOG_UNREADABLE] = "unreadable",
	};

	return names[end];
}

const char *log_tail_name(const struct log_tail *tail)
{
	return tail->wrong ? "damaged" : tail->records ? "reclaimed" : "none";
}

const char *log_record_name(const struct log *log, const struct log_record *r, char *text,
			    size_t room)
{
	if (log->ring.used)
		snprintf(text, room, "transaction %u", r->chunk.tid);
	else
		snprintf(text, room, "stamp %llu  lane %u  tid %u", r->chunk.stamp,
			 r->chunk.lane, r->chunk.tid);
	return text;
}

const char *log_format_name(const struct log *log)
{
	return log->ring.used ? "jbd2" : log->area ? "nvm" : "lanes";
}
