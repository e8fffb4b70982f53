# SPDX-License-Identifier: GPL-2.0-only
"""Hands whole files to the processes of pytest-xdist, long ones first.

xdist begins with the files that have the most tests.  A file of one test that takes a minute would come last, and the
run would end with one process at work.  seconds.txt, which tools/test-times writes, says how long files take.
"""

from pathlib import Path

from xdist.scheduler import LoadFileScheduling

SECONDS = Path(__file__).with_name("seconds.txt")


def seconds():
    """{file: seconds} of the files that were slow when somebody measured."""
    return {name: int(number) for number, name in (line.split() for line in SECONDS.read_text().splitlines()
                                                   if not line.startswith("#"))}


class LongFirst(LoadFileScheduling):
    def __init__(self, config, log=None):
        super().__init__(config, log)
        self.seconds = seconds()

    def weight(self, file):
        """Seconds; of a file that was quick, or is new, less than any of those, and more if it has more tests."""
        return self.seconds.get(file, 1 - 1 / (1 + len(self.workqueue[file])))

    def _assign_work_unit(self, node):
        self.workqueue.move_to_end(max(self.workqueue, key=self.weight), last=False)
        super()._assign_work_unit(node)
