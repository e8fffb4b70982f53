// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjverify: does a recovered file system hold what zjload's log promises?
 *
 *	zjverify MNT LOGDIR WORKERS CUT ordered|journal|writeback
 *
 * CUT is the position of the power cut in the recording, or 0: after all that
 * is in the log.  Prints every violation, then one line "digest=... files=...
 * facts=... bad=...".  The digest is of all names, contents and attributes but
 * times.  Exit 0: all well; 1: violations; 2: could not run.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "verify.h"

#define MAX_SHOWN 40

const char *mnt;
uint64_t cut;
uint32_t workers;
enum data_mode mode;
static unsigned int nbad;

void bad(const char *fmt, ...)
{
	va_list args;

	if (nbad++ >= MAX_SHOWN)
		return;
	printf("BAD: ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

void *must_alloc(size_t size)
{
	void *p = calloc(1, size + 1);

	if (!p) {
		fprintf(stderr, "zjverify: out of memory\n");
		exit(2);
	}
	return p;
}

static void load(struct log *log, const char *logdir, uint32_t worker)
{
	char path[4096];
	struct fact f;
	FILE *in;

	snprintf(path, sizeof(path), "%s/w%u.log", logdir, worker);
	in = fopen(path, "r");
	if (!in) {
		perror(path);
		exit(2);
	}
	log->worker = worker;
	while (fread(&f, sizeof(f), 1, in) == 1 && f.begin <= cut) {
		if (log->n % 1024 == 0)
			log->facts = realloc(log->facts, (log->n + 1024) * sizeof(f));
		if (!log->facts)
			exit(2);
		log->facts[log->n++] = f;
	}
	fclose(in);
}

int main(int argc, char **argv)
{
	uint32_t w, i, facts = 0;

	if (argc != 6) {
		fprintf(stderr, "usage: zjverify MNT LOGDIR WORKERS CUT ordered|journal|writeback\n");
		return 2;
	}
	mnt = argv[1];
	workers = atoi(argv[3]);
	cut = strtoull(argv[4], NULL, 0);
	if (!cut)
		cut = UINT64_MAX;
	mode = !strcmp(argv[5], "journal") ? MODE_JOURNAL :
	       !strcmp(argv[5], "ordered") ? MODE_ORDERED : MODE_WRITEBACK;
	walk();
	for (w = 0; w < workers; w++) {
		struct log log = { 0 };

		load(&log, argv[2], w);
		check_names(&log);
		check_content(&log);
		for (i = 0; i < log.n; i++)
			facts += is_done(&log.facts[i]) &&
				 (log.facts[i].op == F_FSYNC || log.facts[i].op == F_FDSYNC ||
				  log.facts[i].op == F_DIRSYNC || log.facts[i].flags);
		free(log.facts);
	}
	printf("digest=%016llx files=%u facts=%u bad=%u\n", (unsigned long long)digest,
	       nfound, facts, nbad);
	return nbad ? 1 : 0;
}
