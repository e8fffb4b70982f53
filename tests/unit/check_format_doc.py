#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the tables of docs/internals/format.md with include/zjournal/format.h and nvm_format.h."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
SIZES = {"u8": 1, "le16": 2, "le32": 4, "be32": 4, "le64": 8, "be64": 8}


def header_structs(text):
    """{struct: [(offset, size, field)]}; offsets are added up, and compared
    with those in the header's comments."""
    found = {}
    for name, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.M | re.S):
        rows, at = [], 0
        for kind, field, count, offset in re.findall(
                r"__(\w+)\s+(\w+)(?:\[(\d+)\])?;\s*/\* (0x[0-9a-f]+)", body):
            if int(offset, 16) != at:
                sys.exit(f"format.h: {name}.{field} is at {at:#x}, its comment says {offset}")
            size = SIZES[kind] * int(count or 1)
            rows.append((at, size, field))
            at += size
        if len(rows) != len(re.findall(r"^\t__", body, re.M)):
            sys.exit(f"format.h: not every field of {name} has an offset")
        found[name] = rows
    return found


def doc_structs(text):
    found = {}
    for section in re.split(r"^#+ ", text, flags=re.M):
        name = re.match(r"`struct (\w+)`", section)
        if name:
            found[name[1]] = [
                (int(offset, 16), int(size), field) for offset, size, field in
                re.findall(r"^\| (0x\w+) \| (\d+) \| (\w+) \|", section, re.M)]
    return found


def main():
    header = "".join((TOP / "include/zjournal" / name).read_text()
                     for name in ("format.h", "nvm_format.h"))
    doc = (TOP / "docs/internals/format.md").read_text()
    want, have = header_structs(header), doc_structs(doc)
    wrong = [f"struct {n}: header {want.get(n)}, page {have.get(n)}"
             for n in sorted(want.keys() | have.keys()) if want.get(n) != have.get(n)]
    defined = {n: int(v, 0) for n, v in
               re.findall(r"^#define (\w+)\s+(0x[0-9a-f]+|\d+)U?\b", header, re.M)}
    stated = re.findall(r"^\| `(ZJ_\w+)` \| (\w+) \|", doc, re.M)
    wrong += [f"{n}: header {defined.get(n)}, page {v}"
              for n, v in stated if defined.get(n) != int(v, 0)]
    if wrong or not want or not stated:
        sys.exit("docs/internals/format.md does not agree with format.h:\n" + "\n".join(wrong))
    print(f"docs/internals/format.md: {len(want)} structures, {len(stated)} constants agree")


if __name__ == "__main__":
    main()
