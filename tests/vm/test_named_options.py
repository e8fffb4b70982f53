# SPDX-License-Identifier: GPL-2.0-only
"""Every mount option that a manual page names is known, and is mounted as the page says."""

import re

import pytest

import test_mount
import vm as vmlib

pytestmark = pytest.mark.zext4

OWN = {option.name for option in test_mount.OPTIONS} | {"tune"}
WORDS = {word for option in test_mount.OPTIONS for word in option.words}
# What stands among the options and is none: where options stand, programs, the module's alias.
OTHERS = {"mount_opts", "rootflags", "device", "recover", "nvm-format", "zjctl", "ext4", "ro"}
# Features of the file system, of which a page says what a mount does.
FEATURES = {"fast_commit", "journal_dev", "has_journal", "orphan_file"}
# How to give stock's options; those that are not here need nothing with them.
GIVEN = {
    "data": "data=ordered", "data_err": "data_err=abort", "errors": "errors=panic", "noload": "ro,noload",
    "min_batch_time": "min_batch_time=1000", "max_batch_time": "max_batch_time=30000", "commit": "commit=30",
    "usrjquota": "usrjquota=aquota.user,jqfmt=vfsv1", "grpjquota": "grpjquota=aquota.group,jqfmt=vfsv1",
    "journal_async_commit": "journal_async_commit,data=writeback",
}
# With devices of their own: test_external.py and test_nvm.py.
ELSEWHERE = {"journal_dev", "journal_path", "journal_nvm"}


def stocks_options():
    """The names in ext4's table."""
    text = (vmlib.BUILD / f"kmod-{vmlib.Kernel.find().version}/zext4/super.c").read_text()
    return set(re.findall(r'fsparam_\w+\s*\(\s*"(\w+)"', text))


def named():
    """What the pages' sections on mount options have as something to type."""
    found = set()
    for page in sorted((vmlib.ROOT / "man").glob("*.[57]")):
        for part in re.findall(r"(?ms)^\.Sh MOUNT OPTIONS$(.*?)(?=^\.Sh |\Z)", page.read_text()):
            for args in re.findall(r"(?m)^\..*?\bCm (.*)", part):
                # To the next macro; punctuation is none of it.
                for one in args.split("Cm "):
                    words = re.split(r" ?\b(?:Ns|Ar|No|Pq|Fl|Nm|Xr|Pa|Dq|Sq)\b", one)[0]
                    found |= {name for word in words.split() for name in word.strip("|.;:").split(",") if name}
    return found


def names_of(word):
    """tune=versions:1+coalesce:off: versions, coalesce"""
    if word.startswith("tune="):
        return [item.split(":")[0] for item in word.removeprefix("tune=").split("+")]
    return [re.split("[=:]", word)[0]]


def test_every_name_is_one_of_an_option():
    known = stocks_options() | OWN | WORDS | OTHERS | FEATURES
    names = {name for word in named() for name in names_of(word)} - {""}
    assert {"lanes", "min_batch_time", "journal_async_commit", "versions"} <= names, "the pages are not read"
    assert not names - known, "is this an option, a value of one, or a feature?"


def test_stocks_options_that_pages_name_are_mounted(guest):
    names = {name for word in named() for name in names_of(word)} & stocks_options()
    mounts = [GIVEN.get(name, name) for name in sorted(names - ELSEWHERE - OWN)]
    assert len(mounts) >= 4
    guest("mk /dev/vdc\n" + "\n".join(f"mnt /dev/vdc {options}; unmnt" for options in mounts) + """
        # As stock ext4 does.
        no_mnt $FS /dev/vdc journal_async_commit
        no_mnt $FS /dev/vdc fast_commit
    """)


def test_shown_options_can_be_given_again(guest):
    """By mount(8), which gives a remount what /proc/mounts shows, by /etc/fstab, and to a mount."""
    guest("""
        shown() { sed -n 's/^[^ ]* .mnt [^ ]* \\([^ ]*\\) .*/\\1/p' /proc/mounts; }
        again() {
            before=$(shown)
            case ",$before," in *,lanes=$1,log=$2,*) ;; *) die "not lanes=$1,log=$2: $before";; esac
            mount -o remount,$before /mnt || die "remount with $before"
            [ "$(shown)" = "$before" ] || die "it was $before, and is $(shown)"
            mount -o remount,ro /mnt || die "remount,ro"
            mount -o remount,rw,$before /mnt || die "remount,rw with $before"
            [ "$(shown)" = "$before" ] || die "it was $before, and is $(shown)"
            [ -z "$3" ] || mount -o remount,$3 /mnt || die "remount with $3, as in /etc/fstab"
            unmnt
            mnt /dev/vdc $before; [ "$(shown)" = "$before" ] || die "it was $before, and is $(shown)"; unmnt
        }
        # A new module has not yet said so often what it mounts that it says it no more.
        modprobe $FS && rmmod $FS && modprobe $FS || die "module"
        mk /dev/vdc -b 1024 -J size=1
        mark small; mnt /dev/vdc lanes=256; said 'room for only'
        n=$(grep -c '^lane ' /proc/fs/zjournal/*/info)
        [ $n -lt 256 ] || die "room for all"
        said "in force: lanes=$n .the journal is too small for 256., log=zj .after a crash only zext4 and zjctl recover it., journal of 1 MiB, alloc=stock, fsync=own"
        again $n zj lanes=256
        mk /dev/vdc
        mark plain; mnt /dev/vdc; said 'in force: lanes=2 .one for each CPU'; again 2 zj fsync=own
        mnt /dev/vdc lanes=1; said 'in force: lanes=1 .all that stock.s format has., log=jbd2 .after a crash stock ext4 recovers'
        again 1 jbd2 lanes=1
        mnt /dev/vdc lanes=1,log=zj,alloc=auto,fsync=all; said 'lanes=1 .as given., log=zj .*alloc=stock, fsync=all'
        case $(shown) in *alloc=stock*) ;; *) die "one lane has no region: $(shown)" ;; esac
        again 1 zj lanes=1,log=zj,alloc=auto
        mk /dev/vdc -g 8192; mnt /dev/vdc lanes=2,alloc=core
        case $(shown) in *alloc=core*) ;; *) die "each lane has a region: $(shown)" ;; esac
        again 2 zj lanes=2,alloc=core
        mk /dev/vdc; mnt /dev/vdc lanes=2,alloc=core
        case $(shown) in *alloc=stock*) ;; *) die "one group is no two regions: $(shown)" ;; esac
        again 2 zj lanes=2,alloc=core
        mark none; mk /dev/vdc -O ^has_journal; mnt /dev/vdc
        ! shown | grep -E 'lanes|log=' || die "lanes without a journal"; unmnt
        ! dmesg | sed -n "/$_mark/,\\$p" | grep 'in force' || die "said without a journal"
    """)
