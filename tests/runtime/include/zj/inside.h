/* SPDX-License-Identifier: GPL-2.0-only */
/* All of src/ but recovery, for tests that look inside. */
#ifndef ZJ_INSIDE_H
#define ZJ_INSIDE_H

#include <linux/module.h>
#include <linux/slab.h>
#include "checkpoint/home.h"
#include "checkpoint/tail.h"
#include "core/abort.h"
#include "core/dev_io.h"
#include "core/flush.h"
#include "core/gather.h"
#include "core/journal.h"
#include "core/lane_pick.h"
#include "core/lane_types.h"
#include "core/space.h"
#include "core/super.h"
#include "core/waits.h"
#include "format/codec.h"
#include "format/codec_jbd2.h"
#include "log/commit.h"
#include "log/log_lanes.h"
#include "log/log_io.h"
#include "log/log_jbd2.h"
#include "nvm/nvm.h"
#include "log/group_commit.h"
#include "journal/drop.h"
#include "journal/lane.h"
#include "journal/load.h"
#include "journal/proc.h"
#include "txn/component.h"
#include "txn/jhead.h"
#include "txn/lines.h"
#include "txn/ordered.h"
#include "txn/part.h"
#include "txn/revoke.h"
#include "txn/tenant.h"
#include "txn/txn.h"
#include "show/show.h"
#include "txn/committed.h"
#include "txn/version.h"

#endif /* ZJ_INSIDE_H */
