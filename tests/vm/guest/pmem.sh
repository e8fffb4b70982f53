# SPDX-License-Identifier: GPL-2.0-only
# Persistent memory of the guest as /dev/pmem0, ..., each of them usable with DAX.

# The kernel gives DAX only to memory that it has page structs for.  For an NVDIMM it makes
# them only on request, and then records this in the NVDIMM's first 2 MiB.
pmem_dax() {
	_ns=$(basename "$(readlink -f "/sys/block/$1/device")")
	_region=/sys/bus/nd/devices/$_ns/..
	_pfn=$(cat $_region/pfn_seed) || return 1
	echo "$_ns" >/sys/bus/nd/drivers/nd_pmem/unbind || return 1
	cat /proc/sys/kernel/random/uuid >$_region/$_pfn/uuid &&
		echo ram >$_region/$_pfn/mode &&
		echo "$_ns" >$_region/$_pfn/namespace &&
		echo "$_pfn" >/sys/bus/nd/drivers/nd_pmem/bind
}

for m in nd_e820 nfit nd_pmem; do
	modprobe -q $m
done
cat /sys/bus/nd/devices/ndbus*/wait_probe >/dev/null
for _dev in $(cd /sys/block && ls -d pmem* 2>/dev/null); do
	[ "$(cat /sys/block/$_dev/queue/dax)" = 1 ] || pmem_dax $_dev ||
		die "$_dev: no DAX"
	# The block layer has no statistics of pmem until they are switched on.
	echo 1 >/sys/block/$_dev/queue/iostats || die "$_dev: no statistics"
done
