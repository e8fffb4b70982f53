# SPDX-License-Identifier: GPL-2.0-only
"""What bench/nvm.py makes of the guest's lines, and which lines there are; the bench itself is "make bench-nvm"."""

import sys

import pytest

import conftest
import vm as vmlib

# At the end: bench/concurrent.py would hide the module of that name.
sys.path.append(str(vmlib.ROOT / "bench"))
import nvm    # noqa: E402

LINES = """
mke2fs says something
run varmail hdd 1 1000 10.0 4096000 10 -
run varmail line 1 1000 5.0 41000 20 5
run varmail hdd 2 1000 30.0 4096000 12 -
run varmail line 2 1000 5.0 40000 20 5
run varmail hdd 3 1000 20.0 4096000 11 -
run varmail line 3 1000 5.0 40960 20 5
run varmail cut short
run varmail block 1 1000 10.0 - 10 -
"""


def test_medians_and_ratios():
    types = nvm.columns(nvm.parse(LINES))["varmail"]
    assert list(types) == ["hdd", "line", "block"]
    assert types["hdd"]["per_second"] == 50 and len(types["hdd"]["runs"]) == 3
    assert types["line"]["to_hdd"] == 4 and types["line"]["to_block"] == 2
    assert "to_pmem" not in types["line"] and "to_hdd" not in types["hdd"]
    assert types["line"]["reduction"] == pytest.approx(99)
    assert types["block"]["bytes_per_operation"] is None and "reduction" not in types["block"]


def test_tables(capsys):
    nvm.table(nvm.columns(nvm.parse(LINES)))
    out = capsys.readouterr().out
    assert "the paper, at best" in out and "does not tell what was logged to memory" in out
    lines = "".join(f"run varmail line:tune=txninfo_max:{size} 1 1000 {100 / n:.1f} 100 {100 // n} -\n"
                    for n, size in enumerate(nvm.sizes_of("256 8192"), 1))
    results = nvm.runs_by_size(nvm.parse(lines))
    nvm.sweep_table(results, [256, 8192])
    assert results["varmail"][8192]["fewer_commits"] == 50 and results["varmail"][8192]["speed"] == 2
    assert nvm.sizes_of("all")[-1] == 131072 and nvm.sizes_of("") == []


def test_labels():
    assert nvm.share({"commits": 20.0, "full": 5.0}) == "20\n25%"
    assert nvm.share({"commits": 20.0, "full": None}) == "20" and nvm.share({"commits": None, "full": None}) == "0"


def test_a_missing_case_is_reported(monkeypatch):
    monkeypatch.setattr(nvm.vm.pack, "which", lambda name: None)
    with pytest.raises(SystemExit, match="no postmark; run tools/deps bench-nvm"):
        nvm.postmark()


@pytest.mark.zext4
def test_writesync_appends_to_a_file_that_was_written_before():
    """With a journal on a disk, in memory, and without one, which then has nothing to count."""
    settings = {"CASES": "writesync", "TYPES": "none hdd line", "SYNC_LOOPS": 3, "SYNC_FILE_MB": 2, "SIZE_MB": 1024,
                "DISK_US": 100, "JOURNAL_MB": 8}

    def bench(guest, **more):
        words = " ".join(f"'{name}={value}'" for name, value in (settings | more).items())
        return guest.sh(f"sh /lib/zj/nvm.sh {words}; rc=$?; umount /tmp/fs 2>/dev/null; exit $rc")

    with conftest.new_vm(cpus=2, memory="2G", pmem=[vmlib.Pmem("16M")]) as guest:
        assert guest.sh("for m in ext4 zext4; do modprobe $m || exit; done; modprobe null_blk nr_devices=0")
        result = bench(guest)
        # Such a file does not fit.
        too_large = bench(guest, TYPES="none", SYNC_FILE_MB=2048)
        guest.check_console()
    assert result, result.out
    types = nvm.parse(result.out)["writesync"]
    assert {name: run["operations"] for name, (run,) in types.items()} == dict.fromkeys(("none", "hdd", "line"), 3 * 33.0)
    assert types["none"][0]["bytes"] is None and types["none"][0]["commits"] is None
    assert types["hdd"][0]["bytes"] > types["line"][0]["bytes"] > 0
    assert too_large.rc == 1 and "error: dd /tmp/fs/load/all/f0.0" in too_large.out
