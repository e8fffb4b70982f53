# SPDX-License-Identifier: GPL-2.0-only
"""What a soak does, chosen at random from its seed, and the sums of what it has done.

A *life* is a file system from mke2fs to its end, some cycles long.  The choices of a life
depend on the seed and its number only, so that one life can be repeated alone.
"""

import json
import random
import re
from collections import Counter
from dataclasses import asdict, dataclass, field

APPS = ["git", "sqlite", "trees", "stress", "build", "postgresql", "mariadb"]
EVENTS = {    # name: how often, in relation to the others
    "hotplug": 4, "freeze": 3, "remount": 3, "pressure": 2, "cgroup": 3, "drop": 2,
    "quota": 2, "project": 2, "grow": 3, "trim": 2, "defrag": 2, "sync": 1,
}
ENDS = {"cut": 6, "reset": 1, "shutdown": 1, "umount": 2}
CPUS = 8
DEVICE_MIB = 1024
KEEPS = [0.0, 0.2, 0.5, 0.5, 0.9, 1.0]    # chance of a sector that was not flushed


@dataclass
class Cycle:
    """A mount with its load, its end, and how the file system is recovered after it."""
    number: int
    options: str                # of the mount
    apps: list
    events: list                # (seconds after the start, name, argument)
    end: str
    keep: float
    cut_after: int              # writes of the disk, after the time is over
    recover: str                # mount, zjctl or stock
    recovery_cut: int           # writes after which recovery is cut once more; 0: never
    seed: int
    snapshots: list             # (share of the time, chance of a sector that was not flushed)


@dataclass
class Life:
    number: int
    journal: str                # internal, external or nvm
    mkfs: list
    size_mib: int
    features: list
    cycles: list = field(default_factory=list)
    cpus: int = CPUS


def chosen(rng, weights):
    return rng.choices(list(weights), list(weights.values()))[0]


def mount_options(rng, journal):
    """Options of one mount: those of users, and now and then one for tests."""
    lanes = rng.choice(["1", "2", "4", "8", "auto", "auto"])
    options = [f"data={rng.choice(['ordered', 'ordered', 'ordered', 'journal', 'writeback'])}",
               f"lanes={lanes}", f"fsync={rng.choice(['own', 'own', 'all'])}",
               f"lane_by={rng.choice(['cpu', 'cpu', 'cgroup', 'dir'])}",
               f"alloc={rng.choice(['core', 'core', 'stock'])}"]
    if journal == "nvm":
        options.append("journal_nvm=/dev/pmem0")
    elif lanes == "1" and rng.random() < 0.4:
        options.append("log=zj")
    options += [word for word, chance in (("discard", 0.5), ("commit=1", 0.2), ("commit=30", 0.2), ("nodelalloc", 0.15),
                                          ("dioread_lock", 0.15)) if rng.random() < chance]
    if "data=ordered" in options and rng.random() < 0.3:
        options.append("tune=fsync_data:before")
    elif rng.random() < 0.3:
        options.append(f"tune=frozen_copy:{rng.choice(['always', 'never'])}")
    return ",".join(options)


def stock_log(options, journal):
    """Does this mount write a log that stock ext4 recovers?"""
    return journal != "nvm" and "lanes=1" in options.split(",") and "log=zj" not in options.split(",")


def one_order(options):
    """Is whatever is older than a change that survived a crash there, too, as on stock ext4?"""
    words = options.split(",")
    return "lanes=1" in words or "fsync=all" in words


def remount_options(rng, options):
    """An option that a remount may change; fsync=own would take a promise back."""
    words = ["fsync=all", f"lane_by={rng.choice(['cpu', 'cgroup', 'dir'])}", f"alloc={rng.choice(['core', 'stock'])}",
             f"commit={rng.choice([1, 5, 30])}", rng.choice(["discard", "nodiscard"])]
    if "tune=fsync_data" not in options:
        words.append(f"tune=frozen_copy:{rng.choice(['always', 'never', 'auto'])}")
    return rng.choice(words)


def event_argument(rng, name, options, quota):
    """What the script of this event is given; None: this event cannot be."""
    if name in ("quota", "project") and not quota:
        return None
    return {"hotplug": lambda: f"{rng.randrange(1, CPUS)} {rng.randrange(1, 6)}",
            "freeze": lambda: str(rng.choice([0, 1, 3])),
            "remount": lambda: remount_options(rng, options),
            "pressure": lambda: str(rng.choice([60, 80, 90])),
            "cgroup": lambda: f"{rng.choice([60, 80, 95])} {rng.randrange(2, 8)}",
            "project": lambda: str(rng.randrange(1000, 1010)),
            "grow": lambda: str(rng.choice([8, 24, 64])),
            "defrag": lambda: rng.choice(["trees", "stress", "sqlite"]),
            }.get(name, lambda: "")()


def events(rng, seconds, options, quota):
    found, at = [], rng.uniform(2, 6)
    while at < seconds:
        name = chosen(rng, EVENTS)
        argument = event_argument(rng, name, options, quota)
        if argument is not None:
            found.append((int(at), name, argument))
            at += rng.uniform(1, 8)
    return found


def plan_cycle(rng, number, life, seconds, apps):
    options = mount_options(rng, life.journal)
    ways = ["mount", "mount", "zjctl"] + ["stock"] * stock_log(options, life.journal)
    snapshots = sorted((rng.uniform(0.1, 1), rng.choice(KEEPS)) for _ in range(rng.choice([1, 2, 3])))
    return Cycle(number=number, options=options, apps=sorted(rng.sample(apps, min(len(apps), rng.randrange(2, 5)))),
                 events=events(rng, seconds, options, "quota" in life.features), end=chosen(rng, ENDS),
                 keep=rng.choice(KEEPS), cut_after=rng.choice([0, 1, 5, 30, 200]), recover=rng.choice(ways),
                 recovery_cut=rng.choice([0, 0, 0, 0, 0, 0, 1, 4, 20]), seed=rng.randrange(1 << 30),
                 snapshots=snapshots if life.journal == "internal" else [])


def plan_life(seed, number, seconds, apps=tuple(APPS)):
    rng = random.Random(f"{seed}/{number}")
    journal = rng.choice(["internal"] * 6 + ["external", "nvm"])
    features = [name for name, chance in (("quota", 0.4), ("orphan_file", 0.7), ("inline_data", 0.3), ("ea_inode", 0.2),
                                          ("^metadata_csum", 0.15)) if rng.random() < chance]
    mkfs = ["-b", rng.choice(["4096", "4096", "4096", "1024"])]
    if "quota" in features:
        features.append("project")
        mkfs += ["-E", "quotatype=usrquota:grpquota:prjquota"]
    if journal != "external":
        mkfs += ["-J", f"size={rng.choice([16, 32, 64])}"]
    if features:
        mkfs += ["-O", ",".join(features)]
    life = Life(number, journal, mkfs, rng.choice([512, 640, 768]), features)
    for n in range(rng.randrange(2, 7)):
        life.cycles.append(plan_cycle(rng, n, life, seconds, list(apps)))
    return life


class Summary:
    """What has been done, added up over runs in a file of JSON."""

    def __init__(self, path=None):
        self.path = path
        self.sums = Counter()
        if path and path.exists():
            self.sums.update(json.loads(path.read_text()))

    def add(self, name, count=1):
        self.sums[name] += count

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(dict(sorted(self.sums.items())), indent=1) + "\n")

    def text(self):
        """One line of each kind of thing"""
        groups = {}
        for name, count in sorted(self.sums.items()):
            kind, _, what = name.partition(" ")
            groups.setdefault(kind, []).append(f"{count:,} {what}".strip())
        return "\n".join(f"  {kind}: {', '.join(parts)}" for kind, parts in groups.items())


def described(life, cycle):
    """One line for people"""
    return (f"life {life.number} cycle {cycle.number}: {life.journal} journal, {' '.join(life.mkfs)}; {cycle.options}; "
            f"{' '.join(cycle.apps)}; {cycle.end}; then {cycle.recover}")


def as_json(life):
    return json.dumps(asdict(life), indent=1)


def counted(lines):
    """Names of events, one for each that happened"""
    return [line.strip() for line in lines if line.strip()]


def lane_sums(text):
    """Counters of all lanes together, of /proc/fs/zjournal/DEV/info"""
    sums = Counter()
    for line in text.splitlines():
        if line.startswith("lane "):
            for name in ("txns", "handles", "blocks", "fsyncs"):
                found = re.search(rf"(\d+) {name}\b", line)
                sums[name] += int(found[1]) if found else 0
    return sums


def checked(text):
    """Pairs (how many, what) of the lines "checked WHAT N"; and "count WHAT" for what is only counted"""
    found = [(int(count), what) for what, count in re.findall(r"^checked (\S+) (\d+)$", text, re.M)]
    return found + [(1, what) for what in re.findall(r"^count (.+)$", text, re.M)]
