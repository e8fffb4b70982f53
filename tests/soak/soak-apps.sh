# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# The applications of a soak, each with
#   APP_prepare   once in a life; all that it makes is durable when it returns
#   APP_run       until it is killed; notes in $ACK what is durable
#   APP_check     after a crash: dies if something is not there that was noted

# acked FILE: what was noted and not taken back by a later line "-NAME"
acked() {
	[ -e "$ACK/$1" ] || return 0
	awk '/^-/ { delete noted[substr($0, 2)]; next } { noted[$0] } END { for (name in noted) print name }' "$ACK/$1"
}

# ---- git: commits, with all its files and then its directories synced ----

git_prepare() {
	git init -q -b main /mnt/git && fsctl syncfs /mnt || die "git init"
}

git_run() {
	cd /mnt/git || die "no repository"
	find . -name '*.lock' | xargs rm -f
	n=0
	while n=$((n + 1)); do
		seq $n $((n + 100)) >file$((n % 20)) && echo "$CYCLE $n" >>log
		git add -A && git commit -q -m "$CYCLE $n" || die "git commit"
		# git syncs its files, not the directories that name them
		find .git -type d | xargs fsctl fsync || die "fsync of .git"
		git rev-parse HEAD >>$ACK/git || die "git rev-parse"
	done
}

git_clean() {
	git fsck --strict --no-dangling --no-progress "$@" >/tmp/git.out 2>&1
}

git_check() {
	last=
	cd /mnt/git || die "no repository"
	find . -name '*.lock' | xargs rm -f
	if [ -s $ACK/git ]; then
		last=$(tail -n 1 $ACK/git)
		git rev-list --objects "$last" | cut -d' ' -f1 | git cat-file --batch-check >/tmp/git.objects ||
			die "git: commit $last cannot be read"
		! grep missing /tmp/git.objects || die "git: objects of commit $last are missing"
		git rev-list "$last" >/tmp/git.known
		[ -z "$(grep -vxFf /tmp/git.known $ACK/git)" ] || die "git: commits that were noted are lost"
	fi
	if ! git_clean; then
		# Whoever syncs files only, and not the directories that name them, may find a newer branch
		# whose objects are not there, unless each sync makes all that is older durable, too.
		[ -z "$STRICT" ] || die "git fsck: $(cat /tmp/git.out)"
		echo "git: back to what was noted: $(head -n 3 /tmp/git.out)"
		rm -rf .git/logs .git/index .git/ORIG_HEAD .git/refs/heads/main
		[ -z "$last" ] || { echo "$last" >.git/refs/heads/main && git read-tree "$last"; } || die "git read-tree"
		git_clean || die "git fsck: $(cat /tmp/git.out)"
		echo "count git resets"
	fi
	[ -n "$last" ] || return 0
	git rev-list HEAD >/tmp/git.known || die "git: no branch"
	grep -qxF "$last" /tmp/git.known || die "git: $last is not on the branch"
	echo "checked commits $(acked git | wc -l)"
}

# ---- SQLite: rows, with both kinds of journal ----

sqlite_prepare() {
	mkdir /mnt/sqlite && fsctl syncfs /mnt || die mkdir
}

sqlite_run() {
	mkdir -p /mnt/sqlite/$CYCLE && fsctl syncfs /mnt || die mkdir
	sqlload wal /mnt/sqlite/$CYCLE/wal.db $ACK/rows.$CYCLE.wal &
	one=$!
	sqlload delete /mnt/sqlite/$CYCLE/delete.db $ACK/rows.$CYCLE.delete
	wait $one
	die "sqlload ended"
}

sqlite_check() {
	for log in "$ACK"/rows.*; do
		[ -s "$log" ] || continue
		name=${log##*/rows.}
		db=/mnt/sqlite/${name%.*}/${name#*.}.db
		sqlload check "$db" "$log" >/tmp/rows.out 2>&1 || die "SQLite, $name: $(cat /tmp/rows.out)"
		[ "$(sqlite3 "$db" 'pragma integrity_check')" = ok ] || die "SQLite finds damage in $db"
		echo "checked rows $(awk '/^checked/ { print $2 }' /tmp/rows.out)"
	done
}

# ---- tar and rsync: trees, synced as a whole or file by file ----

trees_prepare() {
	mkdir /mnt/trees && fsctl syncfs /mnt || die mkdir
}

drop_tree() {
	echo "-$1" >>$ACK/trees
	rm -rf "/mnt/trees/$1"
}

trees_run() {
	cd /mnt/trees || die "no directory"
	for old in *; do
		acked trees | grep -qxF "$old" && [ "$old" != "$(acked trees | tail -n 1)" ] && drop_tree "$old"
	done
	n=0
	while n=$((n + 1)); do
		d=$CYCLE.$n
		rm -rf $d.tar $d.rsync
		mkdir $d.tar && tar -x -C $d.tar -f /share/tree.tar || die "tar"
		fsctl syncfs . && echo "$d.tar" >>$ACK/trees
		rsync -a --fsync $d.tar/ $d.rsync/ || die "rsync"
		find $d.rsync -type d | xargs fsctl fsync && fsctl fsync . || die "fsync"
		echo "$d.rsync" >>$ACK/trees
		[ $n -lt 4 ] || { drop_tree "$CYCLE.$((n - 3)).tar"; drop_tree "$CYCLE.$((n - 2)).rsync"; }
	done
}

trees_check() {
	for name in $(acked trees); do
		(cd "/mnt/trees/$name" && md5sum -c /share/tree.md5) >/tmp/md5.out 2>&1 ||
			die "trees: $name: $(grep -v ': OK$' /tmp/md5.out | head -n 5)"
		echo "checked files $(grep -c OK /tmp/md5.out)"
	done
}

# ---- stress: all kinds of operations, with files that are synced and noted ----

stress_prepare() {
	mkdir /mnt/stress && fsctl syncfs /mnt || die mkdir
}

stress_run() {
	mkdir -p /mnt/stress/$CYCLE || die mkdir
	stress -p 3 -t 1000000 -s "$SEED" -l $ACK/stress.$CYCLE /mnt/stress/$CYCLE
	die "stress ended"
}

stress_check() {
	for log in "$ACK"/stress.*.0; do
		log=${log%.0}
		[ -s "$log.0" ] || [ -s "$log.1" ] || [ -s "$log.2" ] || continue
		stress -v "$log" "/mnt/stress/${log##*.}" >/tmp/stress.out 2>&1 ||
			die "stress: $(tail -n 5 /tmp/stress.out)"
		echo "checked syncs $(awk '/^checked/ { print $2 }' /tmp/stress.out)"
	done
}

# ---- build: an image as container builds make it, layer by layer on an overlay ----

build_prepare() {
	mkdir -p /mnt/build/base && tar -x -C /mnt/build/base -f /share/sources.tar || die "sources"
	fsctl syncfs /mnt || die syncfs
}

# As packages are unpacked: each file gets its name when it is whole.
build_install() {
	for file in "$1"/*.o; do
		cp "$file" "$2/.new" && fsctl fsync "$2/.new" && mv "$2/.new" "$2/${file##*/}" || die "install"
	done
}

build_run() {
	cd /mnt/build || die "no directory"
	rm -rf up.* work.*
	n=0
	while n=$((n + 1)); do
		layer=$CYCLE.$n
		mkdir -p up.$layer work.$layer /tmp/overlay || die mkdir
		mount -t overlay -o lowerdir=base,upperdir=up.$layer,workdir=work.$layer overlay /tmp/overlay ||
			die "overlay: $(dmesg | tail -n 3)"
		(cd /tmp/overlay && mkdir -p lib && make -s -j 2 all && rm -f unit1.c && mv unit2.c unit2.old &&
			echo "$layer" >release) >/tmp/build.out 2>&1 || die "make: $(tail -n 5 /tmp/build.out)"
		build_install /tmp/overlay /tmp/overlay/lib
		umount /tmp/overlay || die "umount of the overlay"
		tar -c -C up.$layer -f layer.$layer.tar . && fsctl fsync layer.$layer.tar . || die "layer"
		md5sum layer.$layer.tar >>$ACK/layers
		rm -rf up.$layer work.$layer
	done
}

build_check() {
	[ -s $ACK/layers ] || return 0
	(cd /mnt/build && md5sum -c $ACK/layers) >/tmp/md5.out 2>&1 ||
		die "build: $(grep -v ': OK$' /tmp/md5.out | head -n 5)"
	echo "checked layers $(grep -c OK /tmp/md5.out)"
}
