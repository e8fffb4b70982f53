# SPDX-License-Identifier: GPL-2.0-only
"""What mount.zext4 does with and without zext4; mount, modprobe and zjctl are imitated (test_missing_module.py boots)."""
import lzma
import os
import pathlib
import shlex
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = {
    "id": "echo 0",
    "mount": 'echo mount "$*" >>"$STATE/calls"; exit $(cat "$STATE/mount" 2>/dev/null || echo 0)',
    "modprobe": 'echo modprobe "$*" >>"$STATE/calls"; [ -e "$STATE/module" ] && echo "nodev zext4" >>"$STATE/filesystems"',
    "findmnt": 'cat "$STATE/mounted"',
    "zjctl": """echo zjctl "$*" >>"$STATE/calls"
case $1 in
info) [ "$2" = --json ] || { cat "$STATE/reason" >&2; exit 8; }
	printf '{"filesystem":{"label":"\\\\"journal\\\\":{"},"journal":{"state":"%s"}}' "$(cat "$STATE/state")" ;;
recover) cat "$STATE/reason" >&2; exit $(cat "$STATE/recover" 2>/dev/null || echo 1) ;;
esac""",
}


class Kernel:
    """A machine on which file systems are mounted"""

    def __init__(self, folder):
        self.folder = folder
        (folder / "bin").mkdir()
        for name, text in PROGRAMS.items():
            self.program(name, text)
        self.put("filesystems", "nodev\tsysfs\n\text4\n")
        self.put("kmsg", "")
        self.put("state", "clean")
        self.put("mounted", "ext4\n")
        self.put("reason", "zjctl: waiting 11 s\nzjctl: this is why\n")
        script = (TOP / "user/mount.zext4").read_text()
        for old, new in (("PATH=/usr/sbin:", f"PATH={folder}/bin:/usr/sbin:"), ("/proc/filesystems", f"{folder}/filesystems"),
                         ("/run/", f"{folder}/"), (">/dev/kmsg", f">>{folder}/kmsg"),
                         ("/sys/module/zext4/parameters/register_as", f"{folder}/register_as")):
            assert old in script
            script = script.replace(old, new)
        self.put("mount.zext4", script)

    def program(self, name, text):
        (self.folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.folder / "bin" / name).chmod(0o755)

    def put(self, name, text):
        (self.folder / name).write_text(text)

    def mount(self, options="", status=0, extra="", folder="/srv"):
        """The calls of mount, modprobe and zjctl."""
        (self.folder / "calls").write_text("")
        words = shlex.split(extra) + (["-o", options] if options else [])
        done = subprocess.run(["sh", self.folder / "mount.zext4", "/dev/sdb", folder, *words], capture_output=True,
                              text=True, check=False, env={**os.environ, "STATE": str(self.folder)})
        assert done.returncode == status, done.stderr
        self.said = done.stderr
        return (self.folder / "calls").read_text().splitlines()

    def read(self, name):
        return "".join(path.read_text() for path in self.folder.glob(name))


@pytest.fixture(name="kernel")
def kernel_fixture(tmp_path):
    return Kernel(tmp_path)


def has_zext4(kernel):
    kernel.put("filesystems", "nodev\tsysfs\n\text4\n\tzext4\n")


def test_with_zext4(kernel):
    has_zext4(kernel)
    assert kernel.mount("rw,lanes=4", extra="-s -v -N 7") == ["mount -i -s -v -N 7 -t zext4 -o rw,lanes=4 -- /dev/sdb /srv"]
    assert not kernel.said and not kernel.read("kmsg")


def test_a_module_is_loaded(kernel):
    kernel.put("module", "")
    assert kernel.mount() == ["modprobe fs-zext4", "mount -i -t zext4 -- /dev/sdb /srv"]


def test_what_zext4_refuses_stays_refused(kernel):
    """A wrong option, a damaged log: stock ext4 must not be tried."""
    has_zext4(kernel)
    kernel.put("mount", "32")
    assert len(kernel.mount("lanes=x", status=32)) == 1


def test_module_that_serves_ext4(kernel):
    kernel.put("register_as", "ext4\n")
    assert kernel.mount("lanes=4") == ["mount -i -t ext4 -o lanes=4 -- /dev/sdb /srv"]


@pytest.mark.parametrize("options,left", [
    ("", ""), ("lanes=4", ""), ("rw,lanes=4,noatime", "rw,noatime"), ("tune=pipeline:on+versions:3,fsync=all,ro", "ro"),
    ("lanesx=1,logs,data=journal", "lanesx=1,logs,data=journal"),
    ('context="a:b:c0,lanes=9,c1",log=zj,rw', 'context="a:b:c0,lanes=9,c1",rw'),
    ("journal_nvm=/dev/pmem0,alloc=core,lane_by=dir,nofail", "nofail"),
])
def test_without_zext4(kernel, options, left):
    calls = kernel.mount(options)
    assert calls[-1] == f"mount -i -t ext4 {left and '-o ' + left + ' '}-- /dev/sdb /srv"
    assert not [call for call in calls if "recover" in call]
    for where in kernel.said, kernel.read("kmsg"), kernel.read("motd.d/zext4-*"):
        assert "/srv is mounted as ext4, not zext4" in where
    # What the administrator asked for and does not get.
    gone = [word for word in options.split(",") if word and word not in left.split(",")]
    assert all(f"zext4, without {','.join(gone)}." in where if gone else "without" not in where
               for where in (kernel.said, kernel.read("kmsg")))
    assert kernel.read("kmsg").startswith("<3>")
    # As soon as it is mounted as zext4 again, no login says so any more.
    has_zext4(kernel)
    kernel.mount(options)
    assert not list(kernel.folder.glob("motd.d/*"))


def test_log_is_recovered_first(kernel):
    kernel.put("state", "crashed")
    calls = kernel.mount("ro,journal_nvm=/dev/pmem0,journal_path=/dev/sdc")
    assert calls[2:] == ["zjctl recover --no-fsck --nvm=/dev/pmem0 --journal=/dev/sdc /dev/sdb",
                         "mount -i -t ext4 -o ro,journal_path=/dev/sdc -- /dev/sdb /srv"]


# Like zjctl, it wants the device for itself. It goes on some time after the other mount has begun.
RECOVERS_ALONE = """case $1 in
info) printf '"journal":{"state":"%s"' "$(cat "$STATE/state")" ;;
recover)
	mkdir "$STATE/in-use" 2>/dev/null || { echo 'is in use' >&2; exit 8; }
	until [ "$(grep -c 'has no zext4' "$STATE/kmsg")" = 2 ]; do sleep 0.1; done
	sleep 1
	echo clean >"$STATE/state"
	rmdir "$STATE/in-use"
	exit 1 ;;
esac"""


def test_two_mounts_of_a_device(kernel):
    """The second one waits for the recovery, and finds a log that is clean."""
    kernel.put("state", "crashed")
    kernel.program("zjctl", RECOVERS_ALONE)
    command = ["sh", kernel.folder / "mount.zext4", "/dev/sdb"]
    with subprocess.Popen([*command, "/srv"], env={**os.environ, "STATE": str(kernel.folder)}) as first:
        kernel.mount(folder="/copy")
    assert first.returncode == 0
    assert kernel.read("kmsg").count("its log is recovered") == 1


@pytest.mark.parametrize("status", [4, 8, 12])
def test_log_that_cannot_be_recovered(kernel, status):
    kernel.put("state", "crashed")
    kernel.put("recover", str(status))
    assert not [call for call in kernel.mount(status=32) if call.startswith("mount")]
    assert "is not mounted: its log could not be recovered (zjctl: this is why)" in kernel.read("kmsg")
    assert "waiting 11 s" in kernel.said
    assert not list(kernel.folder.glob("motd.d/*"))


def test_damaged_log(kernel):
    kernel.put("state", "damaged")
    calls = kernel.mount(status=32)
    assert not [call for call in calls if "mount" in call or "recover" in call]
    # zjctl's reason says what to do: with a log of a newer format nothing may be dropped.
    for where in kernel.said, kernel.read("kmsg"):
        assert "Copy the device before anything else (zjctl: this is why)" in where


def test_no_device_and_nofail(kernel):
    """mount(8) ends with 0 then."""
    kernel.put("mounted", "")
    assert kernel.mount("nofail,lanes=2")[-1] == "mount -i -t ext4 -o nofail -- /dev/sdb /srv"
    assert "is mounted as ext4" not in kernel.said + kernel.read("kmsg") and not list(kernel.folder.glob("motd.d/*"))


def test_each_folder_has_its_note(kernel):
    """Whatever its name is; a backslash is one."""
    folders = ["/srv/a", "/srv-a", r"/srv\na", r"/srv\ca", "/" + 100 * "long/"]
    for folder in folders:
        kernel.mount(folder=folder)
    notes = [path.read_text() for path in kernel.folder.glob("motd.d/*")]
    assert sorted(notes) == sorted({note for note in notes for folder in folders if note.startswith(f"{folder} is mounted")})
    assert len(notes) == len(folders)
    logged = kernel.read("kmsg").splitlines()
    assert len(logged) == 2 * len(folders) and all(line.startswith("<3>mount.zext4: ") for line in logged)
    has_zext4(kernel)
    kernel.mount(folder="/srv-a")
    assert not [path for path in kernel.folder.glob("motd.d/*") if path.read_text().startswith("/srv-a ")]
    assert len(list(kernel.folder.glob("motd.d/*"))) == len(folders) - 1


@pytest.mark.parametrize("options", ["ro,noload", "norecovery,ro"])
def test_no_recovery_is_wanted(kernel, options):
    kernel.put("state", "crashed")
    assert kernel.mount(options)[1:] == [f"mount -i -t ext4 -o {options} -- /dev/sdb /srv"]


def test_ext4_refuses_it_too(kernel):
    kernel.put("mount", "32")
    kernel.mount(status=32)
    assert not list(kernel.folder.glob("motd.d/*"))


@pytest.mark.parametrize("mounted,left", [("ext4", "remount,rw"), ("zext4", "remount,rw,lanes=2")])
def test_remount_goes_by_what_is_mounted(kernel, mounted, left):
    kernel.put("mounted", f"{mounted}\n")
    assert kernel.mount("remount,rw,lanes=2")[-1] == f"mount -i -o {left} -- /dev/sdb /srv"


def test_fake(kernel):
    kernel.put("state", "crashed")
    assert kernel.mount("rw", extra="-f -n")[1:] == ["mount -i -f -n -t zext4 -o rw -- /dev/sdb /srv"]


def test_a_user_gets_what_fstab_says(kernel):
    kernel.program("id", "echo 1000")
    assert kernel.mount("user,lanes=2") == ["mount -i -- /srv"]


# Mounts for real, where only this namespace sees it, two at a time, and prints the types.
FOR_REAL = """
mount --make-rprivate /
disk=$(losetup -f --show "$0/image")
trap 'losetup -d "$disk"' EXIT
sh "$0/mount.zext4" "$disk" "$0/one" -o rw,lanes=2 &
sh "$0/mount.zext4" "$disk" "$0/two" -o rw,lanes=2
status=$?
wait $! || exit
[ $status = 0 ] || exit $status
findmnt -n -o FSTYPE "$0/one"
findmnt -n -o FSTYPE "$0/two"
umount "$0/one" "$0/two"
"""


@pytest.mark.skipif(os.geteuid() != 0 or not pathlib.Path("/dev/loop-control").exists() or
                    "\tzext4\n" in pathlib.Path("/proc/filesystems").read_text(),
                    reason="needs root and loop devices, and a kernel without zext4")
@pytest.mark.parametrize("image,status", [("clean", 0), ("dependent-components", 0), ("bad-checksum-in-the-middle", 32)])
def test_by_this_kernel(tmp_path, image, status):
    """Its ext4 mounts what zjctl has recovered, and e2fsck finds nothing; a damaged log is left as it is."""
    packed = TOP / f"tests/images/{image}.img.xz"
    (tmp_path / "image").write_bytes(lzma.decompress(packed.read_bytes()))
    for name in "one", "two":
        (tmp_path / name).mkdir()
    # This machine may have the packages.
    (tmp_path / "modprobe").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "modprobe").chmod(0o755)
    script = (TOP / "user/mount.zext4").read_text().replace("PATH=/usr/sbin:", f"PATH={tmp_path}:{TOP}/build:/usr/sbin:")
    (tmp_path / "mount.zext4").write_text(script.replace("/run/", f"{tmp_path}/").replace("/dev/kmsg", "/dev/null"))
    done = subprocess.run(["unshare", "-m", "sh", "-c", FOR_REAL, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    if status:
        assert (tmp_path / "image").read_bytes() == lzma.decompress(packed.read_bytes())
    else:
        assert done.stdout == "ext4\next4\n"
        assert done.stderr.count("its log is recovered") == (image != "clean")
        subprocess.run(["e2fsck", "-fp", tmp_path / "image"], check=True, capture_output=True)


@pytest.mark.parametrize("words", [[], ["/dev/sdb"], ["/dev/sdb", "/srv", "-x"], ["/dev/sdb", "/srv", "more"]])
def test_usage(words):
    done = subprocess.run([TOP / "user/mount.zext4", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "usage:" in done.stderr


@pytest.mark.parametrize("program", ["as-ext4", "fsck.zext4", "mount.zext4", "mkfs.zext4"])
def test_versions_and_help(program):
    path = next(p for p in (TOP / "user" / program, TOP / "build" / program) if p.exists())
    env = {**os.environ, "PATH": f"{TOP}/build:{os.environ['PATH']}"}
    # The scripts that set their path find the program that is installed.
    script = path.read_text(errors="replace").replace("PATH=/usr/sbin:", f"PATH={TOP}/build:/usr/sbin:")
    command = ["sh", "-c", script, program] if script.startswith("#!") else [path]
    version = subprocess.run([TOP / "build/zjctl", "--version"], capture_output=True, text=True, check=True).stdout.split()[3]

    def said(option):
        return subprocess.run([*command, option], capture_output=True, text=True, check=True, env=env).stdout
    assert said("--version").startswith(f"{program} of zjournal {version.rstrip(',')}")
    assert said("--help").startswith(f"usage: {program} ")


@pytest.mark.parametrize("words,status", [
    ([], 16), (["nonexistent-program"], 16), (["/etc/passwd"], 16), (["--bogus"], 16), (["sh", "-c", "exit 3"], 3)])
def test_status_of_as_ext4(words, status):
    done = subprocess.run([TOP / "user/as-ext4", *words], capture_output=True, text=True, check=False)
    assert done.returncode == status and bool(done.stderr) == (status == 16)
