# SPDX-License-Identifier: GPL-2.0-only
"""The programs that judge a mutant: built once, then one object at a time.

The Makefiles say how (make -n); here their commands are repeated for one file and
for the link. Sources are a snapshot, so that src/ may change meanwhile.
"""
import fcntl
import hashlib
import itertools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess

from statements import Source

TOP = pathlib.Path(__file__).resolve().parents[3]
HERE = TOP / "tests/mutants/auto"
WORK = TOP / "build/tests/mutants-auto"
SRC = WORK / "src"
# What the compiler warns of says nothing about the tests: pointers of another type, and
# what is read before it is set.
STRICT = ("-Werror=incompatible-pointer-types -Werror=int-conversion "
          "-Werror=implicit-function-declaration -Werror=return-type "
          "-Wuninitialized -Werror=uninitialized")
MAX_SITES = 1 << 16
LEARN_SEEDS = 12
ASAN_SECONDS = 0.5
# Of tests/threads under TSan: a second each, and one that waits for ever is one that fails.
THREADS = [["--threads", "12"], ["--lanes", "2", "--pipeline", "1", "--handles", "60"],
           ["--threads", "24", "--pause", "20", "--handles", "120"],
           ["--threads", "12", "--journal", "200", "--lanes", "3", "--handles", "60"],
           ["--mode", "abort", "--handles", "50"]]
THREADS_SECONDS = 90
SAN = "-fsanitize=address,undefined -fno-sanitize-recover=all"


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def place(file):
    """The path of a file within src/; names are unique over all folders."""
    return next(SRC.glob(f"*/{file}")).relative_to(SRC)


class Program:
    """One program of a Makefile."""

    def __init__(self, name, where, target, binary, variables=(), san=""):
        self.dir = WORK / name
        self.binary = self.dir / binary
        self.make = ["make", "--no-print-directory", "-C", TOP / where, f"O={self.dir}",
                     f"SRC={SRC}", f"SAN={san}", "CFLAGS=-O1", "LDFLAGS=", *variables,
                     target.format(dir=self.dir, bin=self.binary)]

    def build(self):
        done = run(self.make)
        if done.returncode:
            raise SystemExit(f"{self.binary.name} does not build:\n{done.stderr[-2000:]}")
        text = run([*self.make, "-n", "-B"]).stdout.replace("\\\n", " ")
        self.compile, self.link = {}, None
        for line in text.splitlines():
            made = re.search(r" -o (\S+)", line)
            if not made or "make" in line.split()[0]:
                continue
            source = line.split()[-1]
            if " -c " in line and source.startswith(f"{SRC}/"):
                line = re.sub(r" -W(error|all|extra)\b", "", line)
                self.compile[pathlib.Path(source).name] = (f"{line} {STRICT}", made[1])
            elif " -c " not in line and made[1] == str(self.binary):
                self.link = line
        assert self.link and self.compile, self.binary

    def known(self):
        """The program, built on demand."""
        if not hasattr(self, "link"):
            self.build()
        return True

    def uses(self, file):
        return file in self.compile or file.endswith(".h")

    def compile_one(self, file, directory, extra=""):
        """Compile directory/file if its object is missing; returns the object's path, or None."""
        command, obj = self.compile[file]
        out = directory / f"{self.dir.name}-{self.binary.name}-{file[:-2]}" \
            f"{'-extra' if extra else ''}.o"
        if out.exists():
            return out
        command = command.replace(f" {SRC}/{place(file)}", f" {directory}/{place(file)}")
        command = command.replace(f" -I{SRC} ", f" -I{directory} -I{SRC} ")
        command = command.replace(f" {obj} ", f" {out} ") + f" {extra}"
        done = run(command, shell=True)
        return out if not done.returncode else None

    def link_with(self, objects, to, extra=""):
        """@objects: {file: object} that replaces the program's own."""
        line = self.link.replace(f"-o {self.binary} ", f"-o {to} ") + f" {extra}"
        for file, path in objects.items():
            line = line.replace(f" {self.compile[file][1]} ", f" {path} ")
        done = run(line, shell=True)
        if done.returncode:
            raise SystemExit(f"no link: {done.stderr[-1000:]}")


def only_one():
    """Two runs would share the directory, so the second waits for the first."""
    WORK.mkdir(parents=True, exist_ok=True)
    lock = open(WORK / "lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def limits(cpu, address_space):
    def set_limits():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
        if address_space:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    return set_limits


def run_limited(command, cpu, env=None, address_space=16 << 30, wall=0):
    """
    Exit status and output; no process of it is left. A mutant that spins or waits
    for ever is one that fails: cpu seconds for each process, a wall time for all.
    A process group, not a session: with autogroups that would have a priority of its own.
    """
    with open(WORK / "output", "w+", errors="replace") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL, process_group=0,
                                 env=os.environ | (env or {}),
                                 preexec_fn=limits(cpu, address_space))
        try:
            status = child.wait(timeout=wall or 60 + 20 * cpu)
        except subprocess.TimeoutExpired:
            status = "time"
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        out.seek(0)
        return status, out.read(1 << 20)


class Layer:
    """Named tests of one program."""

    def __init__(self, name, program, names=None, tool=None, options=None):
        self.name, self.program, self.tool = name, program, tool
        self.names = names or []
        self.options = options or {}    # of a test: its arguments, if not its name
        self.budget = []                # further arguments
        self.took = {}                  # seconds of each test
        self.reached = {}               # sites of each test
        self.kills = {}                 # (test, file or function): how often
        self.with_tool = set()          # tests that run the tool
        self.about = {}                 # of a test: how the files of src/ begin that it is for
        self.seconds = 0                # no more of its tests than take so long; 0: all

    def programs(self):
        return [self.program] + ([self.tool] if self.tool else [])

    def arguments(self, tests):
        return [a for t in tests for a in [*self.options.get(t, [t]), *self.budget]]

    def list_tests(self):
        """Runs all tests, which must pass."""
        status, text = run_limited([self.program.binary], 600)
        if status:
            raise SystemExit(f"{self.program.binary} fails without a mutant:\n{text[-2000:]}")
        self.names = re.findall(r"^\[ RUN      \] (\S+)", text, re.M)
        assert len(self.names) > 10

    def find_files(self, directory):
        """test_X.c is about X.c and X_*.c."""
        for path in directory.glob("test_*.c"):
            for test in re.findall(r"_(?:TEST|test)\((\w+)\)", path.read_text()):
                self.about[test] = path.stem[5:]

    def learn(self, binary):
        """The statements that each test reaches, and its time, with a program that has markers."""
        path = WORK / "reached"
        for test in self.names:
            path.write_bytes(b"\0" * MAX_SITES)
            before = children_cpu()
            status, text = run_limited([binary, *self.arguments([test])], 120,
                                       {"ZJ_REACHED": str(path)})
            if status:
                raise SystemExit(f"{test} fails with markers:\n{text[-2000:]}")
            self.took[test] = round(children_cpu() - before, 3)
            self.reached[test] = {i for i, c in enumerate(path.read_bytes()) if c}

    def tests_for(self, mutant):
        """The tests that reach it; those that caught its neighbours, or are about it, come first."""
        def order(test):
            kills = 4 * self.kills.get((test, mutant.function), 0) + \
                self.kills.get((test, mutant.file), 0) + \
                3 * mutant.file.startswith(self.about.get(test, "/"))
            return (self.took[test] + 0.02) / (1 + kills)
        tests = sorted((t for t in self.names if mutant.site in self.reached[t]), key=order)
        took = list(itertools.accumulate(self.took[t] for t in tests))
        return [t for i, t in enumerate(tests)
                if not (i and self.seconds and took[i] > self.seconds)]

    def judge(self, binary, mutant, tests, address_space=16 << 30):
        """None if all pass, or (test, why)."""
        cpu = int(3 + 5 * max(self.took[t] for t in tests))
        if self.name in ("unit", "sim"):        # all in one process
            cpu = int(5 + 3 * sum(self.took[t] for t in tests))
        rounds = [[t] for t in tests] if self.options else [tests]
        for some in rounds:
            status, text = run_limited([binary, *self.arguments(some)], cpu,
                                       {"CMOCKA_TEST_ABORT": "1"}, address_space)
            if not status:
                continue
            ran = re.findall(r"^\[ RUN      \] (\S+)", text, re.M)
            test = ran[-1] if ran and not self.options else some[0]
            for where in (mutant.function, mutant.file):
                self.kills[test, where] = self.kills.get((test, where), 0) + 1
            return test, reason(text, status)
        return None


def reason(text, status):
    if status == "time" or "signal 24" in text or status == -signal.SIGXCPU:
        return "does not end"
    for pattern in (r"FAIL (.*)", r"WARNING: ThreadSanitizer: (.*)",
                    r"ERROR: AddressSanitizer: (.*)", r"runtime error: (.*)",
                    r"^(.*: error: Failure!)", r"(ended by signal \d+)", r"^(.* != .*)$"):
        found = re.search(pattern, text, re.M)
        if found:
            return found[1].split(" (task ")[0][:120].replace(str(TOP) + "/", "")
    return f"exit status {status}"


def snapshot():
    """Copy src/ where it differs, so that make sees what is new."""
    wanted = {p.relative_to(TOP / "src"): p.read_bytes() for p in (TOP / "src").glob("*/*.[ch]")}
    for old in SRC.rglob("*.[ch]"):
        if old.relative_to(SRC) not in wanted:
            old.unlink()
    for name, data in wanted.items():
        if not (SRC / name).exists() or (SRC / name).read_bytes() != data:
            (SRC / name).parent.mkdir(parents=True, exist_ok=True)
            (SRC / name).write_bytes(data)


def sources(directory, marked=None):
    """All of src/ with its statements numbered; writes them with markers."""
    all_sources, site = {}, 0
    if marked:
        shutil.rmtree(marked, ignore_errors=True)
    for path in sorted(directory.glob("*/*.[ch]"), key=lambda path: path.name):
        source = Source(path.name, path.read_text())
        text, site = source.mark(site)
        if marked:
            copy = marked / path.relative_to(directory)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
        all_sources[path.name] = source
    assert site < MAX_SITES
    return all_sources


class Judge:
    """All layers, cheapest first."""

    def __init__(self, sim_seconds, quiet=False, quick=0):
        self.say = (lambda *a: None) if quiet else \
            (lambda *a: print(*a, flush=True))
        snapshot()
        self.sources = sources(SRC, WORK / "reach")
        core = Program("core", "tests/unit/core", "{bin}", "core")
        schedules = Program("schedules", "tests/schedules", "build", "schedules")
        unit = Program("unit", "tests/unit", "{bin}", "unit")
        tool = Program("unit", "tests/unit", "{dir}/zjrecover", "zjctl")
        sim = Program("sim", "tests/sim", "{bin}", "zjsim", [f"BIN={WORK}/sim/zjsim"])
        self.asan = {"core": Program("core-asan", "tests/unit/core", "{bin}", "core", san=SAN),
                     "unit": Program("unit-asan", "tests/unit", "{bin}", "unit", san=SAN)}
        self.layers = [Layer("core", core), Layer("schedules", schedules),
                       Layer("unit", unit, tool=tool)]
        self.threads = Program("threads", "tests/threads", "{bin}", "zjstress-tsan",
                               [f"BIN={WORK}/threads"])
        self.layers[0].find_files(TOP / "tests/unit/core")
        self.layers[2].find_files(TOP / "tests/unit")
        self.layers[2].with_tool = set(re.findall(
            r"cmocka_unit_test\((\w+)\)", (TOP / "tests/unit/test_zjrecover.c").read_text()))
        self.sim = Layer("sim", sim)
        for layer in self.layers:
            layer.seconds = quick
        if sim_seconds:
            self.sim.options = {"sim": [], "sim --jbd2": ["--jbd2"],
                                "sim --nvm 1": ["--nvm", "1"], "sim --nvm 2": ["--nvm", "2"]}
            self.sim.names = list(self.sim.options)
            self.layers.append(self.sim)
        self.sim_seconds = sim_seconds
        self.sums = {}

    def prepare(self):
        for layer in self.layers:
            for program in layer.programs():
                self.say(f"building {program.binary.relative_to(WORK)}")
                program.build()
            if not layer.names:
                layer.list_tests()
        shutil.copy(WORK / "unit/zjctl", WORK / "zjctl.good")
        self._learn()

    def tests_hash(self):
        """The hash of everything but src/ that matters: survivors are tried again when it changes."""
        sha = hashlib.sha1()
        for pattern in ("tests/unit/**/*.[ch]", "tests/schedules/*.[ch]", "tests/sim/*.[ch]",
                        "user/include/**/*.h", "user/lib/*.[ch]", "tests/runtime/**/*.[ch]",
                        "tests/kit/*.[ch]", "tests/threads/*.[ch]"):
            for path in sorted(TOP.glob(pattern)):
                sha.update(path.read_bytes())
        return sha.hexdigest()[:12]

    def _learn(self):
        """The reach build; kept while neither src/ nor the tests change."""
        key = hashlib.sha1(self.tests_hash().encode())
        for path in sorted((WORK / "reach").glob("*/*")):
            key.update(path.read_bytes())
        key = key.hexdigest()
        cache = WORK / "reach.json"
        kept = json.loads(cache.read_text()) if cache.exists() else {}
        if kept.get("key") != key:
            kept = {"key": key}
        new = [layer for layer in self.layers if layer.name not in kept]
        if new:
            self.say("learning which test reaches what")
            marker = WORK / "reach.o"
            subprocess.run(["cc", "-O1", "-c", "-o", marker, HERE / "reach.c"], check=True)
            for layer in new:
                for program in layer.programs():
                    self._build_all(program, WORK / "reach", WORK / "reach-bin",
                                    f"-include {HERE}/reach.h", marker)
                    if program is layer.tool:
                        shutil.move(WORK / "reach-bin", program.binary)
                    else:
                        shutil.move(WORK / "reach-bin", WORK / f"reach-{layer.name}")
                layer.budget = ["--seeds", str(LEARN_SEEDS)] if layer is self.sim else []
                layer.learn(WORK / f"reach-{layer.name}")
                if layer.tool:
                    shutil.copy(WORK / "zjctl.good", layer.tool.binary)
                kept[layer.name] = {t: [layer.took[t], sorted(layer.reached[t])]
                                    for t in layer.names}
            cache.write_text(json.dumps(kept))
        for layer in self.layers:
            layer.took = {t: v[0] for t, v in kept[layer.name].items()}
            layer.reached = {t: set(v[1]) for t, v in kept[layer.name].items()}
        if self.sim_seconds:
            took = max(sum(self.sim.took.values()) / len(self.sim.took), 0.1)
            seeds = max(int(LEARN_SEEDS * self.sim_seconds / took), 1)
            self.sim.budget = ["--seeds", str(seeds)]
            for test in self.sim.took:
                self.sim.took[test] *= seeds / LEARN_SEEDS

    def _build_all(self, program, directory, to, extra="", more=""):
        """Every source from another directory; False if one does not compile."""
        objects = {}
        for file in program.compile:
            objects[file] = program.compile_one(file, directory, extra)
            if not objects[file]:
                return False
        program.link_with(objects, to, str(more))
        return True

    # ---- one mutant ----

    def _place(self, mutant):
        """The mutant's text in a directory of its own; a header: with all of src/."""
        directory = WORK / "mutant"
        shutil.rmtree(directory, ignore_errors=True)
        if mutant.file.endswith(".h"):
            shutil.copytree(SRC, directory)
        else:
            (directory / place(mutant.file)).parent.mkdir(parents=True)
        text = self.sources[mutant.file].text
        (directory / place(mutant.file)).write_text(mutant.apply(text))
        return directory

    def _build(self, program, mutant, directory, to):
        """False if it does not compile, else the objects' hash."""
        if mutant.file.endswith(".h"):
            return "header" if self._build_all(program, directory, to) else False
        obj = program.compile_one(mutant.file, directory)
        if not obj:
            return False
        program.link_with({mutant.file: obj}, to)
        return True

    def _object(self, mutant, directory, extra):
        core = self.layers[0].program
        obj = core.compile_one(mutant.file, directory, extra)
        return hashlib.sha1(obj.read_bytes()).digest() if obj else None

    def _same_object(self, mutant, directory, extra):
        if mutant.file.endswith(".h"):
            return False
        key = (mutant.file, extra)
        if key not in self.sums:
            original = WORK / "mutant"
            shutil.rmtree(original, ignore_errors=True)
            (original / place(mutant.file)).parent.mkdir(parents=True)
            shutil.copy(SRC / place(mutant.file), original / place(mutant.file))
            self.sums[key] = self._object(mutant, original, extra)
            self._place(mutant)
        made = self._object(mutant, directory, extra)
        return None if made is None else made == self.sums[key]

    def try_mutant(self, mutant, use_asan=True):
        """(status, by, how): caught, survived, same (object), invalid."""
        directory = self._place(mutant)
        same = self._same_object(mutant, directory, "")
        if same is None:
            return "invalid", None, None
        if same:
            return "same", None, None
        reached = False
        for layer in self.layers:
            tests = layer.tests_for(mutant)
            if not tests or not any(p.uses(mutant.file) for p in layer.programs()):
                continue
            if layer is self.sim and self._same_object(mutant, directory, "-O2 -DNDEBUG"):
                return "same", None, None
            reached = True
            found = self._judge(layer, mutant, directory, tests)
            if found == "invalid":
                return "invalid", None, None
            if found:
                return "caught", *found
        if reached and use_asan:
            found = self._with_asan(mutant, directory)
            if found:
                return "caught", found[0] + " (ASan)", found[1]
            found = self._with_threads(mutant, directory)
            if found:
                return "caught", "threads (TSan)", found
        return "survived", None, None if reached else "no test reaches it"

    def _judge(self, layer, mutant, directory, tests):
        binary = WORK / "mutant-bin"
        for program in layer.programs():
            to = binary if program is layer.program else WORK / "zjctl.mutant"
            if not program.uses(mutant.file):
                shutil.copy(program.binary, to)
            elif not self._build(program, mutant, directory, to):
                return "invalid"
        try:
            if layer.tool:
                shutil.move(WORK / "zjctl.mutant", layer.tool.binary)
            return layer.judge(binary, mutant, tests)
        finally:
            if layer.tool:
                shutil.copy(WORK / "zjctl.good", WORK / "zjctl.mutant")
                shutil.move(WORK / "zjctl.mutant", layer.tool.binary)

    def _with_asan(self, mutant, directory):
        """Those tests that reach it, are quick, and reach little else."""
        for layer in self.layers:
            if layer.name not in self.asan or mutant.file.endswith(".h"):
                continue
            tests = self._for_asan(layer, mutant)
            program = self.asan[layer.name]
            if not tests or not program.known() or not program.uses(mutant.file):
                continue
            if not self._build(program, mutant, directory, WORK / "mutant-bin"):
                continue
            slow = Layer(layer.name, program)
            slow.took = {t: 8 * s for t, s in layer.took.items()}
            found = slow.judge(WORK / "mutant-bin", mutant, tests, None)
            if found:
                return found
        return None

    def _with_threads(self, mutant, directory):
        """Finds what only shows with threads: a lock that is missing, or held too short."""
        if mutant.file.endswith(".h") or not self.threads.known() or \
           not self.threads.uses(mutant.file):
            return None
        binary = WORK / "mutant-bin"
        if not self._build(self.threads, mutant, directory, binary):
            return None
        for options in THREADS:
            command = ["setarch", "-R", binary, "--file", WORK / "threads/disk", "--seed", "1",
                       "--rounds", "1", *options]
            status, text = run_limited(command, 60, None, None, THREADS_SECONDS)
            if status:
                return reason(text, status)
        return None

    @staticmethod
    def _for_asan(layer, mutant):
        """Runs for half a second without a sanitizer, and without the second program."""
        chosen, left = [], ASAN_SECONDS
        for test in sorted(layer.tests_for(mutant), key=lambda t: len(layer.reached[t])):
            if layer.took[test] > left or (layer.tool and test in layer.with_tool):
                continue
            left -= layer.took[test]
            chosen.append(test)
        return chosen
