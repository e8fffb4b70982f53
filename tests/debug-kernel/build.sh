#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Build the debug kernel once and keep it.
#
#   build.sh [OUT]        OUT defaults to build/debug-kernel of this tree
#
# Environment: LINUX_SOURCE  tar file of the kernel source
#              JOBS          parallel compile jobs (default: CPUs, at most 4)
#
# Result in OUT: bzImage, release (its uname -r), config,
#   linux/    the built tree, to be given as KDIR to module builds
#   modules/  the root of an installed lib/modules/$(cat release)

set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../../build/debug-kernel}
src=${LINUX_SOURCE:-/usr/src/linux-source-6.12.tar.xz}
jobs=${JOBS:-$(nproc)}
[ "$jobs" -le 4 ] || jobs=4

say() { echo "debug-kernel: $*"; }
die() { echo "debug-kernel: error: $*" >&2; exit 1; }

for tool in gcc make flex bison bc xz depmod flock; do
	command -v "$tool" >/dev/null || die "$tool not found;" \
		"run: apt-get install gcc make flex bison bc xz-utils kmod util-linux"
done
[ -e /usr/include/gelf.h ] || die "gelf.h not found; run: apt-get install libelf-dev"
[ -r "$src" ] || die "$src is not readable; run: apt-get install" \
	"linux-source-6.12, or set LINUX_SOURCE"

mkdir -p "$out"
out=$(cd "$out" && pwd)
tree=$out/linux
exec 9>"$out/lock"
flock -n 9 || { say "waiting for another build"; flock 9; }

src_key=$(sha256sum <"$src")
key=$(cat "$here/config" "$here/build.sh" | sha256sum)$src_key

if [ "$(cat "$out/done" 2>/dev/null)" = "$key" ]; then
	say "up to date: $out/bzImage ($(cat "$out/release"))"
	exit 0
fi
rm -f "$out/done"

if [ "$(cat "$out/unpacked" 2>/dev/null)" != "$src_key" ]; then
	say "unpacking $src"
	rm -rf "$tree" "$out/unpacked"
	mkdir "$tree"
	# Leave out the bulk that an x86 build never reads.
	tar -C "$tree" -xf "$src" --strip-components=1 --wildcards \
		--exclude='*/arch/[!x]*/*.[chS]' --exclude='*/drivers/gpu/*.[ch]' \
		--exclude='*/tools/perf' --exclude='*/tools/testing' \
		--exclude='*/Documentation/[!K]*'
	echo "$src_key" >"$out/unpacked"
fi

kmake() { make -C "$tree" ARCH=x86_64 LOCALVERSION= "$@"; }

say "configuring"
kmake -s KCONFIG_ALLCONFIG="$here/config" allnoconfig >"$out/config.log" 2>&1 ||
	{ cat "$out/config.log" >&2; die "the configuration failed"; }
grep -E '^(# )?CONFIG_' "$here/config" | sort >"$out/want"
missed=$(while read -r line; do
	case $line in
	'# '*)	name=${line#\# }; name=${name%% *}
		! grep -q "^$name=" "$tree/.config" || echo "$line" ;;
	*)	grep -qxF "$line" "$tree/.config" || echo "$line" ;;
	esac
done <"$out/want")
rm -f "$out/want"
[ -z "$missed" ] || die "these lines of $here/config had no effect" \
	"(a dependency is off, or this source lacks them):
$missed"

say "building with $jobs jobs (log: $out/build.log)"
if ! kmake -j"$jobs" bzImage modules >"$out/build.log" 2>&1; then
	tail -n 30 "$out/build.log" >&2
	die "the build failed; see $out/build.log"
fi

rm -rf "$out/modules"
kmake -s INSTALL_MOD_PATH="$out/modules" modules_install >>"$out/build.log" 2>&1 ||
	die "installing the modules failed; see $out/build.log"
cp "$tree/arch/x86/boot/bzImage" "$out/bzImage"
cp "$tree/.config" "$out/config"
kmake -s kernelrelease >"$out/release"
echo "$key" >"$out/done"
say "built: $out/bzImage ($(cat "$out/release"))"
