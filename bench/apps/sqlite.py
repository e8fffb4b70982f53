# SPDX-License-Identifier: GPL-2.0-only
"""SQLite: the library as Debian has it, in a program of ours (bench/gen/programs.c) that times each commit"""

from apps import installed, said

LOADS = {"sqlite-wal": "SQLite: single inserts into an own database, journal_mode=WAL, synchronous=FULL",
         "sqlite-delete": "SQLite: single inserts into an own database, journal_mode=DELETE, synchronous=EXTRA"}
WAITS = {load: "a committed insert" for load in LOADS}
SYNCING = list(LOADS)
PROGRAMS = installed("sqlite3")


def parse(load, text):
    run = said.from_loadgen(text)
    said.agree("rows", sum(map(int, said.every(r"^rows (\d+)$", text))), run["works"])
    if set(said.every(r"^integrity (.*)$", text)) != {"ok"}:
        raise ValueError("PRAGMA integrity_check found damage")
    return run
