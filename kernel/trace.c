// SPDX-License-Identifier: GPL-2.0-only
/* Defines the tracepoints that include/trace/events/zjournal.h declares. */
#define CREATE_TRACE_POINTS
#include <trace/events/zjournal.h>
