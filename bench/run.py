#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""ab.sh in a virtual machine: zext4 beside stock ext4, after "make modules guest-programs".

    build/venv/bin/python bench/run.py [--icount] [options of ab.sh ...]

--icount: the guest's clock counts executed instructions (README.md says what that is
worth).  The figures go to build/results/ab.json.
"""

import os
import shlex
import sys

from common import ICOUNT, ROOT, SILENCE, vm

GUEST = """
for m in null_blk ext4 zext4; do modprobe $m $([ $m = null_blk ] && echo nr_devices=0); done
sh /lib/zj/ab.sh -d /usr/bin -o /share/ab.json """


def main():
    args = sys.argv[1:]
    icount = "--icount" in args
    args = [a for a in args if a != "--icount"]
    programs = [vm.BUILD / "guest" / p for p in ("ab", "report")]
    with vm.VM(cpus=4, memory="3G", programs=programs, accel=ICOUNT if icount else None) as guest:
        result = guest.sh(GUEST + shlex.join(args), timeout=SILENCE)
        guest.check_console()
        print(result.out, end="")
        if result:
            out = vm.BUILD / "results" / "ab.json"
            os.makedirs(out.parent, exist_ok=True)
            out.write_text((guest.share / "ab.json").read_text())
            print(f"figures in {out.relative_to(ROOT)}")
        return result.rc


sys.exit(main())
