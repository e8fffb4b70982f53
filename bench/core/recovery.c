// SPDX-License-Identifier: GPL-2.0-only
/* A log of transactions that nothing of is home, a power cut, and the load after it. */
#include <stdio.h>
#include <stdlib.h>
#include "core.h"

#define LOGGED		8192u	/* blocks, each once */
#define PER_HANDLE	16u
#define PER_COMMIT	512u

/* Returns what is on the device after a power cut. */
static u8 *crash(void)
{
	struct fs fs;
	u8 *contents;

	fs_new(&fs, LOGGED);
	for (u32 b = 0; b < LOGGED; b += PER_HANDLE) {
		tid_t tid = fs_write(&fs, b / PER_COMMIT % core.lanes, b, PER_HANDLE);

		if ((b + PER_HANDLE) % PER_COMMIT == 0)
			fs_sync(&fs, tid);
	}
	contents = mem_disk_copy(fs.disk);
	for (u32 b = 0; b < LOGGED; b++)
		if (*(u32 *)(contents + (size_t)b * CORE_BLOCK))
			kl_fail("block %u is home already", b);
	fs_end(&fs);
	return contents;
}

void recovery_run(void)
{
	struct fs fs;
	s64 ns, cpu;
	u8 *contents = crash();

	cpu = process_ns();
	ns = fs_again(&fs, LOGGED, contents);
	cpu = process_ns() - cpu;
	for (u32 b = 0; b < LOGGED; b++)
		if (*(u32 *)(fs.disk->memory + (size_t)b * CORE_BLOCK) != 1)
			kl_fail("block %u was not recovered", b);
	printf("{\"mib\": %u, \"mib_per_s\": %.1f, \"mib_per_cpu_s\": %.1f}\n", LOGGED / 256,
	       LOGGED / 256 * 1e9 / ns, LOGGED / 256 * 1e9 / cpu);
	fs_end(&fs);
}
