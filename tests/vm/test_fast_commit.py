# SPDX-License-Identifier: GPL-2.0-only
"""Fast commits that stock ext4 has left in the log: a mount as zext4 replays them.

Stock ext4 writes them on many disks, then the machine's power is cut.  Afterwards each disk
must show what was there at the load's last fsync: a fast commit has all changes before it.
(Stock's own replay loses some of that, or fails: decision 46.)
"""

import pathlib
import struct
import sys
from dataclasses import dataclass, field

import pytest

import conftest
import uml
import vm

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "jbd2"))
from jbd2_images import block0, block_size, by_e2fsck, copy, debugfs, journal_blocks  # noqa: E402

pytestmark = pytest.mark.zext4

# The area has 256 blocks, and the first of them is never used.
MKFS = "-J size=8,fast_commit_size=1024 -O fast_commit"
USABLE = 255

HELPERS = r"""
# What ls shows, and the contents.
tree() {
    (cd $1 && find . ! -path './lost+found*' -exec stat -c '%n %F %s %h %a' {} + | sort
        find . -type f -exec md5sum {} + | sort)
}
sync_file() { fsctl fsync "$@" || die "fsync $*"; }
many() { for i in $(seq $2); do : >/mnt/$1/a-name-that-is-a-little-long-$i || die many; done; }
put() { dd if=/dev/urandom of=$1 bs=4k seek=$2 count=$3 conv=notrunc 2>/dev/null || die "write $1"; }
"""


@dataclass
class Load:
    """before is in a transaction, without which stock ext4 writes no fast commits; each of steps ends with an fsync, which is a fast commit."""
    before: str
    steps: list
    blocks: int = 1             # at least so many of the area are replayed
    prepare: str = ""           # on the unmounted device, $dev
    mkfs: str = ""
    trees: list = field(default_factory=list)


LOADS = {
    "append": Load("echo one >/mnt/file", [
        "for i in 1 2 3; do echo more >>/mnt/file; sync_file /mnt/file; done"], blocks=3),
    # Stock's recovery reads beyond an area that is full.
    "full": Load(": >/mnt/file", [
        f"for i in $(seq {USABLE}); do echo more >>/mnt/file; sync_file /mnt/file; done"], blocks=USABLE),
    "names": Load("mkdir /mnt/d; echo 1 >/mnt/a; echo 2 >/mnt/b; echo 3 >/mnt/c; echo 4 >/mnt/e", ["""
        echo new >/mnt/d/new; ln /mnt/a /mnt/d/link; sync_file /mnt/d/new
        mv /mnt/b /mnt/d/moved; rm /mnt/c; mv /mnt/d/moved /mnt/e; sync_file /mnt/a
        chmod 600 /mnt/d/new; rm /mnt/a; sync_file /mnt/d/new
    """], blocks=3),
    "extents": Load("put /mnt/holes 99 1", ["""
        for i in $(seq 0 2 40); do put /mnt/holes $i 1; sync_file /mnt/holes; done
        fallocate -o 409600 -l 400000 /mnt/holes; sync_file /mnt/holes
    """], blocks=20),
    # The truncation is no fast commit on newer kernels. e2fsck 1.47.0 replays the others as if it had not been.
    "truncated": Load("put /mnt/big 0 200", ["""
        truncate -s 10000 /mnt/big; sync_file /mnt/big
        put /mnt/big 7 9; sync_file /mnt/big
    """]),
    # Link counts, blocks, the number of directories in the group.
    "directories": Load("mkdir -p /mnt/old/gone /mnt/old/stays", ["""
        mkdir /mnt/d; echo x >/mnt/d/x; sync_file /mnt/d/x
        mkdir /mnt/d/e /mnt/d/f /mnt/d/f/g; rmdir /mnt/old/gone; echo y >/mnt/d/e/y; sync_file /mnt/d/e/y
        rmdir /mnt/d/f/g; rmdir /mnt/d/f; mkdir /mnt/d/again; echo z >/mnt/d/z; sync_file /mnt/d/z
    """], blocks=3),
    "grown": Load("mkdir /mnt/d", ["many d 150; sync_file /mnt/d/a-name-that-is-a-little-long-1"], blocks=10),
    # Its inode says that it has an index, which the replay has yet to make.
    "new-and-grown": Load("echo 1 >/mnt/file", [
        "mkdir /mnt/d; many d 150; sync_file /mnt/d/a-name-that-is-a-little-long-1"], blocks=10),
    # Files that are open and have no name, one of which is in the orphan list already.
    "orphans": Load("echo 1 >/mnt/one; echo 2 >/mnt/two; exec 5<>/mnt/one 6<>/mnt/two; rm /mnt/two", ["""
        rm /mnt/one; echo 3 >/mnt/three; exec 7<>/mnt/three; rm /mnt/three; echo x >/mnt/x; sync_file /mnt/x
        echo more >&5; echo more >&6; echo more >&7; echo y >/mnt/y; sync_file /mnt/y
    """], blocks=2, mkfs="-O ^orphan_file"),
    # A block of attributes counts, too.
    "attributes": Load("echo 1 >/mnt/other", ["echo 2 >>/mnt/file; sync_file /mnt/file"], prepare="""
        mount -t ext4 $dev /mnt; echo 1 >/mnt/file; umount /mnt
        seq 400 >/tmp/value; debugfs -w -R 'ea_set -f /tmp/value file user.big' $dev 2>/dev/null
    """),
    # A fast commit of one block, then one of several.
    "two": Load("mkdir /mnt/d", ["echo 1 >/mnt/first; sync_file /mnt/first",
                                 "many d 60; echo 2 >/mnt/last; sync_file /mnt/last"], blocks=5),
    "long": Load("mkdir /mnt/d", ["many d 60; echo 2 >/mnt/last; sync_file /mnt/last"], blocks=4),
    # Leftovers: the transaction that they belong to has been committed since.
    "stale": Load("echo 1 >/mnt/file", [
        "echo x >/mnt/ghost; sync_file /mnt/ghost; rm /mnt/ghost; echo 2 >/mnt/file; fsctl syncfs /mnt"], blocks=0),
}


def device(n):
    return f"/dev/vd{chr(ord('a') + n)}"


@pytest.fixture(scope="module", name="crashed")
def crashed_fixture(tmp_path_factory):
    """{load: image}, after a power cut of the machine; each load has its trees."""
    where = tmp_path_factory.mktemp("crashed")
    images = {name: where / f"{name}.img" for name in LOADS}
    with conftest.new_vm(disks=[vm.Disk(str(image), size="64M") for image in images.values()]) as machine:
        # What is written home is not missing in the end.
        machine.sh("echo 360000 >/proc/sys/vm/dirty_writeback_centisecs")
        for n, load in enumerate(LOADS.values()):
            dev = device(n)
            steps = "".join(f"{step}\ntree /mnt; echo ==\n" for step in load.steps)
            # The timer must not commit what fast commits have.
            result = machine.sh(HELPERS + f"""
                dev={dev}; mk $dev {MKFS} {load.mkfs}
                {load.prepare}
                mount -t ext4 -o commit=600 $dev /mnt || die mount
                {load.before}
                fsctl syncfs /mnt
                commits() {{ sed -n 's/ commits$//p' /proc/fs/ext4/$(kernel_name $dev)/fc_info; }}
                {steps}
                [ "$(commits)" -gt 0 ] || die "no fast commits: $(cat /proc/fs/ext4/*/fc_info)"
                mkdir -p /left/{n}; mount -o move /mnt /left/{n} || die "mount -o move"
            """)
            assert result, result.out
            load.trees = result.out.split("==\n")[:-1]
            assert len(load.trees) == len(load.steps)
        machine.check_console()
        machine.kill()
    return images


def area(image):
    """The first block of the fast commit area, the block after it, and the place of a block in the image."""
    with open(image, "rb") as f:
        f.seek(block0(image))
        sb = f.read(1024)
    maxlen, blocks = (struct.unpack_from(">I", sb, at)[0] for at in (0x10, 0x54))
    first = maxlen - blocks + 1
    assert maxlen - first == USABLE

    def place(n):
        return int(debugfs(image, f"bmap <8> {n}").split()[-1]) * block_size(image)
    return first, maxlen, place


def used_blocks(image):
    first, end, place = area(image)
    with open(image, "rb") as f:
        for n in range(first, end):
            f.seek(place(n))
            if not any(f.read(block_size(image))):
                return n - first
    return end - first


def damage(image, name, nth, data=b"flipped"):
    """A copy whose nth used block of the area, counted from the end if it is negative, is damaged."""
    to = copy(image, name)
    first, _, place = area(to)
    with open(to, "r+b") as f:
        f.seek(place(first + (nth if nth >= 0 else used_blocks(image) + nth)) + 40)
        f.write(data)
    return to


# A mount; the tree, and the kernel's lines.  It must leave nothing to e2fsck, and go on with stock ext4.
VISIT = r"""
    mark ${dev#/dev/}; mount -t $how $dev /mnt || die "mount: $(dmesg | tail -5)"
    tree /mnt; umount /mnt; echo ==; dmesg | sed -n "/$_mark/,\$p"; echo ==
"""
STOCK_AGAIN = """
    fsck $dev; mount -t ext4 -o commit=600 $dev /mnt || die "stock mount: $(dmesg | tail -5)"; tree /mnt; echo ==
    echo 1 >/mnt/stock; fsctl syncfs /mnt
    echo 2 >>/mnt/stock; sync_file /mnt/stock; sed -n 's/ commits$//p' /proc/fs/ext4/*/fc_info; umount /mnt; fsck $dev
"""


def visit(ways, go_on=True):
    """ways: [(image, how)]; how each was found: trees and lines, or the failed script's output."""
    most = uml.DISKS if uml.wanted(vm.Kernel.find()) else len(ways)
    return [found for n in range(0, len(ways), most) for found in visit_some(ways[n:n + most], go_on)]


def visit_some(ways, go_on):
    seen = []
    with conftest.new_vm(disks=[vm.Disk(str(image)) for image, _ in ways]) as machine:
        for n, (_, how) in enumerate(ways):
            result = machine.sh(f"dev={device(n)}; how='{how}'\n" + HELPERS + VISIT +
                                (STOCK_AGAIN if go_on and how.startswith("zext4") else ""))
            seen.append(result.out.split("==\n") if result else result.out)
        machine.check_console()
    return seen


# Mounts in other ways, of these loads; what stock ext4 and e2fsck make of those that they can replay.
OTHERS = [("names", "zext4 -o lanes=1"), ("extents", "zext4 -o ro"), ("directories", "zext4 -o data=journal,lanes=3"),
          *((load, "ext4") for load in ("append", "names", "extents", "truncated"))]


@pytest.fixture(scope="module", name="visited")
def visited_fixture(crashed):
    ways = {(name, "zext4"): copy(image, f"{name}.zext4") for name, image in crashed.items()}
    for n, (name, how) in enumerate(OTHERS):
        ways[name, how] = copy(crashed[name], f"{n}.other")
    ways["append", "e2fsck"] = by_e2fsck(crashed["append"], "append.e2fsck")
    ways["extents", "e2fsck"] = by_e2fsck(crashed["extents"], "extents.e2fsck")
    ways["two", "last torn"] = damage(crashed["two"], "torn", -1)
    ways["long", "first torn"] = damage(crashed["long"], "first", -1, bytes(4000))
    hows = {"e2fsck": "ext4", "last torn": "zext4", "first torn": "zext4"}
    seen = visit([(image, hows.get(how, how)) for (_, how), image in ways.items()])
    return dict(zip(ways, seen))


def blocks_replayed(lines):
    return [int(line.split()[-6]) for line in lines.splitlines() if line.endswith(" blocks of fast commits replayed")]


def check(seen, tree):
    """Mounted as zext4 it shows this tree, and as ext4 after that, which writes fast commits again."""
    assert len(seen) == 4, seen
    assert seen[0] == tree
    assert seen[2] == tree
    assert int(seen[3]) > 0


@pytest.mark.parametrize("name", LOADS)
def test_replayed(visited, name):
    seen = visited[name, "zext4"]
    check(seen, LOADS[name].trees[-1])
    replayed = blocks_replayed(seen[1])
    if LOADS[name].blocks:
        assert len(replayed) == 1 and replayed[0] >= LOADS[name].blocks
    else:
        assert not replayed


@pytest.mark.parametrize("name,how", [other for other in OTHERS if other[1] != "ext4"])
def test_replayed_by_other_mounts(visited, name, how):
    seen = visited[name, how]
    check(seen, LOADS[name].trees[-1])
    assert blocks_replayed(seen[1])


@pytest.mark.parametrize("name,how", [("append", "ext4"), ("names", "ext4"), ("extents", "ext4"), ("truncated", "ext4"),
                                      ("append", "e2fsck"), ("extents", "e2fsck")])
def test_others_see_the_same(visited, name, how):
    """The expected trees are no invention of ours: stock ext4 and e2fsck, where they can, come to the same."""
    assert visited[name, how][0] == LOADS[name].trees[-1]


def test_last_one_is_torn(visited):
    """Its fsync had not returned. Those before it count."""
    seen = visited["two", "last torn"]
    check(seen, LOADS["two"].trees[0])
    assert blocks_replayed(seen[1]) == [1]


def test_first_one_is_torn(visited):
    """Where stock refuses the file system, and e2fsck drops the whole log."""
    seen = visited["long", "first torn"]
    assert len(seen) == 4, seen
    assert "first fast commit is not whole" in seen[1] and not blocks_replayed(seen[1])
    # All that the transaction has.
    assert "./d directory" in seen[0] and "./last" not in seen[0] and int(seen[3]) > 0


def again(image, crashed, name):
    """As if the power had gone when all was replayed, but the log not emptied yet."""
    to = copy(image, name)
    debugfs(to, "feature needs_recovery", write=True)
    size = block_size(to)
    with open(crashed, "rb") as old, open(to, "r+b") as new:
        for block in journal_blocks(crashed):
            old.seek(block * size)
            new.seek(block * size)
            new.write(old.read(size))
    return to


def test_replayed_twice(crashed):
    """A second replay finds what the first has left, and comes to the same."""
    names = [name for name, load in LOADS.items() if load.blocks]
    once = {name: copy(crashed[name], f"{name}.once") for name in names}
    # Nothing else must be written: only what a replay leaves.
    for seen in visit([(image, "zext4 -o ro") for image in once.values()], go_on=False):
        assert len(seen) == 3, seen
    ways = [(again(image, crashed[name], f"{name}.twice"), "zext4") for name, image in once.items()]
    for name, seen in zip(names, visit(ways)):
        check(seen, LOADS[name].trees[-1])
        assert blocks_replayed(seen[1])


def test_programs(crashed):
    """zjctl says what is there, and fsck.zext4 lets the boot go on to the mount; neither writes."""
    image = copy(crashed["directories"], "programs")
    with conftest.new_vm(disks=[vm.Disk(str(image))]) as machine:
        result = machine.sh("""
            before=$(digest /dev/vda)
            zjctl recover /dev/vda >/tmp/out 2>&1; rc=$?
            [ $rc = 4 ] && grep -q 'fast commits.*mount it once' /tmp/out || die "zjctl recover: $rc $(cat /tmp/out)"
            zjctl info --json /dev/vda 2>/dev/null | grep -q '"fast_commits": *true' || die "zjctl info"
            fsck.zext4 -p /dev/vda >/tmp/out 2>&1 || die "fsck.zext4: $? $(cat /tmp/out)"
            grep -q 'next mount must replay fast commits' /tmp/out || die "$(cat /tmp/out)"
            fsck.zext4 -n /dev/vda >/tmp/out 2>&1; rc=$?
            [ $rc = 4 ] || die "fsck.zext4 -n: $rc $(cat /tmp/out)"
            [ "$(digest /dev/vda)" = "$before" ] || die "it was written"
            mnt /dev/vda; unmnt
            zjctl info --json /dev/vda | grep -q '"fast_commits": *false' || die "zjctl info afterwards"
            fsck.zext4 -p /dev/vda || die "fsck.zext4 afterwards"
        """)
        assert result, result.out
        machine.check_console()
