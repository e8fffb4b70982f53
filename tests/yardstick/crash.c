// SPDX-License-Identifier: GPL-2.0-only
/*
 * A power cut at every place of a run, recovery by the journal's own code, and an
 * oracle: handles are whole or absent, what was fsynced is there, allocated blocks
 * have the contents of their generation; of stock also that transactions are there
 * in their order.
 */
#include <stdio.h>
#include <stdlib.h>
#include "peer.h"
#include "yard.h"
#undef snprintf

#define SHOWN	3	/* failures printed */

static u64 crash_states, recoveries, failures, log_blocks;

/**
 * struct outcome - a recovered disk
 */
struct outcome {
	const struct half *block[LOAD_HOME];
	const u32	*map;	/* of LOAD_MAP */
	char		why[160]; /* what is wrong with it; "": nothing */
};

static void find(struct outcome *o, const char *fmt, ...)
{
	va_list ap;

	if (*o->why)
		return;
	va_start(ap, fmt);
	vsnprintf(o->why, sizeof(o->why), fmt, ap);
	va_end(ap);
}

/* ---- the oracle ---- */

static void judge_blocks(struct outcome *o)
{
	for (u32 b = 1; b < LOAD_HOME; b++) {
		u32 entry = b > LOAD_FIXED ? o->map[b - LOAD_FIXED - 1] : 0;
		const char *why = half_check(o->block[b], b);

		if (b > LOAD_FIXED && entry % 4 == USE_FREE)
			continue;
		if (why)
			find(o, "block %u %s", b, why);
		else if (o->block[b]->gen != entry / 4)
			find(o, "block %u is of generation %u, the map says %u",
			     b, o->block[b]->gen, entry / 4);
	}
}

/* 1: there, 0: not there, -1: freed since, so it is not known. */
static int write_is_there(const struct outcome *o, const struct unit *u, u32 i)
{
	u32 b = u->write[i].block, gen;

	if (b > LOAD_FIXED) {
		gen = o->map[b - LOAD_FIXED - 1] / 4;
		if (gen != u->write[i].gen)
			return gen > u->write[i].gen ? -1 : 0;
	}
	return o->block[b]->ver >= u->write[i].ver;
}

/* As a write; a handle that is there in part is a finding. */
static int unit_is_there(struct outcome *o, const struct unit *u)
{
	int all = -1;

	for (u32 i = 0; i < u->nr; i++) {
		int one = write_is_there(o, u, i);

		if (one < 0)
			continue;
		if (all >= 0 && one != all)
			find(o, "a handle of transaction %u is there in part: block %u version %u is %sthere",
			     u->tid, u->write[i].block, u->write[i].ver,
			     one ? "" : "not ");
		all = one;
	}
	return all;
}

static void judge_units(struct outcome *o, u32 at)
{
	tid_t newest = 0, oldest_lost = ~0u;

	for (u32 i = 0; i < history.nr; i++) {
		const struct unit *u = &history.units[i];
		int there = unit_is_there(o, u);

		if (!there && u->must <= at)
			find(o, "a handle of transaction %u is lost, whose fsync had returned",
			     u->tid);
		if (there > 0)
			newest = max(newest, u->tid);
		if (!there)
			oldest_lost = min(oldest_lost, u->tid);
	}
	if (JOURNAL_ORDERED && oldest_lost <= newest)
		find(o, "transaction %u is there, %u is not", newest, oldest_lost);
}

/* ---- recovery ---- */

int recover_disk(struct fs *fs, const struct disk_image *image, u32 home,
		 u64 seed, u32 end)
{
	struct sim_config config = {
		.seed = seed, .cpus = 1, .granularity = 100000,
		.deadline = 1000000000LL * 600,
	};
	int err;

	sim_start(&config);
	fs_make(fs, home, seed);
	memcpy(fs->disk->seen, image->block, image->nr * sizeof(*image->block));
	err = end ? fs_recover(fs, end) : fs_mount(fs);
	if (!err && !end)
		err = fs_unmount(fs);
	sim_end();
	return err;
}

static void recover(struct fs *fs, const struct disk_image *image, u64 seed,
		    struct outcome *o)
{
	int err = recover_disk(fs, image, LOAD_HOME, seed, 0);

	if (err)
		find(o, "recovery fails: error %d", err);
	recoveries++;
	for (u32 b = 1; b < LOAD_HOME; b++)
		o->block[b] = (const void *)fs->disk->seen[b];
	o->map = o->block[LOAD_MAP]->map;
}

static void judge(struct outcome *o, u32 at)
{
	if (!*o->why)
		judge_blocks(o);
	if (!*o->why)
		judge_units(o, at);
}

static void lie(struct kl_disk *disk)
{
	u32 kept = 0;

	for (u32 i = 0; i < disk->nr_log; i++) {
		struct disk_event e = disk->log[i];

		if (e.what == DISK_FLUSHED && yard.lie & LIE_FLUSH)
			continue;
		if (e.what == DISK_DONE_FUA && yard.lie & LIE_FUA)
			e.what = DISK_DONE;
		disk->log[kept++] = e;
	}
	disk->nr_log = kept;
}

/* A power cut while @fs recovered from @image, and recovery from that. */
static void crash_recovery(struct fs *fs, struct disk_image *image,
			   struct sim_rand *rand, struct outcome *o)
{
	struct disk_walk *w = malloc(sizeof(*w));
	u32 steps = sim_below(rand, fs->disk->nr_log + 1);
	struct fs again;

	lie(fs->disk);
	walk_init(w, fs->disk, image->block);
	while (w->at < min(steps, fs->disk->nr_log))
		walk_step(w);
	walk_crash(w, rand, image);
	walk_free(w);
	free(w);
	recover(&again, image, sim_rand(rand), o);
	fs_free(&again);
}

/* The other program must come to the same file system. */
static void compare_recovery(struct outcome *o)
{
	const u8 (*home)[DISK_BLOCK];
	int err = peer_answer(&home);

	if (err)
		find(o, "%s fails: error %d", yard.peer, err);
	for (u32 b = 1; b < LOAD_HOME; b++)
		if (memcmp(home[b], o->block[b], DISK_BLOCK))
			find(o, "%s has another block %u", yard.peer, b);
}

static void one_state(const struct disk_walk *w, u32 at, struct sim_rand *rand,
		      struct disk_image *image)
{
	struct outcome o = { };
	struct fs fs;

	scratch_reset();
	walk_crash(w, rand, image);
	if (yard.peer)
		peer_ask(yard.peer, PEER_MOUNT, LOAD_HOME, yard.journal,
			     image->block);
	recover(&fs, image, sim_rand(rand), &o);
	judge(&o, at);
	if (yard.peer)
		compare_recovery(&o);
	if (!*o.why && sim_one_in(rand, 3)) {
		crash_recovery(&fs, image, rand, &o);
		judge(&o, at);
	}
	fs_free(&fs);
	crash_states++;
	if (*o.why && failures++ < SHOWN)
		fprintf(stderr, "%s: seed %llu, power cut at %u: %s\n",
			JOURNAL_NAME, yard.seed, w->at, o.why);
}

/* ---- a run ---- */

/* Places in the log as the history has them: before lie() shortened it. */
static u32 *places(const struct kl_disk *disk)
{
	u32 *place = malloc((disk->nr_log + 1) * sizeof(*place)), n = 0;

	for (u32 i = 0; i < disk->nr_log; i++)
		if (disk->log[i].what != DISK_FLUSHED || !(yard.lie & LIE_FLUSH))
			place[n++] = i;
	place[n] = disk->nr_log;
	return place;
}

static void crash_everywhere(struct kl_disk *disk, const u8 **initial)
{
	struct disk_image image = { .nr = disk->nr };
	struct sim_rand rand = { yard.seed * 271 + 3 };
	struct disk_walk *w = malloc(sizeof(*w));
	u32 *place = places(disk);

	lie(disk);
	peer_forget();
	image.block = malloc(disk->nr * sizeof(*image.block));
	walk_init(w, disk, initial);
	for (;;) {
		for (u32 i = 0; i < yard.states; i++)
			one_state(w, place[w->at], &rand, &image);
		if (w->at == disk->nr_log)
			break;
		walk_step(w);
	}
	walk_free(w);
	free(w);
	free(place);
	free(image.block);
}

static void one_run(void)
{
	static const u32 grains[] = { 1, 5, 40, 200 };
	struct sim_config config = {
		.seed = yard.seed, .cpus = yard.cpus,
		.granularity = grains[yard.seed % 4],
		.deadline = 1000000000LL * 600,
	};
	const u8 **initial;
	struct fs fs;
	int err;

	sprintf(sim_what, "%s --seed %llu", JOURNAL_NAME, yard.seed);
	sim_start(&config);
	load_make(&fs);
	initial = disk_contents(fs.disk);
	err = fs_mount(&fs);
	if (err)
		kl_fail("mount: error %d", err);
	load_run(&fs);
	err = fs_unmount(&fs);
	if (err)
		kl_fail("unmount: error %d", err);
	sim_end();
	for (u32 i = 0; i < history.nr; i++)
		history.units[i].must = min(history.units[i].must,
					    fs.disk->nr_log);
	for (u32 i = 0; i < fs.disk->nr_log; i++)
		log_blocks += fs.disk->log[i].what == DISK_WRITE &&
			      fs.disk->log[i].block >= fs.kit.first;
	crash_everywhere(fs.disk, initial);
	free(initial);
	fs_free(&fs);
	arena_reset();
}

void crash_run(void)
{
	drive_use(&(struct drive){ }, NULL);
	for (u32 i = 0; i < yard.seeds; i++, yard.seed++)
		one_run();
	printf("{\"journal\": \"%s\", \"seeds\": %u, \"log_blocks\": %llu, \"crash_states\": %llu, \"recoveries\": %llu, \"failures\": %llu}\n",
	       JOURNAL_NAME, yard.seeds, log_blocks, crash_states, recoveries, failures);
	if (failures)
		exit(1);
}
