# SPDX-License-Identifier: GPL-2.0-only
"""Each table beside an enum has an entry for every constant of it (tools/check-tables)."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
CHECK = TOP / "tools/check-tables"

ENUM = "enum colour {\n\tRED,\t/* as { blood */\n\tGREEN = 4,\n\tNR_COLOURS\n};\n"
OPTIONS = """static const struct zext4_option_spec specs[] = {
\t[ZEXT4_LOG] = {
\t\t.name = "log", .words = WORDS("auto", "zj"),
\t\t.implies = { ZEXT4_LOG_ZJ, 1 },
\t},
\t{
\t\t.name = "copy", .words = WORDS("on", "off"),
\t\t.field = FIELD(live.copy),
\t},
};
"""


@pytest.fixture(name="check")
def check_fixture(tmp_path, monkeypatch):
    """The checker over a small tree of its own."""
    loader = importlib.machinery.SourceFileLoader("check_tables", str(CHECK))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_tables", loader))
    loader.exec_module(module)
    monkeypatch.setattr(module, "TOP", tmp_path)

    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    write("src/core/colour.h", ENUM)
    write("src/core/colour.c", "const char *names[] = {\n\t[RED] = \"red\",\n\t[GREEN] = NULL,\n};\n")
    write("zext4/options.c", OPTIONS)
    write("zext4/options.h", "enum zext4_option { ZEXT4_LOG };\n"
          "enum zext4_log { ZEXT4_LOG_AUTO, ZEXT4_LOG_ZJ };\nenum zj_copy { ZJ_COPY_ON, ZJ_COPY_OFF };\n")
    module.write = write
    return module


def test_this_tree():
    subprocess.run([CHECK], check=True)


def test_nothing_is_found_where_all_is_right(check):
    assert not list(check.errors())


@pytest.mark.parametrize("path,text,what", [
    ("src/core/a.c", "const char *n[NR_COLOURS] = {\n\t[GREEN] = \"green\",\n};\n",
     "n[] has no entry for RED"),
    ("user/a.c", "static const char * const n[] = { [RED] = \"red\" };\n", "no entry for GREEN"),
    ("kernel/a.c", "struct s {\n\tint x;\n} n[] = {\n\t[RED] = {\n\t\t.x = 1,\n\t},\n};\n",
     "no entry for GREEN"),
    ("zext4/options.c", OPTIONS.replace('"auto", "zj"', '"auto", "zj", "jbd2"'), "enum zext4_log"),
    ("zext4/options.c", OPTIONS.replace('"auto", "zj"', '"zj", "auto"'), "enum zext4_log"),
    ("zext4/options.c", OPTIONS.replace('"on", "off"', '"off", "on"'), "enum zj_copy"),
])
def test_what_is_wrong_is_reported(check, path, text, what):
    check.write(path, text)
    assert any(what in error for error in check.errors()), list(check.errors())
