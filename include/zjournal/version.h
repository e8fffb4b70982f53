/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The version of everything that is made of this tree: modules, zjctl, manual pages and
 * packages. tools/version prints it for Makefiles and scripts.
 */
#ifndef ZJ_VERSION_H
#define ZJ_VERSION_H

#define ZJ_VERSION "0.1.0"

#endif
