// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjmeter: the costs of a journal, measured from outside and in the same way for each journal.
 *
 *	insmod zjmeter.ko disk=zjd0 log=FIRST,LAST,... starts=FUNCTION,...
 *
 * starts: functions in which a handle waits for space, each with the time that its callers
 * spend in it. log: the journal's extents in sectors, first and last of each. A write elsewhere is
 * file data if its page is of a file, else a home write. /proc/zjmeter:
 *
 *	starts N missed N longest NS
 *	wait NS COUNT		so many took less than NS, and no less than the line before says
 *	log|home|data REQUESTS SECTORS
 *	flush|fua REQUESTS
 *
 * Its contents are exact when no operation is running; loading it again resets them.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/tracepoint.h>

#define MAX_STARTS	4
#define MAX_EXTENTS	32
#define SUB		16	/* buckets of a power of two */
#define BUCKETS		(40 * SUB)

static char *disk = "";
module_param(disk, charp, 0444);
static char *starts[MAX_STARTS];
static int nstarts;
module_param_array(starts, charp, &nstarts, 0444);
static ulong log[2 * MAX_EXTENTS];
static int nlog;
module_param_array(log, ulong, &nlog, 0444);

enum { LOG, HOME, DATA, FLUSH, FUA, CLASSES };

static const char * const names[CLASSES] = { "log", "home", "data", "flush", "fua" };
static atomic64_t requests[CLASSES], sectors[CLASSES];
static atomic_t waits[BUCKETS];
static atomic64_t longest;
static struct kretprobe probes[MAX_STARTS];
static struct tracepoint *queued;

/* ---- waits ---- */

static unsigned int bucket_of(u64 ns)
{
	unsigned int power = ns < SUB ? 0 : ilog2(ns) - ilog2(SUB);

	return min(power * SUB + (unsigned int)(ns >> power), BUCKETS - 1U);
}

/* The least value that is beyond the bucket. */
static u64 end_of(unsigned int bucket)
{
	unsigned int power = bucket < 2 * SUB ? 0 : bucket / SUB - 1;

	return ((u64)(bucket - power * SUB) + 1) << power;
}

static int start_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	*(u64 *)ri->data = ktime_get_ns();
	return 0;
}

static int start_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	s64 ns = ktime_get_ns() - *(u64 *)ri->data, old = atomic64_read(&longest);

	atomic_inc(&waits[bucket_of(ns)]);
	while (ns > old && !atomic64_try_cmpxchg(&longest, &old, ns))
		;
	return 0;
}

/* ---- writes ---- */

static bool in_log(sector_t sector)
{
	for (int i = 0; i + 1 < nlog; i += 2)
		if (sector >= log[i] && sector <= log[i + 1])
			return true;
	return false;
}

static int class_of(struct bio *bio)
{
	struct address_space *mapping = page_folio(bio_page(bio))->mapping;

	if (in_log(bio->bi_iter.bi_sector))
		return LOG;
	/* The lowest bits: memory of a process, or of a slab. */
	if (!mapping || (unsigned long)mapping & 3)
		return HOME;
	return S_ISREG(mapping->host->i_mode) ? DATA : HOME;
}

static void count(int class, struct bio *bio)
{
	atomic64_inc(&requests[class]);
	atomic64_add(bio_sectors(bio), &sectors[class]);
}

static void on_queued(void *unused, struct bio *bio)
{
	if (!op_is_write(bio_op(bio)) || strcmp(bio->bi_bdev->bd_disk->disk_name, disk))
		return;
	if (bio->bi_opf & REQ_PREFLUSH)
		count(FLUSH, bio);
	if (bio->bi_opf & REQ_FUA)
		count(FUA, bio);
	if (bio_has_data(bio))
		count(class_of(bio), bio);
}

/* ---- the file, and the module ---- */

static int show(struct seq_file *m, void *unused)
{
	unsigned int i, seen, all = 0, missed = 0;

	for (i = 0; i < nstarts; i++)
		missed += probes[i].nmissed;
	for (i = 0; i < BUCKETS; i++)
		all += atomic_read(&waits[i]);
	seq_printf(m, "starts %u missed %u longest %lld\n", all, missed, atomic64_read(&longest));
	for (i = 0; i < BUCKETS; i++) {
		seen = atomic_read(&waits[i]);
		if (seen)
			seq_printf(m, "wait %llu %u\n", end_of(i), seen);
	}
	for (i = 0; i < CLASSES; i++)
		seq_printf(m, "%s %lld %lld\n", names[i], atomic64_read(&requests[i]), atomic64_read(&sectors[i]));
	return 0;
}

static void find_queued(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "block_bio_queue"))
		queued = tp;
}

static void remove_probes(int n)
{
	while (n--)
		unregister_kretprobe(&probes[n]);
}

static int set_probes(void)
{
	int i, err;

	for (i = 0; i < nstarts; i++) {
		probes[i] = (struct kretprobe) {
			.kp.symbol_name = starts[i], .data_size = sizeof(u64), .maxactive = 256,
			.entry_handler = start_begins, .handler = start_ends,
		};
		err = register_kretprobe(&probes[i]);
		if (err) {
			pr_err("zjmeter: cannot probe %s: %d\n", starts[i], err);
			remove_probes(i);
			return err;
		}
	}
	return 0;
}

static int __init zjmeter_init(void)
{
	int err;

	for_each_kernel_tracepoint(find_queued, NULL);
	if (!queued || nlog % 2)
		return -EINVAL;
	err = set_probes();
	if (err)
		return err;
	err = tracepoint_probe_register(queued, on_queued, NULL);
	if (!err && !proc_create_single("zjmeter", 0444, NULL, show)) {
		tracepoint_probe_unregister(queued, on_queued, NULL);
		tracepoint_synchronize_unregister();
		err = -ENOMEM;
	}
	if (err)
		remove_probes(nstarts);
	return err;
}

static void __exit zjmeter_exit(void)
{
	remove_proc_entry("zjmeter", NULL);
	tracepoint_probe_unregister(queued, on_queued, NULL);
	tracepoint_synchronize_unregister();
	remove_probes(nstarts);
}

module_init(zjmeter_init);
module_exit(zjmeter_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Waits of handle starts and writes by kind, for benches only");
