// SPDX-License-Identifier: GPL-2.0-only
/* A mount over memory: whose it is, damage, hostile contents, what a recovery of it needs. */
#include <klayer/nvm.h>
#include <linux/uaccess.h>
#include "nvmview.h"
#include "pmem.h"

static const struct setup pair = { .lanes = 2, .journal = 400, .nvm = 1 << 20 };

/* ---- the end of a log ---- */

/* Block 0 says still which memory it is: an unmount that failed is tried again. */
static void clean_that_cannot_be_written_keeps_the_mark(void)
{
	struct zj_nvm_mark mark;

	NVM();
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	mark = *zj_nvm_mark_of(fx.journal->j_superblock);
	assert_int_equal(be64_to_cpu(mark.generation), fx.zj->geo.generation);
	fail_next_write();
	assert_int_equal(zj_make_clean(fx.zj), -EIO);
	assert_memory_equal(zj_nvm_mark_of(fx.journal->j_superblock), &mark, sizeof(mark));
	assert_true(zj_is_nvm_log(fx.journal->j_superblock));
	close_journal();
}

/* Lines are put over home blocks: a mount that cannot read these keeps the log. */
static void a_mount_puts_lines_over_what_is_home(void)
{
	struct image *image;
	int err;

	NVM();
	make_known(BLOCK, 7);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	change_line(0, BLOCK, 3, 8);
	image = cut_power();
	close_journal();
	for (u32 n = 1; ; n++) {
		make_disk_of(&pair, image);
		fx.disk->fail_read = n;
		err = mount_journal();
		if (!err)
			break;
		assert_int_equal(err, -EIO);
		discard_disk();
	}
	for (u32 i = 0; i < DISK_BLOCK; i++)
		assert_int_equal(fx.disk->seen[BLOCK][i], i / ZJ_NVM_LINE == 3 ? 8 : 7);
	close_journal();
	image_free(image);
}

/* ---- pairs ---- */

static void refused_with(int err, const char *why)
{
	u32 before = now();

	fx.messages[0] = 0;
	assert_int_equal(mount_journal(), err);
	assert_true(said(why));
	assert_int_equal(now(), before);
}

static void refused(const char *why)
{
	refused_with(-EINVAL, why);
}

static void the_wrong_memory_is_refused(void)
{
	struct zj_nvm_super *sb;

	make_disk(&pair);
	sb = (void *)fx.pmem->mem;
	sb->magic = 0;
	pmem_look(fx.pmem);
	refused("zjctl nvm-format");
	zj_encode_nvm_super((const u8 *)MEMORY_UUID, (const u8 *)"another-file-sys", 1 << 20, sb);
	pmem_look(fx.pmem);
	refused("was prepared for the file system 616e6f74-6865-722d-6669-6c652d737973");
	zj_encode_nvm_super((const u8 *)MEMORY_UUID, fx.kit.sb.s_uuid.b, 1 << 20, sb);
	sb->size ^= 1;
	pmem_look(fx.pmem);
	refused("wrong checksum");
	zj_encode_nvm_super((const u8 *)MEMORY_UUID, fx.kit.sb.s_uuid.b, 2 << 20, sb);
	pmem_look(fx.pmem);
	refused("smaller");
	kl_nvm.size = ZJ_NVM_MIN_SIZE - 1;
	refused("the memory has 262143 bytes, but a log needs at least 262144");
	kl_nvm.base = NULL;
	refused_with(-ENOENT, "no such memory");
	discard_disk();
}

static struct image *crashed(void)
{
	struct image *image;

	NVM();
	change(0, BLOCK, 7);
	commit(0);
	image = cut_power();
	close_journal();
	return image;
}

/* Tail words of an earlier generation are cleared before the new one begins. */
static void tails_of_an_earlier_life_are_gone(void)
{
	struct image *image;

	NVM(.lanes = 2);
	zj_journal_lock_updates(fx.journal);
	assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
	zj_journal_unlock_updates(fx.journal);
	/* As if an older log had been left in the memory. */
	*(u64 *)(fx.pmem->mem + ZJ_NVM_TAILS_AT + ZJ_NVM_LINE) = 0x100000008;
	pmem_look(fx.pmem);
	arch_wb_cache_pmem(fx.pmem->mem + ZJ_NVM_TAILS_AT + ZJ_NVM_LINE, 8);
	pmem_wmb();
	change(0, BLOCK, 1);
	commit(0);
	image = cut_power();
	assert_int_equal(*(u64 *)(image->pmem + ZJ_NVM_TAILS_AT + ZJ_NVM_LINE), 0);
	/* Tails of lanes that this generation does not have belong to no lane. */
	*(u64 *)(image->pmem + ZJ_NVM_TAILS_AT + 2 * ZJ_NVM_LINE) = 0x900000100000008;
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 1);
	image_free(image);
	close_journal();
}

static void a_live_log_needs_its_memory(void)
{
	struct image *image = crashed();
	struct zj_nvm_super *sb;
	struct setup without = pair;
	u8 *memory;

	/* Block 0 says where it is. */
	assert_true(((struct zj_jbd2_super *)image->block[jblock(0)])->s_feature_incompat &
		    cpu_to_be32(ZJ_JBD2_INCOMPAT_NVM));
	memory = image->pmem;
	image->pmem = NULL;
	without.nvm = 0;
	make_disk_of(&without, image);
	refused("756e6974-2d74-6573-742d-6d656d6f7279: mount with journal_nvm=");
	discard_disk();
	image->pmem = memory;

	make_disk_of(&pair, image);
	sb = (void *)fx.pmem->mem;
	zj_encode_nvm_super((const u8 *)"other-memory-ooo", fx.kit.sb.s_uuid.b, 1 << 20, sb);
	pmem_look(fx.pmem);
	refused("but the log is in the memory 756e6974-2d74");
	/* A header of the same memory that was made for another log. */
	zj_encode_nvm_super((const u8 *)MEMORY_UUID, fx.kit.sb.s_uuid.b, 1 << 20, sb);
	fx.pmem->mem[ZJ_NVM_HEAD_AT + 0x18] ^= 1;
	pmem_look(fx.pmem);
	refused_with(-EUCLEAN, "damaged log");
	fx.pmem->mem[ZJ_NVM_HEAD_AT + 0x18] ^= 1;
	pmem_look(fx.pmem);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(home_val(BLOCK), 7);
	close_journal();
	image_free(image);
}

static void a_clean_journal_is_stocks_again(void)
{
	const struct zj_jbd2_super *sb;

	NVM();
	change(0, BLOCK, 7);
	commit(0);
	assert_int_equal(unmount_journal(), 0);
	sb = (const void *)fx.disk->seen[jblock(0)];
	assert_int_equal(sb->s_start, 0);
	assert_int_equal(be32_to_cpu(sb->s_feature_incompat), ZJ_JBD2_INCOMPAT_CSUM_V3);
	for (u32 i = 0; i < sizeof(sb->s_padding); i++)
		assert_int_equal(sb->s_padding[i], 0);
	assert_int_equal(home_val(BLOCK), 7);
	/* The journal in the inode, and back. */
	fx.setup.nvm = 0;
	assert_int_equal(mount_journal(), 0);
	change(0, BLOCK, 8);
	commit(0);
	assert_int_equal(unmount_journal(), 0);
	fx.setup.nvm = 1 << 20;
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(home_val(BLOCK), 8);
	close_journal();
}

static void damage_is_refused(void)
{
	struct image *image = crashed();
	static const struct { u32 at; const char *why; } spots[] = {
		{ 0, "records do not match" },		/* of the block */
		{ LINES * 64 + 1, "wrong checksum" },	/* in the record's place */
		{ LINES * 64 + 64 + 0x7c, "no TxnInfo" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(spots); i++) {
		u64 word;
		u8 *spot;

		make_disk_of(&pair, image);
		word = tail(0);
		spot = fx.pmem->mem + ((u32)word - LINES - 3) * 64 + spots[i].at;
		*spot ^= 4;
		pmem_look(fx.pmem);
		refused_with(-EUCLEAN, spots[i].why);
		assert_true(said("copy the device and the memory before"));
		*spot ^= 4;
		pmem_look(fx.pmem);
		assert_int_equal(mount_journal(), 0);
		assert_int_equal(home_val(BLOCK), 7);
		close_journal();
	}
	image_free(image);
}

/* A load of any of it would be a machine check: all are fetched by a copy that fails. */
static void lines_that_cannot_be_read_are_refused(void)
{
	struct image *image = crashed();
	u32 end, spots[] = { ZJ_NVM_SUPER_AT, ZJ_NVM_HEAD_AT, ZJ_NVM_CKPT_AT, ZJ_NVM_TAILS_AT,
			     ZJ_NVM_TAILS_AT + ZJ_NVM_LINE, 0, 0, 0 };

	for (u32 i = 0; i < ARRAY_SIZE(spots); i++) {
		make_disk_of(&pair, image);
		end = (u32)tail(0);
		spots[5] = (end - LINES - 3) * ZJ_NVM_LINE + 3;	/* the record */
		spots[6] = (end - 3) * ZJ_NVM_LINE;		/* its place */
		spots[7] = end * ZJ_NVM_LINE - 1;		/* the magic number */
		kl_poison = fx.pmem->mem + spots[i];
		refused_with(-EIO, "cannot be read");
		kl_poison = NULL;
		assert_int_equal(mount_journal(), 0);
		assert_int_equal(home_val(BLOCK), 7);
		close_journal();
	}
	image_free(image);
}

static void lines_that_nobody_needs_may_be_lost(void)
{
	struct image *image = crashed();

	make_disk_of(&pair, image);
	kl_poison = fx.pmem->mem + fx.pmem->size - 1;
	assert_int_equal(mount_journal(), 0);
	kl_poison = NULL;
	assert_int_equal(home_val(BLOCK), 7);
	close_journal();
	image_free(image);
}

/* Recovery of any contents, with good checksums or not, ends without a stray access. */
static void hostile_memory(void)
{
	struct sim_rand rand = { 3 };
	struct image *image;
	u32 good = 0, bad = 0;
	u8 *memory;

	NVM(.lanes = 2, .info_max = 256);
	for (u32 i = 1; i <= 40; i++) {
		for (u32 b = 0; b < 3; b++)
			change_line(i % 2, BLOCK + b, i % LINES, i);
	}
	image = cut_power();
	memory = malloc(fx.pmem->size);
	memcpy(memory, image->pmem, fx.pmem->size);
	for (u32 n = 0; n < 4000; n++) {
		struct zj_nvm_chunk c;
		u32 end = tail(n % 2), bytes, flips = 1 + sim_below(&rand, 3);
		struct zj_txninfo *t;
		u8 *info;

		memcpy(image->pmem, memory, fx.pmem->size);
		for (u32 back = sim_below(&rand, 20); back; back--) {
			assert_null(zj_read_txninfo(&fx.zj->geo, fx.zj->seed, memory, end, &c));
			end = c.prev;
		}
		assert_null(zj_read_txninfo(&fx.zj->geo, fx.zj->seed, memory, end, &c));
		info = image->pmem + (c.start + c.data_lines) * ZJ_NVM_LINE;
		bytes = (end - c.start - c.data_lines) * ZJ_NVM_LINE;
		while (flips--) {
			u8 *spot = info + sim_below(&rand, bytes);

			*spot = sim_one_in(&rand, 2) ? *spot ^ 1 << sim_below(&rand, 8) :
				sim_below(&rand, 256);
		}
		if (!sim_one_in(&rand, 8)) {
			t = (void *)(info + bytes - sizeof(*t));
			t->csum = cpu_to_le32(zj_crc_without(fx.zj->seed, info, bytes,
					      bytes - sizeof(*t) + 0x6c));
		}
		image->quiet = true;
		if (recover_image(image))
			bad++;
		else
			good++;
	}
	/* The changed byte may be in a record that is not read, or have no effect. */
	assert_true(bad > 2000 && good > 10);
	free(memory);
	image_free(image);
	close_journal();
}

/* A chunk before line @end with so many whole records: every number and sum is right. */
static void forge(u8 *mem, u32 end, u32 records, struct zj_nvm_chunk *c)
{
	u32 info = zj_nvm_info_bytes(0, 0, records) / ZJ_NVM_LINE;
	u8 *at = mem + (end - info - records * LINES) * ZJ_NVM_LINE;
	struct zj_nvm_record *rec = (void *)(mem + (end - info) * ZJ_NVM_LINE);

	c->count = records;
	c->data_lines = records * LINES;
	c->start = end - info - c->data_lines;
	c->end = end;
	c->data_hash = fx.zj->seed;
	memset(rec, 0, info * ZJ_NVM_LINE);
	for (u32 i = 0; i < records; i++, at += DISK_BLOCK) {
		rec[i].block = cpu_to_le64(BLOCK + i);
		rec[i].lines = cpu_to_le64(ALL);
		c->data_hash = zj_nvm_hash_record(c->data_hash, at, ALL, ZJ_NVM_LINE);
	}
	zj_encode_txninfo(&fx.zj->geo, fx.zj->seed, c, rec);
}

/* Each chunk's records are the chunks before it: they would be read again and again. */
static void overlapping_chunks_cost_no_more_than_the_memory(void)
{
	const struct zj_log_geometry *geo;
	struct zj_nvm_chunk c = { .nr_members = 1, .last = true };
	u64 forged = 0;
	struct image *image;
	u32 records;

	NVM(.lanes = 2);
	change(0, BLOCK, 7);
	commit(0);
	image = cut_power();
	geo = &fx.zj->geo;
	records = geo->seg_blocks / LINES / 2;
	c.stamp = fx.zj->stamp;
	for (u32 seg = 1; seg < geo->nr_segs; seg++) {
		u32 first = geo->log_first + seg * geo->seg_blocks;
		u32 info = zj_nvm_info_bytes(0, 0, records) / ZJ_NVM_LINE;

		for (u32 end = first + records * LINES + info; end <= first + geo->seg_blocks;
		     end += info) {
			c.prev = c.end;
			c.prev_stamp = c.end ? c.stamp : 0;
			c.stamp++;
			forge(image->pmem, end, records, &c);
			forged += (c.end - c.start) * ZJ_NVM_LINE;
		}
	}
	*(__le64 *)(image->pmem + ZJ_NVM_TAILS_AT) = cpu_to_le64(zj_nvm_tail(c.end, c.stamp));
	/* The log is large enough to show it: it names many times the memory. */
	assert_true(forged > 6 * fx.pmem->size);
	image->quiet = true;
	kl_copied = 0;
	assert_int_equal(recover_image(image), -EUCLEAN);
	assert_in_range(kl_copied, fx.pmem->size / 2, 2 * fx.pmem->size);
	image_free(image);
	close_journal();
}

/* At each place in turn, on the way back or while blocks are written; then once more. */
static void killed_recoveries_of_memory_end(void)
{
	struct image *image;
	u32 asked;

	NVM(.lanes = 2);
	for (u32 i = 0; i < 20; i++) {
		change(0, BLOCK + i, 1 + i);
		commit(0);
	}
	image = cut_power();
	kl_asked = 0;
	assert_int_equal(recover_image(image), 0);
	asked = kl_asked;
	assert_int_equal(image->stats.transactions, 20);
	/* At chunks on the way back, components, chunks twice, images, blocks, writes. */
	assert_true(asked >= 7 * 20 - 1);
	for (u32 i = 1; i <= asked; i++) {
		kl_asked = 0;
		kl_killed_in = i;
		assert_int_equal(recover_image(image), -EINTR);
		kl_killed_in = 0;
	}
	assert_int_equal(recover_image(image), 0);
	for (u32 i = 0; i < 20; i++)
		assert_int_equal(image_val(image, BLOCK + i), 1 + i);
	image_free(image);
	close_journal();
}

/* ---- the beginning of a log ---- */

/*
 * Block 0 may name the old generation still, as barriers were off: then the memory must
 * not have another one, or the file system could not be mounted any more.
 */
static void new_log_does_not_outrun_a_clean_block_0(void)
{
	struct image *image;

	for (int back = 0; back < 2; back++) {
		NVM();
		change(0, BLOCK, 1);
		commit(0);
		fx.journal->j_flags &= ~JBD2_BARRIER;
		zj_journal_lock_updates(fx.journal);
		assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
		zj_journal_unlock_updates(fx.journal);
		if (back)
			fx.journal->j_flags |= JBD2_BARRIER;
		change(0, BLOCK, 2);
		fx.hold_block = jblock(0);
		seal(0);
		settle();
		assert_int_equal(nr_held(), 1);
		image = cut_power();
		assert_int_equal(recover_image(image), 0);
		image_free(image);
		release();
		close_journal();
	}
}

/* ---- memory that goes away ---- */

static u64 map_until_it_is_gone(const struct inode *inode, u64 block)
{
	kl_nvm.gone = kl_nvm.gone || block == 5;
	return HOME_BLOCKS + block;
}

/* Between the look at its super block and recovery. */
static void memory_that_is_gone_before_recovery(void)
{
	struct image *image = crashed();

	make_disk_of(&pair, image);
	image_free(image);
	fx.kit.journal.map = map_until_it_is_gone;
	assert_int_equal(mount_journal(), -ENODEV);
	kl_nvm.gone = false;
	assert_true(said("recovery failed"));
	assert_int_equal(now(), 0);
	discard_disk();
}

static void what_is_to_be_replayed_is_told(void)
{
	struct image *image;
	handle_t *a, *b;

	NVM(.lanes = 2);
	a = start(0, 2);
	b = start(1, 2);
	put(a, BLOCK, 7);
	put(a, BLOCK + 1, 7);
	put(b, BLOCK, 7);
	put(b, BLOCK + 2, 7);
	stop(a);
	stop(b);
	commit(0);
	image = cut_power();
	close_journal();
	make_disk_of(&pair, image);
	image_free(image);
	assert_int_equal(mount_journal(), 0);
	assert_true(said("log in memory: 2 transactions in 1 components to replay, 3 blocks; discarded as incomplete: 0 transactions"));
	close_journal();
}

static int begun;

static void note_begun(void)
{
	if (said("log in memory") && !begun)
		begun = kl_nvm.begun ?: -1;
}

/* It waits for tasks that have begun, and for no others. */
static void memory_does_not_go_away_during_recovery(void)
{
	struct image *image = crashed();

	make_disk_of(&pair, image);
	image_free(image);
	fx.on_message = note_begun;
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(begun, 1);
	close_journal();
}

/* The first attempt has changed block 0 in memory only: the second one writes it. */
static void log_is_live_once_block_0_is_written(void)
{
	NVM(.new = true);
	for (u32 i = 0; i < 2; i++) {
		fail_next_write();
		assert_int_equal(zj_make_live(fx.zj), -EIO);
		assert_false(fx.zj->live);
	}
	assert_int_equal(zj_make_live(fx.zj), 0);
	assert_true(fx.zj->live);
	/* The device has lost a write. */
	zj_journal_abort(fx.journal, -EIO);
	close_aborted();
}

static void log_is_not_live_without_its_memory(void)
{
	NVM(.new = true);
	kl_nvm.gone = true;
	assert_int_equal(zj_make_live(fx.zj), -ENODEV);
	assert_false(fx.zj->live);
	kl_nvm.gone = false;
	change(0, BLOCK, 3);
	commit(0);
	assert_int_equal(val_after_crash(BLOCK), 3);
	close_journal();
}

CORE_TESTS(nvm_mount,
	CORE_TEST(clean_that_cannot_be_written_keeps_the_mark),
	CORE_TEST(a_mount_puts_lines_over_what_is_home),
	CORE_TEST(the_wrong_memory_is_refused),
	CORE_TEST(tails_of_an_earlier_life_are_gone),
	CORE_TEST(a_live_log_needs_its_memory),
	CORE_TEST(a_clean_journal_is_stocks_again),
	CORE_TEST(damage_is_refused),
	CORE_TEST(lines_that_cannot_be_read_are_refused),
	CORE_TEST(lines_that_nobody_needs_may_be_lost),
	CORE_TEST(hostile_memory),
	CORE_TEST(overlapping_chunks_cost_no_more_than_the_memory),
	CORE_TEST(killed_recoveries_of_memory_end),
	CORE_TEST(new_log_does_not_outrun_a_clean_block_0),
	CORE_TEST(memory_that_is_gone_before_recovery),
	CORE_TEST(what_is_to_be_replayed_is_told),
	CORE_TEST(memory_does_not_go_away_during_recovery),
	CORE_TEST(log_is_live_once_block_0_is_written),
	CORE_TEST(log_is_not_live_without_its_memory),
);
