# SPDX-License-Identifier: GPL-2.0-only
"""How long to wait for a machine: until it gets nowhere, however slow the host is.

    patience = Patience(120, pids=lambda: [qemu.pid], signs=lambda: console.stat().st_size)
    if not until(done, patience, pause):
        raise Error(patience.why())

The clock of a Patience starts again with every sign of progress. It does not count the time in
which a thread of these processes, or of this one, could run but the host ran something else.  So a
limit is what the work takes on a machine of its own, from one sign to the next. It needs no factor
for other work on the host.

A machine that says something for ever gets on for ever. So a second clock never starts again, and
a limit of ROUNDS times the first one ends that.
"""

import contextlib
import glob
import os
import signal
import subprocess
import time
from pathlib import Path

PROC = Path("/proc")
# Callers name what their work takes altogether, or between two signs if these are few: none has more such rounds.
ROUNDS = 20


def waited(pids):
    """{thread: seconds that it has waited for a CPU so far}"""
    found = {}
    for pid in pids:
        # Not Path.glob(), which fails if a process ends meanwhile.
        for path in glob.iglob(f"{PROC}/{pid}/task/*/schedstat"):
            try:
                found[path] = int(Path(path).read_text().split()[1]) / 1e9
            except (OSError, IndexError):    # it has ended
                pass
    return found


class Patience:
    """Is over when nothing has changed for so many seconds of the machine's own time, or after ROUNDS times as many."""

    def __init__(self, seconds, pids=lambda: (), signs=lambda: None):
        """pids() are the machine's processes; signs() returns something that differs when it gets on."""
        self.seconds, self.signs = seconds, signs
        self.pids = lambda: (os.getpid(), *pids())
        self.quiet = self.spent = 0
        self.seen, self.at, self.waited = signs(), time.monotonic(), waited(self.pids())

    def why(self):
        """Why it is over, for people"""
        if self.quiet > self.seconds:
            return f"nothing new for {self.seconds:.0f} s of the machine's own time"
        return f"no end within {ROUNDS * self.seconds:.0f} s of the machine's own time, though it gets on"

    def over(self):
        """To be called every few seconds at least."""
        seen, at, now_waited = self.signs(), time.monotonic(), waited(self.pids())
        starved = max((s - self.waited.get(thread, s) for thread, s in now_waited.items()), default=0)
        own = max(0, at - self.at - starved)
        self.quiet = 0 if seen != self.seen else self.quiet + own
        self.spent += own
        self.seen, self.at, self.waited = seen, at, now_waited
        return self.quiet > self.seconds or self.spent > ROUNDS * self.seconds


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


def kill(pid):
    """Kills a process and all that it has started."""
    for one in reversed(tree(pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


def output(command, seconds):
    """(status, stdout, stderr) of a command; a SystemExit that names it if it takes longer, as of communicate()"""
    command = [str(word) for word in command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as proc:
        said = communicate(proc, seconds)
        if not said:
            kill(proc.pid)
            raise SystemExit(f"{' '.join(command)}: no end within {seconds} s of its own time")
    return proc.returncode, *said


def communicate(proc, seconds):
    """Popen.communicate(); None if it has not ended after so many seconds of the processes' own time"""
    patience = Patience(seconds, lambda: tree(proc.pid))
    while True:
        try:
            return proc.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            if patience.over():
                return None
