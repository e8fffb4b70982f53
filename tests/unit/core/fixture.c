// SPDX-License-Identifier: GPL-2.0-only
/* A journal on a fresh disk, and handles on it. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <klayer/nvm.h>
#include "fixture.h"
#include "wrap.h"
#include "warn.h"

#define TEST_SECONDS		60	/* of the CPU: more is a hang, however loaded the machine is */
#define DEADLINE_SECONDS	3600	/* of virtual time */

struct fixture fx;

static char awaited[128];	/* text of the warning that may come */
static bool warning_came;

/* ---- tests ---- */

/* A fiber, because the sanitizer knows its stack; the first task's it does not. */
static int in_child(void *arg)
{
	void (*body)(void) = arg;

	if (zj_caches_init())
		kl_fail("no caches");
	body();
	assert_null(fx.disk);
	assert_int_equal(awaited[0], 0);
	all_joined();
	zj_caches_exit();
	sim_rcu_drain();
	sim_caches_check();
	sim_memory_check();
	fflush(NULL);
	_exit(0);
}

static void child(void (*body)(void))
{
	struct sim_config config = {
		.seed = 1,
		.cpus = 1,
		.granularity = SELDOM,
		.deadline = DEADLINE_SECONDS * 1000000000LL,
	};

	setrlimit(RLIMIT_CPU, &(struct rlimit){ TEST_SECONDS, TEST_SECONDS });
	/* A failed assertion ends this process, in whichever fiber. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	sim_start(&config);
	sim_join(sim_spawn(in_child, body, "test", 0));
	abort();
}

void run_in_child(void **state)
{
	void (*body)(void) = (void (*)(void))*state;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		child(body);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		print_error("ended by signal %d\n", WTERMSIG(status));
	assert_int_equal(status, 0);
}

/* ---- messages and warnings ---- */

bool said(const char *text)
{
	return strstr(fx.messages, text);
}

bool complained(const char *text)
{
	return strstr(fx.errors, text);
}

static void note_message(char *all, size_t size, const char *fmt, va_list ap)
{
	size_t len = strlen(all);

	kl_vsnprintf(all + len, size - len, fmt, ap);
}

void __wrap_kl_printk(int level, const char *fmt, ...)
{
	va_list ap, copy;

	va_start(ap, fmt);
	va_copy(copy, ap);
	note_message(fx.messages, sizeof(fx.messages), fmt, ap);
	if (level <= 3)
		note_message(fx.errors, sizeof(fx.errors), fmt, copy);
	va_end(copy);
	va_end(ap);
	if (fx.on_message)
		fx.on_message();
}

void expect_warning(const char *text)
{
	snprintf(awaited, sizeof(awaited), "%s", text);
	warning_came = false;
}

bool warning_expected(const char *text)
{
	if (!awaited[0] || !strstr(text, awaited))
		return false;
	warning_came = true;
	return true;
}

void warned(void)
{
	assert_true(warning_came);
	awaited[0] = 0;
}

/* ---- what the journal calls ---- */

static u64 map_with_a_hole(const struct inode *inode, u64 block)
{
	return block == fx.setup.hole ? 0 : kit_place(&fx.kit, block);
}

u32 jblock(u32 b)
{
	return kit_place(&fx.kit, b);
}

u32 seg_block(u32 seg, u32 b)
{
	return jblock(fx.zj->geo.log_first + seg * fx.zj->geo.seg_blocks + b);
}

bool __wrap_bdev_read_only(struct block_device *bdev)
{
	return fx.read_only;
}

void __wrap_mark_buffer_dirty(struct buffer_head *bh)
{
	if (fx.on_dirty)
		fx.on_dirty(bh);
	__real_mark_buffer_dirty(bh);
}

void *__wrap_kmem_cache_alloc(struct kmem_cache *cache, gfp_t flags)
{
	if (fx.on_alloc)
		fx.on_alloc(cache);
	return __real_kmem_cache_alloc(cache, flags);
}

static void note_call(enum call_what what, tid_t tid,
		      const struct jbd2_inode *jinode)
{
	struct call *c = &fx.call[fx.nr_calls++ % MAX_CALLS];

	*c = (struct call){ .what = what, .tid = tid, .when = now() };
	if (!jinode)
		return;
	c->inode = jinode->i_vfs_inode;
	c->start = jinode->i_dirty_start;
	c->end = jinode->i_dirty_end;
}

void commit_callback(journal_t *journal, transaction_t *txn)
{
	note_call(CALL_COMMIT, txn->t_tid, NULL);
	if (fx.on_commit)
		fx.on_commit(to_txn(txn));
}

/*
 * Data of a file: past the journal, straight to the device. A range without a transaction
 * is no callback of a commit's, but the kernel's own writing of a file.
 */
static void write_data(u32 block)
{
	struct buffer_head *bh = buffer(block);

	set_buffer_dirty(bh);
	write_dirty_buffer(bh, 0);
	brelse(bh);
}

int submit_data(struct jbd2_inode *jinode)
{
	if (!jinode->i_transaction) {
		note_call(CALL_SUBMIT, 0, jinode);
		return fx.submit_err;
	}
	note_call(CALL_SUBMIT, jinode->i_transaction->t_tid, jinode);
	if (fx.data_block)
		write_data(fx.data_block);
	while (fx.hold_submit)
		sleep_ms(1);
	return fx.submit_err;
}

int finish_data(struct jbd2_inode *jinode)
{
	struct buffer_head *bh;

	if (!jinode->i_transaction) {
		note_call(CALL_FINISH, 0, jinode);
		return fx.finish_err;
	}
	note_call(CALL_FINISH, jinode->i_transaction->t_tid, jinode);
	if (fx.on_finish)
		fx.on_finish();
	if (fx.data_block) {
		bh = buffer(fx.data_block);
		wait_on_buffer(bh);
		brelse(bh);
	}
	return fx.finish_err;
}

/* ---- the disk ---- */

static void new_disk(const struct setup *setup)
{
	fx = (struct fixture){ .setup = *setup };
	fx.kit = (struct kit){ .first = HOME_BLOCKS, .blocks = setup->journal,
			       .stock_numbers = setup->external && setup->jbd2 };
	kl_nr_cpus = setup->cpus ?: max_t(u32, setup->lanes, 1);
	sim_current->cpu = 0;
	fx.disk = disk_new(kit_disk_blocks(&fx.kit), 1);
	fx.disk->cache = !setup->no_cache;
	fx.disk->fua = !setup->no_fua;
	fx.disk->log_first = HOME_BLOCKS + 1;
	fx.disk->log_blocks = setup->journal - 1;
	kit_init(&fx.kit, &fx.disk->bdev, DISK_BLOCK, "zj-unit-file-sys");
	if (setup->hole)
		fx.kit.journal.map = map_with_a_hole;
	if (!setup->external)
		return;
	disk_split(fx.disk, HOME_BLOCKS - KIT_START);
	fx.disk->cache2 = !setup->ext_no_cache;
	fx.disk->fua2 = !setup->ext_no_fua;
	fx.kit.dev = &fx.disk->bdev2;
}

static void keep_initial(void)
{
	free(fx.initial);
	fx.initial = disk_contents(fx.disk);
}

static int flush_memory(void)
{
	pmem_flush(fx.pmem);
	return 0;
}

/* Formatted for this file system, or as a power cut has left it. */
static void new_memory(const u8 *contents)
{
	if (!fx.setup.nvm)
		return;
	fx.pmem = kit_memory(&fx.kit, fx.disk, fx.setup.nvm, MEMORY_UUID, contents);
	kl_nvm.needs_flush = fx.pmem->queues = fx.setup.nvm_queues;
	kl_nvm.flush = flush_memory;
}

void make_disk(const struct setup *setup)
{
	new_disk(setup);
	new_memory(NULL);
	kit_make_journal(&fx.kit, fx.disk, 7, fx.setup.features ?: KIT_CSUM_V3);
	keep_initial();
}

void make_disk_of(const struct setup *setup, const struct image *image)
{
	new_disk(setup);
	new_memory(image->pmem);
	for (u32 b = 0; b < fx.disk->nr; b++)
		disk_set(fx.disk, b, image->block[b]);
	keep_initial();
}

void discard_disk(void)
{
	buf_cache_exit(fx.disk);
	if (fx.pmem)
		pmem_free(fx.pmem);
	fx.pmem = NULL;
	kl_nvm.base = NULL;
	disk_free(fx.disk);
	free(fx.initial);
	fx.disk = NULL;
}

/* ---- the journal ---- */

static int configure_journal(journal_t *journal)
{
	struct zj_options options = {
		.lanes = fx.setup.jbd2 ? 1 : fx.setup.lanes,
		.log_blocks = fx.setup.log_blocks,
		.log_check = fx.setup.log_check,
		.pipeline = fx.setup.pipeline,
		.one_head = fx.setup.one_head,
		.live.unpinned = fx.setup.unpinned,
		.live.versions = fx.setup.versions,
		.live.no_coalesce = fx.setup.no_coalesce,
		.live.by_thread = !fx.setup.by_task,
	};

	if (fx.setup.jbd2)
		options.log = ZJ_LOG_JBD2;
	if (fx.setup.nvm) {
		options.log = ZJ_LOG_NVM;
		options.nvm_path = "memory";
		options.txninfo_max = fx.setup.info_max;
	}
	return zj_journal_configure(journal, &options);
}

void report_data(void)
{
	fx.journal->j_flags |= ZJ_DATA_REPORTED;
}

int mount_journal(void)
{
	journal_t *journal;
	int err;

	/* Blocks that a test puts on the disk itself are not writes of the journal. */
	keep_initial();
	journal = kit_open(&fx.kit);
	if (IS_ERR(journal))
		return PTR_ERR(journal);
	fx.journal = journal;
	fx.zj = to_zj(journal);
	/* Nothing expires before the simulator's deadline. */
	journal->j_commit_interval = 2 * DEADLINE_SECONDS * HZ;
	kit_call_back(journal);
	journal->j_fc_replay_callback = fx.fc_replay;
	err = configure_journal(journal);
	assert_int_equal(err, 0);
	err = zj_journal_load(journal);
	if (err)
		zj_journal_destroy(journal);
	if (err)
		fx.journal = NULL;
	assert_int_equal(kl_nvm.users, !err && fx.setup.nvm);
	return err;
}

int unmount_journal(void)
{
	int err = zj_journal_destroy(fx.journal);

	fx.journal = NULL;
	fx.zj = NULL;
	sim_rcu_drain();
	assert_int_equal(kl_nvm.users, 0);
	return err;
}

void open_journal(const struct setup *setup)
{
	make_disk(setup);
	assert_int_equal(mount_journal(), 0);
	if (setup->new)
		return;
	change(0, 2, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(fx.zj->stamp, 1);
	assert_int_equal(fx.zj->ckpt_stamp, 1);
	fx.nr_calls = 0;
}

void close_journal(void)
{
	release();
	assert_int_equal(unmount_journal(), 0);
	discard_disk();
}

void close_aborted(void)
{
	assert_true(is_journal_aborted(fx.journal));
	release();
	settle();
	assert_int_equal(unmount_journal(), -EIO);
	discard_disk();
}

/* ---- handles ---- */

handle_t *start_more(u32 lane, int credits, int rsv, int revokes)
{
	handle_t *h;

	sim_current->cpu = lane;
	own(NULL);
	h = zj_journal_start(fx.journal, credits, rsv, revokes, 0, 0, 0);
	assert_false(IS_ERR(h));
	own(NULL);
	return h;
}

handle_t *start(u32 lane, int credits)
{
	return start_more(lane, credits, 0, 0);
}

void own(handle_t *h)
{
	current->journal_info = h;
}

int stop(handle_t *h)
{
	int err;

	own(h);
	err = zj_journal_stop(h);
	own(NULL);
	return err;
}

/* Reads without waiting, so that no other task runs meanwhile. */
struct buffer_head *buffer(u32 block)
{
	struct buffer_head *bh = __getblk(&fx.disk->bdev, block, DISK_BLOCK);

	if (!buffer_uptodate(bh) && !buffer_write_io_error(bh)) {
		memcpy(bh->b_data, fx.disk->seen[block], DISK_BLOCK);
		set_buffer_uptodate(bh);
	}
	return bh;
}

bool is_dirty(u32 block)
{
	struct buffer_head *bh = buffer(block);
	bool ret = buffer_dirty(bh);

	brelse(bh);
	return ret;
}

void get_access(handle_t *h, u32 block)
{
	struct buffer_head *bh = buffer(block);

	own(h);
	assert_int_equal(zj_journal_get_write_access(h, bh), 0);
	own(NULL);
	brelse(bh);
}

int dirty(handle_t *h, u32 block, u8 val)
{
	struct buffer_head *bh = buffer(block);
	int err;

	memset(bh->b_data, val, DISK_BLOCK);
	own(h);
	err = zj_journal_dirty_metadata(h, bh);
	own(NULL);
	brelse(bh);
	return err;
}

void put(handle_t *h, u32 block, u8 val)
{
	get_access(h, block);
	assert_int_equal(dirty(h, block, val), 0);
}

void forget(handle_t *h, u32 block)
{
	own(h);
	assert_int_equal(zj_journal_forget(h, buffer(block)), 0);
	own(NULL);
}

int revoke_block(handle_t *h, u32 block)
{
	int err;

	own(h);
	err = zj_journal_revoke(h, block, buffer(block));
	own(NULL);
	return err;
}

static u8 only_val(const void *data)
{
	const u8 *p = data;

	for (u32 i = 1; i < DISK_BLOCK; i++)
		assert_int_equal(p[i], p[0]);
	return p[0];
}

u8 live_val(u32 block)
{
	struct buffer_head *bh = buffer(block);
	u8 val = only_val(bh->b_data);

	brelse(bh);
	return val;
}

u8 home_val(u32 block)
{
	return only_val(fx.disk->seen[block]);
}

/* Touch the same block from two lanes. */
void tie(handle_t *a, handle_t *b, u32 block)
{
	get_access(a, block);
	get_access(b, block);
}

tid_t change(u32 lane, u32 block, u8 val)
{
	handle_t *h = start(lane, 1);
	tid_t tid = h->h_transaction->t_tid;

	put(h, block, val);
	assert_int_equal(stop(h), 0);
	return tid;
}

struct zj_txn *running(u32 i)
{
	struct zj_txn *txn = lane(i)->running;

	assert_non_null(txn);
	refcount_inc(&txn->refs);
	return txn;
}

struct zj_txn *txn_of(tid_t tid)
{
	struct zj_txn *txn = zj_txn_find(fx.zj, tid);

	assert_non_null(txn);
	return txn;
}

struct zj_part *part_of(struct zj_txn *txn, u32 block)
{
	struct zj_part *part;

	list_for_each_entry(part, &txn->parts, txn_link)
		if (part->jh->bh->b_blocknr == block)
			return part;
	return NULL;
}

struct zj_part *newest_part(u32 block)
{
	struct buffer_head *bh = buffer(block);
	struct journal_head *jh = bh2jh(bh);
	struct zj_part *part = jh ? jh->newest : NULL;

	brelse(bh);
	return part;
}

bool depends(struct zj_txn *txn, struct zj_txn *on)
{
	struct zj_dep *dep;

	list_for_each_entry(dep, &txn->comp->deps, comp_link)
		if (dep->on == on->comp)
			return true;
	return false;
}

static u64 sum(const u64 *kinds)
{
	u64 n = 0;

	for (u32 i = 0; i < ZJ_NR_KINDS; i++)
		n += kinds[i];
	return n;
}

u64 unions(u32 n)
{
	return sum(lane(n)->stats.united);
}

u64 dependencies(u32 n)
{
	return sum(lane(n)->stats.depends);
}

enum zj_txn_stage stage_of(tid_t tid)
{
	struct zj_txn *txn = zj_txn_find(fx.zj, tid);
	enum zj_txn_stage stage = ZJ_COMMITTED;

	if (txn) {
		stage = txn->comp->stage;
		zj_txn_put(txn);
	}
	return stage;
}

void seal(u32 i)
{
	zj_commit_request_lane(lane(i));
}

void seal_held(u32 i)
{
	fx.hold_lane[i] = true;
	seal(i);
	settle();
}

void commit(u32 i)
{
	struct zj_txn *txn = running(i);
	tid_t tid = txn->public.t_tid;

	zj_txn_put(txn);
	assert_int_equal(zj_complete_transaction(fx.journal, tid), 0);
}
