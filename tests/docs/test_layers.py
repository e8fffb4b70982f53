# SPDX-License-Identifier: GPL-2.0-only
"""The folders of src/ include downward only (tools/check-layers)."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
CHECK = TOP / "tools/check-layers"


@pytest.fixture(name="check")
def check_fixture(tmp_path, monkeypatch):
    """The checker over a small tree of its own."""
    loader = importlib.machinery.SourceFileLoader("check_layers", str(CHECK))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_layers", loader))
    loader.exec_module(module)
    monkeypatch.setattr(module, "TOP", tmp_path)

    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    write("src/core/space.h", '#include "txn/txn_types.h"\nint zj_space(struct zj_txn *txn);\n')
    write("src/core/space.c", '#include "core/space.h"\nint zj_space(struct zj_txn *txn)\n{\n}\n')
    write("src/txn/txn_types.h", "struct zj_txn {\n\tint (*done)(int what);\n};\n")
    write("src/txn/txn.h", '#include "core/space.h"\nvoid zj_txn_put(struct zj_txn *txn);\n')
    write("src/log/log_types.h", '#include "txn/txn_types.h"\nstruct zj_log {\n};\n')
    module.write = write
    return module


def test_this_tree():
    subprocess.run([CHECK], check=True)


def test_nothing_is_found_where_all_is_right(check):
    assert not list(check.errors())


@pytest.mark.parametrize("path,text,what", [
    ("src/core/a.c", '#include "txn/txn.h"\n', "txn/ is above core/"),
    ("src/core/a.h", '#include "txn/txn.h"\n', "txn/ is above core/"),
    ("src/txn/a_types.h", '#include "core/space.h"\n', "more than types"),
    ("src/txn/a_types.h", "void zj_a(void);\n", "zj_a() does not belong here"),
    ("src/txn/a_types.h", "static inline int a(void)\n{\n}\n", "a() does not belong here"),
    ("src/core/a.c", "void zj_txn_put(struct zj_txn *txn);\n", "declares void zj_txn_put"),
    ("src/core/a.c", "extern int zj_x;\n", "declares extern int zj_x"),
    ("src/core/a.h", "/* a.c */\nint zj_space(struct zj_txn *txn);\n", "zj_space() is in space.c, not in a.c"),
    ("src/log/space.c", "", "has the name of"),
    ("src/a.c", "", "is in no folder"),
    ("src/other/a.c", "", "is in no folder"),
    ("src/log/a.c", '#include "a.h"\n', "there is no src/a.h"),
])
def test_what_is_wrong_is_reported(check, path, text, what):
    check.write(path, text)
    assert any(what in error for error in check.errors()), list(check.errors())
