# SPDX-License-Identifier: GPL-2.0-only
"""Packs a small initramfs: busybox, host tools with their libraries, kernel modules."""

import contextlib
import hashlib
import lzma
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from pathlib import Path

# What the guest needs of the stock kernel; dependencies are added from modules.dep.
STOCK_MODULES = """
    virtio_pci virtio_blk virtio_ring 9pnet_virtio 9p nvme null_blk brd loop
    ext4 jbd2 mbcache crc16 libcrc32c crc32c_generic crc32c_intel quota_v2 quota_tree
    dm_mod dm_flakey dm_log_writes dm_delay
    nd_e820 nfit nd_pmem
    cts xts
""".split()

# Programs that the guest scripts call, beside what busybox has.
TOOLS = """
    mke2fs e2fsck tune2fs resize2fs debugfs dumpe2fs e2image chattr lsattr
    filefrag fsck dash dmsetup sqlite3 git setfattr getfattr xxhsum
""".split()

OPTIONAL_TOOLS = {"setfattr", "getfattr", "e2image"}

# busybox's shell runs its own applets regardless of PATH, so sh is dash.
ALIASES = {"mkfs.ext4": "mke2fs", "fsck.ext4": "e2fsck", "sh": "dash"}


class PackError(Exception):
    pass


def which(name):
    found = shutil.which(name, path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    return Path(found) if found else None


def libraries(program):
    """Paths of the shared libraries of a dynamic program; empty for a static one."""
    run = subprocess.run(["ldd", str(program)], capture_output=True, text=True)
    if run.returncode != 0:
        return []
    return [Path(p) for p in re.findall(r"(/\S+) \(0x", run.stdout)]


def module_name(path):
    return Path(path).name.split(".ko")[0].replace("-", "_")


SIGNED = b"~Module signature appended~\n"


def unsigned(module):
    """Without its signature: ours have none either, and to check them takes emulation long."""
    if not module.endswith(SIGNED):
        return module
    # Before the last line is struct module_signature, which ends with the length of the signature before it.
    end = len(module) - len(SIGNED)
    return module[:end - 12 - int.from_bytes(module[end - 4:end], "big")]


def stripped(path):
    """A module without what only a debugger reads: 44 of 46 MB, which each boot would unpack."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["strip", "--strip-debug", "-o", out.name, str(path)], check=True)
        return Path(out.name).read_bytes()


class ModuleTree:
    """The modules of one kernel and what each needs, by modules.dep."""

    def __init__(self, moddir):
        self.dir = Path(moddir)
        self.path = {}
        self.needs = {}
        for line in (self.dir / "modules.dep").read_text().splitlines():
            head, _, tail = line.partition(":")
            name = module_name(head)
            self.path[name] = head
            self.needs[name] = [module_name(p) for p in tail.split()]
        builtin = (self.dir / "modules.builtin").read_text().split()
        self.builtin = {module_name(p) for p in builtin}

    def closure(self, names):
        """The named modules and their dependencies; built-in ones are left out."""
        out = {}
        for name in names:
            if name in self.path:
                for n in [name] + self.needs[name]:
                    out[n] = self.path[n]
            elif name not in self.builtin:
                out.setdefault(None, []).append(name)
        return out

    def read(self, relpath):
        data = (self.dir / relpath).read_bytes()
        if relpath.endswith((".gz", ".zst")):
            raise PackError(f"{relpath}: only plain and .xz modules are supported")
        return unsigned(lzma.decompress(data) if relpath.endswith(".xz") else data)


class Cpio:
    """A writer of the newc format that the kernel unpacks."""

    def __init__(self, out):
        self.out = out
        self.ino = 0
        self.dirs = set()

    def _entry(self, name, mode, data=b"", rdev=(0, 0)):
        self.ino += 1
        raw = name.encode() + b"\0"
        fields = [self.ino, mode, 0, 0, 1, 0, len(data), 0, 0, *rdev, len(raw), 0]
        head = b"070701" + b"".join(b"%08X" % f for f in fields)
        self._padded(head + raw)
        self._padded(data)

    def _padded(self, data):
        self.out.write(data)
        self.out.write(b"\0" * (-len(data) % 4))

    def mkdir(self, name):
        name = name.strip("/")
        if name and name not in self.dirs:
            self.mkdir(os.path.dirname(name))
            self.dirs.add(name)
            self._entry(name, stat.S_IFDIR | 0o755)

    def file(self, name, data, mode=0o755):
        self.mkdir(os.path.dirname(name))
        self._entry(name.strip("/"), stat.S_IFREG | mode, data)

    def link(self, name, target):
        self.mkdir(os.path.dirname(name))
        self._entry(name.strip("/"), stat.S_IFLNK | 0o777, target.encode())

    def char(self, name, major, minor):
        self.mkdir(os.path.dirname(name))
        self._entry(name.strip("/"), stat.S_IFCHR | 0o600, rdev=(major, minor))

    def end(self):
        self._entry("TRAILER!!!", 0)


def find_tools(names=TOOLS):
    found = {}
    missing = []
    for name in names:
        path = which(name)
        if path:
            found[name] = path
        elif name not in OPTIONAL_TOOLS:
            missing.append(name)
    if missing:
        raise PackError(f"programs missing on this host: {' '.join(missing)}; run tools/deps")
    return found


def own_modules(directory):
    """Our modules, in the order in which they can be inserted."""
    order = ["zjournal", "zext4"]
    files = {module_name(p): p for p in sorted(Path(directory).glob("*.ko"))}
    return [files.pop(n) for n in order if n in files] + list(files.values())


def _key(parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(str(part).encode() + b"\0")
        path = Path(part) if isinstance(part, (str, Path)) else None
        if path and path.is_file():
            st = path.stat()
            digest.update(f"{st.st_size} {st.st_mtime_ns}".encode())
    return digest.hexdigest()[:16]


def build(cache_dir, kver, moddir, init, modules=(), programs=(), extra=(), stock=()):
    """Write the initramfs, or find it in the cache.

    modules: paths of .ko files to put beside the stock ones
    programs: paths of our own programs, installed in /usr/bin
    extra: pairs (path in the guest, path here)
    stock: names of the kernel's modules beside STOCK_MODULES
    """
    tree = ModuleTree(moddir)
    tools = find_tools()
    busybox = which("busybox")
    if not busybox:
        raise PackError("busybox is missing; run tools/deps")
    key = _key([__file__, init, kver, tree.dir / "modules.dep", busybox, *tools.values(),
                *modules, *programs, *[p for pair in extra for p in pair], *stock])
    target = Path(cache_dir) / f"initramfs-{kver}-{key}.cpio"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    tmp = target.with_suffix(f".{os.getpid()}")
    with open(tmp, "wb") as out:
        _write(Cpio(out), kver, tree, tools, busybox, init, modules, programs, extra, stock)
    # Another test run may be about to boot a young one, or clear up as well.
    for old in target.parent.glob("initramfs-*"):
        with contextlib.suppress(FileNotFoundError):
            if old != tmp and time.time() - old.stat().st_mtime > 3600:
                old.unlink()
    tmp.rename(target)
    return target


def _write(cpio, kver, tree, tools, busybox, init, modules, programs, extra, stock):
    for d in ("proc", "sys", "dev", "tmp", "mnt", "share", "run", "root", "etc"):
        cpio.mkdir(d)
    cpio.char("dev/console", 5, 1)
    cpio.file("init", Path(init).read_bytes())
    cpio.file("etc/mtab", b"", 0o644)
    cpio.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644)
    cpio.file("bin/busybox", busybox.read_bytes())
    applets = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True)
    replaced = {p.name for p in programs} | set(tools) | set(ALIASES)
    for applet in applets.stdout.split():
        if applet not in replaced and applet != "busybox":
            cpio.link(f"bin/{applet}", "busybox")
    libs = set()
    for name, path in tools.items():
        cpio.file(f"usr/bin/{name}", path.read_bytes())
        libs.update(libraries(path))
    for name, target in ALIASES.items():
        cpio.link(f"usr/bin/{name}", target)
    cpio.link("bin/sh", "/usr/bin/sh")
    for path in programs:
        cpio.file(f"usr/bin/{path.name}", path.read_bytes())
        libs.update(libraries(path))
    for lib in sorted(libs):
        cpio.file(str(lib), lib.read_bytes())
    for inside, path in extra:
        cpio.file(inside, Path(path).read_bytes())
    _write_modules(cpio, kver, tree, modules, stock)
    cpio.end()


def modinfo(path, what):
    run = subprocess.run([which("modinfo"), "-F", what, str(path)],
                         capture_output=True, text=True, check=True)
    return run.stdout.split()


def _write_modules(cpio, kver, tree, own, stock):
    base = f"lib/modules/{kver}"
    needed = tree.closure([*STOCK_MODULES, *stock])
    needed.pop(None, None)    # not in this kernel at all (the debug kernel builds some in)
    own_needs = {}
    for path in own:
        own_needs[module_name(path)] = [n for line in modinfo(path, "depends")
                                        for n in line.split(",") if n]
        stock = tree.closure(own_needs[module_name(path)])
        stock.pop(None, None)
        needed.update(stock)
    where = {name: rel.split(".ko")[0] + ".ko" for name, rel in needed.items()}
    for name, rel in needed.items():
        cpio.file(f"{base}/{where[name]}", tree.read(rel), 0o644)
    for path in own:
        where[module_name(path)] = f"extra/{path.name}"
        cpio.file(f"{base}/extra/{path.name}", stripped(path), 0o644)
    needs = {**tree.needs, **{n: _deep(n, own_needs, tree) for n in own_needs}}
    dep = [f"{rel}: " + " ".join(where[n] for n in needs.get(name, ()) if n in where)
           for name, rel in where.items()]
    cpio.file(f"{base}/modules.dep", ("\n".join(dep) + "\n").encode(), 0o644)
    alias = [line for line in (tree.dir / "modules.alias").read_text().splitlines()
             if line.split()[-1] in needed]
    for path in own:
        alias += [f"alias {a} {module_name(path)}" for a in modinfo(path, "alias")]
    cpio.file(f"{base}/modules.alias", ("\n".join(alias) + "\n").encode(), 0o644)
    cpio.file(f"{base}/modules.symbols", b"", 0o644)


def _deep(name, own_needs, tree):
    """All modules that one of ours needs, nearest first, as modules.dep lists them."""
    out = []
    todo = list(own_needs[name])
    while todo:
        n = todo.pop(0)
        if n not in out:
            out.append(n)
            todo += own_needs.get(n, tree.needs.get(n, []))
    return out
