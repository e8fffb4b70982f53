// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics: /proc/fs/zjournal/<dev>/info.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include "../src/zj.h"

static struct proc_dir_entry *proc_root;

static void show_lane(struct seq_file *seq, const struct zj_lane *lane)
{
	const struct zj_lane_stats *st = &lane->stats;

	seq_printf(seq,
		   "lane %3d: %8llu txns %10llu handles %10llu blocks %8llu headers %8llu flushes %8llu flush_calls %8llu copies %8llu ahead %6llu wait_log %8llu united %8llu depends %6llu wait_locked %6llu wait_space %10llu commit_us\n",
		   lane->index, st->txns, st->handles, st->blocks, st->headers,
		   st->flushes, st->flush_calls, st->copies, st->ahead, st->wait_log, st->united, st->depends,
		   st->wait_locked, st->wait_space, st->commit_us);
}

static void show_total(struct seq_file *seq, const struct zj_journal *zj)
{
	u64 txns = 0, handles = 0, blocks = 0, us = 0;
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++) {
		const struct zj_lane_stats *st = &zj->lanes[i].stats;

		txns += st->txns;
		handles += st->handles;
		blocks += st->blocks;
		us += st->commit_us;
	}
	seq_printf(seq, "%llu transactions in %u lanes, %u credits each at most\n",
		   txns, zj->nr_lanes, zj->max_credits);
	if (!txns)
		return;
	seq_puts(seq, "average:\n");
	seq_printf(seq, "  %lluus from freeze to validity\n", div64_u64(us, txns));
	seq_printf(seq, "  %llu handles per transaction\n",
		   div64_u64(handles, txns));
	seq_printf(seq, "  %llu logged blocks per transaction\n",
		   div64_u64(blocks, txns));
}

static int info_show(struct seq_file *seq, void *unused)
{
	const struct zj_journal *zj = seq->private;
	unsigned int i;

	show_total(seq, zj);
	seq_printf(seq, "segments: %u of %u blocks, %u free\n", zj->geo.nr_segs,
		   zj->geo.seg_blocks, READ_ONCE(zj->nr_pool));
	seq_printf(seq, "stamps: %llu newest, %llu trimmed\n",
		   READ_ONCE(zj->stamp), READ_ONCE(zj->trimmed));
	seq_printf(seq, "state: %s\n", zj_aborted(zj) ? "aborted" :
		   READ_ONCE(zj->live) ? "live" : "clean");
	seq_printf(seq, "recovered: %u transactions, %u blocks\n",
		   zj->recovered.transactions, zj->recovered.replayed);
	for (i = 0; i < zj->nr_lanes; i++)
		show_lane(seq, &zj->lanes[i]);
	return 0;
}

void zj_proc_add(struct zj_journal *zj)
{
	if (!proc_root)
		return;
	zj->proc = proc_mkdir(zj->front.j_devname, proc_root);
	if (zj->proc)
		proc_create_single_data("info", 0444, zj->proc, info_show, zj);
}

void zj_proc_remove(struct zj_journal *zj)
{
	if (zj->proc)
		remove_proc_subtree(zj->front.j_devname, proc_root);
	zj->proc = NULL;
}

int __init zj_proc_init(void)
{
	proc_root = proc_mkdir("fs/zjournal", NULL);
	return proc_root ? 0 : -ENOMEM;
}

void zj_proc_exit(void)
{
	remove_proc_entry("fs/zjournal", NULL);
	proc_root = NULL;
}
