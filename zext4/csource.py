# SPDX-License-Identifier: GPL-2.0-only
"""Kernel-style C as text: which function a line belongs to, and what a text is without its layout."""

import difflib
import re


# What sparse is told about locks stands between the head of a function and its body.
LOCKS = r"__(?:acquires|releases|must_hold)\b"


def functions(text):
    """Name of the enclosing function (or '-') for each line of kernel-style C, 1-based."""
    where = ["-"]
    current = "-"
    head, ended = "", False
    for line in text.splitlines():
        if line == "{" and head:
            names = re.findall(r"(\w+)\s*\(", head)
            current = names[0] if names else "-"
        where.append(current)
        if line.startswith("}"):
            current, head = "-", ""
        elif current == "-":
            if ended and line.strip():
                head = ""
            # A blank line may stand between the head and the body.
            ended = not line.strip()
            if ended:
                continue
            if re.match(r"[#/}]", line) or line.endswith(";"):
                head = ""
            elif re.match(LOCKS, line):
                head += line
            elif re.match(r"\w", line):
                head = line if "(" in line or not head else head + line
            elif head:
                head += line
    return where


def normalised(text):
    """C without comments, and with one space where there is any layout; strings are kept."""
    token = r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|//[^\n]*'
    text = re.sub(token, lambda m: " " if m[0].startswith("/") else m[0], text, flags=re.S)
    return " ".join(text.split())


def spans(text):
    """(name, first line, line behind it) of each function, with its head; lines count from 0."""
    lines = text.splitlines()
    where = functions(text)
    start = 0
    for number, line in enumerate(lines):
        if line == "{" and where[number + 1] != "-":
            start = number
            if start and not lines[start - 1].strip():
                start -= 1
            while start and not re.search(r"^\s*$|^[#}]|;$|\*/$", lines[start - 1]):
                start -= 1
        elif line.startswith("}") and where[number + 1] != "-":
            yield where[number + 1], start, number + 1


def function_texts(text):
    """{name: head and body} of the functions; two bodies of one name (#ifdef) are joined."""
    lines = text.splitlines()
    found = {}
    for name, start, end in spans(text):
        found[name] = found.get(name, "") + "\n".join(lines[start:end]) + "\n"
    return found


def outside(text):
    """What lies outside functions."""
    lines = text.splitlines()
    for _, start, end in spans(text):
        lines[start:end] = [""] * (end - start)
    return "\n".join(lines)


def statements(text):
    """The statements and directives of a text, without comments, layout and braces.

    The head of a condition or a loop is a statement of its own.
    What two versions of a tool print for one change differs in layout, and in braces around a
    single statement; the list is the same.
    """
    token = (r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|" r'"(?:\\.|[^"\\])*"|' r"'(?:\\.|[^'\\])*'|\w+|[^\s\w]")
    comment = r'("(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')|/\*.*?\*/|//[^\n]*'
    text = re.sub(comment, lambda m: m[1] or " ", text, flags=re.S)
    found, words, depth = [], [], 0

    def end():
        if words:
            found.append(" ".join(words))
            words.clear()

    for word in (match[0] for match in re.finditer(token, text, flags=re.M)):
        if word.lstrip().startswith("#"):
            end()
            words.append(word.strip())
            end()
        elif word not in "{}":
            depth += (word == "(") - (word == ")")
            words.append(word)
            head = words[0] in ("if", "for", "while", "switch") and word == ")"
            if depth <= 0 and (head or word in (";", "else", "do")):
                end()
    end()
    return found


def changed_statements(old, new):
    """{name: number} of the functions that differ, and of '-', and how many statements of each do."""
    # Coccinelle 1.3 leaves a space before the head of a function that it has moved down.
    old, new = (re.sub(r"(?m)^ (?=\w)", "", text) for text in (old, new))
    before, after = function_texts(old), function_texts(new)
    before["-"] = outside(old)
    # A function that a patch adds.
    after["-"] = "\n".join([outside(new), *(after[name] for name in after if name not in before)])
    found = {}
    for name, text in before.items():
        if text == after.get(name):
            continue
        lists = statements(text), statements(after.get(name, ""))
        steps = difflib.SequenceMatcher(None, *lists, autojunk=False).get_opcodes()
        number = sum(max(i2 - i1, j2 - j1) for step, i1, i2, j1, j2 in steps if step != "equal")
        if number:
            found[name] = number
    return found


def table_texts(text):
    """{name: text} of the tables of methods and of options."""
    pattern = r"^(?:static )?(?:const )?struct (\w+) (\w+)(\[\])? = \{\n.*?^\};"
    return {match[2]: match[0] for match in re.finditer(pattern, text, flags=re.M | re.S)
            if re.search(r"(?:operations|ops|handler)$", match[1]) or match[3]}


def type_texts(text):
    """{name: text} of the structs, unions, enumerations and macros; several of one name (#ifdef) are joined."""
    found = {}
    for pattern in (r"^(?:typedef )?(?:struct|union|enum) (\w+) \{\n(?:[^}\n][^\n]*\n|\n)*\}[^\n]*",
                    r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:[^\n]*\\\n)*[^\n]*"):
        for match in re.finditer(pattern, text, flags=re.M):
            name = re.search(r"\} ?(\w+);$", match[0])[1] if match[0].startswith("typedef") else match[1]
            found[name] = found.get(name, "") + match[0] + "\n"
    return found
