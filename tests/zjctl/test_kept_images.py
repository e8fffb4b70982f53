# SPDX-License-Identifier: GPL-2.0-only
"""The read-only commands on tests/images (which has its own test of recover)."""

import json
import lzma

import pytest

from zjctl_images import ROOT

pytest_plugins = "zjctl_fixtures"

IMAGES = sorted((ROOT / "tests" / "images").glob("*.json"))


@pytest.mark.parametrize("plan", IMAGES, ids=lambda p: p.stem)
def test_kept_image(zjctl, tmp_path, plan):
    want = json.loads(plan.read_text())
    path = tmp_path / "x.img"
    path.write_bytes(lzma.decompress(plan.with_suffix(".img.xz").read_bytes()))
    before = path.read_bytes()
    refused = want["outcome"] == "refused"
    for command in ("info", "dump", "check", "recover -n", "convert --check"):
        got = zjctl(*command.split(), "--json", path)
        if command != "convert --check":
            assert got.returncode == (4 if refused else 0), got.out
        if refused and command != "convert --check":
            assert want["says"] in got.json["messages"][-1]["text"]
            assert "copy the device" in got.out or "use the zjctl" in got.out
        assert path.read_bytes() == before
    got = zjctl("check", "--json", path).json
    if want["outcome"] == "recovered":
        recovery = got["recovery"]
        assert recovery["transactions"] == want["transactions"]
        assert recovery["committed_components"] == want["committed_components"]
        assert recovery["discarded_transactions"] == want["discarded_transactions"]
        assert all(n["why"] for n in got["not_committed"])
        assert bool(got["not_committed"]) == bool(want["discarded_transactions"] or want["torn_records"])
