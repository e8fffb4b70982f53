# SPDX-License-Identifier: GPL-2.0-only
"""What tests/xfstests/results.py reads out of check's output, and what it takes for a difference."""

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def load():
    # The name "results" alone would be found in other folders, too.
    spec = importlib.util.spec_from_file_location("xfstests_results", HERE / "results.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


kept = load()
Result = kept.Result

OUTPUT = """FSTYP         -- ext4
MOUNT_OPTIONS -- -o acl,user_xattr /dev/nullb1 /run/xfs/scratch

ext4/001           2s
ext4/002        7s ...  9s
ext4/003           [not run] mkfs does not support bigalloc
ext4/004          - output mismatch (see /run/xfs/results/ext4/004.out.bad)
    --- tests/ext4/004.out
    +++ /run/xfs/results/ext4/004.out.bad
    @@ -1 +1,2 @@
     generic/999 1s
    +5s
generic/005        [failed, exit status 1] _check_dmesg: something found in dmesg (see x)

generic/1006       [expunged]
generic/007        3s
"""


def test_results_of_a_run():
    ended, running = kept.parse(OUTPUT + "generic/008        ")
    assert running == "generic/008"
    assert {n: r.verdict for n, r in ended.items()} == {
        "ext4/001": "pass", "ext4/002": "pass", "ext4/003": "not run", "ext4/004": "fail",
        "generic/005": "fail", "generic/007": "pass"}
    assert ended["ext4/002"].seconds == 9
    assert ended["ext4/003"].why == "mkfs does not support bigalloc"
    assert "+5s" in ended["ext4/004"].why and "out.bad" in ended["ext4/004"].why
    assert "dmesg" in ended["generic/005"].why


@pytest.mark.parametrize("tail, verdict, running", [
    ("4s\n", "pass", None),
    ("[not run] no device\n", "not run", None),
    ("unix_chkpwd[8]: no user\n[not run] no user\n", "not run", None),
    ("- output mismatch\n    +a [not run] b\nRan: generic/008\n", "fail", None),
    ("- output mismatch (see x)\n    +3s\n", None, "generic/008"),
    ("[failed, exit status 1]", None, "generic/008"),
    ("- output mismatch\n    +3\nRan: ext4/001\nFailures: generic/008\n", "fail", None),
    ("[failed, exit status 1]\r\nxfstests-guest: end 1\r\n", "fail", None),
    ("", None, "generic/008"),
])
def test_last_test(tail, verdict, running):
    ended, runs = kept.parse(OUTPUT + "generic/008        " + tail)
    assert runs == running
    assert (ended["generic/008"].verdict if "generic/008" in ended else None) == verdict


def side(tmp_path, name, what="a", **results):
    made = kept.Side(tmp_path / f"{name}.json", what)
    made.results = {n.replace("_", "/"): Result(v) for n, v in results.items()}
    return made


def test_difference(tmp_path):
    stock = side(tmp_path, "ext4", ext4_001="pass", ext4_002="fail", ext4_003="not run", ext4_004="pass",
                 ext4_005="fail", ext4_006="pass")
    ours = side(tmp_path, "zext4", ext4_001="pass", ext4_002="hang", ext4_003="pass", ext4_004="died",
                ext4_005="pass")
    assert kept.compare(stock, ours) == ["ext4/003", "ext4/004", "ext4/005"]
    # Failing on stock now and then, too: unsteady, and no difference.
    stock.again["ext4/004"] = [Result("pass"), Result("fail")]
    assert kept.compare(stock, ours) == ["ext4/003", "ext4/005"]
    ours.again["ext4/005"] = [Result("pass")]
    assert kept.compare(stock, ours) == ["ext4/003", "ext4/005"]


def test_results_are_kept_for_what_was_tested(tmp_path):
    first = side(tmp_path, "ext4", ext4_001="pass", ext4_002="fail")
    first.again["ext4/002"] = [Result("pass", 3, "why")]
    first.save()
    same = kept.Side(tmp_path / "ext4.json", "a")
    assert same.results == first.results and same.again == first.again and not same.stale
    other = kept.Side(tmp_path / "ext4.json", "b")
    assert other.stale and not other.results


def test_selection():
    groups = kept.read_groups("# made by a tool\n\n001 auto quick\n002 auto stress # a remark\n", "ext4")
    groups |= kept.read_groups("1001 log\n", "generic")
    assert groups["ext4/002"] == {"auto", "stress"}
    assert kept.select(groups, ["auto", "log"]) == ["ext4/001", "ext4/002", "generic/1001"]
    assert kept.select(groups, ["auto", "-stress", "generic/*"]) == ["ext4/001", "generic/1001"]
    with pytest.raises(ValueError, match="nosuch is neither"):
        kept.select(groups, ["auto", "nosuch"])


def test_excluded_file():
    listed = kept.read_excluded("# text\n\next4/001 skip takes a day\ngeneric/1002@lanes known e2fsck alone\n")
    assert listed == {("ext4/001", ""): ("skip", "takes a day"),
                      ("generic/1002", "lanes"): ("known", "e2fsck alone")}
    for wrong in ("ext4/001 skip", "ext4/001 never because", "xfs/001 skip other file system"):
        with pytest.raises(ValueError, match="line 1"):
            kept.read_excluded(wrong)
    kept.read_excluded((HERE / "excluded").read_text())
