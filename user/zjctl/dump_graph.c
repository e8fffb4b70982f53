// SPDX-License-Identifier: GPL-2.0-only
/* zjctl dump --graph: components and what they depend on, for Graphviz. */
#include "dump.h"

static bool shown(const struct log *log, const struct log_component *c,
		  const struct dump_filter *f)
{
	for (u32 i = c->first; i < c->first + c->nr; i++)
		if (dump_passes(log, log_record(log, i), f))
			return true;
	return false;
}

static void node(const struct log *log, const struct log_component *c)
{
	static const char * const colour[] = {
		[LOG_HOME] = "lightgrey",
		[LOG_COMMITTED] = "palegreen",
		[LOG_CONTRADICTORY] = "red",
		[LOG_INCOMPLETE] = "orange",
		[LOG_ORPHANED] = "khaki",
	};

	printf("\ts%llu [fillcolor=%s, label=\"%llu %s", c->stamp, colour[c->verdict], c->stamp,
	       log_verdict_name(c->verdict));
	for (u32 i = c->first; i < c->first + c->nr; i++) {
		const struct log_record *r = log_record(log, i);

		if (!r->chunk.chunk_index || r->state != LOG_GOOD)
			printf("\\nlane %u tid %u%s%s", r->chunk.lane, r->chunk.tid,
			       r->state == LOG_GOOD ? "" : " ",
			       r->state == LOG_GOOD ? "" : log_state_name(r->state));
	}
	printf("\"];\n");
}

static void edges(const struct log *log, const struct log_component *c)
{
	for (u32 i = c->first; i < c->first + c->nr; i++) {
		const struct log_record *r = log_record(log, i);

		for (u32 k = 0; r->state == LOG_GOOD && k < r->chunk.nr_deps; k++) {
			u64 dep = log_deps(log, r)[k];

			/* Reclaimed components block nothing, so they get no nodes. */
			if (dep > log->ckpt_stamp && !log_find(log, dep))
				printf("\ts%llu [fillcolor=white, style=\"filled,dashed\", color=red, label=\"%llu missing\"];\n",
				       dep, dep);
			if (dep > log->ckpt_stamp || log_find(log, dep))
				printf("\ts%llu -> s%llu%s;\n", c->stamp, dep,
				       c->verdict == LOG_ORPHANED && dep == c->blocker ?
				       " [color=red]" : "");
		}
	}
}

void dump_graph(const struct log *log, const struct dump_filter *f)
{
	/* strict: members name the same dependency more than once. */
	printf("strict digraph log {\n"
	       "\tgraph [rankdir=BT, label=\"checkpoint stamp %llu\"];\n"
	       "\tnode [shape=box, style=filled];\n", log->ckpt_stamp);
	for (u32 i = 0; i < log->components.nr; i++) {
		const struct log_component *c = log_component(log, i);

		if (shown(log, c, f)) {
			node(log, c);
			edges(log, c);
		}
	}
	printf("}\n");
}
