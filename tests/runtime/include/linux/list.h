/* SPDX-License-Identifier: GPL-2.0-only */
/* Doubly linked lists; a removed entry has invalid pointers. */
#ifndef ZJ_RUNTIME_LINUX_LIST_H
#define ZJ_RUNTIME_LINUX_LIST_H

#include <linux/types.h>
#include <linux/compiler.h>
#include <linux/rcupdate.h>

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

#define LIST_POISON	((struct list_head *)0x10d1)

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l;
	l->prev = l;
}

void kl_list_bad(const struct list_head *l);

static inline void __list_join(struct list_head *a, struct list_head *b)
{
	a->next = b;
	b->prev = a;
}

static inline void __list_insert(struct list_head *l, struct list_head *a,
				 struct list_head *b)
{
	if (a->next != b || b->prev != a || l == a || l == b)
		kl_list_bad(a);
	__list_join(a, l);
	__list_join(l, b);
}

static inline void __list_remove(struct list_head *l)
{
	if (l->next == LIST_POISON || l->prev->next != l || l->next->prev != l)
		kl_list_bad(l);
	__list_join(l->prev, l->next);
}

static inline void list_add(struct list_head *l, struct list_head *head)
{
	__list_insert(l, head, head->next);
}

static inline void list_add_tail(struct list_head *l, struct list_head *head)
{
	__list_insert(l, head->prev, head);
}

static inline void list_del(struct list_head *l)
{
	__list_remove(l);
	l->next = LIST_POISON;
	l->prev = LIST_POISON;
}

static inline void list_del_init(struct list_head *l)
{
	__list_remove(l);
	INIT_LIST_HEAD(l);
}

static inline void list_move(struct list_head *l, struct list_head *head)
{
	__list_remove(l);
	list_add(l, head);
}

static inline void list_move_tail(struct list_head *l, struct list_head *head)
{
	__list_remove(l);
	list_add_tail(l, head);
}

static inline int list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline int list_is_first(const struct list_head *l,
				const struct list_head *head)
{
	return l->prev == head;
}

static inline int list_is_last(const struct list_head *l,
			       const struct list_head *head)
{
	return l->next == head;
}

static inline void __list_splice(struct list_head *from, struct list_head *a,
				 struct list_head *b)
{
	struct list_head *first = from->next, *last = from->prev;

	if (list_empty(from))
		return;
	__list_join(a, first);
	__list_join(last, b);
}

static inline void list_splice(struct list_head *from, struct list_head *head)
{
	__list_splice(from, head, head->next);
}

static inline void list_splice_init(struct list_head *from,
				    struct list_head *head)
{
	__list_splice(from, head, head->next);
	INIT_LIST_HEAD(from);
}

static inline void list_splice_tail_init(struct list_head *from,
					 struct list_head *head)
{
	__list_splice(from, head->prev, head);
	INIT_LIST_HEAD(from);
}

/* All of @head up to @entry, which is in it, go to @list. */
static inline void list_cut_position(struct list_head *list,
				     struct list_head *head,
				     struct list_head *entry)
{
	struct list_head *first = head->next, *rest = entry->next;

	__list_join(list, first);
	__list_join(entry, list);
	__list_join(head, rest);
}

static inline size_t list_count_nodes(struct list_head *head)
{
	struct list_head *l;
	size_t n = 0;

	for (l = head->next; l != head; l = l->next)
		n++;
	return n;
}

#define list_entry(l, type, member)	container_of(l, type, member)
#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)
#define list_last_entry(head, type, member) \
	list_entry((head)->prev, type, member)
#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_next_entry(pos, member) \
	list_entry((pos)->member.next, __typeof__(*(pos)), member)
#define list_prev_entry(pos, member) \
	list_entry((pos)->member.prev, __typeof__(*(pos)), member)
#define list_entry_is_head(pos, head, member)	(&(pos)->member == (head))
#define list_prepare_entry(pos, head, member) \
	((pos) ? (pos) : list_entry(head, __typeof__(*(pos)), member))

#define list_for_each_entry(pos, head, member)				\
	for (pos = list_first_entry(head, __typeof__(*pos), member);	\
	     !list_entry_is_head(pos, head, member);			\
	     pos = list_next_entry(pos, member))
#define list_for_each_entry_continue(pos, head, member)			\
	for (pos = list_next_entry(pos, member); &pos->member != (head); \
	     pos = list_next_entry(pos, member))

#define list_for_each_entry_continue_reverse(pos, head, member)		\
	for (pos = list_prev_entry(pos, member); &pos->member != (head); \
	     pos = list_prev_entry(pos, member))

#define list_for_each_entry_safe(pos, n, head, member)			\
	for (pos = list_first_entry(head, __typeof__(*pos), member),	\
		n = list_next_entry(pos, member);			\
	     !list_entry_is_head(pos, head, member);			\
	     pos = n, n = list_next_entry(n, member))
#define list_for_each_entry_safe_reverse(pos, n, head, member)		\
	for (pos = list_last_entry(head, __typeof__(*pos), member),	\
		n = list_prev_entry(pos, member);			\
	     !list_entry_is_head(pos, head, member);			\
	     pos = n, n = list_prev_entry(n, member))

static inline int hlist_empty(const struct hlist_head *head)
{
	return !READ_ONCE(head->first);
}

static inline void hlist_add_head_rcu(struct hlist_node *n,
				      struct hlist_head *head)
{
	n->next = head->first;
	n->pprev = &head->first;
	if (n->next)
		n->next->pprev = &n->next;
	kl_point();
	/* Readers that see the entry see what is in it. */
	__atomic_store_n(&head->first, n, __ATOMIC_RELEASE);
}

/* Readers that stand on the entry go on from it. */
static inline void hlist_del_rcu(struct hlist_node *n)
{
	WRITE_ONCE(*n->pprev, n->next);
	if (n->next)
		n->next->pprev = n->pprev;
	n->pprev = NULL;
}

static inline void hlist_del_init_rcu(struct hlist_node *n)
{
	if (n->pprev)
		hlist_del_rcu(n);
}

#define hlist_entry_safe(ptr, type, member)				\
({									\
	struct hlist_node *__n = (ptr);					\
	__n ? container_of(__n, type, member) : NULL;			\
})
#define hlist_for_each_entry(pos, head, member)				\
	for (pos = hlist_entry_safe((head)->first, __typeof__(*pos), member); \
	     pos;							\
	     pos = hlist_entry_safe(pos->member.next, __typeof__(*pos), member))
#define hlist_for_each_entry_safe(pos, n, head, member)			\
	for (pos = hlist_entry_safe((head)->first, __typeof__(*pos), member); \
	     pos && ({ n = pos->member.next; 1; });			\
	     pos = hlist_entry_safe(n, __typeof__(*pos), member))
#define hlist_for_each_entry_rcu(pos, head, member, cond...)		\
	for (kl_assert_rcu(__func__, (cond + 0)),			\
	     pos = hlist_entry_safe(READ_ONCE((head)->first),		\
				    __typeof__(*pos), member);		\
	     pos;							\
	     pos = hlist_entry_safe(READ_ONCE(pos->member.next),	\
				    __typeof__(*pos), member))

#endif
