# SPDX-License-Identifier: GPL-2.0-only
"""Mounting, unmounting, options, and what must be refused."""

import importlib.machinery
import importlib.util
from pathlib import Path

import pytest

zext4 = pytest.mark.zext4


def option_doc():
    """tools/option-doc, which knows the table of options."""
    path = Path(__file__).resolve().parents[2] / "tools/option-doc"
    loader = importlib.machinery.SourceFileLoader("option_doc", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("option_doc", loader))
    loader.exec_module(module)
    return module


OPTION_DOC = option_doc()
OPTIONS = OPTION_DOC.table()
every_option = pytest.mark.parametrize("option", OPTIONS, ids=[option.name for option in OPTIONS])


@zext4
def test_load_unload(guest):
    guest("""
        for n in 1 2 3; do
            modprobe zext4 || die "modprobe zext4"
            grep -q '^nodev.*zext4\\|zext4$' /proc/filesystems || die "no file system type"
            rmmod zext4 && rmmod zjournal || die "rmmod"
        done
        ! lsmod | grep -q zjournal || die "zjournal is still loaded"
        ! grep -E 'zext4|zj_' /proc/slabinfo || die "slabs are left"
    """)


@zext4
def test_loads_beside_stock_ext4(guest):
    guest("""
        modprobe ext4 && modprobe zext4 || die "modprobe"
        mk /dev/vda; mk /dev/vdb
        mkdir -p /mnt2
        mount -t ext4 /dev/vdb /mnt2 || die "stock mount"
        mnt /dev/vda
        known_tree; cp -r /mnt/tree /mnt2/
        unmnt; umount /mnt2
        fsck /dev/vda; fsck /dev/vdb
    """)


def test_mount_umount_remount(guest):
    guest("""
        mk /dev/vda
        mnt /dev/vda; known_tree; unmnt; fsck /dev/vda
        mnt /dev/vda; check_tree
        mount -o remount,ro /mnt || die "remount ro"
        ! touch /mnt/x 2>/dev/null || die "wrote to a read-only mount"
        check_tree; fsck /dev/vda
        mount -o remount,rw /mnt || die "remount rw"
        touch /mnt/x || die "touch after remount rw"
        unmnt; fsck /dev/vda
        mnt /dev/vda ro; check_tree; [ -e /mnt/x ] || die "x is missing"
        unmnt; fsck /dev/vda
    """)


@pytest.mark.parametrize("mode", ["ordered", "journal", "writeback"])
def test_data_mode(guest, mode):
    guest(f"""
        mk /dev/vda
        mnt /dev/vda data={mode}
        grep -q ' /mnt .*data={mode}' /proc/mounts || [ {mode} = ordered ] || die "mode not set"
        known_tree
        stress -p 4 -n 400 -s 3 /mnt || die "stress"
        sync; check_tree; unmnt; fsck /dev/vda
        mnt /dev/vda; check_tree; unmnt
    """)


@zext4
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_lanes(guest, lanes):
    """The guest has two CPUs: fewer, as many and more lanes than CPUs."""
    guest(f"""
        mk /dev/vda
        mark lanes-{lanes}
        mnt /dev/vda lanes={lanes}
        grep -q 'lanes={lanes}' /proc/mounts || die "option not shown: $(grep /mnt /proc/mounts)"
        stress -p 4 -n 400 -s {lanes} /mnt || die "stress"
        unmnt; fsck /dev/vda
    """)


@pytest.mark.parametrize("cpus", [1, 4])
def test_block_sizes_and_cpus(cpus):
    """1 KiB and 4 KiB blocks on one and on four CPUs."""
    import conftest
    fresh = conftest.Guest(cpus=cpus)
    try:
        run = conftest.Runner(fresh.ensure())
        for size in (1024, 4096):
            run(f"""
                mk /dev/vda -b {size}
                mnt /dev/vda; known_tree
                stress -p 4 -n 300 -s {size} /mnt || die "stress"
                unmnt; fsck /dev/vda; mnt /dev/vda; check_tree; unmnt
            """)
        fresh.vm.check_console()
    finally:
        fresh.close()


REFUSED = """
    before=$(digest $DEV)
    TRIES
    [ "$(digest $DEV)" = "$before" ] || die "the refused mount wrote to the disk"
"""


def all_refused(pairs, dev="/dev/vdc"):
    """Pairs of options and the message, as a pattern."""
    tries = [f"mark refused-{n}; no_mnt $FS $DEV '{options}'; said '{message}'"
             for n, (options, message) in enumerate(pairs, 1)]
    return f"DEV={dev}\n" + REFUSED.replace("TRIES", "\n".join(tries))


def refused(dev="/dev/vdc", options="", message="zext4|zjournal"):
    return all_refused([(options, message)], dev)


@zext4
@pytest.mark.parametrize("option", ["nonsense=1", "tune=nonsense:1", "tune=versions", "tune=", "tune",
                                    "tune=versions:3+", "tune=+versions:3", "tune=versions:3+coalesce"])
def test_bad_option(guest, option):
    guest("mk /dev/vdc\n" + refused(options=option))


@zext4
@every_option
def test_option_refusals(guest, option):
    """Wrong values and combinations from the table of options; the message says what is allowed."""
    guest("mk /dev/vdc\n" + all_refused(OPTION_DOC.refusals(option)))


@zext4
def test_options_without_journal(guest):
    """Options of the log are refused if there is no log."""
    pairs = [(option.given(option.values()[-1]), f"can.t mount with {option.name}=")
             for option in OPTIONS if option.of_log]
    assert pairs
    guest("mk /dev/vdc -O ^has_journal\n" + all_refused(pairs) + "mnt /dev/vdc; unmnt")


# With auto, what is shown is what that has become; and what is not in force with the defaults.
CHOSEN = {"lanes": "2", "log": "zj", "alloc": "core", "pipeline": "off"}
NOT_IN_FORCE = {"pipeline": "on"}


@zext4
@every_option
def test_option_is_shown_and_changed(guest, option):
    """test_nvm.py mounts with persistent memory; here a remount must refuse it."""
    mounted = not option.needs and not option.path
    other = option.given(NOT_IN_FORCE.get(option.name, option.values()[-1]))

    def is_shown(value):
        return "shown " + option.shown(CHOSEN.get(option.name, value) if value == "auto" else value)
    shown = """
        shown() { case "$(grep ' /mnt ' /proc/mounts)" in *[,+=]"$1"[,+\\ ]*) ;; *) die "$1 is not shown";; esac; }
        mk /dev/vda; mnt /dev/vda; mark remount
    """
    for value in option.values() if mounted and not option.fixed else ():
        shown += f"mount -o remount,{option.given(value)} /mnt || die 'remount {value}'; {is_shown(value)}\n"
    if option.fixed:
        shown += f"""
            ! mount -o remount,{other} /mnt || die "it was changed"
            said "{option.name} cannot be changed by a remount"
            mount -o remount,ro /mnt || die "remount ro"; before=$(grep ' /mnt ' /proc/mounts)
            mark writable
            mount -o remount,rw,{other} /mnt || die "as a boot makes its root writable"
            said "{option.name} is ignored.*tune2fs -E mount_opts="
            [ "$(grep ' /mnt ' /proc/mounts | sed 's/ rw,/ ro,/')" = "$before" ] || die "another option is shown"
        """
    shown += "unmnt\n"
    for value in option.values() if mounted else ():
        shown += f"mnt /dev/vda {option.given(value)}; {is_shown(value)}; unmnt\n"
    guest(shown + "fsck /dev/vda")


@zext4
@pytest.mark.parametrize("option", [option for option in OPTIONS if option.needed],
                         ids=lambda option: option.name)
def test_option_without_effect(guest, option):
    """It is said at a mount and at a remount, and not where the option has an effect."""
    options, message, with_effect = OPTION_DOC.idle(option)
    # What a remount cannot change it does not look at.
    again = "" if option.fixed else \
        f"mark again; mount -o remount,{options.split(',')[-1]} /mnt || die remount; said '{message}'"
    guest(f"""
        mk /dev/vda
        mark idle; mnt /dev/vda {options}; said '{message}'
        {again}
        unmnt
        mark busy; mnt /dev/vda {with_effect}
        ! dmesg | sed -n "/$_mark/,\\$p" | grep 'has no effect' || die "said of what has an effect"
        unmnt; fsck /dev/vda
    """)


@zext4
def test_tune_takes_several(guest):
    """Options in one list or in several; those that a remount omits stay."""
    guest("""
        mk /dev/vda; mnt /dev/vda tune=versions:7+coalesce:off,fsync=all,tune=flush_batch:3
        shown() { grep -q " /mnt .*,$1[, ]" /proc/mounts || die "$1: $(grep /mnt /proc/mounts)"; }
        shown tune=flush_batch:3+versions:7+coalesce:off; shown fsync=all
        mount -o remount,tune=versions:auto /mnt || die remount
        shown tune=flush_batch:3+versions:auto+coalesce:off
        unmnt
        tune2fs -E mount_opts=tune=versions:7+coalesce:off /dev/vda >/dev/null || die tune2fs
        mnt /dev/vda; shown tune=versions:7+coalesce:off; unmnt; fsck /dev/vda
    """)


def test_stock_mount_between(guest):
    guest("""
        mk /dev/vda
        mnt /dev/vda; known_tree; unmnt
        mount -t ext4 /dev/vda /mnt || die "stock mount of a clean file system"
        check_tree; rm -r /mnt/tree/d1; cp -r /mnt/tree/d2 /mnt/tree/d1
        seq 100 400 >/mnt/tree/d1/numbers
        umount /mnt; fsck /dev/vda
        mnt /dev/vda; check_tree; stress -p 2 -n 200 /mnt; unmnt; fsck /dev/vda
    """)


@zext4
def test_dirty_stock_journal(guest):
    """A crashed stock ext4 is recovered (more of it in test_jbd2_log.py)."""
    guest("""
        mk /dev/vda
        mount -t ext4 /dev/vda /mnt || die "stock mount"
        known_tree; sync; echo more >/mnt/more; sync
        dd if=/dev/vda of=/dev/vdb bs=1M 2>/dev/null     # still mounted: as after a crash
        umount /mnt
        dumpe2fs -h /dev/vdb 2>/dev/null | grep -q needs_recovery || die "not dirty"
        mark dirty
        mnt /dev/vdb; said 'recovered [1-9]'; check_tree; [ "$(cat /mnt/more)" = more ] || die "lost"; unmnt
        fsck /dev/vdb
    """)


@zext4
def test_journal_too_small(guest):
    """e2fsprogs makes no journal below 1024 blocks; 1 KiB blocks make that 1 MiB."""
    guest("mk /dev/vdc -b 4096 -J size=4; mnt /dev/vdc lanes=64; stress -p 2 -n 200 /mnt; unmnt; fsck /dev/vdc")
    guest("""
        mk /dev/vdc -b 1024 -J size=1
        mark small
        before=$(digest /dev/vdc)
        if mount -t zext4 -o lanes=64 /dev/vdc /mnt 2>/dev/null; then
            said 'lanes'
            stress -p 2 -n 200 /mnt; unmnt; fsck /dev/vdc
        else
            said 'tune2fs'
            [ "$(digest /dev/vdc)" = "$before" ] || die "the refused mount wrote to the disk"
        fi
    """)


@zext4
def test_failed_remount_keeps_options(guest):
    """If one option of a remount is refused, the others do not take effect."""
    guest("""
        mk /dev/vda
        mnt /dev/vda fsync=own,tune=versions:7
        before=$(grep ' /mnt ' /proc/mounts)
        ! mount -o remount,fsync=all,tune=versions:3,lane_by=dir,nombcache /mnt 2>/dev/null || die "nombcache changed"
        [ "$(grep ' /mnt ' /proc/mounts)" = "$before" ] || die "was $before, is $(grep ' /mnt ' /proc/mounts)"
        mount -o remount,fsync=all,tune=versions:3 /mnt || die remount
        before=$(grep ' /mnt ' /proc/mounts)
        case $before in *fsync=all*tune=versions:3*) ;; *) die "not changed: $before";; esac
        ! mount -o remount,fsync=own,tune=versions:9,nombcache /mnt 2>/dev/null || die "nombcache changed"
        [ "$(grep ' /mnt ' /proc/mounts)" = "$before" ] || die "was $before, is $(grep ' /mnt ' /proc/mounts)"
        unmnt; fsck /dev/vda
    """)


@zext4
def test_image_names_no_device(guest):
    """Mount options in the super block may not choose a device of this machine."""
    guest("mk /dev/vdc; tune2fs -E mount_opts=journal_nvm=/dev/pmem0 /dev/vdc >/dev/null || die tune2fs\n" +
          refused(message="superblock name a device .journal_nvm=/dev/pmem0.*tune2fs") + """
        no_mnt $FS /dev/vdc ro
        tune2fs -E mount_opts= /dev/vdc >/dev/null || die "tune2fs: the remedy"
        mnt /dev/vdc; unmnt
        tune2fs -E mount_opts=fsync=all /dev/vdc >/dev/null; mnt /dev/vdc
        grep -q ' /mnt .*fsync=all' /proc/mounts || die "other options are not taken"
        unmnt; fsck /dev/vdc
    """)


@zext4
def test_texts_of_an_image_in_messages(guest):
    r"""A serial console would obey a control character; dmesg shows one that is logged raw as \x1b."""
    guest(r"""
        evil=$(printf 'a\033[2J')
        mk /dev/vdc; mark evil
        tune2fs -E mount_opts="$evil" /dev/vdc >/dev/null || die tune2fs
        mnt /dev/vdc; unmnt
        tune2fs -E mount_opts="tune=$evil" /dev/vdc >/dev/null; mnt /dev/vdc; unmnt
        # An MMP block says that e2fsck runs on a host of that name.
        mk /dev/vdc -b 4096 -O mmp,^metadata_csum
        mmp=$(dumpe2fs -h /dev/vdc 2>/dev/null | sed -n 's/^MMP block number: *//p')
        put() { printf "$2" | dd of=/dev/vdc bs=1 seek=$((mmp * 4096 + $1)) conv=notrunc 2>/dev/null; }
        put 4 '\120\115\115\342'; put 16 "$evil\000"; put 80 "$evil\000"
        ! mount -t $FS /dev/vdc /mnt 2>/dev/null || die "mounted beside e2fsck"
        dmesg | sed -n "/$_mark/,\$p" >/tmp/out
        for text in 'superblock: a\e[2J' '"a\e[2J" is not such' 'node: a\e[2J, last update device: a\e[2J'; do
            grep -qF "$text" /tmp/out || die "no '$text': $(cat /tmp/out)"
        done
        ! grep -F '\x1b' /tmp/out || die "raw"
    """)


@pytest.mark.parametrize("size,options", [(4096, "data=ordered"), (1024, "data=journal")])
def test_smallest_journal(guest, size, options):
    """A journal of 1,024 blocks, the smallest that mke2fs makes, serves the largest handles of ext4."""
    guest(f"""
        mk /dev/vda -b {size} -O quota,project,64bit,ea_inode -E quotatype=usrquota:grpquota:prjquota -J size={size // 1024}
        mark smallest
        mnt /dev/vda {options}
        known_tree
        chown -R 1:8 /mnt/tree && chown -R 2:9 /mnt/tree || die "chown -R"
        head -c 8m /dev/zero >/mnt/large && rm /mnt/large || die "truncate"
        sync; check_tree; unmnt; fsck /dev/vda
        ! dmesg | sed -n "/$_mark/,\\$p" | grep 'but at most .* fit' || die "a handle was refused"
    """)


def test_no_journal(guest):
    """Without a journal it behaves as stock ext4 does without one."""
    guest("""
        mk /dev/vdc -O ^has_journal; mnt /dev/vdc; known_tree
        stress -p 2 -n 200 /mnt || die stress
        unmnt; fsck /dev/vdc
    """)


@zext4
def test_fast_commit_switched_off(guest):
    guest("""
        mk /dev/vda -O fast_commit
        mark fc
        mnt /dev/vda; said 'fast_commit'
        stress -p 2 -n 200 /mnt; unmnt; fsck /dev/vda
        mount -t ext4 /dev/vda /mnt || die "stock mount afterwards"
        umount /mnt; fsck /dev/vda
    """)


def test_freeze_thaw(guest):
    guest("""
        mk /dev/vda; mnt /dev/vda
        stress -p 3 -t 6 /mnt & load=$!
        sleep 1
        for n in 1 2 3; do
            fsfreeze --freeze /mnt || die "freeze"
            fsck /dev/vda
            fsfreeze --unfreeze /mnt || die "thaw"
            sleep 0.3
        done
        wait $load || die "stress"
        unmnt; fsck /dev/vda
    """)


def test_frozen_image_is_clean(guest):
    """A copy taken while frozen is a clean file system for the stock tools and for stock ext4."""
    guest("""
        mk /dev/vda; mnt /dev/vda; known_tree
        stress -p 2 -n 200 /mnt
        fsfreeze --freeze /mnt || die "freeze"
        dd if=/dev/vda of=/dev/vdb bs=1M 2>/dev/null
        fsfreeze --unfreeze /mnt
        unmnt
        fsck /dev/vdb
        mount -t ext4 /dev/vdb /mnt || die "stock mount of the copy"
        check_tree; umount /mnt; fsck /dev/vda
    """)


@pytest.mark.parametrize("flag", [0, 1, 2])
def test_shutdown_ioctl(guest, flag):
    """EXT4_IOC_SHUTDOWN: default, with and without flushing the log."""
    guest(f"""
        mk /dev/vda; mnt /dev/vda; known_tree; sync
        stress -p 2 -n 200 /mnt
        fsctl shutdown {flag} /mnt || die "shutdown ioctl"
        ! touch /mnt/after 2>/dev/null || die "wrote after the shutdown"
        unmnt
        mnt /dev/vda; check_tree; unmnt; fsck /dev/vda
    """)


def test_lazy_umount_after_shutdown(guest):
    guest("""
        mk /dev/vda; mnt /dev/vda; known_tree; sync
        stress -p 2 -t 4 /mnt >/dev/null 2>&1 & load=$!
        sleep 1
        fsctl shutdown 2 /mnt
        umount -l /mnt || die "umount -l"
        wait $load
        mnt /dev/vda; check_tree; unmnt; fsck /dev/vda
    """)
