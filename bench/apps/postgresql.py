# SPDX-License-Identifier: GPL-2.0-only
"""PostgreSQL, to which pgbench sends transactions that insert one row each"""

import shutil

import database
from apps import said, unpacked

LOADS = {"postgresql": "PostgreSQL: single inserts into a table with two indexes, wal_sync_method=fsync"}
WAITS = {"postgresql": "a committed insert"}
SYNCING = list(LOADS)
BIN = database.BIN    # where the server looks for its other files from
PROGRAMS = unpacked("postgresql-15", f"{database.BIN}/postgres", f"{database.BIN}/pgbench")


def give(at):
    database.give_database(at)


def stage(at):
    """The server looks beside itself for its libraries and does not start without them."""
    shutil.copytree(database.POSTGRES / database.BIN.replace("/bin", "/lib"), at / database.BIN.replace("/bin", "/lib"))


def parse(load, text):
    """pgbench logs each transaction's time in us."""
    done = int(said.one(r"^number of transactions actually processed: (\d+)", text))
    tps = float(said.one(r"^tps = ([0-9.]+) \(without initial connection time\)$", text))
    said.agree("rows", int(said.one(r'count = "(\d+)"', text)), done)
    commits = said.Latencies()
    for line in text.splitlines():
        if line.startswith("us "):
            commits.add(int(line.split()[1]) * 1000)
    said.agree("logged transactions", commits.count, done)
    return said.run(done, done / tps, works=commits, text=text)
