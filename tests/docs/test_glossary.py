# SPDX-License-Identifier: GPL-2.0-only
"""docs/internals/glossary.md: each term has a path that exists, and each name is defined where its row says.

`NAME`, `PATH` in the last column: the name is defined in that file or folder. Behind a
semicolon another pair follows, or another path.
"""
import pathlib
import re

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
GLOSSARY = TOP / "docs/internals/glossary.md"
PATH = re.compile(r"(?:src|docs|include|tests|zext4|kernel|user)/[\w./-]*")
# A function; a struct; a field, behind the struct that it is in; a constant or a type.
NAME = re.compile(r"(?:struct )?\w+(?:\.\w+)?(?:\(\))?")


def rows(text):
    """(the term, what its last column quotes, by semicolons), and the names of the last table."""
    for line in text.splitlines():
        columns = [column.strip() for column in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not columns or columns[0] in ("term", "name") or "---" in columns[0]:
            continue
        if len(columns) == 4:
            for part in columns[3].split(";"):
                yield columns[0], re.findall(r"`([^`]+)`", part)
        else:
            yield columns[0], re.findall(r"`([^`]+)`", columns[0] + columns[2])


def code(folders=("src", "include")):
    return {path: path.read_text() for folder in folders
            for path in (TOP / folder).rglob("*.[ch]")}


def body_of(struct, text):
    found = re.search(rf"(?ms)^struct {struct} \{{\n(.*?)^\}}", text)
    return found and re.sub(r"(?s)/\*.*?\*/", "", found.group(1))


def is_there(name, texts):
    """Is it defined in one of these files?"""
    if "." in name:
        struct, field = name.split(".")
        # It may have an attribute, or be an operation: (*name)(...).
        return any(re.search(rf"\b{field}\b\)?\s*(?:__\w+)?[;,:\[(]", body_of(struct, text) or "")
                   for text in texts)
    word = name.removeprefix("struct ").removesuffix("()")
    if name.startswith("struct "):
        return any(body_of(word, text) is not None for text in texts)
    if name.endswith("()"):
        return any(re.search(rf"(?m)^(?!\s)[^;]*\b{word}\(", text) for text in texts)
    return any(re.search(rf"\b{word}\b", re.sub(r"(?s)/\*.*?\*/", "", text)) for text in texts)


def wrong(quoted, files):
    """Paths that do not exist, and names that are not in the files they stand beside."""
    paths = [text for text in quoted if PATH.fullmatch(text)]
    if not paths:
        return [f"no path beside {quoted}"]
    missing = [path for path in paths if not (TOP / path).exists()]
    within = [text for file, text in files.items()
              if any(str(file.relative_to(TOP)).startswith(path) for path in paths)]
    names = [text for text in quoted if not PATH.fullmatch(text)]
    assert all(NAME.fullmatch(name) for name in names), names
    return missing + [name for name in names if not is_there(name, within)]


def test_each_is_where_it_says():
    files = code()
    checked = list(rows(GLOSSARY.read_text()))
    assert len(checked) > 80
    assert not [(term, bad) for term, quoted in checked if (bad := wrong(quoted, files))]


@pytest.mark.parametrize("row", [
    "| tid | jbd2: tid | Number of a transaction. | |",
    "| tid | jbd2: tid | Number of a transaction. | `zj_journal.next_tid` |",
    "| tid | jbd2: tid | Number. | `zj_journal.next_tid`, `src/core/journal_types.h`; `zj_txn_alloc()` |",
    "| `zj_txn.public` | what ext4 sees | |",
])
def test_term_without_a_path_is_seen(row):
    assert any(wrong(quoted, code()) for _, quoted in rows(row))


def test_what_is_not_there_is_seen():
    files = code()
    assert wrong(["src/txn/no_such.c"], files) == ["src/txn/no_such.c"]
    assert wrong(["struct zj_txn", "src/txn/handle.c"], files) == ["struct zj_txn"]
    assert wrong(["zj_txn.no_such", "src/txn/txn_types.h"], files) == ["zj_txn.no_such"]
    assert wrong(["zj_no_such()", "src/log/"], files) == ["zj_no_such()"]
