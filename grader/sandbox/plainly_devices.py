"""Plain words for errors about devices, meshes, axes, specifications and collectives."""

from __future__ import annotations

import re

from grader.sandbox.meaning import Plain, Raised, Rule, counted, shape
from grader.sandbox.words import code

_FLAG = "xla_force_host_platform_device_count"
_DEVICES = re.compile(r"\b(?:devices|device_count|local_device_count)\b")
_COLLECTIVE = re.compile(
    r"\b(psum_scatter|psum|pmean|pmax|pmin|ppermute|pshuffle|pbroadcast|all_gather|all_to_all"
    r"|axis_index|axis_size|pvary|pcast)\("
)
_QUOTED = re.compile(r"['\"]([A-Za-z_]\w{0,40})['\"]")
_AXIS_STEP = "write the name that the mesh was made with, the same in P(…) and in every collective"
_TOO_LATE = (
    "XLA_FLAGS is read once, when JAX starts, and the grader has started it with four devices: ask"
    " for four; in a run of your own, set it before the first `import jax`"
)
_FOUR = "build the mesh from `jax.devices()`, which gives four here"
_REMOVE = "remove that line: the grader always gives four CPU devices"
_REPLICATION = (
    "where nothing was summed, sum with psum first; where each device keeps a piece of its own, say"
    " so, as in P('data'); check_vma=False is honest only where you can say why every device"
    " computes the same, as after an all_gather: anywhere else it hides a result that is right on"
    " one device only"
)


def _late(raised: Raised, step: str) -> str:
    return _TOO_LATE if _FLAG in raised.source else step


def _mesh_too_large(raised: Raised, m: re.Match[str]) -> Plain:
    what = f"the mesh of shape {shape(m[2])} needs more devices than the {m[1]} there are"
    return Plain(what, _late(raised, _FOUR))


def _mesh_reshaped(raised: Raised, m: re.Match[str]) -> Plain | None:
    if not _DEVICES.search(raised.call):
        return None
    what = f"there are {m[1]} devices, and they do not make up a mesh of shape {shape(m[2])}"
    return Plain(what, _late(raised, _FOUR))


def _no_such_device(raised: Raised, _m: re.Match[str]) -> Plain | None:
    if not _DEVICES.search(raised.call):
        return None
    what = f"there are four devices, numbered 0 to 3, and {code(raised.call)} asks for another"
    return Plain(what, _late(raised, _FOUR))


def _insists(raised: Raised, _m: re.Match[str]) -> Plain | None:
    if not raised.by_hand or not _DEVICES.search(raised.call):
        return None
    what = f"the module insists on another number of devices than four: {code(raised.call)}"
    return Plain(f"{what} does not hold", _late(raised, f"ask for four there; {_FOUR}"))


def _started(raised: Raised, m: re.Match[str]) -> Plain:
    wanted = re.search(r"device\w*['\"]?\s*[,=]\s*(\d{1,6})\b", raised.call)
    if m[1] == "jax_num_cpu_devices" and wanted:
        asked = counted(wanted[1], "CPU device")
        return Plain(f"the module asks for {asked}, and JAX has started with four", _REMOVE)
    step = _REMOVE if m[1] == "jax_num_cpu_devices" else "remove that line"
    return Plain(f"`{m[1]}` is set too late: JAX has started its backend already", step)


def _distributed(_raised: Raised, _m: re.Match[str]) -> Plain:
    return Plain(
        "jax.distributed.initialize() comes too late: JAX has started its backend already",
        "remove that line: a solution is one process with four devices",
    )


def _no_platform(_raised: Raised, m: re.Match[str]) -> Plain:
    return Plain(
        f"there is no {m[1]} here: the module runs on {m[2]} devices",
        "leave the platform's name out: `jax.devices()` gives the devices there are",
    )


def _uneven(size: str, parts: str) -> str:
    if size.isdigit() and parts.isdigit() and int(parts) > 0 and int(size) > 0:
        left = int(size) % int(parts)
        over = f": {left} would be left over" if left and int(size) > int(parts) else ""
        return f"cannot be dealt out evenly to {counted(parts, 'device')}{over}"
    return f"cannot be dealt out evenly to {counted(parts, 'device')}"


_EVEN = (
    "split a dimension whose size is a multiple of the number of devices, or change that size;"
    " print the array's shape before that line"
)


def _indivisible(_raised: Raised, m: re.Match[str]) -> Plain:
    entries = f"the {m[3]} entries of dimension {m[1]} of an array of shape {shape(m[4])}"
    return Plain(f"{entries} {_uneven(m[3], m[2])}", _EVEN)


def _indivisible_block(_raised: Raised, m: re.Match[str]) -> Plain:
    spec = code(m[3])
    what = f"the {m[5]} entries of dimension {m[4]} of `{m[2]}`, of shape {shape(m[1])},"
    return Plain(f"{what} {_uneven(m[5], m[6])}, as {spec} asks", _EVEN)


def _indivisible_scatter(_raised: Raised, m: re.Match[str]) -> Plain:
    what = f"psum_scatter gives each device an equal piece, and {counted(m[1], 'value')}"
    return Plain(f"{what} {_uneven(m[1], m[2])}", _EVEN)


def _indivisible_exchange(_raised: Raised, m: re.Match[str]) -> Plain:
    what = f"all_to_all sends each device an equal piece, and {counted(m[1], 'entry')}"
    return Plain(f"{what.replace('entrys', 'entries')} {_uneven(m[1], m[3])}", _EVEN)


def _untiled_scatter(_raised: Raised, m: re.Match[str]) -> Plain:
    return Plain(
        f"psum_scatter without tiled=True wants one entry for each device, {m[2]} in all, and"
        f" was given {m[1]}",
        "say tiled=True: then each device gets an equal piece of the dimension that is there",
    )


def _replication(_raised: Raised, m: re.Match[str]) -> Plain:
    return Plain(
        f"out_specs say that `{m[1]}` returns the same on every device, and JAX cannot see that"
        " it does",
        _REPLICATION,
    )


def _axis_of_a_collective(raised: Raised, m: re.Match[str]) -> Plain | None:
    # JAX checks this with an assertion that says nothing.
    call = m[1] or raised.call
    called = _COLLECTIVE.search(call)
    if raised.by_hand or not called:
        return None
    quoted = _QUOTED.findall(call)
    axis = f"the axis '{quoted[-1]}'" if quoted else "an axis"
    return Plain(
        f"`{called[1]}` works over {axis}, which the mesh does not have", _AXIS_STEP, False
    )


def _axis_unbound(_raised: Raised, m: re.Match[str]) -> Plain:
    called = re.search(r"please call (\w{1,40}) under", m.string)
    who = f"`{called[1]}`" if called else "a collective"
    return Plain(
        f"{who} works over the axis '{m[1]}', and there is no such axis where it is called",
        "call it inside the function that jax.shard_map is given, and name the axis as the mesh"
        " does: jax.jit alone has no axes",
    )


def _axis_not_told(_raised: Raised, m: re.Match[str]) -> Plain:
    return Plain(
        f"`{m[1]}` is not told over which axis of the mesh to work",
        "give it the axis of the mesh as its second argument",
    )


def _axis_of_specs(_raised: Raised, m: re.Match[str]) -> Plain:
    axes = " and ".join(f"'{name}'" for name in _QUOTED.findall(m[2]))
    return Plain(f"{m[1]} name the axis '{m[3]}', and the mesh has {axes}", _AXIS_STEP)


def _axis_of_sharding(_raised: Raised, m: re.Match[str]) -> Plain:
    axes = " and ".join(f"'{name}'" for name in _QUOTED.findall(m[3]))
    return Plain(f"{code(m[2])} names the axis '{m[1]}', and the mesh has {axes}", _AXIS_STEP)


def _specs_counted(_raised: Raised, m: re.Match[str]) -> Plain:
    entries = f"{counted(m[2], 'entry').replace('entrys', 'entries')}"
    if m[1] == "in":
        what = f"in_specs has {entries}, and the function is called with"
        return Plain(
            f"{what} {counted(m[3], 'argument')}",
            "give in_specs one entry for each argument, and call the function with as many",
        )
    return Plain(
        f"out_specs has {entries}, and the function returns {counted(m[3], 'value')}",
        "give out_specs one entry for each value that is returned",
    )


def _specs_of_type(_raised: Raised, m: re.Match[str]) -> Plain | None:
    if m[2] == "ellipsis":
        return None
    return Plain(
        f"{m[1]} holds a {m[2]} where a P(…) belongs",
        "write each entry as a PartitionSpec: P('data') for a split, P() for the whole",
    )


def _spec_too_long(_raised: Raised, m: re.Match[str]) -> Plain:
    owner = "argument" if m[1].startswith("in") else "result"
    has = counted(m[4], "dimension")
    return Plain(
        f"{m[1]} is {code(m[2])}, for {counted(m[3], 'dimension')}, and the {owner} has {has}",
        "a P(…) has at most one entry for each dimension: P() describes a single number too",
    )


def _sharding_too_long(_raised: Raised, m: re.Match[str]) -> Plain:
    return Plain(
        f"{code(m[1])} describes {counted(m[2], 'dimension')}, and the array has {m[3]}",
        "use a sharding with one entry for each dimension of the array",
    )


def _devices_apart(_raised: Raised, m: re.Match[str]) -> Plain:
    return Plain(
        f"arrays on different devices meet in one operation: on {m[1]}, and on {m[2]}",
        "place both with jax.device_put on the same mesh",
    )


_SPEC = r"(P\([\w', ()]{0,60}\))"
RULES: tuple[Rule, ...] = (
    (
        r"Number of devices (\d{1,6}) must be >= the product of mesh_shape \(([\d, ]{1,60})\)",
        _mesh_too_large,
    ),
    (r"cannot reshape array of size (\d{1,6}) into shape \(([\d, ]{1,60})\)", _mesh_reshaped),
    (r"^IndexError: (?:list )?index", _no_such_device),
    (r"^AssertionError", _insists),
    (r"\b(jax_\w{1,60}) config should be updated before backends", _started),
    (r"jax\.distributed\.initialize\(\) must be called before", _distributed),
    (
        r"Unknown backend: '?(\w{1,20})'? requested.*Platforms present are: ([\w, ]{1,60})",
        _no_platform,
    ),
    (
        r"array axis (\d{1,3}) is partitioned (\d{1,6}) times, but the dimension size is (\d{1,9})"
        r" \(full shape: \(([\d, ]{1,60})\)",
        _indivisible,
    ),
    (
        r"args(?:\[\d+\])? of shape \w+\[([\d,]{1,60})\], where args(?:\[\d+\])? is bound to"
        r" [\w.<>]{1,80}"
        r"'s parameter '(\w{1,60})', corresponds to in_specs(?:\[\d+\])? of value "
        + _SPEC
        + r", which maps array axis (\d{1,3}) \(of size (\d{1,9})\) to mesh axis '\w{1,40}'"
        r" \(of size (\d{1,6})\)",
        _indivisible_block,
    ),
    (
        r"scatter dimension size (\d{1,9}) must be divisible by shard_count (\d{1,6})",
        _indivisible_scatter,
    ),
    (
        r"all_to_all split_axis \((\d{1,9})\) has to be divisible by the size of the named axis"
        r" (\w{1,40}) \((\d{1,6})\)",
        _indivisible_exchange,
    ),
    (r"scatter dimension size (\d{1,9}) must match shard count (\d{1,6})", _untiled_scatter),
    (
        r"applied to the function '([\w.<>]{1,80})' was given out_specs which require replication",
        _replication,
    ),
    (r"^AssertionError(?:: in (\w{1,40}\([\w', ]{0,60}\)))?$", _axis_of_a_collective),
    (r"unbound axis name: (\w{1,40})", _axis_unbound),
    (r"\b(\w{1,40})\(\) missing 1 required positional argument: 'axis_name'", _axis_not_told),
    (
        r"(in_specs|out_specs) argument must refer to an axis marked as manual"
        r" \(frozenset\(\{([\w', ]{1,120})\}\)\), but:.*? refers to '(\w{1,40})'",
        _axis_of_specs,
    ),
    (
        r"Resource axis: (\w{1,40}) of " + _SPEC + r" is not found in mesh: \(([\w', ]{1,120})\)",
        _axis_of_sharding,
    ),
    (
        r"different lengths of tuple at key path\s+shard_map (in|out)_specs\b.*? of length"
        r" (\d{1,4}),"
        r" but the full pytree has a subtree of the same type but of length (\d{1,4})",
        _specs_counted,
    ),
    (
        r"(in_specs|out_specs) argument must be a pytree of .{0,80}instances, but:.{0,200}?"
        r" is (?:data )?of type (\w{1,40})",
        _specs_of_type,
    ),
    (
        r"((?:in|out)_specs(?:\[\d{1,3}\])?) is "
        + _SPEC
        + r" which has length (\d{1,3}), but .{0,300}?which has rank (\d{1,3})",
        _spec_too_long,
    ),
    (
        r"spec="
        + _SPEC
        + r"[^)]{0,80}\) is only valid for values of rank at least (\d{1,3}), but was applied to a"
        r" value of rank (\d{1,3})",
        _sharding_too_long,
    ),
    (
        r"incompatible devices for jitted computation.*?device ids (\[[\d, ]{1,60}\]).*?device ids"
        r" (\[[\d, ]{1,60}\])",
        _devices_apart,
    ),
)
