"""Put a portfolio's files together, and write them as one zip: equal contents, equal bytes.

Only the manifest knows the day, so that everything else depends on the receipts alone.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence

from grader.errors import UsageProblem
from grader.portfolio import paths
from grader.portfolio.gather import Attempt
from grader.portfolio.limits import MOST_FILES, MOST_TOTAL_BYTES, is_bomb
from grader.portfolio.manifest import manifest, to_json

Sign = Callable[[bytes], bytes]
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


def contents(
    attempts: Sequence[Attempt],
    submissions: Mapping[str, bytes],
    index: str,
    created_at: str,
    sign: Sign | None = None,
) -> dict[str, bytes]:
    """Return every file of a portfolio, path -> content, the manifest and its signature too.

    `sign` makes the signature's file from the manifest's bytes.

    Raises: UsageProblem where it is more than could be restored.
    """
    files = {paths.INDEX: index.encode(), **submissions}
    for one in attempts:
        for ending, raw in one.forms.items():
            files[f"{paths.RECEIPTS}/{one.place}.{ending}"] = raw
    total = sum(map(len, files.values()))
    if len(files) > MOST_FILES - 2 or total > MOST_TOTAL_BYTES:
        raise UsageProblem(
            f"the portfolio would hold {len(files)} files of {total >> 20} MiB together",
            next_step=f"at most {MOST_FILES - 2} files and {MOST_TOTAL_BYTES >> 20} MiB can be "
            "restored: make one portfolio for each exercise's folder",
        )
    files[paths.MANIFEST] = to_json(manifest(files, created_at))
    if sign is not None:
        files[paths.SIGNATURE] = sign(files[paths.MANIFEST])
    return files


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip of these files in the order of their names, with one date for all."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _EARLIEST)
            info.create_system = _UNIX
            info.external_attr = 0o100644 << 16
            info.compress_type = _method(files[name])
            archive.writestr(info, files[name], compresslevel=6)
    return out.getvalue()


def _method(raw: bytes) -> int:
    # What packs as well as a bomb would be refused as one.
    packs = is_bomb(len(raw), 0) and is_bomb(len(raw), len(zlib.compress(raw, 6)))
    return zipfile.ZIP_STORED if packs else zipfile.ZIP_DEFLATED
