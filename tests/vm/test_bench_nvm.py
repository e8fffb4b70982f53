# SPDX-License-Identifier: GPL-2.0-only
"""What bench/nvm.py makes of the guest's lines; the bench itself is "make bench-nvm"."""

import sys

import pytest

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
