# SPDX-License-Identifier: GPL-2.0-only
"""docs/compatibility.md has a row for each set of features that the VM test makes (tools/features-doc)."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
TOOL = TOP / "tools/features-doc"


@pytest.fixture(name="tool", scope="module")
def tool_fixture():
    loader = importlib.machinery.SourceFileLoader("features_doc", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("features_doc", loader))
    loader.exec_module(module)
    return module


def test_this_tree():
    subprocess.run([TOOL], check=True)


@pytest.mark.parametrize("before,after,said", [
    ("| casefold | yes |", "| case | yes |", "alone: no row for casefold"),
    ("| casefold | yes |", "| case | yes |", "alone: the test has no case"),
    ("| casefold | yes | yes |", "| casefold | yes | NO |", "alone: casefold is not what the test has passed"),
    ("| ext3 | yes |", "| ext3 |  |", "distributions: ext3 is not what the test has passed"),
    ("| bigalloc | yes | yes | yes |\n", "", "product: bigalloc is not what the test has passed"),
])
def test_a_changed_table_is_noticed(tool, before, after, said):
    text = tool.DOC.read_text()
    assert before in text
    assert said in list(tool.wrong(text.replace(before, after)))
