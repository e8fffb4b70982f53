// SPDX-License-Identifier: GPL-2.0-only
/* Is what lies on the disk one of the states that may? */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "stress.h"

static u8 *image;	/* the home blocks */

static const struct content *block_at(u32 block)
{
	return (const void *)(image + (size_t)block * fs.p.block);
}

static const struct content *checked(u32 block, enum kind kind, u32 gen)
{
	const struct content *c = block_at(block);
	const char *why = content_check(c, block, kind, gen);

	if (why)
		kl_fail("block %u: %s", block, why);
	return c;
}

static void judge_shared(u32 s)
{
	const struct content *c = checked(FIRST_SHARED + s, KIND_FIXED, 0);
	u32 max = 0;

	for (u32 t = 0; t < MAX_THREADS; t++)
		max = max(max, c->made[t]);
	if (c->count != max)
		kl_fail("block %u: count %u, but the newest note is %u",
			FIRST_SHARED + s, c->count, max);
}

static void judge_thread(u32 t, bool exact)
{
	const struct content *own = checked(FIRST_OWN + t, KIND_FIXED, 0);
	u32 acked = READ_ONCE(fs.promises->acked[t]);
	u32 begun = READ_ONCE(fs.promises->begun[t]);

	if (own->unit < acked)
		kl_fail("thread %u: unit %u was promised, only %u is there", t,
			acked, own->unit);
	if (own->unit > begun)
		kl_fail("thread %u: unit %u is there, only %u were begun", t,
			own->unit, begun);
	for (u32 s = 0; s < NR_SHARED; s++) {
		const struct content *c = block_at(FIRST_SHARED + s);

		if (c->made[t] != own->notes[s])
			kl_fail("thread %u, unit %u is torn: it made %u of block %u, there %u is noted",
				t, own->unit, own->notes[s], FIRST_SHARED + s,
				c->made[t]);
		if (c->count < own->seen[s])
			kl_fail("thread %u, unit %u has acted on %u in block %u, which is at %u",
				t, own->unit, own->seen[s], FIRST_SHARED + s,
				c->count);
		if (exact && own->notes[s] != fs.notes[t][s])
			kl_fail("thread %u: block %u is not the last version", t,
				FIRST_SHARED + s);
	}
	if (exact && own->unit != fs.unit[t])
		kl_fail("thread %u: unit %u is there, the last one was %u", t,
			own->unit, fs.unit[t]);
}

static void judge_alloc(u32 i, bool exact)
{
	u32 entry = block_at(MAP_BLOCK)->map[i], gen = entry / 2;

	if (exact && gen != fs.alloc[i].gen)
		kl_fail("block %u: generation %u in the map, the last one was %u",
			FIRST_ALLOC + i, gen, fs.alloc[i].gen);
	if (gen & 1)
		checked(FIRST_ALLOC + i, entry & 1 ? KIND_DATA : KIND_META, gen);
}

static void judge_journal(void)
{
	const struct zj_jbd2_super *sb = (const void *)block_at(NR_HOME);

	if (sb->s_start || sb->s_feature_incompat &
	    cpu_to_be32(ZJ_JBD2_INCOMPAT_LANES))
		kl_fail("the log is not marked empty");
	if (sb->s_checksum != zj_jbd2_super_csum(sb))
		kl_fail("the journal's block 0 has a wrong checksum");
}

void judge(bool exact)
{
	size_t size = (size_t)(NR_HOME + 1) * fs.p.block;
	int fd = open(fs.p.file, O_RDONLY);

	image = malloc(size);
	if (fd < 0 || pread(fd, image, size, 0) != size)
		kl_fail("%s cannot be read", fs.p.file);
	close(fd);
	checked(MAP_BLOCK, KIND_FIXED, 0);
	for (u32 s = 0; s < NR_SHARED; s++)
		judge_shared(s);
	for (u32 t = 0; t < MAX_THREADS; t++)
		judge_thread(t, exact);
	for (u32 i = 0; i < NR_ALLOC; i++)
		judge_alloc(i, exact);
	judge_journal();
	free(image);
}
