// SPDX-License-Identifier: GPL-2.0-only
/* zjctl top: what mounted journals do now, on a terminal or as lines. */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <curses.h>
#include "stats.h"

static const char help[] =
	"usage: zjctl top [-d SECONDS] [-n COUNT] [-s COLUMN] [--from FILE] [--json]\n"
	"                 [DEV|MOUNTPOINT]\n\n"
	"Show what mounted journals do now: everything is of the time since the last refresh.\n"
	"Of each journal there are its device and directory, its state, how much of the log is in\n"
	"use, fsyncs per second with the times that half, nine of ten and 99 of 100 of them take,\n"
	"and a line for each lane. Only root may read the statistics.\n\n"
	"  -d SECONDS    time between two refreshes (default 2)\n"
	"  -n COUNT      print this many refreshes as plain lines, and end\n"
	"  -s, --sort COLUMN\n"
	"                sort lanes by this column, the largest first\n"
	"  --from FILE   read a file in the format of /proc/fs/zjournal/<dev>/info\n\n"
	"Keys: q quit, h what the columns mean, s sort by the next column, r the other way round,\n"
	"space stop and go on, + and - refresh more or less often, up and down more lanes.\n"
	"Columns: lane, commits, handles, blocks, fsyncs, flushes, waits, shared. Two more, whose\n"
	"titles have a blank, are means: commit ms, fsync ms.\n"
	"Without a terminal it prints plain lines; with --json a document for each refresh.\n\n"
	"Examples:\n"
	"  zjctl top /srv\n"
	"  zjctl top -n 1 -s 'fsync ms'\n"
	"  zjctl top -d 10 --json >>lanes.jsonl\n";

static const struct option options[] = {
	{ "delay", required_argument, NULL, 'd' },
	{ "count", required_argument, NULL, 'n' },
	{ "sort", required_argument, NULL, 's' },
	{ "from", required_argument, NULL, 'f' },
	ZX_PLAIN_OPTIONS,
	{ 0 }
};

/**
 * struct view - what is shown, and how
 */
struct view {
	struct source from;
	double	delay;		/* seconds between refreshes */
	u64	count;		/* refreshes; 0: no end */
	int	column;		/* to sort by, as of stats_sort() */
	bool	reverse;
	bool	legend;		/* shown in place of the lanes */
	bool	stopped;	/* by a key */
	u32	first;		/* lanes that are scrolled away */
	struct sample *now, *before;
};

static double seconds_between(const struct sample *now, const struct sample *before)
{
	return now->time.tv_sec - before->time.tv_sec +
	       (now->time.tv_nsec - before->time.tv_nsec) / 1e9;
}

static const struct stats *same_journal(const struct sample *s, const struct stats *j)
{
	for (u32 i = 0; i < s->nr; i++)
		if (!strcmp(s->journal[i].name, j->name))
			return &s->journal[i];
	return NULL;
}

static double fsyncs_per_second(const struct stats *now, const struct stats *before, double seconds)
{
	double n = 0;

	for (u32 i = 0; i < now->nr_lanes; i++)
		n += stats_counter(&now->lane[i], "fsyncs");
	for (u32 i = 0; i < before->nr_lanes; i++)
		n -= stats_counter(&before->lane[i], "fsyncs");
	return fmax(n, 0) / seconds;
}

/* ---- the two lines of a journal above its lanes ---- */

static void name_text(const struct stats *j, char *to, size_t room)
{
	struct zx_mount m;

	if (zx_mount_of_journal(j->name, &m))
		snprintf(to, room, "%.100s on %.200s", zx_text(m.source), zx_text(m.at));
	else
		snprintf(to, room, "%s", zx_text(j->name));
}

static void head_text(const struct stats *j, char *to, size_t room)
{
	char name[1024];

	name_text(j, name, sizeof(name));
	snprintf(to, room, "%.600s: %s, %s%s%s, log %u %% in use", name, zx_text(j->state),
		 zx_count(j->nr_lanes, "lane"), j->format[0] ? ", log=" : "", zx_text(j->format),
		 stats_log_percent(j));
}

/* "3.1 ms"; the buffer is static, four calls may be in one printf. */
static const char *time_text(double us)
{
	enum { NR = 4 };
	static char texts[NR][32];
	static u32 turn;
	char *text = texts[turn++ % NR];

	if (us <= 0)
		return "-";
	if (us < 1000)
		snprintf(text, sizeof(texts[0]), "%.0f us", us);
	else if (us < 1e6)
		snprintf(text, sizeof(texts[0]), "%.3g ms", us / 1e3);
	else
		snprintf(text, sizeof(texts[0]), "%.3g s", us / 1e6);
	return text;
}

static void fsync_text(const struct stats *now, const struct stats *before, double seconds,
		       char *to, size_t room)
{
	snprintf(to, room, "fsyncs %.1f/s   50 %% within %s, 90 %% %s, 99 %% %s",
		 fsyncs_per_second(now, before, seconds),
		 time_text(stats_quantile(now, before, 0.5)),
		 time_text(stats_quantile(now, before, 0.9)),
		 time_text(stats_quantile(now, before, 0.99)));
}

/* ---- lines ---- */

static void print_journals(const struct view *v)
{
	double seconds = seconds_between(v->now, v->before);
	char line[1200];

	for (u32 i = 0; i < v->now->nr; i++) {
		const struct stats *now = &v->now->journal[i];
		const struct stats *before = same_journal(v->before, now);

		if (!before)
			continue;
		head_text(now, line, sizeof(line));
		puts(line);
		fsync_text(now, before, seconds, line, sizeof(line));
		printf("  %s\n", line);
		stats_table(now, before, seconds, v->column, v->reverse);
	}
}

static void json_rates(const struct stats *now, const struct stats *before, double seconds)
{
	js_array("rates");
	for (u32 i = 0; before && i < now->nr_lanes && i < before->nr_lanes; i++) {
		js_object(NULL);
		js_u64("lane", now->lane[i].lane);
		js_object("per_second");
		for (u32 k = 0; k < now->lane[i].all.nr; k++) {
			const char *name = now->lane[i].all.counter[k].name;
			u64 was = stats_counter(&before->lane[i], name);

			js_float(name, (now->lane[i].all.counter[k].value - was) / seconds);
		}
		js_end();
		js_end();
	}
	js_end();
	if (!before)
		return;
	js_object("fsync_us");
	js_float("p50", stats_quantile(now, before, 0.5));
	js_float("p90", stats_quantile(now, before, 0.9));
	js_float("p99", stats_quantile(now, before, 0.99));
	js_end();
}

static void json_journals(const struct view *v)
{
	double seconds = seconds_between(v->now, v->before);
	struct zx_mount m;

	js_start("top");
	js_float("seconds", seconds);
	js_array("journals");
	for (u32 i = 0; i < v->now->nr; i++) {
		const struct stats *j = &v->now->journal[i];

		js_object(NULL);
		stats_json(j);
		if (zx_mount_of_journal(j->name, &m)) {
			js_text("device", m.source);
			js_text("directory", m.at);
		}
		json_rates(j, same_journal(v->before, j), seconds);
		js_end();
	}
	js_end();
	js_finish(0);
}

/* ---- a terminal ---- */

static volatile sig_atomic_t ended;

static void end(int sig)
{
	ended = 1;
}

static void draw_legend(void)
{
	char line[256];
	int at = 2;

	for (int i = -1; at < LINES && stats_legend_text(i, line, sizeof(line)); i++)
		mvaddnstr(at++, 2, line, COLS - 2);
	mvaddnstr(at + 1, 2, "Counts are per second, times are means. Of the whole journal there are shares:",
		  COLS - 2);
	mvaddnstr(at + 2, 2, "how long 50, 90 and 99 of 100 fsyncs take at most.", COLS - 2);
}

/* @room: lines for this journal, of which four are no lanes. Returns the next free one. */
static int draw_journal(const struct view *v, const struct stats *now, int at, int room)
{
	const struct stats *before = same_journal(v->before, now);
	double seconds = seconds_between(v->now, v->before);
	struct stats_row *row;
	char line[1200];
	u32 fit;

	head_text(now, line, sizeof(line));
	attron(strcmp(now->state, "aborted") ? A_BOLD : A_STANDOUT);
	mvaddnstr(at++, 0, line, COLS);
	attroff(A_BOLD | A_STANDOUT);
	row = before ? stats_rows(now, before) : NULL;
	if (!row)
		return at;
	fsync_text(now, before, seconds, line, sizeof(line));
	mvaddnstr(at++, 2, line, COLS - 2);
	stats_title_text(line, sizeof(line), COLS);
	attron(A_REVERSE);
	mvprintw(at++, 0, "%-*.*s", COLS, COLS, line);
	attroff(A_REVERSE);
	stats_sort(row, now->nr_lanes, v->column, v->reverse);
	fit = room > 5 ? room - 4 : 1;
	for (u32 i = v->first; i < now->nr_lanes && i - v->first < fit; i++) {
		stats_row_text(&row[i], false, seconds, line, sizeof(line), COLS);
		mvaddnstr(at++, 0, line, COLS);
	}
	attron(A_BOLD);
	stats_row_text(&row[now->nr_lanes], true, seconds, line, sizeof(line), COLS);
	mvaddnstr(at++, 0, line, COLS);
	attroff(A_BOLD);
	free(row);
	return at;
}

static void draw(struct view *v)
{
	u32 nr = max_t(u32, v->now->nr, 1), most = 0;
	int at = 2, each = (LINES - 2) / nr;
	char line[256];

	for (u32 i = 0; i < v->now->nr; i++)
		most = max_t(u32, most, v->now->journal[i].nr_lanes);
	v->first = min_t(u32, v->first, most ? most - 1 : 0);
	erase();
	snprintf(line, sizeof(line), "every %.3g s%s, by %s%s   q quit  h help  s sort  r reverse  space stop",
		 v->delay, v->stopped ? ", STOPPED" : "", stats_column_name(v->column),
		 v->reverse ? ", reversed" : "");
	mvaddnstr(0, 0, line, COLS);
	if (v->legend)
		draw_legend();
	for (u32 i = 0; !v->legend && i < v->now->nr && at < LINES; i++)
		at = draw_journal(v, &v->now->journal[i], at, min(each, LINES - at));
	refresh();
}

/* False: the user has seen enough. */
static bool key(struct view *v, int c)
{
	switch (c) {
	case 'q':
	case 'Q':
		return false;
	case 'h':
	case '?':
		v->legend = !v->legend;
		break;
	case 's':
		v->column = v->column + 1 < STATS_COLUMNS ? v->column + 1 : -1;
		break;
	case 'r':
		v->reverse = !v->reverse;
		break;
	case ' ':
		v->stopped = !v->stopped;
		break;
	case '+':
		v->delay = fmax(v->delay / 2, 0.1);
		break;
	case '-':
		v->delay = fmin(v->delay * 2, 3600);
		break;
	case KEY_DOWN:
	case 'j':
		v->first++;
		break;
	case KEY_UP:
	case 'k':
		v->first -= !!v->first;
		break;
	}
	return true;
}

static double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Its terminal is gone. SIGHUP comes only from the one that controls the session. */
static bool hung_up(void)
{
	struct pollfd terminal = { .fd = STDIN_FILENO };

	return poll(&terminal, 1, 0) > 0 && terminal.revents & (POLLHUP | POLLERR | POLLNVAL);
}

/* Draws at once what a key has changed. False: the end. */
static bool keys_until(struct view *v, double next)
{
	double left;

	while (!ended && ((left = next - now_seconds()) > 0 || v->stopped)) {
		int c;

		timeout(v->stopped ? 250 : (int)fmin(left * 1000 + 1, 250));
		c = getch();
		if (c == ERR && hung_up())
			return false;
		if (c == ERR)
			continue;
		if (!key(v, c))
			return false;
		draw(v);
		/* Sooner, if that was '+'. */
		next = fmin(next, now_seconds() + v->delay);
	}
	return !ended;
}

static void swap_samples(struct view *v)
{
	struct sample *old = v->before;

	v->before = v->now;
	v->now = old;
	sample_free(v->now);
}

static void leave(void)
{
	if (!isendwin())
		endwin();
}

static int watch_terminal(struct view *v)
{
	struct sigaction act = { .sa_handler = end };
	SCREEN *screen = newterm(NULL, stdout, stdin);
	bool go_on = true;
	int code = 0;

	if (!screen)
		return zx_fail(ZX_FAILED, "the terminal's type (TERM) is not known here; use -n COUNT for plain lines");
	zx_before_message = leave;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	cbreak();
	noecho();
	keypad(stdscr, true);
	curs_set(0);
	mvaddnstr(0, 0, "measuring ...", COLS);
	refresh();
	/* The first figures soon, whatever the delay is. */
	go_on = keys_until(v, now_seconds() + fmin(v->delay, 1));
	while (go_on && !code) {
		code = sample_take(v->now, &v->from);
		if (code)
			break;
		draw(v);
		go_on = keys_until(v, now_seconds() + v->delay);
		if (go_on)
			swap_samples(v);
	}
	leave();
	zx_before_message = NULL;
	delscreen(screen);
	return code;
}

static int watch_lines(struct view *v)
{
	int code = 0;

	for (u64 i = 0; !code && (!v->count || i < v->count) && !ferror(stdout); i++) {
		struct timespec t = { .tv_sec = v->delay };

		t.tv_nsec = (v->delay - t.tv_sec) * 1e9;
		nanosleep(&t, NULL);
		code = sample_take(v->now, &v->from);
		if (code)
			break;
		if (zx_json)
			json_journals(v);
		else
			print_journals(v);
		fflush(stdout);
		swap_samples(v);
	}
	return code;
}

static int watch(struct view *v)
{
	bool terminal = !zx_json && !v->count && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	int code;

	v->now = calloc(1, sizeof(*v->now));
	v->before = calloc(1, sizeof(*v->before));
	code = v->now && v->before ? sample_take(v->before, &v->from) :
	       zx_fail(ZX_FAILED, "out of memory; try again with more");
	if (!code)
		code = terminal ? watch_terminal(v) : watch_lines(v);
	if (v->before)
		sample_free(v->before);
	if (v->now)
		sample_free(v->now);
	free(v->now);
	free(v->before);
	return code;
}

static bool set_sort(struct view *v, const char *name)
{
	v->column = stats_find_column(name);
	if (v->column < STATS_COLUMNS)
		return true;
	zx_usage("--sort must be \"lane\" or the title of a column, such as \"commits\" or \"fsync ms\", not \"%s\"",
		 name);
	return false;
}

static int run(int argc, char **argv)
{
	struct view v = { .delay = 2, .column = 0 };
	char *last;
	int c;

	while ((c = zx_getopt(argc, argv)) != -1) {
		if (c == 'f') {
			v.from.file = optarg;
		} else if (c == 'd') {
			v.delay = strtod(optarg, &last);
			if (*last || last == optarg || !(v.delay >= 0.05 && v.delay <= 86400))
				return zx_usage("-d must be a number of seconds from 0.05 to 86400, not \"%s\"",
						optarg);
		} else if (c == 's') {
			if (!set_sort(&v, optarg))
				return ZX_USAGE;
		} else if (c != 'n' || !zx_number(optarg, "-n", 1, U32_MAX, &v.count)) {
			return ZX_USAGE;
		}
	}
	c = sample_source(argc, argv, &v.from);
	if (!c)
		c = watch(&v);
	if (c && zx_json && c != ZX_USAGE) {
		js_start("top");
		js_finish(c);
	}
	return c;
}

const struct zx_command cmd_top = {
	.name = "top",
	.brief = "what the lanes do now, refreshed",
	.help = help,
	.shorts = "d:n:s:",
	.options = options,
	.operand = "mounted",
	.run = run,
	.many_documents = true,
};
