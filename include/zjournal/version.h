/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The number of the release that this tree is, or that it follows. Modules, zjctl, manual pages
 * and packages have the version that tools/version makes of it, with the commit behind it.
 */
#ifndef ZJ_VERSION_H
#define ZJ_VERSION_H

#define ZJ_VERSION "0.1.0"

#endif
