# SPDX-License-Identifier: GPL-2.0-only
"""fio, with the job files beside this one"""

import json
import shutil
from pathlib import Path

from apps import installed, said

LOADS = {"fio-randsync": "fio: random overwrites of 4 KiB in own files, an fsync of the file after each 16",
         "fio-append": "fio: appends of 4 KiB to an own file, an fdatasync after each"}
WAITS = {"fio-randsync": "an fsync", "fio-append": "an fdatasync"}
SYNCING = list(LOADS)
PROGRAMS = installed("fio")
BLOCK = 4096


def give(at):
    for path in Path(__file__).parent.glob("*.fio"):
        shutil.copy(path, at)


def documents(text):
    """The JSON of the load and of the check after the remount; fio writes warnings before it."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while (at := text.find("\n{", at)) >= 0:
        document, at = decoder.raw_decode(text, at + 1)
        found.append(document)
    if len(found) != 2:
        raise ValueError(f"fio printed {len(found)} reports instead of two")
    return found


def only_job(document):
    (job,) = document["jobs"]
    if job["error"]:
        raise ValueError(f"fio's job ended with error {job['error']}")
    return job


def parse(load, text):
    job, check = map(only_job, documents("\n" + text))
    writes, blocks = job["write"]["total_ios"], check["read"]["total_ios"]
    if load == "fio-append":
        said.agree("verified blocks", blocks, writes)
        said.agree("bytes of the files", int(said.one(r"^bytes (\d+)$", text)), writes * BLOCK)
    elif blocks * BLOCK != int(said.one(r"^bytes (\d+)$", text)):
        raise ValueError(f"{blocks} blocks were verified, which is not all")
    waits = said.Latencies()
    for ns, count in job["sync"]["lat_ns"]["bins"].items():
        waits.add(int(ns), count)
    # A bin's name is the middle of it; the longest one is known exactly.
    waits.longest = job["sync"]["lat_ns"]["max"]
    return said.run(writes, job["write"]["runtime"] / 1000, fsyncs=waits, text=text)
