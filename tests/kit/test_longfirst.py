# SPDX-License-Identifier: GPL-2.0-only
"""The order of files in a run of all tests."""

import subprocess
import sys
from pathlib import Path

import longfirst

ROOT = Path(__file__).resolve().parents[2]
ONE_EACH = "import pytest\n\n\n@pytest.mark.parametrize('n', range({}))\ndef test_it(n):\n    pass\n"


def test_each_file_that_was_measured_is_there():
    assert len(longfirst.seconds()) > 20
    for name in longfirst.seconds():
        assert (ROOT / name).exists(), f"{name} is gone: tools/test-times"


def test_long_files_come_first(tmp_path):
    """Of one process: those that were measured by their seconds, then the others by the number of their tests."""
    (tmp_path / "conftest.py").write_text("""
import sys
import pytest
sys.path.insert(0, {kit!r})
import longfirst
longfirst.seconds = lambda: {{"test_long.py": 30, "test_longer.py": 40}}

def pytest_xdist_make_scheduler(config, log):
    return longfirst.LongFirst(config, log)
""".format(kit=str(ROOT / "tests/kit")))
    for name, tests in ("few", 3), ("long", 1), ("many", 9), ("longer", 2), ("one", 1):
        (tmp_path / f"test_{name}.py").write_text(ONE_EACH.format(tests))
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", "-n", "1", "--dist", "loadfile",
                           tmp_path], cwd=tmp_path, capture_output=True, text=True, check=False)
    said = [line.split("test_")[1].split(".py")[0] for line in done.stdout.splitlines() if "PASSED" in line]
    assert list(dict.fromkeys(said)) == ["longer", "long", "many", "few", "one"], done.stdout
    assert len(said) == 16


def test_the_run_of_all_tests_has_this_order():
    """xdist asks the conftest.py of the folder that it is given."""
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-n", "1", "--dist", "loadfile",
                           "--debug=/dev/stderr", "tests/kit/test_patience.py", "-k", "nothing"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert "LongFirst" in done.stderr, done.stderr[-2000:]
