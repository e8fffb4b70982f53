# SPDX-License-Identifier: GPL-2.0-only
"""bench/papers.py: the declarations fit together, the report has each figure, wrong settings are refused."""

import importlib
import subprocess
import sys
import xml.etree.ElementTree as tree

import pytest

import vm as vmlib

# At the end: bench/concurrent.py would hide the module of that name.
sys.path.append(str(vmlib.ROOT / "bench"))
import paperfigures    # noqa: E402
import paperreport     # noqa: E402
import papers          # noqa: E402
import sim             # noqa: E402
from paperfigures import FIGURES, PAPERS, RUNS    # noqa: E402

# What a driver says of each point.
METRICS = {
    "concurrent": {"per_second", "per_transaction", "in_flight", "most_in_flight", "conflicts",
                   "fsync_mean_us", "fsync_p99_us"},
    "bench": {"per_second", "fsync_mean_us", "fsync_p99_us"},
    "sim": {"per_second", "fsync_p99_us"},
    "nvm": {"per_second", "bytes", "commits"},
}
PANELS = [(name, n) for name, figure in FIGURES.items() for n in range(len(figure["panels"]))]


def places(run):
    """The x values of a run."""
    return list(run.get("clients") or run.get("workers") or run.get("cpus") or run["variants"])


def loads(run):
    return run.get("loads") or [run["case"]]


def made_up(run):
    """Points of a run: each arm is twice as fast as the one before."""
    return [{"load": load, "x": x, "arm": arm} | dict.fromkeys(METRICS[run["driver"]], 100.0 * 2**n)
            for load in loads(run) for x in places(run) for n, arm in enumerate(run["arms"])]


def results():
    runs = {name: {"declared": run, "points": made_up(run), "failure": "", "seconds": 1} for name, run in RUNS.items()}
    return {"settings": papers.settings_of({}), "machine": {"CPUs here": "2 <&>"}, "runs": runs}


# ---- declarations ----

@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_complete(name):
    run = RUNS[name]
    assert run["driver"] in papers.DRIVERS and places(run) and len(run["arms"]) > 1
    assert len({str(how) for how in run["arms"].values()}) == len(run["arms"]), "two arms are the same"
    assert paperfigures.STOCK in run["arms"], "the papers' values are relative to stock"
    assert "quick" in run and any(figure["run"] == name for figure in FIGURES.values())


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_complete(name):
    figure = FIGURES[name]
    assert figure["paper"] in PAPERS and name.startswith(figure["paper"] + "-")
    assert figure["title"] and figure["figures"] and figure["panels"]
    # What is simulated says so.
    assert figure.get("simulated", False) == (RUNS[figure["run"]]["driver"] == "sim")
    # A figure without a single number of the paper has nothing to be beside.
    assert any(panel["paper"] for panel in figure["panels"])


@pytest.mark.parametrize("name, n", PANELS)
def test_a_panel_fits_its_run(name, n):
    panel, run = FIGURES[name]["panels"][n], RUNS[FIGURES[name]["run"]]
    assert panel["metric"] in METRICS[run["driver"]] and panel["label"]
    drawn = panel.get("arms", list(run["arms"]))
    assert set(drawn) <= set(run["arms"]) and set(panel.get("loads", [])) <= set(loads(run))
    assert panel["base"] is None or panel["base"] in drawn
    for curve, x, value, said in panel["paper"]:
        assert curve and said and value > 0
        assert x is None or x in places(run), "there is nothing of ours at the paper's x"
    # A sentence of ours must not be taken for a number: no plot, no text of what the plot has.
    assert panel["paper"] or FIGURES[name].get("plot") or len(FIGURES[name]["panels"]) > 1


def test_simulated_loads_and_arms_exist():
    ops = papers.operations()
    for run in (run for run in RUNS.values() if run["driver"] == "sim"):
        assert set(run["loads"]) <= set(ops["loads"])
        for program, allocation, *_ in run["arms"].values():
            assert program in sim.SIDES and allocation in (None, "stock", "zext4")


# ---- the report ----

@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_report_has_each_figure(tmp_path):
    pytest.importorskip("matplotlib", reason="tools/deps bench-papers installs it")
    paperreport.write(results(), tmp_path)
    text, page = ((tmp_path / name).read_text() for name in ("papers.md", "papers.html"))
    for name, figure in FIGURES.items():
        assert f"\n## {name}: {figure['title']}\n" in text
        begin = page.index(f"<h2 id={name}>")
        part = page[begin:page.index("<h2", begin + 1)]
        drawn = "".join(tree.fromstring(part[part.index("<svg"):part.index("</svg>") + len("</svg>")]).itertext())
        for panel in figure["panels"]:
            assert panel["label"] in drawn
            assert all(f"paper: {curve}" in drawn for curve, *_ in panel["paper"])
        assert ("SIMULATED" in part) == figure.get("simulated", False)
    assert "2 <&>" in text and "<&>" not in page
    assert all(what in text and why in text for what, why in paperfigures.MISSING)


def test_ratios_are_to_the_base_at_the_same_place():
    panel = {"metric": "per_second", "label": "", "base": "a", "paper": []}
    points = [{"load": "l", "x": x, "arm": arm, "per_second": value}
              for x, arm, value in ((1, "a", 10), (1, "b", 30), (2, "a", 20), (2, "b", 10), (3, "b", 5), (3, "c", None))]
    got = {(p["x"], p["arm"]): p["ratio"] for p in paperreport.points_of(panel, {"points": points})}
    # Where the base is missing there is no ratio, and where the metric is missing no point.
    assert got == {(1, "a"): 1, (1, "b"): 3, (2, "a"): 1, (2, "b"): 0.5, (3, "b"): None}
    panel |= {"arms": ["b"], "loads": ["other"]}
    assert not list(paperreport.points_of(panel, {"points": points}))


def test_a_figure_that_was_not_measured_is_left_out_and_a_failure_is_named():
    got = results()
    got["runs"] = {"cjfs-split": got["runs"]["cjfs-split"],
                   "nvm-varmail": {"points": [], "failure": "mounted\nBUG: at x.c:1\nCode: 00 00", "seconds": 1}}
    text = paperreport.markdown(got)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        f"## cjfs-18b: {FIGURES['cjfs-18b']['title']}", "## Not to be had here"]
    assert "- nvm-varmail failed: BUG: at x.c:1\n" in text


# ---- settings ----

@pytest.mark.parametrize("given, said", [
    ({"FIGURE": "cjfs-13"}, "no setting FIGURE; there are QUICK"),
    ({"FIGURES": "cjfs-13 zj-99"}, "no figure zj-99; there are cjfs-13"),
    ({"QUICK": "yes"}, "QUICK is 0 or 1, not yes"),
    ({"SCALE": "half"}, "SCALE is a number from 1 on, not half"),
    ({"ROUNDS": "0"}, "ROUNDS is a number from 1 on, not 0"),
    ({"ROUNDS": ""}, "ROUNDS is a number from 1 on, not "),
    ({"CPUS": "8 257"}, "CPUS are numbers from 1 to 256, not 257"),
    ({"ICOUNT": "on"}, "ICOUNT is 0 or 1, not on"),
])
def test_a_wrong_setting_is_refused(given, said, monkeypatch):
    with pytest.raises(papers.Refused, match=said):
        papers.settings_of(given)
    monkeypatch.setattr(sys, "argv", ["papers.py", *(f"{name}={value}" for name, value in given.items())])
    with pytest.raises(SystemExit, match=f"papers.py: {said}"):
        papers.main()


def test_scale_divides_the_papers_sizes_and_needs_memory(monkeypatch):
    monkeypatch.setattr(papers, "memory_gib", lambda: 24.0)
    with pytest.raises(papers.Refused, match="SCALE=1 needs 36 GiB of memory; this machine has 24"):
        papers.settings_of({"SCALE": "1"})
    settings = papers.settings_of({"SCALE": "10", "FIGURES": "nvm-9 nvm-11"})
    got = papers.plan(settings)
    assert got["nvm-varmail"]["variants"] == {
        "96000 files": {"MAIL_FILES": "96000", "MAIL_LOOPS": "2000", "DIRTY_MB": "80", "PMEM_MB": "408"}}
    assert papers.guest_gib(settings) == 7
    # A device in memory has a size that the guest's kernel takes, however small.
    sizes = [int(next(iter(papers.scaled(RUNS["nvm-varmail"]["full"], scale).values()))["PMEM_MB"])
             for scale in (1, 25, 100, 5000)]
    assert sizes == [4096, 160, 40, 16]
    # Its file has the paper's size in any case.
    assert got["nvm-writesync"] == papers.plan(papers.settings_of({}))["nvm-writesync"]
    monkeypatch.setattr(papers, "memory_gib", lambda: 64.0)
    full = papers.plan(papers.settings_of({"SCALE": "1", "FIGURES": "nvm-9"}))
    assert list(full["nvm-varmail"]["variants"]) == ["960000 files"]


def test_the_plan():
    assert set(papers.plan(papers.settings_of({}))) == set(RUNS)
    quick = papers.plan(papers.settings_of({"QUICK": "1"}))
    assert {run["driver"] for run in quick.values()} == set(papers.DRIVERS)
    assert "cjfs-dbench" not in quick and quick["cjfs-versions"]["clients"] == [40]
    # Settings of a quick run are added to those that it has.
    assert quick["nvm-varmail"]["settings"] == RUNS["nvm-varmail"]["settings"]
    # What is asked for by name is there, and two figures may need one run.
    asked = papers.plan(papers.settings_of({"QUICK": "1", "FIGURES": "cjfs-18c cjfs-13 cjfs-15", "CPUS": "4"}))
    assert list(asked) == ["cjfs-dbench", "cjfs-versions"]
    simulated = papers.plan(papers.settings_of({"FIGURES": "zj-9a", "CPUS": "4 8"}))
    assert simulated["zj-filebench"]["cpus"] == [4, 8] and RUNS["zj-filebench"]["cpus"] != [4, 8]


def test_a_run_that_fails_is_tried_once_more(monkeypatch):
    outcomes = [vmlib.VMError("Oops: one"), ["point"], vmlib.ConsoleError("BUG: two"), SystemExit("three"),
                SystemExit("terminated")]

    def driver(_run, _settings):
        outcome = outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setitem(papers.DRIVERS, "sim", driver)
    assert papers.tried({"driver": "sim"}, {}) == (["point"], "")
    assert papers.tried({"driver": "sim"}, {}) == ([], "three")
    with pytest.raises(SystemExit, match="terminated"):
        papers.tried({"driver": "sim"}, {})


# ---- what the journals say ----

def run_with(*info, transactions=50, seconds=2.0):
    return {"info": list(info), "transactions": transactions, "seconds": seconds, "per_second": 1.0,
            "operations_per_transaction": 4.0}


def test_statistics_of_stock():
    got = papers.of_concurrent(run_with("  60000us average transaction commit time", "100 waits for blocks on their way",
                                        "5000.5 us mean, 4000 us p50, 9000 us p99 of an fsync"), "ext4")
    assert got["in_flight"] == pytest.approx(50 * 0.06 / 2) and got["conflicts"] == 2 and got["most_in_flight"] == 1
    assert (got["fsync_mean_us"], got["fsync_p99_us"]) == (5000.5, 9000)


def test_statistics_of_lanes():
    lane = "lane {}: 25 txns 7 commit_us {} conflicts 3 max_depth"
    one = papers.of_concurrent(run_with("  40000us from seal to commit", "  0.03 conflicts per transaction",
                                        lane.format(0, 25)), "zext4")
    assert one["conflicts"] == 0.5 and one["most_in_flight"] == 3 and one["in_flight"] == 1
    two = papers.of_concurrent(run_with(lane.format(0, 25), lane.format(1, 50)), "zext4")
    assert two["conflicts"] == 1.5 and two["most_in_flight"] is None and two["in_flight"] is None
    assert two["fsync_mean_us"] is None


# ---- what is simulated beyond bench-sim ----

def test_without_a_journal_only_handles_are_missing():
    ops = papers.operations()
    kept = sim.without_journal(ops, "create")["operations"]["create"]["steps"]
    assert kept == [step for step in ops["operations"]["create"]["steps"] if step[0] != "handle"]
    assert sim.without_journal(ops, "fsync-append") is None


@pytest.fixture(scope="module")
def programs():
    subprocess.run(["make", "-s", "-j2", "-C", vmlib.ROOT / "bench/core"], check=True)
    subprocess.run(["make", "-s", "-j2", "-C", vmlib.ROOT / "bench/sim"], check=True)


@pytest.mark.parametrize("arm", RUNS["zj-random-sync"]["arms"])
def test_random_overwrites_run(programs, arm):
    """Each work is a hundred writes and an fsync, whatever is copied."""
    got = papers.simulate(papers.operations(), "random-overwrite-fsync", RUNS["zj-random-sync"]["arms"][arm], 2, True)
    assert got["operations"] == got["fsyncs"] == 24 and got["per_s"] > 0


def test_copies_are_a_choice_of_three(programs):
    with pytest.raises(SystemExit, match="usage"):
        papers.simulate(papers.operations(), "random-overwrite-fsync", ("zext4", "zext4", 3), 1, True)


def test_no_journal_is_the_ceiling(programs):
    ops = papers.operations()
    arms = RUNS["zj-operations"]["arms"]
    rate = {arm: papers.simulate(ops, "create-low", arms[arm], 2, True)["per_s"]
            for arm in (paperfigures.STOCK, paperfigures.NONE)}
    assert rate[paperfigures.NONE] > rate[paperfigures.STOCK]
    assert papers.simulate(ops, "fsync-low", arms[paperfigures.NONE], 2, True) is None


def test_the_drivers_have_what_is_used_of_them():
    for module, names in {"bench": ["Guest", "parse", "defaults"], "nvm": ["measure", "columns"]}.items():
        assert all(hasattr(importlib.import_module(module), name) for name in names)
