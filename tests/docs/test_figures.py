# SPDX-License-Identifier: GPL-2.0-only
"""Figures and plots of the documents are those of bench/figures.json (tools/figures)."""
import importlib.machinery
import importlib.util
import json
import pathlib
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
FILES = ("tools/figures", "bench/svg.py", "bench/figures.json", "README.md", "docs/performance.md", "docs/internals/papers.md")


@pytest.fixture(name="tool", scope="module")
def tool_fixture():
    loader = importlib.machinery.SourceFileLoader("figures_tool", str(TOP / "tools/figures"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures_tool", loader))
    loader.exec_module(module)
    return module


@pytest.fixture(name="tree")
def tree_fixture(tmp_path):
    """A checkout of its own with the documents, and a source that one table measures"""
    for name in (*FILES, *(f"docs/img/{path.name}" for path in (TOP / "docs/img").glob("*.svg"))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOP / name, tmp_path / name)
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    change(tmp_path, lambda data: data["programs"].update(commit=git(tmp_path, "rev-parse", "--short", "HEAD"), of=["src"]))
    return tmp_path


def git(tree, *words):
    return subprocess.run(["git", "-C", tree, "-c", "user.name=A", "-c", "user.email=a@b", *words], check=True,
                          capture_output=True, text=True).stdout.strip()


def commit(tree, source="int a;"):
    (tree / "src").mkdir(exist_ok=True)
    (tree / "src/a.c").write_text(source)
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", source)


def change(tree, how):
    data = json.loads((tree / "bench/figures.json").read_text())
    how(data)
    (tree / "bench/figures.json").write_text(json.dumps(data))
    figures(tree, "--write")


def figures(tree, *words):
    return subprocess.run([tree / "tools/figures", *words], capture_output=True, text=True, check=False)


def test_this_tree():
    run = figures(TOP)
    assert run.returncode == 0, run.stdout + run.stderr


def test_tables_are_whole(tool):
    for name, table in tool.tables().items():
        assert table["command"] and table["commit"] and table["date"] and table["machine"] and table["of"], name
        assert all((TOP / path).exists() for path in table["of"]), name
        assert all(len(row) == 1 + len(table["columns"]) for row in table["rows"].values()), name
        # What is simulated says so where it is shown.
        assert table["simulated"] == ("bench/sim" in table["of"]), name


def test_what_is_measured_again_is_in_the_file(tool):
    text = (TOP / "bench/figures.py").read_text()
    readers = text.split("READERS = {")[1].split("}")[0]
    assert all(f'"{name}":' in readers for name in text.split("HEADLINES = [")[1].split("]")[0].replace('"', "").split(", "))
    assert set(part.split('"')[1] for part in readers.split(",")) <= set(tool.tables())


def test_an_edited_figure_is_noticed(tree):
    page = tree / "docs/performance.md"
    page.write_text(page.read_text().replace("| SQLite", "| SQLite 9", 1))
    run = figures(tree)
    assert run.returncode == 1 and "docs/performance.md is not what" in run.stdout


def test_a_new_figure_changes_documents_and_plots(tree):
    before = {path: path.read_text() for path in (tree / "README.md", tree / "docs/performance.md", tree / "docs/img/programs.svg")}
    data = json.loads((tree / "bench/figures.json").read_text())
    for row in data["programs"]["rows"].values():
        row[-1] *= 3
    (tree / "bench/figures.json").write_text(json.dumps(data))
    said = figures(tree).stdout
    assert all(str(path.relative_to(tree)) in said for path in before)
    assert figures(tree, "--write").returncode == 0
    assert all(path.read_text() != text for path, text in before.items())


def test_an_older_figure_is_marked_and_breaks_nothing(tree, tool):
    commit(tree, "int a;\t/* a comment */")
    assert figures(tree, "--write").returncode == 0
    assert tool.AGED not in (tree / "README.md").read_text()
    commit(tree, "int b;")
    assert figures(tree).returncode == 0
    assert "1 sources have changed" in figures(tree, "--age").stdout
    assert figures(tree, "--write").returncode == 0
    assert tool.AGED in (tree / "README.md").read_text()
    commit(tree, "int c;")
    assert figures(tree).returncode == 0


@pytest.mark.parametrize("text", ["It is 3.5 times as fast.", "twice as fast", "a gain of 40 %", "ratio 2.54", "50x", "threefold"])
def test_a_ratio_by_hand_is_noticed(tree, text):
    page = tree / "docs/performance.md"
    page.write_text(page.read_text() + f"\n{text}\n")
    assert "written by hand" in figures(tree).stdout


@pytest.mark.parametrize("text", ["the series 6.12, from 6.12.115 on", "`tune=a:3.5 times`", "four clients", "20 ms", "GPL-2.0-only"])
def test_what_is_no_ratio_may_stand(tool, text):
    assert tool.by_hand(text) == []


def test_an_unknown_figure_is_refused(tree):
    (tree / "README.md").write_text("<!--=programs gone zext4-->1<!--/-->\n")
    run = figures(tree)
    assert run.returncode == 1 and "gone" in run.stderr


def test_plots_are_the_same_each_time(tool):
    data = tool.tables()
    for plot in tool.PLOTS.values():
        text = plot(data)
        assert text == plot(data) and "prefers-color-scheme: dark" in text
