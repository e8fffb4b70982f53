# SPDX-License-Identifier: GPL-2.0-only
"""zjctl recover on kept images of crashed and damaged file systems: outcome and bytes."""

import json
import lzma
import os
import subprocess
from pathlib import Path

import pytest

from filesystem import ENV, home_hash, log_map

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
NAMES = sorted(p.name.removesuffix(".img.xz") for p in HERE.glob("*.img.xz"))
NUMBERS = "transactions", "committed_components", "discarded_transactions", "torn_records"

VERDICTS = {"recovered": ["good"], "refused": ["damaged"], "nothing to do": ["clean"]}

# Exit statuses of zjctl.
NOTHING_TO_DO, RECOVERED, DAMAGED, FAILED = 0, 1, 4, 8


@pytest.fixture(scope="module")
def zjctl():
    """The program under test; ZJCTL names another one."""
    if "ZJCTL" in os.environ:
        return os.environ["ZJCTL"]
    subprocess.run(["make", "-s", "-C", TOP / "user"], check=True)
    return TOP / "build/zjctl"


def run(*args):
    done = subprocess.run(args, stdout=subprocess.PIPE, text=True, env=ENV)
    return done.returncode, json.loads(done.stdout)


def recover(zjctl, image, *options):
    return run(zjctl, "recover", "--json", "--no-fsck", *options, image)


def same_journal(before, after, expected):
    """Only the journal's blocks 0 and 1 have changed."""
    size = expected["block_size"]
    return all(before[b * size:(b + 1) * size] == after[b * size:(b + 1) * size]
               for b in log_map(expected["journal"])[2:])


def check_outcome(expected, rc, said, dry):
    if expected["outcome"] == "refused":
        assert rc in (DAMAGED, FAILED), said
        assert any(expected["says"] in m["text"] for m in said["messages"]), said
    elif expected["outcome"] == "nothing to do":
        assert (rc, said["state"]) == (NOTHING_TO_DO, expected["state"])
    else:
        assert rc == (NOTHING_TO_DO if dry else RECOVERED), said
        assert {n: said[n] for n in NUMBERS} == {n: expected[n] for n in NUMBERS}


def test_images_are_there():
    assert len(NAMES) >= 35
    assert all((HERE / f"{name}.json").exists() for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_image(name, zjctl, tmp_path):
    expected = json.loads((HERE / f"{name}.json").read_text())
    image = tmp_path / "image"
    before = lzma.decompress((HERE / f"{name}.img.xz").read_bytes())
    image.write_bytes(before)

    assert run(zjctl, "check", "--json", image)[1]["verdict"] in VERDICTS[expected["outcome"]]
    check_outcome(expected, *recover(zjctl, image, "-n"), dry=True)
    assert image.read_bytes() == before, "a check or a dry run wrote something"
    check_outcome(expected, *recover(zjctl, image), dry=False)
    after = image.read_bytes()
    if expected["outcome"] != "recovered":
        assert after == before, "it wrote something"
        return

    assert home_hash(after, expected["block_size"], expected["journal"]) == expected["home"]
    assert same_journal(before, after, expected)
    assert not after[1024 + 0x60] & 4, "needs_recovery is still set"
    fsck = subprocess.run(["e2fsck", "-fn", image], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=ENV)
    assert fsck.returncode == 0, fsck.stdout
    rc, said = recover(zjctl, image)
    assert (rc, said["state"]) == (NOTHING_TO_DO, "clean")
    assert image.read_bytes() == after, "the second recovery wrote something"
