// SPDX-License-Identifier: GPL-2.0-only
/* What ties lanes, by cause; and commit at scale, counted. */
#include "fixture.h"

/* ---- causes ---- */

static u32 asked;

/* By the block's number. */
static enum zj_kind block_kind(journal_t *journal, struct buffer_head *bh)
{
	assert_ptr_equal(journal, fx.journal);
	asked++;
	return bh->b_blocknr == BLOCK ? ZJ_KIND_INODE_TABLE : ZJ_KIND_DIRECTORY;
}

/* The sums over all lanes, valid until the next call. */
static const struct zj_comp_stats *comp_stats(void)
{
	static struct zj_comp_stats sum;

	zj_comp_stats(fx.zj, &sum);
	return &sum;
}

static void open_with_kinds(void)
{
	OPEN(.lanes = 4);
	fx.journal->j_block_kind = block_kind;
	asked = 0;
}

static u64 united_at(u32 n, enum zj_kind kind)
{
	return lane(n)->stats.united[kind];
}

static u64 depends_at(u32 n, enum zj_kind kind)
{
	return lane(n)->stats.depends[kind];
}

static void union_is_counted_by_the_block_and_in_the_asking_lane(void)
{
	handle_t *h[3];

	open_with_kinds();
	for (u32 i = 0; i < 3; i++)
		h[i] = start(i, 2);
	put(h[0], BLOCK, 1);
	put(h[1], BLOCK, 2);
	put(h[1], BLOCK + 1, 2);
	put(h[2], BLOCK + 1, 3);
	assert_int_equal(united_at(1, ZJ_KIND_INODE_TABLE), 1);
	assert_int_equal(united_at(2, ZJ_KIND_DIRECTORY), 1);
	assert_int_equal(unions(0), 0);
	assert_int_equal(unions(1), 1);
	assert_int_equal(unions(2), 1);
	assert_int_equal(asked, 2);
	for (u32 i = 0; i < 3; i++)
		stop(h[i]);
	commit(0);
	close_journal();
}

static void nobody_is_asked_within_a_component(void)
{
	handle_t *a, *b;

	open_with_kinds();
	a = start(0, 4);
	b = start(1, 4);
	put(a, BLOCK, 1);
	put(a, BLOCK + 2, 1);
	put(b, BLOCK + 3, 1);
	assert_int_equal(asked, 0);
	get_access(b, BLOCK);
	assert_int_equal(asked, 1);
	for (u32 i = 0; i < 4; i++) {
		put(b, BLOCK + i, 2);
		put(a, BLOCK + i, 3);
	}
	assert_int_equal(asked, 1);
	assert_int_equal(unions(0) + unions(1), 1);
	stop(a);
	stop(b);
	commit(0);
	close_journal();
}

static void dependency_is_counted_by_the_block_once_for_a_component(void)
{
	handle_t *h;

	open_with_kinds();
	h = start(0, 2);
	put(h, BLOCK, 1);
	put(h, BLOCK + 1, 1);
	stop(h);
	fx.hold_lane[0] = true;
	seal(0);
	h = start(1, 2);
	put(h, BLOCK + 1, 2);
	put(h, BLOCK, 2);
	assert_int_equal(depends_at(1, ZJ_KIND_DIRECTORY), 1);
	assert_int_equal(dependencies(1), 1);
	assert_int_equal(dependencies(0) + unions(0) + unions(1), 0);
	stop(h);
	release();
	commit(1);
	close_journal();
}

/* From A to B and back to A: there is nothing new about A. */
static void dependency_that_is_there_already_is_not_counted(void)
{
	handle_t *h;

	open_with_kinds();
	h = start(0, 2);
	put(h, BLOCK, 1);
	put(h, BLOCK + 2, 1);
	stop(h);
	change(1, BLOCK + 1, 1);
	fx.hold_lane[0] = true;
	fx.hold_lane[1] = true;
	seal(0);
	seal(1);
	h = start(2, 3);
	for (u32 i = 0; i < 3; i++)
		put(h, BLOCK + i, 2);
	assert_int_equal(dependencies(2), 2);
	stop(h);
	release();
	commit(2);
	close_journal();
}

static void blocks_are_other_as_long_as_nobody_knows(void)
{
	handle_t *a, *b;

	OPEN();
	a = start(0, 1);
	b = start(1, 1);
	put(a, BLOCK, 1);
	get_access(b, BLOCK);
	assert_int_equal(united_at(1, ZJ_KIND_OTHER), 1);
	stop(a);
	stop(b);
	commit(0);
	close_journal();
}

static void journaled_data_is_a_kind_of_its_own(void)
{
	struct file file;
	handle_t *a, *b;

	open_with_kinds();
	file_init(&file);
	file_page(&file, 600);
	a = start(0, 1);
	b = start(1, 1);
	put_page_block(a, &file, 0, 1);
	put_page_block(b, &file, 0, 2);
	assert_int_equal(united_at(1, ZJ_KIND_FILE), 1);
	assert_int_equal(asked, 0);
	stop(a);
	stop(b);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	file_exit(&file);
	close_journal();
}

static void claims_and_sync_tids_are_counted_by_their_kind(void)
{
	tid_t dir = 0, quota = 0, sync = 0;
	handle_t *h[4];

	open_with_kinds();
	for (u32 i = 0; i < 4; i++)
		h[i] = start(i, 1);
	zj_journal_claim(h[0], &dir, ZJ_KIND_DIRECTORY);
	zj_journal_claim(h[1], &dir, ZJ_KIND_DIRECTORY);
	zj_journal_claim(h[1], &quota, ZJ_KIND_QUOTA);
	zj_journal_claim(h[2], &quota, ZJ_KIND_QUOTA);
	zj_journal_sync_tid(h[2], &sync);
	zj_journal_sync_tid(h[3], &sync);
	assert_int_equal(united_at(1, ZJ_KIND_DIRECTORY), 1);
	assert_int_equal(united_at(2, ZJ_KIND_QUOTA), 1);
	assert_int_equal(united_at(3, ZJ_KIND_INODE), 1);
	assert_int_equal(unions(0) + unions(1) + unions(2) + unions(3), 3);
	assert_int_equal(asked, 0);
	for (u32 i = 0; i < 4; i++)
		stop(h[i]);
	commit(0);
	close_journal();
}

static void claim_that_a_restart_renews_keeps_its_kind(void)
{
	tid_t claim = 0;
	handle_t *a, *b;

	open_with_kinds();
	b = start(1, 1);
	a = start(0, 1);
	zj_journal_claim_keep(a, &claim, ZJ_KIND_DIRECTORY);
	own(a);
	/* Closed, so that the restart goes to the lane's next transaction. */
	zj_commit_request(fx.zj, handle_txn(a));
	assert_int_equal(zj_journal_restart(a, 1, 0, GFP_NOFS), 0);
	own(NULL);
	claim = b->h_transaction->t_tid;
	own(a);
	zj_commit_request(fx.zj, handle_txn(a));
	assert_int_equal(zj_journal_restart(a, 1, 0, GFP_NOFS), 0);
	own(NULL);
	assert_int_equal(united_at(0, ZJ_KIND_DIRECTORY), 1);
	stop(a);
	stop(b);
	commit(0);
	close_journal();
}

static void reads_revokes_and_ordered_data_are_causes(void)
{
	struct buffer_head *bh;
	struct file file;
	handle_t *h[4];

	open_with_kinds();
	file_init(&file);
	h[0] = start_more(0, 3, 0, 1);
	for (u32 i = 1; i < 4; i++)
		h[i] = start(i, 3);
	put(h[0], BLOCK, 1);
	own(h[0]);
	assert_int_equal(zj_journal_revoke(h[0], BLOCK + 1, buffer(BLOCK + 1)), 0);
	assert_int_equal(zj_journal_inode_ranged_write(h[0], &file.jinode, 0, 100), 0);
	own(h[1]);
	bh = buffer(BLOCK);
	assert_int_equal(zj_journal_read_dependency(h[1], bh), 0);
	brelse(bh);
	own(h[2]);
	get_access(h[2], BLOCK + 1);
	own(h[3]);
	assert_int_equal(zj_journal_inode_ranged_write(h[3], &file.jinode, 0, 100), 0);
	own(NULL);
	assert_int_equal(united_at(1, ZJ_KIND_READ), 1);
	assert_int_equal(united_at(2, ZJ_KIND_REVOKE), 1);
	assert_int_equal(united_at(3, ZJ_KIND_ORDERED), 1);
	assert_int_equal(unions(1) + unions(2) + unions(3), 3);
	assert_int_equal(asked, 0);
	for (u32 i = 0; i < 4; i++)
		stop(h[i]);
	commit(0);
	close_journal();
}

/* ---- scale ---- */

#define MANY	ZJ_MAX_LANES

/* Touches one block in all lanes, which makes one component of them. */
static struct zj_txn *unite_all(u32 block)
{
	handle_t *h[MANY];
	struct zj_txn *txn;

	for (u32 i = 0; i < MANY; i++) {
		h[i] = start(i, 1);
		get_access(h[i], block);
	}
	txn = running(0);
	assert_int_equal(txn->comp->nr_members, MANY);
	for (u32 i = 0; i < MANY; i++) {
		assert_ptr_equal(handle_txn(h[i])->comp, txn->comp);
		put(h[i], block + 1 + i, 1);
		stop(h[i]);
	}
	return txn;
}

/*
 * Two of them in a row: the second depends on the first through every lane. No
 * member is committed before the last one is durable.
 */
static void component_of_256_members(void)
{
	struct zj_comp_stats was;
	struct zj_txn *first, *second;

	OPEN(.lanes = MANY, .journal = 1 << 18);
	assert_int_equal(fx.zj->nr_lanes, MANY);
	was = *comp_stats();
	fx.journal->j_block_kind = block_kind;
	fx.hold_lane[MANY - 1] = true;
	first = unite_all(BLOCK);
	seal(7);
	assert_int_equal(first->comp->stage, ZJ_SEALED);
	second = unite_all(BLOCK + 1 + MANY);
	seal(MANY - 1);
	settle();
	assert_int_equal(first->comp->stage, ZJ_SEALED);
	assert_int_equal(second->comp->stage, ZJ_SEALED);
	assert_int_equal(fx.nr_calls, 0);
	release();
	settle();
	assert_int_equal(first->comp->stage, ZJ_COMMITTED);
	assert_int_equal(second->comp->stage, ZJ_COMMITTED);
	assert_int_equal(fx.nr_calls, 2 * MANY);
	assert_int_equal(comp_stats()->closed - was.closed, 2);
	assert_int_equal(comp_stats()->members - was.members, 2 * MANY);
	assert_int_equal(comp_stats()->max_members, MANY);
	assert_int_equal(comp_stats()->sizes[ZJ_NR_SIZES - 1], 2);
	/* Every lane's previous one is the same: one dependency. */
	assert_int_equal(comp_stats()->deps - was.deps, 1);
	assert_int_equal(comp_stats()->max_deps, 1);
	assert_int_equal(comp_stats()->awaited - was.awaited, 1);
	assert_int_equal(comp_stats()->resolved - was.resolved, 1);
	assert_int_equal(comp_stats()->arrivals - was.arrivals, 2 * MANY + 1);
	zj_txn_put(first);
	zj_txn_put(second);
	close_journal();
}

static void components_are_counted_by_their_size(void)
{
	static const u32 members[] = { 1, 3, 1, 2, 4 };
	handle_t *h[4];
	u64 alone;

	OPEN(.lanes = 4);
	alone = comp_stats()->sizes[0];
	for (u32 n = 0; n < ARRAY_SIZE(members); n++) {
		for (u32 i = 0; i < members[n]; i++) {
			h[i] = start(i, 1);
			get_access(h[i], BLOCK);
		}
		for (u32 i = 0; i < members[n]; i++)
			stop(h[i]);
		commit(0);
	}
	assert_int_equal(comp_stats()->sizes[0] - alone, 2);
	assert_int_equal(comp_stats()->sizes[1], 2);
	assert_int_equal(comp_stats()->sizes[2], 1);
	assert_int_equal(comp_stats()->max_members, 4);
	close_journal();
}

/*
 * A component depends on the same lane's newer one, then unites with one that
 * depends on the older: what is superseded is not waited for, nor counted.
 */
static void superseded_dependencies_are_not_awaited(void)
{
	handle_t *a, *b, *h;
	u64 was;

	OPEN(.lanes = 3);
	was = comp_stats()->awaited;
	assert_int_equal(was, comp_stats()->resolved);
	fx.hold_lane[2] = true;
	a = start(0, 1);
	b = start(1, 2);
	h = start(2, 2);
	put(h, BLOCK, 1);
	put(h, BLOCK + 3, 1);
	stop(h);
	seal(2);
	get_access(a, BLOCK);
	get_access(b, BLOCK + 3);
	assert_int_equal(comp_stats()->awaited - was, 2);
	change(2, BLOCK + 1, 1);
	/* On its predecessor (R7). */
	seal(2);
	assert_int_equal(comp_stats()->awaited - was, 3);
	get_access(b, BLOCK + 1);
	assert_int_equal(comp_stats()->awaited - was, 3);
	get_access(a, BLOCK + 2);
	get_access(b, BLOCK + 2);
	assert_int_equal(comp_stats()->awaited - was, 2);
	stop(a);
	stop(b);
	release();
	commit(0);
	assert_int_equal(comp_stats()->awaited - was, 2);
	assert_int_equal(comp_stats()->awaited, comp_stats()->resolved);
	assert_int_equal(comp_stats()->arrivals, comp_stats()->resolved + comp_stats()->members);
	close_journal();
}

/* Sealed by hand: N7 lets a lane have a few of them only. */
static void seal_by_hand(struct zj_txn *txn, u64 stamp)
{
	struct zj_component *comp = txn->comp;

	comp->stamp = stamp;
	comp->missing += comp->nr_members;
	comp->stage = ZJ_SEALED;
	txn->stage = ZJ_RECORDED;
	txn->lane->nr_sealed++;
}

static int points(void)
{
	int left = kl_budget;

	kl_budget = 1 << 30;
	return (1 << 30) - left;
}

static void depend(struct zj_txn *txn, struct zj_txn *on)
{
	struct zj_dep *spare = kzalloc(sizeof(*spare), GFP_NOFS);

	assert_true(zj_depend(txn, on, zj_at(ZJ_KIND_READ), &spare));
	assert_null(spare);
}

static void make_chain(struct zj_txn **txn, int links)
{
	for (int i = links - 1; i >= 0; i--) {
		txn[i] = zj_txn_alloc(lane(i % 2));
		txn[i]->public.t_state = T_COMMIT;
		zj_tids_add(txn[i]);
	}
	for (int i = 0; i < links; i++) {
		if (i)
			depend(txn[i], txn[i - 1]);
		seal_by_hand(txn[i], 10 + i);
	}
}

/* Work to make a chain committed by its first link, in the simulator's points. */
static int make_chain_committed(int links)
{
	struct zj_comp_stats was = *comp_stats();
	struct zj_txn **txn = calloc(links, sizeof(*txn));
	int work;

	make_chain(txn, links);
	assert_int_equal(comp_stats()->awaited - was.awaited, links - 1);
	/* All but the first are durable already. */
	for (int i = links - 1; i; i--)
		zj_member_durable(txn[i]);
	assert_int_equal(fx.nr_calls, 0);
	assert_int_equal(comp_stats()->arrivals - was.arrivals, links - 1);
	assert_int_equal(comp_stats()->resolved, was.resolved);
	fx.journal->j_commit_callback = NULL;
	points();
	zj_member_durable(txn[0]);
	work = points();
	/* A member and a dependency each arrived once, and nothing else did. */
	assert_int_equal(comp_stats()->resolved - was.resolved, links - 1);
	assert_int_equal(comp_stats()->arrivals - was.arrivals, links + links - 1);
	for (int i = 0; i < links; i++) {
		assert_int_equal(txn[i]->stage, ZJ_FINISHED);
		assert_true(txn[i]->comp->finished);
		zj_component_free(fx.zj, txn[i]->comp);
	}
	assert_int_equal(lane(0)->nr_sealed + lane(1)->nr_sealed, 0);
	assert_true(zj_tids_empty(fx.zj));
	assert_int_equal(comp_stats()->awaited - was.awaited, links - 1);
	free(txn);
	return work;
}

static void chain_of_100000_in_constant_work_each(void)
{
	int small, large;

	OPEN();
	small = make_chain_committed(1000);
	large = make_chain_committed(100000);
	/* A fiber's stack is half a MiB: recursion would end it. */
	assert_true(large <= 100 * (small + 100));
	close_journal();
}

CORE_TESTS(stats,
	CORE_TEST(union_is_counted_by_the_block_and_in_the_asking_lane),
	CORE_TEST(nobody_is_asked_within_a_component),
	CORE_TEST(dependency_is_counted_by_the_block_once_for_a_component),
	CORE_TEST(dependency_that_is_there_already_is_not_counted),
	CORE_TEST(blocks_are_other_as_long_as_nobody_knows),
	CORE_TEST(journaled_data_is_a_kind_of_its_own),
	CORE_TEST(claims_and_sync_tids_are_counted_by_their_kind),
	CORE_TEST(claim_that_a_restart_renews_keeps_its_kind),
	CORE_TEST(reads_revokes_and_ordered_data_are_causes),
	CORE_TEST(component_of_256_members),
	CORE_TEST(components_are_counted_by_their_size),
	CORE_TEST(superseded_dependencies_are_not_awaited),
	CORE_TEST(chain_of_100000_in_constant_work_each),
);
