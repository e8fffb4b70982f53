# SPDX-License-Identifier: GPL-2.0-only
"""Memory that recovery needs; for the full size and the time see big_log.py."""

import big_log


def test_memory_of_a_64_mib_log(tmp_path):
    big_log.build()
    path = tmp_path / "big.img"
    blocks = big_log.make(path, 64, 12000, 16)
    got, _, peak = big_log.recover(path)
    assert got["transactions"] == got["committed_components"] == 12000
    assert got["blocks_written"] == blocks
    assert peak < 32 * 1024, f"{peak} KiB"
