// SPDX-License-Identifier: GPL-2.0-only
/*
 * SQLite insert load.
 *
 *	sqlload wal|delete DB LOG	insert rows for ever; note each in LOG once committed
 *	sqlload check DB LOG		every noted row must be there
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *db;

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "sqlload: %s: %s\n", what, sqlite3_errmsg(db));
	exit(1);
}

static void run(const char *sql)
{
	need(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, sql);
}

static void payload(int n, char *out, size_t size)
{
	snprintf(out, size, "row %d %0*d", n, 60 + n % 300, n * 7);
}

/* EXTRA also syncs the directory after the rollback journal is deleted. */
static void insert(const char *mode, FILE *log)
{
	sqlite3_stmt *st;
	char text[512];

	need(!strcmp(mode, "wal") || !strcmp(mode, "delete"), mode);
	run(*mode == 'w' ? "pragma journal_mode=wal" : "pragma journal_mode=delete");
	run(*mode == 'w' ? "pragma synchronous=full" : "pragma synchronous=extra");
	run("create table rows(n integer primary key, text text)");
	need(!sqlite3_prepare_v2(db, "insert into rows values (?,?)", -1, &st, NULL), "prepare");
	for (int n = 1; ; n++) {
		payload(n, text, sizeof(text));
		sqlite3_bind_int(st, 1, n);
		sqlite3_bind_text(st, 2, text, -1, SQLITE_TRANSIENT);
		need(sqlite3_step(st) == SQLITE_DONE, "insert");
		sqlite3_reset(st);
		fprintf(log, "%d\n", n);
		need(!fflush(log), "log");
	}
}

static int check(FILE *log)
{
	int n, noted = 0, lost = 0;
	sqlite3_stmt *st;
	char text[512];

	need(!sqlite3_prepare_v2(db, "select text from rows where n=?", -1, &st, NULL), "prepare");
	while (fscanf(log, "%d", &n) == 1) {
		payload(n, text, sizeof(text));
		sqlite3_bind_int(st, 1, n);
		noted++;
		if (sqlite3_step(st) != SQLITE_ROW ||
		    strcmp((const char *)sqlite3_column_text(st, 0), text))
			lost++;
		sqlite3_reset(st);
	}
	printf("checked %d lost %d\n", noted, lost);
	return lost != 0;
}

int main(int argc, char **argv)
{
	int checking = argc > 1 && !strcmp(argv[1], "check");
	FILE *log;

	if (argc != 4) {
		fprintf(stderr, "usage: sqlload wal|delete|check DB LOG\n");
		return 2;
	}
	need(sqlite3_open(argv[2], &db) == SQLITE_OK, argv[2]);
	log = fopen(argv[3], checking ? "r" : "w");
	need(log != NULL, argv[3]);
	if (checking)
		return check(log);
	insert(argv[1], log);
	return 1;
}
