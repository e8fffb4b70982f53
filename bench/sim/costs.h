/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What things cost on the simulated machine: COST(name, nanoseconds, source).  Every
 * program takes --NAME NS in place of each of them.
 *
 * A source that begins with "fitted" is a comparison with bench/core by the clock at one
 * thread, which bench/sim.py prints; one that begins with "assumed" is the order of size that is
 * generally known, without a measurement that was looked up for it. What was "measured" is our
 * own, the median of 2,001 runs. All others are published measurements. Where these differ, the
 * default is from the low end of servers, because a dear cache line makes the journal that shares
 * more lines look worse than it is.
 */
COST(access, 0.05, "fitted: a load or store that hits this CPU's cache, with the instructions around it")
COST(call, 0.2, "fitted: a function call")
COST(atomic, 4.8, "a locked instruction on a line that this CPU has: 18 cycles (uops.info: LOCK INC, 18 on Alder Lake-P, 20 on Rocket Lake) at 3.75 GHz")
COST(line, 50, "a line that another CPU has written: median of core-to-core-latency (github.com/nviennot/core-to-core-latency): Xeon E5-2695 v4 44, Platinum 8275CL 47, Gold 6242 48, Platinum 8375C 51, EPYC 7773X 115, between sockets more; two threads of bench/core fit 50 to 65")
COST(shared, 20, "a line that others have read, from the last cache: 46 cycles on a Xeon 8280 (AnandTech, EPYC Rome review) and the way there")
COST(l2, 4, "a line that has left the CPU's first cache: 12 to 14 cycles (the same source)")
COST(l3, 18, "a line that has left its second cache: 34 cycles on EPYC Rome, 46 on a Xeon 8280 (the same source)")
COST(cold, 6, "fitted: a line that no CPU has used yet; prefetched as a rule")
COST(alloc, 8, "fitted: an object of a slab, allocated or freed from the CPU's own list")
COST(copy, 0.05, "a byte copied by memcpy(): 4 KiB in 60 to 105 ns from the CPU's own caches, 160 to 215 from the last one, measured on an EPYC 9004")
COST(crc, 0.035, "a byte of crc32c in three streams: 4 KiB in 142 ns, measured on an EPYC 9004 at 3.7 GHz; no CPU needs less than 512 cycles (one CRC32 a cycle: uops.info)")
COST(hash, 0.095, "a byte of XXH64: 4 KiB in 388 ns, measured on the same CPU; none needs less than 1,024 cycles (8 multiplications for 32 bytes, one a cycle)")
COST(wake, 500, "assumed: CPU time of try_to_wake_up() for a task of another CPU, its interrupt included; the low end of 0.3 to 1 us, since stock wakes more")
COST(latency, 2500, "from there until the task runs on an idle CPU: leaving the idle state C1 (2 us: cpuidle's expected latency on Broadwell and Skylake servers) and half a microsecond")
COST(cswitch, 1200, "a context switch on one CPU: 1.07 us between threads, 2.4 us between processes over a pipe (ddumbying.vercel.app, i7 of the 11th generation); 1 to 5 us in most texts")
COST(submit, 900, "assumed: CPU time of submit_bio() to the NVMe driver's doorbell")
COST(interrupt, 900, "assumed: CPU time of a completion, bi_end_io aside")
COST(device_write, 15000, "assumed: a write into the cache of a data centre NVMe drive, 10 to 20 us")
COST(device_flush, 300000, "a flush of a drive with a volatile cache, as tests/yardstick's ssd; none on drives with power-loss protection")
COST(device_fua, 80000, "what FUA adds, as tests/yardstick's ssd")
COST(device_block, 1170, "the link, for 4 KiB: 3.5 GB/s, sequential writes of a PM9A3 (heise.de/-4720224)")
COST(device_request, 5000, "assumed: no drive begins more than 200,000 requests a second; data sheets of data centre drives have 60,000 to 250,000 random writes")
COST(memory_block, 400, "assumed: 4 KiB written to a device in memory by the CPU that submits, 10 GB/s")
COST(memory_share, 40, "assumed: 4 KiB of all CPUs' writes to a device in memory, 100 GB/s, half of what eight channels of DDR4-3200 read")
COST(nvm_line, 10, "assumed: 64 bytes stored past the cache, 6.4 GB/s for a CPU, to DRAM behind the platform's power-fail protection; less for Optane")
COST(nvm_fence, 100, "assumed: a fence until such stores are in the memory controller's queue")
