// SPDX-License-Identifier: GPL-2.0-only
/*
 * What blocks hold. A change takes several steps, so that a copy taken in the
 * middle of it shows.
 */
#include "world.h"

u32 half_sum(const struct half *h)
{
	const u32 *word = (const u32 *)h;
	u32 sum = 0x5eed;

	for (u32 i = 0; i < offsetof(struct half, trigger) / 4; i++)
		sum = (sum ^ word[i]) * 0x01000193;
	return sum;
}

static u32 magic_for(const struct half *h)
{
	u32 sum = h->gen;

	for (u32 i = 0; i < SLOTS; i++)
		sum += h->ver[i];
	switch (sum % 5) {
	case 1:
		return cpu_to_be32(ZJ_JBD2_MAGIC);
	case 3:
		return cpu_to_le32(ZJ_CHUNK_MAGIC);
	default:
		return 0x534d495a;
	}
}

static void seal(struct half *h)
{
	h->magic = magic_for(h);
	h->trigger = 0;
	h->sum = half_sum(h);
}

void block_init(void *data, u32 block, u32 gen, enum kind kind)
{
	struct half *h = data;

	memset(data, 0, DISK_BLOCK);
	h->block = block;
	h->gen = gen;
	h->kind = kind;
	seal(h);
	kl_point();
	h[1] = h[0];
}

void block_set(void *data, u32 slot, u32 ver)
{
	struct half *h = data;

	for (u32 i = 0; i < 2; i++) {
		h[i].ver[slot] = ver;
		kl_point();
		seal(&h[i]);
		kl_point();
	}
}

void block_note(void *data)
{
	struct half *h = data;

	for (u32 i = 0; i < 2; i++) {
		h[i].note++;
		kl_point();
		h[i].noted++;
		seal(&h[i]);
		kl_point();
	}
}

/* Writes its sum into the live buffer, as ext4 does for its orphan file. */
static void trigger_frozen(struct jbd2_buffer_trigger_type *type,
			   struct buffer_head *bh, void *data, size_t size)
{
	struct half *h = data;

	h[0].trigger = ~h[0].sum;
	h[1].trigger = ~h[1].sum;
}

struct jbd2_buffer_trigger_type content_trigger = {
	.t_frozen = trigger_frozen,
};

const char *block_check(const void *data, u32 block, u32 gen, enum kind kind)
{
	const struct half *h = data;

	if (memcmp(&h[0], &h[1], offsetof(struct half, stored)))
		return "torn: its halves differ";
	if (h->sum != half_sum(h))
		return "changed half-way: wrong checksum";
	if (h->note != h->noted)
		return "a line without the others of its change";
	if (h->magic != magic_for(h))
		return "wrong magic number: escaped wrongly";
	if (h->block != block)
		return "another block's contents";
	if (h->kind != kind)
		return h->kind == KIND_DATA ? "data where metadata should be" :
			"metadata where data should be";
	if (h->gen != gen)
		return "contents of another generation";
	return NULL;
}
