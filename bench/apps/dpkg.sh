#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# dpkg as a load of bench.sh; see bench/apps/__init__.py.
dpkg="dpkg --root=root --log=log"

# A root directory with the first version in the directory of each of loadgen's workers
app_prepare() {
	for w in $(seq 0 $((WORKERS - 1))); do
		state=$fs/app/w$w/root/var/lib/dpkg
		mkdir -p $state/info $state/updates $state/triggers && touch $state/status $state/available || die mkdir
		(cd $fs/app/w$w && $dpkg --install "$AT/1.deb") || die "no first version"
	done
}

app_run() {
	loadgen -d $fs/app -w "$WORKERS" -t shell -T "$MS" -r -H \
		"$dpkg --install $AT/\$(((N + 1) % 2 + 1)).deb >/dev/null"
}

app_check() {
	for dir in $fs/app/w*; do
		cd "$dir" || die cd
		$dpkg --verify bench >/tmp/changed || die "dpkg --verify: $dir"
		state=$(dpkg-query --root=root --showformat='${db:Status-Status}' --show bench) || die "dpkg-query: $dir"
		echo "found $state, $(wc -l </tmp/changed) files changed"
		echo "installations $(grep -c ' status installed bench' log)"
		cd /
	done
}
