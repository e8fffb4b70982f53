/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_BLK_CGROUP_H
#define ZJ_RUNTIME_LINUX_BLK_CGROUP_H

/* No disk here is shared out by cgroups. */
#define blkcg_root_css	NULL
#define bio_associate_blkg_from_css(bio, css)	((void)(bio))

#endif
