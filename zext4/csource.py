# SPDX-License-Identifier: GPL-2.0-only
"""Kernel-style C as text: which function a line belongs to, and what a text is without its layout."""

import re


def functions(text):
    """Name of the enclosing function (or '-') for each line of kernel-style C, 1-based."""
    where = ["-"]
    current = "-"
    head = ""
    for line in text.splitlines():
        if line == "{" and head:
            names = re.findall(r"(\w+)\s*\(", head)
            current = names[0] if names else "-"
        where.append(current)
        if line.startswith("}"):
            current, head = "-", ""
        elif current == "-":
            if re.match(r"[#/}]|\s*$", line) or line.endswith(";"):
                head = ""
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


def function_texts(text):
    """{name: head and body} of the functions; two bodies of one name (#ifdef) are joined."""
    lines = text.splitlines()
    where = functions(text)
    found = {}
    start = 0
    for number, line in enumerate(lines):
        if line == "{" and where[number + 1] != "-":
            start = number
            while start and not re.search(r"^\s*$|^[#}]|;$|\*/$", lines[start - 1]):
                start -= 1
        elif line.startswith("}") and where[number + 1] != "-":
            name = where[number + 1]
            found[name] = found.get(name, "") + "\n".join(lines[start:number + 1]) + "\n"
    return found


def table_texts(text):
    """{name: text} of the tables of methods and of options."""
    pattern = r"^(?:static )?(?:const )?struct (\w+) (\w+)(\[\])? = \{\n.*?^\};"
    return {match[2]: match[0] for match in re.finditer(pattern, text, flags=re.M | re.S)
            if re.search(r"(?:operations|ops|handler)$", match[1]) or match[3]}
