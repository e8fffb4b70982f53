# SPDX-License-Identifier: GPL-2.0-only
"""Applications as loads of make bench: Debian's packages, run as they are.

An application is one module here and one shell script of the same name. The module has

    LOADS       {name of a load: what it does}
    WAITS       {name of a load: the operation that the application waits for}
    SYNCING     those of its loads that make something durable as they go
    PROGRAMS    the programs that it needs, as paths
    BIN         where they lie in its directory on real hardware; "bin" if it does not matter
    give(at)    puts into this directory what the script reads; need not be there
    parse(load, text)   what the script has printed, as figures of a run; ValueError if that does
                        not show that all went well

and the script, which bench.sh sources, the functions app_prepare (in $fs, before the clock
starts), app_run, app_stop (ends servers) and app_check (after a remount; prints what it found).
"""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from common import ROOT, vm

NAMES = ["fio", "sysbench", "mariadb", "dbench", "postmark", "postgresql", "rocksdb", "sqlite", "git", "dpkg"]
REMEDY = "run tools/deps bench-apps, or leave its loads out of LOADS"


def module(name):
    return importlib.import_module(f"apps.{name}")


def all_loads():
    """{load: name of its application}, in the order of NAMES"""
    return {load: name for name in NAMES for load in module(name).LOADS}


def of(loads):
    """{name: module} of the applications that these loads need"""
    known = all_loads()
    return {known[load]: module(known[load]) for load in loads if load in known}


def merged(field):
    """One dictionary of all applications: LOADS or WAITS"""
    return {load: value for name in NAMES for load, value in getattr(module(name), field).items()}


def syncing():
    return {load for name in NAMES for load in module(name).SYNCING}


def short(path):
    return path.relative_to(ROOT) if ROOT in path.parents else path


def require(name, paths):
    """Ends everything if a program is missing, or one of its libraries."""
    for path in paths:
        if not path or not Path(path).exists():
            sys.exit(f"bench.py: {name}: {short(path) if path else 'a program'} is missing; {REMEDY}")
        said = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        lost = [line.split()[0] for line in said.splitlines() if "not found" in line]
        if lost:
            sys.exit(f"bench.py: {name}: {short(path)} lacks {', '.join(lost)}; {REMEDY}")


def programs(apps):
    """What a guest needs in its PATH for these applications; ends everything if it is not there."""
    for name, app in apps.items():
        require(name, app.PROGRAMS)
    return list(dict.fromkeys(path for app in apps.values() for path in app.PROGRAMS))


def give(apps, where):
    """Files of these applications, in a directory for each."""
    for name, app in apps.items():
        at = where / name
        at.mkdir(parents=True)
        if hasattr(app, "give"):
            app.give(at)


def stage(apps, where):
    """The same for this machine, with the programs: servers that do not run as root must reach them."""
    programs(apps)
    os.chmod(where, 0o755)
    give(apps, where)
    paths = []
    for name, app in apps.items():
        paths.append(where / name / getattr(app, "BIN", "bin"))
        paths[-1].mkdir(parents=True, exist_ok=True)
        for path in app.PROGRAMS:
            shutil.copy(path, paths[-1])
        if hasattr(app, "stage"):
            app.stage(where / name)
    return paths


def parsed(load, text):
    """Figures of one run of an application's load"""
    return module(all_loads()[load]).parse(load, text)


def installed(*names):
    """Programs of installed packages; where one is missing, the path says its name."""
    return [vm.pack.which(name) or Path("/usr/bin") / name for name in names]


def unpacked(package, *names):
    """Programs of packages that tools/deps unpacks into build/debian"""
    return [vm.BUILD / "debian" / package / "usr" / name for name in names]
