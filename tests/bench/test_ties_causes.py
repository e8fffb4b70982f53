# SPDX-License-Identifier: GPL-2.0-only
"""What bench/ties.sh says of the causes of unions, without a VM: which one has grown most."""

import re
import subprocess
import sys

import pytest

import vm as vmlib

# At the end: bench/concurrent.py would hide the module of that name.
sys.path.append(str(vmlib.ROOT / "bench"))
import ties    # noqa: E402

SCRIPT = (vmlib.ROOT / "bench" / "ties.sh").read_text()


def most(tmp_path, before, after):
    function = re.search(r"^most\(\) \{.*?^\}", SCRIPT, re.M | re.S).group()
    for name, causes in (("before", before), ("after", after)):
        (tmp_path / name).write_text("".join(f"{cause} {count}\n" for cause, count in causes.items()))
    got = subprocess.run(["sh", "-c", f'{function}\nmost "$@"', "most", tmp_path / "before", tmp_path / "after"],
                         check=True, capture_output=True, text=True)
    return got.stdout.strip()


@pytest.mark.parametrize("before,after,said", [
    ({}, {}, "none 0"),
    ({"block": 7, "quota": 3}, {"block": 7, "quota": 3}, "none 0"),
    ({"block": 7, "quota": 3}, {"block": 9, "quota": 12}, "quota 9"),
    ({}, {"block": 2, "inode": 1}, "block 2"),
])
def test_the_cause_that_has_grown_most(tmp_path, before, after, said):
    assert most(tmp_path, before, after) == said


def test_a_line_of_the_script_is_read():
    text = "quota mail zext4 1 20 2.5 100 90 400 12 30 quota 9\nsome other line\n"
    [run] = ties.parse(text)["quota", "mail"]["zext4"]
    assert run["fsyncs"] == 20 and run["cause"] == "quota" and run["count"] == 9
    assert ties.summary([run])["members"] == 2.5
