#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Shows faults of stock ext4, each by a script of this folder, in a VM without zjournal (make stock-faults).

    tests/stock/stock_faults.py [NAME...]    runs all scripts, or some
    tests/stock/stock_faults.py --write      brings what their heads say into docs/upstream.md

A script says "shown: WHAT" or "not shown: WHY"; whatever else happens to it is a failure of this program. If its head
names a message of the kernel, that is the fault. With FSTYPE=zext4 the same scripts run on zext4.
"""

import json
import os
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in "kit", "vm":
    sys.path.insert(0, str(HERE.parent / folder))

import vm as vmlib    # noqa: E402  pylint: disable=wrong-import-position

FSTYPE = os.environ.get("FSTYPE", "ext4")
OUT = vmlib.BUILD / "results" / ("stock-faults.json" if FSTYPE == "ext4" else f"stock-faults-{FSTYPE}.json")
PAGE = vmlib.ROOT / "docs/upstream.md"
TABLE = re.compile(r"(<!-- made by tests/stock/stock_faults.py -->\n).*?(<!-- end -->)", re.S)
# Before each script: stock ext4 has stock jbd2 below it.
ALONE = """
    [ $FS = zext4 ] || ! grep -Eq '^(zjournal|zext4) ' /proc/modules || die "zjournal is loaded"
    dmesg -n 8; dmesg -c >/dev/null
"""


@dataclass
class Verdict:
    """What a script has said, and the kernel beside it."""
    name: str
    verdict: str
    said: str


def scripts():
    return sorted(path for path in HERE.glob("*.sh") if path.name != "lib.sh")


def head(path):
    """{field: text} of a script's head."""
    return dict(re.findall(r"^# (\w+): (.+)$", path.read_text(), re.M))


def with_table(page):
    """The page with the table that the heads make."""
    rows = ["| script | what is wrong | who is hit | since |", "|---|---|---|---|"]
    for path in scripts():
        said = head(path)
        rows.append(f"| `{path.stem}` | {said['wrong']} | {said['hit']} | {said['since']} |")
    return TABLE.sub(lambda m: m[1] + "\n".join(rows) + "\n" + m[2], page)


def verdict_of(name, result):
    lines = re.findall(r"^(shown|not shown): (.*)$", result.out, re.M)
    if result.rc or len(lines) != 1:
        return Verdict(name, "failed", " ".join(result.out.split())[-400:])
    return Verdict(name, *lines[0])


def complaint(machine):
    """The first line of the kernel's console that is one, since the script began; or nothing."""
    lines = machine.console_text()[machine.checked:].splitlines()
    found = [line for line in lines if any(re.search(p, line) for p in vmlib.COMPLAINTS)]
    return re.sub(r"^\[ *[0-9.]+\] ", "", found[0]).strip() if found else ""


def run(guest, path, clean):
    """In the VM as it is, or in a new one. A kernel that complains is a part of what is seen, and may be all."""
    machine = guest.ensure()
    machine.checked = len(machine.console_text())
    machine.allow = (".",)
    text = ALONE + (HERE / "lib.sh").read_text() + path.read_text()
    try:
        verdict = verdict_of(path.stem, machine.sh(text, timeout=300))
    except vmlib.VMError as error:
        verdict = Verdict(path.stem, "failed", str(error).splitlines()[0])
    kernel = complaint(machine)
    if kernel and re.search(head(path).get("kernel", "(?!)"), kernel):
        verdict.verdict, verdict.said = "shown", kernel
    elif kernel:
        verdict.said += f"; the kernel says: {kernel}"
    if kernel or verdict.verdict == "failed" or not machine.sh(clean + "modprobe -r zjdisk", timeout=60):
        guest.stop()
    return verdict


def report(found):
    """The table at the end, and for a run of all scripts the file."""
    version = vmlib.Kernel.find().version
    if len(found) == len(scripts()):
        OUT.parent.mkdir(parents=True, exist_ok=True)
        faults = [asdict(v) | head(HERE / f"{v.name}.sh") for v in found]
        OUT.write_text(json.dumps({"kernel": version, "type": FSTYPE, "faults": faults}, indent=1) + "\n")
    width = max(len(v.name) for v in found)
    print(f"\n{FSTYPE} of {version}:")
    for v in found:
        print(f"  {v.name:{width}}  {v.verdict}")
    print(f"{sum(v.verdict == 'shown' for v in found)} of {len(found)} faults shown")


def main():
    wanted = sys.argv[1:]
    if wanted == ["--write"]:
        PAGE.write_text(with_table(PAGE.read_text()))
        return 0
    unknown = set(wanted) - {path.stem for path in scripts()}
    if unknown:
        sys.exit(f"stock_faults.py: no script {' '.join(sorted(unknown))}")
    os.environ["FSTYPE"] = FSTYPE
    import conftest    # That of tests/vm: pytest has another one of this name.
    guest = conftest.Guest(cpus=2)
    found = []
    try:
        for path in scripts():
            if not wanted or path.stem in wanted:
                found.append(run(guest, path, conftest.CLEAN))
                print(f"{found[-1].name}: {found[-1].verdict}: {found[-1].said}", flush=True)
    finally:
        guest.close()
    report(found)
    return any(v.verdict == "failed" for v in found)


if __name__ == "__main__":
    sys.exit(main())
