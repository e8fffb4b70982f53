# SPDX-License-Identifier: GPL-2.0-only
"""Manual pages have the sections that one looks for, and name pages and documents that are installed."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.name for path in (ROOT / "man").iterdir())
MAKEFILE = (ROOT / "user/Makefile").read_text()


@pytest.mark.parametrize("page", PAGES)
def test_page(page):
    text = (ROOT / "man" / page).read_text()
    assert ".Sh REPORTING BUGS" in text and ".Sh SEE ALSO" in text
    # The format of the log is no command and no option.
    assert ".Sh EXAMPLES" in text or page == "zjournal-format.5"
    # Without a volume groff's header says that these are pages of BSD.
    assert re.search(r"(?m)^\.Dt \S+ [578] SMM$", text)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page):
    text = (ROOT / "man" / page).read_text()
    ours = {name.rpartition(".")[0]: name.rpartition(".")[2] for name in PAGES}
    for name, section in re.findall(r"\.Xr (\S+) (\d)", text):
        assert ours.get(name, section) == section, f"{page}: {name}({section})"
        assert name in ours or not name.startswith(("zj", "zext4", "fsck.zext4", "mkfs.zext4")), f"{page}: {name}"
    for document in re.findall(r"(?m)^\.Pa (\S+\.md)\b", text):
        assert re.search(rf"(?<![\w-]){document}", MAKEFILE), f"{page}: {document} is not installed"


@pytest.fixture(name="installed", scope="module")
def installed_fixture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(["make", "-s", "-C", ROOT / "user", "install-docs", f"DESTDIR={folder}", "PREFIX=/usr"], check=True)
    return folder / "usr/share/doc/zjournal"


def test_installed_documents_have_no_dead_link(installed):
    found = list(installed.iterdir())
    assert len(found) == len(re.findall(r"\S+\.md", re.search(r"(?s)DOCUMENTS := (.*?)\nempty", MAKEFILE)[1]))
    links = [(path.name, target) for path in found for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text())]
    assert links
    assert not [link for link in links if "://" not in link[1] and not link[1].startswith("#")
                and not (installed / link[1].partition("#")[0]).exists()]
