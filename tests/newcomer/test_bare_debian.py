# SPDX-License-Identifier: GPL-2.0-only
"""A command that hangs fails its case, with what it has said, and leaves nothing behind."""
import re
import subprocess
import sys
import time

import bare_debian
import patience
import pytest

# It asks a question, as a package may, and so does a child of it.
ASKS = "import subprocess; print('Go on? [Y/n]', flush=True); subprocess.run(['sleep', '1000'])"


def is_alive(pid):
    try:
        return not re.search(r"\) Z ", (patience.PROC / str(pid) / "stat").read_text())
    except OSError:
        return False


def test_a_command_that_asks_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr(bare_debian, "QUIET", 1)
    path, started = tmp_path / "said", set()
    with open(path, "w", encoding="utf-8") as file, subprocess.Popen([sys.executable, "-c", ASKS], stdout=file) as process:
        with pytest.raises(AssertionError, match=r"nothing new for 1 s.*:\nGo on\?"):
            bare_debian.end_of(process, path, lambda text: started.update(patience.tree(process.pid)))
    assert len(started) == 2
    assert patience.until(lambda: not any(map(is_alive, started)), patience.Patience(60), lambda: time.sleep(0.1))
