# SPDX-License-Identifier: GPL-2.0-only
"""make soak: applications on a file system that is disturbed, cut off and checked, for hours.

    soak.py HOURS=1 [SEED=n] [CYCLE_S=60] [LIFE=n] [CYCLES=n] [APPS="git trees"] [LIE=1]
            [OUT=DIR]

Ends at the first failure; OUT/failed then has the disks as they were before the recovery, what
was noted as durable, the console and the plan. LIFE=n with the same SEED and CYCLE_S repeats the
choices of one life; the times at which tasks run are never the same. With LIE=1 the disks flush
nothing: that must fail at the first power cut.
"""

import random
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# At the end: bench/concurrent.py must not be taken for the package of Python.
sys.path += [str(HERE), str(ROOT / "tests" / "vm"), str(ROOT / "bench")]

import nbd         # noqa: E402
import soakgive    # noqa: E402
import soakplan    # noqa: E402
import soakrun     # noqa: E402

KNOWN = {"HOURS": "1", "SEED": "", "CYCLE_S": "60", "LIFE": "", "CYCLES": "", "LIE": "", "APPS": " ".join(soakplan.APPS),
         "OUT": str(ROOT / "build" / "soak")}


def settings(arguments):
    found = dict(KNOWN)
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or name not in KNOWN:
            sys.exit(f"soak.py: {argument} is not one of {' '.join(f'{key}=' for key in KNOWN)}")
        if value:
            found[name] = value
    unknown = set(found["APPS"].split()) - set(soakplan.APPS)
    if unknown:
        sys.exit(f"soak.py: no application is named {' '.join(sorted(unknown))}; there are {' '.join(soakplan.APPS)}")
    found["SEED"] = found["SEED"] or str(random.randrange(1 << 30))
    return found


class Soak:
    def __init__(self, chosen):
        self.chosen = chosen
        self.out = Path(chosen["OUT"])
        self.out.mkdir(parents=True, exist_ok=True)
        self.summary = soakplan.Summary(self.out / "summary.json")
        self.apps = chosen["APPS"].split()
        self.end = time.monotonic() + float(chosen["HOURS"]) * 3600
        self.left = int(chosen["CYCLES"] or 1 << 30)

    def over(self):
        return self.left <= 0 or time.monotonic() > self.end

    def run(self):
        """All lives; True if nothing failed"""
        number = int(self.chosen["LIFE"] or 0)
        with soakgive.given(self.apps) as gifts:
            while not self.over():
                plan = soakplan.plan_life(self.chosen["SEED"], number, float(self.chosen["CYCLE_S"]), self.apps)
                if not self.live(plan, gifts):
                    return False
                if self.chosen["LIFE"]:
                    break
                number += 1
        return True

    def live(self, plan, gifts):
        """One life; True if nothing failed"""
        work = self.out / "life"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        (work / "plan.json").write_text(soakplan.as_json(plan) + "\n")
        life = soakrun.Running(plan, work, gifts, self.summary, float(self.chosen["CYCLE_S"]))
        life.lies = bool(self.chosen["LIE"])
        try:
            for cycle in plan.cycles:
                if self.over():
                    break
                print(f"{time.strftime('%H:%M:%S')} {soakplan.described(plan, cycle)}", flush=True)
                life.cycle(cycle)
                self.left -= 1
                self.summary.add("cycles")
                self.summary.save()
        except Exception as error:    # pylint: disable=broad-exception-caught
            self.keep(life, plan, work, error)
            return False
        finally:
            life.stop()
            self.summary.save()
        self.summary.add("lives")
        self.summary.save()
        return True

    def keep(self, life, plan, work, error):
        """Everything that may explain a failure"""
        life.save_console()
        failed = self.out / f"failed-{self.chosen['SEED']}-{plan.number}"
        shutil.rmtree(failed, ignore_errors=True)
        life.stop()
        shutil.copytree(work, failed, copy_function=nbd.sparse_copy,
                        ignore=lambda _, names: [n for n in names if n.startswith("sock")])
        (failed / "error").write_text(f"{error}\n\n{''.join(traceback.format_exception(error))}")
        self.summary.add("failures")
        self.summary.save()
        print(f"FAILED: {error}\nsaved in {failed}; the same choices again:\n"
              f"    make soak SEED={self.chosen['SEED']} LIFE={plan.number} CYCLE_S={self.chosen['CYCLE_S']}")


def main():
    chosen = settings(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    print(f"soak: SEED={chosen['SEED']} HOURS={chosen['HOURS']} CYCLE_S={chosen['CYCLE_S']}", flush=True)
    soak = Soak(chosen)
    try:
        good = soak.run()
    except KeyboardInterrupt:
        good = True
        print("interrupted")
    print(f"sums of all runs in {soak.out}:\n{soak.summary.text()}")
    sys.exit(not good)


if __name__ == "__main__":
    main()
