// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turn the lines that ab.sh collects into a table and a JSON file.
 *
 *   report RAW [JSON]
 *
 * Lines of RAW:
 *   P KEY VALUE...                        parameter, kept in the JSON
 *   R MODE SIDE ROUND TEST OPS LOOP_S SYNC_S UMOUNT_S
 *                                         one run; SIDE is A or B
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROUNDS	64
#define MAX_ROWS	128
#define MAX_PARAMS	64
#define NAME_LEN	64
#define LINE_LEN	1024

/* What is timed: the loop alone, with the syncfs after it, with the unmount. */
enum { LOOP, SYNCED, UNMOUNTED, NR_KINDS };

static const char * const kind_name[NR_KINDS] = {
	"loop", "synced", "unmounted"
};

static const char * const kind_title[NR_KINDS] = {
	"loop alone", "loop + syncfs", "loop + syncfs + umount"
};

/**
 * struct series - the rates of one file system in one test, round by round
 * @n:		number of runs
 * @rate:	operations per second of each run
 */
struct series {
	int n;
	double rate[MAX_ROUNDS];
};

/**
 * struct row - one test in one data mode
 * @mode:	data mode
 * @test:	name of the test
 * @ops:	operations per run, all workers together
 * @side:	series of side A and of side B for each kind
 */
struct row {
	char mode[NAME_LEN];
	char test[NAME_LEN];
	unsigned long ops;
	struct series side[2][NR_KINDS];
};

/**
 * struct param - a parameter of the whole benchmark
 * @key:	its name
 * @value:	its value, as text
 */
struct param {
	char key[NAME_LEN];
	char value[LINE_LEN];
};

/**
 * struct summary - what is said about one row and kind
 * @median:	median rate of A and B
 * @spread:	(fastest - slowest) / median of A and B
 * @ratio:	median of B / median of A
 * @pair:	median of the ratios of the two runs of each round; these
 *		run one after the other, so it stands slow drift of the machine
 * @pair_spread: largest minus smallest of those ratios
 */
struct summary {
	double median[2];
	double spread[2];
	double ratio;
	double pair;
	double pair_spread;
};

static struct row rows[MAX_ROWS];
static int nr_rows;
static struct param params[MAX_PARAMS];
static int nr_params;

static void die(const char *what, const char *arg)
{
	fprintf(stderr, "report: %s: %s\n", what, arg);
	exit(1);
}

static struct row *get_row(const char *mode, const char *test)
{
	struct row *r;
	int i;

	for (i = 0; i < nr_rows; i++)
		if (!strcmp(rows[i].mode, mode) && !strcmp(rows[i].test, test))
			return &rows[i];
	if (nr_rows == MAX_ROWS)
		die("too many tests", test);
	r = &rows[nr_rows++];
	strcpy(r->mode, mode);
	strcpy(r->test, test);
	return r;
}

static void add_run(const char *line)
{
	char mode[NAME_LEN], side, test[NAME_LEN];
	double seconds[NR_KINDS], total = 0;
	unsigned long ops;
	struct row *r;
	int round, k;

	if (sscanf(line, "R %63s %c %d %63s %lu %lf %lf %lf", mode, &side,
		   &round, test, &ops, &seconds[LOOP], &seconds[SYNCED],
		   &seconds[UNMOUNTED]) != 8 ||
	    (side != 'A' && side != 'B') || seconds[LOOP] <= 0)
		die("not understood", line);
	r = get_row(mode, test);
	r->ops = ops;
	for (k = 0; k < NR_KINDS; k++) {
		struct series *s = &r->side[side - 'A'][k];

		if (s->n == MAX_ROUNDS)
			die("too many rounds", line);
		total += seconds[k];
		s->rate[s->n++] = ops / total;
	}
}

static void add_param(const char *line)
{
	struct param *p = &params[nr_params];

	if (nr_params == MAX_PARAMS)
		die("too many parameters", line);
	p->value[0] = 0;
	if (sscanf(line, "P %63s %1023[^\n]", p->key, p->value) < 1)
		die("not understood", line);
	nr_params++;
}

static void read_raw(const char *name)
{
	FILE *f = fopen(name, "r");
	char line[LINE_LEN];

	if (!f)
		die(name, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == 'R')
			add_run(line);
		else if (line[0] == 'P')
			add_param(line);
		else
			die("not understood", line);
	}
	fclose(f);
	if (!nr_rows)
		die("no result in", name);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void middle(const struct series *s, double *median, double *spread)
{
	double v[MAX_ROUNDS];

	memcpy(v, s->rate, sizeof(v));
	qsort(v, s->n, sizeof(v[0]), compare);
	*median = (v[(s->n - 1) / 2] + v[s->n / 2]) / 2;
	*spread = (v[s->n - 1] - v[0]) / *median;
}

static struct summary summarize(const struct row *r, int kind)
{
	const struct series *a = &r->side[0][kind], *b = &r->side[1][kind];
	struct series pairs = { .n = a->n };
	struct summary s;
	int i;

	if (!a->n || a->n != b->n)
		die("unequal number of runs of A and B", r->test);
	middle(a, &s.median[0], &s.spread[0]);
	middle(b, &s.median[1], &s.spread[1]);
	s.ratio = s.median[1] / s.median[0];
	for (i = 0; i < a->n; i++)
		pairs.rate[i] = b->rate[i] / a->rate[i];
	middle(&pairs, &s.pair, &s.pair_spread);
	s.pair_spread *= s.pair;
	return s;
}

static const char *param(const char *key)
{
	int i;

	for (i = 0; i < nr_params; i++)
		if (!strcmp(params[i].key, key))
			return params[i].value;
	return "?";
}

static void print_table(void)
{
	const char *mode = "";
	int i, k;

	printf("A = %s, B = %s; %s workers, %s rounds in turn\n", param("a"),
	       param("b"), param("workers"), param("rounds"));
	printf("operations per second, medians; +-%%: fastest minus slowest run;\n"
	       "B/A: ratio of the medians; pair: median of the B/A of each round\n");
	for (i = 0; i < nr_rows; i++) {
		if (strcmp(mode, rows[i].mode)) {
			mode = rows[i].mode;
			printf("\n%-13s", mode);
			for (k = 0; k < NR_KINDS; k++)
				printf(" | %-34s", kind_title[k]);
			printf("\n%-13s", "");
			for (k = 0; k < NR_KINDS; k++)
				printf(" | %6s +-%% %7s +-%%  B/A   pair ",
				       "A", "B");
			printf("\n");
		}
		printf("%-13s", rows[i].test);
		for (k = 0; k < NR_KINDS; k++) {
			struct summary s = summarize(&rows[i], k);

			printf(" | %6.0f %3.0f %7.0f %3.0f %5.2f %5.2f ",
			       s.median[0], s.spread[0] * 100, s.median[1],
			       s.spread[1] * 100, s.ratio, s.pair);
		}
		printf("\n");
	}
}

static void json_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		fputc((unsigned char)*s < ' ' ? ' ' : *s, f);
	}
	fputc('"', f);
}

static void json_kind(FILE *f, const struct row *r, int kind)
{
	static const char * const name[] = { "a", "b" };
	struct summary s = summarize(r, kind);
	int side, i;

	fprintf(f, ",\n   \"%s\": {", kind_name[kind]);
	for (side = 0; side < 2; side++) {
		const struct series *v = &r->side[side][kind];

		fprintf(f, "\"%s\": [", name[side]);
		for (i = 0; i < v->n; i++)
			fprintf(f, "%s%.2f", i ? ", " : "", v->rate[i]);
		fprintf(f, "], \"%s_median\": %.2f, \"%s_spread\": %.3f, ",
			name[side], s.median[side], name[side], s.spread[side]);
	}
	fprintf(f, "\"ratio\": %.3f, \"pair_ratio\": %.3f, \"pair_spread\": %.3f}",
		s.ratio, s.pair, s.pair_spread);
}

static void write_json(const char *name)
{
	FILE *f = fopen(name, "w");
	int i, k;

	if (!f)
		die(name, strerror(errno));
	fprintf(f, "{\n \"parameters\": {");
	for (i = 0; i < nr_params; i++) {
		fprintf(f, "%s\n  ", i ? "," : "");
		json_string(f, params[i].key);
		fprintf(f, ": ");
		json_string(f, params[i].value);
	}
	fprintf(f, "\n },\n \"unit\": \"operations per second\",\n \"results\": [");
	for (i = 0; i < nr_rows; i++) {
		fprintf(f, "%s\n  {\"mode\": ", i ? "," : "");
		json_string(f, rows[i].mode);
		fprintf(f, ", \"test\": ");
		json_string(f, rows[i].test);
		fprintf(f, ", \"ops\": %lu", rows[i].ops);
		for (k = 0; k < NR_KINDS; k++)
			json_kind(f, &rows[i], k);
		fprintf(f, "}");
	}
	fprintf(f, "\n ]\n}\n");
	if (ferror(f) | fclose(f))
		die("cannot write", name);
}

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: report RAW [JSON]\n");
		return 2;
	}
	read_raw(argv[1]);
	print_table();
	if (argc == 3)
		write_json(argv[2]);
	return 0;
}
