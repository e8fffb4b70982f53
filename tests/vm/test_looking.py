# SPDX-License-Identifier: GPL-2.0-only
"""Looking into a mounted journal: debugfs, zjctl stalls, tracepoints (docs/operations.md)."""

import json
import re

import pytest

FILES = ["components", "fsync", "lanes", "log_map", "waits"]
DIR = "/sys/kernel/debug/zjournal"


@pytest.mark.zext4
def test_files_of_a_mounted_journal(guest):
    out = guest(f"""
        mk /dev/vda; mnt /dev/vda lanes=2
        echo 1 >/mnt/a; fsctl fsync /mnt/a || die fsync
        cd {DIR}/* || die "no directory"
        for f in *; do echo "== $f"; cat $f || die "cannot read $f"; done
        cd /; unmnt
        [ -z "$(ls {DIR})" ] || die "left after the unmount"
    """)
    parts = dict(re.findall(r"== (\w+)\n((?:(?!== ).*\n)*)", out))
    assert sorted(parts) == FILES
    assert re.search(r"^lane 1: 0 not written yet, 0 being written", parts["lanes"], re.M)
    assert re.search(r"^log zj: \d+ segments of \d+ blocks", parts["log_map"], re.M)
    assert re.search(r"segment \d+: being filled", parts["log_map"])
    assert re.search(r"^past lane=\d reason=committed us=\d+ for=\d+", parts["waits"], re.M)
    slow = re.search(r"^slow lane=\d us=(\d+) turn=(\d+) drain=(\d+) issue=(\d+) record=(\d+) "
                     r"committed=(\d+) tid=\d+ pid=\d+ comm=fsctl$", parts["fsync"], re.M)
    # Each phase is rounded down.
    took, *phases = map(int, slow.groups())
    assert took - 5 <= sum(phases) <= took


@pytest.mark.zext4
@pytest.mark.parametrize("by", ["task", "thread"])
def test_stall_of_the_device_is_named(guest, by):
    """While the device takes no requests, the waits are shown, and afterwards as well, whoever commits."""
    out = guest(f"""
        . /lib/zj/dm.sh
        mk /dev/vda; dm_good; mnt $DM lanes=2,tune=commit_by:{by}
        echo 1 >/mnt/a; fsctl fsync /mnt/a || die fsync
        dmsetup suspend --nolockfs --noflush faulty || die suspend
        # Of a directory: the data of a file would be waited for before the journal is asked.
        mkdir /mnt/d; fsctl fsync /mnt/d & pid=$!
        sleep 2
        echo "== during"; zjctl stalls --json /mnt || die stalls
        echo "== components"; cat {DIR}/*/components; cat {DIR}/*/lanes >/dev/null
        dmsetup resume faulty || die resume
        wait $pid || die fsync
        echo "== after"; zjctl stalls --json /mnt
        echo "== text"; zjctl stalls -n 1 $DM
        unmnt; fsck /dev/vda
    """)
    parts = dict(re.findall(r"== (\w+)\n((?:(?!== ).*\n)*)", out))
    during, = json.loads(parts["during"])["journals"]
    now = {wait["reason"]: wait for wait in during["waits"] if wait["now"]}
    # The commit waits for one of these, depending on where the data went out.
    device = set(now) & {"submit", "data", "log", "flush", "record"}
    assert device, now
    fsync = now["committed" if by == "thread" else device.copy().pop()]
    assert fsync["comm"] == "fsctl" and fsync["us"] > 1_500_000 and fsync["for_transaction"]
    assert all(now[reason]["comm"].startswith("zj/" if by == "thread" else "fsctl") for reason in device)
    # It is sealed, and not recorded.
    assert re.search(f"transaction {fsync['for_transaction']}: lane {fsync['for_lane']}, (sealed|copying|issued|flushing),",
                     parts["components"]), parts["components"]
    after, = json.loads(parts["after"])["journals"]
    assert not [wait for wait in after["waits"] if wait["now"]]
    longest = after["waits"][0]
    assert longest["us"] > 1_500_000
    assert fsync["reason"] in [wait["reason"] for wait in after["waits"] if wait["us"] > 1_500_000]
    assert re.search(r"past +\d{4}\.\d{3} ms +lane \d", parts["text"])


@pytest.mark.zext4
def test_unmount_while_the_files_are_read(guest):
    """Permanent readers and open files do not delay an unmount, and do not read freed memory."""
    guest(f"""
        mk /dev/vda
        for n in 1 2 3 4 5; do
            mnt /dev/vda lanes=4
            touch /tmp/reading
            for f in {' '.join(FILES)}; do
                while [ -e /tmp/reading ]; do cat {DIR}/*/$f; done >/dev/null 2>&1 &
            done
            exec 5<$(echo {DIR}/*/waits)
            for i in 1 2 3 4 5 6 7 8; do echo $i >/mnt/f$i; fsctl fsync /mnt/f$i; done
            unmnt
            cat <&5 >/dev/null 2>&1 && die "a journal that is gone can be read"
            exec 5<&-
            rm /tmp/reading; wait
        done
        fsck /dev/vda
    """)


EVENTS = ["zj_depend", "zj_seal", "zj_handle_start", "zj_handle_stop", "zj_issue",
          "zj_record_durable", "zj_tail_moved", "zj_unite", "zj_committed", "zj_wait"]


@pytest.mark.zext4
def test_tracepoints_fire(guest):
    out = guest("""
        mkdir -p /sys/kernel/tracing
        mount -t tracefs none /sys/kernel/tracing 2>/dev/null
        cd /sys/kernel/tracing || die tracefs
        mk /dev/vda; mnt /dev/vda lanes=2
        echo "== events"; ls -d events/zjournal/*/
        mkdir /mnt/d; fsctl syncfs /mnt
        echo 1 >events/zjournal/enable || die enable
        # Two lanes change one directory, again and again, and one of them commits.
        for cpu in 0 1; do
            taskset $((cpu + 1)) dash -c 'for i in 1 2 3 4 5 6 7 8 9 10; do
                mkdir /mnt/d/'$cpu'-$i; [ '$cpu' = 0 ] || fsctl fsync /mnt/d; done' &
        done
        wait
        fsctl syncfs /mnt; cd /; unmnt; cd /sys/kernel/tracing
        echo 0 >events/zjournal/enable
        echo "== trace"; cat trace; echo >trace
        fsck /dev/vda
    """)
    events, trace = out.split("== trace\n")
    assert sorted(re.findall(r"zjournal/(\w+)/", events)) == sorted(EVENTS)
    seen = set(re.findall(r": (zj_\w+): dev \d+,\d+ ", trace))
    # Whether one lane meets what another has sealed is a matter of time.
    assert set(EVENTS) - {"zj_depend"} <= seen, sorted(seen)
    tid = re.search(r"zj_seal: .* tid (\d+)", trace)[1]
    line = {name: trace.index(re.search(rf"{name}: .* tid {tid}\b", trace)[0])
            for name in ("zj_seal", "zj_issue", "zj_record_durable", "zj_committed")}
    assert list(line.values()) == sorted(line.values())
