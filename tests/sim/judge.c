// SPDX-License-Identifier: GPL-2.0-only
/*
 * The oracle: cut the power at every place of the disk's log, recover with the
 * real code (recover.c), and look whether what is left can be:
 *
 *   each unit whole or absent, and only if it was finished
 *   nothing without what it has read, or what its lane did before
 *   everything that a sync has promised
 *   every block that is in use as its last writer left it
 */
#include <stdlib.h>
#include "judge.h"

#define MAX_TID	65536

static struct tally *tally;
static const struct disk_walk *walking;	/* the state that is judged: the place, */
static struct sim_rand walking_rand;	/* and what walk_crash() has made it of */
static u8 *tid_seen;	/* by tid: 1 absent, 2 present */
static u32 nr_tids;	/* of them that can be there */

/* ---- the oracle ---- */

/* Recovered generation of an allocatable block. */
static u32 gen_of(const struct cut *c, const struct alloc *a)
{
	const struct object *o = &world->objects[a->object];
	const struct half *h = (const void *)c->image.block[o->block];

	return h->ver[o->slot];
}

static const struct half *half_of(const struct cut *c, u32 block)
{
	return (const void *)c->image.block[block];
}

/* A file's block is as good as free once the file is shorter. */
static bool truncated(const struct cut *c, const struct life *life)
{
	const struct object *o = &world->objects[file_inode()->object];

	return life->cut && (!life->cut_ver ||
			     half_of(c, o->block)->ver[o->slot] >= life->cut_ver);
}

static bool present(const struct cut *c, u32 object, u32 ver)
{
	const struct object *o = &world->objects[object];
	const struct alloc *a;
	u32 gen;

	if (o->block < world->alloc_first)
		return half_of(c, o->block)->ver[o->slot] >= ver;
	a = &world->alloc[o->block - world->alloc_first];
	gen = gen_of(c, a);
	/* Freed, and what frees it is there: so is what it built on. */
	if (gen != o->gen)
		return gen > o->gen;
	return half_of(c, o->block)->ver[o->slot] >= ver ||
	       truncated(c, life_of(a, gen));
}

/* Data that an earlier mount has recovered is never lost later. */
static void check_base(const struct cut *c, u32 object)
{
	const struct object *o = &world->objects[object];
	const struct half *h = (const void *)c->image.block[o->block];

	if (h->ver[o->slot] < o->base)
		bad(c, "block %u.%u has version %u, but had %u before the mount",
		    o->block, o->slot, h->ver[o->slot], o->base);
	if (h->ver[o->slot] > o->ver)
		bad(c, "block %u.%u has version %u, never written", o->block,
		    o->slot, h->ver[o->slot]);
}

/* Every image of a block with a trigger went through it. */
static void check_trigger(const struct cut *c, u32 block)
{
	const struct half *h = (const void *)c->image.block[block];
	u32 first = (block - world->meta_first) * SLOTS;
	bool written = false;

	for (u32 i = 0; i < SLOTS; i++)
		written |= h->ver[i] > world->objects[first + i].base;
	if (written && has_trigger(block) && h->trigger != ~h->sum)
		bad(c, "block %u: its trigger was not called", block);
}

static void check_alloc(const struct cut *c, const struct alloc *a)
{
	u32 gen = gen_of(c, a);
	const struct life *life = life_of(a, gen);
	const char *wrong;

	if (!(gen & 1))
		return;
	if (!life)
		bad(c, "block %u is in use in generation %u, never begun",
		    a->block, gen);
	if (truncated(c, life))
		return;
	wrong = block_check(c->image.block[a->block], a->block, gen, life->kind);
	/* Without data_err=abort ext4 only says that data is lost. */
	if (wrong && life->kind == KIND_DATA && a->page.lost == gen &&
	    (!world->p.data_err || a->page.undeclared == gen))
		return;
	if (wrong)
		bad(c, "block %u, %s of generation %u: %s", a->block,
		    life->kind == KIND_META ? "metadata" :
		    life->kind == KIND_DATA ? "data" : "file", gen, wrong);
	for (u32 i = 0; i < SLOTS && life->kind != KIND_DATA; i++)
		check_base(c, life->objects + i);
}

/* Checks overwritten data (no handle) that an fsync has promised. */
static void check_stores(const struct cut *c)
{
	for (u32 i = 0; i < world->nr_stores; i++) {
		const struct stored *s = &world->stores[i];
		const struct alloc *a = &world->alloc[s->alloc];
		u32 there = half_of(c, a->block)->stored;

		if (s->must > c->at || gen_of(c, a) != s->gen ||
		    truncated(c, life_of(a, s->gen)))
			continue;
		if (there < s->value)
			bad(c, "block %u holds the stored value %u, but %u was synced at %u",
			    a->block, there, s->value, s->must);
	}
}

static void check_blocks(const struct cut *c)
{
	const char *wrong;

	for (u32 b = world->meta_first; b < world->alloc_first; b++) {
		wrong = block_check(c->image.block[b], b, 0, KIND_META);
		if (wrong)
			bad(c, "block %u: %s", b, wrong);
		for (u32 i = 0; i < SLOTS; i++)
			check_base(c, (b - world->meta_first) * SLOTS + i);
		check_trigger(c, b);
	}
	for (u32 i = 0; i < world->nr_alloc; i++)
		check_alloc(c, &world->alloc[i]);
}

/* Whole or absent; returns whether it is there. */
static bool check_whole(const struct cut *c, u32 unit)
{
	const struct unit *u = &world->units[unit];
	const struct touch *t = &world->touches[u->writes - 1];
	bool there = present(c, t->object, t->ver);

	while (t->next) {
		const struct touch *first = t;

		t = &world->touches[t->next - 1];
		if (present(c, t->object, t->ver) != there) {
			const struct object *a = &world->objects[t->object];
			const struct object *b = &world->objects[first->object];

			bad(c, "unit %u is there in part: version %u of block %u.%u is %s, version %u of block %u.%u is not",
			    unit, t->ver, a->block, a->slot,
			    there ? "absent" : "there", first->ver, b->block,
			    b->slot);
		}
	}
	return there;
}

static void check_causes(const struct cut *c, u32 unit)
{
	for (u32 r = world->units[unit].reads; r; r = world->touches[r - 1].next) {
		const struct touch *t = &world->touches[r - 1];

		if (!present(c, t->object, t->ver))
			bad(c, "unit %u is there, but not version %u of block %u.%u, which it has read",
			    unit, t->ver, world->objects[t->object].block,
			    world->objects[t->object].slot);
	}
}

static void check_units(const struct cut *c)
{
	u32 oldest_gone[ZJ_MAX_LANES], newest_there[ZJ_MAX_LANES];
	u32 lane;

	memset(oldest_gone, 0xff, sizeof(oldest_gone));
	memset(newest_there, 0, sizeof(newest_there));
	memset(tid_seen, 0, nr_tids);
	for (u32 i = 0; i < world->nr_units; i++) {
		const struct unit *u = &world->units[i];
		bool there;

		if (!u->writes)
			continue;
		there = check_whole(c, i);
		if (there && (u->stopped == NEVER || u->stopped >= c->at))
			bad(c, "unit %u is there, but was not finished", i);
		if (!there && u->must <= c->at)
			bad(c, "unit %u is not there, but was promised at %u",
			    i, u->must);
		if (there)
			check_causes(c, i);
		if (tid_seen[u->tid % MAX_TID] == 2 - there)
			bad(c, "transaction %u is there in part (unit %u)",
			    u->tid, i);
		tid_seen[u->tid % MAX_TID] = 1 + there;
		if (there && u->order > newest_there[u->lane])
			newest_there[u->lane] = u->order;
		if (!there && u->order < oldest_gone[u->lane])
			oldest_gone[u->lane] = u->order;
	}
	for (lane = 0; lane < ZJ_MAX_LANES; lane++)
		if (newest_there[lane] > oldest_gone[lane])
			bad(c, "lane %u: its %u. transaction is there, the %u. is not",
			    lane, newest_there[lane], oldest_gone[lane]);
}

/* ---- without barriers ---- */

/**
 * struct doubt - is what was promised there at the place that the walk has come to?
 *
 * Not from when barriers went off until a flush has ended that began after they were
 * on again; of two devices, on each.
 */
struct doubt {
	u32	next;	/* index of the next remount */
	bool	doubtful;
	u32	caches;		/* bits of the devices that may still hold something */
	u64	flush[2];	/* that will empty this device's; 0: it has not begun */
};

/* Remounts up to this place. */
static void doubt_remounts(struct doubt *d, u32 at)
{
	for (; d->next < world->nr_remounts && world->remounts[d->next] <= at; d->next++) {
		d->caches = world->p.cache | (world->disk->cache2 ? 2 : 0);
		d->doubtful = d->caches;
		memset(d->flush, 0, sizeof(d->flush));
	}
}

/* The walk passes an event. */
static void doubt_step(struct doubt *d, const struct disk_event *e)
{
	if (!d->doubtful || d->next & 1)
		return;
	if (e->what == DISK_FLUSH && !d->flush[e->block])
		d->flush[e->block] = e->request;
	else if (e->what == DISK_FLUSHED && e->request == d->flush[e->block])
		d->caches &= ~(1U << e->block);
	d->doubtful = d->caches;
}

/* ---- one state ---- */

static void judge_state(struct cut *c, struct cut *begin, struct cut *other)
{
	tally->states++;
	cut_settle(c);
	if (cut_is_live(c)) {
		if (c->at >= world->clean)
			bad(c, "the log is live after a clean unmount");
		tally->live++;
		if (world->p.peer)
			cut_ask(c);
		if (!cut_recover(c, begin, other)) {
			scratch_reset();
			return;
		}
		if (world->p.peer)
			cut_compare(c);
	}
	check_blocks(c);
	check_units(c);
	check_stores(c);
	scratch_reset();
}

/* Recovery must not call a log of lanes damaged, whatever the cut has left. */
static void judge_doubtful(struct cut *c)
{
	tally->states++;
	if (!world->p.jbd2 && !world->p.nvm && cut_is_live(c))
		cut_accept(c);
	scratch_reset();
}

static u32 count_tids(void)
{
	u32 highest = 0;

	for (u32 i = 0; i < world->nr_units; i++)
		highest = max(highest, world->units[i].tid);
	return min(highest + 1, (u32)MAX_TID);
}

/* Stock recovery must not take an image for a block of its own, nor we. */
static void check_escape(const struct cut *c, const struct disk_event *e)
{
	const struct half *h = (const void *)e->data;
	bool image, jbd2 = world->p.jbd2;

	if (e->what != DISK_WRITE || e->block <= world->kit.first)
		return;
	image = h->sum == half_sum(h);
	if ((h->magic == cpu_to_be32(ZJ_JBD2_MAGIC) && (image || !jbd2)) ||
	    (h->magic == cpu_to_le32(ZJ_CHUNK_MAGIC) && image && !jbd2))
		bad(c, "block %u of the log: the image of block %u is not escaped",
		    e->block, h->block);
}

static u8 *save(const struct disk_image *image, u32 nr)
{
	u8 *to = malloc((size_t)nr * DISK_BLOCK);

	for (u32 b = 0; b < nr; b++)
		memcpy(to + (size_t)b * DISK_BLOCK, image->block[b], DISK_BLOCK);
	return to;
}

/* The chunk headers that are there, whether recovery takes them or not. */
static void explain_block(const void *block, u32 log_block)
{
	const struct zj_chunk_header *h = block;
	u32 nr_deps = le32_to_cpu(h->nr_deps);
	u32 nr_revokes = le32_to_cpu(h->nr_revokes);
	const __le64 *deps = zj_chunk_deps((void *)block);
	const struct zj_tag *tag = zj_chunk_tags((void *)block, nr_deps, nr_revokes);

	if (h->magic != cpu_to_le32(ZJ_CHUNK_MAGIC) || le32_to_cpu(h->nr_tags) > 40)
		return;
	kl_printk(0, "  journal block %u: stamp %llu lane %u tid %u, of %u members, chunk %u of %u\n",
		  log_block, le64_to_cpu(h->stamp), le32_to_cpu(h->lane),
		  le32_to_cpu(h->tid), le32_to_cpu(h->nr_members),
		  le32_to_cpu(h->chunk_index) + 1, le32_to_cpu(h->nr_chunks));
	for (u32 i = 0; i < nr_deps; i++)
		kl_printk(0, "    depends on %llu\n", le64_to_cpu(deps[i]));
	for (u32 i = 0; i < nr_revokes; i++)
		kl_printk(0, "    revokes %llu\n", le64_to_cpu(deps[nr_deps + i]));
	for (u32 i = 0; i < le32_to_cpu(h->nr_tags); i++)
		kl_printk(0, "    block %llu\n", le64_to_cpu(tag[i].block));
}

void judge_explain(void)
{
	const struct disk_walk *w = walking;
	struct disk_image image = { .nr = w->disk->nr };

	if (!world->p.trace)
		return;
	image.block = malloc(image.nr * sizeof(*image.block));
	walk_crash(w, &walking_rand, &image);
	for (u32 i = 0; i < world->p.journal; i++)
		explain_block(image.block[kit_place(&world->kit, i)], i);
	for (u32 i = 0; i < w->nr; i++) {
		const struct disk_pending *p = &w->pending[i];
		const u8 *there = image.block[p->block];

		kl_printk(0, "  %s of request %llu: %s\n", block_name(p->block),
			  p->request, there == p->data ? "there" :
			  there == w->durable[p->block] ? "lost" : "torn");
	}
	free(image.block);
}

struct left judge_run(struct tally *t)
{
	struct cut cut = cut_new(t), begin = cut_new(t), other = cut_new(t);
	struct sim_rand rand = { world->p.schedule * 99991 + 1 };
	struct disk_walk *walk = malloc(sizeof(*walk));
	u32 last = sim_below(&rand, world->disk->nr_log + 1);
	struct left left = { };
	struct doubt doubt = { };

	tally = t;
	peer_forget();
	if (!tid_seen)
		tid_seen = malloc(MAX_TID);
	nr_tids = count_tids();
	walk_init(walk, world->disk, world->initial);
	walking = walk;
	if (world->pmem)
		cut.image.pmem = malloc(world->pmem->size);
	for (;;) {
		u32 states = world->p.every < 2 ||
			     sim_one_in(&rand, world->p.every) ?
			     world->p.states : 0;

		cut.at = walk->at;
		doubt_remounts(&doubt, walk->at);
		for (cut.state = 0; cut.state < states; cut.state++) {
			bool keep = walk->at >= last && !left.image;

			walking_rand = rand;
			walk_crash(walk, &rand, &cut.image);
			cut.rand = rand;
			if (doubt.doubtful) {
				judge_doubtful(&cut);
				sim_rand(&rand);
				continue;
			}
			if (keep)
				left.image = save(&cut.image, cut.image.nr);
			if (keep && world->pmem)
				left.pmem = memcpy(malloc(world->pmem->size),
						   cut.image.pmem,
						   world->pmem->size);
			cut.kept = keep;
			judge_state(&cut, &begin, &other);
			if (keep)
				left.home = save(&cut.image, HOME_BLOCKS);
			sim_rand(&rand);
		}
		if (walk->at == world->disk->nr_log)
			break;
		check_escape(&cut, &world->disk->log[walk->at]);
		doubt_step(&doubt, &world->disk->log[walk->at]);
		walk_step(walk);
	}
	walk_free(walk);
	free(walk);
	free(cut.image.pmem);
	cut_free(&cut);
	cut_free(&begin);
	cut_free(&other);
	return left;
}
