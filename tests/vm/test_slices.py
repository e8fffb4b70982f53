# SPDX-License-Identifier: GPL-2.0-only
"""lane_by=cgroup under systemd, with the units of docs/compatibility.md."""

import os
import re
from pathlib import Path

import pytest

import conftest
import vm as vmlib

pytestmark = [pytest.mark.zext4,
              pytest.mark.skipif(os.environ.get("ZJ_STACKS") != "all", reason="only with ZJ_STACKS=all")]

SYSTEMD = [Path("/usr/lib/systemd/systemd"), Path("/usr/bin/systemctl"), Path("/usr/bin/systemd-run")]
DOC = vmlib.ROOT / "docs/compatibility.md"

# A service manager that is not the first process; what it starts has a cgroup of its own, as always.
MANAGER = """
mkdir -p /sys/fs/cgroup /run/systemd/system /run/user/0 /root/.config/systemd/user /usr/local/bin /srv
mount -t cgroup2 none /sys/fs/cgroup || die "cgroup2"
export XDG_RUNTIME_DIR=/run/user/0
cd /root/.config/systemd/user
for t in basic default shutdown exit local-fs local-fs-pre umount; do
    printf '[Unit]\\nDefaultDependencies=no\\n' >$t.target
done
cp /share/units/* . || die "units"
sed -i 's,^What=.*,What=/dev/vda,' srv.mount
cat >/usr/local/bin/tenant <<'X'
#!/bin/sh
mkdir -p $1
for n in $(seq 40); do mkdir $1/$$.$n || exit 1; done
echo $1 >>/share/worked
X
chmod +x /usr/local/bin/tenant
mkdir /sys/fs/cgroup/manager && echo $$ >/sys/fs/cgroup/manager/cgroup.procs || die "manager"
systemd --user >/tmp/manager 2>&1 &
until [ -S /run/user/0/systemd/private ]; do kill -0 $! || die "$(cat /tmp/manager)"; sleep 0.1; done
"""

TENANTS = """
handles() {
    fsctl syncfs /srv || die syncfs
    sed -n 's/^lane *\\([0-9]*\\):.* \\([0-9]*\\) handles.*/\\2/p' /proc/fs/zjournal/*/info | tr '\\n' ' '
}
worked() { until [ "$(cat /share/worked 2>/dev/null | wc -l)" = $1 ]; do sleep 0.1; done; }
# counted NAME ROUND COMMAND...: what each lane had of it
counted() {
    name=$1 round=$2; shift 2; before=$(handles)
    "$@" || die "$*: $(cat /tmp/manager)"
    worked $round
    echo "$name: $before: $(handles)"
}
mk /dev/vda
systemctl --user start srv.mount || die "srv.mount: $(cat /tmp/manager)"
grep ' /srv zext4 ' /proc/mounts | grep lane_by=cgroup || die "not mounted: $(grep /srv /proc/mounts)"
for n in a b c; do mkdir /srv/$n && touch /srv/$n/first; done; fsctl syncfs /srv
counted a 1 systemctl --user start tenant@a
counted b 2 systemctl --user start tenant@b
counted c 3 systemd-run --user --slice=tenants.slice /usr/local/bin/tenant /srv/c
systemctl --user stop srv.mount || die "umount"; ! grep ' /srv ' /proc/mounts || die "still mounted"
fsck /dev/vda
"""


def units():
    """The files that the document shows, by their names"""
    return dict(re.findall(r"^```\n# /etc/systemd/system/(\S+)\n(.*?)^```$", DOC.read_text(), re.M | re.S))


def main_lane(out, what):
    """The one lane that had the 40 directories"""
    found = re.search(rf"^{what}: ([\d ]+): ([\d ]+)$", out, re.M)
    assert found, out
    before, after = [list(map(int, part.split())) for part in found.groups()]
    assert len(before) == len(after) == 8, out
    used = [lane for lane in range(8) if after[lane] - before[lane] >= 40]
    assert len(used) == 1, out
    return used[0]


def test_each_service_has_its_lane(tmp_path):
    """On one CPU, where lanes by CPU would put all of them into one."""
    assert sorted(units()) == ["srv.mount", "tenant@.service", "tenants.slice"]
    missing = [str(p) for p in SYSTEMD if not p.exists()]
    assert not missing, f"run tools/deps stacks: no {missing}"
    disk = vmlib.Disk(str(tmp_path / "disk"), size="256M")
    with vmlib.VM(programs=[*conftest.PROGRAMS, *SYSTEMD], disks=[disk], cpus=1) as machine:
        machine.prelude = f"FS={conftest.FSTYPE}\n"
        (machine.share / "units").mkdir()
        for name, text in units().items():
            (machine.share / "units" / name).write_text(text)
        result = machine.sh(MANAGER + TENANTS, timeout=240)
        assert result, f"{result.out}\n{machine.console_tail()}"
        print(result.out)
        lanes = [main_lane(result.out, name) for name in "abc"]
        assert len(set(lanes)) == 3, f"tenants share a lane: {lanes}"
        machine.check_console()
