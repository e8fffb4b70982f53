# SPDX-License-Identifier: GPL-2.0-only
"""What others have reported of file systems, in User Mode Linux, on zext4 and on stock ext4.

ZJ_UML_LOADS=N runs each load with N seeds; ZJ_SECONDS (3) and ZJ_CUTS (15) make them longer. It needs
tools/build-uml and make guest-programs; ZJ_UML=7.3 takes the kernel of tools/build-uml 7.3, with two CPUs. Stock's
results are printed (pytest -rP), not judged.
"""
import json
import os
import pathlib
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
LOADS = TOP / "tests/uml/loads"
sys.path.insert(0, str(TOP / "tests/vm/lanes"))
import ace  # noqa: E402 pylint: disable=wrong-import-position

SEEDS = int(os.environ.get("ZJ_UML_LOADS", "0"))
# What the kernel is given that tools/build-uml SERIES makes.
ARGS = {"uml": (), "uml-7.3": ("ncpus=2", "seccomp=on")}
BUILT = "uml" + ("-" + os.environ["ZJ_UML"] if "ZJ_UML" in os.environ else "")
pytestmark = pytest.mark.skipif(not SEEDS, reason="only with ZJ_UML_LOADS=N")

# Mount options; with lane_by=cgroup the tasks of a load are in two lanes.
OURS = [("zext4", "lanes=1"), ("zext4", "lanes=4,lane_by=cgroup")]
STOCK = [("ext4", "defaults")]


def run(load, fs, options, seed, kind="", disk=64):
    seconds, cuts = os.environ.get("ZJ_SECONDS", "3"), os.environ.get("ZJ_CUTS", "15")
    script = (f"export FS={fs} OPTS={options} SECONDS={seconds} CUTS={cuts} SEED={seed} KIND='{kind}'\n"
              f"PYTHONPATH={LOADS} PYTHONDONTWRITEBYTECODE=1 python3 -u {LOADS}/{load}.py\n")
    out = ace.Uml(disk, None, BUILT, ARGS[BUILT]).sh(script, 60 + 20 * float(seconds) + 10 * int(cuts))
    print(out)
    found = [json.loads(line[len("RESULT "):]) for line in out.splitlines() if line.startswith("RESULT ")]
    assert len(found) == 1 and "FAILED" not in out, out
    if fs == "zext4":
        assert "COMPLAINT" not in out, out
    return found[0]


def each(*kinds):
    """Parametrizes a test by file system, seed, and kind of load."""
    def decorate(test):
        test = pytest.mark.parametrize("seed", range(1, SEEDS + 1))(test)
        if kinds:
            test = pytest.mark.parametrize("kind", kinds)(test)
        return pytest.mark.parametrize("fs,options", STOCK + OURS)(test)
    return decorate


@each()
def test_git_keeps_a_sound_repository(fs, options, seed):
    found = run("git_cuts", fs, options, seed, disk=128)
    assert fs == "ext4" or (found["damaged"], found["unsound"]) == (0, 0)


@each("4096", "1024")
def test_room_after_a_full_disk(fs, options, seed, kind):
    found = run("full_disk", fs, options, seed, kind, disk=48)
    assert fs == "ext4" or (found["no_room"], found["unsound"]) == (0, 0)


@each()
def test_inode_tables_that_are_cleared_later(fs, options, seed):
    found = run("lazy_tables", fs, options, seed, disk=96)
    assert fs == "ext4" or (found["unsound"] == 0 and found["groups_cleared"])


@each()
def test_flushed_buffers(fs, options, seed):
    found = run("flush_buffers", fs, options, seed)
    assert fs == "ext4" or (found["lost"], found["unsound"]) == (0, 0)


@each("4000 2000 8000", "20000 10000 40000")
def test_nobody_hangs_with_a_small_log(fs, options, seed, kind):
    """The waits are printed, as no time is asserted; the load has to come to its end."""
    found = run("small_log", fs, options, seed, kind)
    assert fs == "ext4" or found["unsound"] == 0


@each()
def test_limits_in_a_storm_of_transfers(fs, options, seed):
    found = run("quota_storm", fs, options, seed, disk=32)
    assert all(kept and refused for kept, refused in found["kept_and_refused"])
    assert fs == "ext4" or (found["over_limit"], found["unsound"]) == (0, 0)


@each()
def test_sizes_of_folios(fs, options, seed):
    """With Linux 7.3 the folios are as large as the files, up to 1 MiB."""
    found = run("folio_sizes", fs, options, seed, disk=64)
    assert found["cpus"] == (1 if BUILT == "uml" else 2)
    assert found["wrong"] == 0
    assert fs == "ext4" or (found["lost"], found["unsound"]) == (0, 0)


@pytest.mark.skipif(BUILT == "uml", reason="Linux 6.12 has no such ioctl")
@each()
def test_what_is_tuned_while_mounted(fs, options, seed):
    found = run("tune_mounted", fs, options, seed, disk=64)
    assert fs == "ext4" or [found[x] for x in ("refused", "told", "lost", "unsound")] == [2, 0, 0, 0]


@each()
def test_devices_cut_at_two_moments(fs, options, seed):
    """Nothing can tell that the file system's device is older than the journal's: as with stock, e2fsck has to."""
    found = run("skewed_devices", fs, options, seed, disk=32)
    assert fs == "ext4" or found["same"]["unsound"] + found["same"]["refused"] == 0


@pytest.mark.skipif("ZJ_STRESS_NG" not in os.environ, reason="ZJ_STRESS_NG=DIR has stress-ng")
@each()
def test_stress_ng(fs, options, seed):
    found = run("stress_ng", fs, options, seed, os.environ.get("ZJ_STRESS_NG"), disk=96)
    assert found["loads"] > 60 and (fs == "ext4" or found["unsound"] == 0)


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
@pytest.mark.parametrize("kind", ["plain", "htree", "inline", "encrypted", "casefold"])
@pytest.mark.parametrize("fs,options", OURS)
def test_fast_commits_of_stock(fs, options, seed, kind):
    """Where stock leaves a sound file system, ours is the same; where it does not, ours is sound all the same."""
    found = run("fast_commits", fs, options, seed, kind)
    if "stock_hangs" in found:
        pytest.skip("stock ext4 hangs in an fsync")
    assert [found[x] for x in ("lost", "refused", "unsound", "differ")] == [0] * 4
