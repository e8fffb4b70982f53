/* SPDX-License-Identifier: GPL-2.0-only */
/* All of src/ but recovery, for tests that look inside. */
#ifndef ZJ_INSIDE_H
#define ZJ_INSIDE_H

#include <linux/module.h>
#include <linux/slab.h>
#include "checkpoint/checkpoint.h"
#include "core/core.h"
#include "format/codec.h"
#include "format/codec_jbd2.h"
#include "journal/journal.h"
#include "log/log.h"
#include "nvm/nvm.h"
#include "show/show.h"
#include "txn/txn.h"

#endif /* ZJ_INSIDE_H */
