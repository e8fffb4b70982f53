# SPDX-License-Identifier: GPL-2.0-only
"""What zjctl's messages and advice must not have: the kinds of mistakes that were found once in a few of them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
FILES = [path for pattern in ("user/zjctl/*.c", "user/*.c", "src/recovery/*.[ch]", "src/nvm/recovery_nvm.c")
         for path in sorted(ROOT.glob(pattern))]
# Programs that destroy what is on a device, where a device follows. zjctl names options of mke2fs only.
DESTROYS = re.compile(r"\b(mke2fs|mkfs(\.\w+)?|dd|wipefs|blkdiscard|shred)\b[^.;)]* (%s|DEV\b|/dev/)")
# Nouns that follow a number which may be 1.
COUNTED = "lanes|blocks|transactions|components|records|groups|CPUs|segments|journals|errors|members|images"


def strings():
    """(file, text) of each string, those that the compiler puts together as one."""
    for path in FILES:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        for run in re.finditer(r'(?:"(?:[^"\\]|\\.)*"\s*)+', text):
            yield path.name, "".join(STRING.findall(run[0])).replace('\\"', '"')


def test_no_command_that_destroys_is_ready_to_paste():
    found = [(name, text) for name, text in strings() if DESTROYS.search(text)]
    assert DESTROYS.search("new file system: mke2fs -t ext4 -g %llu %s") and not found


def test_no_path_of_the_sources():
    """A machine with the packages has manual pages, and no docs/format.md."""
    found = [(name, text) for name, text in strings() if re.search(r"\bdocs/|\.md\b", text)]
    assert not found


def test_plural_forms():
    """zjctl prints a number and its noun by zx_count(), which knows "1 lane"."""
    number = r"%(?:ll)?u (?:\w+ )?"
    wrong = re.compile(rf"\(s\)|{number}(?:{COUNTED})\b")
    assert wrong.search("in %u block(s)") and wrong.search("room for %u lanes")
    # What is parsed; a number that is never 1, or that is one of several; what is of the format's limits.
    fine = re.compile(r"%llu transactions in %u lanes, %u credits|segments: %u of %u blocks|recovered: %u|components: %llu closed"
                      r"| %llu of %u to %u members|dependencies: %llu|for %u CPUs|each of %u CPUs|of %u bytes"
                      r"|%u of %u (images|members|records)|%llu of %llu blocks|committed components|at least"
                      r"|journal of %u blocks")
    found = [(name, text) for name, text in strings()
             if name in {p.name for p in FILES if p.parent.name == "zjctl"} and wrong.search(text) and not fine.search(text)]
    assert not found


def test_lines_of_help_fit():
    for name, text in strings():
        if text.startswith("usage: zjctl"):
            long = [line for line in text.split("\\n") if len(line) > 90]
            assert not long, (name, long)
