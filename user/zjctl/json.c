// SPDX-License-Identifier: GPL-2.0-only
/*
 * A JSON document on one line of stdout, written as it comes.  Messages are
 * kept and written at its end.  docs/zjctl-json.md describes what is in it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "zjctl.h"

#define SCHEMA_VERSION	1
#define DEPTH		16

static char closing[DEPTH];	/* of what is open: '}' or ']' */
static int depth;
static bool first;		/* nothing written yet in the innermost */

static char device[4096];	/* of each document that is to come */

static struct {
	enum zx_level level;
	char	*text;
} *messages;
static size_t nr_messages;

static void quoted(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			/* The encoding of bytes from the device is unknown. */
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void begin_value(const char *key)
{
	if (!first)
		putchar(',');
	first = false;
	if (key) {
		quoted(key);
		putchar(':');
	}
}

static void open_level(const char *key, char open, char close)
{
	if (!zx_json)
		return;
	begin_value(key);
	putchar(open);
	if (depth == DEPTH)
		abort();
	closing[depth++] = close;
	first = true;
}

void js_object(const char *key)
{
	open_level(key, '{', '}');
}

void js_array(const char *key)
{
	open_level(key, '[', ']');
}

void js_end(void)
{
	if (!zx_json)
		return;
	putchar(closing[--depth]);
	first = false;
}

void js_text(const char *key, const char *value)
{
	if (!zx_json)
		return;
	begin_value(key);
	quoted(value);
}

void js_u64(const char *key, u64 value)
{
	if (!zx_json)
		return;
	begin_value(key);
	printf("%llu", value);
}

void js_float(const char *key, double value)
{
	if (!zx_json)
		return;
	begin_value(key);
	printf("%.3f", isfinite(value) ? value : 0.0);
}

void js_bool(const char *key, bool value)
{
	if (!zx_json)
		return;
	begin_value(key);
	fputs(value ? "true" : "false", stdout);
}

void js_null(const char *key)
{
	if (!zx_json)
		return;
	begin_value(key);
	fputs("null", stdout);
}

void js_message(enum zx_level level, const char *text)
{
	void *more;

	if (!zx_json)
		return;
	more = realloc(messages, (nr_messages + 1) * sizeof(*messages));
	if (!more)
		return;
	messages = more;
	messages[nr_messages].level = level;
	messages[nr_messages].text = strdup(text);
	nr_messages += !!messages[nr_messages].text;
}

void js_start(const char *command)
{
	if (!zx_json)
		return;
	first = true;
	js_object(NULL);
	js_text("schema", "zjctl");
	js_u64("version", SCHEMA_VERSION);
	js_text("command", command);
	if (device[0])
		js_text("device", device);
}

void js_device(const char *path)
{
	if (depth)
		js_text("device", path);
	else
		snprintf(device, sizeof(device), "%s", path);
}

void js_finish(int code)
{
	static const char * const names[] = {
		[ZX_ERROR] = "error",
		[ZX_WARNING] = "warning",
		[ZX_NOTE] = "note",
	};

	if (!zx_json)
		return;
	while (depth > 1)
		js_end();
	js_array("messages");
	for (size_t i = 0; i < nr_messages; i++) {
		js_object(NULL);
		js_text("level", names[messages[i].level]);
		js_text("text", messages[i].text);
		js_end();
		free(messages[i].text);
	}
	js_end();
	free(messages);
	messages = NULL;
	nr_messages = 0;
	js_u64("exit", code);
	js_end();
	putchar('\n');
	fflush(stdout);
}
