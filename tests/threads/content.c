// SPDX-License-Identifier: GPL-2.0-only
/* What blocks hold. */
#include "stress.h"

static u32 sum_of(const struct content *c)
{
	const u32 *word = (const u32 *)c;
	u32 sum = 0x5eed;

	for (u32 i = 0; i < offsetof(struct content, sum) / 4; i++)
		sum = (sum ^ word[i]) * 0x01000193;
	return sum;
}

static u32 magic_for(const struct content *c)
{
	switch ((c->count + c->unit + c->gen) % 5) {
	case 1:
		return cpu_to_be32(ZJ_JBD2_MAGIC);
	case 3:
		return cpu_to_le32(ZJ_CHUNK_MAGIC);
	default:
		return 0x5354525a;
	}
}

static u32 *last_word(const void *data)
{
	return (u32 *)((char *)data + fs.p.block) - 1;
}

void content_seal(void *data)
{
	struct content *c = data;

	c->magic = magic_for(c);
	c->sum = sum_of(c);
	c->trigger = 0;
	kl_point();
	*last_word(data) = c->sum;
}

void content_init(void *data, u32 block, enum kind kind, u32 gen)
{
	struct content *c = data;

	memset(data, 0, fs.p.block);
	c->block = block;
	c->kind = kind;
	c->gen = gen;
	content_seal(data);
}

const char *content_check(const void *data, u32 block, enum kind kind, u32 gen)
{
	const struct content *c = data;

	if (c->block != block)
		return "another block's contents";
	if (c->kind != kind)
		return "contents of another kind";
	if (c->gen != gen)
		return "contents of another generation";
	if (c->sum != sum_of(c) || *last_word(data) != c->sum)
		return "changed half-way: wrong checksum";
	if (c->magic != magic_for(c))
		return "wrong magic number: escaped wrongly";
	if (c->count && has_trigger(block) != (c->trigger == ~c->sum))
		return "logged without its trigger";
	return NULL;
}

/* Writes its sum into the live buffer, as ext4 does for its orphan file. */
static void trigger_frozen(struct jbd2_buffer_trigger_type *type,
			   struct buffer_head *bh, void *data, size_t size)
{
	struct content *c = data;

	c->trigger = ~c->sum;
}

struct jbd2_buffer_trigger_type content_trigger = {
	.t_frozen = trigger_frozen,
};
