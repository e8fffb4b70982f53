# SPDX-License-Identifier: GPL-2.0-only
"""dbench and PostgreSQL for a guest: Debian's packages as tools/deps unpacks them."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from common import packed, vm

DEBIAN = vm.BUILD / "debian"
DBENCH = DEBIAN / "dbench" / "usr"
POSTGRES = DEBIAN / "postgresql-15" / "usr"
BIN = "lib/postgresql/15/bin"
SHARE = "share/postgresql/15"
NOBODY = 65534    # PostgreSQL refuses to run as root

# wal_sync_method: PostgreSQL's own choice is fdatasync of a log file that it wrote before.
# That asks nothing of a file system's journal.  With fsync the file's time is to be durable, too.
CONFIG = """
listen_addresses = ''
unix_socket_directories = '/tmp'
max_connections = 20
shared_buffers = 16MB
dynamic_shared_memory_type = sysv
fsync = on
synchronous_commit = on
wal_sync_method = fsync
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 1GB
timezone = 'GMT'
log_timezone = 'GMT'
jit = off
"""
SCHEMA = """\
CREATE TABLE line (id bigserial PRIMARY KEY, k integer NOT NULL, c char(120), pad char(60));
CREATE INDEX line_k ON line (k);
"""
INSERT = """\
\\set k random(1, 1000000)
INSERT INTO line (k, c, pad) VALUES (:k, md5(random()::text), 'pad');
"""


def programs():
    found = [DBENCH / "bin" / "dbench", POSTGRES / BIN / "postgres", POSTGRES / BIN / "pgbench"]
    for path in [*found, DBENCH / "share" / "dbench" / "client.txt"]:
        if not path.exists():
            sys.exit(f"{path.relative_to(vm.ROOT)} is missing; run tools/deps bench-concurrent")
        lost = subprocess.run(["ldd", path], capture_output=True, text=True).stdout.count("not found")
        if lost:
            sys.exit(f"{path.relative_to(vm.ROOT)}: {lost} of its libraries are missing; run tools/deps bench-concurrent")
    return found


def run(command, **more):
    # Not root, and not in a directory that only root can reach.
    if os.geteuid() == 0:
        more |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    done = subprocess.run(command, cwd="/", capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "GMT"}, **more)
    if done.returncode:
        sys.exit(f"{command[0]} failed: {done.stdout}{done.stderr}")


def owned(entry):
    entry.uid = entry.gid = NOBODY
    entry.uname = entry.gname = ""
    return entry


def make(target):
    """An empty database with one table, packed."""
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        for part in ("lib", "share"):    # their relative places matter
            shutil.copytree(POSTGRES / part / "postgresql", where / part / "postgresql")
        data = where / "data" / "database"
        data.parent.mkdir()
        where.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(data.parent, NOBODY, NOBODY)
        run([where / BIN / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
             "--locale=C", "--no-sync", "--wal-segsize=4"])
        with open(data / "postgresql.conf", "a") as config:
            config.write(CONFIG)
        run([where / BIN / "postgres", "--single", "-D", data, "postgres"], input=SCHEMA)
        with tarfile.open(target, "w") as tar:
            tar.add(data, "database", filter=owned)


def give_database(where):
    """Put the database, what PostgreSQL reads when it starts, and the load's SQL into this directory."""
    stamp = (POSTGRES / BIN / "postgres").stat().st_mtime_ns
    shutil.copy(packed("database", [CONFIG, SCHEMA, stamp], make), where / "database.tar")
    zones = Path(SHARE) / "timezonesets"
    shutil.copytree(POSTGRES / zones, where / zones)
    (where / "insert.sql").write_text(INSERT)


def give(share):
    """Put what bench-concurrent's guest needs beside its programs into the directory that it shares."""
    give_database(share)
    # concurrent.sh looks there for what lies in /usr/share on Debian.
    (share / "share" / "postgresql").rename(share / "postgresql")
    (share / "share").rmdir()
    shutil.copy(DBENCH / "share" / "dbench" / "client.txt", share)
