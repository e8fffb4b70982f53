# SPDX-License-Identifier: GPL-2.0-only
"""What is said of the faults of stock ext4: each script tells what a report needs, and docs/upstream.md says the same.

The scripts themselves take minutes of a VM: make stock-faults.
"""

import re

import pytest
import stock_faults
import vm

NAMES = [path.stem for path in stock_faults.scripts()]


@pytest.mark.parametrize("name", NAMES)
def test_script_tells_what_a_report_needs(name):
    path = stock_faults.HERE / f"{name}.sh"
    head = stock_faults.head(path)
    assert head.keys() >= {"wrong", "hit", "since", "right", "patch"}
    assert head["patch"] == "none" or list(vm.ROOT.glob(f"zext4/patches/*/{head['patch']}.cocci")), head["patch"]
    text = path.read_text()
    assert re.search(r"\bshown ", text) or "kernel" in head, "it can show nothing"
    assert "not_shown " in text, "it cannot fail to show it"


def test_table_says_what_the_scripts_say():
    page = stock_faults.PAGE.read_text()
    assert stock_faults.TABLE.search(page)
    assert stock_faults.with_table(page) == page, "run tests/stock/stock_faults.py --write"


def test_verdict_is_one_line_of_the_script():
    def verdict(rc, out):
        return stock_faults.verdict_of("name", vm.Result(rc, out)).verdict

    assert verdict(0, "noise\nshown: 3 of 5\n") == "shown"
    assert verdict(0, "not shown: all is there\n") == "not shown"
    assert verdict(1, "FAILED: mke2fs\n") == verdict(1, "shown: x\n") == "failed"
    assert verdict(0, "") == verdict(0, "shown: a\nnot shown: b\n") == "failed"
