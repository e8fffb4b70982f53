# SPDX-License-Identifier: GPL-2.0-only
"""Results of the patches, as edits of lines, so that they can be applied where there is no Coccinelle.

The name of a result is a hash of all that it was made from: the whole file of the distribution,
and the patches that change it. So a result can neither be applied to another text nor outlive a
change of a patch, and files that two releases have in common have one result. Packages carry
results; the repository has none (decision 62).
"""

import hashlib
import re
import subprocess

FORMAT = "zext4 edits 1"


class Damaged(Exception):
    """The result is not what was recorded."""


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def name_of(file, text, patches):
    """The name of the result of these patches on this text of the file."""
    parts = [FORMAT, file, text]
    for patch in patches:
        parts += [patch.path.name, patch.path.read_text()]
    return digest("".join(f"{len(part)} {part}" for part in parts))


def record(folder, name, file, old_path, new_path, tool):
    """Writes the edits that make the one file of the other."""
    diff = subprocess.run(["diff", old_path, new_path], stdout=subprocess.PIPE, text=True, check=False).stdout
    new = new_path.read_text()
    lines = new.splitlines(keepends=True)
    out = [f"{FORMAT}\nfile {file}\nby {tool}\nmakes {digest(new)}\n"]
    for at, end, how, first, last in re.findall(r"(?m)^(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?$", diff):
        at, end, first = int(at), int(end or at), int(first)
        last = int(last or first)
        # Lines at to end - 1, counted from 0, are replaced.
        at, end = (at, at) if how == "a" else (at - 1, end)
        more = [] if how == "d" else lines[first - 1:last]
        out.append(f"@ {at} {end} {len(more)}\n" + "".join(more))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(out))


def apply(path, text):
    """The text after the edits in the file of this path."""
    head, *edits = re.split(r"(?m)^(?=@ \d+ \d+ \d+$)", path.read_text())
    lines = text.splitlines(keepends=True)
    done = 0
    out = []
    for edit in edits:
        first, *more = edit.splitlines(keepends=True)
        at, end, number = map(int, first.split()[1:])
        if len(more) != number:
            raise Damaged(f"{path.name}: an edit has {len(more)} lines, not {number}")
        out += lines[done:at] + more
        done = end
    new = "".join(out + lines[done:])
    if f"\nmakes {digest(new)}\n" not in head or not head.startswith(FORMAT + "\n"):
        raise Damaged(f"{path.name}: it does not make what was recorded")
    return new
