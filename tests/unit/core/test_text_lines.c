// SPDX-License-Identifier: GPL-2.0-only
/* What printers print: where a long list ends, and what a line looks like. */
#include <regex.h>
#include "text.h"

static u32 times(const char *what)
{
	u32 n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

/* So many entries of a list, then @more, and nothing behind it. */
static void assert_cut_off(const char *entry, const char *more, bool cut)
{
	assert_int_equal(times(entry), ZJ_TEXT_MOST);
	assert_int_equal(times(more), cut);
}

static void long_lists_of_segments_are_cut_off(void)
{
	for (u32 cut = 0; cut < 2; cut++) {
		const u32 n = ZJ_TEXT_MOST + cut;

		OPEN(.journal = 8192, .lanes = 32, .cpus = 2);
		for (u32 i = 0; i < n; i++)
			list_move_tail(fx.zj->pool.next, &lane(1)->full);
		fx.zj->nr_pool -= n;
		spin_lock(&lane(0)->lock);
		zj_seg_room(lane(0), n * fx.zj->geo.seg_blocks);
		spin_unlock(&lane(0)->lock);
		PRINT(zj_log_map_to_text, fx.zj);
		assert_cut_off(": full, tenure", "  more\n", cut);
		assert_int_equal(times(": empty\n"), ZJ_TEXT_MOST);
		assert_says("lane 0: 0 blocks promised, %u segments in hand\n", n);
		zj_space_reclaim(fx.zj, fx.zj->ckpt_stamp);
		close_journal();
	}
}

/* Members of a component, what it depends on, and components that are sealed. */
static void long_lists_of_components_are_cut_off(void)
{
	for (u32 cut = 0; cut < 2; cut++) {
		const u32 n = ZJ_TEXT_MOST + cut;
		handle_t *h[ZJ_TEXT_MOST + 2], *all;

		OPEN(.lanes = n + 1, .journal = 16384);
		assert_int_equal(fx.zj->nr_lanes, n + 1);
		for (u32 i = 0; i < n; i++) {
			fx.hold_lane[i] = true;
			change(i, BLOCK + i, 1);
			seal(i);
		}
		all = start(n, n);
		for (u32 i = 0; i < n; i++)
			get_access(all, BLOCK + i);
		PRINT(zj_components_to_text, fx.zj);
		assert_cut_off("sealed, 1 members", "more are sealed\n", cut);
		assert_cut_off("  waits for stamp", "\n  more\n", cut);
		stop(all);
		release();
		commit(n);
		for (u32 i = 0; i < n; i++) {
			h[i] = start(i, 1);
			put(h[i], BLOCK, 1);
		}
		PRINT(zj_components_to_text, fx.zj);
		assert_says("component 0: running, %u members, 0 missing\n", n);
		assert_cut_off(", running, 1 open handles", "\n  more\n", cut);
		for (u32 i = 0; i < n; i++)
			stop(h[i]);
		close_journal();
	}
}

static void long_lists_of_waits_are_cut_off(void)
{
	struct zj_wait wait[ZJ_TEXT_MOST + 1];

	for (u32 cut = 0; cut < 2; cut++) {
		const u32 n = ZJ_TEXT_MOST + cut;

		OPEN();
		for (u32 i = 0; i < n; i++)
			zj_wait_begin(&wait[i], lane(1), ZJ_WAIT_SPACE, NULL);
		PRINT(zj_waits_to_text, lane(1));
		assert_cut_off("now lane=1 reason=space", "more lane=1\n", cut);
		for (u32 i = 0; i < n; i++)
			zj_wait_end(&wait[i]);
		close_journal();
	}
}

/* All lines there are. N is a number, W a word. */
static const char *const line_shapes[] = {
	"lane N: N not written yet, N being written, N sealed with N credits, N blocks promised, "
		"N segments in hand(, N credits reserved)?(, N handle starts wait for space)?",
	"  transaction N: lane N, W, N open handles, N handles, N credits",
	"component N: W, N members(, locked for N us)?(, sealed for N us, N with data to submit, "
		"N without a record)?(, N missing)?(, to be written home)?",
	"  waits for stamp N through lane N",
	"oldest in the log:",
	"log W: N segments of N blocks, stamp N, reclaimed N",
	"lane N: N blocks promised, N segments in hand",
	"  segment N: (being filled, N of N blocks, newest stamp N|empty)",
	"pool: N free, N handle starts wait",
	"(now|past) lane=N reason=W us=N( for=N for_lane=N phase=W)? pid=N comm=[^=]*",
	"sum lane=N fsyncs=N( W=N)+",
	"slow lane=N us=N( W=N)+ tid=N pid=N comm=[^=]*",
};

static int shape_of(const char *line)
{
	for (u32 i = 0; i < ARRAY_SIZE(line_shapes); i++) {
		char re[512] = "^";
		regex_t preg;
		bool is;

		for (const char *c = line_shapes[i]; *c; c++)
			strcat(re, *c == 'N' ? "[0-9]+" : *c == 'W' ? "[a-z_]+" :
				   (char [2]){ *c });
		strcat(re, "$");
		assert_int_equal(regcomp(&preg, re, REG_EXTENDED | REG_NOSUB), 0);
		is = !regexec(&preg, line, 0, NULL, 0);
		regfree(&preg);
		if (is)
			return i;
	}
	fail_msg("no line looks like \"%s\"", line);
	return -1;
}

static void every_line_is_whole(void)
{
	u32 seen[ARRAY_SIZE(line_shapes)] = { 0 };
	struct fiber *f;
	handle_t *h[2];

	OPEN(.lanes = 3);
	join(GO(call_complete, .tid = change(0, BLOCK, 1)));
	fx.hold_lane[2] = true;
	f = GO(call_complete, .tid = change(2, BLOCK + 1, 1));
	settle();
	change(2, BLOCK + 2, 1);
	seal(2);
	h[0] = start_more(0, 2, 3, 0);
	h[1] = start(1, 2);
	tie(h[0], h[1], BLOCK);
	put(h[1], BLOCK + 2, 2);
	lane(0)->starts_waiting = 2;
	seal(1);
	PRINT(zj_journal_to_text, fx.zj);
	lane(0)->starts_waiting = 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		seen[shape_of(line)]++;
	for (u32 i = 0; i < ARRAY_SIZE(seen); i++)
		if (!seen[i])
			fail_msg("no line is like \"%s\"", line_shapes[i]);
	stop(h[0]);
	stop(h[1]);
	release();
	join(f);
	close_journal();
}

CORE_TESTS(text_lines,
	CORE_TEST(long_lists_of_segments_are_cut_off),
	CORE_TEST(long_lists_of_components_are_cut_off),
	CORE_TEST(long_lists_of_waits_are_cut_off),
	CORE_TEST(every_line_is_whole),
);
