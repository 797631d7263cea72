"""The truth of distributed-04 in plain NumPy: training that draws its batches from a key.

A state is weights, momentum, key, order, cursor and step. One transition takes the batch that the
order names from the cursor on, makes one momentum step, and closes the epoch after its last batch.
Values are float64; keys are uint32 and positions int32, which are compared exactly.
"""

from __future__ import annotations

import functools

import numpy as np

DEVICES = 4
ROWS, FEATURES, BATCH = 12, 8, 4
DECAY, RATE = 0.8, 0.04
RESULTS = ("w", "v", "key", "order", "cursor", "step", "ids")
LEAVES = RESULTS[:-1]
BEFORE, SHORT, LONG = 2, 3, 5  # transitions to the checkpoint, and from there

# ----------------------------------------------------------------- random numbers as JAX makes them

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key, high, low):
    """Return two words for each pair of counters: threefry2x32 with its twenty rounds.

    As `threefry2x32` in jax/_src/prng.py, in newer versions jax/_src/random/threefry2x32.py.
    """
    k0, k1 = (np.uint32(word) for word in key)
    schedule = (k0, k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA))
    x = [np.asarray(high, np.uint32) + k0, np.asarray(low, np.uint32) + k1]
    for group in range(5):
        for turn in _ROTATIONS[group % 2]:
            x[0] = x[0] + x[1]
            x[1] = (x[1] << np.uint32(turn)) | (x[1] >> np.uint32(32 - turn))
            x[1] = x[0] ^ x[1]
        x[0] = x[0] + schedule[(group + 1) % 3]
        x[1] = x[1] + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x


@functools.cache
def _bits(key, count):
    """Return two words for each of `count` counters; the same few keys are asked for many times."""
    high, low = threefry(key, np.zeros(count, np.uint32), np.arange(count, dtype=np.uint32))
    return high, low


def split(key):
    """Return the two keys of `jax.random.split(key)`: (2,) uint32 each."""
    return tuple(np.stack(_bits(tuple(map(int, key)), 2), axis=1))


def permutation(key, values=None):
    """Return `jax.random.permutation(key, 12)`, or of `values`, as `_shuffle` in jax.random does.

    One round is enough for twelve values; bits are those of `jax_threefry_partitionable`.
    """
    values = np.arange(ROWS, dtype=np.int32) if values is None else np.asarray(values)
    _, drawn = split(key)
    high, low = _bits(tuple(map(int, drawn)), ROWS)
    return values[np.argsort(high ^ low, kind="stable")]


# -------------------------------------------------------------------------- the exercise's own data

XH = (np.arange(ROWS * FEATURES, dtype=np.float32).reshape(ROWS, FEATURES) * 7 % 13 - 6) / 8
YH = XH @ np.linspace(-1, 0.75, FEATURES, dtype=np.float32)
WH = np.linspace(0.2, -0.15, FEATURES, dtype=np.float32)
SEED_KEY = np.array([0, 7], dtype=np.uint32)
OTHER_KEY = np.array([0, 8], dtype=np.uint32)


def start():
    """Return the state that training begins with: the first order is drawn already."""
    key, drawn = split(SEED_KEY)
    return {
        "w": WH.astype(np.float64),
        "v": np.zeros(FEATURES),
        "key": key,
        "order": permutation(drawn),
        "cursor": np.int32(0),
        "step": np.int32(0),
    }


# ----------------------------------------------------------------------------------- one transition


def gradient(w, x, y, divisor=None):
    """Return the gradient of the mean squared error over the rows of `x`."""
    w, x, y = (np.asarray(a, dtype=np.float64) for a in (w, x, y))
    return 2 * x.T @ (x @ w - y) / (divisor or len(y))


def transition(state, xs, ys, rule="right"):
    """Return the next state and the `ids` of the batch; `rule` names a way to get it wrong."""
    if rule == "drawn-too-late" and state["cursor"] == ROWS:
        first, second = split(state["key"])
        state = state | {"key": first, "order": permutation(second), "cursor": np.int32(0)}
    # Beyond the end a slice of JAX is moved back.
    order, cursor = state["order"], min(int(state["cursor"]), ROWS - BATCH)
    ids = order[cursor : cursor + BATCH]
    if rule == "order-ignored":
        ids = np.arange(cursor, cursor + BATCH, dtype=np.int32)
    w, v = _update(state, xs, ys, ids, rule)
    key, order, cursor = _position(state, rule)
    if rule == "next-batch":
        first = min(int(cursor), ROWS - BATCH)
        ids = order[first : first + BATCH]
    step = state["step"] if rule == "step-not-counted" else state["step"] + np.int32(1)
    return {"w": w, "v": v, "key": key, "order": order, "cursor": cursor, "step": step, "ids": ids}


def _update(state, xs, ys, ids, rule):
    w, v = (np.asarray(state[name], dtype=np.float64) for name in ("w", "v"))
    g = {
        "whole-dataset": lambda: gradient(w, xs, ys),
        "divided-by-all-rows": lambda: gradient(w, xs[ids], ys[ids], ROWS),
        "sum-not-mean": lambda: gradient(w, xs[ids], ys[ids], 1),
        "factor-two-missing": lambda: gradient(w, xs[ids], ys[ids]) / 2,
        "sign": lambda: -gradient(w, xs[ids], ys[ids]),
    }.get(rule, lambda: gradient(w, xs[ids], ys[ids]))()
    new = (v if rule == "decay-missing" else DECAY * v) + g
    if rule == "averaged-momentum":
        new = DECAY * v + (1 - DECAY) * g
    change = {"old-momentum": v, "plain-descent": g}.get(rule, new)
    return (w + RATE * change if rule == "uphill" else w - RATE * change), new


def _position(state, rule):
    """Return key, order and cursor after a transition."""
    key, order, cursor = state["key"], state["order"], np.int32(state["cursor"] + BATCH)
    first, second = split(key)
    ended = cursor == ROWS
    if rule == "drawn-every-step":
        return first, permutation(second), np.int32(0) if ended else cursor
    if rule == "key-split-every-step" and not ended:
        return first, order, cursor
    if not ended or rule == "drawn-too-late":
        return key, order, cursor
    kept, drawn_with, shuffled = {
        "order-not-redrawn": (key, None, order),
        "order-not-redrawn/key": (first, None, order),
        "key-not-advanced": (key, second, None),
        "split-exchanged": (second, first, None),
        "key-used-twice": (first, key, None),
        "key-used-twice/second": (second, key, None),
        "key-used-twice/kept": (key, key, None),
        "key-used-twice/drawn": (second, second, None),
        "old-order-shuffled": (first, second, order),
    }.get(rule, (first, second, None))
    key, order = kept, order if drawn_with is None else permutation(drawn_with, shuffled)
    return key, order, cursor if rule == "cursor-not-reset" else np.int32(0)


RULES = (
    "whole-dataset",
    "divided-by-all-rows",
    "sum-not-mean",
    "factor-two-missing",
    "sign",
    "decay-missing",
    "averaged-momentum",
    "old-momentum",
    "plain-descent",
    "uphill",
    "order-ignored",
    "next-batch",
    "step-not-counted",
    "drawn-every-step",
    "key-split-every-step",
    "drawn-too-late",
    "cursor-not-reset",
    "order-not-redrawn",
    "order-not-redrawn/key",
    "key-not-advanced",
    "split-exchanged",
    "key-used-twice",
    "key-used-twice/second",
    "key-used-twice/kept",
    "key-used-twice/drawn",
    "old-order-shuffled",
)


# ------------------------------------------------------------------------------- programs, replayed


def cases(rng):
    """Return hidden states before, within and at the end of an epoch, and the exercise's own.

    `lesson` is the start, `end` a state of the exercise's own before an epoch's last batch.
    """
    drawn = {f"hidden_{n}": _drawn(rng, cursor) for n, cursor in enumerate((8, 0, 8, 4, 8))}
    own = [start(), transition_many(start(), BEFORE)[0]]
    for name, state in zip(("lesson", "end"), own, strict=True):
        drawn[name] = {"transition": _inputs(state, XH, YH)}
    return drawn


def _drawn(rng, cursor):
    """Return random inputs whose mistakes are far apart, in every weight and on every device."""
    while True:
        xs = rng.standard_normal((ROWS, FEATURES)).astype(np.float32)
        ys = (2 * rng.standard_normal(ROWS)).astype(np.float32)
        state = _state(rng, cursor)
        right = transition(state, xs, ys)
        apart = all(
            np.abs(right[name] - wrong[name]).max() > 0.01 * np.abs(right[name]).max()
            for rule in RULES[:11]
            for wrong in [transition(state, xs, ys, rule)]
            for name in ("w", "v")
            if not np.array_equal(wrong[name], right[name])
        )
        orders = {tuple(transition(state, xs, ys, rule)["order"]) for rule in RULES}
        batches = {tuple(transition(state, xs, ys, rule)["ids"]) for rule in RULES}
        if apart and len(batches) == 3 and (cursor != 8 or len(orders) == 5):
            return {"transition": _inputs(state, xs, ys)}


def _state(rng, cursor):
    """Return a random state with this cursor, of the dtypes that it has on the devices."""
    return {
        "w": rng.standard_normal(FEATURES).astype(np.float32),
        "v": (3 * rng.standard_normal(FEATURES)).astype(np.float32),
        "key": rng.integers(0, 2**32, 2, dtype=np.uint32),
        "order": rng.permutation(ROWS).astype(np.int32),
        "cursor": np.int32(cursor),
        "step": np.int32(rng.integers(3, 1000)),
    }


def _inputs(state, xs, ys):
    dtypes = (np.float32, np.float32, np.uint32, np.int32, np.int32, np.int32)
    leaves = [np.asarray(state[n], dtype) for n, dtype in zip(LEAVES, dtypes, strict=True)]
    return [*leaves, xs, ys]


def _of(inputs):
    return dict(zip(LEAVES, inputs, strict=False)), inputs[6], inputs[7]


def answer(name, inputs):
    """Return the right value of one result of `transition`."""
    return transition(*_of(inputs))[name.partition(".")[2]]


def mistakes(name, inputs):
    """Return what each known mistake gives for one result; many leave it as it is."""
    result = name.partition(".")[2]
    found = {rule: transition(*_of(inputs), rule)[result] for rule in RULES}
    if result == "v":
        slices = transition(*_of(inputs))["v"].reshape(DEVICES, -1)
        for turn in range(1, DEVICES):
            found[f"wrong-slice-order/{turn}"] = np.roll(slices, turn, axis=0).reshape(-1)
        found["wrong-slice-order/r"] = slices[::-1].reshape(-1)
    return found


# ---------------------------------------------------------------------------------- written answers


def transition_many(state, count, rule="right", keep_momentum=True):
    """Return the state after `count` transitions on the exercise's data, and the ids of each."""
    ids = []
    for _ in range(count):
        if not keep_momentum:
            state = state | {"v": np.zeros(FEATURES)}
        state = transition(state, XH, YH, rule)
        ids.append(state.pop("ids"))
    return state, np.array(ids)


def claims(given, own):
    """Return what the written answers should hold."""
    right = _runs("right")
    wrong = _recognised(own)
    other = {} if wrong in (None, "right") else _runs(wrong)
    found = {}
    for name, value in right.items():
        atol = 2e-5 if value.dtype.kind == "f" else 0.0
        found[name] = {
            "value": value,
            "atol": atol,
            "mistakes": _claimed_wrong(name),
            "other": other.get(name),
        }
    return found


def _runs(rule):
    """Return all that is asked of the runs, as one rule makes it."""
    saved, _ = transition_many(start(), BEFORE, rule)
    short, long = (transition_many(saved, count, rule) for count in (SHORT, LONG))
    flat, _ = transition_many(saved | {"v": np.zeros(FEATURES)}, LONG, rule)
    _, other_ids = transition_many(saved | {"key": OTHER_KEY}, LONG, rule)
    return {
        "ids3": short[1],
        "resumed_ids3": short[1],
        "ids5": long[1],
        "resumed_ids5": long[1],
        "w5": long[0]["w"],
        "resumed_w5": long[0]["w"],
        "w_without_momentum": flat["w"],
        "wrong_key_ids": other_ids,
    }


def _claimed_wrong(name):
    """Return what the known mistakes of a run make of one written answer."""
    saved, _ = transition_many(start(), BEFORE)
    count = SHORT if name.endswith("3") else LONG
    runs = {
        "from-the-start": transition_many(start(), count),
        "momentum-lost": transition_many(saved | {"v": np.zeros(FEATURES)}, count),
        "momentum-never": transition_many(saved, count, keep_momentum=False),
        "from-the-start/cursor": transition_many(saved | {"cursor": np.int32(0)}, count),
        "same-key": transition_many(saved, count),
        "order-drawn-anew": transition_many(
            saved | {"order": permutation(split(OTHER_KEY)[1]), "key": split(OTHER_KEY)[0]}, count
        ),
        "order-drawn-anew/key": transition_many(
            saved | {"order": permutation(OTHER_KEY), "key": OTHER_KEY}, count
        ),
        "wrong-key": transition_many(saved | {"key": OTHER_KEY}, count),
        "another-number": transition_many(saved, count - 1),
        "another-number/more": transition_many(saved, count + 1),
    }
    runs["momentum-kept"] = runs["same-key"]
    wanted = {
        "w_without_momentum": ("momentum-kept", "momentum-never", "from-the-start"),
        "wrong_key_ids": ("same-key", "order-drawn-anew", "order-drawn-anew/key", "from-the-start"),
    }.get(name)
    if wanted is None:
        wanted = ("from-the-start", "from-the-start/cursor", "wrong-key")
        if name.endswith("w5"):
            wanted = (*wanted, "momentum-lost", "another-number", "another-number/more")
    return {what: runs[what][1] if "ids" in name else runs[what][0]["w"] for what in wanted}


def _recognised(own):
    """Return the rule that the learner's own program follows on the two states that they know."""
    found = {}
    for case in ("lesson", "end"):
        for result in RESULTS:
            key = f"transition.{result}"
            value = own.get(key if case == "lesson" else f"{case}/{key}")
            if value is None:
                return None
            found[(case, result)] = value
    known = cases_known()
    for rule in ("right", *RULES):
        predicted = {
            (case, result): value
            for case, state in known.items()
            for result, value in transition(state, XH, YH, rule).items()
        }
        if all(
            value.shape == np.shape(predicted[at]) and np.allclose(value, predicted[at], atol=1e-5)
            for at, value in found.items()
        ):
            return rule
    return None


def cases_known():
    """Return the two states that a learner knows."""
    return {"lesson": start(), "end": transition_many(start(), BEFORE)[0]}


def states(rng):
    """Return the two states that have to be saved and restored."""
    return {"restored": [_state(rng, cursor) for cursor in (8, 4)]}


def lost(name, saved, other):
    """Return what comes back of `saved` where a part of it was not kept, by mistake and leaf."""
    begin = start()
    first, second = split(saved["key"])
    return {
        "other-state": dict(other),
        "momentum-not-saved": {"v": np.zeros(FEATURES)},
        "key-not-saved": {"key": SEED_KEY},
        "key-not-saved/start": {"key": begin["key"]},
        "key-not-saved/zero": {"key": np.zeros(2, np.uint32)},
        "order-not-saved": {"order": np.arange(ROWS)},
        "order-not-saved/start": {"order": begin["order"]},
        "order-not-saved/key": {"order": permutation(saved["key"])},
        "order-not-saved/split": {"order": permutation(second), "key": first},
        "order-not-saved/drawn": {"order": permutation(second)},
        "cursor-not-saved": {"cursor": np.int32(0)},
        "step-not-saved": {"step": np.int32(0)},
        "start-state": {leaf: begin[leaf] for leaf in LEAVES},
    }


def replays(given):
    """Return nothing: the programs are tried on states of our own."""
    return {}


def figures():
    """Return nothing: no single number is asked for."""
    return {}


def rows():
    """Return nothing: no table is asked for."""
    return {}
