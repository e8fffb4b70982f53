// SPDX-License-Identifier: GPL-2.0-only
/*
 * zjace: the causality oracle.
 *
 *	zjace base MKE2FS-ARGUMENTS
 *	zjace count SEQ
 *	zjace run TYPE OPTIONS SEQ FIRST LAST SECONDS
 *	zjace sample TYPE OPTIONS SEED COUNT
 *	zjace one TYPE OPTIONS WORKLOAD
 *
 * base makes the tree that workloads begin with, on the recording disk zjd0.
 * run goes through the ordered sets FIRST..LAST-1 of SEQ operations, and ends
 * early after SECONDS: each with every object to sync that the operations have
 * touched, one power cut or more.  What is recovered must be what some subset
 * of the operations gives, and the subset holds all that a returned sync covers.
 * sample takes COUNT workloads of one to three operations at random, half of them pairs that
 * something other than blocks may tie.
 * one repeats a workload: "[logged] OP@LANE ... SYNC@LANE", SYNC a path, "data:" and a path
 * (fdatasync) or "all".  With "logged", as half of the workloads of run and sample are, the log
 * has images of the tree's blocks before, and so takes lines of them.
 * Lanes are CPUs, or cgroups lane0, lane1, ... in the directory that the
 * environment variable ZJACE_CGROUPS names.  With ZJACE_LIE=3 the disk ignores flushes
 * and FUA, and workloads have to fail.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "ops.h"

#define MOMENTS 64
#define SHUTDOWN _IOR('X', 125, uint32_t)
#define RUN 1
#define CHECK 2
#define POLICY_NONE 4
#define DATA "data:"

/**
 * struct workload - some operations, and one sync
 * @n: number of operations
 * @op: the operations
 * @lane: of each
 * @mark: the moment when each had returned
 * @nsteps: number of steps
 * @step: the steps of the operations
 * @effect: what each step touched when all happened
 * @sync: node that is synced; -1: all (syncfs)
 * @datasync: by fdatasync
 * @path: its path
 * @sync_lane: the lane of the caller
 * @synced: the moment when that had returned
 * @logged: the log has images of the tree before
 * @stamp: the newest one in the log before the operations
 * @number: of the set, which sync: all that is random hangs on these
 */
struct workload {
	int n;
	const struct op *op[OPS];
	int lane[OPS];
	uint64_t mark[OPS];
	int nsteps;
	struct step step[STEPS];
	struct effect effect[STEPS];
	int sync;
	bool datasync;
	char path[256];
	int sync_lane;
	uint64_t synced;
	bool logged;
	uint64_t stamp;
	uint64_t number;
};

static const char *type, *options;
static const char *lie;		/* what the disk ignores, for tests of the oracle; see zjdisk */
static bool verbose;
static struct tree base;
static struct {
	uint64_t sets, impossible, workloads, refused, cuts, lines, fscks, failed;
} count;

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* ---- reports ---- */

static void print_workload(const struct workload *w)
{
	if (w->logged)
		printf("logged ");
	for (int i = 0; i < w->n; i++)
		printf("%s@%d ", w->op[i]->name, w->lane[i]);
	printf("%s%s@%d", w->datasync ? DATA : "", w->path, w->sync_lane);
}

static void fail(const struct workload *w, const char *when, const char *why)
{
	count.failed++;
	printf("FAIL ");
	print_workload(w);
	printf(" | %s | %s\n", when, why);
	fflush(stdout);
}

/* ---- the model ---- */

static void split_steps(struct workload *w)
{
	w->nsteps = 0;
	for (int i = 0; i < w->n; i++)
		for (int part = 0; part < op_steps(w->op[i]); part++)
			w->step[w->nsteps++] = (struct step) {
				.op = w->op[i], .pos = i, .part = part,
			};
}

/* All steps, in order: does each succeed? */
static bool happens(struct workload *w, struct tree *t)
{
	*t = base;
	for (int i = 0; i < w->nsteps; i++) {
		w->effect[i] = (struct effect) {};
		model_resolve(t, &w->step[i]);
		if (!model_step(t, &w->step[i], &w->effect[i]))
			return false;
	}
	return true;
}

/* Steps before @end that a sync of this node, or of its data, covers. */
static uint32_t covered_by(const struct workload *w, int node, bool data, int end)
{
	uint32_t steps = 0;

	for (int i = 0; i < end; i++) {
		const struct effect *e = &w->effect[i];

		if (node < 0 || (data ? e->written : e->touched) & 1ULL << node)
			steps |= 1 << i;
	}
	return steps;
}

/* Steps that must not be lost by a cut at this moment. */
static uint32_t promised(const struct workload *w, uint64_t cut)
{
	uint32_t steps = 0;

	for (int i = 0; i < w->nsteps; i++) {
		const struct step *s = &w->step[i];

		if ((s->op->kind == FSYNC || s->op->kind == FDATASYNC) && w->mark[s->pos] <= cut)
			steps |= covered_by(w, s->node, s->op->kind == FDATASYNC, i);
	}
	if (w->synced && w->synced <= cut)
		steps |= covered_by(w, w->sync, w->datasync, w->nsteps);
	return steps;
}

/* Files with data that no sync has covered. */
static void find_loose(const struct workload *w, uint32_t must, struct alternatives *alt)
{
	for (int i = 0; i < w->nsteps; i++) {
		if (must & 1 << i)
			continue;
		alt->loose |= w->effect[i].data;
		alt->moved |= w->effect[i].moved;
	}
}

/* The tree that a subset of the steps gives; false: they cannot happen without the others. */
static bool subset_tree(const struct workload *w, uint32_t subset, struct tree *t)
{
	struct effect unused = {};

	*t = base;
	for (int i = 0; i < w->nsteps; i++)
		if (subset & 1 << i && !model_step(t, &w->step[i], &unused))
			return false;
	return true;
}

/* Is this tree what some subset gives that holds all that was promised? */
static bool explained(const struct workload *w, const struct tree *got, uint32_t must,
		      char *why, size_t size)
{
	static struct tree tree[1 << STEPS];
	struct alternatives alt = {};
	uint32_t subset[1 << STEPS];
	size_t len = 0;

	find_loose(w, must, &alt);
	for (uint32_t s = 0; s < 1U << w->nsteps; s++)
		if (subset_tree(w, s, &tree[alt.n])) {
			subset[alt.n] = s;
			alt.tree[alt.n] = &tree[alt.n];
			alt.n++;
		}
	for (int i = 0; i < alt.n; i++) {
		char one[512];

		if ((subset[i] & must) != must)
			continue;
		if (same_tree(alt.tree[i], got, &alt, one, sizeof(one)))
			return true;
		len += snprintf(why + len, len < size ? size - len : 0, "%ssubset %#x: %s",
				len ? "; " : "", subset[i], one);
	}
	return false;
}

/* ---- the run ---- */

static bool sync_it(const struct workload *w)
{
	char path[512];
	int fd, rc;

	snprintf(path, sizeof(path), "%s%s", disk_mnt(RUN), w->sync < 0 ? "" : w->path);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	rc = w->sync < 0 ? syncfs(fd) : w->datasync ? fdatasync(fd) : fsync(fd);
	close(fd);
	return !rc;
}

/*
 * Attributes that inodes share are found once they have been read.  The first file
 * that is opened makes ext4 note in the super block where it is mounted, which would
 * tie lanes.
 */
static void warm_up(void)
{
	char path[64], value[8192];
	int fd;

	snprintf(path, sizeof(path), "%s/r/x", disk_mnt(RUN));
	fd = open(path, O_RDONLY);
	must(fd >= 0, "%s", path);
	for (int x = 1; base.has_xattr && x < XATTRS; x++)
		must(fgetxattr(fd, xattr_name[x], value, sizeof(value)) > 0, "%s", path);
	must(!syncfs(fd), "syncfs");
	close(fd);
}

static bool do_all(struct workload *w, char *why, size_t size)
{
	for (int i = 0; i < w->n; i++) {
		uint64_t returned = 0;

		must(go_to_lane(w->lane[i]), "going to lane %d", w->lane[i]);
		if (do_op(disk_mnt(RUN), w->op[i], i, &returned)) {
			/* Pages in use are not moved: ext4 says that one may try again. */
			if (w->op[i]->kind == MOVE_EXT && errno == EBUSY)
				return false;
			snprintf(why, size, "%s, which the model allows: %s", w->op[i]->name,
				 strerror(errno));
			return false;
		}
		for (int s = 0; s < w->nsteps; s++)
			if (w->step[s].pos == i)
				w->step[s].returned = returned;
		w->mark[i] = disk_mark(RUN);
	}
	must(go_to_lane(w->sync_lane), "going to lane %d", w->sync_lane);
	if (!sync_it(w)) {
		snprintf(why, size, "the sync fails: %s", strerror(errno));
		return false;
	}
	w->synced = disk_mark(RUN);
	return true;
}

/* The live tree must be what all steps give. */
static bool check_live(struct workload *w, char *why, size_t size)
{
	struct tree want, got;

	if (!happens(w, &want)) {
		snprintf(why, size, "the model does not allow it with the returned values");
		return false;
	}
	return walk_tree(disk_mnt(RUN), &got, why, size) &&
		same_tree(&want, &got, NULL, why, size);
}

static void show_ties(void)
{
	if (!strcmp(type, "zext4"))
		must(!system("grep -hE '^(united|depends|components)' "
			     "/proc/fs/zjournal/zjd1*/info || :"), "info");
}

static void stop_it(void)
{
	uint32_t flags = 2;	/* without a last commit */
	int fd = open(disk_mnt(RUN), O_RDONLY);

	must(fd >= 0 && !ioctl(fd, SHUTDOWN, &flags), "shutdown");
	close(fd);
	must(disk_umount(RUN), "umount after shutdown");
}

/* On a journal that is too small for so many lanes there are fewer: nothing would be tested. */
static void check_lanes(void)
{
	static bool checked;
	unsigned int lanes = 0;
	FILE *f;

	if (checked || strcmp(type, "zext4"))
		return;
	f = popen("cat /proc/fs/zjournal/zjd1*/info", "r");
	must(f && fscanf(f, "%*u transactions in %u lanes", &lanes) == 1 && lanes >= 2,
	     "%u lanes are not enough", lanes);
	pclose(f);
	checked = true;
}

/* Runs the workload and records it; false: it did not do what it should. */
static bool record_it(struct workload *w, bool live)
{
	char why[512] = "";
	bool ok;

	w->synced = 0;
	must(disk_cmd("%d record clear", RUN) && disk_cmd("%d copy 0", RUN), "copy");
	must(disk_mount(RUN, type, options, false), "mount -t %s -o %s", type, options);
	check_lanes();
	warm_up();
	if (w->logged)
		log_images(disk_mnt(RUN), &base);
	w->stamp = newest_stamp(RUN);
	must(disk_cmd("%d record on", RUN), "record");
	ok = do_all(w, why, sizeof(why));
	must(disk_cmd("%d record off", RUN), "record");
	if (ok && live)
		ok = check_live(w, why, sizeof(why));
	if (!ok && *why)
		fail(w, "live", why);
	count.refused += !ok && !*why;
	if (verbose)
		show_ties();
	must(go_to_lane(0), "going to lane 0");
	stop_it();
	return ok;
}

/* ---- the cut ---- */

/* Who has an attribute has it with the feature. */
static bool features_suffice(const struct tree *t, char *why, size_t size)
{
	for (int i = 0; i < NODES; i++)
		for (int x = 0; x < XATTRS; x++)
			if (t->node[i].mode && t->node[i].xattr[x] && !t->has_xattr) {
				snprintf(why, size, "inode %u has an attribute, but the super block not the feature",
					 t->node[i].ino);
				return false;
			}
	return true;
}

static bool check_recovered(struct workload *w, uint64_t cut, bool fsck, char *why, size_t size)
{
	char out[2048];
	struct tree got;
	bool ok;

	if (!disk_mount(CHECK, type, options, false)) {
		snprintf(why, size, "the mount fails: %s", strerror(errno));
		return false;
	}
	ok = walk_tree(disk_mnt(CHECK), &got, why, size);
	must(disk_umount(CHECK), "umount after recovery");
	if (!ok)
		return false;
	must(read_super(disk_path(CHECK), &got), "super block");
	if (!explained(w, &got, promised(w, cut), why, size) ||
	    !features_suffice(&got, why, size) || !all_reached(disk_path(CHECK), why, size))
		return false;
	count.fscks += fsck;
	if (fsck && !run_e2fsck(CHECK, out, sizeof(out))) {
		snprintf(why, size, "e2fsck: %s", out);
		return false;
	}
	return true;
}

/* The power fails at this moment; policy 0: a random part of what was not durable stays. */
static bool cut_it(struct workload *w, uint64_t cut, int policy)
{
	char when[64], why[8192] = "";
	/* e2fsck takes longer than all else, but only it compares usage with the files. */
	bool fsck = ++count.cuts % 50 == 0 || verbose || base.quota != NO_QUOTA;

	must(disk_cmd("%d rebuild %d %llu %llu %s 0 %d", CHECK, RUN, (unsigned long long)cut,
		      (unsigned long long)w->number % 1000000, lie ? lie : "0", policy), "rebuild");
	count.lines += has_lines(CHECK, w->stamp);
	if (check_recovered(w, cut, fsck, why, sizeof(why)))
		return true;
	snprintf(when, sizeof(when), "cut %llu of %llu%s", (unsigned long long)cut,
		 (unsigned long long)w->synced, policy ? "" : ", random");
	fail(w, when, why);
	return false;
}

static void run_workload(struct workload *w)
{
	uint64_t moments[MOMENTS], random = mix(w->number);
	bool more = verbose || random % 4 == 0;
	int n;

	count.workloads++;
	if (!record_it(w, verbose || random / 4 % 4 == 0))
		return;
	if (!cut_it(w, w->synced, POLICY_NONE))
		return;
	n = more ? disk_moments(RUN, w->synced, moments, MOMENTS) : 0;
	for (int i = 0; i < n; i++)
		if (!cut_it(w, moments[i], POLICY_NONE))
			return;
	if (more)
		cut_it(w, w->synced, 0);
}

/* ---- which workloads there are ---- */

static uint64_t nr_sets(int seq)
{
	uint64_t n = seq < 3 ? nr_ops : nr_tree_ops(), sets = 1;

	while (seq--)
		sets *= n;
	return sets;
}

/* Of three operations a part is run as a rule: the numbers are spread over all of them. */
static void choose(struct workload *w, int seq, uint64_t number)
{
	uint64_t n = seq < 3 ? nr_ops : nr_tree_ops();

	if (seq == 3)
		number = number * 1000003 % nr_sets(seq);
	*w = (struct workload) { .n = seq };
	for (int i = seq - 1; i >= 0; i--, number /= n)
		w->op[i] = &ops[number % n];
	split_steps(w);
}

static void choose_lanes(struct workload *w)
{
	uint64_t random = mix(w->number * 7 + 1);

	/* Never all in one lane. */
	for (int i = 0; i < w->n; i++)
		w->lane[i] = w->n == 2 ? i : (int)((1 + random % 6) >> i & 1);
	w->sync_lane = random >> 8 & 1;
}

/**
 * struct point - what can be synced
 * @node: as struct workload has it
 * @data: only its data
 */
struct point {
	int node;
	bool data;
};

static bool is_written(const struct workload *w, int node)
{
	return covered_by(w, node, true, w->nsteps);
}

/* What can be synced of what the steps have touched, the last first, then everything. */
static int sync_points(const struct workload *w, const struct tree *after, struct point *points)
{
	uint64_t seen = SB_TOUCHED;
	int n = 0;

	for (int i = w->nsteps - 1; i >= 0; i--)
		for (int node = 0; node < NODES; node++) {
			uint16_t mode = after->node[node].mode;

			if (!(w->effect[i].touched & ~seen & 1ULL << node))
				continue;
			seen |= 1ULL << node;
			if ((!S_ISREG(mode) && !S_ISDIR(mode)) ||
			    (node && !count_names(after, node)))
				continue;
			points[n++] = (struct point) { .node = node };
			if (is_written(w, node))
				points[n++] = (struct point) { .node = node, .data = true };
		}
	points[n++] = (struct point) { .node = -1 };
	return n;
}

/* The workloads of a set; @only: no other than this one of them, counted round. */
static void run_set(int seq, uint64_t number, int only)
{
	struct point points[2 * NODES + 1];
	struct workload w;
	struct tree after;
	int n;

	count.sets++;
	choose(&w, seq, number);
	if (!happens(&w, &after)) {
		count.impossible++;
		return;
	}
	n = sync_points(&w, &after, points);
	for (int i = 0; i < n; i++) {
		if (only >= 0 && only % n != i)
			continue;
		w.sync = points[i].node;
		w.datasync = points[i].data;
		if (w.sync < 0)
			strcpy(w.path, "all");
		else
			path_of(&after, w.sync, w.path, sizeof(w.path));
		w.number = (number * NODES + i) * 4 + seq;
		choose_lanes(&w);
		w.logged = mix(w.number * 5 + 2) & 1;
		run_workload(&w);
	}
}

/* ---- commands ---- */

static void load_base(void)
{
	char why[512];

	must(disk_cmd("2 record clear") && disk_cmd("2 copy 0"), "copy");
	must(disk_mount(CHECK, "ext4", NULL, true), "mount of the base tree");
	if (!walk_tree(disk_mnt(CHECK), &base, why, sizeof(why))) {
		fprintf(stderr, "zjace: %s\n", why);
		exit(2);
	}
	must(disk_umount(CHECK) && read_super(disk_path(CHECK), &base), "base tree");
	find_log(base.block);
	base.journals_data = strstr(options, "data=journal");
}

static int done(uint64_t next)
{
	printf("DONE next=%llu sets=%llu impossible=%llu workloads=%llu refused=%llu cuts=%llu "
	       "lines=%llu fscks=%llu failed=%llu\n", (unsigned long long)next,
	       (unsigned long long)count.sets, (unsigned long long)count.impossible,
	       (unsigned long long)count.workloads, (unsigned long long)count.refused,
	       (unsigned long long)count.cuts, (unsigned long long)count.lines,
	       (unsigned long long)count.fscks, (unsigned long long)count.failed);
	return count.failed ? 1 : 0;
}

static int run_sets(int seq, uint64_t first, uint64_t last, double seconds)
{
	time_t end = time(NULL) + seconds;
	uint64_t i;

	if (last > nr_sets(seq))
		last = nr_sets(seq);
	for (i = first; i < last && (time(NULL) < end || i == first); i++)
		run_set(seq, i, -1);
	return done(i);
}

/* May this tie all operations of the set to each other? */
static bool has_tie(int seq, uint64_t number, uint32_t tie)
{
	struct workload w;

	choose(&w, seq, number);
	for (int i = 0; i < w.n; i++)
		if (!(w.op[i]->ties & tie))
			return false;
	return true;
}

/*
 * Every second set is a pair whose operations may share no block and be tied nevertheless, by
 * one kind of tie after the other: few sets are, and most missing ties show there alone.
 */
static int run_sample(uint64_t seed, uint64_t wanted)
{
	unsigned int kind = 0;
	bool tied = false;

	for (uint64_t i = 0; count.workloads < wanted; i++) {
		uint64_t random = mix(seed * 1000003 + i), before = count.workloads;
		int seq = tied ? 2 : 1 + random % 3;
		uint64_t number = random / 3 % nr_sets(seq);

		if (tied && !has_tie(seq, number, 1 << kind))
			continue;
		run_set(seq, number, random >> 40);
		/* With some profiles no pair of a kind can happen. */
		kind = (kind + tied) % TIES;
		tied ^= count.workloads > before;
	}
	return done(0);
}

static const struct op *op_named(const char *name)
{
	for (int i = 0; i < nr_ops; i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	fprintf(stderr, "zjace: no operation \"%s\"\n", name);
	exit(2);
}

static int run_one(char *text)
{
	struct workload w = { .number = 1 };
	struct tree after;
	char *word;

	while ((word = strsep(&text, " "))) {
		char *at = strchr(word, '@');
		int lane = at ? atoi(at + 1) : 0;

		if (!strcmp(word, "logged")) {
			w.logged = true;
			continue;
		}
		if (at)
			*at = 0;
		if (text) {
			w.lane[w.n] = lane;
			w.op[w.n++] = op_named(word);
			continue;
		}
		w.sync_lane = lane;
		w.datasync = !strncmp(word, DATA, strlen(DATA));
		strcpy(w.path, word + (w.datasync ? strlen(DATA) : 0));
	}
	split_steps(&w);
	if (!happens(&w, &after)) {
		printf("the model does not allow it\n");
		return 2;
	}
	w.sync = strcmp(w.path, "all") ? find_node(&after, w.path) : -1;
	verbose = true;
	run_workload(&w);
	printf("%s: %llu cuts, %llu failed; %llu with lines\n", type, (unsigned long long)count.cuts,
	       (unsigned long long)count.failed, (unsigned long long)count.lines);
	return count.failed ? 1 : 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: zjace base MKE2FS-ARGUMENTS | count SEQ |\n"
		"       run TYPE OPTIONS SEQ FIRST LAST SECONDS |\n"
		"       sample TYPE OPTIONS SEED COUNT | one TYPE OPTIONS WORKLOAD\n");
	return 2;
}

int main(int argc, char **argv)
{
	cgroups = getenv("ZJACE_CGROUPS");
	lie = getenv("ZJACE_LIE");
	setvbuf(stdout, NULL, _IOLBF, 0);
	umask(022);
	if (argc == 3 && !strcmp(argv[1], "count")) {
		printf("%llu\n", (unsigned long long)nr_sets(atoi(argv[2])));
		return 0;
	}
	must(disk_open(), "/dev/zjdctl");
	if (argc == 3 && !strcmp(argv[1], "base"))
		return !make_base(argv[2]);
	if (argc < 5)
		return usage();
	type = argv[2];
	options = argv[3];
	load_base();
	if (argc == 5 && !strcmp(argv[1], "one"))
		return run_one(argv[4]);
	if (argc == 6 && !strcmp(argv[1], "sample"))
		return run_sample(strtoull(argv[4], NULL, 0), strtoull(argv[5], NULL, 0));
	if (argc == 8 && !strcmp(argv[1], "run"))
		return run_sets(atoi(argv[4]), strtoull(argv[5], NULL, 0),
				strtoull(argv[6], NULL, 0), atof(argv[7]));
	return usage();
}
