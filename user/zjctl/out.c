// SPDX-License-Identifier: GPL-2.0-only
/* Messages, colours, sizes, progress, and texts of others. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>
#include "zjctl.h"

bool zx_json;
static bool colours;

void zx_set_colour(int when)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	colours = when > 0 ||
		  (when < 0 && isatty(STDOUT_FILENO) && !(no && *no) &&
		   term && strcmp(term, "dumb"));
}

const char *zx_on(enum zx_colour colour)
{
	switch (colours ? colour : 0) {
	case ZX_RED:
		return "\033[31m";
	case ZX_GREEN:
		return "\033[32m";
	case ZX_YELLOW:
		return "\033[33m";
	case ZX_BOLD:
		return "\033[1m";
	}
	return "";
}

const char *zx_off(void)
{
	return colours ? "\033[0m" : "";
}

/* Not those that turn the direction of writing, either: they let a line show another order. */
static bool is_printable(wchar_t c)
{
	return iswprint(c) && !(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

const char *zx_text(const char *s)
{
	enum { NR = 4, ROOM = 4 * 4096 };	/* four calls may be in one printf */
	static char texts[NR][ROOM + 5];
	static u32 turn;
	char *text = texts[turn++ % NR], *to = text;
	size_t left = strlen(s), n;
	mbstate_t state = { 0 };
	wchar_t c;

	for (; left && to - text < ROOM; s += n, left -= n) {
		n = mbrtowc(&c, s, left, &state);
		if (n <= left && n && is_printable(c)) {
			to = mempcpy(to, s, n);
			continue;
		}
		n = 1;
		memset(&state, 0, sizeof(state));
		to += sprintf(to, "\\%03o", (unsigned char)*s);
	}
	*to = 0;
	return text;
}

/* ---- lines ---- */

u32 zx_width(FILE *to)
{
	struct winsize size;

	if (!ioctl(fileno(to), TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return 80;
}

/* Columns of a text: bytes that go on with a character of UTF-8 take none. */
static u32 columns_of(const char *s, size_t length)
{
	u32 columns = 0;

	while (length--)
		columns += (*s++ & 0xc0) != 0x80;
	return columns;
}

void zx_wrap(FILE *to, u32 column, u32 indent, const char *text)
{
	u32 width = max_t(u32, zx_width(to), indent + 20);
	bool first = true;

	while (*text) {
		u32 blanks = strspn(text, " ");
		size_t length = strcspn(text + blanks, " ");
		u32 columns = columns_of(text += blanks, length);

		if (!first && length && column + blanks + columns > width) {
			fprintf(to, "\n%*s", indent, "");
			column = indent;
		} else if (length) {
			fprintf(to, "%*s", blanks, "");
			column += blanks;
		}
		fprintf(to, "%.*s", (int)length, text);
		column += columns;
		text += length;
		first = false;
	}
	fputc('\n', to);
}

void zx_line(u32 indent, const char *fmt, ...)
{
	char text[4 * 4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("%*s", indent, "");
	zx_wrap(stdout, indent, indent, text);
}

const char *zx_count(u64 n, const char *what)
{
	enum { NR = 8 };		/* calls that may be in one printf */
	static char texts[NR][96];
	static u32 turn;
	char *text = texts[turn++ % NR];
	int one;

	/* The last word takes the s; in "block of the log" the one before "of". */
	one = strstr(what, " of ") ? strstr(what, " of ") - what : strlen(what);
	snprintf(text, sizeof(texts[0]), "%llu %.*s%s%s", n, one, what, n == 1 ? "" : "s",
		 what + one);
	return text;
}

static void clear_progress(void);

void (*zx_before_message)(void);

/* Wrapped on a terminal; elsewhere a message is one line, for who searches or stores it. */
static void print_message(enum zx_level level, const char *text)
{
	const char *what = level == ZX_WARNING ? "zjctl: warning: " : "zjctl: ";

	fputs(what, stderr);
	if (isatty(STDERR_FILENO))
		zx_wrap(stderr, strlen(what), 7, text);
	else
		fprintf(stderr, "%s\n", text);
}

static void say(enum zx_level level, const char *fmt, va_list ap)
{
	char text[2048];

	vsnprintf(text, sizeof(text), fmt, ap);
	clear_progress();
	js_message(level, text);
	if (zx_json)
		return;
	if (zx_before_message)
		zx_before_message();
	fflush(stdout);
	print_message(level, zx_text(text));
}

void zx_say(enum zx_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(level, fmt, ap);
	va_end(ap);
}

int zx_fail(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(ZX_ERROR, fmt, ap);
	va_end(ap);
	return code;
}

void zx_image_message(const struct ext_image *img, int level, const char *text)
{
	zx_say(level ? ZX_NOTE : ZX_ERROR, "%s: %s", img->path, text);
}

const char *zx_size(u64 bytes)
{
	static const char * const unit[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB" };
	static char text[2][32];
	static int turn;
	double value = bytes;
	u32 n = 0;

	turn = !turn;
	while (value >= 1024 && n + 1 < ARRAY_SIZE(unit)) {
		value /= 1024;
		n++;
	}
	snprintf(text[turn], sizeof(text[turn]), value < 10 && n ? "%.1f %s" : "%.0f %s",
		 value, unit[n]);
	return text[turn];
}

/* ---- progress ---- */

#define BAR	40

static bool bar_shown;

static void clear_progress(void)
{
	if (bar_shown)
		fprintf(stderr, "\r%*s\r", BAR + 40, "");
	bar_shown = false;
}

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

void zx_progress(const char *what, u64 done, u64 total)
{
	static int terminal = -1;
	static u64 next;
	u64 now;
	int filled;

	if (!total) {
		clear_progress();
		next = 0;
		return;
	}
	if (terminal < 0)
		terminal = !zx_json && isatty(STDERR_FILENO);
	if (!terminal)
		return;
	now = now_ms();
	if (!next)
		next = now + 500;
	if (now < next)
		return;
	next = now + 100;
	if (done > total)
		done = total;
	filled = done * BAR / total;
	fprintf(stderr, "\r%-22s |%.*s%*s| %3d%%", what, filled,
		"========================================", BAR - filled, "",
		(int)(done * 100 / total));
	fflush(stderr);
	bar_shown = true;
}
