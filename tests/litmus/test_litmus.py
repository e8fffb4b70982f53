# SPDX-License-Identifier: GPL-2.0-only
"""Each order between threads that no lock makes: it holds in the kernel's memory model, and not without its barriers.

tests/litmus/*.litmus say what must never be seen. explore.py looks for it in all executions that the
model allows, and so does herd7 where it is installed (ZJ_HERD7: the program, MEMORY_MODEL: the
kernel's tools/memory-model). Every barrier, acquire, release, exchange or count of a test, when it
is weakened, must make that possible.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(HERE))
import explore  # noqa: E402

TESTS = sorted(HERE.glob("*.litmus"))
# What makes an order, and what may be left of it.
WEAKER = [(r"smp_(?:mb|rmb|wmb)\(\);", [""]),
          (r"rcu_read_lock\(\);([^}]*)rcu_read_unlock\(\);", [r"\1"]),
          (r"synchronize_rcu\(\);", [""]),
          (r"smp_store_release\((\w+), ", [r"WRITE_ONCE(*\1, "]),
          (r"rcu_assign_pointer\(", ["WRITE_ONCE("]),
          (r"smp_load_acquire\((\w+)\)", [r"READ_ONCE(*\1)"]),
          (r"atomic_read_acquire\(", ["atomic_read("]),
          (r"(\w+) = atomic_dec_and_test\((\w+)\);", [r"\1 = atomic_sub_return_relaxed(1, \2); \1 = \1 == 0;"]),
          (r"atomic_sub_return_release\(", ["atomic_sub_return_relaxed("]),
          (r"xchg\((\w+), (\w+)\);", [r"xchg_relaxed(\1, \2);"]),
          (r"(\w+) = cmpxchg\((\w+), (\w+), (\w+)\);",
           [r"\1 = cmpxchg_relaxed(\2, \3, \4);", r"\1 = READ_ONCE(*\2); if (\1 == \3) WRITE_ONCE(*\2, \4);"])]
# Two of these shapes each, with and without their barriers: what the model is known to say.
KNOWN = [("WRITE_ONCE(*x, 1); {0} WRITE_ONCE(*y, 1);", "r0 = READ_ONCE(*y); {1} r1 = READ_ONCE(*x);", "1:r0=1 /\\ 1:r1=0",
          [("smp_wmb();", "smp_rmb();", False), ("", "smp_rmb();", True), ("smp_wmb();", "", True)]),
         ("WRITE_ONCE(*x, 1); {0} r0 = READ_ONCE(*y);", "WRITE_ONCE(*y, 1); {1} r1 = READ_ONCE(*x);", "0:r0=0 /\\ 1:r1=0",
          [("smp_mb();", "smp_mb();", False), ("smp_mb();", "smp_rmb();", True), ("smp_wmb();", "smp_mb();", True)]),
         ("r0 = READ_ONCE(*x); {0} WRITE_ONCE(*y, 1);", "r1 = READ_ONCE(*y); {1} WRITE_ONCE(*x, 1);", "0:r0=1 /\\ 1:r1=1",
          [("smp_mb();", "smp_mb();", False), ("if (r0)", "smp_mb();", False), ("", "smp_mb();", True)]),
         ("WRITE_ONCE(*x, 1); {0} WRITE_ONCE(*y, 1);", "WRITE_ONCE(*y, 2); {1} r1 = READ_ONCE(*x);", "y=2 /\\ 1:r1=0",
          [("smp_mb();", "smp_mb();", False), ("smp_wmb();", "smp_mb();", True)])]


def weakened(text):
    """For each order of the test: what it is, and the test with less of it."""
    start = text.index("P0(")
    for pattern, ways in WEAKER:
        for match in re.finditer(pattern, text[start:]):
            at = start + match.start()
            yield match[0], [text[:at] + re.sub(pattern, less, text[at:], count=1) for less in ways]


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_never_seen(path):
    assert not explore.explore(path.read_text())


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_each_order_is_needed(path):
    tried = list(weakened(path.read_text()))
    assert [what for what, texts in tried if not any(map(explore.explore, texts))] == []
    # Nor does it hold without its locks.
    unlocked = re.sub(r"spin_(?:un)?lock\(\w+\);", "", path.read_text())
    assert tried or unlocked != path.read_text()
    assert unlocked == path.read_text() or explore.explore(unlocked)


@pytest.mark.parametrize("first, second, seen, cases", KNOWN)
def test_explorer_knows_the_model(first, second, seen, cases):
    for one, two, expected in cases:
        text = (f"C shape\n{{}}\nP0(int *x, int *y)\n{{\nint r0;\n{first.format(one, two)}\n}}\n"
                f"P1(int *x, int *y)\n{{\nint r0;\nint r1;\n{second.format(one, two)}\n}}\nexists ({seen})\n")
        assert explore.explore(text) is expected, text


def test_every_order_of_the_source_has_a_test():
    done = subprocess.run([TOP / "tools/check-barriers"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def herd(path):
    model = os.environ.get("MEMORY_MODEL", "")
    done = subprocess.run([os.environ.get("ZJ_HERD7", "herd7"), "-conf", "linux-kernel.cfg", path], cwd=model,
                          capture_output=True, text=True, check=False)
    found = re.search(r"(?m)^Observation \S+ (\w+)", done.stdout)
    assert found, done.stdout + done.stderr
    return found[1] != "Never"


NO_HERD = not shutil.which(os.environ.get("ZJ_HERD7", "herd7")) or not os.environ.get("MEMORY_MODEL")


@pytest.mark.skipif(NO_HERD, reason="set ZJ_HERD7 and MEMORY_MODEL (a kernel's tools/memory-model)")
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_herd_agrees(path, tmp_path):
    for text in [path.read_text(), *(text for _, texts in weakened(path.read_text()) for text in texts)]:
        (tmp_path / "a.litmus").write_text(text)
        assert herd(tmp_path / "a.litmus") is explore.explore(text), text


@pytest.mark.skipif("MEMORY_MODEL" not in os.environ, reason="set MEMORY_MODEL (a kernel's tools/memory-model)")
def test_the_kernels_own_tests():
    done = 0
    for path in sorted(pathlib.Path(os.environ["MEMORY_MODEL"], "litmus-tests").glob("*.litmus")):
        text = path.read_text()
        try:
            allowed = explore.explore(text)
        except explore.Refused:
            continue
        assert allowed == (re.search(r"Result: (\w+)", text)[1] != "Never"), path.name
        done += 1
    assert done > 30
