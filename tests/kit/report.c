// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints which tasks wait for what when a test fails or hangs, with the printers that debugfs
 * uses (docs/operations.md).
 */
#include <stdio.h>
#include <linux/seq_buf.h>
#include "kit.h"
#include "show/show.h"
#include "sim.h"

static struct zj_journal *loaded;

static void print_journal(void)
{
	static char text[1 << 20];
	struct seq_buf out;

	seq_buf_init(&out, text, sizeof(text));
	zj_journal_to_text(&out, loaded);
	fprintf(stderr, "%.*s", (int)seq_buf_used(&out), text);
}

static void note_loaded(struct zj_journal *zj)
{
	loaded = zj;
	sim_report = zj ? print_journal : NULL;
}

void kit_report_failures(void)
{
	kit_loaded = note_loaded;
}
