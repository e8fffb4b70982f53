#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# projects.sh [grow] DIR: each of DIR/w0, DIR/w1... gets a project of its own. With grow, new
# projects come and go in the background for a while.
grow() {
	n=0
	while [ $n -lt 30 ]; do
		: >"$1/g$n" && chattr -p $((1000 + 300 * n)) "$1/g$n"
		[ $((n % 3)) = 0 ] || rm "$1/g$n"
		fsctl fsync "$1"
		n=$((n + 1))
	done
}

new=
[ "$1" != grow ] || { new=1; shift; }
project=100
for file in "$1"/w*; do
	chattr -p $project "$file" || exit 1
	project=$((project + 1))
done
[ -z "$new" ] || grow "$1" >/dev/null 2>&1 &
