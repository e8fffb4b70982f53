# SPDX-License-Identifier: GPL-2.0-only
"""How long to wait for a machine: until it gets nowhere, however slow the host is.

    patience = Patience(120, pids=lambda: [qemu.pid], signs=lambda: console.stat().st_size)
    if not until(done, patience, pause):
        raise Error(f"nothing new {patience}")

The clock of a Patience starts again with every sign of progress. It does not count the time in
which a thread of these processes, or of this one, could run but the host ran something else.  So a
limit is what the work takes on a machine of its own, from one sign to the next. It needs no factor
for other work on the host.
"""

import os
import subprocess
import time
from pathlib import Path

PROC = Path("/proc")


def waited(pids):
    """{thread: seconds that it has waited for a CPU so far}"""
    found = {}
    for pid in pids:
        for path in PROC.glob(f"{pid}/task/*/schedstat"):
            try:
                found[path] = int(path.read_text().split()[1]) / 1e9
            except (OSError, IndexError):    # it has ended
                pass
    return found


class Patience:
    """Is over when nothing has changed for so many seconds of the machine's own time."""

    def __init__(self, seconds, pids=lambda: (), signs=lambda: None):
        """pids() are the machine's processes; signs() returns something that differs when it gets on."""
        self.seconds, self.signs = seconds, signs
        self.pids = lambda: (os.getpid(), *pids())
        self.quiet = 0
        self.seen, self.at, self.waited = signs(), time.monotonic(), waited(self.pids())

    def __str__(self):
        return f"for {self.seconds:.0f} s of the machine's own time"

    def over(self):
        """To be called every few seconds at least."""
        seen, at, now_waited = self.signs(), time.monotonic(), waited(self.pids())
        starved = max((s - self.waited.get(thread, s) for thread, s in now_waited.items()), default=0)
        self.quiet = 0 if seen != self.seen else self.quiet + max(0, at - self.at - starved)
        self.seen, self.at, self.waited = seen, at, now_waited
        return self.quiet > self.seconds


def until(done, patience, pause):
    """Calls pause() until done(); False if patience is over before."""
    while not done():
        if patience.over():
            return done()
        pause()
    return True


def tree(pid):
    """A process and all that it, and they, have started"""
    parents = {}
    for path in PROC.glob("[0-9]*/stat"):
        try:
            # The name, in parentheses, may hold anything.
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            pass
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def communicate(proc, seconds):
    """Popen.communicate(); None if it has not ended after so many seconds of the processes' own time"""
    patience = Patience(seconds, lambda: tree(proc.pid))
    while True:
        try:
            return proc.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            if patience.over():
                return None
