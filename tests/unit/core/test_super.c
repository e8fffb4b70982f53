// SPDX-License-Identifier: GPL-2.0-only
/* super.c: block 0 and the log super block, live and clean. */
#include "fixture.h"

static const struct setup fresh = { .lanes = 2, .journal = 1024, .new = true };

static struct zj_jbd2_super super_on_disk(void)
{
	return *(const struct zj_jbd2_super *)fx.disk->seen[jblock(0)];
}

/* Block 0 with one word changed; its checksum is made right again. */
static void set_word(u32 offset, u32 val)
{
	struct zj_jbd2_super sb = super_on_disk();
	__be32 word = cpu_to_be32(val);

	memcpy((char *)&sb + offset, &word, sizeof(word));
	sb.s_checksum = zj_jbd2_super_csum(&sb);
	disk_set(fx.disk, jblock(0), &sb);
}

static void refused(u32 offset, u32 val, const char *text)
{
	make_disk(&fresh);
	set_word(offset, val);
	assert_int_equal(mount_journal(), -EINVAL);
	assert_true(said(text));
	/* The message also says what to do. */
	assert_true(said("e2fsck") || said("zjournal may support"));
	assert_int_equal(now(), 0);
	discard_disk();
}

#define REFUSED(field, val, text) \
	refused(offsetof(struct zj_jbd2_super, field), val, text)

static void bad_super_blocks_are_refused_and_nothing_is_written(void)
{
	REFUSED(s_magic, 0x12345678, "not a journal superblock");
	REFUSED(s_blocktype, 2, "not of version 1 or 2");
	REFUSED(s_blocktype, 5, "not of version 1 or 2");
	REFUSED(s_blocksize, 4096, "a block size that differs");
	REFUSED(s_blocksize, 0, "a block size that differs");
	REFUSED(s_feature_incompat, 0x80000000, "unknown features");
	REFUSED(s_feature_incompat, 0x100, "unknown features");
	/* The feature of a log in memory without that of lanes. */
	REFUSED(s_feature_incompat, ZJ_JBD2_INCOMPAT_NVM, "unknown features (incompat 0x20000000");
	REFUSED(s_feature_ro_compat, 1, "unknown features");
	REFUSED(s_maxlen, 1025, "longer than its inode");
	REFUSED(s_first, 0, "bad first block");
	REFUSED(s_first, 1024, "bad first block");
}

static void wrong_checksum_is_refused(void)
{
	struct zj_jbd2_super sb;

	make_disk(&fresh);
	sb = super_on_disk();
	sb.s_sequence ^= 1;
	disk_set(fx.disk, jblock(0), &sb);
	assert_int_equal(mount_journal(), -EINVAL);
	assert_true(said("wrong checksum"));
	assert_int_equal(now(), 0);
	discard_disk();
}

static void super_block_without_checksums_is_fine(void)
{
	make_disk(&fresh);
	set_word(offsetof(struct zj_jbd2_super, s_feature_incompat), 0);
	set_word(offsetof(struct zj_jbd2_super, s_checksum), 0x5555);
	assert_int_equal(mount_journal(), 0);
	change(0, BLOCK, 1);
	commit(0);
	close_journal();
}

/* Features in a block 0 of version 1 mean nothing. What we write is version 2. */
static void version_1_is_taken_and_becomes_version_2(void)
{
	struct zj_jbd2_super sb;

	for (u32 stock = 0; stock < 2; stock++) {
		make_disk(&(const struct setup){ .lanes = 1, .journal = 1024, .new = true,
						 .jbd2 = stock });
		set_word(offsetof(struct zj_jbd2_super, s_blocktype), ZJ_JBD2_SUPERBLOCK_V1);
		set_word(offsetof(struct zj_jbd2_super, s_feature_incompat), 0xffffffff);
		set_word(offsetof(struct zj_jbd2_super, s_feature_ro_compat), 0xffffffff);
		set_word(offsetof(struct zj_jbd2_super, s_num_fc_blks), 0xffffffff);
		set_word(offsetof(struct zj_jbd2_super, s_checksum), 0x5555);
		assert_int_equal(mount_journal(), 0);
		change(0, BLOCK, 1);
		commit(0);
		sb = super_on_disk();
		assert_int_equal(be32_to_cpu(sb.s_blocktype), ZJ_JBD2_SUPERBLOCK_V2);
		assert_int_equal(sb.s_feature_incompat,
				 cpu_to_be32(stock ? ZJ_JBD2_INCOMPAT_REVOKE :
					     ZJ_JBD2_INCOMPAT_LANES));
		assert_int_equal(sb.s_feature_ro_compat, 0);
		assert_int_equal(sb.s_num_fc_blks, 0);
		close_journal();
	}
}

/* needs_recovery is not set, so the log would be dropped, but there cannot be one there. */
static void start_outside_the_journal_is_refused(void)
{
	for (u32 beyond = 0; beyond < 2; beyond++) {
		make_disk(&fresh);
		set_word(offsetof(struct zj_jbd2_super, s_start), 1023 + beyond);
		fx.journal = kit_open(&fx.kit);
		assert_false(IS_ERR(fx.journal));
		assert_int_equal(zj_journal_wipe(fx.journal, 1), beyond ? -EUCLEAN : 0);
		assert_int_equal(complained("is not one of the 1024"), beyond);
		fx.zj = to_zj(fx.journal);
		assert_int_equal(unmount_journal(), 0);
		discard_disk();
	}
}

/* What stock makes do with, to the block. */
static void too_short_a_journal_is_told(void)
{
	static const struct {
		u32	maxlen, first, incompat, fast;
		bool	too_short;
	} cases[] = {
		{ 1024, 1, 0, 0, false }, { 1023, 1, 0, 0, true }, { 100, 1, 0, 0, true },
		{ 1024, 2, 0, 0, true }, { 2048, 1025, 0, 0, false }, { 2048, 1026, 0, 0, true },
		{ 1280, 1, ZJ_JBD2_INCOMPAT_FAST_COMMIT, 0, false },
		{ 1279, 1, ZJ_JBD2_INCOMPAT_FAST_COMMIT, 0, true },
		{ 1279, 1, ZJ_JBD2_INCOMPAT_FAST_COMMIT, 255, false },
		{ 1279, 1, ZJ_JBD2_INCOMPAT_FAST_COMMIT, U32_MAX, true },
		{ 1279, 1, 0, U32_MAX, false },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct zj_jbd2_super sb = {
			.s_maxlen = cpu_to_be32(cases[i].maxlen),
			.s_first = cpu_to_be32(cases[i].first),
			.s_feature_incompat = cpu_to_be32(cases[i].incompat),
			.s_num_fc_blks = cpu_to_be32(cases[i].fast),
		};

		assert_int_equal(zj_jbd2_too_short(&sb), cases[i].too_short);
	}
}

static void shorter_journal_than_its_inode_is_taken_as_it_says(void)
{
	make_disk(&fresh);
	set_word(offsetof(struct zj_jbd2_super, s_maxlen), 600);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(fx.journal->j_total_len, 600);
	assert_true(fx.zj->geo.log_first +
		    fx.zj->geo.nr_segs * fx.zj->geo.seg_blocks <= 600);
	close_journal();
}

/* Nothing is allocated, and nothing mapped, for what only the inode says. */
static void inode_may_claim_any_size(void)
{
	make_disk(&fresh);
	fx.kit.journal.i_size = 1LL << 40;
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(fx.journal->j_total_len, fx.setup.journal);
	close_journal();
	make_disk(&fresh);
	fx.kit.journal.i_size = 1LL << 45;
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(fx.journal->j_total_len, fx.setup.journal);
	close_journal();
}

static void journal_longer_than_the_device_is_refused(void)
{
	make_disk(&fresh);
	fx.kit.journal.i_size = 1LL << 40;
	set_word(offsetof(struct zj_jbd2_super, s_maxlen), 1 << 29);
	assert_int_equal(mount_journal(), -EUCLEAN);
	assert_true(said("longer than the device"));
	discard_disk();
}

static void mount_alone_writes_nothing(void)
{
	make_disk(&fresh);
	assert_int_equal(mount_journal(), 0);
	stop(start(0, 1));
	settle();
	assert_false(zj_journal_is_live(fx.journal));
	assert_int_equal(now(), 0);
	close_journal();
}

static void clean_mount_and_unmount_write_nothing(void)
{
	make_disk(&fresh);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(unmount_journal(), 0);
	assert_int_equal(now(), 0);
	discard_disk();
}

static int end_of_write(u32 at)
{
	const struct disk_event *log = fx.disk->log;

	for (u32 i = at; i < now(); i++)
		if (log[i].request == log[at].request && log[i].what != DISK_WRITE)
			return i;
	return -1;
}

static void live_before_the_first_record(void)
{
	struct zj_jbd2_super sb;
	int super, log_super;

	OPEN(.new = true);
	change(0, BLOCK, 1);
	commit(0);
	log_super = written(jblock(ZJ_BLOCK_LOG_SUPER), 0);
	super = written(jblock(0), 0);
	assert_true(log_super >= 0);
	assert_true(end_of_write(log_super) < super);
	assert_int_equal(fx.disk->log[end_of_write(super)].what, DISK_DONE_FUA);
	assert_true(end_of_write(super) < record_written(0));
	sb = super_on_disk();
	assert_true(sb.s_feature_incompat & cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES));
	assert_int_equal(sb.s_start, sb.s_first);
	assert_true(zj_journal_is_live(fx.journal));
	/* It happens once: the next commit finds the log live. */
	change(0, BLOCK, 2);
	commit(0);
	assert_int_equal(writes_of(jblock(0), 0), 1);
	close_journal();
}

static void two_lanes_make_it_live_once(void)
{
	OPEN(.new = true);
	change(0, BLOCK, 1);
	change(1, BLOCK + 1, 1);
	seal(0);
	seal(1);
	settle();
	assert_int_equal(writes_of(jblock(0), 0), 1);
	assert_int_equal(writes_of(jblock(1), 0), 1);
	assert_int_equal(val_after_crash(BLOCK), 1);
	assert_int_equal(val_after_crash(BLOCK + 1), 1);
	close_journal();
}

static void clean_after_the_last_home_write(void)
{
	struct zj_jbd2_super sb;
	struct image *image;
	u32 before;

	OPEN();
	change(0, BLOCK, 1);
	before = now();
	assert_int_equal(unmount_journal(), 0);
	assert_true(written(BLOCK, before) < written(jblock(0), before));
	assert_true(flushed_between(written(BLOCK, before),
				    written(jblock(0), before)));
	sb = super_on_disk();
	assert_int_equal(sb.s_start, 0);
	assert_int_equal(sb.s_feature_incompat,
			 cpu_to_be32(ZJ_JBD2_INCOMPAT_CSUM_V3));
	assert_int_equal(sb.s_checksum, zj_jbd2_super_csum(&sb));
	/* It grows, so that stock takes no leftover of its own for new. */
	assert_int_equal(be32_to_cpu(sb.s_sequence), 8);
	image = cut_power();
	assert_false(image_is_live(image));
	assert_int_equal(image_val(image, BLOCK), 1);
	image_free(image);
	discard_disk();
}

static void every_mount_has_another_generation(void)
{
	u64 first;

	OPEN();
	first = fx.zj->geo.generation;
	assert_int_equal(unmount_journal(), 0);
	assert_int_equal(mount_journal(), 0);
	change(0, BLOCK, 1);
	commit(0);
	assert_int_not_equal(fx.zj->geo.generation, first);
	/* No record of the old generation is found. */
	{
		struct log log;

		log_read(&log);
		assert_int_equal(log.r.chunks.nr, 1);
		log_free(&log);
	}
	close_journal();
}

static void generation_grows_when_it_is_live_again(void)
{
	u64 first;

	OPEN();
	change(0, BLOCK, 1);
	first = fx.zj->geo.generation;
	zj_journal_lock_updates(fx.journal);
	assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
	zj_journal_unlock_updates(fx.journal);
	change(0, BLOCK, 2);
	commit(0);
	assert_int_equal(fx.zj->geo.generation, first + 1);
	assert_int_equal(val_after_crash(BLOCK), 2);
	close_journal();
}

static void clean_that_cannot_be_written_stays_live(void)
{
	struct image *image;

	OPEN();
	change(0, BLOCK, 1);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	fail_next_write();
	assert_int_equal(zj_make_clean(fx.zj), -EIO);
	assert_true(zj_journal_is_live(fx.journal));
	assert_int_equal(zj_make_clean(fx.zj), 0);
	image = cut_power();
	assert_false(image_is_live(image));
	image_free(image);
	close_journal();
}

/* The device's buffers stay, as while another program has it open. */
static void next_mount_reads_what_the_device_has(void)
{
	make_disk(&fresh);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(zj_journal_set_features(fx.journal, 0, 0,
						 ZJ_JBD2_INCOMPAT_64BIT), 1);
	assert_int_equal(unmount_journal(), 0);
	assert_int_equal(now(), 0);
	assert_int_equal(mount_journal(), 0);
	assert_int_equal(unmount_journal(), 0);
	discard_disk();
}

/* Whichever write on the way fails: no fsync returns without its record and all before it. */
static void every_write_of_the_first_commit_may_fail(void)
{
	static const struct setup logs[] = {
		{ .lanes = 2, .journal = 2048, .new = true },
		{ .lanes = 1, .journal = 2048, .jbd2 = true, .new = true },
		{ .lanes = 2, .journal = 400, .nvm = 1 << 20, .new = true },
	};
	struct image *image;
	tid_t tid;
	int err;

	for (u32 i = 0; i < ARRAY_SIZE(logs); i++) {
		u32 n = 0;

		do {
			open_journal(&logs[i]);
			tid = change(0, BLOCK, 1);
			fx.disk->fail_write = fx.disk->writes + ++n;
			err = zj_complete_transaction(fx.journal, tid);
			if (err) {
				assert_int_equal(err, -EIO);
				close_aborted();
				continue;
			}
			fx.disk->fail_write = 0;
			image = cut_power();
			assert_int_equal(recover_image(image), 0);
			assert_int_equal(image_val(image, BLOCK), 1);
			image_free(image);
			close_journal();
		} while (err);
		/* Two writes: block 0 at least, and the record. */
		assert_true(n > (logs[i].nvm ? 1 : 2));
	}
}

static void commit_that_cannot_make_it_live_aborts(void)
{
	struct image *image;
	tid_t tid;

	OPEN(.new = true);
	tid = change(0, BLOCK, 1);
	fail_next_write();
	assert_int_equal(zj_complete_transaction(fx.journal, tid), -EIO);
	assert_true(is_journal_aborted(fx.journal));
	assert_int_equal(record_written(0), -1);
	image = cut_power();
	assert_false(image_is_live(image));
	image_free(image);
	close_aborted();
}

/* A crash between two writes leaves one slot as it was. */
static void checkpoint_slots_are_written_one_after_the_other(void)
{
	OPEN();
	for (u32 i = 1; i < 5; i++) {
		u32 first = jblock(ZJ_BLOCK_CKPT + (fx.zj->ckpt_seq + 1) % 2);
		u32 other = jblock(ZJ_BLOCK_CKPT + fx.zj->ckpt_seq % 2);
		struct fiber *f;
		u32 at = now();

		change(0, BLOCK, i);
		commit(0);
		fx.hold_block = first;
		f = GO(call_full_checkpoint);
		settle();
		assert_int_equal(writes_of(other, at), 0);
		release();
		join(f);
		assert_int_equal(writes_of(first, at), 1);
		assert_int_equal(writes_of(other, at), 1);
	}
	close_journal();
}

/*
 * The space of a record that is home is used again, by one whose header has not reached the disk.
 * An older record is still whole. Without the checkpoint stamp it would seem to be the newest.
 */
static void one_checkpoint_slot_is_enough(void)
{
	for (u32 slot = 0; slot < ZJ_CKPT_SLOTS; slot++) {
		static const u8 other[DISK_BLOCK];
		struct image *image;
		struct log log;
		u32 at;

		OPEN();
		change(0, BLOCK, 1);
		commit(0);
		change(1, BLOCK, 2);
		commit(1);
		log_read(&log);
		at = log_image(&log, 3, BLOCK)->log_block;
		log_free(&log);
		assert_int_equal(zj_checkpoint(fx.zj, true), 0);
		image = cut_power();
		image->block[jblock(at)] = other;
		image->block[jblock(ZJ_BLOCK_CKPT + slot)] = other;
		assert_int_equal(recover_image(image), 0);
		assert_int_equal(image_val(image, BLOCK), 2);
		image_free(image);
		close_journal();
	}
}

/* ---- features ---- */

static void known_features_are_kept_for_stock(void)
{
	const u32 want = ZJ_JBD2_INCOMPAT_REVOKE | ZJ_JBD2_INCOMPAT_64BIT;
	struct zj_jbd2_super sb;

	OPEN();
	assert_int_equal(zj_journal_set_features(fx.journal, 0, 0, want), 1);
	assert_int_equal(unmount_journal(), 0);
	sb = super_on_disk();
	assert_int_equal(be32_to_cpu(sb.s_feature_incompat),
			 want | ZJ_JBD2_INCOMPAT_CSUM_V3);
	discard_disk();
}

static void unknown_features_are_refused_as_a_whole(void)
{
	u32 before;

	OPEN();
	before = fx.journal->j_superblock->s_feature_incompat;
	assert_int_equal(zj_journal_set_features(fx.journal, 0, 0,
			 ZJ_JBD2_INCOMPAT_REVOKE | ZJ_JBD2_INCOMPAT_FAST_COMMIT),
			 0);
	assert_int_equal(zj_journal_set_features(fx.journal, 0, 1, 0), 0);
	assert_int_equal(fx.journal->j_superblock->s_feature_incompat, before);
	close_journal();
}

static void one_kind_of_checksum_at_a_time(void)
{
	struct zj_jbd2_super *sb;

	OPEN();
	sb = fx.journal->j_superblock;
	/* Like a journal that has had no checksums so far. */
	sb->s_checksum_type = 0;
	assert_int_equal(zj_journal_set_features(fx.journal, 0, 0,
						 ZJ_JBD2_INCOMPAT_CSUM_V2), 1);
	assert_int_equal(sb->s_checksum_type, ZJ_JBD2_CRC32C);
	assert_int_equal(be32_to_cpu(sb->s_feature_incompat) &
			 (ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_CSUM_V3),
			 ZJ_JBD2_INCOMPAT_CSUM_V2);
	zj_journal_clear_features(fx.journal, 0, 0, ZJ_JBD2_INCOMPAT_CSUM_V2);
	assert_int_equal(be32_to_cpu(sb->s_feature_incompat) &
			 ZJ_JBD2_INCOMPAT_CSUM_V2, 0);
	sb->s_feature_compat = cpu_to_be32(3);
	zj_journal_clear_features(fx.journal, 1, 0, 0);
	assert_int_equal(be32_to_cpu(sb->s_feature_compat), 2);
	sb->s_feature_compat = 0;
	close_journal();
}

static void call_super_write(struct fiber *f)
{
	mutex_lock(&fx.zj->super_lock);
	f->ret = zj_super_write(fx.zj);
	mutex_unlock(&fx.zj->super_lock);
}

/* A failed write changes nothing about the buffer: its contents are ours. */
static void super_block_is_written_again_after_an_error(void)
{
	struct fiber *f;

	OPEN();
	fail_next_write();
	f = GO(call_super_write);
	join(f);
	assert_int_equal(f->ret, -EIO);
	assert_true(buffer_uptodate(fx.zj->sb_bh));
	fx.hold_block = jblock(0);
	f = GO(call_super_write);
	settle();
	/* It is in flight, so it must not be read from the device now. */
	assert_true(buffer_uptodate(fx.zj->sb_bh));
	release();
	join(f);
	assert_int_equal(f->ret, 0);
	assert_false(buffer_dirty(fx.zj->sb_bh));
	close_journal();
}

static u32 errno_after_crash(void)
{
	struct image *image = cut_power();
	const struct zj_jbd2_super *sb = (const void *)image->block[jblock(0)];
	u32 err = be32_to_cpu(sb->s_errno);

	image_free(image);
	return err;
}

/* Writes the dirty buffers of its folio, as write-back of other blocks in it does. */
static void write_folio_back(struct fiber *f)
{
	write_dirty_buffer(fx.zj->sb_bh, 0);
}

/* It is durable on return, whatever other tasks write back meanwhile. */
static void super_block_is_not_for_others_to_write_back(void)
{
	bool more;
	int n = 0;

	OPEN();
	do {
		fx.journal->j_superblock->s_errno = cpu_to_be32(++n);
		more = preempt_at(n, CALL(call_super_write), CALL(write_folio_back));
		assert_int_equal(errno_after_crash(), n);
	} while (more);
	assert_true(n > 3);
	fx.journal->j_superblock->s_errno = 0;
	close_journal();
}

static void call_set_features(struct fiber *f)
{
	f->ret = zj_journal_set_features(fx.journal, 0, 0, ZJ_JBD2_INCOMPAT_CSUM_V2);
}

/* A remount does not change what is being summed up. */
static void features_wait_for_a_write_of_the_super_block(void)
{
	struct zj_jbd2_super before;
	struct fiber *f, *g;

	OPEN();
	f = GO(call_super_write);
	fx.hold_block = jblock(0);
	settle();
	before = *fx.journal->j_superblock;
	g = GO(call_set_features);
	settle();
	assert_memory_equal(fx.journal->j_superblock, &before, sizeof(before));
	release();
	join(f);
	join(g);
	assert_int_equal(g->ret, 1);
	assert_memory_not_equal(fx.journal->j_superblock, &before, sizeof(before));
	close_journal();
}

/* The live mark does not count as written, either. */
static void log_that_goes_live_while_barriers_come_back(bool jbd2)
{
	OPEN(.lanes = 1, .jbd2 = jbd2);
	report_data();
	zj_journal_lock_updates(fx.journal);
	assert_int_equal(zj_journal_flush(fx.journal, 0), 0);
	zj_journal_unlock_updates(fx.journal);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	change(0, BLOCK, 1);
	fx.hold_block = jblock(0);
	seal(0);
	settle();
	assert_int_equal(nr_held(), 1);
	fx.journal->j_flags |= JBD2_BARRIER;
	release();
	settle();
	assert_int_equal(val_after_crash(BLOCK), 1);
	close_journal();
}

static void live_log_is_durable_when_barriers_come_back(void)
{
	log_that_goes_live_while_barriers_come_back(false);
	log_that_goes_live_while_barriers_come_back(true);
}

/* Nothing in the log says what was durable: the checkpoint stamp need not be. */
static void checkpoint_without_barriers_does_not_flush(void)
{
	u32 flushes;

	OPEN(.new = true);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	change(0, BLOCK, 1);
	commit(0);
	flushes = fx.disk->flushes;
	change(0, BLOCK, 2);
	commit(0);
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(fx.disk->flushes, flushes);
	fx.journal->j_flags |= JBD2_BARRIER;
	close_journal();
	/*
	 * The first chunk of a generation names no stamp either, as nothing was durable
	 * before.
	 */
	OPEN(.new = true);
	change(0, BLOCK, 1);
	commit(0);
	fx.journal->j_flags &= ~JBD2_BARRIER;
	flushes = fx.disk->flushes;
	assert_int_equal(zj_checkpoint(fx.zj, true), 0);
	assert_int_equal(fx.disk->flushes, flushes);
	fx.journal->j_flags |= JBD2_BARRIER;
	close_journal();
}

/* Chunks name what was durable before them: without it the log has been damaged. */
static void what_was_durable_is_missed(void)
{
	struct image *image;
	u8 *block;
	u32 from;
	int at;

	OPEN();
	from = now();
	change(0, BLOCK, 1);
	commit(0);
	at = record_written(from);
	assert_true(at >= 0);
	block = calloc(1, DISK_BLOCK);
	image = cut_power();
	image->block[fx.disk->log[at].block] = block;
	assert_int_equal(recover_image(image), 0);
	assert_int_equal(image_val(image, BLOCK), 0);
	image_free(image);
	change(1, BLOCK + 1, 2);
	commit(1);
	image = cut_power();
	image->block[fx.disk->log[at].block] = block;
	image->quiet = true;
	assert_int_equal(recover_image(image), -EUCLEAN);
	image_free(image);
	free(block);
	close_journal();
}

/* Commits check whether the log is live, and do not wait for a write of block 0. */
static void commit_does_not_wait_for_the_super_block(void)
{
	OPEN();
	change(0, BLOCK, 1);
	mutex_lock(&fx.zj->super_lock);
	seal(0);
	settle();
	assert_int_equal(val_after_crash(BLOCK), 1);
	mutex_unlock(&fx.zj->super_lock);
	close_journal();
}

CORE_TESTS(super,
	CORE_TEST(super_block_is_written_again_after_an_error),
	CORE_TEST(super_block_is_not_for_others_to_write_back),
	CORE_TEST(bad_super_blocks_are_refused_and_nothing_is_written),
	CORE_TEST(wrong_checksum_is_refused),
	CORE_TEST(super_block_without_checksums_is_fine),
	CORE_TEST(version_1_is_taken_and_becomes_version_2),
	CORE_TEST(start_outside_the_journal_is_refused),
	CORE_TEST(too_short_a_journal_is_told),
	CORE_TEST(shorter_journal_than_its_inode_is_taken_as_it_says),
	CORE_TEST(inode_may_claim_any_size),
	CORE_TEST(journal_longer_than_the_device_is_refused),
	CORE_TEST(mount_alone_writes_nothing),
	CORE_TEST(clean_mount_and_unmount_write_nothing),
	CORE_TEST(live_before_the_first_record),
	CORE_TEST(two_lanes_make_it_live_once),
	CORE_TEST(clean_after_the_last_home_write),
	CORE_TEST(every_mount_has_another_generation),
	CORE_TEST(generation_grows_when_it_is_live_again),
	CORE_TEST(clean_that_cannot_be_written_stays_live),
	CORE_TEST(next_mount_reads_what_the_device_has),
	CORE_TEST(every_write_of_the_first_commit_may_fail),
	CORE_TEST(commit_that_cannot_make_it_live_aborts),
	CORE_TEST(checkpoint_slots_are_written_one_after_the_other),
	CORE_TEST(one_checkpoint_slot_is_enough),
	CORE_TEST(known_features_are_kept_for_stock),
	CORE_TEST(unknown_features_are_refused_as_a_whole),
	CORE_TEST(features_wait_for_a_write_of_the_super_block),
	CORE_TEST(live_log_is_durable_when_barriers_come_back),
	CORE_TEST(what_was_durable_is_missed),
	CORE_TEST(checkpoint_without_barriers_does_not_flush),
	CORE_TEST(commit_does_not_wait_for_the_super_block),
	CORE_TEST(one_kind_of_checksum_at_a_time),
);
