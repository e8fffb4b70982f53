# SPDX-License-Identifier: GPL-2.0-only
"""What bench/bench.py makes of the lines that bench.sh prints, and whom it asks before it overwrites a device."""

import io
import sys
import types
import xml.etree.ElementTree as tree

import pytest

import vm as vmlib

# At the end: bench/concurrent.py would hide the module of that name.
sys.path.append(str(vmlib.ROOT / "bench"))
import bench          # noqa: E402
import benchreport    # noqa: E402
import device         # noqa: E402

NAMES = ["count", "mean", "p50", "p99", "p999", "longest"]


def lines(arm, nth, works, seconds, fsyncs, longest=9000.0, hist=()):
    numbers = {f"fsyncs_{name}": value for name, value in zip(NAMES, [fsyncs, 2000.0, 1500.0, 5000.0, 8000.0, longest])}
    numbers |= {f"works_{name}": value for name, value in zip(NAMES, [works, 20.0, 10.0, 40.0, 50.0, 60.0])}
    numbers = {"works": works, "operations": works, "seconds": seconds, "synced": 2 * seconds} | numbers
    return [f"run {arm} {nth} {3 * works} {works // 2}", " ".join(f"{k}={v}" for k, v in numbers.items()),
            *(f"hist fsyncs {ns} {count}" for ns, count in hist)]


def results(*runs, load="DWSL", mode="ordered", workers=4):
    text = ["machine device: zjd0 ", "machine CPU model: A: B", *(line for run in runs for line in run)]
    machine, arms = bench.parse("\n".join(["mkfs says something", *text]))
    return {"settings": {"ROUNDS": "3"}, "machine": machine,
            "points": [{"load": load, "mode": mode, "workers": workers, "arms": arms}]}


def test_figures():
    got = results(lines("ext4", 1, 100, 1.0, 100), lines("zext4", 1, 300, 1.0, 100), lines("ext4", 2, 110, 1.0, 100, 7e3),
                  lines("zext4", 2, 220, 1.0, 100, 12e3), lines("ext4", 3, 120, 1.0, 100), lines("zext4", 3, 330, 1.0, 100))
    assert got["machine"] == {"device": "zjd0", "CPU model": "A: B"}
    (point,) = got["points"]
    ours = benchreport.figures(point["arms"]["zext4"])
    assert ours["per_second"] == 300 and ours["spread"] == pytest.approx(110 / 300)
    assert ours["per_second_synced"] == 150 and ours["latency"]["longest"] == 12000
    assert ours["flushes"] == 0.5 and ours["writes"] == 3 and ours["kind"] == "fsyncs" and ours["samples"] == 300
    stock, row = benchreport.rows(got["points"])
    assert stock[5] == "1.00" and row[5] == f"{300 / 110:.2f}"
    # 100 samples tell a 99th percentile, but not a 99.9th.
    assert row[7:11] == ["1.50", "5.00", "–", "12.00"]


def test_a_load_without_fsyncs_has_the_latency_of_its_works():
    got = results(lines("ext4", 1, 2000, 1.0, 0), load="DWOL")
    (row,) = benchreport.rows(got["points"])
    assert row[7:11] == ["0.01", "0.04", "0.05", "0.06"]
    assert "Latencies are those of a work" in benchreport.markdown(got)


def test_a_run_cut_short_is_left_out():
    got = results(lines("ext4", 1, 100, 1.0, 100), lines("zext4", 1, 100, 1.0, 100)[:1])
    assert list(got["points"][0]["arms"]) == ["ext4"]


def test_merged_buckets():
    _, arms = bench.parse("\n".join(lines("ext4", 1, 3, 1.0, 3, hist=[(100, 2), (200, 1)]) +
                                    lines("ext4", 2, 3, 1.0, 3, hist=[(50, 1), (200, 2)])))
    assert benchreport.merged(arms["ext4"], "fsyncs") == [(50, 1), (100, 2), (200, 3)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_markdown_and_page(tmp_path):
    pytest.importorskip("matplotlib", reason="tools/deps bench installs it")
    hist = [(10**6, 90), (10**7, 10)]
    got = results(lines("ext4", 1, 100, 1.0, 100, hist=hist), lines("zext4:tune=pipeline:off", 1, 300, 1.0, 100, hist=hist))
    got["machine"]["where"] = "virtual machine by software emulation <&>"
    benchreport.write(got, tmp_path)
    text = (tmp_path / "bench.md").read_text()
    row = next(line for line in text.splitlines() if line.startswith("| zext4:tune"))
    assert "| 300.0 | 0% | 3.00 |" in row and row.count("|") == len(benchreport.HEAD) + 1
    page = (tmp_path / "bench.html").read_text()
    assert "the processor is emulated" in page and "&lt;&amp;&gt;" in page and "heat and the clock rate" in page
    start, end = page.index("<svg"), page.index("</svg>") + len("</svg>")
    drawn = "".join(tree.fromstring(page[start:end]).itertext())
    assert "zext4:tune=pipeline:off" in drawn and "Throughput" in drawn and "Latency at 4 CPUs" in drawn
    assert "<td>300.0</td>" in page and "src=" not in page and "<link" not in page


def test_arms_of_a_point():
    settings = bench.defaults({"ARMS": "nojournal ext4 zext4:lanes=1"})
    assert bench.arms_of(settings, "DWSL", "ordered") == ["nojournal", "ext4", "zext4:lanes=1", "xfs", "btrfs"]
    assert bench.arms_of(settings, "DWSL", "journal") == ["ext4", "zext4:lanes=1"]
    assert bench.arms_of(settings, "MWCL", "ordered") == ["nojournal", "ext4", "zext4:lanes=1"]
    assert bench.cores({}, 6) == ["1", "2", "4", "6"] and bench.cores({}, 1) == ["1"]
    assert bench.cores({"CORES": "3"}, 8) == ["3"]
    assert bench.defaults({"QUICK": "1", "ROUNDS": "7"})["ROUNDS"] == "7"
    assert "FILES" in bench.defaults({"DEV": "/dev/x"}) and "FILES" not in settings


@pytest.fixture
def disk(monkeypatch):
    """A block device as device.py sees it: .busy, .content, and .says() what its owner types"""
    fake = types.SimpleNamespace(busy=False, content="")
    fake.says = lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    fake.says("")
    monkeypatch.setattr(device.stat, "S_ISBLK", lambda mode: True)
    monkeypatch.setattr(device, "in_use", lambda path: fake.busy)
    monkeypatch.setattr(device, "holds", lambda path: fake.content)
    return fake


def test_a_blank_device_takes_its_name(disk):
    disk.says("/dev/null\n")
    assert device.give_up("/dev/null") == "/dev/null"
    for answer in ("", "yes\n", "/dev/zero\n"):
        disk.says(answer)
        with pytest.raises(SystemExit, match="not confirmed; nothing was written"):
            device.give_up("/dev/null")


def test_a_device_with_content_takes_one_word_more(disk):
    disk.content = "ext4, label root"
    disk.says("/dev/null\n")
    with pytest.raises(SystemExit, match="not confirmed"):
        device.give_up("/dev/null")
    disk.says("overwrite\n/dev/null\n")
    assert device.give_up("/dev/null") == "/dev/null"


def test_a_device_in_use_is_refused_whatever_is_typed(disk):
    disk.busy = True
    disk.says("overwrite\n/dev/null\n")
    with pytest.raises(SystemExit, match="is in use"):
        device.give_up("/dev/null")


def test_no_device(tmp_path):
    with pytest.raises(SystemExit, match="No such file"):
        device.give_up(str(tmp_path / "none"))
    with pytest.raises(SystemExit, match="is no block device"):
        device.give_up(str(tmp_path))


def test_what_a_device_holds(tmp_path):
    image = tmp_path / "image"
    with open(image, "wb") as file:
        file.truncate(8 << 20)
    assert device.holds(image) == ""
    assert vmlib.pack.which("mke2fs")
    device.subprocess.run(["mke2fs", "-q", "-t", "ext4", "-L", "mine", image], check=True)
    assert device.holds(image) == "ext4, label mine"


def test_in_use_goes_by_the_kernel(monkeypatch):
    def opened(path, flags):
        assert flags & device.os.O_EXCL
        raise OSError(device.errno.EBUSY, "busy")

    monkeypatch.setattr(device.os, "open", opened)
    assert device.in_use("/dev/x")
