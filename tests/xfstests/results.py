# SPDX-License-Identifier: GPL-2.0-only
"""What xfstests' check prints, what is kept of it, and the difference of two sides."""

import json
import re
from dataclasses import asdict, dataclass

PASS, FAIL, NOTRUN, HANG, DIED = "pass", "fail", "not run", "hang", "died"
NAME = r"(?:generic|ext4)/\d{3,4}"
HEAD = re.compile(rf"^({NAME})(?=[ \n]|$)(.*)$", re.M)
DONE = re.compile(r"^(?:Ran: |xfstests-guest: end )", re.M)


@dataclass
class Result:
    """seconds are those of the side's run; why is the reason or the beginning of the difference."""
    verdict: str
    seconds: int = 0
    why: str = ""

    @property
    def failed(self):
        return self.verdict in (FAIL, HANG, DIED)


def judge(rest):
    """The result that the text after a test's name says."""
    passed = re.fullmatch(r"\s*(?:\d+s \.\.\.\s*)?(\d+)s\s*", rest)
    if passed:
        return Result(PASS, int(passed[1]))
    # What programs write to the console may come before it.
    reason = re.search(r"^(?:\S.*|\s*)\[not run\] *(.*)", rest, re.M)
    if reason:
        return Result(NOTRUN, why=reason[1].strip())
    text = re.sub(r"^\s*\d+s \.\.\. ", "", rest).strip()
    # Paths of the results' folder only lengthen it.
    return Result(FAIL, why=re.sub(r" ?\(see [^)]*\)", "", text)[:2000])


def parse(text):
    """(results of the tests that have ended, name of the one that runs or None)."""
    text = text.replace("\r", "")
    heads = list(HEAD.finditer(text))
    end = DONE.search(text)
    ended, running = {}, None
    for n, head in enumerate(heads):
        if end and head.start() > end.start():
            break
        last = n + 1 == len(heads) or (end and heads[n + 1].start() > end.start())
        stop = len(text) if n + 1 == len(heads) else heads[n + 1].start()
        if end:
            stop = min(stop, end.start())
        rest = text[head.end(1):stop]
        # Only the next name shows that the text of a failure is complete.
        if last and not end and (not rest.endswith("\n") or judge(rest).verdict == FAIL):
            running = head[1]
        elif "[expunged]" not in rest:
            ended[head[1]] = judge(rest)
    return ended, running


class Side:
    """The results of one side, kept in a file as long as what was tested is the same."""

    def __init__(self, path, what):
        self.path, self.what = path, what
        self.results, self.again = {}, {}
        self.stale = False
        try:
            kept = json.loads(path.read_text())
        except (OSError, ValueError):
            return
        if kept["what"] != what:
            self.stale = True
            return
        self.results = {name: Result(**r) for name, r in kept["results"].items()}
        self.again = {name: [Result(**r) for r in all_] for name, all_ in kept["again"].items()}

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"what": self.what, "results": {n: asdict(r) for n, r in sorted(self.results.items())},
                           "again": {n: [asdict(r) for r in a] for n, a in sorted(self.again.items())}}, indent=1)
        new = self.path.with_suffix(".new")
        new.write_text(text + "\n")
        new.replace(self.path)

    def verdicts(self, name):
        return [self.results[name]] + self.again.get(name, [])


def differs(a, b):
    """Whether two lists of results of one test, from two sides, are a difference.

    A test that has failed and passed on the same side is unsteady: it is no difference if the
    other side has had one of the same verdicts.
    """
    def kinds(results):
        return {FAIL if r.failed else r.verdict for r in results}
    return not kinds(a) & kinds(b)


def compare(stock, ours):
    """Names of the tests that both sides have run and that differ."""
    return [name for name in sorted(stock.results)
            if name in ours.results and differs(stock.verdicts(name), ours.verdicts(name))]


def read_excluded(text):
    """{(test, side or "")}: (skip or known, reason)}; a line is TEST[@SIDE] skip|known REASON."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        got = re.fullmatch(rf"({NAME})(?:@([\w-]+))?\s+(skip|known)\s+(\S.*)", line)
        if not got:
            raise ValueError(f"line {number} is not TEST[@SIDE] skip|known REASON: {line}")
        found[got[1], got[2] or ""] = (got[3], got[4])
    return found


def read_groups(text, folder):
    """{test: groups} of a group.list."""
    found = {}
    for line in text.splitlines():
        number, *groups = line.split("#")[0].split() or [""]
        if number.isdigit():
            found[f"{folder}/{number}"] = set(groups)
    return found


def select(groups, words):
    """Tests that the words choose: names, patterns such as ext4/*, groups, and -group to leave out."""
    chosen = set()
    for word in words:
        if word.startswith("-"):
            continue
        if "/" in word:
            pattern = re.compile(re.escape(word).replace(r"\*", ".*").replace(r"\?", "."))
            new = {name for name in groups if pattern.fullmatch(name)}
        else:
            new = {name for name, in_ in groups.items() if word in in_}
        if not new:
            raise ValueError(f"{word} is neither a test nor a group of this checkout")
        chosen |= new
    for word in words:
        if word.startswith("-"):
            chosen -= {name for name in chosen if word[1:] in groups[name]}
    return sorted(chosen)


def table(sides, tests):
    """Lines of a table: how many tests each side has passed, failed, ..."""
    lines = [f"{'side':12} {'pass':>6} {'fail':>6} {'hang':>6} {'died':>6} {'not run':>8} {'to do':>6}"]
    for name, side in sides.items():
        count = {v: sum(side.results[t].verdict == v for t in tests if t in side.results)
                 for v in (PASS, FAIL, HANG, DIED, NOTRUN)}
        todo = sum(t not in side.results for t in tests)
        lines.append(f"{name:12} {count[PASS]:6} {count[FAIL]:6} {count[HANG]:6} {count[DIED]:6} "
                     f"{count[NOTRUN]:8} {todo:6}")
    return lines
