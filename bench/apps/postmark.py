# SPDX-License-Identifier: GPL-2.0-only
"""PostMark: small files that are made, read, appended to and deleted, without fsync"""

import re

from apps import installed, said

LOADS = {"postmark-all": "PostMark: files of 0.5 to 10 KiB made, read, appended to and deleted, without fsync"}
WAITS = {"postmark-all": "a work"}
SYNCING = []
PROGRAMS = installed("postmark")


def parse(load, text):
    """It tells whole seconds and no latencies; the time is that of the script."""
    totals = {what: sum(map(int, re.findall(rf"^\t(\d+) {what} \(", text, re.M)))
              for what in ("created", "read", "appended", "deleted")}
    said.agree("deleted files", totals["deleted"], totals["created"])
    said.agree("files left", int(said.one(r"^left (\d+)$", text)), 0)
    return said.run(sum(totals.values()), float(said.one(r"^took ([0-9.]+)$", text)), text=text)
