# SPDX-License-Identifier: GPL-2.0-only
"""The text of documents and manual pages, for tools/lint: words, sentences, phrases to avoid."""
import re

# Tables that programs make are no text that somebody reads or keeps up to date.
MADE = re.compile(r"""(?s)<!-- made by.*?<!-- end -->|\.\\" made by.*?\.\\" end\n""")
# What stands for a word in a sentence's length: a command, a path or a link's target is one.
CODE = re.compile(r"(?s)``.*?``|`[^`]*`")
LINK = re.compile(r"!?\[([^][]*)\]\([^()]*\)")
# Names that begin a sentence though they are not capitalized.
NAMES = r"(?:z?ext[234]|fsync|fdatasync|zjournal|zjctl|e2fsck|fsck|jbd2|tune2fs|apt|systemd|fast_commit)\b"
END = re.compile(rf"(?<=[.?!:])[)\"*]*\s+(?=[\"(*`[]*(?:[A-Z0-9`]|{NAMES}))")
WORD = re.compile(r"\S*\w\S*")
# Macros of mdoc whose arguments are a part of the sentence.
INLINE = {"Xr", "Nm", "Cm", "Fl", "Pa", "Dq", "Ar", "Em", "Pq", "Po", "Pc", "Sq", "Li", "Sx", "Ql", "Er", "Sy", "No"}

PHRASES = {
    r"\bof (?:its|their|our) own\b": "separate, external, or nothing",
    r"(?:^|[.;:] )Who (?!(?:is|are|can|may|has|waits|says|does)\b[^.]*\?)[^?.]*\.": "a person who ..., or the passive",
    r"\bthe ones\b": "those, or the noun",
    r"\b[Mm]oreover\b": "also",
    r"\bas well\b(?! as)(?=[.,;])": "too",
    r"\bin place of\b(?! the (?:lost|other))": "instead of",
    r"\b(?:is|are|goes|go|brought|written|bring|brings|write|writes|not) home\b": "in its place in the file system",
}


def words(text):
    return len(WORD.findall(MADE.sub("", text)))


def of_markdown(text):
    """Paragraphs: lists of (line number, line)."""
    text = MADE.sub(lambda made: "\n" * made[0].count("\n"), text)
    paragraph, fence = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
            line = ""
        if fence or not line.strip() or line.startswith(("#", "|", "<", "\t", "    ", ">")) and not (
                paragraph and line.startswith("    ")):
            line = ""
        if not line or re.match(r"\s*(?:[-*]|\d+\.) ", line):
            if paragraph:
                yield paragraph
            paragraph = []
        if line:
            paragraph.append((number, re.sub(r"^\s*(?:[-*]|\d+\.) ", "", line)))
    if paragraph:
        yield paragraph


def of_mdoc(text):
    paragraph, literal = [], False
    for number, line in enumerate(text.splitlines(), 1):
        macro, _, rest = line[1:].partition(" ") if line.startswith(".") else ("", "", line)
        if macro == "Bd":
            literal = True
        if macro == "Ed":
            literal = False
        if literal or macro not in INLINE | {""}:
            if paragraph:
                yield paragraph
            paragraph = []
        else:
            plain = " ".join(word for word in rest.split() if word not in INLINE | {"Ns", "Op", "Fl"})
            paragraph.append((number, re.sub(r" ([.,;:)])", r"\1", plain)))
            # In mdoc a sentence ends with its line.
            if plain.endswith((".", "?", "!")):
                yield paragraph
                paragraph = []
    if paragraph:
        yield paragraph


def sentences(name, text):
    """(line number, sentence)"""
    for paragraph in of_markdown(text) if name.endswith(".md") else of_mdoc(text):
        joined, starts = "", []
        for number, line in paragraph:
            starts.append((len(joined), number))
            joined += line.strip() + " "
        plain = CODE.sub(lambda code: "`" + "_" * (len(code[0]) - 2) + "`", joined)
        at = 0
        for end, after in [match.span() for match in END.finditer(plain)] + [(len(plain), len(plain))]:
            line = next(number for start, number in reversed(starts) if start <= at)
            yield line, LINK.sub(r"\1", plain[at:end]).strip()
            at = after


def too_long(name, text, most):
    for line, sentence in sentences(name, text):
        length = words(sentence)
        if length > most:
            yield line, length, sentence


def phrases(name, text):
    for line, sentence in sentences(name, text):
        for pattern, better in PHRASES.items():
            found = re.search(pattern, sentence)
            if found:
                yield line, found[0][:60], better
