// SPDX-License-Identifier: GPL-2.0-only
/* zjctl stalls: the tasks that wait in mounted journals, and the longest waits so far. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "stats.h"

#define DEBUG_ROOT	"/sys/kernel/debug/zjournal"

static const char help[] =
	"usage: zjctl stalls [--from FILE] [-n COUNT] [--json] [DEV|MOUNTPOINT]\n\n"
	"Show the tasks that wait in the journal of a mounted zext4, or of all that are mounted,\n"
	"and the longest waits since the mount, each with its reason, its lane, and the\n"
	"transaction that is waited for. Reads " DEBUG_ROOT ", as root.\n\n"
	"  --from FILE   read a saved copy of " DEBUG_ROOT "/<dev>/waits\n"
	"  -n COUNT      show this many past waits of each journal (default 20)\n\n"
	"Examples:\n"
	"  zjctl stalls /srv\n"
	"  zjctl stalls --json | jq '.journals[].waits[] | select(.now)'\n";

static const struct option options[] = {
	{ "count", required_argument, NULL, 'n' },
	{ "from", required_argument, NULL, 'f' },
	ZX_PLAIN_OPTIONS,
	{ 0 }
};

/* The module's name of each reason, and its description: docs/operations.md. */
static const struct {
	const char *name;
	const char *text;
} reasons[] = {
	{ "space", "a handle start waits for log space" },
	{ "locked", "a handle start waits until a transaction is closed" },
	{ "reserved", "a handle start of write-back waits for I/Os in flight to end" },
	{ "barrier", "a handle start waits for the end of a barrier" },
	{ "drain", "a barrier waits for open handles" },
	{ "image", "a change waits until a block is in the log" },
	{ "turn", "an fsync waits for the lane's thread" },
	{ "committed", "an fsync waits for its transaction" },
	{ "submit", "a commit sends file data to the device" },
	{ "members", "a commit waits until other lanes have sent file data" },
	{ "data", "a commit waits for file data" },
	{ "log", "a commit waits for log blocks" },
	{ "flush", "waits for a flush of the device's cache" },
	{ "record", "a commit waits for its record" },
	{ "files", "a commit waits for pages of journaled data" },
	{ "home", "a checkpoint waits for home writes" },
	{ "checkpoint", "a checkpoint waits for the log's new tail" },
	{ "progress", "a checkpoint waits for commits" },
};

/**
 * struct stall - one wait
 */
struct stall {
	bool	now;		/* it still lasts */
	u32	lane;
	char	reason[16];
	u64	us;		/* how long it lasts, or has lasted */
	u32	tid;		/* transaction that is waited for; 0: none */
	u32	tid_lane;	/* the lane of that transaction */
	char	phase[16];	/* state of that transaction when the wait began */
	int	pid;		/* of the task */
	char	comm[32];	/* the same */
};

/**
 * struct stalls - the waits of one journal
 */
struct stalls {
	u32	nr;
	struct stall *stall;
	bool	more;		/* the module has left some out */
};

static bool parse(struct stall *s, const char *line)
{
	const char *comm = strstr(line, " comm=");
	unsigned long long us;
	char when[8] = "";
	const char *about;

	memset(s, 0, sizeof(*s));
	if (!comm || sscanf(line, "%7s lane=%u reason=%15s us=%llu", when, &s->lane,
			    s->reason, &us) != 4)
		return false;
	s->now = !strcmp(when, "now");
	s->us = us;
	about = strstr(line, " for=");
	if (about && about < comm)
		sscanf(about, " for=%u for_lane=%u phase=%15s", &s->tid, &s->tid_lane, s->phase);
	sscanf(strstr(line, " pid=") ?: "", " pid=%d", &s->pid);
	snprintf(s->comm, sizeof(s->comm), "%.*s", (int)strcspn(comm + 6, "\n"), comm + 6);
	return s->now || !strcmp(when, "past");
}

/* Present waits come first; among equals the longest. */
static int by_time(const void *a, const void *b)
{
	const struct stall *x = a, *y = b;

	if (x->now != y->now)
		return y->now - x->now;
	return x->us < y->us ? 1 : x->us > y->us ? -1 : 0;
}

/* Fails with EINVAL if the file holds something, and none of it is a wait. */
static bool read_stalls(const char *file, struct stalls *s)
{
	FILE *f = fopen(file, "r");
	bool empty = true;
	char line[512];

	memset(s, 0, sizeof(*s));
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		struct stall *grown = realloc(s->stall, (s->nr + 1) * sizeof(*grown));

		if (!grown)
			break;
		s->stall = grown;
		empty = false;
		s->more |= !strncmp(line, "more ", 5);
		s->nr += parse(&s->stall[s->nr], line);
	}
	fclose(f);
	if (s->nr)
		qsort(s->stall, s->nr, sizeof(*s->stall), by_time);
	errno = EINVAL;
	return empty || s->more || s->nr;
}

static const char *reason_text(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (!strcmp(reasons[i].name, name))
			return reasons[i].text;
	return name;
}

static void stall_json(const struct stall *s)
{
	js_object(NULL);
	js_bool("now", s->now);
	js_u64("lane", s->lane);
	js_text("reason", s->reason);
	js_u64("us", s->us);
	if (s->tid) {
		js_u64("for_transaction", s->tid);
		js_u64("for_lane", s->tid_lane);
		js_text("phase", s->phase);
	}
	js_u64("pid", s->pid);
	js_text("comm", s->comm);
	js_end();
}

static void stall_text(const struct stall *s)
{
	printf("  %s%-5s%s %10.3f ms  lane %-3u %s", s->now ? zx_on(ZX_RED) : "",
	       s->now ? "now" : "past", s->now ? zx_off() : "", s->us / 1000.0, s->lane,
	       zx_text(reason_text(s->reason)));
	if (s->tid)
		printf("; transaction %u of lane %u, %s when it began", s->tid, s->tid_lane,
		       zx_text(s->phase));
	printf(" [%s %d]\n", zx_text(s->comm), s->pid);
}

static void show(const struct stalls *s, const char *name, u32 count)
{
	js_object(NULL);
	js_text("name", name);
	js_array("waits");
	if (!zx_json)
		printf("%s%s%s\n", zx_on(ZX_BOLD), zx_text(name), zx_off());
	for (u32 i = 0; i < s->nr; i++) {
		if (!s->stall[i].now && !count--)
			break;
		stall_json(&s->stall[i]);
		if (!zx_json)
			stall_text(&s->stall[i]);
	}
	if (!zx_json && !s->nr)
		printf("  no waits recorded\n");
	js_end();
	js_bool("more", s->more);
	js_end();
	if (s->more)
		zx_say(ZX_NOTE, "%s: more tasks are waiting than the module lists", name);
}

static bool show_file(const char *file, const char *name, u32 count)
{
	struct stalls s;

	if (!read_stalls(file, &s)) {
		free(s.stall);
		return false;
	}
	show(&s, name, count);
	free(s.stall);
	return true;
}

static bool show_journal(const char *name, u32 count)
{
	char file[512];

	snprintf(file, sizeof(file), DEBUG_ROOT "/%s/waits", name);
	return show_file(file, name, count);
}

static int show_all(u32 count)
{
	DIR *dir = opendir(DEBUG_ROOT);
	struct dirent *entry;
	bool any = false;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			any |= show_journal(entry->d_name, count);
	if (dir)
		closedir(dir);
	if (any)
		return ZX_OK;
	return zx_fail(ZX_FAILED, "nothing to read in " DEBUG_ROOT "; are you root, is a zext4 mounted, and is debugfs mounted (mount -t debugfs none /sys/kernel/debug)?");
}

/* Finds the name of its journal; returns 0, or an exit code with a message. */
static int find(const char *operand, struct zx_target *target)
{
	int code = zx_find(operand, target);
	char info[128];

	if (code)
		return code;
	snprintf(info, sizeof(info), STATS_ROOT "/%s/info", target->proc_name);
	if (target->zext4 && target->proc_name[0])
		return access(info, F_OK) ? sample_refuse_missing(target->proc_name, info) : 0;
	return zx_fail(ZX_FAILED, "%s: is not mounted as zext4; waits are recorded only while it is mounted",
		       target->path);
}

static int show_one(const char *name, u32 count)
{
	if (show_journal(name, count))
		return ZX_OK;
	return zx_fail(ZX_FAILED, DEBUG_ROOT "/%s/waits: cannot be read (%s); are you root, and is debugfs mounted (mount -t debugfs none /sys/kernel/debug)?",
		       name, strerror(errno));
}

static int show_any(const char *from, const char *name, u32 count)
{
	if (!from)
		return name[0] ? show_one(name, count) : show_all(count);
	if (show_file(from, "file", count))
		return ZX_OK;
	return zx_fail(ZX_FAILED, "%s: cannot be read (%s); --from needs a copy made with cat", from,
		       strerror(errno));
}

static int run_stalls(int argc, char **argv)
{
	struct zx_target target = { 0 };
	const char *from = NULL;
	u64 count = 20;
	int c;

	while ((c = zx_getopt(argc, argv)) != -1) {
		if (c == 'f')
			from = optarg;
		else if (c != 'n' || !zx_number(optarg, "-n", 0, U32_MAX, &count))
			return ZX_USAGE;
	}
	if (argc - optind > 1 || (argc > optind && from))
		return zx_usage("give at most one device or mount point, and none with --from");
	c = argc > optind ? find(argv[optind], &target) : 0;
	if (c)
		return c;
	js_array("journals");
	c = show_any(from, target.proc_name, count);
	js_end();
	return c;
}

const struct zx_command cmd_stalls = {
	.name = "stalls",
	.brief = "tasks that wait, for what, and the longest waits",
	.help = help,
	.shorts = "n:",
	.options = options,
	.operand = "mounted",
	.run = run_stalls,
};
