// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads that leave the file system's calls to others.
 *
 * shell: COMMAND in a shell, in the worker's own directory; N in its environment is the number
 * of the work, from 0. A command that fails ends the load.
 * sqlite-wal, sqlite-delete: a transaction of SQLite that inserts a row of 64 to 363 bytes into the
 * worker's own database "rows.db", which keeps its journal by PRAGMA journal_mode=WAL or DELETE.
 * Each commit is durable when it returns (synchronous=FULL; for DELETE: EXTRA, which syncs the
 * directory too).
 */
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gen.h"

static bool shell(struct worker *w)
{
	char number[32];
	int status;
	pid_t pid;

	snprintf(number, sizeof(number), "%lu", w->i);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		if (fchdir(w->dir) || setenv("N", number, 1))
			die("shell");
		execl("/bin/sh", "sh", "-c", set.command, NULL);
		die("/bin/sh");
	}
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	if (status) {
		fprintf(stderr, "loadgen: status %d of: %s\n",
			WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), set.command);
		exit(1);
	}
	w->tally->operations++;
	return true;
}

/* ---- SQLite ---- */

static sqlite3 *db;		/* the worker's own: each is a process */
static sqlite3_stmt *insert;

static void need(int rc, const char *what)
{
	if (rc == SQLITE_OK || rc == SQLITE_DONE)
		return;
	fprintf(stderr, "loadgen: SQLite: %s: %s\n", what, sqlite3_errmsg(db));
	exit(1);
}

static void execute(const char *sql)
{
	need(sqlite3_exec(db, sql, NULL, NULL, NULL), sql);
}

static void open_rows(struct worker *w)
{
	if (fchdir(w->dir))
		die("fchdir");
	need(sqlite3_open("rows.db", &db), "open");
}

static void make_table(struct worker *w, const char *mode)
{
	open_rows(w);
	execute(mode);
	execute("CREATE TABLE line (n INTEGER PRIMARY KEY, text TEXT)");
	need(sqlite3_close(db), "close");
}

static void make_wal(struct worker *w)
{
	make_table(w, "PRAGMA journal_mode=WAL");
}

static void make_delete(struct worker *w)
{
	make_table(w, "PRAGMA journal_mode=DELETE");
}

static void open_insert(struct worker *w, const char *durable)
{
	open_rows(w);
	execute(durable);
	need(sqlite3_prepare_v2(db, "INSERT INTO line (text) VALUES (?)", -1, &insert, NULL),
	     "prepare");
}

static void open_wal(struct worker *w)
{
	open_insert(w, "PRAGMA synchronous=FULL");
}

static void open_delete(struct worker *w)
{
	open_insert(w, "PRAGMA synchronous=EXTRA");
}

static bool insert_row(struct worker *w)
{
	char text[512];

	snprintf(text, sizeof(text), "%0*lu", 64 + (int)(w->i % 300), w->i);
	need(sqlite3_bind_text(insert, 1, text, -1, SQLITE_TRANSIENT), "bind");
	need(sqlite3_step(insert), "insert");
	need(sqlite3_reset(insert), "reset");
	w->tally->operations++;
	return true;
}

const struct load program_loads[] = {
	{ "shell", OWN, .work = shell },
	{ "sqlite-wal", OWN, .make = make_wal, .open = open_wal, .work = insert_row },
	{ "sqlite-delete", OWN, .make = make_delete, .open = open_delete, .work = insert_row },
	{ }
};
