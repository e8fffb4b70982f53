#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Each assertion of src/ is seen to fire.

    tests/mutants/asserts.py [WORD...] [--jobs 2]

asserts.txt has an entry for each ZJ_ASSERT(): its file and condition, the bug that it
is there for, and where that is met. A lockdep_assert_held() is an assertion, too; several
of a file may name the same lock, so its function tells them apart:

    [txn/txn.c] !lane->running
    txn/handle.c:join_locked: OLD => NEW
    by: core a_unit_test

    [txn/txn.c] zj_txn_publish: lockdep_assert_held(&lane->lock)
    txn/handle.c:join_slowly: OLD => NEW
    by: core a_unit_test

A bug is one edit or several: the first OLD behind the head of the function becomes NEW
(\\n and \\t stand for a line's end and a tab). One file is compiled again for it, and the
unit tests of the core run (tests/unit/core), or with "by: sim OPTIONS" the simulator,
until one of them says that this very assertion failed. What has no "by:" is tried with
all unit tests and then with the simulator; --learn notes in asserts.txt what was found.

Writes build/results/asserts.json. Exit status 0: all of them fired.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

TOP = pathlib.Path(__file__).resolve().parents[2]
TABLE = TOP / "tests/mutants/asserts.txt"
WORK = TOP / "build/tests/mutants-asserts"
PROGRAMS = {"core": ("unit/core", "core"), "sim": ("sim", "zjsim")}
SECONDS = 60

Entry = collections.namedtuple("Entry", "file condition edits by")


def entries():
    """What the table says."""
    found = []
    for text in re.split(r"\n\n+", TABLE.read_text().strip()):
        head, *rest = [line for line in text.splitlines() if not line.startswith("#")]
        file, condition = re.fullmatch(r"\[(\S+)\] (.*)", head).groups()
        by = [line[4:] for line in rest if line.startswith("by: ")]
        edits = [re.fullmatch(r"([\w/.]+):(\w+): (.*) => (.*)", line).groups()
                 for line in rest if not line.startswith("by: ")]
        found.append(Entry(file, condition, edits, by[0] if by else None))
    return found


def closing(text, at):
    """The position at which the parenthesis at @at is closed."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if not depth:
            return i
    raise ValueError(text[at:at + 80])


def function_at(text, at):
    """The function that has position @at in it."""
    return re.findall(r"(?m)^(?![\s/#*])[^\n;{}]*?\b(\w+)\([^;{}]*\n\{", text[:at])[-1]


def assertions():
    """(file, condition) of each assertion in src/, as the compiler gives it."""
    found = []
    for path in sorted((TOP / "src").rglob("*.[ch]")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        text = re.sub(r"(?m)^#define.*(\\\n.*)*", "", text)
        for start in re.finditer(r"\b(ZJ_ASSERT|lockdep_assert_held)\(", text):
            body = text[start.end():closing(text, start.end() - 1)]
            if start[1] == "ZJ_ASSERT":
                comma = next(i for i, c in enumerate(body)
                             if c == "," and body[:i].count("(") == body[:i].count(")"))
                what = " ".join(body[comma + 1:].split())
            else:
                what = f"{function_at(text, start.start())}: {start[0]}{body})"
            found.append((str(path.relative_to(TOP / "src")), what))
    return found


def message(entry):
    """What the program says when the assertion fails, as a regular expression."""
    held = re.fullmatch(r"(\w+): lockdep_assert_held\((.*)\)", entry.condition)
    if held:
        return rf"\b{held[1]}: {re.escape(held[2])} is not held by "
    return (f"{entry.file}:\\d+: zjournal: assertion failed: "
            f"{re.escape(entry.condition)}(\\n|$| \\()")


def edited(text, function, old, new):
    old, new = (s.replace("\\n", "\n").replace("\\t", "\t") for s in (old, new))
    head = re.search(rf"(?m)^(?![\s/#*])[^\n;{{}}]*\b{function}\([^;{{}}]*\n\{{", text)
    at = text.find(old, head.end()) if head else -1
    end = text.find("\n}\n", head.end()) if head else -1
    return None if at < 0 or at > end else text[:at] + new + text[at + len(old):]


def mutated(entry):
    """Files of src/ with the bug, or a string that says why it does not apply."""
    files = {}
    for file, function, old, new in entry.edits:
        text = files.get(file) or (TOP / "src" / file).read_text()
        files[file] = edited(text, function, old, new)
        if files[file] is None:
            return f"{file}: {function}() has no {old!r}"
    return files


class Program:
    """A test program: built once, then one object at a time."""

    def __init__(self, name):
        where, binary = PROGRAMS[name]
        self.dir = WORK / name
        self.binary = self.dir / binary
        make = ["make", "--no-print-directory", "-C", TOP / "tests" / where, f"O={self.dir}",
                f"BIN={self.binary}", f"SRC={TOP}/src", "SAN=", "CFLAGS=-O1", self.binary]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([*make, "-n", "-B"], check=True, capture_output=True, text=True)
        self.compile = {}
        for line in done.stdout.replace("\\\n", " ").splitlines():
            if " -c " in line:
                self.compile[line.split()[-1]] = line
            elif f" -o {self.binary} " in line:
                self.link = line

    def build(self, files, to):
        """The program with some files of src/ instead of its own."""
        link = self.link.replace(f" -o {self.binary} ", f" -o {to}/program ")
        for file, text in files.items():
            source = to / file
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text)
            line = self.compile[f"{TOP}/src/{file}"]
            obj = re.search(r" -o (\S+)", line)[1]
            line = line.replace(f" -o {obj} ", f" -o {source}.o ").replace(" -Werror", "")
            line = line.rsplit(" ", 1)[0] + f" {source} -w"
            done = subprocess.run(line, shell=True, capture_output=True, text=True)
            if done.returncode:
                return done.stderr[-300:]
            link = link.replace(f" {obj} ", f" {source}.o ")
        subprocess.run(link, shell=True, check=True)
        return None


def watch(command, entry):
    """
    Run until the assertion has failed. Returns what was running then, or None, and
    the first other failure.
    """
    said = message(entry)
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, errors="replace")
    timer = threading.Timer(SECONDS, run.kill)
    timer.start()
    test, other = "", None
    try:
        for line in run.stdout:
            started = re.match(r"\[ RUN +\] (\w+)", line)
            test = started[1] if started else test
            if re.search(said, line):
                return test or "it", other
            if not other and re.search("FAIL |assertion failed|is not held by|ended by", line):
                other = line.strip()[:160]
        return None, other
    finally:
        timer.cancel()
        run.kill()
        run.wait()


def try_one(entry, programs, number):
    files = mutated(entry)
    if isinstance(files, str):
        return None, files
    to = WORK / f"m{number}"
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    other = None
    name, *args = entry.by.split() if entry.by else ("core",)
    tries = [(name, args)] if entry.by else [("core", []), ("sim", ["--seconds", "10"])]
    try:
        for name, args in tries:
            wrong = programs[name].build(files, to)
            if wrong:
                return None, wrong
            test, now = watch([to / "program", *args], entry)
            other = other or now
            if test:
                return f"core {test}" if name == "core" else f"sim {' '.join(args)}", None
        return None, f"it did not fire: {other}"
    finally:
        shutil.rmtree(to)


def save(results):
    path = TOP / "build/results/asserts.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | results, indent=1, sort_keys=True) + "\n")


def learn(found):
    """Write the test that made each one fail into the table."""
    out = []
    for text in re.split(r"\n\n+", TABLE.read_text().strip()):
        head = next(line for line in text.splitlines() if line.startswith("["))
        if head in found and "\nby: " not in text:
            text += f"\nby: {found[head]}"
        out.append(text)
    TABLE.write_text("\n\n".join(out) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="in the file or condition")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--learn", action="store_true", help='write "by:" into the table')
    parser.add_argument("--new", action="store_true", help='only what has no "by:"')
    args = parser.parse_args()
    os.nice(10)
    chosen = [e for e in entries() if not (args.new and e.by) and
              all(w in f"{e.file} {e.condition}" for w in args.words)]
    programs = {name: Program(name) for name in PROGRAMS}
    results, found = {}, {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = {pool.submit(try_one, e, programs, i): e for i, e in enumerate(chosen)}
        for job in concurrent.futures.as_completed(jobs):
            by, why = job.result()
            head = f"[{jobs[job].file}] {jobs[job].condition}"
            results[head] = by
            if by:
                found[head] = by
            if args.learn:
                learn(found)
            print(f"{'fires' if by else 'DOES NOT FIRE':14}{head}: {by or why}", flush=True)
    save(results)
    print(f"{len(found)} of {len(results)} fire")
    return 0 if len(found) == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
