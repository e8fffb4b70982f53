// SPDX-License-Identifier: GPL-2.0-only
/* The bodies of the tracepoints that include/trace/events/zjournal.h declares. */
#define CREATE_TRACE_POINTS
#include <trace/events/zjournal.h>
