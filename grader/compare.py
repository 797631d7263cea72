"""Compare arrays shard by shard; an assembled array can look right while a replica is wrong.

Everything fails closed: a NaN, a missing shard or an unexpected shape is never equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.records.evidence import Shard

Array = np.ndarray[Any, Any]
# One global array for every device, or one full view for each.
Reference = Array | tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far the shards are from a reference.

    `worst` is the largest difference divided by the largest absolute reference value (infinite
    where shapes differ or a value is not finite); `wrong_devices` lists device ids.
    """

    equal: bool
    worst: float
    wrong_devices: tuple[int, ...]
    covered: bool


def shards(
    found: Sequence[Shard], shape: tuple[int, ...], reference: Reference, atol: float
) -> Comparison:
    """Compare every device's shard with its slice of `reference`.

    Args:
        found: one shard for each device, in any order.
        shape: global shape of the array the shards belong to.
        reference: global array, or a tuple with one global view per position by device id.
        atol: largest absolute difference that counts as equal.
    """
    per_device = reference if isinstance(reference, tuple) else (reference,) * len(found)
    ordered = sorted(found, key=lambda shard: shard.device)
    if not ordered or len(per_device) != len(ordered) or shape != per_device[0].shape:
        return Comparison(False, math.inf, tuple(s.device for s in ordered), False)
    scale = max(float(np.abs(view).max(initial=0.0)) for view in per_device)
    worst, wrong = 0.0, []
    for shard, view in zip(ordered, per_device, strict=True):
        gap = _gap(shard, view)
        # The tolerance follows from a learner's own numbers, and may be infinite itself.
        if not gap <= atol or gap == math.inf:
            wrong.append(shard.device)
        worst = max(worst, gap)
    covered = _covers(ordered, shape)
    relative = worst / scale if scale > 0 else (0.0 if worst == 0 else math.inf)
    return Comparison(not wrong and covered, relative, tuple(wrong), covered)


def _gap(shard: Shard, view: Array) -> float:
    part = view[tuple(slice(start, stop) for start, stop in shard.index)]
    # No truth value is a number, nor a complex one an answer where a real one is asked for.
    kinds = "iufc" if np.iscomplexobj(view) else "iuf"
    if part.shape != shard.data.shape or shard.data.dtype.kind not in kinds:
        return math.inf
    with np.errstate(over="ignore", invalid="ignore"):
        difference = np.abs(np.asarray(shard.data, dtype=np.complex128) - part)
    if not np.all(np.isfinite(difference)):
        return math.inf
    return float(difference.max(initial=0.0))


def _covers(found: Sequence[Shard], shape: tuple[int, ...]) -> bool:
    seen = np.zeros(shape, dtype=bool)
    for shard in found:
        seen[tuple(slice(start, stop) for start, stop in shard.index)] = True
    return bool(seen.all())


def assemble(found: Sequence[Shard], shape: tuple[int, ...]) -> Array | None:
    """Return the global array the shards make, None where they leave a gap.

    The lowest device id wins where replicas differ, as `np.asarray` would have it.
    """
    if not found or not _covers(found, shape):
        return None
    whole = np.zeros(shape, dtype=found[0].data.dtype)
    for shard in sorted(found, key=lambda shard: -shard.device):
        index = tuple(slice(start, stop) for start, stop in shard.index)
        if whole[index].shape != shard.data.shape:
            return None
        whole[index] = shard.data
    return whole


def array(found: Array, reference: Array, atol: float) -> bool:
    """Return whether a host array has the reference's shape and values."""
    if found.shape != reference.shape or not np.issubdtype(found.dtype, np.number):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        difference = np.abs(np.asarray(found, dtype=np.complex128) - reference)
    return bool(np.all(np.isfinite(difference)) and difference.max(initial=0.0) <= atol)


def layout(found: Sequence[Shard], shape: tuple[int, ...]) -> str:
    """Return how an array is stored: `replicated`, `split`, or `other`.

    `split` means that one dimension is cut into equal, disjoint pieces that cover it.
    """
    if len(found) < 2:
        return "other"
    whole = tuple((0, extent) for extent in shape)
    if all(shard.index == whole for shard in found):
        return "replicated"
    indices = {shard.index for shard in found}
    if len(indices) == len(found) and _covers(found, shape):
        cut = {
            dim
            for dim, extent in enumerate(shape)
            if any(shard.index[dim] != (0, extent) for shard in found)
        }
        disjoint = sum(shard.data.size for shard in found) == math.prod(shape)
        sizes = {shard.data.shape for shard in found}
        return "split" if len(cut) == 1 and len(sizes) == 1 and disjoint else "other"
    return "other"


def in_device_order(found: Sequence[Shard]) -> bool:
    """Return whether the slices rise with the device id."""
    starts = [shard.index for shard in sorted(found, key=lambda shard: shard.device)]
    return starts == sorted(starts)


def stored(found: Sequence[Shard]) -> list[list[int]]:
    """Return the per-device shapes, ordered by device id."""
    return [list(s.data.shape) for s in sorted(found, key=lambda shard: shard.device)]


def elsewhere(
    name: str,
    found: Sequence[Shard],
    shape: tuple[int, ...],
    wanted: str,
    piece: tuple[int, ...] | None,
) -> str:
    """Return how a right array is stored in place of `wanted`, nothing where it is stored so.

    Args:
        name: what the array is called.
        found: one shard for each device, in any order.
        shape: its global shape.
        wanted: a layout of `layout`.
        piece: the shape on each device, None for any.
    """
    shapes = {tuple(one) for one in stored(found)}
    right = layout(found, shape) == wanted and piece in (None, *shapes)
    if right and len(shapes) == 1 and len(found) == 4:
        return ""
    pieces = " and ".join(str(one) for one in sorted(shapes))
    where = "one device" if len(found) == 1 else f"each of {len(found)} devices"
    message = f"`{name}` has the right values but is stored as {pieces} on {where}"
    if piece is not None and shapes != {piece}:
        message += f", not as {piece} on each of four"
    return message
