"""What stands around the contents in a portfolio's zip: byte for byte, one way to write it.

Two readers of one zip may believe different lists of it; of this form there is one list alone.
Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3.7 and 4.3.12.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import BinaryIO

_VERSION = 20
_DATE = 0x0021  # 1980-01-01, the first day that a zip knows
_UNIX = 3
_MODE = 0o100644 << 16
_UTF8 = 0x800


def is_framed(file: BinaryIO, infos: Sequence[zipfile.ZipInfo], list_at: int) -> bool:
    """Return whether all but the contents is as `grader.portfolio.pack.zipped` writes it.

    `infos` are the members as some reader sees them; `list_at` is where the list of members
    begins, which ends right before the last 22 bytes. Nothing is left between or behind them.
    """
    names = [info.filename for info in infos]
    if names != sorted(names):
        return False
    at, listed = 0, bytearray()
    for info in infos:
        name = info.filename.encode()
        header = b"PK\x03\x04" + struct.pack("<H", _VERSION) + _facts(info, name) + name
        file.seek(at)
        if file.read(len(header)) != header:
            return False
        listed += b"PK\x01\x02" + struct.pack("<2BH", _VERSION, _UNIX, _VERSION)
        listed += _facts(info, name) + struct.pack("<3H2L", 0, 0, 0, _MODE, at) + name
        at += len(header) + info.compress_size
    file.seek(-22, os.SEEK_END)
    (count,) = struct.unpack("<10xH10x", file.read(22))
    file.seek(list_at)
    return at == list_at and count == len(infos) and file.read()[:-22] == listed


def content(file: BinaryIO, info: zipfile.ZipInfo) -> bytes | None:
    """Return what a member of a framed zip holds; None where its bytes are not that alone."""
    file.seek(info.header_offset + 30 + len(info.filename.encode()))
    packed = file.read(info.compress_size)
    raw = packed
    if info.compress_type == zipfile.ZIP_DEFLATED:
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        raw = unpacker.decompress(packed, info.file_size + 1)
        if not unpacker.eof or unpacker.unused_data:
            return None
    fits = len(raw) == info.file_size and zlib.crc32(raw) == info.CRC
    return raw if fits else None


def _facts(info: zipfile.ZipInfo, name: bytes) -> bytes:
    """Return the part that both headers of a member have; there is no extra field in either."""
    flags = 0 if name.isascii() else _UTF8
    sizes = (info.CRC, info.compress_size, info.file_size, len(name), 0)
    return struct.pack("<4H3L2H", flags, info.compress_type, 0, _DATE, *sizes)
