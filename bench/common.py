# SPDX-License-Identifier: GPL-2.0-only
"""What the benches that run in a guest share."""

import hashlib
import json
import signal
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "vm"))

import uml    # noqa: E402
import vm    # noqa: E402
import patience    # noqa: E402

# The guest's clock counts executed instructions and skips idle time; one CPU at a time. Without erms: of a
# string instruction each step counts, and with it the kernel clears and copies pages by the byte, in 40 times
# as long as a real CPU that is ten times as fast would take.
ICOUNT = ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off", "-cpu", "max,-erms"]

# A benchmark that is terminated must end the guest, too.
signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))


def arguments():
    """The command line's NAME=value."""
    wrong = [arg for arg in sys.argv[1:] if "=" not in arg]
    if wrong:
        sys.exit(f"{Path(sys.argv[0]).name}: {wrong[0]} is not NAME=value")
    return dict(arg.split("=", 1) for arg in sys.argv[1:])


def accel(settings):
    """QEMU's accelerator by ICOUNT, which is 1 by default where the guest is emulated."""
    if uml.wanted(vm.Kernel.find()):
        settings["ICOUNT"] = "0"
    settings.setdefault("ICOUNT", "0" if "kvm" in vm.accel() else "1")
    return ICOUNT if settings["ICOUNT"] == "1" else None


# Seconds of the guest's own time without anything new: the scripts say something of each run, and the longest
# silence is that of a large file system or database that is made for an emulated CPU.
SILENCE = 1800


def run_script(guest, script, settings, timeout=SILENCE):
    """A script of bench/ in the guest; modules of both file systems and null_blk are loaded before."""
    args = " ".join(f"'{name}={value}'" for name, value in settings.items())
    result = guest.sh(f"""
        for m in ext4 zext4; do modprobe $m || die "cannot load $m"; done
        modprobe null_blk nr_devices=0 || die "cannot load null_blk"
        sh /lib/zj/{script} {args}""", timeout=timeout)
    guest.check_console()
    return result


def json_of(command, seconds):
    """The JSON that a command prints, or the end of everything; it takes at most so many seconds of its own time."""
    status, out, err = patience.output(command, seconds)
    if status:
        sys.exit(f"{' '.join(map(str, command))} fails:\n{err[-2000:]}")
    return json.loads(out)


def median(runs, field):
    return statistics.median(run[field] for run in runs)


def packed(name, parts, make):
    """The file that make(path) packs, anew only if one of these texts has changed"""
    key = hashlib.sha256("".join(map(str, parts)).encode()).hexdigest()[:16]
    path = vm.BUILD / "bench" / f"{name}-{key}.tar"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path.with_suffix(".new"))
        path.with_suffix(".new").rename(path)
    return path


def write_report(name, directory, markdown, page):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.md").write_text(markdown)
    (directory / f"{name}.html").write_text(page)
    print(f"figures: {name}.json, {name}.md and {name}.html in", directory)


def save(name, figures):
    """Write build/results/NAME.json."""
    out = vm.BUILD / "results" / f"{name}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(figures, indent=1) + "\n")


def pyplot():
    """matplotlib's, without a display"""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    return plt


def save_plot(figure, name):
    """Write build/results/NAME.png."""
    out = vm.BUILD / "results" / f"{name}.png"
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=120)
    print(f"plot in {out.relative_to(ROOT)}")
