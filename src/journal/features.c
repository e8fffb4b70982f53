// SPDX-License-Identifier: GPL-2.0-only
/* Journal features, which ext4 sets at every mount. */
#include "core/journal.h"
#include <linux/module.h>
#include <linux/mutex.h>

static const u32 can_incompat = ZJ_JBD2_INCOMPAT_REVOKE | ZJ_JBD2_INCOMPAT_64BIT |
				ZJ_JBD2_INCOMPAT_ASYNC_COMMIT |
				ZJ_JBD2_INCOMPAT_CSUM_V2 |
				ZJ_JBD2_INCOMPAT_CSUM_V3;

int zj_journal_check_available_features(journal_t *journal,
					unsigned long compat, unsigned long ro,
					unsigned long incompat)
{
	return !(compat & ~(unsigned long)ZJ_JBD2_COMPAT_CHECKSUM) && !ro &&
	       !(incompat & ~(unsigned long)can_incompat);
}
EXPORT_SYMBOL_GPL(zj_journal_check_available_features);

/*
 * The features must not change while a log in stock's format is live, because
 * block 0 says with them how all of the log is to be read.
 */
static bool features_fixed(struct zj_journal *zj)
{
	return WARN_ON_ONCE(zj->log_ops->obeys_features && zj->live);
}

/**
 * zj_journal_set_features() - set the features that stock would use on this
 * journal
 * @journal: the journal
 * @compat: compatible ones
 * @ro: read-only compatible ones
 * @incompat: incompatible ones
 *
 * They have no meaning for lanes, which always have 64-bit blocks, checksums
 * and revokes; block 0 keeps them for the next stock mount. A log in stock's
 * format is written as they say.
 *
 * Return: 1 if all are known; otherwise 0, and nothing is set.
 */
int zj_journal_set_features(journal_t *journal, unsigned long compat,
			    unsigned long ro, unsigned long incompat)
{
	struct zj_jbd2_super *sb = journal->j_superblock;

	if (!zj_journal_check_available_features(journal, compat, ro, incompat))
		return 0;
	if (features_fixed(to_zj(journal)))
		return 0;
	mutex_lock(&to_zj(journal)->super_lock);
	if (incompat & (ZJ_JBD2_INCOMPAT_CSUM_V2 | ZJ_JBD2_INCOMPAT_CSUM_V3)) {
		/* Only one kind of checksum may be set. */
		sb->s_feature_incompat &= ~cpu_to_be32(ZJ_JBD2_INCOMPAT_CSUM_V2 |
						       ZJ_JBD2_INCOMPAT_CSUM_V3);
		sb->s_feature_compat &= ~cpu_to_be32(ZJ_JBD2_COMPAT_CHECKSUM);
		sb->s_checksum_type = ZJ_JBD2_CRC32C;
	}
	sb->s_feature_compat |= cpu_to_be32(compat);
	sb->s_feature_incompat |= cpu_to_be32(incompat);
	mutex_unlock(&to_zj(journal)->super_lock);
	return 1;
}
EXPORT_SYMBOL_GPL(zj_journal_set_features);

void zj_journal_clear_features(journal_t *journal, unsigned long compat,
			       unsigned long ro, unsigned long incompat)
{
	struct zj_jbd2_super *sb = journal->j_superblock;

	if (features_fixed(to_zj(journal)))
		return;
	mutex_lock(&to_zj(journal)->super_lock);
	sb->s_feature_compat &= ~cpu_to_be32(compat);
	sb->s_feature_incompat &= ~cpu_to_be32(incompat);
	mutex_unlock(&to_zj(journal)->super_lock);
}
EXPORT_SYMBOL_GPL(zj_journal_clear_features);
