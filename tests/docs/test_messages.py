# SPDX-License-Identifier: GPL-2.0-only
"""Every message of the modules and of zjctl is explained in a manual page, and every entry there is of one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STRING = r'"(?:[^"\\]|\\.)*"'
# A call with its first string, which may have several parts and macros between these.
PART = rf"(?:{STRING}|Z[JX]_[A-Z_]+|[A-Z]+_ROOT)"
CALL = rf"\b({{names}})\s*\((?:[^;\"]*?,\s*|)({PART}(?:\s*{PART})*)"
# What a function puts before each text.
BEFORE = {"zj_corrupt": "damaged log: ", "complain_of_journal": "its journal on ... "}

KERNEL = ("zj_err|zj_err_ratelimited|zj_notice|pr_err|ext4_msg",
          ("src/**/*.c", "kernel/*.c", "zext4/*.c", "zext4/patches/*/*.cocci"))
RECOVERY = (r"ops->msg|zj_corrupt", ("src/recovery/*.[ch]", "src/nvm/recovery_nvm.c", "zext4/replay.c"))
TOOLS = ("zx_fail|zx_say|complain|complain_of_journal", ("user/zjctl/*.c", "user/extimage.c", "user/mmp.c"))


def messages(names, files):
    """The texts of all calls, with three dots for what differs."""
    found = {}
    for pattern in files:
        for path in sorted(ROOT.glob(pattern)):
            # In a semantic patch only what it adds is printed.
            text = path.read_text()
            text = re.sub(r"(?m)^\+", " ", text) if path.suffix == ".cocci" else text
            text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
            for call in re.finditer(CALL.format(names=names), text):
                parts = re.findall(STRING, call[2])
                message = BEFORE.get(call[1], "") + "".join(part[1:-1] for part in parts).replace(r"\n", "").replace(r'\"', '"')
                message = re.sub(r"%(?:[-#.*0-9]*(?:ll|l|h)?[a-zA-Z][UgVeE]?)", "...", message)
                found[re.sub(r"\s+", " ", message).strip()] = path.name
    return found


def entries(page, *sections):
    """{fragment of a message: explanation}; fragments that follow each other share one."""
    text = (ROOT / "man" / page).read_text()
    found = {}
    for section in sections:
        part = re.split(rf"(?m)^\.S[hs] {re.escape(section)}$", text)[1]
        part = re.split(r"(?m)^\.S[hs] ", part)[0]
        waiting = []
        for item in re.split(r"(?m)^\.It ", part)[1:]:
            head, _, body = item.partition("\n")
            waiting.append(head.removeprefix("Dq "))
            if body.strip():
                found.update(dict.fromkeys(waiting, body))
                waiting = []
        assert not waiting, f"{waiting} are not explained"
    return found


def explains(fragment, message):
    at = 0
    for part in fragment.split(" ... "):
        at = message.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


# What only passes on the text of another call.
PASSED_ON = {"...", "...: ...", "recovery: ..."}


@pytest.mark.parametrize("sources,page,sections,least", [
    (KERNEL, "zjournal.7", ["Messages of the kernel"], 50),
    (RECOVERY, "zjournal.7", ["Messages of recovery"], 20),
    (TOOLS, "zjournal-messages.7", ["MESSAGES OF ZJCTL"], 90),
], ids=["kernel", "recovery", "tools"])
def test_every_message_has_an_entry(sources, page, sections, least):
    said = {text: file for text, file in messages(*sources).items() if text not in PASSED_ON}
    known = entries(page, *sections)
    assert len(said) >= least, "the pattern no longer finds the calls"
    unexplained = [f"{file}: {text}" for text, file in said.items() if not any(explains(e, text) for e in known)]
    assert not unexplained, f"{page} does not explain:\n" + "\n".join(unexplained)
    # Some texts are chosen before the call.
    literals = [part[1:-1] for pattern in sources[1] for path in ROOT.glob(pattern)
                for part in re.findall(STRING, path.read_text())]
    stale = [e for e in known if not any(explains(e, text) for text in (*said, *literals))]
    assert not stale, f"{page} explains what nobody says: {stale}"


# What a person types or looks at: commands, mount options, files.
COMMAND = r"\b(?:zjctl [a-z-]+|(?:tune2fs|e2fsck|fsck\.zext4|resize2fs|mke2fs|dumpe2fs|debugfs|modprobe)(?: -[A-Za-z]+)?)"
ADVICE = re.compile(rf"{COMMAND}|\b[a-z_]+=(?![=.0-9])|\b[a-z_]+=(?=\.\.\.)|\bnoload\b|(?<![\w.])/(?:sys|proc|etc|dev)/[\w/]+")


def plain(text):
    """Of a manual page, without its macros."""
    text = re.sub(r"(?m)^\.[A-Z][a-z] |\b(?:Ar|Cm|Dq|Fl|Li|Nm|Ns|Pa|Pq|Sq|Xr) ", " ", text)
    return re.sub(r"\s+", " ", text.replace("Fl ", "-"))


def named(advice, text):
    """Does it name the command, with its first option or word, the option or the file?"""
    words = advice.split()
    return all(re.search(rf"(?<![\w.]){re.escape(word.lstrip('-'))}", text) for word in words)


@pytest.mark.parametrize("sources,page,sections,least", [
    (KERNEL, "zjournal.7", ["Messages of the kernel"], 15), (RECOVERY, "zjournal.7", ["Messages of recovery"], 2)],
                         ids=["kernel", "recovery"])
def test_what_a_message_advises_stands_in_its_entry(sources, page, sections, least):
    """So that whoever changes the advice of one of the two reads the other."""
    known, advised, missing = entries(page, *sections), 0, []
    for message, file in messages(*sources).items():
        entry = " ".join(plain(f"{head} {body}") for head, body in known.items() if explains(head, message))
        found = set(ADVICE.findall(message))
        advised += bool(found)
        missing += [f"{file}: {advice!r} of: {message}" for advice in sorted(found) if not named(advice, entry)]
    assert advised >= least, "the pattern no longer finds what messages advise"
    assert not missing, f"{page} advises something else than:\n" + "\n".join(missing)


@pytest.mark.parametrize("text", [
    "JBD2: Unrecognised features on journal", "Could not load journal inode",
    "Journal superblock has an unknown incompatible feature flag set", "Please run e2fsck -fy"])
def test_messages_of_stock_tools_are_quoted_where_people_search(text):
    assert text in (ROOT / "docs/recovery.md").read_text()
    assert "recovery.md" in (ROOT / "man/zjournal.7").read_text()
