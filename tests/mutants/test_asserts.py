# SPDX-License-Identifier: GPL-2.0-only
"""Each assertion of src/ has its bug in asserts.txt.  asserts.py sees them fire."""
import asserts


def test_each_has_an_entry_and_each_entry_its_assertion():
    in_src = asserts.assertions()
    in_table = [(e.file, e.condition) for e in asserts.entries()]
    assert len(set(in_src)) == len(in_src), "assertions of one file must have different conditions"
    assert sorted(in_src) == sorted(in_table)


def test_each_bug_fits_and_was_seen():
    for entry in asserts.entries():
        assert entry.by, f"{entry.condition}: run asserts.py --new --learn"
        assert not isinstance(asserts.mutated(entry), str), asserts.mutated(entry)
