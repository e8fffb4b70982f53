# SPDX-License-Identifier: GPL-2.0-only
# A device-mapper device over /dev/vda that can be made to fail.

modprobe -q dm_mod
modprobe -q dm_flakey
BACK=${BACK:-/dev/vda}
DM=/dev/mapper/faulty

dm_size() {
	blockdev --getsz $BACK
}

dm_good() {
	dm_set "0 $(dm_size) linear $BACK 0"
}

# all requests fail, or all writes
dm_dead() {
	dm_set "0 $(dm_size) error"
}
dm_no_writes() {
	dm_set "0 $(dm_size) flakey $BACK 0 0 600 1 error_writes"
}

# The journal, or all but the journal, refuses: dm_part journal|home error|error_writes
dm_part() {
	journal_range
	_end=$((JFIRST + JCOUNT))
	case $1 in
	journal) _home=good _log=$2 ;;
	home) _home=$2 _log=good ;;
	esac
	dm_set "$(dm_piece $_home 0 $JFIRST)
$(dm_piece $_log $JFIRST $JCOUNT)
$(dm_piece $_home $_end $(($(dm_size) - _end)))"
}

# dm_piece good|error|error_writes FIRST COUNT
dm_piece() {
	case $1 in
	good) echo "$2 $3 linear $BACK $2" ;;
	error) echo "$2 $3 error" ;;
	error_writes) echo "$2 $3 flakey $BACK $2 0 600 1 error_writes" ;;
	esac
}

# Sectors of the journal; it must be one extent.
journal_range() {
	[ -z "$JFIRST" ] || return 0
	_bs=$(dumpe2fs -h $BACK 2>/dev/null | sed -n 's/^Block size: *//p')
	_ext=$(debugfs -c -R 'ex <8>' $BACK 2>/dev/null | awk '$1 == "0/" {print $8, $NF}')
	set -- $_ext
	[ $# = 2 ] || die "the journal is not one extent: $_ext"
	JFIRST=$(($1 * _bs / 512))
	JCOUNT=$(($2 * _bs / 512))
}

dm_set() {
	if [ -e $DM ]; then
		dmsetup suspend --nolockfs --noflush faulty || die "suspend"
		echo "$1" | dmsetup load faulty || die "load"
		dmsetup resume faulty || die "resume"
	else
		echo "$1" | dmsetup create faulty || die "create"
		[ -e $DM ] || dmsetup mknodes faulty
	fi
}
