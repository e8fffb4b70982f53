# SPDX-License-Identifier: GPL-2.0-only
"""The code blocks of README.md, and the commands in them."""
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]


def blocks(section=None, text=None):
    """The code blocks under a heading, or all."""
    text = (TOP / "README.md").read_text() if text is None else text
    if section:
        text = re.search(rf"(?ms)^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text).group(1)
    return re.findall(r"(?ms)^```\n(.*?)^```$", text)


def is_shell(block):
    return bool(re.match(r"(sudo|make) ", block))


def commands(section=None, text=None):
    """The lines of the blocks that a shell runs, without comments."""
    lines = [line for block in blocks(section, text) if is_shell(block) for line in block.splitlines()]
    return [re.sub(r"\s+#.*", "", line) for line in lines]


def line_of(section, beginning):
    """The only line of a block that begins so."""
    found = [line for block in blocks(section) for line in block.splitlines() if line.startswith(beginning)]
    assert len(found) == 1, (section, beginning, found)
    return found[0]


def in_text(text=None):
    """What the text between the blocks names in backquotes."""
    text = (TOP / "README.md").read_text() if text is None else text
    return re.findall(r"`([^`\n]+)`", re.sub(r"(?ms)^```.*?^```$", "", text))
