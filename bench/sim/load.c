// SPDX-License-Identifier: GPL-2.0-only
/* Reads a list of steps, and repeats it on each virtual CPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/completion.h>
#include "load.h"
#undef snprintf

#define MAX_REGIONS	128u
#define MAX_TIMES	(1u << 21)
#define WATCH		(60000000000 * PS)	/* a minute */

struct sim_load sim_load;

static struct fs fs;
static u32 region_at[MAX_REGIONS];	/* its first block */
static struct step *region_of[MAX_REGIONS];
static int *mutexes;			/* a cache line each, MAX_REGIONS for each CPU */

static u64 done;			/* operations of all */
static s64 begin;			/* of what is counted; 0: still warming up */
static s64 *times;			/* of fsyncs */
static u32 nr_times;
static const char *const count_names[] = { JOURNAL_COUNTS NULL };
static u64 counts_before[ARRAY_SIZE(count_names)];	/* when counting began */
extern bool sim_no_checksums;

/* ---- reading ---- */

static const char *const words[] = {
	"work", "lock", "unlock", "start", "block", "range", "file", "log", "stop", "sync", "data",
};

static enum step_kind kind_of(const char *word)
{
	for (u32 i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i], word))
			return i;
	kl_fail("there is no step %s", word);
}

/* A line: the word, then count, region, share, span, per. */
void load_read(const char *path)
{
	FILE *f = fopen(path, "r");
	struct step s;
	char word[32];

	if (!f)
		kl_fail("%s cannot be read", path);
	while (fscanf(f, "%31s %u %u %u %u %u", word, &s.count, &s.region, &s.share, &s.span,
		      &s.per) == 6) {
		s.kind = kind_of(word);
		if (sim_load.nr_steps == MAX_STEPS || s.region >= MAX_REGIONS)
			kl_fail("%s has too many steps or regions", path);
		sim_load.step[sim_load.nr_steps++] = s;
	}
	if (!feof(f) || !sim_load.nr_steps)
		kl_fail("%s has a line that is no step", path);
	fclose(f);
}

static u32 groups(const struct step *s)
{
	return s->share ? (sim_load.cpus + s->share - 1) / s->share : 1;
}

static bool names_block(const struct step *s)
{
	return s->kind == STEP_BLOCK || s->kind == STEP_RANGE || s->kind == STEP_FILE ||
	       s->kind == STEP_LOG;
}

/* Returns the number of blocks. */
static u32 lay_out(void)
{
	u32 next = 0;

	for (u32 i = 0; i < sim_load.nr_steps; i++) {
		struct step *s = &sim_load.step[i];

		if (!names_block(s) || region_of[s->region])
			continue;
		region_of[s->region] = s;
		region_at[s->region] = next;
		next += groups(s) * s->span;
	}
	return max(next, 1u);
}

/*
 * What a journal does with a block in a folio of a file: zjournal copies it before it logs it, stock
 * looks for another buffer of it. There is none.
 */
static void give_to_files(void)
{
	static struct super_block sb;
	static struct inode inode = { .i_sb = &sb, .i_mapping = &inode.i_data, .i_data.host = &inode };

	for (u32 i = 0; i < sim_load.nr_steps; i++) {
		const struct step *s = &sim_load.step[i];
		u32 first = region_at[s->region];

		if (s->kind != STEP_FILE || region_of[s->region] != s)
			continue;
		for (u32 b = first; b < first + groups(s) * s->span; b++) {
			fs.disk->disk.bufs[b] = NULL;
			fs.bh[b] = buf_of_file(&fs.disk->disk, &inode, b);
			memset(fs.bh[b]->b_data, 0, CORE_BLOCK);
			set_buffer_uptodate(fs.bh[b]);
			get_bh(fs.bh[b]);
		}
	}
}

/* ---- steps ---- */

static u32 mix(u64 n)
{
	return n * 0x9e3779b97f4a7c15ULL >> 32;
}

/* The CPUs of a group go through their blocks together. */
static struct buffer_head *block_of(const struct step *s, u32 cpu, u64 n)
{
	u32 any = mix(((u64)s->count << 32) + n * SIM_CPUS + cpu);
	u32 owner = s->count ? any % sim_load.cpus : cpu;
	u32 group = s->share ? owner / s->share : 0;
	u32 size = s->share ? min(s->share, sim_load.cpus) : sim_load.cpus;
	u32 i = s->per ? n * size / s->per : any;

	return fs.bh[region_at[s->region] + group * s->span + i % s->span];
}

static void change(handle_t *handle, struct buffer_head *bh, u32 cpu, bool declared)
{
	u32 at = (cpu * 256 + bh->b_blocknr * 64) % CORE_BLOCK;
	u32 *word = (u32 *)(bh->b_data + at);

	if (declared ? journal_range_access(handle, bh) : jbd2_journal_get_write_access(handle, bh))
		kl_fail("no access to a block");
	sim_touch(word, sizeof(*word), true, __builtin_return_address(0));
	++*word;
	if (declared ? journal_dirty_range(handle, bh, at, sizeof(*word)) :
		       jbd2_journal_dirty_metadata(handle, bh))
		kl_fail("a block is not taken");
}

/* What zext4_log_block() does with a block that was just allocated. */
static void log_block(handle_t *handle, struct buffer_head *bh)
{
	lock_buffer(bh);
	if (jbd2_journal_get_create_access(handle, bh))
		kl_fail("no access to a new block");
	sim_spend(CORE_BLOCK * cost_of(copy));
	sim_touch(bh->b_data, CORE_BLOCK, true, __builtin_return_address(0));
	set_buffer_uptodate(bh);
	unlock_buffer(bh);
	if (journal_log_data(handle, bh))
		kl_fail("file data is not taken");
}

static void end_data(struct bio *bio)
{
	struct completion *c = bio->bi_private;

	complete(c);
}

static void write_data(u32 blocks)
{
	struct bio *bio = bio_alloc(&fs.disk->disk.bdev, blocks, REQ_OP_WRITE |
				    journal_data_flags(fs.journal), GFP_NOFS);
	struct completion c;

	init_completion(&c);
	for (u32 i = 0; i < blocks; i++)
		bio_add_page(bio, virt_to_page(fs.bh[0]->b_data), CORE_BLOCK, 0);
	bio->bi_private = &c;
	bio->bi_end_io = end_data;
	submit_bio(bio);
	wait_for_completion_io(&c);
	bio_put(bio);
}

static int *mutex_of(const struct step *s, u32 cpu)
{
	u32 group = s->share ? cpu / s->share : 0;

	return &mutexes[(s->region * SIM_CPUS + group) * (SIM_LINE / sizeof(int))];
}

static void note(s64 since)
{
	if (begin && nr_times < MAX_TIMES)
		times[nr_times++] = sim_current->clock - since;
}

void sim_mutex_lock(int *word);
void sim_mutex_unlock(int *word);

/**
 * struct client - one CPU's task, and where it is
 */
struct client {
	u32		cpu;
	u64		n;		/* operations so far */
	handle_t	*handle;
	tid_t		tid;		/* of the last handle */
	s64		since;		/* when its data or sync began */
};

static void do_step(struct client *c, const struct step *s)
{
	switch (s->kind) {
	case STEP_WORK:
		/* A tenth less or more. */
		sim_spend(s->count * PS / 1024 * (922 + sim_random() % 205));
		break;
	case STEP_LOCK:
		sim_mutex_lock(mutex_of(s, c->cpu));
		break;
	case STEP_UNLOCK:
		sim_mutex_unlock(mutex_of(s, c->cpu));
		break;
	case STEP_START:
		c->handle = jbd2__journal_start(fs.journal, s->count, 0, 0, GFP_NOFS, 0, 0);
		if (IS_ERR(c->handle))
			kl_fail("start: error %ld", PTR_ERR(c->handle));
		c->tid = c->handle->h_transaction->t_tid;
		break;
	case STEP_BLOCK:
	case STEP_RANGE:
	case STEP_FILE:
		change(c->handle, block_of(s, c->cpu, c->n), c->cpu, s->kind == STEP_RANGE);
		break;
	case STEP_LOG:
		log_block(c->handle, block_of(s, c->cpu, c->n));
		break;
	case STEP_STOP:
		if (jbd2_journal_stop(c->handle))
			kl_fail("stop fails");
		break;
	case STEP_SYNC:
		c->since = c->since ?: sim_current->clock;
		fs_sync(&fs, c->tid);
		note(c->since);
		c->since = 0;
		break;
	case STEP_DATA:
		c->since = sim_current->clock;
		write_data(s->count);
		break;
	}
}

/* ---- the result ---- */

static int by_size(const void *a, const void *b)
{
	s64 x = *(const s64 *)a, y = *(const s64 *)b;

	return x < y ? -1 : x > y;
}

static double us(u32 percent)
{
	return nr_times ? times[(u64)(nr_times - 1) * percent / 100] / 1e6 : 0;
}

/* What the journal itself has counted for an operation. */
static void print_counts(void)
{
	u64 counts[ARRAY_SIZE(count_names)] = { 0 };

	journal_counts(fs.journal, counts);
	printf("\"counts\": {");
	for (u32 i = 0; count_names[i]; i++)
		printf("%s\"%s\": %.4f", i ? ", " : "", count_names[i],
		       (double)(counts[i] - counts_before[i]) / sim_load.count);
	printf("}, ");
}

static __attribute__((__noreturn__)) void report(void)
{
	s64 ps = sim_current->clock - begin;

	qsort(times, nr_times, sizeof(*times), by_size);
	printf("{\"simulated\": true, \"journal\": \"%s\", \"cpus\": %u, \"lanes\": %u, \"operations\": %llu, \"virtual_us\": %.1f, \"per_s\": %.0f, ",
	       JOURNAL_NAME, sim_load.cpus, journal_lanes(fs.journal), sim_load.count, ps / 1e6,
	       sim_load.count * 1e12 / ps);
	printf("\"ns_per_operation_and_cpu\": %.1f, \"fsyncs\": %u, \"fsync_median_us\": %.2f, \"fsync_p99_us\": %.2f, \"switches\": %llu, ",
	       ps / 1e3 * sim_load.cpus / sim_load.count, nr_times, us(50), us(99),
	       (unsigned long long)sim_switches);
	print_counts();
	prof_print(ps * sim_load.cpus);
	printf("}\n");
	fflush(stdout);
	_exit(0);
}

static void count_one(void)
{
	if (++done == sim_load.warm_up) {
		begin = sim_current->clock;
		journal_counts(fs.journal, counts_before);
		prof_reset();
	}
	if (done == sim_load.warm_up + sim_load.count)
		report();
}

/* A wake-up that is lost would go unnoticed, as timers go on. */
static void watch(void *arg)
{
	static u64 before = ~0ULL;

	if (done == before)
		kl_fail("nothing is done any more, after %llu operations", done);
	before = done;
	sim_event(sim_current->clock + WATCH, SIM_SYSTEM, watch, NULL);
}

static int client(void *arg)
{
	struct client *c = arg;

	/* Not all at the same time. */
	sim_spend(c->cpu * 37 * PS);
	for (;; c->n++) {
		for (u32 i = 0; i < sim_load.nr_steps; i++)
			do_step(c, &sim_load.step[i]);
		count_one();
	}
	return 0;
}

void load_run(void)
{
	s64 start;

	fs_new(&fs, lay_out());
	give_to_files();
	fs.journal->j_commit_interval = 5 * HZ;
	journal_mounted(fs.journal, sim_load.data_journal);
	times = malloc(MAX_TIMES * sizeof(*times));
	mutexes = sim_arena(64, MAX_REGIONS * SIM_CPUS * SIM_LINE);
	for (u32 i = 0; i < MAX_REGIONS * SIM_CPUS; i++)
		prof_name(&mutexes[i * (SIM_LINE / sizeof(int))], "the file system's mutex");
	sim_no_checksums = true;
	sim_forget_lines();
	start = sim_current->clock;
	for (u32 i = 0; i < sim_load.cpus; i++) {
		struct client *c = sim_arena(64, sizeof(*c));

		c->cpu = i;
		/* Starting them is no part of what is simulated. */
		sim_current->clock = start;
		sim_spawn(client, c, "client", i);
	}
	watch(NULL);
	for (;;)
		thr_sleep_ns(1000000000);
}
