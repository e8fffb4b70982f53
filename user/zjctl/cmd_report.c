// SPDX-License-Identifier: GPL-2.0-only
/* zjctl report: what a report of a bug needs, in one text that its reader can look through. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "zjournal/version.h"
#include "mounts.h"

static const char help[] =
	"usage: zjctl report [-o FILE] [--with-names] [DEV]...\n\n"
	"Collect what a report of a bug needs into one text: versions, kernels, mounts and their\n"
	"options, statistics, waits, what the kernel log says of zext4 and zjournal, and of each\n"
	"DEV, which may be unmounted or damaged, zjctl info, check and dump. Read it before you\n"
	"send it: it is made for that.\n\n"
	"It has no contents of files and no image of the log, which holds the data of small\n"
	"fsyncs. It has no names either: those of directories, tasks, labels and of this machine\n"
	"are left out unless you ask for them. Names of devices are in it.\n\n"
	"  -o FILE        write it there; FILE must not exist (default: standard output)\n"
	"  --with-names   leave names in\n\n"
	"Exit status: 0 written, 8 it could not be written, 16 usage. What could not be read is\n"
	"said in the report.\n\n"
	"Examples:\n"
	"  zjctl report -o zjournal-report.txt\n"
	"  zjctl report -o zjournal-report.txt /dev/sdb1\n";

static const struct option options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "with-names", no_argument, NULL, 'w' },
	{ "color", required_argument, NULL, 'C' },
	{ "help", no_argument, NULL, 'H' },
	{ 0 }
};

/**
 * struct names - what is left out of the report
 */
struct names {
	bool	keep;
	u32	nr;
	struct {
		char	*text;
		const char *instead;
	} *name;
};

static FILE *out;
static struct names names;

/* The longest first, so that none is cut short by a part of it. */
static void hide(const char *text, const char *instead)
{
	u32 at = names.nr;
	void *more;

	/* "/" is everywhere, and says nothing. */
	if (strlen(text) < 2)
		return;
	more = realloc(names.name, (names.nr + 1) * sizeof(*names.name));
	if (!more)
		return;
	names.name = more;
	for (; at && strlen(names.name[at - 1].text) < strlen(text); at--)
		names.name[at] = names.name[at - 1];
	names.name[at].text = strdup(text);
	names.name[at].instead = instead;
	names.nr += !!names.name[at].text;
}

static void find_names(char **devices)
{
	FILE *f = fopen("/proc/self/mountinfo", "r");
	struct mntent *entry;
	struct zx_mount m;
	struct utsname uts;

	while (f && zx_next_mount(f, &m))
		if (m.source[0] == '/')
			hide(m.at, "(directory)");
	if (f)
		fclose(f);
	/* zjctl status names what is not mounted, too. */
	f = setmntent("/etc/fstab", "r");
	while (f && (entry = getmntent(f)))
		hide(entry->mnt_dir, "(directory)");
	if (f)
		endmntent(f);
	for (; *devices; devices++)
		if (strncmp(*devices, "/dev/", 5) && strncmp(*devices, "UUID=", 5))
			hide(*devices, "(device)");
	if (!uname(&uts))
		hide(uts.nodename, "(host)");
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* What is a name only as a whole word: "/srv" is not in "/srv2", nor a host's in a longer one. */
static const char *match(const char *line, const char *at, u32 *which)
{
	for (u32 i = 0; i < names.nr; i++) {
		size_t length = strlen(names.name[i].text);

		if (strncmp(at, names.name[i].text, length) ||
		    (is_word(at[length]) && is_word(at[length - 1])) ||
		    (at > line && is_word(at[-1])))
			continue;
		*which = i;
		return at + length;
	}
	return NULL;
}

/* How many bytes at @at announce a name that others have chosen. */
static size_t announces(const char *at)
{
	static const char * const words[] = { "comm=", "comm ", "path=", "path ", "label ", "node: ",
					      "LABEL=", "PARTLABEL=" };

	for (u32 i = 0; i < ARRAY_SIZE(words); i++)
		if (!strncmp(at, words[i], strlen(words[i])))
			return strlen(words[i]);
	return 0;
}

/* A path that is no part of every system, up to the next blank; 0: there is none. */
static size_t foreign_path(const char *line, const char *at)
{
	static const char * const common[] = { "/dev/", "/proc/", "/sys/", "/usr/", "/lib/",
					       "/etc/", "/boot/", "/var/lib/zjournal",
					       "/var/lib/dkms" };
	size_t length = strcspn(at, " ,:;)\n");

	if (*at != '/' || length < 2 || (at > line && (is_word(at[-1]) || at[-1] == '/')))
		return 0;
	for (u32 i = 0; i < ARRAY_SIZE(common); i++)
		if (!strncmp(at, common[i], strlen(common[i])))
			return 0;
	return length;
}

static void put_line(const char *line)
{
	const char *at = line, *next;
	u32 which = 0;
	size_t n;

	if (names.keep) {
		fputs(line, out);
		return;
	}
	while (*at) {
		n = at == line || !is_word(at[-1]) ? announces(at) : 0;
		if (n) {
			fprintf(out, "%.*s(name)", (int)n, at);
			at += n;
			/* A task's name may have blanks; the rest of the line goes with it. */
			at += strcspn(at, at[-1] == '=' && at[-2] == 'L' ? " ,\n" : ",:\n");
			continue;
		}
		next = match(line, at, &which);
		if (next) {
			fputs(names.name[which].instead, out);
			at = next;
			continue;
		}
		n = foreign_path(line, at);
		if (n) {
			fputs("(path)", out);
			at += n;
			continue;
		}
		fputc(*at++, out);
	}
}

/* As zx_text(), with the end of the line. */
static const char *clean(char *line)
{
	static char text[5 * 4096];

	line[strcspn(line, "\n")] = 0;
	for (char *tab = line; (tab = strchr(tab, '\t')); )
		*tab = ' ';
	snprintf(text, sizeof(text), "%s\n", zx_text(line));
	return text;
}

static void title(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fputs("\n== ", out);
	put_line(line);
	fputc('\n', out);
}

static void put_stream(FILE *f)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, f) > 0)
		put_line(clean(line));
	free(line);
}

static void put_file(const char *path)
{
	FILE *f = fopen(path, "r");

	title("%s", path);
	if (f)
		put_stream(f);
	else
		fprintf(out, "(cannot be read: %s)\n", strerror(errno));
	if (f)
		fclose(f);
}

/* A program's output, errors included; argv[0] may be "zjctl", which is this one. */
static void put_output(const char *const argv[])
{
	int ends[2], status;
	char line[1024] = "";
	pid_t pid;
	FILE *f;

	for (u32 i = 0; argv[i]; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s", i ? " " : "",
			 argv[i]);
	title("%s", line);
	fflush(NULL);
	if (pipe(ends))
		return;
	pid = fork();
	if (!pid) {
		close(ends[0]);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		setenv("NO_COLOR", "1", 1);
		if (!strcmp(argv[0], "zjctl"))
			execv("/proc/self/exe", (char **)argv);
		else
			execvp(argv[0], (char **)argv);
		_exit(127);
	}
	close(ends[1]);
	f = fdopen(ends[0], "r");
	if (f) {
		put_stream(f);
		fclose(f);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status))
		fprintf(out, "(exit status %d)\n", WEXITSTATUS(status));
	else if (pid < 0 || !WIFEXITED(status))
		fprintf(out, "(it did not end well)\n");
}

/* Of the kernel's command line what matters: somebody may have put a password there. */
static void boot_options(void)
{
	char text[4096] = "", *word, *rest = text;

	zx_first_line("/proc/cmdline", text, sizeof(text));
	title("kernel command line: root, zext4, zjournal");
	while ((word = strsep(&rest, " ")))
		if (!strncmp(word, "root", 4) || !strncmp(word, "zext4", 5) ||
		    !strncmp(word, "zjournal", 8)) {
			put_line(zx_text(word));
			fputc('\n', out);
		}
}

static void versions(void)
{
	static const char * const modules[] = { "zjournal", "zext4" };
	struct utsname uts;

	title("versions");
	fprintf(out, "zjctl of zjournal " ZJ_BUILD_VERSION "\n");
	if (!uname(&uts))
		fprintf(out, "Linux %s %s, %ld CPUs\n", uts.release, uts.machine,
			sysconf(_SC_NPROCESSORS_ONLN));
	put_file("/etc/os-release");
	for (u32 i = 0; i < ARRAY_SIZE(modules); i++)
		put_output((const char *[]){ "modinfo", modules[i], NULL });
	put_output((const char *[]){ "e2fsck", "-V", NULL });
	boot_options();
	put_output((const char *[]){ "zjctl", "kernels", NULL });
}

static void mounts(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "r");
	struct zx_mount m;
	char name[64];

	put_output((const char *[]){ "zjctl", "status", NULL });
	title("mounts");
	while (f && zx_next_mount(f, &m)) {
		char line[4 * 4096];

		if (!zx_is_zext4(&m, name, sizeof(name)) && strncmp(m.type, "ext", 3))
			continue;
		snprintf(line, sizeof(line), "%s on %s type %s (%s)\n", m.source, m.at, m.type,
			 m.options);
		put_line(line);
	}
	if (f)
		fclose(f);
}

static void one_journal(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), STATS_ROOT "/%.200s/info", name);
	put_file(path);
	for (const char *const *file = (const char *const []){ "waits", "lanes", "log_map",
	     "components", "fsync", NULL }; *file; file++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/zjournal/%.200s/%s", name, *file);
		put_file(path);
	}
}

static void journals(void)
{
	DIR *dir = opendir(STATS_ROOT);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			one_journal(e->d_name);
	if (dir)
		closedir(dir);
}

/* Of the kernel log only what is ours, and ext4's. */
static void kernel_log(void)
{
	int size = klogctl(10, NULL, 0);	/* SYSLOG_ACTION_SIZE_BUFFER */
	char *text = size > 0 ? malloc(size + 1) : NULL, *line, *rest;
	int n = text ? klogctl(3, text, size) : -1;	/* SYSLOG_ACTION_READ_ALL */

	title("kernel log: lines of zext4, zjournal, ext4 and jbd2");
	if (n < 0)
		fprintf(out, "(cannot be read: %s)\n", strerror(errno));
	else
		text[n] = 0;
	rest = n < 0 ? NULL : text;
	while ((line = strsep(&rest, "\n"))) {
		if (!strcasestr(line, "zext4") && !strcasestr(line, "zjournal") &&
		    !strcasestr(line, "ext4-fs") && !strcasestr(line, "jbd2"))
			continue;
		put_line(clean(line));
	}
	free(text);
}

static void device(const char *name)
{
	put_output((const char *[]){ "zjctl", "info", name, NULL });
	put_output((const char *[]){ "zjctl", "check", name, NULL });
	put_output((const char *[]){ "zjctl", "dump", name, NULL });
}

static void report(char **devices)
{
	fprintf(out, "Report of zjctl. It has no contents of files%s.\n", names.keep ? "" :
		", and no names but those of devices");
	versions();
	mounts();
	journals();
	kernel_log();
	for (; *devices; devices++)
		device(*devices);
}

static int run(int argc, char **argv)
{
	const char *file = NULL;
	int c, fd;

	while ((c = zx_getopt(argc, argv)) != -1) {
		if (c == 'o')
			file = optarg;
		else if (c == 'w')
			names.keep = true;
		else
			return ZX_USAGE;
	}
	/* Nobody else may read it: the one who sends it decides who does. */
	fd = file ? open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : dup(STDOUT_FILENO);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return zx_fail(ZX_FAILED, "%s: cannot be made (%s); choose another name for the report",
			       file ? file : "the report", strerror(errno));
	find_names(argv + optind);
	report(argv + optind);
	if (fflush(out) || ferror(out) || fclose(out))
		return zx_fail(ZX_FAILED, "the report cannot be written (%s)", strerror(errno));
	if (file)
		zx_say(ZX_NOTE, "%s: written; read it before you send it", file);
	return 0;
}

const struct zx_command cmd_report = {
	.name = "report",
	.brief = "one text with what a report of a bug needs, without names and contents",
	.help = help,
	.shorts = "o:",
	.options = options,
	.operand = "device",
	.run = run,
};
