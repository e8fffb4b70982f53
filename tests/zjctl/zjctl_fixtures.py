# SPDX-License-Identifier: GPL-2.0-only
"""zjctl, built with sanitizers, on images: no VM, no root except for a loop mount.

No conftest.py: tests/vm imports its own by that name.
"""

import json
import os
import subprocess

import pytest

from zjctl_images import BUILD, SAN, Crashed, make, mkfs, validate


@pytest.fixture(scope="session")
def sanitized():
    make(f"O={BUILD}/san", f"CFLAGS={SAN}")
    return BUILD / "san" / "zjctl"


@pytest.fixture(scope="session")
def plain():
    """Without sanitizers, which bear no preloaded library."""
    make(f"O={BUILD}/plain")
    return BUILD / "plain" / "zjctl"


@pytest.fixture
def zjctl(sanitized):
    """Runs zjctl: the result with rc, out (stdout and stderr), json if --json was given."""
    def run(*args, env=None):
        got = subprocess.run([str(a) for a in (sanitized, *args)], capture_output=True, text=True,
                             env={**os.environ, "TZ": "UTC", **(env or {})})
        assert got.returncode in (0, 1, 4, 5, 8, 16, 32), got.stdout + got.stderr
        assert "Sanitizer" not in got.stderr and "runtime error" not in got.stderr, got.stderr
        got.out = got.stdout + got.stderr
        if "--json" in args:
            got.json = [json.loads(line) for line in got.stdout.splitlines()]
            if len(got.json) == 1:
                got.json = got.json[0]
            documents = got.json if isinstance(got.json, list) else [got.json]
            for document in documents:
                validate(document)
            if documents:
                assert documents[-1]["exit"] == got.returncode
        return got
    return run


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    return Crashed(tmp_path_factory.mktemp("sample"))


@pytest.fixture
def crashed(sample, tmp_path):
    return sample.copy(tmp_path)


@pytest.fixture
def image(tmp_path):
    return mkfs(tmp_path / "clean.img")
