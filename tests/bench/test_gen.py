# SPDX-License-Identifier: GPL-2.0-only
"""bench/gen: every load does what it is asked for, on a small directory; its percentiles are right."""

import math
import random
import sqlite3
import subprocess

import pytest

import vm as vmlib

GEN = vmlib.ROOT / "bench" / "gen"
WORKERS, WORKS, FILES = 3, 12, 30
# Operations of one work, and fsyncs of it.
COUNTS = {
    "DWOL": (1, 0), "DWOM": (1, 0), "DWAL": (1, 0), "DWSL": (2, 1), "MWCL": (2, 0), "MWCM": (3, 0),
    "MWUL": (1, 0), "MWUM": (1, 0), "MWRL": (1, 0), "MWRM": (1, 0),
    "varmail": (13, 2), "fileserver": (11, 0), "postmark": (None, 0),
    "writesync": (5, 1), "append": (1, 0), "overwrite": (1, 0), "randwrite": (1, 0),
    "randsync": (1, 1 / 4), "insert": (1, 1), "fsync-append": (2, 1), "fsync-overwrite": (2, 1),
    "fsync-create": (4, 1), "mail": (None, 2),
    "shell": (1, 0), "sqlite-wal": (1, 0), "sqlite-delete": (1, 0),
}


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("gen")
    subprocess.run(["make", "-s", "-C", GEN, f"OUT={out}"], check=True)
    subprocess.run(["cc", "-Wall", "-Werror", "-I", GEN, "-o", out / "quantiles",
                    vmlib.ROOT / "tests" / "bench" / "quantiles.c", GEN / "hist.c"], check=True)
    return out


def run(built, *args, fails=False):
    result = subprocess.run([built / "loadgen", *map(str, args)], capture_output=True, text=True, timeout=60)
    assert bool(result.returncode) == fails, result.stderr
    return result.stderr if fails else result.stdout


def fields(out):
    line = next(line for line in out.splitlines() if line.startswith("works="))
    return {name: float(value) for name, value in (word.split("=") for word in line.split())}


def test_no_load_is_forgotten(built):
    assert run(built, "-l").split() == list(COUNTS)


@pytest.mark.parametrize("shared", [[], ["-s"]], ids=["split", "shared"])
@pytest.mark.parametrize("name", COUNTS)
def test_load(built, tmp_path, name, shared):
    common = ["-t", name, "-d", tmp_path, "-w", WORKERS, "-f", FILES, "-e", 4, *shared]
    command = ["true"] if name == "shell" else []
    made = run(built, *common, "-p", *command)
    assert "works=" not in made
    out = run(built, *common, "-r", "-n", WORKS, "-H", *command)
    got, works = fields(out), WORKERS * WORKS
    operations, fsyncs = COUNTS[name]
    assert got["works"] == got["works_count"] == works
    assert got["fsyncs_count"] == works * fsyncs
    assert operations is None or got["operations"] == works * operations
    assert 0 < got["works_p50"] <= got["works_p99"] <= got["works_p999"] <= got["works_longest"]
    buckets = [line.split() for line in out.splitlines() if line.startswith("hist works")]
    assert sum(int(count) for *_, count in buckets) == works
    own = (tmp_path / "w0").is_dir()
    always = ("DWOL", "DWAL", "DWSL", "MWRM", "shell", "sqlite-wal", "sqlite-delete")
    assert own == (name in always or name.startswith("MW") and name[-1] == "L" or
                   not shared and name not in ("DWOM", "MWCM", "MWUM", "randsync"))


def count_files(path):
    return sum(1 for p in path.rglob("*") if p.is_file())


@pytest.mark.parametrize("name, change", [("MWCL", WORKS), ("MWCM", WORKS), ("MWUL", -WORKS), ("MWUM", -WORKS),
                                          ("MWRL", 0), ("MWRM", 0), ("fileserver", 0), ("fsync-create", WORKS)])
def test_what_is_left(built, tmp_path, name, change):
    common = ["-t", name, "-d", tmp_path, "-w", WORKERS, "-f", FILES]
    run(built, *common, "-p")
    before = count_files(tmp_path)
    run(built, *common, "-r", "-n", WORKS)
    assert count_files(tmp_path) == before + WORKERS * change
    if name == "MWRM":
        assert sum(1 for p in tmp_path.iterdir() if p.is_file()) == WORKERS * WORKS
    if name == "MWRL":
        assert (tmp_path / "w0" / f"0.{WORKS}").is_file()


def test_sizes_of_filebench(built, tmp_path):
    """The mean of a gamma distribution of shape 1.5, and its coefficient of variation."""
    run(built, "-t", "varmail", "-d", tmp_path, "-f", 3000, "-b", 16384, "-g", "-p")
    sizes = [p.stat().st_size for p in tmp_path.rglob("f*")]
    mean = sum(sizes) / len(sizes)
    deviation = math.sqrt(sum((s - mean) ** 2 for s in sizes) / len(sizes))
    assert len(sizes) == 3000
    assert mean == pytest.approx(16384, rel=0.06)
    assert deviation / mean == pytest.approx(1 / math.sqrt(1.5), rel=0.1)


def test_out_of_files_ends_it_for_all(built, tmp_path):
    got = fields(run(built, "-t", "MWUL", "-d", tmp_path, "-w", 2, "-f", 50, "-T", 60000))
    assert 50 <= got["works"] <= 100


def test_command(built, tmp_path):
    for n in range(2):
        (tmp_path / str(n)).mkdir()
    got = fields(run(built, "-t", "command", "-d", tmp_path, "-w", 2, "-n", 7, "-m", 1, "echo made >file"))
    assert got["operations"] == 14 and (tmp_path / "1" / "file").read_text() == "made\n"
    assert "loadgen" in run(built, "-t", "command", "-d", tmp_path / "none", "true", fails=True)


def test_noise(built, tmp_path):
    for noise in ("bulk", "storm", "rewrite", "reread", "append"):
        (tmp_path / noise).mkdir()
        got = fields(run(built, "-t", "fsync-append", "-d", tmp_path, "-n", 5, "-N", noise, "-D", tmp_path / noise))
        assert got["fsyncs_count"] == 5
        assert any((tmp_path / noise).iterdir())


def test_a_worker_that_fails_is_told(built, tmp_path):
    (tmp_path / "w1").mkdir()
    (tmp_path / "w1" / "1.0").write_text("in the way")
    message = run(built, "-t", "DWOL", "-d", tmp_path, "-w", 2, fails=True)
    assert "1.0: File exists" in message and "failed before the start" in message


@pytest.mark.parametrize("args", [["-t", "none", "-d", "/tmp"], ["-t", "DWOL"], ["-t", "DWOL", "-d", "/tmp", "-w", 0],
                                  ["-t", "DWOL", "-d", "/tmp", "-N", "bulk"],
                                  ["-t", "DWOL", "-d", "/tmp", "-N", "none", "-D", "/tmp"], ["-t", "command", "-d", "/tmp"]])
def test_wrong_arguments(built, args):
    assert "usage" in run(built, *args, fails=True)


SHARES = [0, 0.5, 0.9, 0.99, 0.999, 1]


def plain(values, share):
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


@pytest.mark.parametrize("values", [[0], [7] * 5, list(range(1, 2000)), [1, 2**40, 2**63, 2**64 - 1]] +
                         [[int(random.Random(seed).lognormvariate(12, 3)) for _ in range(1000)] for seed in (1, 2)] +
                         [[int(random.Random(n).expovariate(1e-6)) for n in range(5000)]])
def test_percentiles(built, values):
    out = subprocess.run([built / "quantiles", *map(str, SHARES)], input=" ".join(map(str, values)),
                         capture_output=True, text=True, check=True).stdout.split()
    assert [int(n) for n in out[:3]] == [len(values), sum(values) % 2**64, max(values)]
    for share, got in zip(SHARES, map(float, out[3:])):
        assert got == pytest.approx(plain(values, share), rel=0.008, abs=0.5)


def test_percentiles_of_nothing(built):
    out = subprocess.run([built / "quantiles", "0.5"], input="", capture_output=True, text=True, check=True).stdout
    assert out.split() == ["0", "0", "0", "0.000"]


def test_shell_works_in_directories_of_their_own(built, tmp_path):
    run(built, "-t", "shell", "-d", tmp_path, "-w", 2, "-n", 3, "echo $N >>said")
    assert [(tmp_path / f"w{w}" / "said").read_text() for w in range(2)] == ["0\n1\n2\n"] * 2


def test_shell_ends_when_a_command_fails(built, tmp_path):
    err = run(built, "-t", "shell", "-d", tmp_path, "-n", 3, "exit 3", fails=True)
    assert "status 3 of: exit 3" in err
    run(built, "-t", "shell", "-d", tmp_path, "-n", 3, fails=True)


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_rows_of_sqlite(built, tmp_path, mode):
    run(built, "-t", f"sqlite-{mode}", "-d", tmp_path, "-w", 2, "-n", 5)
    for w in range(2):
        db = sqlite3.connect(tmp_path / f"w{w}" / "rows.db")
        assert db.execute("SELECT count(*), max(length(text)) FROM line").fetchone() == (5, 68)
        assert db.execute("PRAGMA journal_mode").fetchone() == (mode,)
