// SPDX-License-Identifier: GPL-2.0-only
/* The client side; the server is tests/yardstick/serve.c. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <klayer/bug.h>
#include "peer.h"

static int to = -1, from;		/* the second program's stdin and stdout */
static struct peer_shared *shared;
static const u8 *sent[PEER_BLOCKS];	/* what shared->disk has; NULL: unknown */

static void start(const char *program)
{
	int in[2], out[2], fd = memfd_create("disk", 0);

	if (fd < 0 || ftruncate(fd, sizeof(*shared)) || pipe(in) || pipe(out))
		kl_fail("no shared memory, or no pipes");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	if (shared == MAP_FAILED)
		kl_fail("no shared memory");
	if (!fork()) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(fd, PEER_SHARED_FD);
		close(in[1]);
		close(out[0]);
		execl(program, program, "--serve", NULL);
		_exit(127);
	}
	close(fd);
	close(in[0]);
	close(out[1]);
	to = in[1];
	from = out[0];
}

void peer_forget(void)
{
	memset(sent, 0, sizeof(sent));
}

void peer_ask(const char *program, enum peer_way way, u32 home,
		  u32 journal, const u8 **block)
{
	if (home > PEER_HOME || home + journal > PEER_BLOCKS)
		kl_fail("a disk of %u blocks is too large for the other program",
			home + journal);
	if (to < 0)
		start(program);
	shared->home = home;
	shared->journal = journal;
	shared->way = way;
	for (u32 b = 0; b < home + journal; b++) {
		if (block[b] == sent[b])
			continue;
		memcpy(shared->disk[b], block[b], DISK_BLOCK);
		sent[b] = is_scratch_block(block[b]) ? NULL : block[b];
	}
	if (write(to, "?", 1) != 1)
		kl_fail("%s takes no disk", program);
}

int peer_answer(const u8 (**after)[DISK_BLOCK])
{
	char c;

	if (read(from, &c, 1) != 1)
		kl_fail("the other program has ended");
	*after = (const void *)shared->after;
	return shared->err;
}
