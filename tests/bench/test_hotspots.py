# SPDX-License-Identifier: GPL-2.0-only
"""What bench/hotspots.py makes of samples, and of bench.sh."""
import importlib.util
import pathlib
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
# Behind the standard library, which has a "concurrent" as well.
sys.path.append(str(BENCH))
spec = importlib.util.spec_from_file_location("bench_hotspots", BENCH / "hotspots.py")
hotspots = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hotspots)

SAMPLES = """
\tffff1 xxh64
\tffff2 commit
\tffff3 fsync

\tffff4 commit
\tffff3 fsync

\tffff5 pv_native_safe_halt

\tffff1 xxh64
\tffff6 read
"""


def test_shares_are_of_what_is_busy():
    settings = {"TREE": "fsync", "MOST": "1", "LEAST": "40"}
    first, *lines = hotspots.report("zext4", list(hotspots.stacks(SAMPLES)), 12, settings)
    assert "12 operations" in first and " 3 samples" in first and " 1 idle" in first
    assert lines == ["  66.7 %  xxh64", "  66.7 %  fsync", "  66.7 %    commit"]


def test_only_the_measured_load_runs_under_perf(tmp_path):
    (tmp_path / "device.sh").write_text("")
    script = tmp_path / "hotspots.sh"
    script.write_text(hotspots.script_with_perf({"FREQUENCY": "99"}))
    subprocess.run(["sh", "-n", script], check=True)
    load = script.read_text().split("\nload() {")[1].split("\n}")[0]
    said = [subprocess.run(["sh", "-c", f"loadgen() {{ echo alone; }}; perf() {{ echo under $*; }}; die() {{ exit 1; }}\n"
                            f"MS=1 fs=/x WORKERS=1\nload() {{{load}\n}}\nload mail {how}"],
                           check=True, capture_output=True, text=True).stdout for how in ("-p", "-r -H")]
    assert said[0] == "alone\n"
    assert said[1].startswith("under record -q -e cpu-clock -F 99 ") and said[1].endswith(" -r -H\n")
