/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What things cost on the simulated machine: COST(name, nanoseconds, source).  Every
 * program takes --NAME NS in place of each of them.
 *
 * The costs of the code itself (access, call, cold, alloc) are fitted to bench/core by the clock
 * at one thread; bench/sim.py prints both. The costs of communication are published
 * measurements. Where they differ, the default is from the low end of servers, because a dear
 * cache line makes the journal that shares more lines look worse than it is.
 */
COST(access, 0.05, "fitted: a load or store that hits this CPU's cache, with the instructions around it")
COST(call, 0.2, "fitted: a function call")
COST(atomic, 4.8, "a locked instruction on a line that this CPU has: 17 to 20 cycles at 3.6 GHz (Agner Fog, instruction tables, Skylake to Ice Lake: LOCK ADD, LOCK CMPXCHG)")
COST(line, 50, "a line that another CPU has written: median of core-to-core-latency (github.com/nviennot/core-to-core-latency): Xeon E5-2695 v4 44, Platinum 8275CL 47, Gold 6242 48, Platinum 8375C 51, EPYC 7773X 115, between sockets more; two threads of bench/core fit 50 to 65")
COST(shared, 20, "a line that others have read, from the L3 cache: Xeon 8280 about 18 to 25 (AnandTech, EPYC Rome review), EPYC Rome 10 in its own CCX")
COST(l2, 4, "a line that has left the CPU's L1 cache: 12 to 14 cycles (AnandTech, EPYC Rome review: 3.9 ns for a Xeon 8280)")
COST(l3, 18, "a line that has left its L2 cache: 46 cycles and more on a Xeon 8280, 34 on EPYC Rome (the same source)")
COST(cold, 6, "fitted: a line that no CPU has used yet; prefetched as a rule")
COST(alloc, 8, "fitted: an object of a slab, allocated or freed from the CPU's own list")
COST(copy, 0.05, "a byte copied or checksummed: 20 GB/s from the cache, as memcpy() and crc32c with PCLMULQDQ reach")
COST(hash, 0.1, "a byte hashed by XXH64: 10 GB/s (xxHash's own table: 13 to 20 GB/s at 4.9 GHz)")
COST(wake, 500, "CPU time of try_to_wake_up() for a task of another CPU, its interrupt included: 0.3 to 1 us in published traces; the low end, since stock wakes more")
COST(latency, 2500, "from there until the task runs on an idle CPU: interrupt, leaving the idle state C1 (2 us in intel_idle's table for Skylake servers: exit_latency), switch")
COST(cswitch, 1200, "a context switch on one CPU: lmbench lat_ctx and others, 1 to 2 us")
COST(submit, 900, "CPU time of submit_bio() to the end of the NVMe driver's doorbell: 0.8 to 1 us (Hwang et al., I/O stack analyses: AIOS, USENIX ATC 2019, table 1)")
COST(interrupt, 900, "CPU time of a completion: interrupt, blk-mq, bi_end_io aside (the same source)")
COST(device_write, 15000, "a write into the cache of a data centre NVMe drive: 10 to 20 us (data sheets of P4510, PM983)")
COST(device_flush, 300000, "a flush of a drive with a volatile cache, as tests/yardstick's ssd; 0 for drives with power-loss protection")
COST(device_fua, 80000, "what FUA adds, as tests/yardstick's ssd")
COST(device_block, 1000, "the link, for 4 KiB: 4 GB/s, sequential writes of PCIe 4 data centre drives (data sheets of PM9A3, P5510)")
COST(memory_block, 400, "4 KiB written to a device in memory, by the CPU that submits: 10 GB/s")
COST(memory_share, 40, "4 KiB of all CPUs' writes to a device in memory: 100 GB/s, half of what eight channels of DDR4-3200 read")
COST(nvm_line, 10, "64 bytes stored past the cache: 6.4 GB/s for a CPU, of DRAM behind the platform's power-fail protection; 2 GB/s and less for Optane")
COST(nvm_fence, 100, "sfence until such stores are in the controller's queue (Yang et al., FAST 2020: 62 to 90 ns for a store with fence)")
