#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# git as loads of bench.sh; see bench/apps/__init__.py.
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/tmp/gitconfig GIT_TEMPLATE_DIR=

# A repository with the tags one and two in the directory of each of loadgen's workers
app_prepare() {
	cat >/tmp/gitconfig <<-END
	[user]
		name = bench
		email = bench
	[gc]
		auto = 0
	[safe]
		directory = *
	END
	for w in $(seq 0 $((WORKERS - 1))); do
		mkdir -p $fs/app/w$w || die mkdir
		(cd $fs/app/w$w && tar -x -f "$AT/repository.tar" && mkdir -p .git/refs/heads .git/refs/tags &&
			git checkout -q -f one) || die "no repository"
	done
}

app_run() {
	case $LOAD in
	git-commit) set -- 'echo $N >>line && git add line && git -c core.fsync=all commit -q -m $N' ;;
	git-checkout) set -- 'case $((N % 2)) in 0) git checkout -q two ;; 1) git checkout -q one ;; esac' ;;
	esac
	loadgen -d $fs/app -w "$WORKERS" -t shell -T "$MS" -r -H "$1"
}

app_check() {
	for dir in $fs/app/w*; do
		git -C "$dir" fsck --strict --no-dangling --no-progress || die "git fsck: $dir"
		echo "fsck clean"
		echo "changed $(git -C "$dir" status --porcelain | wc -l)"
		echo "commits $(git -C "$dir" rev-list --count one..HEAD)"
	done
}
