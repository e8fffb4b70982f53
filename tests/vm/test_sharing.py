# SPDX-License-Identifier: GPL-2.0-only
"""What ties lanes together, as the statistics name it."""

import re

import pytest

# CPU 0 and CPU 1 work in turn, in open transactions, so that every shared block ties them.
LIB = """
    show() { cat /proc/fs/zjournal/*/info; }
    both() { taskset 1 sh -c "n=0; $1"; taskset 2 sh -c "n=1; $1"; }
"""


def kinds(info, what):
    """{cause: count} of a line of totals, compared with its sum and with those of the lanes."""
    def parse(text):
        total, *rest = text.split(", ")
        found = {name: int(count) for count, name in (part.split(" at ") for part in rest)}
        assert total == f"{sum(found.values())} in all"
        return found
    [line] = re.findall(rf"^{what}: (.*)", info, re.M)
    total = parse(line)
    lanes = [parse(line) for line in re.findall(rf"^{what} in lane \d+: (.*)", info, re.M)]
    for name in total:
        assert total[name] == sum(lane.get(name, 0) for lane in lanes)
    assert sum(map(int, re.findall(rf"^lane +\d+:.* (\d+) {what}\b", info, re.M))) == sum(total.values())
    return total


def counted(guest, script, setup="", mount="", mkfs=""):
    """The increase of the counters of unions during a script."""
    out = guest(LIB + f"""
        mk /dev/vda {mkfs}
        mnt /dev/vda data=ordered,commit=300,lanes=2{mount}
        {setup}
        fsctl syncfs /mnt || die syncfs
        show; echo ----
        {script}
        fsctl syncfs /mnt || die syncfs
        show
        unmnt; fsck /dev/vda
    """)
    before, after = [kinds(part, "united") for part in out.split("----")]
    print(before, after, sep="\n")
    return {name: n - before.get(name, 0) for name, n in after.items() if n > before.get(name, 0)}, out


@pytest.mark.zext4
def test_shared_directory(guest):
    ties, out = counted(guest, 'for i in 1 2 3; do both "echo >/mnt/d/$i.\\$n"; done',
                        setup="mkdir /mnt/d")
    assert ties.get("directory", 0) > 0
    info = out.split("----")[1]
    closed, members, most = map(int, re.search(
        r"^components: (\d+) closed, (\d+) members, (\d+) at most", info, re.M).groups())
    assert most == 2
    sizes = [tuple(map(int, found)) for found in
             re.findall(r"^  (\d+) of (\d+) to (\d+) members", info, re.M)]
    assert sum(n for n, _, _ in sizes) == closed
    assert sum(n * least for n, least, _ in sizes) == members    # of two lanes


@pytest.mark.zext4
def test_neighbours_in_the_inode_table(guest):
    """Each CPU writes its own file; the inodes share a block."""
    ties, _ = counted(guest, 'both "chmod 600 /mnt/f\\$n"', setup="touch /mnt/f0 /mnt/f1")
    assert ties == {"inode_table": 1}


@pytest.mark.zext4
def test_writers_that_share_nothing(guest):
    """Inodes in different blocks of the table, no blocks allocated: two components."""
    ties, _ = counted(guest, 'both "chmod 600 /mnt/f\\$((1 + 38 * n))"',
                      setup="for n in $(seq 40); do echo >/mnt/f$n; done")
    assert ties == {}


@pytest.mark.zext4
@pytest.mark.parametrize("mkfs,known", [
    ("-O ^flex_bg", {"block_bitmap", "descriptor"}),
    ("", {"block_bitmap", "descriptor"}),
    ("-O meta_bg,^resize_inode", {"block_bitmap", "descriptor"}),
])
def test_allocation_of_blocks(guest, mkfs, known):
    """Appends to separate files: what they share is the bitmaps and descriptors."""
    ties, _ = counted(guest, 'both "fallocate -l 16384 /mnt/f\\$((1 + 38 * n)) || exit 1"',
                      setup="for n in $(seq 40); do echo >/mnt/f$n; done; "
                            "truncate -s 0 /mnt/f1 /mnt/f39", mkfs=mkfs)
    assert ties and set(ties) <= known


@pytest.mark.zext4
def test_creation_in_private_directories(guest):
    """Two directories in one group share its tables, each with its own cause."""
    ties, out = counted(guest, 'for i in 1 2 3; do both "echo >/mnt/d\\$n/$i"; done',
                        setup="mkdir /mnt/d0 /mnt/d1")
    known = {"inode_table", "inode_bitmap", "block_bitmap", "descriptor"}
    assert ties and set(ties) <= known


@pytest.mark.zext4
@pytest.mark.parametrize("mkfs,known", [
    # Each CPU starts to look at block 13 * CPU, modulo their number.
    ("-O orphan_file -E orphan_file_size=13", "orphan"),
    ("-O ^orphan_file", "super"),
])
def test_truncation(guest, mkfs, known):
    """Each truncates its own file; both use the list of orphans."""
    ties, _ = counted(guest, 'both "truncate -s 1 /mnt/f\\$((1 + 38 * n)) || exit 1"', mkfs=mkfs,
                      setup="for n in $(seq 40); do echo more >/mnt/f$n; done")
    assert ties == {known: 1}


@pytest.mark.zext4
def test_quota_has_a_name(guest):
    ties, _ = counted(guest, 'both "chown 1000 /mnt/f\\$((1 + 38 * n))"', mkfs="-O quota",
                      setup="for n in $(seq 40); do echo >/mnt/f$n; done")
    assert ties == {"quota": 1}


@pytest.mark.zext4
def test_commit_takes_one_step_each(guest):
    """Two CPUs fsync in one directory; in the end each member and dependency has arrived once."""
    _, out = counted(guest, """
        for i in $(seq 40); do
            taskset 1 dd if=/dev/zero of=/mnt/d/a bs=4k count=1 conv=fsync 2>/dev/null &
            taskset 2 dd if=/dev/zero of=/mnt/d/b$i bs=4k count=1 conv=fsync 2>/dev/null &
            wait
        done""", setup="mkdir /mnt/d")
    info = out.split("----")[1]
    kinds(info, "depends")
    members = int(re.search(r"^components: \d+ closed, (\d+) members", info, re.M).group(1))
    logged, awaited, resolved, arrivals = map(int, re.search(
        r"^dependencies: (\d+) logged, \d+ at most, (\d+) awaited, (\d+) resolved, (\d+) arrivals",
        info, re.M).groups())
    assert logged > 0 and awaited == resolved
    assert arrivals == members + resolved

LAYOUTS = ["", "-O ^flex_bg", "-O meta_bg,^resize_inode", "-b 1024 -G 32", "-O ^extents,^64bit",
           "-O bigalloc -C 16384", "-O orphan_file", "-b 1024 -O ^metadata_csum,uninit_bg"]


@pytest.mark.zext4
@pytest.mark.parametrize("mkfs", LAYOUTS)
def test_every_block_has_a_kind(guest, mkfs):
    # File data has no kind.
    ties, out = counted(guest, 'stress -p 4 -n 400 -s 3 /mnt || die stress', mkfs=mkfs,
                        mount=",tune=fsync_data:before")
    depends = kinds(out.split("----")[1], "depends")
    # On a busy host the processes may run one after the other, and nothing unites.
    assert ties or depends
    assert "other" not in ties and "other" not in depends


APART = """
    apart() { for d in "$@"; do mkdir /mnt/$d; for f in $(seq 20); do : >/mnt/$d/.f$f; done; done; }
    for n in 0 1; do apart from$n from$n/d to$n; done
"""


@pytest.mark.zext4
@pytest.mark.parametrize("what,known", [
    ("mv /mnt/from\\$n/d /mnt/to\\$n/", {"move": 1}),
    ("fsctl exchange /mnt/from\\$n/d /mnt/to\\$n/.f1", {"move": 1}),
    ("mv /mnt/from\\$n/d /mnt/from\\$n/e", {}),
])
def test_moved_directories(guest, what, known):
    """A directory that gets another parent depends on the whole tree; nothing else does."""
    ties, _ = counted(guest, f'both "{what} || exit 1"', setup=APART)
    assert ties == known


@pytest.mark.zext4
def test_unnamed_files_in_one_directory(guest):
    """O_TMPFILE does not change the directory: only the new inodes may meet."""
    ties, _ = counted(guest, 'for i in 1 2 3; do both "fsctl tmpfile /mnt/d || exit 1"; done',
                      setup="mkdir /mnt/d", mkfs="-O orphan_file -E orphan_file_size=13")
    assert ties and set(ties) <= {"inode_table", "inode_bitmap", "descriptor"}


@pytest.mark.zext4
def test_unnamed_file_in_a_changed_directory(guest):
    """It may have inherited attributes from a directory that another lane has changed."""
    ties, _ = counted(guest, "taskset 1 chmod 2755 /mnt/d; taskset 2 fsctl tmpfile /mnt/d || exit 1",
                      setup="mkdir /mnt/d; for f in $(seq 20); do : >/mnt/d/$f; done")
    assert ties == {"directory": 1}
