// SPDX-License-Identifier: GPL-2.0-only
/*
 * mkfs.zext4: mkfs.ext4 with the layout that zjctl info would advise afterwards, by the same
 * functions (zjctl/fit.c). What the caller chooses is left as it is.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ext2fs/ext2fs.h>
#include "zjctl/zjctl.h"

#define USAGE	16

static const char help[] =
	"usage: mkfs.zext4 [--cpus=N] [mkfs.ext4's options] DEVICE [BLOCKS]\n\n"
	"Makes a file system for zext4: an ext4 with the feature orphan_file, a journal with room\n"
	"for the lanes of all CPUs, and groups small enough that lanes do not share the blocks of\n"
	"group descriptors. Options -O, -J and -g go before that; -n shows what would be done.\n\n"
	"  --cpus=N   for a machine with N CPUs instead of this one\n"
	"  --version  of this program; -V: of mkfs.ext4\n\n"
	"The other options are those of mkfs.ext4: -L, -m, -E ... (mke2fs(8))\n";

/**
 * struct wish - what the command line says, and what mkfs.ext4 would make of it
 */
struct wish {
	u32	cpus;
	char	**features;	/* the argument that has -O's value; NULL: none */
	size_t	features_at;	/* where in it the value begins */
	bool	journal, group;	/* -J, -g */
	bool	only_super;	/* -S: must find the layout that is there */
	bool	version;	/* -V */
	u64	blocks;
	u32	block_size;
	u32	groups;
};

/* Which of these is the option's value, and from which character on? */
static void find_value(char **args, struct wish *w)
{
	for (; *args; args++) {
		if (optarg < *args || optarg > *args + strlen(*args))
			continue;
		w->features = args;
		w->features_at = optarg - *args;
	}
}

/* getopt() moves operands to the end of @args, as it does in mke2fs. */
static void read_options(int nr, char **args, struct wish *w)
{
	int c;

	opterr = 0;
	while ((c = getopt(nr, args, "b:ce:g:i:jl:m:no:qr:s:t:d:vC:DE:FG:I:J:KL:M:N:O:R:ST:U:V")) != -1) {
		w->journal |= c == 'J';
		w->group |= c == 'g';
		w->only_super |= c == 'S';
		w->version |= c == 'V';
		if (c == 'O')
			find_value(args, w);
	}
}

static bool has_word(const struct wish *w, const char *word)
{
	return w->features && strstr(*w->features + w->features_at, word);
}

static void read_plan(FILE *from, struct wish *w)
{
	char line[1024];
	unsigned long long blocks;

	while (fgets(line, sizeof(line), from)) {
		sscanf(line, "Block size=%u", &w->block_size);
		if (strstr(line, " block group"))
			sscanf(line, "%u", &w->groups);
		if (sscanf(line, "%*u inodes, %llu blocks", &blocks) == 1)
			w->blocks = blocks;
	}
}

/* mkfs.ext4 says what it would make. It complains itself if it cannot. */
static int ask_mkfs(int nr, char **args, struct wish *w)
{
	char **command = calloc(nr + 4, sizeof(*command));
	int to[2], status;
	FILE *from;
	pid_t pid;

	if (!command || pipe(to))
		return 1;
	command[0] = "mkfs.ext4";
	command[1] = "-nv";
	memcpy(&command[2], &args[1], nr * sizeof(*command));
	pid = fork();
	if (!pid) {
		dup2(to[1], STDOUT_FILENO);
		close(to[0]);
		close(to[1]);
		setenv("LC_ALL", "C", 1);
		execvp(command[0], command);
		_exit(127);
	}
	close(to[1]);
	from = fdopen(to[0], "r");
	if (from)
		read_plan(from, w);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return 1;
	free(command);
	return WEXITSTATUS(status);
}

static u32 descs_per_block(const struct wish *w)
{
	return w->block_size / (has_word(w, "^64bit") ? EXT2_MIN_DESC_SIZE : EXT2_MIN_DESC_SIZE_64BIT);
}

/* The options of our own, before those of the caller; returns how many. */
static int add_options(const struct wish *w, char **to)
{
	static char journal[32], group[32], features[1024];
	u64 per_group = zx_group_blocks(w->blocks, descs_per_block(w), w->cpus);
	u64 mib = zx_journal_mib(w->cpus, w->blocks * w->block_size, w->block_size);
	bool has_journal = !has_word(w, "^has_journal");
	int nr = 0;

	if (has_journal && !w->journal &&
	    (u64)ext2fs_default_journal_size(w->blocks) * w->block_size >> 20 < mib) {
		snprintf(journal, sizeof(journal), "-Jsize=%llu", mib);
		to[nr++] = journal;
	}
	if (!w->group && per_group && DIV_ROUND_UP(w->groups, descs_per_block(w)) < w->cpus) {
		snprintf(group, sizeof(group), "-g%llu", per_group);
		to[nr++] = group;
	}
	if (!has_journal)
		return nr;
	if (!w->features) {
		to[nr++] = "-Oorphan_file";
		return nr;
	}
	/* mke2fs takes only one -O. */
	snprintf(features, sizeof(features), "%.*sorphan_file,%s", (int)w->features_at, *w->features,
		 *w->features + w->features_at);
	*w->features = features;
	return nr;
}

static int read_cpus(const char *text, struct wish *w)
{
	char *end;
	unsigned long nr = strtoul(text, &end, 10);

	if (*end || !nr || nr > ZJ_MAX_LANES) {
		fprintf(stderr, "mkfs.zext4: --cpus must be a number from 1 to %u, not \"%s\"\n",
			ZJ_MAX_LANES, text);
		return USAGE;
	}
	w->cpus = nr;
	return 0;
}

/* Takes our own long options away; an exit code, or -1 to go on. */
static int own_options(int *nr, char **args, struct wish *w)
{
	int kept = 1;

	for (int i = 1; i < *nr; i++) {
		if (!strcmp(args[i], "--help") || !strcmp(args[i], "-h")) {
			fputs(help, stdout);
			return 0;
		}
		if (!strcmp(args[i], "--version")) {
			puts("mkfs.zext4 of zjournal " ZJ_BUILD_VERSION);
			return 0;
		}
		if (strncmp(args[i], "--cpus=", 7))
			args[kept++] = args[i];
		else if (read_cpus(args[i] + 7, w))
			return USAGE;
	}
	args[kept] = NULL;
	*nr = kept;
	return -1;
}

int main(int argc, char **argv)
{
	struct wish w = { .cpus = zx_cpus() };
	char **command;
	int rc, nr = 1;

	rc = own_options(&argc, argv, &w);
	if (rc >= 0)
		return rc;
	if (argc < 2) {
		fputs(help, stderr);
		return USAGE;
	}
	command = calloc(argc + 8, sizeof(*command));
	if (!command)
		return 1;
	read_options(argc, argv, &w);
	command[0] = "mkfs.ext4";
	if (!w.only_super && !w.version) {
		rc = ask_mkfs(argc, argv, &w);
		if (rc)
			return rc;
		/* Without these lines it is another mke2fs than the one that we know. */
		if (w.blocks && w.block_size && w.groups)
			nr += add_options(&w, &command[nr]);
		else
			fputs("mkfs.zext4: mkfs.ext4 -nv says no sizes; making a plain ext4, see zjctl info\n",
			      stderr);
	}
	memcpy(&command[nr], &argv[1], argc * sizeof(*command));
	execvp(command[0], command);
	perror("mkfs.zext4: mkfs.ext4 (package e2fsprogs)");
	return 1;
}
