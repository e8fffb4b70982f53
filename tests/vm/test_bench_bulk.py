# SPDX-License-Identifier: GPL-2.0-only
"""What bench/bulk.py makes of the lines that bulk.sh prints."""

import subprocess
import sys

import pytest

import vm as vmlib

sys.path.append(str(vmlib.ROOT / "bench"))
import bulk     # noqa: E402
import trees    # noqa: E402


def lines(fstype, nth, seconds, longest, waits, home):
    meter = [f"starts {sum(n for _, n in waits)} missed 0 longest {longest}", *(f"wait {ns} {n}" for ns, n in waits),
             "log 2 16", f"home 1 {home}", "data 10 80", "flush 1 0", "fua 0 0"]
    return [f"row append 4m ordered hdd 32 {fstype} {nth}", *(f"synced {line}" for line in meter),
            *(f"unmounted {line}" for line in meter[:-3]), "unmounted home 3 24", "unmounted data 10 80",
            f"run 10 {seconds} 1.0"]


def rows(*runs):
    text = "\n".join(line for run in runs for line in lines(*run))
    return {key: bulk.compare(types) for key, types in bulk.parse(f"mke2fs says something\n{text}").items()}


def test_figures_of_a_row():
    waits = [(1000, 98), (2000, 1), (9000, 1)]
    got = rows(("ext4", 1, 4.0, 8500, waits, 8), ("zext4", 1, 1.0, 99, [(1000, 1)], 0),
               ("ext4", 2, 9.0, 7000, waits, 8), ("zext4", 2, 1.0, 999, [(1000, 1)], 0),
               ("ext4", 3, 4.0, 7000, waits, 8), ("zext4", 3, 3.0, 99, [(1000, 1)], 0))
    types = got["append", "4m", "ordered", "hdd", "32"]
    stock, ours = types["ext4"], types["zext4"]
    assert stock["per_second"] == 2.5 and stock["per_second_unmounted"] == 2 and len(stock["runs"]) == 3
    assert stock["ratio"] == 1 and ours["ratio"] == 4 and ours["ratio_unmounted"] == 2.5
    bytes_of = [stock[name] for name in ("log_bytes", "home_bytes", "home_bytes_unmounted")]
    assert bytes_of == pytest.approx([n * 51.2 for n in (16, 8, 24)])
    assert stock["data_bytes"] == 4096 and stock["requests"] == 1.3 and stock["flushes"] == 0.1
    assert stock["p99_us"] == 2 and stock["longest_us"] == 8.5 and ours["longest_us"] == 0.999


def test_percentile():
    assert bulk.percentile([], 0.99) == 0
    assert [bulk.percentile([[10, 99], [20, 1]], share) for share in (0.5, 0.99, 0.991, 1)] == [10, 10, 20, 20]


def test_the_noise_and_a_run_cut_short(capsys):
    got = rows(("ext4", 1, 4.0, 1, [], 8), ("ext4", 1, 2.0, 1, [], 8), ("zext4", 1, 4.0, 1, [], 8))
    (types,) = got.values()
    assert list(types) == ["ext4", "ext4#2", "zext4"] and types["ext4#2"]["ratio"] == 2
    bulk.head()
    bulk.lines(next(iter(got)), types)
    assert "ext4#2" in capsys.readouterr().out
    assert bulk.parse("\n".join(lines("ext4", 1, 4.0, 1, [], 8)[:-1])) == {}


@pytest.mark.parametrize("load, what", [("checkout", "repository.tar"), ("untar", "tree.tar")])
def test_trees(tmp_path, monkeypatch, load, what):
    head = tmp_path / "headers"
    head.mkdir()
    files = {f"a/f{n}": head / f"f{n}" for n in range(8)}
    for path in files.values():
        path.write_text(f"{path}\n")
    monkeypatch.setattr(trees, "kernel_tree", lambda parts: files)
    monkeypatch.setattr(trees.vm, "BUILD", tmp_path)
    settings = trees.give(tmp_path, [load], ["a"], 1)
    names = subprocess.run(["tar", "-tf", tmp_path / what], capture_output=True, text=True, check=True).stdout.split()
    assert settings["TREE_FILES"] == "8"
    if load == "untar":
        assert sorted(names) == sorted(files)
    else:
        # Of eight: two gone, two moved, which is two gone and two new, two edited.
        assert settings["CHANGED_FILES"] == "8" and ".git/HEAD" in names
