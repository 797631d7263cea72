"""How the lesson stores an argument on a mesh; runs in the children, where JAX is."""

from __future__ import annotations

from typing import Any

from jax.sharding import Mesh, NamedSharding, PartitionSpec


def sharding(mesh: Mesh, rank: int, split: int | None) -> NamedSharding:
    """Return the sharding of an argument with `rank` dimensions.

    Args:
        mesh: any mesh; all of its axes with more than one device count, in order.
        rank: number of dimensions of the global array.
        split: the dimension cut over those axes, None for a replicated argument.
    """
    names = tuple(n for n, size in mesh.shape.items() if size > 1) or mesh.axis_names[:1]
    axes: Any = names[0] if len(names) == 1 else names
    if split is None:
        return NamedSharding(mesh, PartitionSpec())
    return NamedSharding(mesh, PartitionSpec(*(axes if d == split else None for d in range(rank))))
