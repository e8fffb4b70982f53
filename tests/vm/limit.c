// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of a project quota, for which the guest has no tool.
 *
 *   limit DEV PROJECT HARD [SOFT]	sets the limits, in bytes
 *   limit DEV PROJECT grace SECONDS	sets the end of its time of grace, in seconds since 1970
 *   limit DEV PROJECT			prints "usage hard soft grace", as above
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/quota.h>

#define PROJECT_QUOTA	2
#define UNIT		1024	/* of a limit, in bytes */

static int set(const char *dev, int project, char **argv)
{
	struct dqblk block = {};

	if (!strcmp(argv[0], "grace")) {
		block.dqb_btime = strtoull(argv[1], NULL, 10);
		block.dqb_valid = QIF_BTIME;
	} else {
		block.dqb_bhardlimit = strtoull(argv[0], NULL, 10) / UNIT;
		if (argv[1])
			block.dqb_bsoftlimit = strtoull(argv[1], NULL, 10) / UNIT;
		block.dqb_valid = QIF_BLIMITS;
	}
	return quotactl(QCMD(Q_SETQUOTA, PROJECT_QUOTA), dev, project, (void *)&block);
}

static int show(const char *dev, int project)
{
	struct dqblk block = {};
	int rc = quotactl(QCMD(Q_GETQUOTA, PROJECT_QUOTA), dev, project, (void *)&block);

	if (!rc)
		printf("%llu %llu %llu %llu\n", (unsigned long long)block.dqb_curspace,
		       (unsigned long long)block.dqb_bhardlimit * UNIT,
		       (unsigned long long)block.dqb_bsoftlimit * UNIT,
		       (unsigned long long)block.dqb_btime);
	return rc;
}

int main(int argc, char **argv)
{
	int rc;

	if (argc < 3 || (argc == 4 && !strcmp(argv[3], "grace"))) {
		fprintf(stderr, "usage: limit DEV PROJECT [HARD [SOFT] | grace SECONDS]\n");
		return 2;
	}
	if (argc > 3)
		rc = set(argv[1], atoi(argv[2]), argv + 3);
	else
		rc = show(argv[1], atoi(argv[2]));
	if (rc)
		perror(argv[1]);
	return rc ? 1 : 0;
}
