# SPDX-License-Identifier: GPL-2.0-only
"""The kernel without its compression, which emulation takes longer to undo than this machine does."""

import lzma
import os
import re
import struct
import subprocess
import zlib
from pathlib import Path

# ELF note of an entry that QEMU can jump to: the name Xen, and the type 18.
ENTRY = re.compile(rb"\x04\0\0\0[\x04\x08]\0\0\0\x12\0\0\0Xen\0")


def decompress(data):
    """What a bzImage has compressed, or None; behind it the image has its length, in four bytes."""
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        done = subprocess.run(["zstd", "-dcq"], input=data[:-4], capture_output=True, check=False)
        return done.stdout if done.returncode == 0 else None
    try:
        if data.startswith(b"\xfd7zXZ"):
            return lzma.LZMADecompressor().decompress(data)
        if data.startswith(b"\x1f\x8b"):
            return zlib.decompressobj(31).decompress(data)
    except (zlib.error, lzma.LZMAError):
        pass
    return None


def payload(image):
    """The compressed part of a bzImage, by its header (Documentation/arch/x86/boot.rst)."""
    if image[0x202:0x206] != b"HdrS":
        return b""
    offset, length = struct.unpack_from("<II", image, 0x248)
    begin = ((image[0x1f1] or 4) + 1) * 512 + offset
    return image[begin:begin + length]


def kernel(image, cache):
    """The file that QEMU boots: the bare kernel, or the image where that is not to be had."""
    image = Path(image)
    stat = image.stat()
    bare = Path(cache) / f"{image.name}-{stat.st_size}-{stat.st_mtime_ns}"
    if not bare.exists():
        try:
            elf = decompress(payload(image.read_bytes())) or b""
        except FileNotFoundError:    # no zstd, which tools/deps installs
            return image
        bare.parent.mkdir(parents=True, exist_ok=True)
        young = bare.with_name(f"{bare.name}.{os.getpid()}")
        # An empty file says that there is none.
        young.write_bytes(elf if elf.startswith(b"\x7fELF") and ENTRY.search(elf) else b"")
        young.rename(bare)
    return bare if bare.stat().st_size else image
