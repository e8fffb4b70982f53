# SPDX-License-Identifier: GPL-2.0-only
"""A guest of tests/xfstests is ended with all that it has started."""

import importlib.util
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2]
    except OSError:
        return ""


def test_kill_reaches_other_sessions(tmp_path):
    spec = importlib.util.spec_from_file_location("xfstests_engines", HERE / "engines.py")
    engines = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(engines)
    out = tmp_path / "out"
    # As script(1) does for vng: the child has a session of its own.
    guest = engines.Guest(["sh", "-c", "setsid sh -c 'echo $$; sleep 100; true' & wait"], out)
    while not out.read_text():
        time.sleep(0.05)
    child = int(out.read_text())
    assert guest.lives and child in engines.patience.tree(guest.proc.pid)
    guest.kill()
    assert not guest.lives
    # A zombie is left where the first process of a container does not wait for its children.
    for _ in range(200):
        if state(child) in ("", "Z"):
            return
        time.sleep(0.05)
    pytest.fail("the child lives")
