#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# projects.sh DIR: each of DIR/w0, DIR/w1... gets a project of its own.
# projects.sh grow DIR WHILE: new projects come and go, as long as the file WHILE is there.
grow() {
	n=0
	while [ $n -lt 30 ] && [ -e "$2" ]; do
		: >"$1/g$n" && chattr -p $((1000 + 300 * n)) "$1/g$n" || exit 1
		[ $((n % 3)) = 0 ] || rm "$1/g$n"
		fsctl fsync "$1"
		n=$((n + 1))
	done
}

if [ "$1" = grow ]; then
	grow "$2" "$3"
	exit
fi
project=100
for file in "$1"/w*; do
	chattr -p $project "$file" || exit 1
	project=$((project + 1))
done
