# SPDX-License-Identifier: GPL-2.0-only
"""Every set of features: made, mounted, loaded, cut, recovered, checked, mounted by stock ext4 again.

The cut is zjdisk's: unflushed writes are lost at random.  feature_sets.py has the rows, and
guest/features.sh what is done with one.  ZJ_FEATURE_SETS=all runs the whole product.
What was run is in build/results/features.json, from which tools/features-doc writes a table.
"""

import json
import os
import re
import time

import pytest

import conftest
import vm
from feature_sets import QUICK, ROWS

pytestmark = pytest.mark.zext4

ALL = os.environ.get("ZJ_FEATURE_SETS") == "all"
CHOSEN = [name for name, row in ROWS.items() if ALL or name in QUICK]
RESULTS = vm.BUILD / "results" / "features.json"


@pytest.fixture(name="machine", scope="module")
def machine_fixture():
    guest = conftest.Guest(cpus=4, memory="3G")
    yield guest
    guest.close()


def script(row, seed, **settings):
    what = "refused" if row.refused else "with_journal" if row.journal else "without_journal"
    return f"""
        for m in cts xts quota_v2; do modprobe $m; done
        modprobe zjdisk ndev=3 size_mb=256 || die zjdisk
        MKFS='{row.mkfs}' MOUNT='{row.mount}' USES='{" ".join(row.uses)}' LANES=4 SEED={seed}
        {" ".join(f"{key}={value}" for key, value in settings.items())}
        WHAT={what} REFUSED='{row.refused}'
        . /lib/zj/features.sh
        rmmod zjdisk || die "rmmod zjdisk"
    """


def note(name, steps, seed):
    """Keep what a set has passed, beside the sets of other runs."""
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found[name] = {"steps": steps, "seed": seed}
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


def run(machine, row, seed, **settings):
    """The steps that a set passes, and the script's result"""
    guest = machine.ensure()
    guest.checked = len(guest.console_text())
    try:
        result = guest.sh(script(row, seed, **settings), timeout=240)
        guest.check_console()
        if result.rc:
            machine.stop()
    except BaseException:
        machine.stop()
        raise
    return re.findall(r"^step (\w+) ok$", result.out, re.M), result


@pytest.mark.parametrize("name", CHOSEN)
def test_set(name, machine):
    row, seed = ROWS[name], int(time.time())
    steps, result = run(machine, row, seed)
    note(name, steps, seed)
    assert result.rc == 0, f"seed {seed}:\n{result.out[-4000:]}"
    assert steps == row.steps


def test_disk_that_lies_is_noticed(machine):
    """A disk that has ignored flushes and FUA, and loses all that was in its cache, loses what was fsynced."""
    steps, result = run(machine, ROWS["ext3"], int(time.time()), LIE=7, POLICY=4)
    assert result.rc == 1 and steps[-1] == "cut"
    assert "fsynced files of the load are gone" in result.out, result.out
