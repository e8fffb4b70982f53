# SPDX-License-Identifier: GPL-2.0-only
# wrong: SysRq u with a deleted file open records an error
# hit: orphan_file
# since: 5.15
# right: the file stays an orphan, and the next mount finishes it
# patch: 52-forced-readonly
mke2fs -q -F -t ext4 -b 4096 -O orphan_file /dev/vda 60M || die mke2fs
mnt /dev/vda
dd if=/dev/zero of=/mnt/open bs=64k count=20 2>/dev/null; sync
exec 9</mnt/open; rm /mnt/open; echo new >/mnt/new
mark sysrq
echo s >/proc/sysrq-trigger; sleep 1; echo u >/proc/sysrq-trigger
n=0; until grep -q ' /mnt .* ro' /proc/mounts; do
	sleep 0.2; n=$((n + 1)); [ $n -lt 100 ] || die "still read-write"
done
until dmesg | grep -q 'Emergency Remount complete'; do sleep 0.2; done
dd if=/dev/vda of=/dev/vdc bs=1M count=60 2>/dev/null
state=$(dumpe2fs -h /dev/vdc 2>/dev/null | sed -n 's/^Filesystem state: *//p')
errors=$(dumpe2fs -h /dev/vdc 2>/dev/null | sed -n 's/^FS Error count: *//p')
line=$(dmesg | sed -n "/$_mark/,\$p" | sed -n 's/.*\(EXT4-fs error .*\)/\1/p' | head -n 1)
exec 9<&-
umount /mnt
[ -z "$errors$line" ] || shown "state: $state; errors recorded: ${errors:-0}; the kernel says: $line"
not_shown "state: $state, no error recorded"
