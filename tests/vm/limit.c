// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits of a project quota, for which the guest has no tool.
 *
 *   limit DEV PROJECT BYTES	sets the hard limit
 *   limit DEV PROJECT		prints "usage limit", in bytes
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/quota.h>

#define PROJECT_QUOTA	2
#define UNIT		1024	/* of a limit, in bytes */

int main(int argc, char **argv)
{
	struct dqblk block = {};
	int rc;

	if (argc < 3) {
		fprintf(stderr, "usage: limit DEV PROJECT [BYTES]\n");
		return 2;
	}
	if (argc > 3) {
		block.dqb_bhardlimit = strtoull(argv[3], NULL, 10) / UNIT;
		block.dqb_valid = QIF_BLIMITS;
		rc = quotactl(QCMD(Q_SETQUOTA, PROJECT_QUOTA), argv[1], atoi(argv[2]),
			      (void *)&block);
	} else {
		rc = quotactl(QCMD(Q_GETQUOTA, PROJECT_QUOTA), argv[1], atoi(argv[2]),
			      (void *)&block);
		if (!rc)
			printf("%llu %llu\n", (unsigned long long)block.dqb_curspace,
			       (unsigned long long)block.dqb_bhardlimit * UNIT);
	}
	if (rc)
		perror(argv[1]);
	return rc ? 1 : 0;
}
