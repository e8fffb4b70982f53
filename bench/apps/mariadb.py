# SPDX-License-Identifier: GPL-2.0-only
"""MariaDB, to which SysBench's oltp_insert sends transactions that insert one row each"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from apps import installed, require, said, sysbench, unpacked
from common import packed, vm

LOADS = {"mariadb": "MariaDB: single inserts (SysBench's oltp_insert), with the server's own settings",
         "mariadb-binlog": "MariaDB: single inserts, with a binary log that each commit syncs, as for replication"}
WAITS = {load: "a committed insert" for load in LOADS}
SYNCING = list(LOADS)
PROGRAMS = [*unpacked("mariadb-server-core", "sbin/mariadbd"), *unpacked("mariadb-client-core", "bin/mariadb"),
            *installed("sysbench")]
SHARE = vm.BUILD / "debian" / "mariadb-server-core" / "usr" / "share" / "mysql"
LUA = [Path("/usr/share/sysbench") / name for name in ("oltp_common.lua", "oltp_insert.lua")]
LOG_SIZE = "16M"


def make(target):
    """A new database directory, packed"""
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        data.mkdir()
        done = subprocess.run([PROGRAMS[0], "--no-defaults", "--bootstrap", "--user=root", f"--datadir={data}",
                               f"--lc-messages-dir={SHARE}", f"--character-sets-dir={SHARE / 'charsets'}",
                               f"--innodb-log-file-size={LOG_SIZE}", "--innodb-use-native-aio=0"],
                              input="CREATE DATABASE sbtest;\n", capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"mariadbd --bootstrap failed: {done.stderr[-2000:]}")
        with tarfile.open(target, "w") as tar:
            tar.add(data, "data")


def give(at):
    require("mariadb", LUA)
    shutil.copy(packed("mariadb", [LOG_SIZE, PROGRAMS[0].stat().st_mtime_ns], make), at / "data.tar")
    for part in ("english", "charsets"):
        shutil.copytree(SHARE / part, at / "share" / part)
    for path in LUA:
        shutil.copy(path, at)


def parse(load, text):
    count, seconds, latencies = sysbench.events(text)
    before = int(said.one(r"^rows before: (\d+)$", text))
    said.agree("rows", int(said.one(r"^rows: (\d+)$", text)) - before, count)
    said.agree("CHECK TABLE", said.one(r"^sbtest\.sbtest1\tcheck\tstatus\t(.*)$", text), "OK")
    return said.run(count, seconds, works=latencies, text=text)
