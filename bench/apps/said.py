# SPDX-License-Identifier: GPL-2.0-only
"""What an application has said, as the figures that loadgen would print."""

import math
import re
from collections import Counter

SUB = 64    # buckets of a power of two, as in bench/gen/hist.h
QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


def bucket(ns):
    """The lower end of the bucket that a latency falls into"""
    ns = int(ns)
    if ns < SUB:
        return ns
    shift = ns.bit_length() - 1 - int(math.log2(SUB))
    return ns >> shift << shift


class Latencies:
    """Latencies of one kind, all of which are known, in buckets like loadgen's"""

    def __init__(self):
        self.buckets, self.count, self.sum, self.longest = Counter(), 0, 0, 0

    def add(self, ns, count=1):
        self.buckets[bucket(ns)] += count
        self.count += count
        self.sum += ns * count
        self.longest = max(self.longest, ns)

    def quantile(self, share):
        """The middle of the bucket in which this share of all is reached, as hist_quantile() does"""
        seen = 0
        for low, count in sorted(self.buckets.items()):
            seen += count
            if seen >= share * self.count:
                width = 1 if low < SUB else 1 << (low.bit_length() - 1 - int(math.log2(SUB)))
                return min(low + (width - 1) / 2, self.longest)
        return self.longest

    def fields(self, kind):
        if not self.count:
            return told(kind, 0)
        return told(kind, self.count, mean=self.sum / self.count / 1000, longest=self.longest / 1000,
                    **{name: self.quantile(share) / 1000 for name, share in QUANTILES.items()})

    def hist(self):
        return [[low, count] for low, count in sorted(self.buckets.items())]


def told(kind, count, mean=None, p50=None, p99=None, p999=None, longest=None):
    """Latencies in us of which only these are known"""
    values = {"count": count, "mean": mean, "p50": p50, "p99": p99, "p999": p999, "longest": longest}
    return {f"{kind}_{name}": value for name, value in values.items()}


def run(done, seconds, works=None, fsyncs=None, text=""):
    """
    A run's figures. works, fsyncs: Latencies, or what told() returns, or None if nothing is known.

    The time until all is durable is the load's and that of the syncfs after it, which bench.sh says.
    """
    if done <= 0 or seconds <= 0:
        raise ValueError(f"{done} works in {seconds} s")
    out = {"works": done, "operations": done, "seconds": seconds, "synced": seconds + synced(text),
           "hist": {"works": [], "fsyncs": []}}
    for kind, known in (("works", works), ("fsyncs", fsyncs)):
        if isinstance(known, Latencies):
            out["hist"][kind] = known.hist()
            known = known.fields(kind)
        out |= known or told(kind, 0)
    return out


def synced(text):
    """Seconds of the syncfs after the load"""
    return float(one(r"^synced ([0-9.]+)$", text))


def one(pattern, text):
    """What the pattern's group matches in the text; there has to be such a line."""
    found = re.search(pattern, text, re.M)
    if not found:
        raise ValueError(f"no line matches {pattern!r}")
    return found[1]


def agree(what, found, wanted):
    if found != wanted:
        raise ValueError(f"{what}: {found} were found after the remount, {wanted} were reported")


def every(pattern, text):
    """What the pattern's group matches in each line; there has to be one."""
    found = re.findall(pattern, text, re.M)
    if not found:
        raise ValueError(f"no line matches {pattern!r}")
    return found


def from_loadgen(text):
    """The figures of loadgen's lines, with the time that bench.sh measured for the syncfs after an application"""
    line = one(r"^(works=.*)$", text)
    run = {name: float(value) for name, value in (word.split("=") for word in line.split())}
    run["hist"] = {"works": [], "fsyncs": []}
    for kind, low, count in re.findall(r"^hist (works|fsyncs) (\d+) (\d+)$", text, re.M):
        run["hist"][kind].append([int(low), int(count)])
    if not run["works"]:
        raise ValueError("not one work was done")
    return run
