# SPDX-License-Identifier: GPL-2.0-only
"""One life of a soak: boots guests, cuts them off, checks what they have left."""

import re
import shutil

import nbd
import soakplan
import vm as vmlib

BOOT_S = 600
CHECK_S = 1800
STEP_S = 1800
MEMORY = "1536M"
NVM_SIZE = "34M"
# A kernel that is emulated on a busy host misjudges the speed of its TSC, and would take seconds
# for minutes; CPUs that get no time for long are no stall.
EMULATED = "clocksource=hpet rcupdate.rcu_cpu_stall_timeout=300 nowatchdog"


class Failure(AssertionError):
    """Something is lost or broken."""


def whole_lines(data):
    return data[:data.rfind(b"\n") + 1]


class Running:
    """A file system, from mke2fs to its end"""

    lies = False       # the disk flushes nothing when the load has begun: a soak on it must fail
    patient = False    # the load lasts until all events are over, and each application has noted something

    def __init__(self, plan, work, gifts, summary, seconds):
        self.plan, self.work, self.gifts, self.summary, self.seconds = plan, work, gifts, summary, seconds
        self.images = [work / "disk"]
        vmlib.make_image(self.images[0], f"{soakplan.DEVICE_MIB}M")
        if plan.journal == "external":
            self.images.append(work / "journal")
            vmlib.make_image(self.images[1], "64M")
        elif plan.journal == "internal":
            # Snapshots are put into this one to be checked.
            self.images.append(work / "other")
            vmlib.make_image(self.images[1], f"{soakplan.DEVICE_MIB}M")
        self.acks = work / "ack"
        self.acks.mkdir()
        self.disks, self.guest = [], None
        self.prepared = set()
        self.cycles = 0
        self.strict = True
        self.booted = 0

    # ---- machines ----

    def boot(self):
        """A guest with the disks as they are; what is not flushed is lost with it."""
        self.booted += 1
        sockets = [self.work / f"sock{n}" for n in range(len(self.images))]
        self.disks = [nbd.VolatileDisk(image, path, trim=True) for image, path in zip(self.images, sockets)]
        pmem = [vmlib.Pmem(NVM_SIZE, path=str(self.work / "nvm"))] if self.plan.journal == "nvm" else []
        self.guest = vmlib.VM(programs=self.gifts.programs, cpus=self.plan.cpus, memory=MEMORY, stock=["overlay"],
                              disks=[vmlib.Disk(str(path), nbd=True) for path in sockets], pmem=pmem,
                              cmdline="" if "kvm" in vmlib.accel() else EMULATED)
        self.guest.prelude = "FS=zext4\nDEV=/dev/vda\n"
        self.guest.start(timeout=BOOT_S)
        shutil.copytree(self.gifts.share, self.guest.share, dirs_exist_ok=True)
        shutil.copytree(self.acks, self.guest.share / "ack")
        pmem_setup = ". /lib/zj/pmem.sh\n" if pmem else ""
        self.guest.prelude += f"CYCLE={self.cycles} STRICT={'1' if self.strict else ''}\n"
        self.script(pmem_setup + "soak_boot")

    def script(self, text, timeout=STEP_S):
        """A script that has to succeed"""
        result = self.guest.sh(f". /share/soak/soak-guest.sh\n{text}", timeout=timeout)
        if not result:
            raise Failure(f"{result.out.strip()}\n{self.guest.console_tail(30)}")
        self.guest.check_console()
        return result.out

    def collect(self):
        """What the guest has noted, without a last line that is not whole"""
        self.sum_up()
        before = self.noted()
        shutil.rmtree(self.acks)
        self.copy_notes(self.acks)
        self.summary.add("noted as durable", self.noted() - before)

    def copy_notes(self, target):
        shutil.copytree(self.guest.share / "ack", target)
        for path in target.iterdir():
            path.write_bytes(whole_lines(path.read_bytes()))

    def noted(self):
        return sum(path.read_bytes().count(b"\n") for path in self.acks.iterdir())

    def sum_up(self):
        for name in ("writes", "flushes", "trims", "bytes"):
            self.summary.add(f"disk {name}", sum(getattr(disk, name) for disk in self.disks))
            for disk in self.disks:
                setattr(disk, name, 0)
        for name in soakplan.counted(self.text_of("events").splitlines()):
            self.summary.add(f"events {name}")
        for name, count in soakplan.lane_sums(self.text_of("info")).items():
            self.summary.add(f"journal {name}", count)
        # The same guest may go on with the next cycle.
        for name in ("events", "info", "events-done"):
            (self.guest.share / name).unlink(missing_ok=True)

    def text_of(self, name):
        path = self.guest.share / name
        return path.read_text(errors="replace") if path.exists() else ""

    def off(self, seed, keep):
        """The power goes: what was not flushed is kept with this chance, sector by sector."""
        self.save_console()
        self.guest.kill()
        seen = lost = 0
        for n, disk in enumerate(self.disks):
            some, gone = disk.power_cut(seed + n, keep)
            seen, lost = seen + some, lost + gone
        self.disks = []
        self.summary.add("sectors unflushed", seen)
        self.summary.add("sectors lost", lost)
        try:
            self.guest.check_console()
        finally:
            self.guest.cleanup()
            self.guest = None

    def save_console(self):
        if self.guest and self.guest.dir and self.guest.dir.exists():
            (self.work / f"console.{self.booted}").write_text(self.guest.console_text())
            for path in self.guest.share.glob("j*.out"):
                shutil.copy(path, self.work / f"{self.booted}.{path.name}")

    def stop(self):
        if self.guest:
            self.guest.kill()
            self.guest.cleanup()
            self.guest = None
        for disk in self.disks:
            disk.power_cut(0, 1.0)
        self.disks = []

    # ---- a cycle ----

    def cycle(self, cycle):
        self.cycles += 1
        self.strict = soakplan.one_order(cycle.options)
        if not self.guest:
            self.boot()
        if self.cycles == 1:
            self.make()
        self.guest.prelude = f"FS=zext4\nDEV=/dev/vda\nCYCLE={self.cycles} STRICT= SEED={cycle.seed}\n"
        self.load(cycle)
        self.finish(cycle)
        self.check(cycle)

    def make(self):
        """mke2fs, with the journal where it belongs"""
        size = f"{self.plan.size_mib}M"
        mkfs = f"mke2fs -q -F -t ext4 {' '.join(self.plan.mkfs)}"
        if self.plan.journal == "external":
            block = self.plan.mkfs[self.plan.mkfs.index("-b") + 1]
            self.script(f"""mke2fs -q -F -O journal_dev -b {block} /dev/vdb || die "journal device"
                {mkfs} -J device=/dev/vdb /dev/vda {size} || die mke2fs""")
        else:
            nvm = "zjctl nvm-format --force /dev/pmem0 /dev/vda || die nvm-format" if self.plan.journal == "nvm" else ""
            self.script(f"{mkfs} /dev/vda {size} || die mke2fs\n{nvm}")

    def load(self, cycle):
        """Mount, run the applications and what disturbs them, until the time is over"""
        self.script(f'mnt /dev/vda "{cycle.options}"')
        for app in cycle.apps:
            if app not in self.prepared:
                self.script(f"{app}_prepare")
                self.prepared.add(app)
        for disk in self.disks:
            disk.lie = self.lies
        jobs = {app: self.guest.spawn(f". /share/soak/soak-guest.sh\nin_group app-{app}\n{app}_run")
                for app in cycle.apps}
        events = "\n".join(f"at {when} {name} {argument}" for when, name, argument in cycle.events)
        jobs["events"] = self.guest.spawn(f". /share/soak/soak-guest.sh\n{events}\ntouch /share/events-done")
        step, killed = 5, set()
        snapshots = list(enumerate(cycle.snapshots))
        for done in range(step, max(step, int(self.seconds)) + 1, step):
            self.guest.idle(step)
            while snapshots and snapshots[0][1][0] * self.seconds <= done:
                self.snapshot(cycle, *snapshots.pop(0))
            self.guest.check_console()
            self.ended_early(jobs, killed)
            self.summary.add("seconds of load", step)
        while self.patient and not self.all_noted():
            self.guest.idle(1)
            self.ended_early(jobs, killed)
        for app in cycle.apps:
            self.summary.add(f"runs {app}")
        self.summary.add("runs without-memory", len(killed))

    def all_noted(self):
        notes = [path.stat().st_size for path in (self.guest.share / "ack").iterdir()]
        return notes and all(notes) and (self.guest.share / "events-done").exists()

    def snapshot(self, cycle, n, chosen):
        """What a power cut now would leave, with the notes of before; the guest goes on."""
        where = self.work / f"snap{n}"
        where.mkdir()
        self.copy_notes(where / "ack")
        seen, lost = self.disks[0].snapshot(where / "disk", cycle.seed + n, chosen[1])
        self.summary.add("ends snapshot")
        self.summary.add("sectors unflushed", seen)
        self.summary.add("sectors lost", lost)

    def ended_early(self, jobs, killed):
        """An application that ended by itself has met an error, unless memory was short."""
        for app, job in jobs.items():
            rc = self.guest.finished.get(job.name)
            if rc is None or app in killed or (app == "events" and rc == 0):
                continue
            if re.search(r"Out of memory: Killed|Memory cgroup out of memory", self.guest.console_text()):
                killed.add(app)
                continue
            raise Failure(f"{app} ended with {rc}: {job.output()[-2000:]}\n{self.guest.console_tail(30)}")

    def finish(self, cycle):
        """The end of the load: a power cut, a reset, a shutdown of the file system, or an unmount"""
        self.summary.add(f"ends {cycle.end}")
        if cycle.end == "umount":
            # What was asked to be frozen has to thaw before.
            self.guest.wait_file("events-done", timeout=STEP_S)
            self.script("kill_groups\nsoak_counts\nsoak_umount\nsoak_fsck")
            self.collect()
            return
        if cycle.end == "shutdown":
            self.guest.wait_file("events-done", timeout=STEP_S)
            self.script(f"soak_counts\nfsctl shutdown {1 + cycle.seed % 2} /mnt || die shutdown\nkill_groups\nsoak_umount")
        elif cycle.cut_after and cycle.end == "cut":
            self.disks[0].stop_after(cycle.cut_after)
            self.disks[0].stopped.wait(30)
        keep = cycle.keep if cycle.end == "cut" else 1.0
        self.guest.kill()
        self.collect()
        self.off(cycle.seed, keep)
        for image in self.images:
            if image.name != "other":
                nbd.sparse_copy(image, image.with_suffix(".cut"))
        if self.plan.journal == "nvm":
            nbd.sparse_copy(self.work / "nvm", self.work / "nvm.cut")

    def check(self, cycle):
        """Recover, compare with what was noted, and let e2fsck look at all of it"""
        if not self.guest:
            self.boot()
            if cycle.recovery_cut:
                self.cut_recovery(cycle)
        self.check_disk(cycle, "vda", "ack", "" if cycle.end == "umount" else cycle.recover)
        for where in sorted(self.work.glob("snap*")):
            self.disks[1].insert(where / "disk")
            shutil.copytree(where / "ack", self.guest.share / where.name, dirs_exist_ok=True)
            self.check_disk(cycle, "vdb", where.name, cycle.recover)
            shutil.rmtree(self.guest.share / where.name)
            shutil.rmtree(where)

    def check_disk(self, cycle, disk, notes, way):
        self.guest.prelude = (f"FS=zext4\nDEV=/dev/{disk}\nCYCLE={self.cycles} ACK=/share/{notes} "
                              f"STRICT={'1' if self.strict else ''}\n")
        self.recover(cycle, way)
        checks = "\n".join(f"({app}_check) || exit 1" for app in sorted(self.prepared))
        said = self.script(f"{checks}\nsoak_umount\nsoak_fsck", timeout=CHECK_S)
        for count, what in soakplan.checked(said):
            self.summary.add(f"checked {what}", count)

    def cut_recovery(self, cycle):
        """The power goes again while the mount recovers, after so many writes, if it makes as many."""
        self.disks[0].stop_after(cycle.recovery_cut)
        job = self.guest.spawn(f'mnt /dev/vda "{cycle.options}"')
        while not self.disks[0].stopped.wait(0.5) and job.name not in self.guest.finished:
            self.guest.idle(0.5)
        self.guest.check_console()
        if job.name in self.guest.finished and self.guest.finished[job.name]:
            raise Failure(job.output())
        self.off(cycle.seed + 7, cycle.keep)
        self.summary.add("ends recovery-cut")
        self.boot()

    def recover(self, cycle, way):
        """By a mount, or by another program before it; after an unmount, nothing is to be recovered"""
        if way:
            self.summary.add(f"recovered by-{way}")
        nvm = " --nvm=/dev/pmem0" if self.plan.journal == "nvm" else ""
        before = {"": "", "mount": "", "zjctl": f"""zjctl recover --no-fsck{nvm} $DEV >/tmp/recover.out 2>&1
                      [ $? -le 1 ] || die "zjctl recover: $(cat /tmp/recover.out)" """,
                  "stock": 'mount -t ext4 $DEV /mnt || die "stock mount: $(dmesg | tail -n 5)"\numount /mnt || die umount',
                  }[way]
        self.script(f'{before}\nmnt $DEV "{cycle.options}"', timeout=CHECK_S)
