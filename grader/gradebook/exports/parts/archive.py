"""Zip archives whose bytes depend on nothing but their members: fixed dates, sorted, no machine."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_EARLIEST = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


def zipped(members: Mapping[str, bytes]) -> bytes:
    """Return a zip archive of the members, in the order of their names."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _EARLIEST)
            info.create_system = _UNIX
            info.external_attr = 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, members[name])
    return out.getvalue()
