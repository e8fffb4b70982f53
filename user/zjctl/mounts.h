/* SPDX-License-Identifier: GPL-2.0-only */
/* What /proc, /sys and /etc say of mounts, of this machine or of a saved copy. */
#ifndef ZJCTL_MOUNTS_H
#define ZJCTL_MOUNTS_H

#include <dirent.h>
#include <stdio.h>
#include "zjctl.h"

#define STATS_ROOT	"/proc/fs/zjournal"

/**
 * struct zx_mount - one line of /proc/self/mountinfo
 */
struct zx_mount {
	dev_t	dev;
	char	at[4096];
	char	type[64];
	char	source[4096];
	char	options[4096];	/* of the mount, and of the file system */
};

/* --root: a folder that stands for / in all that follows; "" for this machine. */
extern const char *zx_root;

/* A path below zx_root; the buffer is static, four calls may be in one expression. */
const char *zx_below(const char *fmt, ...) __printf(1, 2);
/* The first line of a file below zx_root, without its end; false if there is none. */
bool zx_first_line(const char *path, char *to, size_t room);
/* The next mount of an open mountinfo; false at its end. */
bool zx_next_mount(FILE *f, struct zx_mount *m);
/* The mount of @dev, or (for a directory) that of the file system it is in. */
bool zx_find_mount(dev_t dev, struct zx_mount *m);
/* The kernel's name of a block device; false if there is none of this number. */
bool zx_kernel_name(dev_t dev, char *to, size_t room);
/*
 * Has zext4 mounted it, whatever it calls itself (register_as=)? @name: under which the module
 * shows its statistics, as in "sda1-8", if there is a journal.
 */
bool zx_is_zext4(const struct zx_mount *m, char *name, size_t room);
/* The name with the journal's part cut off: "sda1". Static. */
const char *zx_disk_of(const char *name);
/* By the name of a journal: where it is mounted. */
bool zx_mount_of_journal(const char *name, struct zx_mount *m);

#endif /* ZJCTL_MOUNTS_H */
