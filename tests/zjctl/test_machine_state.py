# SPDX-License-Identifier: GPL-2.0-only
"""zjctl status, kernels and report: what they say of a machine, which is a folder here."""

import os
import shutil
import subprocess

import pytest

from zjctl_images import mkfs, sh
from zjctl_machine import INFO, MOUNTS, machine

pytest_plugins = "zjctl_fixtures"


def rows(got):
    return {row["directory"]: row for row in got.json["mounts"]}


def test_status(zjctl, tmp_path):
    root = machine(tmp_path / "root")
    got = zjctl("status", "--json", "--root", root)
    row = rows(got)
    assert set(row) == {"/srv", "/a b", "/root-as-ext4", "/gone"}, "each once; a stock ext4 is none"
    assert (row["/srv"]["lanes"], row["/srv"]["format"], row["/srv"]["state"]) == (2, "zj", "well")
    assert row["/srv"]["recovered_transactions"] == 3
    assert row["/a b"]["state"] == "no journal" and row["/root-as-ext4"]["format"] == "jbd2"
    assert row["/gone"]["state"] == "not mounted" and got.returncode == 1
    text = zjctl("status", "--root", root).out
    lines = text.splitlines()
    assert "3 transactions" in text and "1 transaction " in text and len(lines[0]) <= 80
    assert any("/etc/fstab has it as zext4, and it is not mounted" in line for line in lines)


def test_what_mount_zext4_has_mounted_as_ext4(zjctl, tmp_path):
    """It is mounted, and needs attention; a zext4 that is mounted over it does not."""
    root = machine(tmp_path / "root", [("8:1", "/srv", "ext4", "/dev/sda1", None, 0)], "")
    got = zjctl("status", "--json", "--root", root)
    assert rows(got)["/srv"]["state"] == "as ext4" and got.returncode == 1
    text = zjctl("status", "--root", root).out
    assert "it is mounted as ext4" in text and "not mounted" not in text
    root = machine(tmp_path / "over", [("8:2", "/srv", "ext4", "/dev/sda2", None, 0), MOUNTS[0]], "")
    assert zjctl("status", "--root", root).returncode == 0


@pytest.mark.parametrize("what,mounts,code,state", [
    ("well", MOUNTS[:1], 0, "well"),
    ("none", [], 0, None),
    ("aborted", [("8:1", "/srv", "zext4", "/dev/sda1", INFO.replace("live", "aborted"), 0)], 1, "aborted"),
    ("errors", [("8:1", "/srv", "zext4", "/dev/sda1", INFO, 2)], 1, "errors"),
])
def test_exit_status(zjctl, tmp_path, what, mounts, code, state):
    root = machine(tmp_path / "root", mounts, "")
    if not mounts:
        (root / "etc/fstab").unlink()
    got = zjctl("status", "--json", "--root", root)
    assert got.returncode == code
    assert [row["state"] for row in got.json["mounts"]] == [state] * bool(mounts)


def test_nothing_to_look_at(zjctl, tmp_path):
    assert zjctl("status", "--root", tmp_path).returncode == 4
    assert zjctl("kernels", "--root", tmp_path).returncode == 4


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_state_is_unknown_to_others(plain, tmp_path):
    root = machine(tmp_path / "root", MOUNTS[:1], "")
    (root / "proc/fs/zjournal/sda1-8/info").chmod(0o400)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid != os.geteuid() or folder.stat().st_mode & 0o1000:
            break
        folder.chmod(folder.stat().st_mode | 0o011)
    got = subprocess.run([plain, "status", "--root", root], capture_output=True, text=True, user=65534,
                         group=65534, extra_groups=[])
    assert got.returncode == 4 and "unknown" in got.stdout and "use sudo" in got.stderr


def test_kernels(zjctl, tmp_path):
    root = machine(tmp_path / "root")
    got = zjctl("kernels", "--json", "--root", root)
    found = {k["kernel"]: k for k in got.json["kernels"]}
    assert {name: k.get("reason") for name, k in found.items()} == {
        "6.1.0-47-amd64": "series", "6.12.9-a": None, "6.12.10-b": "source", "6.12.11-c": "headers",
        "6.12.12-d": "build"}
    assert found["6.12.9-a"]["served"] and found["6.12.12-d"]["newest"] and got.returncode == 1
    assert "linux-source-6.12" in found["6.12.10-b"]["why"]
    # The newest is served: good, whatever the older ones are.
    shutil.rmtree(root / "lib/modules/6.12.12-d")
    shutil.rmtree(root / "lib/modules/6.12.11-c")
    shutil.rmtree(root / "lib/modules/6.12.10-b")
    assert zjctl("kernels", "--root", root).returncode == 0
    shutil.rmtree(root / "usr")
    assert "6.1.0-47-amd64" in zjctl("kernels", "--root", root).out


SECRET = "customer-file"


def test_report_has_no_names(zjctl, crashed, tmp_path):
    """Neither those of directories and of the label, nor anything that is in the log's blocks."""
    folder = tmp_path / SECRET
    folder.mkdir()
    image = folder / f"{SECRET}.img"
    shutil.copy(crashed.path, image)
    sh("debugfs", "-w", "-R", f"ssv volume_name x{SECRET[:9]}", image)
    out = tmp_path / "report.txt"
    got = zjctl("report", "-o", out, image)
    text = out.read_text()
    assert got.returncode == 0 and "read it before you send it" in got.out
    assert out.stat().st_mode & 0o777 == 0o600
    assert SECRET not in text and f"x{SECRET[:9]}" not in text and "step1" not in text
    for part in ("== versions", "== zjctl kernels", "== zjctl status", "== mounts", "== kernel log",
                 "== zjctl info (device)", "== zjctl check (device)", "== zjctl dump (device)", "recovery uses"):
        assert part in text, part
    assert SECRET in zjctl("report", "--with-names", image).stdout
    # An older report is not overwritten.
    assert zjctl("report", "-o", out).returncode == 8 and out.read_text() == text


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts, in a namespace of its own")
def test_report_has_no_names_of_the_machine(plain, tmp_path):
    """Those of what is not mounted, and of the root on the kernel's command line."""
    (tmp_path / "cmdline").write_text(f"root=LABEL={SECRET} ro zext4.lanes=2\n")
    (tmp_path / "fstab").write_text(f"LABEL={SECRET}1 /{SECRET}\\0402 zext4 nofail 0 2\n"
                                    f"PARTLABEL={SECRET} /var/lib/dkms/{SECRET} zext4 nofail 0 2\n")
    mount = "mount --bind $0/cmdline /proc/cmdline && mount --bind $0/fstab /etc/fstab && $1 report"
    text = subprocess.run(["unshare", "-m", "sh", "-c", mount, tmp_path, plain], capture_output=True, text=True, check=True).stdout
    assert "root=LABEL=(name)\nzext4.lanes=2\n" in text and "not mounted" in text
    assert SECRET not in text and "2  " not in text.split("== zjctl status")[1].split("not mounted")[0]


def test_report_of_a_damaged_log(zjctl, crashed):
    crashed.log.patch(1, 0, b"XXXX")
    got = zjctl("report", crashed.path)
    assert got.returncode == 0 and "damaged log" in got.stdout and "(exit status 4)" in got.stdout


def test_report_of_nothing(zjctl, tmp_path):
    got = zjctl("report", mkfs(tmp_path / "a.img"), tmp_path / "none")
    assert got.returncode == 0 and "No such file" in got.stdout
