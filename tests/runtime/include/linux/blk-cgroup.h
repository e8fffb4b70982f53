/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_RUNTIME_LINUX_BLK_CGROUP_H
#define ZJ_RUNTIME_LINUX_BLK_CGROUP_H

/* No disk here is shared out by cgroups, but the disk may look whom a request is charged to. */
#define blkcg_root_css	((const void *)1)
#define bio_associate_blkg_from_css(bio, css)	((bio)->bi_css = (css))

#endif
