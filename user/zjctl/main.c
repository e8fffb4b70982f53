// SPDX-License-Identifier: GPL-2.0-only
/* zjctl: inspect, check and recover a log of zjournal. */
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "zjctl.h"

static const struct zx_command * const commands[] = {
	&cmd_status, &cmd_top, &cmd_stats, &cmd_stalls, &cmd_info, &cmd_check, &cmd_dump,
	&cmd_recover, &cmd_convert, &cmd_resize_journal, &cmd_nvm_format, &cmd_kernels,
	&cmd_report,
};

const struct zx_command *zx_command;

static void help(FILE *out)
{
	fputs("usage: zjctl COMMAND [OPTION]... [DEV]\n\n"
	      "Inspect, check and recover the journal of an ext4 file system that\n"
	      "zjournal (file system type zext4) has written.\n\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-15s %s\n", commands[i]->name, commands[i]->brief);
	fputs("\nDEV is a device, an image file, UUID=..., LABEL=... or a mount point.\n\n"
	      "Every command accepts:\n"
	      "  --json           one JSON document on stdout\n"
	      "  --color=WHEN     auto (default), always, never; NO_COLOR is heeded\n"
	      "  --help           what the command does, with examples (also: zjctl help COMMAND)\n\n"
	      "Those that open a device accept:\n"
	      "  --journal=DEV    where the journal is, if it has a device of its own that is\n"
	      "                   not found by the number or UUID that the superblock names\n\n"
	      "Exit status: 0 good, 1 corrected, 4 damage left, 8 failed or refused,\n"
	      "16 usage, 32 cancelled. zjctl(8) says more, and zjournal-messages(7) explains\n"
	      "messages.\n\n"
	      "Examples:\n"
	      "  zjctl status\n"
	      "  zjctl info /dev/sdb1\n"
	      "  zjctl check /dev/sdb1 && zjctl recover /dev/sdb1\n"
	      "  zjctl top /srv\n", out);
}

static const struct zx_command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i]->name))
			return commands[i];
	return NULL;
}

/*
 * For tools/completion, which is why no help names it: a line for each command (its operand
 * and brief), followed by one for each of its options (long, short, whether it has a value).
 */
static void list_options(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct zx_command *c = commands[i];

		printf("command\t%s\t%s\t%s\n", c->name, c->operand, c->brief);
		for (const struct option *o = c->options; o->name; o++)
			printf("option\t%s\t%.*s\t%d\n", o->name, !!strchr(c->shorts, o->val),
			       (const char *)&(char){ o->val }, o->has_arg);
	}
}

/* zjctl help [COMMAND]; 0 or an exit code. */
static int run_help(int argc, char **argv)
{
	const struct zx_command *command = argc == 3 ? find_command(argv[2]) : NULL;

	if (argc > 3)
		return zx_usage("help explains one command at a time");
	if (argc < 3)
		help(stdout);
	else if (!strcmp(argv[2], "--table"))
		list_options();
	else if (command)
		fputs(command->help, stdout);
	else
		return zx_usage("unknown command \"%s\"", argv[2]);
	return 0;
}

static int set_colour(const char *when)
{
	if (!strcmp(when, "auto"))
		zx_set_colour(-1);
	else if (!strcmp(when, "always"))
		zx_set_colour(1);
	else if (!strcmp(when, "never"))
		zx_set_colour(0);
	else
		return zx_usage("--color must be auto, always or never, not \"%s\"", when);
	return 0;
}

int zx_getopt(int argc, char **argv)
{
	int c;

	for (;;) {
		c = getopt_long(argc, argv, zx_command->shorts, zx_command->options, NULL);
		switch (c) {
		case 'J':
			break;		/* main() has seen it */
		case 'C':
			if (set_colour(optarg))
				return '?';
			break;
		case 'E':
			zx_journal = optarg;
			break;
		case 'H':
			fputs(zx_command->help, stdout);
			exit(ZX_OK);
		case '?':
		case ':':
			if (optopt > ' ' && optopt < 0x7f && !strchr("JCEH", optopt))
				zx_usage("bad option or missing value: -%c", optopt);
			else
				zx_usage("bad option or missing value: %s", argv[optind - 1]);
			return '?';
		default:
			return c;
		}
	}
}

int zx_usage(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return zx_fail(ZX_USAGE, "%s; usage: see zjctl %s%s--help", text,
		       zx_command ? zx_command->name : "", zx_command ? " " : "");
}

const char *zx_operand(int argc, char **argv, const char *what)
{
	if (argc - optind == 1)
		return argv[optind];
	zx_usage("exactly one %s is needed", what);
	return NULL;
}

bool zx_number(const char *text, const char *option, u64 min, u64 max, u64 *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (!errno && *text >= '0' && *text <= '9' && !*end && *value >= min && *value <= max)
		return true;
	zx_usage("%s must be a number from %llu to %llu, not \"%s\"", option, min, max, text);
	return false;
}

/* Comes before the options are read, so that errors in them are in the document, too. */
static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--json"))
			return true;
	return false;
}

static int run(const struct zx_command *command, int argc, char **argv)
{
	int code;

	zx_command = command;
	zx_json = wants_json(argc, argv);
	if (!command->many_documents)
		js_start(command->name);
	if (sigsetjmp(zx_way_out, 1))
		code = zx_memory_lost();
	else
		code = command->run(argc, argv);
	if (!command->many_documents || code == ZX_USAGE) {
		if (command->many_documents)
			js_start(command->name);
		js_finish(code);
	}
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "zjctl: cannot write the output (%s); is the disk full?\n",
			strerror(errno));
		code |= ZX_FAILED;
	}
	return code;
}

/* Moves options that stand before the command behind it: zjctl --json info DEV. */
static void command_first(int argc, char **argv)
{
	char *command;
	int at = 1;

	while (at < argc - 1 && (!strcmp(argv[at], "--json") ||
				 !strncmp(argv[at], "--color=", 8) ||
				 !strncmp(argv[at], "--journal=", 10)))
		at++;
	if (at == 1 || at >= argc)
		return;
	command = argv[at];
	memmove(&argv[2], &argv[1], (at - 1) * sizeof(*argv));
	argv[1] = command;
}

int main(int argc, char **argv)
{
	const char *name = argv[0] && strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	const struct zx_command *command;

	setlocale(LC_CTYPE, "");
	zx_set_colour(-1);
	opterr = 0;
	ext_message = zx_image_message;
	ext_find_journal = zx_find_journal;
	/* zjrecover, the older program, returned 0 after a recovery. */
	if (name && !strcmp(name, "zjrecover"))
		return run(&cmd_recover, argc, argv) & ~ZX_CORRECTED;
	if (argc < 2) {
		help(stderr);
		return ZX_USAGE;
	}
	command_first(argc, argv);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return run_help(argc, argv);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V") ||
	    !strcmp(argv[1], "version")) {
		printf("zjctl of zjournal " ZJ_BUILD_VERSION ", log format %u\n", ZJ_FORMAT_VERSION);
		return ZX_OK;
	}
	command = find_command(argv[1]);
	if (command)
		return run(command, argc - 1, argv + 1);
	zx_json = wants_json(argc, argv);
	js_start("");
	zx_usage("unknown command \"%s\"", argv[1]);
	js_finish(ZX_USAGE);
	return ZX_USAGE;
}
