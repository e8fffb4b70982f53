# SPDX-License-Identifier: GPL-2.0-only
"""The sets of features that test_feature_sets.py makes, and what it does with each.

docs/compatibility.md has a row for each; tools/features-doc writes it from what the test ran.
"""

from dataclasses import dataclass

# What mke2fs.conf of the distributions has, written out: the host's own file does not count.
BASE = "sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr"
EXT3 = f"{BASE},has_journal"
EXT4 = f"{EXT3},extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,extra_isize"
NEWEST = f"{EXT4},metadata_csum_seed,orphan_file"
QUOTA = "-E quotatype=usrquota:grpquota:prjquota"
LIMITS = "usrquota,grpquota,prjquota"

STEPS = ("create", "mount", "load", "cut", "recover", "zjctl", "stock", "again")


@dataclass
class Row:
    """A file system.

    features: the list of -O, complete
    options: more options of mke2fs
    block: bytes
    mount: mount options
    uses: what the load does beside its files; functions use_NAME of guest/features.sh
    refused: what the kernel says when stock ext4 and zext4 refuse it alike
    journal: it has one
    varied: it is also made with quota and project, and with smaller blocks
    ties: what the set ties together, for the table
    """
    features: str = EXT4
    options: str = ""
    block: int = 4096
    mount: str = ""
    uses: tuple = ()
    refused: str = ""
    journal: bool = True
    varied: bool = True
    ties: str = ""

    @property
    def mkfs(self):
        # At least 1024 blocks.
        journal = f"-J size={max(16, self.block // 1024)}" if self.journal else ""
        inodes = [f"{option} {value}" for option, value in (("-I", 256), ("-i", 16384))
                  if f"{option} " not in self.options]
        return " ".join(f"-b {self.block} -O none,{self.features} {self.options} {' '.join(inodes)} {journal}".split())

    @property
    def steps(self):
        """What is to be passed."""
        if self.refused:
            return ["create"]
        return [s for s in STEPS if self.journal or s not in ("cut", "recover", "zjctl")]


# The defaults of the distributions, for large file systems and for those of less than 512 MiB.
DISTRIBUTIONS = {
    "ext4 of Debian 11, 12 and Ubuntu 20.04 to 24.04": Row(uses=("orphans",),
        ties="the super block, at each last unlink and truncation"),
    "ext4 of Debian 13 and Ubuntu 26.04": Row(NEWEST, uses=("orphans",),
        ties="nothing more"),
    "small, Debian 12 and Ubuntu 22.04, 24.04": Row(block=1024, options="-i 4096", uses=("orphans",),
        ties="the super block, as above; of the inode table 4 inodes share a block, not 16"),
    "small, Debian 13 and Ubuntu 26.04": Row(NEWEST, block=1024, options="-i 4096", uses=("orphans",),
        ties="nothing more; of the inode table 4 inodes share a block, not 16"),
    "small, Debian 11 and Ubuntu 20.04": Row(block=1024, options="-I 128 -i 4096", uses=("orphans",),
        ties="the super block; of the inode table 8 inodes share a block"),
    "news": Row(options="-i 4096",
        ties="the super block"),
    "hurd": Row(options="-I 128",
        ties="the super block; of the inode table 32 inodes share a block"),
    "ext3": Row(EXT3, uses=("orphans",),
        ties="the super block, indirect blocks of one file"),
    "ext2": Row(BASE, journal=False,
        ties="nothing: there is no journal"),
}

UTF8 = "-E encoding=utf8"

# Each feature alone, beside what ext4 has by default.
ALONE = {
    "bigalloc": Row(f"{EXT4},bigalloc", "-C 16384",
        ties="a bitmap's block speaks for 4 times as many blocks"),
    "casefold": Row(f"{EXT4},casefold", UTF8, uses=("casefold",),
        ties="nothing more"),
    "encrypt": Row(f"{EXT4},encrypt", uses=("encrypt",),
        ties="nothing more"),
    "verity": Row(f"{EXT4},verity", uses=("verity",),
        ties="nothing more"),
    "ea_inode": Row(f"{EXT4},ea_inode", uses=("ea_inode",),
        ties="files with the same large value share its inode"),
    "large_dir": Row(f"{EXT4},large_dir", uses=("directory",),
        ties="nothing more"),
    "large_dir, three levels": Row(f"{EXT4},large_dir", "-i 4096", block=1024, uses=("levels",), varied=False,
        ties="nothing more"),
    "inline_data": Row(f"{EXT4},inline_data", "-I 512", uses=("inline",),
        ties="data in the block of the inode table"),
    "metadata_csum_seed": Row(f"{EXT4},metadata_csum_seed",
        ties="nothing more"),
    "orphan_file": Row(f"{EXT4},orphan_file", uses=("orphans",),
        ties="frees unlinks and truncations of the super block"),
    "stable_inodes": Row(f"{EXT4},stable_inodes,encrypt", uses=("encrypt",),
        ties="nothing more"),
    "mmp": Row(f"{EXT4},mmp", "-E mmp_update_interval=1",
        ties="nothing: its block is not journaled"),
    "quota": Row(f"{EXT4},quota", "-E quotatype=usrquota:grpquota", mount="usrquota,grpquota",
        ties="lanes that charge the same user, group or project"),
    "project": Row(f"{EXT4},project", uses=("project",),
        ties="nothing more"),
    "quota,project": Row(f"{EXT4},quota,project", QUOTA, mount=LIMITS, uses=("project", "limit"),
        ties="lanes that charge the same user, group or project"),
    "sparse_super2": Row(EXT4.replace("sparse_super,", "").replace("resize_inode,", "") + ",sparse_super2",
        ties="nothing more"),
    "meta_bg": Row(EXT4.replace("resize_inode,", "") + ",meta_bg",
        ties="nothing more"),
    "fast_commit": Row(f"{EXT4},fast_commit",
        ties="nothing: it is switched off"),
    "uninit_bg": Row(EXT4.replace("metadata_csum", "uninit_bg"),
        ties="nothing more"),
    "without metadata_csum": Row(EXT4.replace(",metadata_csum", ""),
        ties="nothing more"),
    "without 64bit": Row(EXT4.replace(",64bit", ""),
        ties="a block has 128 descriptors of groups, not 64"),
    "without flex_bg": Row(EXT4.replace(",flex_bg", ""),
        ties="nothing more"),
    "without extent": Row(EXT4.replace(",extent", "").replace(",64bit", ""),
        ties="indirect blocks of one file"),
    "without dir_index": Row(EXT4.replace("dir_index,", ""), uses=("directory",),
        ties="nothing more"),
    "without dir_nlink, extra_isize, huge_file": Row(
        EXT4.replace(",dir_nlink,extra_isize", "").replace(",huge_file", ""),
        ties="nothing more"),
    "without has_journal": Row(EXT4.replace(",has_journal", ""), journal=False,
        ties="nothing: there is no journal"),
    "2k blocks": Row(block=2048,
        ties="of the inode table 8 inodes share a block, not 16"),
    "64k blocks": Row(block=65536, refused="bad block size 65536",
        ties="not mounted"),
    "every feature": Row(
        f"{NEWEST},casefold,encrypt,verity,ea_inode,large_dir,inline_data,quota,project,stable_inodes",
        f"{UTF8},quotatype=usrquota:grpquota:prjquota -I 512", mount=LIMITS,
        uses=("casefold", "encrypt", "verity", "ea_inode", "directory", "inline", "project", "limit",
              "orphans"),
        ties="lanes that charge the same user, group or project"),
}


def with_features(row, more, options="", **changes):
    """The same row with more features and options."""
    merged = dict(vars(row), features=f"{row.features},{more}" if more else row.features, varied=False)
    if options:
        if "-E " in row.options:
            merged["options"] = row.options.replace("-E ", f"-E {options.removeprefix('-E ')},")
        else:
            merged["options"] = f"{row.options} {options}"
    return Row(**{**merged, **changes})


VARIANTS = ("quota and project", "1k blocks", "2k blocks")


def variant(name, what):
    return f"{name}, {what}"


def product():
    """Each feature with quota and project, and each with blocks of 1 and 2 KiB."""
    found = {}
    for name, row in ALONE.items():
        if row.refused or not row.journal or not row.varied:
            continue
        if "quota" not in row.features:
            more = ",".join(f for f in ("quota", "project") if f not in row.features.split(","))
            uses = tuple(dict.fromkeys((*row.uses, "project", "limit")))
            found[variant(name, VARIANTS[0])] = with_features(row, more, QUOTA, mount=LIMITS, uses=uses)
        if row.block == 4096:
            found[variant(name, VARIANTS[1])] = with_features(row, "", block=1024)
            found[variant(name, VARIANTS[2])] = with_features(row, "", block=2048)
    return found


ROWS = {**DISTRIBUTIONS, **ALONE, **product()}

# What make test has the time for; the others are run with ZJ_FEATURE_SETS=all.
QUICK = ("ext4 of Debian 13 and Ubuntu 26.04", "small, Debian 12 and Ubuntu 22.04, 24.04", "ext3", "bigalloc",
         "casefold", "meta_bg", "64k blocks", "without has_journal", "every feature")
