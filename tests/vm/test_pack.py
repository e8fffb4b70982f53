# SPDX-License-Identifier: GPL-2.0-only
"""What a machine boots: the kernel without its compression, and modules without what only a debugger reads."""

import lzma
import struct
import subprocess
import zlib

import pytest

import bare
import pack
import vm

NOTE = struct.pack("<III", 4, 8, 18) + b"Xen\0" + bytes(8)
ELF = b"\x7fELF" + bytes(1000) + NOTE + bytes(5000)


def gzipped(data):
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush()


def zstd(data):
    return subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout


def image_of(path, compressed):
    """A bzImage of two sectors and what is compressed, which has its length behind it."""
    head = bytearray(1024)
    head[0x1f1] = 1
    head[0x202:0x206] = b"HdrS"
    compressed += struct.pack("<I", len(ELF))
    struct.pack_into("<II", head, 0x248, 100, len(compressed))
    path.write_bytes(bytes(head) + bytes(100) + compressed + b"what follows")
    return path


@pytest.mark.parametrize("pack_it", [gzipped, zstd, lambda data: lzma.compress(data, check=lzma.CHECK_CRC32)],
                         ids=["gzip", "zstd", "xz"])
def test_a_kernel_is_unpacked_once(tmp_path, pack_it):
    image = image_of(tmp_path / "vmlinuz-1.2", pack_it(ELF))
    found = bare.kernel(image, tmp_path / "cache")
    assert found.read_bytes() == ELF
    found.write_bytes(b"kept")
    assert bare.kernel(image, tmp_path / "cache") == found and found.read_bytes() == b"kept"
    # Another kernel of the same name.
    image_of(image, pack_it(ELF + b"more"))
    assert bare.kernel(image, tmp_path / "cache").read_bytes() == ELF + b"more"


@pytest.mark.parametrize("content", [b"", b"short", gzipped(ELF.replace(b"Xen", b"Zen")), b"\x1f\x8bdamaged", zstd(ELF)[:-9],
                                     b"\xfd7zXZdamaged"])
def test_what_has_no_entry_is_booted_as_it_is(tmp_path, content):
    image = image_of(tmp_path / "vmlinuz", content)
    assert bare.kernel(image, tmp_path / "cache") == image == bare.kernel(image, tmp_path / "cache")
    image.write_bytes(content)
    assert bare.kernel(image, tmp_path / "cache") == image


def test_the_installed_kernel_is_unpacked(tmp_path):
    """Else every boot would take longer, and nobody would notice."""
    assert bare.kernel(vm.Kernel.find().image, tmp_path).parent == tmp_path


def test_modules_are_code_and_data(tmp_path):
    """Ours are the ones that were built, without .debug_info; the kernel's are without their signature."""
    for module in vm.Kernel.find().own_modules():
        small = tmp_path / module.name
        small.write_bytes(pack.stripped(module))

        def section(path, name):
            subprocess.run(["objcopy", "-O", "binary", "--only-section", name, path, tmp_path / "section"], check=True)
            return (tmp_path / "section").read_bytes()
        assert section(small, ".text") == section(module, ".text")
        assert small.stat().st_size < module.stat().st_size / 2
    signature = b"signature"
    tail = signature + bytes(8) + len(signature).to_bytes(4, "big") + pack.SIGNED
    assert pack.unsigned(b"\x7fELF module" + tail) == b"\x7fELF module" == pack.unsigned(b"\x7fELF module")
