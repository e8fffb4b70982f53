// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/fs/zjournal/<dev>/info: statistics of a journal, which zjctl stats reads.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include "core/core.h"
#include "debugfs.h"
#include "journal/journal.h"
#include "txn/txn.h"

static struct proc_dir_entry *proc_root;

/* The counters of a lane, in the order in which its line shows them. */
#define COUNTER(field, width)	\
	{ #field, width, offsetof(struct zj_lane_stats, field) / sizeof(u64) }
static const struct {
	const char *name;
	int width;
	size_t place;
} counters[] = {
	COUNTER(txns, 8), COUNTER(handles, 10), COUNTER(blocks, 10),
	COUNTER(headers, 8), COUNTER(flushes, 8), COUNTER(flush_calls, 8),
	COUNTER(copies, 8), COUNTER(ahead, 8), COUNTER(wait_log, 6),
	COUNTER(wait_locked, 6), COUNTER(wait_space, 6), COUNTER(wait_reserved, 6),
	COUNTER(commit_us, 10), COUNTER(conflicts, 6), COUNTER(deferred, 6), COUNTER(locked_us, 10),
	COUNTER(runs, 8), COUNTER(depth, 8), COUNTER(max_depth, 3),
	COUNTER(max_copies, 6), COUNTER(fsyncs, 8), COUNTER(fsync_us, 10),
	COUNTER(file_blocks, 8), COUNTER(file_merged, 8), COUNTER(file_syncs, 8),
};

static const char *const kind_names[ZJ_NR_KINDS] = {
	[ZJ_KIND_OTHER] = "other",
	[ZJ_KIND_SUPER] = "super",
	[ZJ_KIND_DESCRIPTOR] = "descriptor",
	[ZJ_KIND_BLOCK_BITMAP] = "block_bitmap",
	[ZJ_KIND_INODE_BITMAP] = "inode_bitmap",
	[ZJ_KIND_INODE_TABLE] = "inode_table",
	[ZJ_KIND_ORPHAN] = "orphan",
	[ZJ_KIND_DIRECTORY] = "directory",
	[ZJ_KIND_TREE] = "tree",
	[ZJ_KIND_XATTR] = "xattr",
	[ZJ_KIND_FILE] = "file",
	[ZJ_KIND_INODE] = "inode",
	[ZJ_KIND_QUOTA] = "quota",
	[ZJ_KIND_MOVE] = "move",
	[ZJ_KIND_RESIZE] = "resize",
	[ZJ_KIND_ORDERED] = "ordered",
	[ZJ_KIND_READ] = "read",
	[ZJ_KIND_REVOKE] = "revoke",
};

static u64 sum_kinds(const u64 *kinds)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < ZJ_NR_KINDS; i++)
		sum += kinds[i];
	return sum;
}

/* Prints the sum, and each cause with a count that is not 0. */
static void show_kinds(struct seq_file *seq, const u64 *kinds)
{
	int i;

	seq_printf(seq, "%llu in all", sum_kinds(kinds));
	for (i = 0; i < ZJ_NR_KINDS; i++)
		if (kinds[i])
			seq_printf(seq, ", %llu at %s", kinds[i], kind_names[i]);
	seq_putc(seq, '\n');
}

static void show_lane(struct seq_file *seq, const struct zj_lane *lane)
{
	const struct zj_lane_stats *st = &lane->stats;
	u64 united = sum_kinds(st->united), depends = sum_kinds(st->depends);
	int i;

	seq_printf(seq, "lane %3d:", lane->index);
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		seq_printf(seq, " %*llu %s", counters[i].width,
			   ((const u64 *)st)[counters[i].place],
			   counters[i].name);
	if (lane->journal->log_ops->in_memory)
		seq_printf(seq, " %12llu nvm_bytes %8llu nvm_full",
			   st->nvm_bytes, st->nvm_full);
	seq_printf(seq, " %8llu united %8llu depends\n", united, depends);
	if (united) {
		seq_printf(seq, "united in lane %d: ", lane->index);
		show_kinds(seq, st->united);
	}
	if (depends) {
		seq_printf(seq, "depends in lane %d: ", lane->index);
		show_kinds(seq, st->depends);
	}
}

/* Prints how many members and dependencies components have. */
static void show_components(struct seq_file *seq, struct zj_journal *zj)
{
	struct zj_comp_stats st;
	int i;

	zj_comp_stats(zj, &st);
	seq_printf(seq, "components: %llu closed, %llu members, %u at most\n",
		   st.closed, st.members, st.max_members);
	for (i = 0; i < ZJ_NR_SIZES; i++)
		if (st.sizes[i])
			seq_printf(seq, "  %llu of %u to %u members\n",
				   st.sizes[i], 1U << i, (2U << i) - 1);
	seq_printf(seq, "dependencies: %llu logged, %u at most, %llu awaited, ",
		   st.deps, st.max_deps, st.awaited);
	seq_printf(seq, "%llu resolved, %llu arrivals\n", st.resolved,
		   st.arrivals);
}

static void show_ties(struct seq_file *seq, const struct zj_journal *zj)
{
	u64 united[ZJ_NR_KINDS] = { }, depends[ZJ_NR_KINDS] = { };
	unsigned int i, k;

	for (i = 0; i < zj->nr_lanes; i++)
		for (k = 0; k < ZJ_NR_KINDS; k++) {
			united[k] += zj->lanes[i].stats.united[k];
			depends[k] += zj->lanes[i].stats.depends[k];
		}
	seq_puts(seq, "united: ");
	show_kinds(seq, united);
	seq_puts(seq, "depends: ");
	show_kinds(seq, depends);
}

/* Prints a / b with two decimals. */
static void show_ratio(struct seq_file *seq, u64 a, u64 b, const char *what)
{
	u64 ratio = div64_u64(100 * a, b);
	u32 rest;

	ratio = div_u64_rem(ratio, 100, &rest);
	seq_printf(seq, "  %llu.%02u %s\n", ratio, rest, what);
}

static void show_fsyncs(struct seq_file *seq, const struct zj_journal *zj)
{
	u64 n[ZJ_NR_LATENCIES] = { };
	unsigned int i, k;

	for (i = 0; i < zj->nr_lanes; i++)
		for (k = 0; k < ZJ_NR_LATENCIES; k++)
			n[k] += READ_ONCE(zj->lanes[i].stats.fsync[k]);
	seq_puts(seq, "fsyncs by time:\n");
	for (k = 0; k < ZJ_NR_LATENCIES; k++)
		if (n[k] && k < ZJ_NR_LATENCIES - 1)
			seq_printf(seq, "  %llu below %uus\n", n[k], 64U << k);
		else if (n[k])
			seq_printf(seq, "  %llu longer\n", n[k]);
}

/* Prints how far commits overlap and share flushes, and the mean time of an fsync. */
static void show_pipeline(struct seq_file *seq, const struct zj_journal *zj,
			  u64 txns)
{
	u64 conflicts = 0, locked_us = 0, depth = 0, flushes = 0, runs = 0;
	u64 fsyncs = 0, fsync_us = 0;
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++) {
		const struct zj_lane_stats *st = &zj->lanes[i].stats;

		conflicts += st->conflicts;
		locked_us += st->locked_us;
		depth += st->depth;
		flushes += st->flushes;
		runs += st->runs;
		fsyncs += st->fsyncs;
		fsync_us += st->fsync_us;
	}
	seq_printf(seq, "  %lluus locked\n", div64_u64(locked_us, txns));
	show_ratio(seq, conflicts, txns, "conflicts per transaction");
	show_ratio(seq, depth, txns, "transactions on their way");
	show_ratio(seq, flushes, txns, "flushes per transaction");
	if (runs)
		show_ratio(seq, txns, runs, "transactions per run");
	if (!fsyncs)
		return;
	show_ratio(seq, flushes, fsyncs, "flushes per fsync");
	seq_printf(seq, "  %lluus per fsync\n", div64_u64(fsync_us, fsyncs));
}

static void show_copies(struct seq_file *seq, const struct zj_journal *zj)
{
	unsigned int i;
	u64 now = 0;

	for (i = 0; i < zj->nr_lanes; i++)
		now += atomic_read(&zj->lanes[i].copies);
	seq_printf(seq, "copies: %llu now, %u for a lane ahead of its log, %u bytes each\n",
		   now, zj->max_copies, zj->public.j_blocksize);
}

/* Each such fsync has saved the round of its data. */
static void show_file_data(struct seq_file *seq, const struct zj_journal *zj)
{
	u64 blocks = 0, merged = 0, syncs = 0;
	unsigned int i;

	for (i = 0; i < zj->nr_lanes; i++) {
		const struct zj_lane_stats *st = &zj->lanes[i].stats;

		blocks += st->file_blocks;
		merged += st->file_merged;
		syncs += st->file_syncs;
	}
	seq_printf(seq, "file data: %llu rounds saved, %llu blocks logged, %llu home writes merged\n",
		   syncs, blocks, merged);
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
	seq_printf(seq, "  %lluus from seal to commit\n", div64_u64(us, txns));
	seq_printf(seq, "  %llu handles per transaction\n",
		   div64_u64(handles, txns));
	seq_printf(seq, "  %llu logged blocks per transaction\n",
		   div64_u64(blocks, txns));
	show_pipeline(seq, zj, txns);
}

static int info_show(struct seq_file *seq, void *unused)
{
	struct zj_journal *zj = seq->private;
	unsigned int i;

	show_total(seq, zj);
	seq_printf(seq, "log: %s\n", zj->log_ops->name);
	seq_printf(seq, "segments: %u of %u blocks, %u free\n", zj->geo.nr_segs,
		   zj->geo.seg_blocks, READ_ONCE(zj->nr_pool));
	seq_printf(seq, "stamps: %llu newest, %llu reclaimed\n",
		   READ_ONCE(zj->stamp), READ_ONCE(zj->ckpt_stamp));
	seq_printf(seq, "state: %s\n", zj_aborted(zj) ? "aborted" :
		   READ_ONCE(zj->live) ? "live" : "clean");
	seq_printf(seq, "recovered: %u transactions, %u blocks\n",
		   zj->recovered.transactions, zj->recovered.replayed);
	seq_printf(seq, "pipeline: %s, runs of %u at most, %u versions, coalescing %s\n",
		   zj->options.pipeline ? "on" : "off", READ_ONCE(zj->options.live.flush_batch),
		   READ_ONCE(zj->options.live.versions),
		   READ_ONCE(zj->options.live.no_coalesce) ? "off" : "on");
	show_copies(seq, zj);
	show_fsyncs(seq, zj);
	show_file_data(seq, zj);
	show_components(seq, zj);
	show_ties(seq, zj);
	for (i = 0; i < zj->nr_lanes; i++)
		show_lane(seq, &zj->lanes[i]);
	return 0;
}

void zj_proc_add(struct zj_journal *zj)
{
	if (!proc_root)
		return;
	zj->proc = proc_mkdir(zj->public.j_devname, proc_root);
	/* It tells a tenant of a machine what the others do (decision 53). */
	if (zj->proc)
		proc_create_single_data("info", 0400, zj->proc, info_show, zj);
	zj_debugfs_add(zj);
}

void zj_proc_remove(struct zj_journal *zj)
{
	zj_debugfs_remove(zj);
	if (zj->proc)
		remove_proc_subtree(zj->public.j_devname, proc_root);
	zj->proc = NULL;
}

int __init zj_proc_init(void)
{
	proc_root = proc_mkdir("fs/zjournal", NULL);
	if (!proc_root)
		return -ENOMEM;
	zj_debugfs_init();
	return 0;
}

void zj_proc_exit(void)
{
	zj_debugfs_exit();
	remove_proc_entry("fs/zjournal", NULL);
	proc_root = NULL;
}
