# SPDX-License-Identifier: GPL-2.0-only
# wrong: an unmount that cannot write a block home clears needs_recovery: synced files are lost
# hit: write errors that pass
# since: SB_RDONLY is no longer set by errors
# right: needs_recovery stays set, and the next mount replays
# patch: 50-super-block
#
# Directories are synced; at the unmount all but the super block and the journal refuses writes.
. /lib/zj/dm.sh
dm_good
mk $DM -J size=16
mnt $DM commit=300
for n in 1 2 3 4 5; do mkdir /mnt/d$n; echo $n >/mnt/d$n/f; fsctl fsync /mnt/d$n/f /mnt/d$n /mnt || die fsync; done
journal_range
_end=$((JFIRST + JCOUNT))
dm_set "$(dm_piece good 0 8)
$(dm_piece error_writes 8 $((JFIRST - 8)))
$(dm_piece good $JFIRST $JCOUNT)
$(dm_piece error_writes $_end $(($(dm_size) - _end)))"
umount /mnt
dumpe2fs -h $DM 2>/dev/null | grep -q needs_recovery && flag="is set" || flag="is clear"
dm_good
mnt $DM
left=0
for n in 1 2 3 4 5; do [ "$(cat /mnt/d$n/f 2>/dev/null)" = $n ] && left=$((left + 1)); done
umount /mnt
said=$(complaints $BACK)
dmsetup remove faulty
[ $left = 5 ] || shown "$left of 5 synced files are left; needs_recovery $flag after the unmount; e2fsck: ${said:-nothing}"
not_shown "all synced files are there; needs_recovery $flag after the unmount"
