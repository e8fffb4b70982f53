// SPDX-License-Identifier: GPL-2.0-only
/* zjctl kernels: which installed kernels have zext4, and why the others have none. */
#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "mounts.h"

static const char help[] =
	"usage: zjctl kernels [--root DIR] [--json]\n\n"
	"Show for each installed kernel whether it is served, which means that it has the modules\n"
	"zjournal and zext4, and if not, why: its series, its headers, the source of its ext4,\n"
	"functions that nobody has reviewed, or a build that failed.\n\n"
	"  --root DIR   the kernels of a copy, whose / is DIR\n\n"
	"Exit status: 0 the newest and the running kernel are served; 1 one of them is not;\n"
	"4 there are no kernels to look at; 16 usage.\n\n"
	"Examples:\n"
	"  zjctl kernels\n"
	"  zjctl kernels --json | jq '.kernels[] | select(.newest)'\n";

static const struct option options[] = {
	{ "root", required_argument, NULL, 'r' },
	ZX_PLAIN_OPTIONS,
	{ 0 }
};

#define SOURCES	"/usr/lib/zjournal/source"	/* of the package zjournal-dkms */
#define KEPT	"/var/lib/zjournal"		/* the ext4 of each source package that was seen */

/**
 * struct kernel - one folder of /lib/modules
 */
struct kernel {
	char	name[256];
	bool	served;
	bool	running;
	char	ext4[64];	/* the modules are made of the ext4 of this release */
	const char *id;		/* why not, for programs; a constant */
	char	why[512];	/* the same for people */
};

/* The first line that a program prints; it and its arguments are no text of others. */
static bool ask(char *to, size_t room, const char *const argv[])
{
	int ends[2], status;
	FILE *f;
	pid_t pid;

	*to = 0;
	if (pipe(ends))
		return false;
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		if (!freopen("/dev/null", "w", stderr))
			_exit(127);
		execvp(argv[0], (char **)argv);
		_exit(127);
	}
	close(ends[1]);
	f = fdopen(ends[0], "r");
	if (f && fgets(to, room, f))
		to[strcspn(to, "\n")] = 0;
	/* What more there is must not stop it. */
	while (f && fgetc(f) != EOF)
		;
	if (f)
		fclose(f);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

/* depmod's list has each module's file at the beginning of a line. */
static bool has_module(const char *kernel, const char *module)
{
	FILE *f = fopen(zx_below("/lib/modules/%s/modules.dep", kernel), "r");
	char file[64], *line = NULL;
	bool found = false;
	size_t room = 0;

	snprintf(file, sizeof(file), "/%s.ko", module);
	while (f && !found && getline(&line, &room, f) > 0) {
		line[strcspn(line, ":")] = 0;
		found = strstr(line, file);
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

static bool is_series_served(const char *series)
{
	FILE *f = fopen(zx_below(SOURCES "/zext4/series"), "r");
	bool found = false;
	char line[64];

	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		found = !strcmp(line, series);
	}
	if (f)
		fclose(f);
	return found;
}

/*
 * "6.12.117" of the headers, whose name may hide it: Debian 12 calls 6.1.176 "6.1.0-47-amd64".
 * Its Makefile there includes the one that has it. @depth: how many may include another.
 */
static bool read_release(const char *makefile, u32 depth, char *to, size_t room)
{
	u32 version = 0, patch = 0, sub = 0, found = 0;
	FILE *f = fopen(makefile, "r");
	char line[1024], next[512] = "";

	while (f && found < 7 && fgets(line, sizeof(line), f)) {
		found |= sscanf(line, "VERSION = %u", &version) == 1;
		found |= (sscanf(line, "PATCHLEVEL = %u", &patch) == 1) << 1;
		found |= (sscanf(line, "SUBLEVEL = %u", &sub) == 1) << 2;
		if (sscanf(line, "include %511s", next) == 1 && next[0] == '/')
			break;
	}
	if (f)
		fclose(f);
	if (found != 7)
		return depth && next[0] == '/' &&
		       read_release(zx_below("%s", next), depth - 1, to, room);
	snprintf(to, room, "%u.%u.%u", version, patch, sub);
	return true;
}

static void __printf(3, 4) because(struct kernel *k, const char *id, const char *fmt, ...)
{
	va_list ap;

	k->id = id;
	va_start(ap, fmt);
	vsnprintf(k->why, sizeof(k->why), fmt, ap);
	va_end(ap);
}

/* In the order in which packaging/build-modules looks, which tells it at each installation. */
static void explain(struct kernel *k)
{
	char release[64], source[300], series[16];
	const char *review[] = { SOURCES "/zext4/review", source, NULL };
	unsigned int major, minor;
	char line[512];

	if (access(zx_below(SOURCES), F_OK)) {
		because(k, "no-package", "the package zjournal-dkms is not installed");
		return;
	}
	if (sscanf(k->name, "%u.%u", &major, &minor) != 2) {
		because(k, "series", "zext4 is not made for it");
		return;
	}
	snprintf(series, sizeof(series), "%u.%u", major, minor);
	if (!is_series_served(series)) {
		because(k, "series", "zext4 is not made for the ext4 of Linux %s", series);
		return;
	}
	if (!read_release(zx_below("/lib/modules/%s/build/Makefile", k->name), 1, release,
			  sizeof(release))) {
		because(k, "headers", "its headers are missing: apt-get install linux-headers-%s", k->name);
		return;
	}
	snprintf(source, sizeof(source), "%s", zx_below(KEPT "/linux-%s", release));
	if (access(source, F_OK)) {
		because(k, "source", "the source of its ext4, Linux %s, is missing: apt-get install linux-source-%s",
			release, series);
		return;
	}
	/* No program of a copy is run. */
	if (!*zx_root && !ask(line, sizeof(line), review)) {
		because(k, "review", "its ext4, Linux %s, has functions that nobody has reviewed for zext4 yet",
			release);
		return;
	}
	because(k, "build", "not built, or the build failed: run %s/packaging/build-modules %s", SOURCES,
		k->name);
}

static void look(struct kernel *k)
{
	const char *modinfo[] = { "modinfo", "-b", *zx_root ? zx_root : "/", "-k", k->name, "-F",
				  "ext4_source", "zext4", NULL };

	k->served = has_module(k->name, "zext4") && has_module(k->name, "zjournal");
	if (!k->served)
		explain(k);
	else if (!ask(k->ext4, sizeof(k->ext4), modinfo))
		k->ext4[0] = 0;
}

static int by_version(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_kernel(const struct dirent *e)
{
	return e->d_name[0] != '.' && !access(zx_below("/lib/modules/%s/kernel", e->d_name), F_OK);
}

static void show(const struct kernel *k, bool newest)
{
	js_object(NULL);
	js_text("kernel", k->name);
	js_bool("served", k->served);
	js_bool("running", k->running);
	js_bool("newest", newest);
	if (k->served)
		js_text("ext4_source", k->ext4);
	else
		js_text("reason", k->id);
	js_text("why", k->why);
	js_end();
	if (zx_json)
		return;
	printf("%s%s%s: %s%s%s%s", zx_on(ZX_BOLD), zx_text(k->name), zx_off(),
	       zx_on(k->served ? ZX_GREEN : ZX_RED), k->served ? "served" : "NOT served", zx_off(),
	       k->running ? ", running" : newest ? ", the newest" : "");
	if (k->served && k->ext4[0])
		printf(", made of the ext4 of Linux %s", zx_text(k->ext4));
	putchar('\n');
	if (!k->served)
		zx_line(4, "%s", zx_text(k->why));
}

static int kernels(void)
{
	struct dirent **list;
	int n = scandir(zx_below("/lib/modules"), &list, is_kernel, by_version);
	struct utsname uts;
	int code = 0;

	if (n <= 0) {
		if (!n)
			free(list);
		return zx_fail(ZX_UNCORRECTED, "no kernel is installed in %s", zx_below("/lib/modules"));
	}
	js_array("kernels");
	uname(&uts);
	for (int i = 0; i < n; i++) {
		struct kernel k = { 0 };

		snprintf(k.name, sizeof(k.name), "%s", list[i]->d_name);
		k.running = !*zx_root && !strcmp(k.name, uts.release);
		look(&k);
		show(&k, i == n - 1);
		if (!k.served && (k.running || i == n - 1))
			code = ZX_CORRECTED;
		free(list[i]);
	}
	free(list);
	js_end();
	return code;
}

static int run(int argc, char **argv)
{
	int c;

	while ((c = zx_getopt(argc, argv)) != -1) {
		if (c != 'r')
			return ZX_USAGE;
		zx_root = optarg;
	}
	if (argc > optind)
		return zx_usage("kernels shows all, and takes no operand");
	return kernels();
}

const struct zx_command cmd_kernels = {
	.name = "kernels",
	.brief = "which installed kernels have zext4, and why the others have none",
	.help = help,
	.shorts = "",
	.options = options,
	.operand = "",
	.run = run,
};
