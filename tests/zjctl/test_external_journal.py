# SPDX-License-Identifier: GPL-2.0-only
"""A journal on a device of its own: found, read, recovered; refused if it is the wrong one or damaged."""

import hashlib
import shutil
import subprocess

import pytest

from zjctl_images import Crashed, blocks, field, fsck, mkfs, move_out, sh

pytest_plugins = "zjctl_fixtures"


def digests(*paths):
    return [hashlib.sha256(path.read_bytes()).digest() for path in paths]


class Apart:
    """A crashed file system twice: with its journal inside, and on a device of its own."""

    def __init__(self, crashed, where):
        self.inside = crashed.path
        self.fs = where / "apart.img"
        shutil.copy(self.inside, self.fs)
        self.device = move_out(self.fs, where / "journal.img")
        self.option = f"--journal={self.device}"


@pytest.fixture(params=[1024, 4096])
def apart(request, tmp_path):
    mkfs_args = {} if request.param == 1024 else {
        "size": "64M", "options": "-b 4096 -O metadata_csum,64bit,orphan_file -J size=4"}
    return Apart(Crashed(tmp_path, **mkfs_args), tmp_path)


def test_clean(zjctl, image, tmp_path):
    device = move_out(image, tmp_path / "journal.img")
    got = zjctl("info", "--json", f"--journal={device}", image).json
    assert got["journal"]["state"] == "clean"
    assert got["journal"]["device"] == str(device)
    assert f"journal device    {device}" in zjctl("info", f"--journal={device}", image).out
    assert "nothing to do" in zjctl("recover", f"--journal={device}", image).out
    assert zjctl("convert", "--to-ext4", f"--journal={device}", image).returncode == 0
    got = zjctl("resize-journal", f"--journal={device}", image)
    assert got.returncode == 8 and "device of its own" in got.out
    memory = tmp_path / "memory"
    memory.write_bytes(bytes(64 << 20))
    got = zjctl("nvm-format", memory, image)
    assert got.returncode == 8 and "device of its own" in got.out and not any(memory.read_bytes())


def test_recovered_as_with_a_journal_inside(zjctl, apart):
    before = digests(apart.fs, apart.device)
    got = zjctl("info", "--json", apart.option, apart.fs).json
    assert got["journal"]["state"] == "crashed"
    inside = zjctl("info", "--json", apart.inside).json
    assert {**got["log"], "generation": 0} == {**inside["log"], "generation": 0}
    assert zjctl("check", "--json", apart.option, apart.fs).json["verdict"] == "good"
    dumps = [zjctl("dump", "--json", *args).json["records"]
             for args in ((apart.option, apart.fs), (apart.inside,))]
    assert dumps[0] == dumps[1]
    got = zjctl("convert", "--check", apart.option, apart.fs)
    assert got.returncode == 4 and "has crashed" in got.out
    assert zjctl("recover", "-n", apart.option, apart.fs).returncode == 0
    assert digests(apart.fs, apart.device) == before

    assert zjctl("recover", "--no-fsck", apart.option, apart.fs).returncode == 1
    assert zjctl("recover", "--no-fsck", apart.inside).returncode == 1
    size = int(field(apart.inside, "Block size"))
    both = [blocks(path, size) for path in (apart.fs, apart.inside)]
    extents = subprocess.run(["debugfs", "-R", "blocks <8>", apart.inside], capture_output=True, text=True).stdout
    # The old journal inode is no part of it, nor are the super blocks, which name the journal.
    skip = {int(b) for b in extents.split()} | {0, 1}
    differ = [b for b in range(len(both[0])) if both[0][b] != both[1][b] and b not in skip]
    assert not differ
    # The log is empty: block 0 is stock's, with nothing to replay.
    with open(apart.device, "rb") as f:
        f.seek((1024 // size + 1) * size)
        word = [int.from_bytes(f.read(4), "big") for _ in range(11)]
    assert word[7] == 0 and not word[10] & 0x40000000
    fsck(apart.inside)


def refused(zjctl, apart, text, code=8, option=None):
    before = digests(apart.fs, apart.device)
    got = zjctl("recover", *([option or apart.option] if option != "" else []), apart.fs)
    assert got.returncode == code and text in got.out, got.out
    assert digests(apart.fs, apart.device) == before


def test_refusals(zjctl, apart, tmp_path):
    """Nothing is written, and the message says which device is meant."""
    wanted = field(apart.device, "Filesystem UUID")
    size = int(field(apart.fs, "Block size"))
    at = (1024 // size + 1) * size
    refused(zjctl, apart, wanted, option="")
    got = zjctl("info", "--json", apart.fs)
    assert got.json["journal"]["state"] == "external-journal" and wanted in got.out
    refused(zjctl, apart, "cannot be opened", option=f"--journal={tmp_path}/none")
    refused(zjctl, apart, "is no journal device", option=f"--journal={apart.inside}")
    other = tmp_path / "other.img"
    other.write_bytes(bytes(8 << 20))
    sh("mke2fs", "-q", "-F", "-O", "journal_dev", "-b", size, other)
    refused(zjctl, apart, "that of another file system", option=f"--journal={other}")

    whole = apart.device.read_bytes()

    def damaged(where, data, text, code=8):
        with open(apart.device, "r+b") as f:
            f.seek(where)
            f.write(data)
        refused(zjctl, apart, text, code)
        apart.device.write_bytes(whole)

    damaged(1024, bytes(1024), "is it the right device?")
    damaged(at + 0x40, (2).to_bytes(4, "big"), "is shared")
    damaged(at + 0x100, bytes(16), "belongs to another file system")
    damaged(at, bytes(size), "is not a journal superblock", 4)
    damaged(at + size, bytes(size), "log super block", 4)
    with open(apart.device, "r+b") as f:
        f.truncate(len(whole) - 4096)
    refused(zjctl, apart, "shorter than its superblock says")
    apart.device.write_bytes(whole)
    assert zjctl("recover", "--no-fsck", apart.option, apart.fs).returncode == 1


def test_journal_option_of_a_journal_inside_is_refused(zjctl, tmp_path):
    """It would have no effect; nothing is said of the journal, which is not damaged."""
    got = zjctl("info", "--json", "--journal=/nowhere", mkfs(tmp_path / "a.img"))
    assert got.returncode == 8 and "journal" not in got.json and "advice" not in got.json
