# SPDX-License-Identifier: GPL-2.0-only
"""apt verifies the repository that "make release" leaves, and installs from it, in a Debian of its own.

Part of "make test-packages", like test_root.py.  The key is made for the test.
"""
import os
import re
import shutil
import subprocess

import debian_machine
import pytest

pytestmark = debian_machine.on_demand
SOURCES = """Types: deb
URIs: file:/repository
Suites: ./
Signed-By: /etc/apt/keyrings/zjournal.asc
"""


@pytest.fixture(scope="module", name="release")
def release_fixture(tmp_path_factory):
    """A clone of this commit that is release 9.9.9, with what make release leaves."""
    top = tmp_path_factory.mktemp("release") / "tree"
    home = tmp_path_factory.mktemp("gpg")
    env = {**os.environ, "GNUPGHOME": str(home)}
    subprocess.run(["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "test@localhost"],
                   check=True, env=env)
    subprocess.run(["git", "clone", "-q", f"file://{debian_machine.TOP}", top], check=True)
    header = top / "include/zjournal/version.h"
    header.write_text(re.sub('(?m)^(#define ZJ_VERSION) ".*"', r'\1 "9.9.9"', header.read_text()))
    (top / "NEWS.md").write_text((top / "NEWS.md").read_text() + "\n## 9.9.9\n")
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qam", "9.9.9"], cwd=top, check=True)
    # What "make test-packages" has downloaded and recorded.
    for name in "ext4", "recorded":
        shutil.copytree(debian_machine.TOP / "build" / name, top / "build" / name)
    subprocess.run(["make", "release", "VERSION=9.9.9", "KEY=test@localhost"], cwd=top, check=True, env=env, capture_output=True)
    return top / "build/release"


def test_apt_installs_from_it(release):
    machine = debian_machine.new_machine("repository", [])
    shutil.copytree(release / "apt", machine.folder / "upper/repository")
    machine.put("etc/apt/keyrings/zjournal.asc", (release / "apt/zjournal.asc").read_text())
    machine.put("etc/apt/sources.list.d/zjournal.sources", SOURCES)
    machine.run("apt-get update -q -o Dir::Etc::sourcelist=/dev/null"
                " && apt-get install -y -q --no-install-recommends zjournal-tools")
    assert machine.run("zjctl --version").startswith("zjctl of zjournal 9.9.9,")
    # What somebody has changed on the way is refused.
    package = next((machine.folder / "upper/repository").glob("zjournal-dkms_*.deb"))
    package.write_bytes(package.read_bytes() + b"x")
    assert "Hash Sum mismatch" in machine.run("apt-get install -y -q --no-install-recommends zjournal-dkms 2>&1", rc=100)
    listed = machine.folder / "upper/repository/InRelease"
    listed.write_text(listed.read_text().replace("Label: zjournal", "Label: zjournaL"))
    said = machine.run("rm -rf /var/lib/apt/lists/*; apt-get update -q -o Dir::Etc::sourcelist=/dev/null 2>&1 || echo refused $?")
    assert "BADSIG" in said and "refused 100" in said, said


def test_archive_builds(release, tmp_path):
    """The sources of the release, without git, make the same packages."""
    subprocess.run(["tar", "xf", next(release.glob("*.tar.gz")), "-C", tmp_path], check=True)
    top = tmp_path / "zjournal-9.9.9"
    # lintian has seen these packages already.
    (tmp_path / "lintian").write_text("#!/bin/sh\n")
    (tmp_path / "lintian").chmod(0o755)
    subprocess.run(["make", "deb"], cwd=top, check=True, capture_output=True,
                   env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert sorted(path.name for path in (top / "build/deb").glob("*.deb")) == sorted(
        path.name for path in release.glob("*.deb"))
