/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZJ_MMP_H
#define ZJ_MMP_H

struct ext_image;

/*
 * Waits until it is sure that no other host uses the file system, and keeps them away from it
 * until mmp_release() or the program's end. Without the feature mmp nothing is done.
 * 0, or -1 with a message.
 */
int mmp_announce(const struct ext_image *img);
/* May be called at any time. */
void mmp_release(void);

#endif /* ZJ_MMP_H */
