# SPDX-License-Identifier: GPL-2.0-only
"""Applications as loads of make bench: what is made of their output, and what is refused.

tests/bench/said has what each application and the check after it have printed (fio's reports
without what is not read).
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import vm as vmlib

# At the end: bench/concurrent.py would hide the module of that name.
sys.path.append(str(vmlib.ROOT / "bench"))
import apps           # noqa: E402
import bench          # noqa: E402
import benchreport    # noqa: E402
from apps import said    # noqa: E402

SAID = Path(__file__).parent / "said"
SCRIPTS = vmlib.ROOT / "bench" / "apps"
LOADS = list(apps.all_loads())

# What is to be found: works, seconds, median and longest in us of what the application waits for.
FOUND = {
    "fio-randsync": (1552, 0.103, 1171.5, 7700.2),
    "fio-append": (337, 0.104, 284.7, 4770.0),
    "sysbench-fileio": (7533, 1.0016, 9.0, 9490.0),
    "mariadb": (1363, 1.0092, 317.4, 56020.0),
    "mariadb-binlog": (981, 1.0056, 700.4, 14890.0),
    "dbench": (2896, 2, None, 8027.0),
    "postmark-all": (594, 0.04, None, None),
    "postgresql": (296, 1.0015, 7831.6, 12943.0),
    "rocksdb": (507, 1.003, 3588.9, 12016.0),
    "rocksdb-random": (162630, 1.003, 1.6, 28143.0),
    "sqlite-wal": (93, 0.1041, 1581.1, 7891.4),
    "sqlite-delete": (14, 0.1134, 13434.9, 23987.6),
    "git-commit": (4, 0.1563, 69730.3, 86528.2),
    "git-checkout": (2, 0.1793, 177209.3, 179237.5),
    "dpkg": (4, 1.6828, 809500.7, 875406.4),
}

# How the output of a load looks that has lost something: a pattern and what takes its place.
LOST = {
    "fio-randsync": [(r"^bytes \d+", "bytes 4096"), (r'"error": 0', '"error": 84')],
    "fio-append": [(r"^bytes \d+", "bytes 4096"), (r'"error": 0', '"error": 5'),
                   (r'("total_ios": )[1-9]\d*(, "runtime": \d+\}, "write")', r"\g<1>3\2")],
    "sysbench-fileio": [(r"^valid \d+", "valid 4096"), (r"fsyncs/s:.*", "fsyncs/s: 0.00"),
                        (r"(total number of events: +)\d+", r"\g<1>12")],
    "mariadb": [(r"^rows: \d+", "rows: 1000"), (r"check\tstatus\tOK", "check\terror\tCorrupt")],
    "mariadb-binlog": [(r"^rows: \d+", "rows: 1001")],
    "dbench": [(r"^Throughput .*", ""), (r"^ Flush .*", ""), (r" execute .*", "")],
    "postmark-all": [(r"^left 0", "left 1"), (r"^\t\d+ deleted \(", "\t7 deleted (")],
    "postgresql": [(r'count = "\d+"', 'count = "3"'), (r"\A(.|\n)*?us \d+\n", "synced 0.1\n")],
    "rocksdb": [(r"^Keys in range: \d+", "Keys in range: 4"), (r"^verified$", ""), (r"^Count: \d+", "Count: 3")],
    "rocksdb-random": [(r"^Keys in range: \d+", "Keys in range: 4")],
    "sqlite-wal": [(r"^rows \d+", "rows 0"), (r"^integrity ok", "integrity *** in database main ***")],
    "sqlite-delete": [(r"^rows \d+", "rows 0")],
    "git-commit": [(r"^commits \d+", "commits 1"), (r"^fsck clean", "fsck error"), (r"^changed 0", "changed 1")],
    "git-checkout": [(r"^changed 0", "changed 1"), (r"^works=.*", "")],
    "dpkg": [(r"^found installed", "found half-installed"), (r" 0 files changed", " 1 files changed"),
             (r"^installations 3", "installations 2")],
}


def text(load):
    return (SAID / f"{load}.txt").read_text()


@pytest.mark.parametrize("load", LOADS)
def test_figures(load):
    works, seconds, p50, longest = FOUND[load]
    run = apps.parsed(load, text(load))
    kind = "fsyncs" if run["fsyncs_count"] else "works"
    assert run["works"] == works and run["seconds"] == pytest.approx(seconds, abs=0.001)
    for name, value in (("p50", p50), ("longest", longest)):
        assert run[f"{kind}_{name}"] == (None if value is None else pytest.approx(value, rel=0.01))
    assert run["synced"] > run["seconds"]
    assert not run["hist"][kind] or sum(count for _, count in run["hist"][kind]) == run[f"{kind}_count"]


@pytest.mark.parametrize("load, pattern, instead", [(load, *change) for load in LOST for change in LOST[load]])
def test_a_load_that_lost_something_shows_no_rate(load, pattern, instead):
    changed, count = re.subn(pattern, instead, text(load), flags=re.M)
    assert count, "the pattern changes nothing"
    with pytest.raises(ValueError):
        apps.parsed(load, changed)


def test_no_load_is_forgotten():
    assert LOADS == list(FOUND) == list(LOST) == list(apps.merged("WAITS")) == list(apps.merged("LOADS"))
    assert apps.syncing() < set(LOADS)
    documented = (vmlib.ROOT / "bench" / "apps" / "README.md").read_text()
    assert [load for load in LOADS if f"| {load} |" not in documented] == []
    for name in apps.NAMES:
        script = (SCRIPTS / f"{name}.sh").read_text()
        assert all(f"{function}()" in script for function in ("app_prepare", "app_run", "app_check"))


def lines(load, arm="ext4", nth=1):
    return [f"run {arm} {nth} 300 20", *(f"app {line}" for line in text(load).splitlines())]


def test_runs_of_bench():
    run = apps.parsed("sqlite-wal", text("sqlite-wal"))
    printed = "\n".join(["machine device: zjd0", *lines("sqlite-wal"), *lines("sqlite-wal", "zext4"), *lines("sqlite-wal", nth=2)])
    machine, arms = bench.parse(printed, "sqlite-wal")
    assert machine == {"device": "zjd0"} and {arm: len(runs) for arm, runs in arms.items()} == {"ext4": 2, "zext4": 1}
    for got in (run for runs in arms.values() for run in runs):
        assert got["per_second"] == run["works"] / run["seconds"] and got["writes"] == 300 and got["flushes"] == 20
        assert got["hist"] == run["hist"] and "said" not in got


def test_a_failed_run_says_what_and_where():
    with pytest.raises(ValueError, match=r"(?s)sqlite-wal on zext4: rows: .* it has printed:\n.*rows 1"):
        bench.parse("\n".join(lines("sqlite-wal", "zext4")).replace("app rows ", "app rows 1"), "sqlite-wal")


def test_report_of_what_an_application_does_not_tell():
    _, arms = bench.parse("\n".join(lines("postmark-all")), "postmark-all")
    results = {"settings": {}, "machine": {}, "points": [{"load": "postmark-all", "mode": "ordered", "workers": 2, "arms": arms}]}
    (row,) = benchreport.rows(results["points"])
    assert row[7:11] == ["–"] * 4
    assert apps.merged("LOADS")["postmark-all"] in benchreport.markdown(results)
    _, arms = bench.parse("\n".join(lines("dbench")), "dbench")
    results["points"] = [{"load": "dbench", "mode": "ordered", "workers": 2, "arms": arms}]
    (row,) = benchreport.rows(results["points"])
    assert row[7:10] == ["–"] * 3 and row[10] != "–"
    assert "Latencies are those of an fsync of a file" in benchreport.markdown(results)


def test_unknown_loads_are_refused():
    known = ["DWSL", "varmail"]
    assert bench.loads_of({"LOADS": "DWSL varmail-shared rocksdb"}, known) == ["DWSL", "varmail-shared", "rocksdb"]
    assert bench.loads_of({"LOADS": "apps"}, known) == LOADS
    with pytest.raises(SystemExit, match=r"no such load: oracle, shell; there are DWSL, varmail, and of applications .*git-commit"):
        bench.loads_of({"LOADS": "DWSL oracle shell"}, known)


def test_a_missing_program_names_the_remedy(tmp_path):
    with pytest.raises(SystemExit, match=r"rocksdb: .*db_bench is missing; run tools/deps bench-apps, or leave"):
        apps.require("rocksdb", [tmp_path / "db_bench"])
    assert "bench-apps" in (vmlib.ROOT / "tools" / "deps").read_text()


def test_a_missing_library_names_the_remedy(tmp_path):
    for name, code, more in (("libgone.so", "int gone(void) { return 0; }", ["-shared"]),
                             ("user", "int gone(void); int main(void) { return gone(); }", [tmp_path / "libgone.so"])):
        (tmp_path / "a.c").write_text(code)
        subprocess.run(["cc", "-o", tmp_path / name, tmp_path / "a.c", *more], check=True)
    apps.require("user", [tmp_path / "user"])
    (tmp_path / "libgone.so").unlink()
    with pytest.raises(SystemExit, match=r"user lacks \S*libgone.so; run tools/deps bench-apps"):
        apps.require("user", [tmp_path / "user"])


def test_latencies():
    """As loadgen's: a bucket is 1/64 of a power of two, a percentile the middle of one."""
    latencies = said.Latencies()
    assert latencies.fields("works")["works_p50"] is None
    for ns in range(1, 100_001):
        latencies.add(ns)
    got = latencies.fields("works")
    for name, share in said.QUANTILES.items():
        assert got[f"works_{name}"] == pytest.approx(share * 100, rel=0.008)
    assert got["works_longest"] == 100 and got["works_count"] == 100_000 and got["works_mean"] == pytest.approx(50, rel=0.001)
    assert [said.bucket(ns) for ns in (0, 63, 64, 127, 128, 129, 130, 4097)] == [0, 63, 64, 127, 128, 128, 130, 4096]
