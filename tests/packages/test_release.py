# SPDX-License-Identifier: GPL-2.0-only
"""What tools/release refuses, and what it leaves. The tree is small, and making its package is imitated."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
MAKE_DEB = "#!/bin/sh\nmkdir -p build/deb && echo package >build/deb/zjournal-tools_1.2.0_amd64.deb\n"


GPG = """#!/bin/sh
case "$*" in
*--list-secret-keys*) [ "$2" = 1234ABCD ] ;;
*--output*) for word; do [ "$last" != --output ] || out=$word; last=$word; done; echo signed >"$out" ;;
esac
"""


def bin_of(top):
    folder = top.parent / "bin"
    folder.mkdir(exist_ok=True)
    return folder


class Tree:
    """A clone with version 1.2.0, in which all is ready for the release"""

    def __init__(self, top):
        self.top = top
        (top / "tools").mkdir(parents=True)
        self.write("include/zjournal/version.h", '#define ZJ_VERSION "1.2.0"\n')
        self.write("NEWS.md", "# Releases\n\n## 1.2.0\n\nText.\n")
        self.write(".gitignore", "/build/\n")
        self.write("packaging/make-deb", MAKE_DEB)
        self.write("tools/deps", "#!/bin/sh\n")
        for name in ("packaging/fetch-ext4", "tools/figures"):
            self.write(name, "#!/bin/sh\n")
        for name in ("release", "version"):
            shutil.copy(TOP / "tools" / name, top / "tools" / name)
        # No release is signed here, and apt does not read the list: test_repository.py does both.
        for name, text in ("gpg", GPG), ("apt-ftparchive", "#!/bin/sh\necho $1\n"):
            (bin_of(top) / name).write_text(text)
            (bin_of(top) / name).chmod(0o755)
        for name in ("packaging/make-deb", "packaging/fetch-ext4", "tools/deps", "tools/figures"):
            (top / name).chmod(0o755)
        self.git("init", "-q")
        self.commit()

    def write(self, name, text):
        (self.top / name).parent.mkdir(parents=True, exist_ok=True)
        (self.top / name).write_text(text)

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words], cwd=self.top, check=True,
                       capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "step")

    def release(self, *version, key="1234ABCD"):
        return subprocess.run([self.top / "tools/release", *version], cwd="/", capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{bin_of(self.top)}:{os.environ['PATH']}", "KEY": key})


@pytest.fixture(name="tree")
def tree_fixture(tmp_path):
    return Tree(tmp_path / "tree")


def refused(tree, text, *version):
    done = tree.release(*version)
    assert done.returncode == 1 and text in done.stderr
    assert not (tree.top / "build").exists()


def test_a_key_must_be_given(tree):
    for key, text in ("", "which key signs"), ("4321", "gpg has no secret key 4321"):
        done = tree.release("1.2", key=key)
        assert done.returncode == 1 and text in done.stderr


def test_a_number_that_builds_before_it_had_is_refused(tree):
    """They call themselves 1.2.0+git..., which dpkg takes for newer than 1.2.0."""
    tree.commit()
    refused(tree, "raise the version", "1.2")


def test_a_version_must_be_given(tree):
    refused(tree, "which version?")


@pytest.mark.parametrize("version", ["1.2.1", "1", "1.2.0.0", "*"])
def test_another_version_is_refused(tree, version):
    refused(tree, "this tree has version 1.2.0", version)


def test_a_version_without_notes_is_refused(tree):
    tree.write("NEWS.md", "# Releases\n\n## 1.2.01\n")
    tree.commit()
    refused(tree, 'no section "## 1.2.0"', "1.2")


def test_a_tag_that_exists_is_refused(tree):
    tree.git("tag", "v1.2.0")
    refused(tree, "there is a tag v1.2.0 already", "1.2.0")


@pytest.mark.parametrize("name", ["NEWS.md", "new-file"])
def test_a_tree_with_changes_is_refused(tree, name):
    tree.write(name, "## 1.2.0\n")
    refused(tree, name, "1.2.0")


@pytest.mark.parametrize("version", ["1.2", "1.2.0"])
def test_what_a_release_leaves(tree, version):
    done = tree.release(version)
    assert done.returncode == 0, done.stderr
    out = tree.top / "build/release"
    sums = dict(reversed(line.split()) for line in (out / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {"zjournal-1.2.0.tar.gz", "zjournal-tools_1.2.0_amd64.deb"}
    assert all(hashlib.sha256((out / name).read_bytes()).hexdigest() == sums[name] for name in sums)
    with tarfile.open(out / "zjournal-1.2.0.tar.gz") as tar:
        assert "zjournal-1.2.0/NEWS.md" in tar.getnames()
    assert "git tag -s v1.2.0" in done.stdout
    assert not subprocess.run(["git", "tag"], cwd=tree.top, capture_output=True, check=True).stdout


def test_the_same_commit_gives_the_same_sources(tree):
    found = []
    for _ in range(2):
        assert tree.release("1.2").returncode == 0
        found.append((tree.top / "build/release/zjournal-1.2.0.tar.gz").read_bytes())
    assert found[0] == found[1]


def test_there_are_notes_for_the_version_of_this_tree():
    version = subprocess.run([TOP / "tools/version", "--release"], capture_output=True, text=True, check=True).stdout.strip()
    assert f"\n## {version}\n" in (TOP / "NEWS.md").read_text()
