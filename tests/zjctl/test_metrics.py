# SPDX-License-Identifier: GPL-2.0-only
"""zjctl stats --prometheus, what monitoring/ makes of it, and the tables for people."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import pytest

from test_commands import INFO
from zjctl_images import ROOT

pytest_plugins = "zjctl_fixtures"

SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)+)\} ([0-9.]+)')
# As a module of today prints it.
LANE = " ".join(f"{n + 1} {name}" for n, name in enumerate(
    "txns handles blocks headers flushes flush_calls copies ahead wait_log wait_locked wait_space wait_reserved "
    "commit_us conflicts deferred locked_us runs depth max_depth max_copies fsyncs fsync_us file_blocks "
    "file_merged file_syncs united depends".split()))
FULL = re.sub(r"lane   ([01]):.*", rf"lane   \1: {LANE}", INFO)


@pytest.fixture
def metrics(zjctl, tmp_path):
    """{metric: {labels: value}}, after a check of the text's form."""
    def read(text):
        copy = tmp_path / "info"
        copy.write_text(text)
        got = zjctl("stats", "--prometheus", "--from", copy)
        assert got.returncode == 0 and not got.stderr
        return parse(got.stdout)
    return read


def parse(text):
    found, kinds, family = {}, {}, None
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
            assert family not in kinds and len(line.split()) > 3, "a family is whole, once, and explained"
        elif line.startswith("# TYPE "):
            _, _, name, kinds[family] = line.split()
            assert name == family and kinds[name] in ("counter", "gauge", "histogram")
        else:
            name, labels, value = SAMPLE.fullmatch(line).groups()
            base = re.sub("_(bucket|sum|count)$", "", name) if kinds[family] == "histogram" else name
            assert base == family
            assert (kinds[family] == "counter") == name.endswith("_total")
            assert labels not in found.setdefault(name, {}), line
            found[name][labels] = float(value)
    return found


def test_values(metrics):
    got = metrics(FULL)
    assert got["zjournal_up"] == {'journal="file"': 1}
    assert got["zjournal_segments_free"]['journal="file"'] == 60
    assert got["zjournal_lane_txns_total"] == {'journal="file",lane="0"': 1, 'journal="file",lane="1"': 1}
    assert got["zjournal_lane_commit_seconds_total"]['journal="file",lane="1"'] == 13e-6
    assert got["zjournal_lane_max_depth"]['journal="file",lane="0"'] == 19
    assert got["zjournal_united_by_cause_total"] == {'journal="file",cause="inode_table"': 2,
                                                     'journal="file",cause="directory"': 1}


def test_aborted(metrics):
    assert metrics(INFO.replace("state: live", "state: aborted"))["zjournal_up"] == {'journal="file"': 0}


def test_histogram_of_fsyncs(metrics):
    got = metrics(FULL)
    buckets = {re.search('le="(.*)"', labels)[1]: value
               for labels, value in got["zjournal_fsync_seconds_bucket"].items()}
    assert list(buckets.values()) == sorted(buckets.values()) and list(buckets)[-1] == "+Inf"
    assert buckets["0.000128"] == 0 and buckets["0.000256"] == 12 and buckets["+Inf"] == 13
    assert got["zjournal_fsync_seconds_count"] == {'journal="file"': 13}
    assert got["zjournal_fsync_seconds_sum"] == {'journal="file"': 44e-6}


def test_every_counter_of_the_module_is_explained(metrics):
    """kernel/procfs.c's counters have a text of their own, and the test's sample has them all."""
    names = re.findall(r"COUNTER\((\w+),", (ROOT / "kernel/procfs.c").read_text())
    names = [name for name in names if name != "field"]
    assert len(names) > 20 and all(f" {name}" in LANE for name in names)
    page = (ROOT / "man/zjournal.7").read_text().split(".Sh STATISTICS")[1].split(".Sh ")[0]
    named = {word for line in re.findall(r"(?m)^\.It Cm (.*)", page) for word in line.split()}
    assert set(names) <= named, "zjournal(7) explains each"
    source = (ROOT / "user/zjctl/prometheus.c").read_text()
    assert [name for name in names if f'{{ "{name}",' not in source] == []


def test_nothing_is_mounted(zjctl):
    """Who collects metrics does so also on a machine that mounts zext4 at times."""
    got = zjctl("stats", "--prometheus")
    assert got.returncode == 0 and "zjournal_up{" not in got.stdout and not got.stderr


@pytest.mark.parametrize("name", ["grafana.json", "alerts.yml"])
def test_monitoring_asks_for_metrics_that_exist(metrics, name):
    text = (ROOT / "monitoring" / name).read_text()
    asked = set(re.findall(r"zjournal_\w+", text))
    assert len(asked) > 2 and asked <= set(metrics(FULL))


def test_queries_are_whole():
    """Of the dashboard and the alerts: each query asks for labels that its metric has, and rates are of counters."""
    panels = json.loads((ROOT / "monitoring/grafana.json").read_text())["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    queries += re.findall(r"(?m)^    expr: (.*)$", (ROOT / "monitoring/alerts.yml").read_text())
    assert len(queries) > 15
    for query in queries:
        assert query.count("(") == query.count(")") and query.count("{") == query.count("}"), query
        by = {label for found in re.findall(r"by \(([^)]*)\)", query) for label in found.split(", ")}
        known = {"instance", "journal", *["le"] * ("_bucket" in query), *["cause"] * ("_by_cause_" in query)}
        assert by <= known, query
        for metric in re.findall(r"rate\((\w+)", query):
            assert re.search("_(total|bucket)$", metric), query
        if "quantile" in query:
            assert "le" in by, query


def test_dashboard():
    """Each curve names its machine and its journal; panels lie side by side on Grafana's grid of 24 columns."""
    panels = json.loads((ROOT / "monitoring/grafana.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) and all(panel["description"] for panel in panels)
    taken = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
        for target in panel["targets"]:
            assert target["legendFormat"].startswith("{{instance}} {{journal}}"), panel["title"]
            assert '{journal=~"$journal",instance=~"$instance"}' in target["expr"], panel["title"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]), panel["title"]


# ---- for people ----

def test_table(zjctl, tmp_path):
    copy = tmp_path / "info"
    copy.write_text(FULL)
    lines = zjctl("stats", "--from", copy).stdout.splitlines()
    table = lines[next(n for n, line in enumerate(lines) if line.startswith(" lane")):]
    assert all(len(line) <= 80 for line in table)
    # Means are per event: 13 us of commits in 1 transaction, 22 us of 21 fsyncs.
    assert table[1].split() == ["0", "1", "0.01", "2", "3", "21", "0.00", "5", "42", "53"]
    assert table[3].split()[:2] == ["all", "2"]
    assert "fsync ms  mean time of these" in "\n".join(table)


def test_all_counters(zjctl, tmp_path):
    copy = tmp_path / "info"
    copy.write_text(FULL)
    rows = {line.split()[0]: line.split()[1:] for line in zjctl("stats", "--all", "--from", copy).stdout.splitlines()
            if line.startswith("  ")}
    assert rows["wait_space"] == ["22", "11", "11"]
    assert rows["max_depth"] == ["19", "19", "19"], "a maximum of all is no sum"


LANES = "".join(f"lane {n:3d}: {100 + n * 37 % 64} txns 1 handles\n" for n in range(64))
MANY = re.sub(r"(?m)^lane .*\n", "", INFO) + LANES


class Screen:
    """zjctl top on a terminal of its own: keys go in, and what it draws is kept as lines."""

    TOKEN = re.compile(rb"\x1b\[([0-9;?]*)([A-Za-z])|\x1b[()][0-9A-Z]|\x1b[=>78]|[\x00-\x1f]|[^\x00-\x1f\x1b]")

    def __init__(self, plain, copy, rows=24, columns=80):
        self.at, self.rest = [0, 0], b""
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        # curses believes these two rather than the terminal, and test runners set them.
        env = {k: v for k, v in os.environ.items() if k not in ("LINES", "COLUMNS")} | {"TERM": "vt100", "LC_ALL": "C"}
        self.program = subprocess.Popen([plain, "top", "-d", "0.1", "--from", copy], stdin=slave, stdout=slave,
                                        stderr=slave, env=env)
        os.close(slave)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.lines = [[" "] * columns for _ in range(rows)]
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.lines)

    def put(self, char):
        # A line that is full goes on in the next one, as curses knows of a vt100.
        if self.at[1] == self.columns:
            self.at = [self.at[0] + 1, 0]
        row, column = self.at
        assert row < self.rows and column < self.columns, f"beyond the edge: {self.at}"
        self.lines[row][column] = char
        self.at[1] += 1

    def control(self, char):
        if char in b"\r\b\t":
            self.at[1] = {13: 0, 8: max(self.at[1] - 1, 0), 9: (self.at[1] // 8 + 1) * 8}[char[0]]
        elif char == b"\n":
            self.at[0] += 1

    def sequence(self, args, what):
        numbers = [int(n) if n.isdigit() else 1 for n in args.split(b";")]
        row, column = self.at
        if what == b"H":
            self.at = [numbers[0] - 1, numbers[1] - 1] if len(numbers) > 1 else [0, 0]
        elif what in b"ABCD":
            self.at[what in b"CD"] += numbers[0] * (1 if what in b"BC" else -1)
        elif what == b"K":
            begin, end = (0, column + 1) if args == b"1" else (column, self.columns)
            self.lines[row][begin:end] = [" "] * (end - begin)
        elif what == b"J":
            self.lines[row][column:] = [" "] * (self.columns - column)
            for line in self.lines[row + 1:]:
                line[:] = [" "] * self.columns
        else:
            assert what in b"mhlr", what

    def read_until(self, what):
        """Until the screen shows it; fails if the program ends before, and after half a minute."""
        while not re.search(what, self.text()):
            assert select.select([self.master], [], [], 30)[0], f"no {what}:\n{self.text()}"
            data = self.rest + os.read(self.master, 4096)
            end = 0
            while match := self.TOKEN.match(data, end):
                end = match.end()
                if match[2]:
                    self.sequence(match[1], match[2])
                elif data[match.start()] < 0x20:
                    self.control(match[0])
                else:
                    self.put(match[0].decode())
            self.rest = data[end:]
        return self.text()

    def press(self, keys):
        os.write(self.master, keys)

    def end(self):
        self.press(b"q")
        assert self.program.wait(30) == 0
        os.close(self.master)


@pytest.mark.parametrize("rows,columns", [(24, 80), (24, 60), (50, 132), (10, 40)])
def test_top_fits_the_terminal(plain, tmp_path, rows, columns):
    """As many lanes and columns as fit, all of a column or nothing of it, and the sum; it takes keys."""
    copy = tmp_path / "info"
    copy.write_text(MANY)
    screen = Screen(plain, copy, rows, columns)
    lines = screen.read_until(r"(?m)^ +all +\S").splitlines()
    title = next(n for n, line in enumerate(lines) if "lane" in line and "commits" in line and "2 lanes" not in line)
    last = next(n for n, line in enumerate(lines) if line.split()[:1] == ["all"])
    shown = lines[title].split("lane ")[1]
    assert ("shared" in shown) == (columns >= 80) and shown.rstrip().endswith(
        {80: "shared", 60: "fsync ms", 132: "shared", 40: "handles"}[columns])
    # Of 64 lanes; the sum is the last line, and none of the terminal's is left over.
    assert last - title - 1 == min(64, rows - 6) and "h help" in lines[0] or columns < 60
    screen.press(b"h")
    screen.read_until("changes that these" if columns >= 40 else "handles")
    screen.press(b"hs")
    screen.read_until("by commit ms")
    screen.press(b"r")
    screen.read_until("reversed")
    screen.end()


def test_top_follows_the_terminal(plain, tmp_path):
    """A window that is made larger shows more lanes, and the sum below them."""
    copy = tmp_path / "info"
    copy.write_text(MANY)
    screen = Screen(plain, copy)
    screen.read_until(r"(?m)^ +all +\S")
    screen.resize(40, 132)
    screen.program.send_signal(signal.SIGWINCH)
    # The head has no lane of its number, which is the first column.
    assert len(re.findall(r"(?m)^ +\d+ ", screen.read_until(r"(?s)(\n +\d+ [^\n]*){34}\n +all +\S"))) == 34
    screen.end()


def test_top_ends_with_its_terminal(plain, tmp_path):
    """This one does not control the session, so no signal comes."""
    copy = tmp_path / "info"
    copy.write_text(MANY)
    screen = Screen(plain, copy)
    screen.read_until(r"(?m)^ +all +\S")
    os.close(screen.master)
    try:
        assert screen.program.wait(30) == 0
    finally:
        screen.program.kill()


def test_top_without_a_terminal_is_plain(zjctl, tmp_path):
    """No escape sequences, sorted as asked for; the same file twice: nothing has happened."""
    copy = tmp_path / "info"
    copy.write_text(MANY)
    text = zjctl("top", "-n", 1, "-d", 0.05, "--sort", "lane", "--from", copy).stdout
    assert "\x1b" not in text and all(len(line) <= 80 for line in text.splitlines())
    assert re.findall(r"(?m)^ +(\d+) +0\.0 ", text) == [str(n) for n in range(64)]
    assert "fsyncs 0.0/s" in text and "transactions that" not in text
    assert zjctl("top", "--sort", "nonsense", "--from", copy).returncode == 16
    assert zjctl("top", "-s", "fsync ms", "-n", 1, "-d", 0.05, "--from", copy).returncode == 0


def test_top_shows_what_has_happened_since(zjctl, plain, tmp_path):
    """Rates and times of an interval, not since the mount: a FIFO gives one state, then another."""
    copy = tmp_path / "info"
    old = FULL.replace("  12 below 256us\n  1 longer\n", "  12 below 256us\n")
    new = old.replace("  12 below 256us\n", "  12 below 256us\n  100 below 4096us\n")
    os.mkfifo(copy)
    program = subprocess.Popen([plain, "top", "-n", "1", "-d", "0.05", "--json", "--from", copy],
                               stdout=subprocess.PIPE, text=True)
    for state in (old, new):
        # Open once the program reads; its next reading finds another FIFO.
        with copy.open("w") as pipe:
            os.mkfifo(tmp_path / "next")
            (tmp_path / "next").rename(copy)
            pipe.write(state)
    (journal,) = json.loads(program.communicate()[0])["journals"]
    # All 100 are in the bucket from 2048 to 4096: the half of them ends in its middle.
    assert journal["fsync_us"] == {"p50": 3072.0, "p90": 2048 + 0.9 * 2048, "p99": 2048 + 0.99 * 2048}
    assert journal["rates"][0]["per_second"]["txns"] == 0


@pytest.mark.parametrize("args", [("stats", "--prometheus", "--json"), ("stats", "--prometheus", "--all"),
                                  ("top", "--all"), ("top", "--prometheus")])
def test_usage(zjctl, args):
    assert zjctl(*args).returncode == 16


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_other_users_are_told_why(plain, tmp_path):
    """The file of the statistics is root's."""
    copy = tmp_path / "info"
    copy.write_text(INFO)
    copy.chmod(0o400)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o011)
    got = subprocess.run([plain, "stats", "--from", copy], capture_output=True, text=True, user=65534, group=65534,
                         extra_groups=[])
    assert got.returncode == 8 and "only root may read the statistics" in got.stderr
