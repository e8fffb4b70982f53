#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What monitoring/grafana.json shows of a zext4 at work, as a picture ("make dashboard").

    build/venv/bin/python bench/dashboard.py [NAME=value of dashboard.sh ...]
    build/venv/bin/python bench/dashboard.py --draw    from build/results/dashboard.json

A guest runs three loads and takes samples of zjctl stats --prometheus. Debian's Prometheus gets them
and answers the queries of each panel; docs/img/dashboard.svg has a plot for each. It needs the
package prometheus.
"""
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import svg
from common import ROOT, accel, arguments, run_script, save, vm

PORT = 19090
BEGIN = 1_790_000_000    # what Prometheus takes the start of the guest for
VARIABLES = {"$journal": ".*", "$instance": ".*", "$__rate_interval": "10s"}
SPARE = ["#0a9396", "#c98a00", "#a371d6", "#4c8dd6", "#d1495b", "#66a182", "#8b949e", "#b07d4f"]
WIDE, HIGH = 480, 240


def samples():
    settings = arguments()
    programs = [vm.BUILD / "guest" / name for name in ("loadgen", "zjctl")]
    with vm.VM(cpus=4, memory="3G", programs=programs, accel=accel(settings)) as guest:
        result = run_script(guest, "dashboard.sh", settings)
    if not result or "sample" not in result.out:
        sys.exit(f"dashboard.py: failed, status {result.rc}:\n{result.out[-2000:]}")
    return result.out


def openmetrics(text):
    """The samples of each family together, with their times, as promtool wants them"""
    families, order, family, now = {}, [], None, 0
    for each in text.splitlines():
        if match := re.fullmatch(r"sample ([\d.]+)", each):
            now = float(match[1])
        elif match := re.fullmatch(r"# TYPE (\S+) (\S+)", each):
            family = match[1].removesuffix("_total")
            if family not in families:
                families[family] = [f"# TYPE {family} {match[2]}"]
                order.append(family)
        elif re.fullmatch(r"zjournal_\S*\{.*\} \S+", each):
            labels, value = each.rsplit(" ", 1)
            families[family].append(f"{labels[:-1]},instance=\"server\"}} {value} {BEGIN + now:.3f}")
    return "\n".join(line for name in order for line in families[name]) + "\n# EOF\n", now


def ask(query, end):
    words = urllib.parse.urlencode({"query": query, "start": BEGIN, "end": BEGIN + end, "step": 2})
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/api/v1/query_range?{words}") as answer:
        return json.load(answer)["data"]["result"]


def wait_until_ready(server):
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/-/ready"):
                return
        except (urllib.error.URLError, OSError):
            if server.poll() is not None:
                sys.exit("dashboard.py: Prometheus ended")
            time.sleep(0.2)
    sys.exit("dashboard.py: Prometheus is not ready")


def panels(end):
    board = json.loads((ROOT / "monitoring/grafana.json").read_text())
    for panel in board["panels"]:
        curves = []
        for target in panel["targets"]:
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            for found in ask(query, end):
                legend = re.sub(r"\{\{(\w+)\}\} ?", lambda m, f=found: "" if m[1] in ("instance", "journal")
                                else f["metric"].get(m[1], "") + " ", target["legendFormat"]).strip()
                points = [[at - BEGIN, float(value)] for at, value in found["values"] if value != "NaN"]
                if points:
                    curves.append({"name": legend or "journal", "points": points})
        yield {"title": panel["title"], "unit": panel["fieldConfig"]["defaults"].get("unit"), "curves": curves}


def measured(text):
    metrics, end = openmetrics(text)
    with tempfile.TemporaryDirectory(prefix="zjprom-") as folder:
        folder = Path(folder)
        (folder / "metrics").write_text(metrics)
        (folder / "prometheus.yml").write_text("scrape_configs: []\n")
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", folder / "metrics", folder / "data"],
                       check=True, stdout=subprocess.DEVNULL)
        with subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                               "--storage.tsdb.retention.time=10y", f"--web.listen-address=127.0.0.1:{PORT}"],
                              stderr=subprocess.DEVNULL) as server:
            try:
                wait_until_ready(server)
                return {"seconds": end, "panels": list(panels(end))}
            finally:
                server.terminate()


# ---- the picture ----

def shown(value, unit):
    if unit == "percentunit":
        return f"{100 * value:.0f} %"
    if unit == "s":
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g}"


def drawn(panel, seconds):
    """One panel as lines of SVG"""
    drawing = svg.Drawing(WIDE, HIGH, panel["title"], panel["title"])
    # Curves that are flat at 0 say nothing.
    curves = sorted(panel["curves"], key=lambda c: -max(value for _, value in c["points"]))
    used = [c for c in curves if any(value for _, value in c["points"])][:6] or curves[:1]
    top = max((value for c in used for _, value in c["points"]), default=0) * 1.1 or 1
    axes = svg.Axes(drawing, (0, seconds), (0, top), log_x=False, log_y=False)
    axes.top, axes.bottom = 36, HIGH - 62
    axes.frame({s: f"{s} s" for s in range(0, int(seconds) + 1, 30)},
               {top * i / 2: shown(top * i / 2, panel["unit"]) for i in range(3)}, "", "")
    left, row = 12, HIGH - 26
    for i, curve in enumerate(used):
        axes.draw(curve["points"], SPARE[i], dots=False)
        width = 52 + 6.6 * len(curve["name"])
        if left + width > WIDE:
            left, row = 12, row + 16
        drawing.legend(left, row, [(SPARE[i], False, curve["name"])])
        left += width
    return drawing.parts


def picture(results):
    count = len(results["panels"])
    whole = svg.Drawing(2 * WIDE, 64 + HIGH * -(-count // 2), "monitoring/grafana.json: mail in own directories, in one "
                        "directory, a file server", "The dashboard of zjournal")
    for i, panel in enumerate(results["panels"]):
        whole.parts.append(f'<g transform="translate({i % 2 * WIDE} {40 + i // 2 * HIGH})">')
        whole.parts += [*drawn(panel, results["seconds"]), "</g>"]
    return whole.svg()


def main():
    if sys.argv[1:] == ["--draw"]:
        results = json.loads((vm.BUILD / "results/dashboard.json").read_text())
    else:
        results = measured(samples())
        save("dashboard", results)
    empty = [panel["title"] for panel in results["panels"] if not panel["curves"]]
    (ROOT / "docs/img/dashboard.svg").write_text(picture(results))
    if empty:
        sys.exit(f"dashboard.py: no data: {', '.join(empty)}")


if __name__ == "__main__":
    main()
