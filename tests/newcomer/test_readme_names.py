# SPDX-License-Identifier: GPL-2.0-only
"""Every file, make target, package, program and option that README's commands and text name exists in this tree.

Needs no network. test_newcomer.py types the commands.
"""
import re
import shlex
import subprocess

import pytest
import readme_blocks
from readme_blocks import TOP

MAKEFILE = (TOP / "Makefile").read_text()
TARGETS = set(re.findall(r"(?m)^([a-z][\w -]*):(?!=)", MAKEFILE))
CONTROL = dict(re.findall(r"(?m)^Package: (\S+)(?:\n.*)*?\nArchitecture: (\S+)", (TOP / "packaging/debian/control").read_text()))
OPTIONS = set(re.findall(r'\.name = "([\w-]+)"', (TOP / "zext4/options.c").read_text()))
# ext4's and mount's own, in zext4(5) and fstab(5).
OTHER_OPTIONS = {"defaults", "nofail", "x-systemd.device-timeout", "fast_commit"}
# What the user's Debian has, and the words that they take.
DEBIAN = {"sudo": None, "reboot": 0, "mount": None, "umount": 1, "apt": None, "make": None}
APT = {"update", "install", "purge"}
PLACES = re.compile(r"/dev/sdX1|/mnt|/etc/(fstab|apt/sources\.list)")


def installed():
    """The programs that zjournal-tools installs."""
    make = subprocess.run(["make", "-n", "-C", TOP / "user", "install", "O=/o", "PREFIX=/usr", "DESTDIR=/d"], check=True,
                          capture_output=True, text=True).stdout
    return {word.rsplit("/", 1)[-1] for line in make.replace("\\\n", " ").splitlines()
            for folder, words in re.findall(r"install .*-t (\S+) (.*)", line) if re.fullmatch("/d/usr/s?bin", folder)
            for word in words.split()}


PROGRAMS = installed()
MANUAL = (TOP / "man/zjctl.8").read_text()
COMMANDS = set(re.findall(r"(?m)^\.Ss ([a-z][\w-]*)", MANUAL)) | {"help", "version"}
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md", "bench/README.md",
             *(f"docs/{path.name}" for path in sorted((TOP / "docs").glob("*.md")))]


def wrong_option(option):
    name = option.split("=")[0]
    return [] if name in OPTIONS | OTHER_OPTIONS else [f"option {option}"]


def wrong_make(words):
    return [f"make {word}" for word in words
            if (not re.search(rf"\b{word.split('=')[0]}\b", MAKEFILE) if "=" in word else word not in TARGETS)]


def wrong_package(word):
    """A package that apt is given: a file that make deb makes, or a name."""
    made = re.fullmatch(r"\./build/deb/([\w-]+)_\*\.deb", word)
    if made:
        return [] if made.group(1) in CONTROL else [f"package {word}"]
    # What tools/deps wants is in Debian.
    known = set(CONTROL) | set((TOP / "tools/deps").read_text().replace('"', " ").split())
    return [] if word in known else [f"package {word}"]


def wrong_apt(words):
    found = [] if words and words[0] in APT else [f"apt {words[:1]}"]
    for word in words[1:]:
        found += [] if word == "-y" else [f"apt's option {word}"] if word.startswith("-") else wrong_package(word)
    return found


def wrong_words(words):
    """Of a program of ours, or mount: its subcommand, options, and the places of the machine."""
    found = []
    for i, word in enumerate(words):
        if words[i - 1] in ("-t", "-o") and i:
            found += [] if word in ("zext4", "ext4") else [f"word {word}"]
        elif not PLACES.fullmatch(word) and word not in ("-t", "-o"):
            found.append(f"word {word}")
    return found


def wrong(line):
    """What a command names that is not there."""
    found = []
    for part in line.split("&&"):
        program, *words = [word for word in shlex.split(part) if word != "sudo"]
        if program == "make":
            found += wrong_make(words)
        elif program == "apt":
            found += wrong_apt(words)
        elif program == "zjctl":
            found += ([] if words and words[0] in COMMANDS else [f"zjctl {words[:1]}"]) + wrong_words(words[1:])
        elif program in DEBIAN or program in PROGRAMS:
            found += wrong_words(words)
        else:
            found.append(f"program {program}")
    return found


def wrong_in_text(name):
    """The same for what the text has in backquotes, if it is a command, an option or a file."""
    if re.match(r"(sudo|make|zjctl) ", name):
        return wrong(name)
    if re.fullmatch(r"[\w-]+=\w+", name):
        return wrong_option(name)
    if name.startswith("/"):
        return [] if PLACES.fullmatch(name) else [f"file {name}"]
    return []


@pytest.mark.parametrize("line", readme_blocks.commands())
def test_command(line):
    assert wrong(line) == []


@pytest.mark.parametrize("name", sorted(set(readme_blocks.in_text())))
def test_text(name):
    assert wrong_in_text(name) == []


def wrong_option_of_zjctl(word):
    name = re.match("--([a-z0-9-]+)", word).group(1)
    return [] if re.search(rf"Fl -{name}\b", MANUAL) or name in ("help", "version") else [f"option {word}"]


def wrong_of_document(text):
    """Commands and options of zjctl, and targets of make, wherever a document names them."""
    found = []
    for line in readme_blocks.in_text(text) + [line for block in readme_blocks.blocks(text=text) for line in block.splitlines()]:
        program, _, rest = re.sub(r"^sudo |\s+#.*", "", line).partition(" ")
        words = re.sub(r"""'[^']*'|"[^"]*"|\\$""", "", rest).split()
        if program == "zjctl" and words:
            found += [] if words[0] in COMMANDS or words[0].startswith("-") else [f"zjctl {words[0]}"]
            found += [text for word in words if word.startswith("--") for text in wrong_option_of_zjctl(word)]
        elif program == "make" and words and words[0] not in ("-C", "-f"):
            found += wrong_make(word for word in words if re.fullmatch(r"[a-z][\w-]*|[A-Z_]+=\S*", word))
    return found


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document(name):
    assert wrong_of_document((TOP / name).read_text()) == []


def test_line_of_fstab():
    device, folder, kind, options, dump, order = readme_blocks.line_of("Use it", "/dev/sdX1 /mnt").split()
    assert PLACES.fullmatch(device) and PLACES.fullmatch(folder) and kind == "zext4" and dump + order == "02"
    assert [text for option in options.split(",") for text in wrong_option(option)] == []


def test_line_of_sources_is_the_one_that_is_said():
    """packaging/kernel-sources says where it is missing."""
    assert f'"{readme_blocks.line_of("Use it", "deb ")}"' in (TOP / "packaging/kernel-sources").read_text()


def test_install_has_the_same_commands():
    text = (TOP / "docs/install.md").read_text()
    for line in readme_blocks.line_of("Use it", "sudo apt update"), readme_blocks.line_of("Use it", "sudo apt install"):
        assert f"\n{line}\n" in text


def test_what_is_wrong_is_seen():
    line = ("make demmo && sudo apt insert make && sudo apt install -q ./build/deb/zjournal-dkm_*.deb && apt-gt update &&"
            " sudo mkfs.zext5 /dev/sdX1 && mount -t zext5 /dev/sdX /mnt && make bench DIV=/dev/sdX1 && zjctl recovr /dev/sdX1"
            " && sudo apt install -y makee")
    assert wrong(line) == ["make demmo", "apt ['insert']", "apt's option -q", "package ./build/deb/zjournal-dkm_*.deb",
                           "program apt-gt", "program mkfs.zext5", "word zext5", "word /dev/sdX", "make DIV=/dev/sdX1",
                           "zjctl ['recovr']", "package makee"]
    assert wrong_in_text("lane=1") + wrong_in_text("/etc/fstap") == ["option lane=1", "file /etc/fstap"]
    assert wrong_of_document("`zjctl inof x` `zjctl info --nvn=x` `make demmo`") == ["zjctl inof", "option --nvn=x", "make demmo"]
    assert readme_blocks.commands(text="```\nsudo a b   # c\nd\n```\n```\ndeb x\n```\n") == ["sudo a b", "d"]
