"""The truth of distributed-01 in plain NumPy: sums of a placed array, and a mean under a mask.

Sums and means are computed in float64. `DEVICES` blocks of rows stand for what each device holds
when an array is placed by rows.
"""

from __future__ import annotations

import numpy as np

DEVICES = 4
ROWS, COLUMNS = 12, 8
LOCAL = ROWS // DEVICES
REAL = 10
SCALES = (1.0, 40.0, 0.003, 7.0)

# Each value of HOST tells its own place: row v // 8, column v % 8.
HOST = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
TEN = np.arange(REAL * COLUMNS, dtype=np.float32).reshape(REAL, COLUMNS) / 4 + 1
PADDED = np.concatenate([TEN, np.zeros((ROWS - REAL, COLUMNS), np.float32)])
MASK = (np.arange(ROWS) < REAL).astype(np.float32)
COUNTS = np.arange(8, 17)  # the numbers of rows that the learner tries to place


def wide(array):
    """Return an array in float64."""
    return np.asarray(array, dtype=np.float64)


def blocks(array):
    """Return the rows that each device holds, (4, 3, …)."""
    return wide(array).reshape(DEVICES, LOCAL, *np.shape(array)[1:])


def cases(rng):
    """Return the hidden inputs and the exercise's own.

    In four sets of differing scale each device has a real row. In two more, for the mean alone,
    one device has none and then two have none: a mistake of its own, since a division by a
    device's count gives no number there. Hidden padding lies anywhere and is not zero, there are
    never ten real rows, and the devices have not equally many: a program has to read the mask.
    """
    drawn = {}
    for number, scale in enumerate(SCALES):
        a = _matrix(rng, scale)
        drawn[f"hidden_all_{number}"] = _programs(a, *_padded(rng, scale))
    for empty in (1, 2):
        drawn[f"hidden_bare_{empty}"] = {"masked_mean": list(_padded(rng, SCALES[empty], empty))}
    drawn["lesson"] = _programs(HOST, PADDED, MASK)
    return drawn


def _programs(a, padded, mask):
    sums = {name: [a] for name in ("column_sums", "row_sums", "to_columns")}
    return {**sums, "masked_mean": [padded, mask]}


def _matrix(rng, scale):
    """Return a matrix whose sums do not cancel, in either direction or on any device."""
    while True:
        centre = rng.uniform(1, 2, COLUMNS) * rng.choice([-1, 1], COLUMNS)
        a = (rng.standard_normal((ROWS, COLUMNS)) + centre).astype(np.float32)
        sums = np.abs(a.sum(axis=1)).reshape(DEVICES, LOCAL).max(axis=1)
        if sums.min() > max(0.1 * sums.max(), 1.0) and sums.max() > 4:
            return a * np.float32(scale)


def _padded(rng, scale, empty=0):
    """Return rows of which some are padding that holds anything, and the mask that says which.

    On `empty` of the devices all rows are padding.
    """
    while True:
        counts = rng.integers(1, LOCAL + 1, DEVICES)
        counts[empty:].sort()
        real = counts[empty:].sum()
        # Ten is what mistakes take for granted, also where each device counts one row at least;
        # with three or four real rows, a divisor of all rows or none is one of the devices, too.
        if counts[empty] < counts[-1] and REAL not in (real, real + empty) and real > DEVICES:
            break
    counts[:empty] = 0
    counts = rng.permutation(counts)
    mask = np.concatenate([rng.permutation(LOCAL) < count for count in counts])
    padding = rng.choice([-1, 1], (ROWS, 1)) * rng.uniform(2, 5, (ROWS, COLUMNS))
    rows = np.where(mask[:, None], _matrix(rng, 1.0), padding)
    return (rows * scale).astype(np.float32), mask.astype(np.float32)


def answer(program, inputs):
    """Return the right global array: (8,), (12,) or (12, 8)."""
    a = wide(inputs[0])
    if program == "masked_mean":
        mask = wide(inputs[1])
        return mask @ a / mask.sum()
    return {"column_sums": a.sum(axis=0), "row_sums": a.sum(axis=1), "to_columns": a}[program]


def mistakes(program, inputs):
    """Return what each known mistake gives: a global array, or one view for each device."""
    if program == "masked_mean":
        return _mean_wrong(wide(inputs[0]), wide(inputs[1]))
    a = wide(inputs[0])
    return {"column_sums": _columns_wrong, "row_sums": _rows_wrong, "to_columns": _moved_wrong}[
        program
    ](a)


def _columns_wrong(a):
    right, parts = a.sum(axis=0), blocks(a)
    return {
        "wrong-axis": a.sum(axis=1),
        "wrong-axis/added": parts.sum(axis=(0, 2)),
        "wrong-axis/none": a.sum(),
        "not-reduced": tuple(parts.sum(axis=1)),
        "not-reduced/stacked": parts.sum(axis=1).reshape(-1),
        "mean-not-sum": right / DEVICES,
        "mean-not-sum/rows": right / ROWS,
        "summed-twice": DEVICES * right,
    }


def _rows_wrong(a):
    right, parts = a.sum(axis=1), blocks(a)
    added = parts.sum(axis=(0, 2))
    found = {
        "wrong-axis": a.sum(axis=0),
        "wrong-axis/stacked": parts.sum(axis=1).reshape(-1),
        "wrong-axis/none": a.sum(),
        "mean-not-sum": right / COLUMNS,
        "needless-sum": added,
        "needless-sum/stacked": np.tile(added, DEVICES),
        "summed-twice": DEVICES * right,
    }
    slices = right.reshape(DEVICES, LOCAL)
    for turn in range(1, DEVICES):
        found[f"wrong-slice-order/{turn}"] = np.roll(slices, turn, axis=0).reshape(-1)
    found["wrong-slice-order/r"] = slices[::-1].reshape(-1)
    return found


def _moved_wrong(a):
    return {
        "glued-pieces": np.concatenate(list(blocks(a)), axis=1),
        "glued-pieces/down": np.concatenate(np.split(a, DEVICES, axis=1)),
        "reshaped": a.T,
        "reshaped/only": a.reshape(COLUMNS, ROWS),
        "reshaped/back": a.reshape(COLUMNS, ROWS).T,
        "reshaped/after": a.T.reshape(ROWS, COLUMNS),
    }


def _mean_wrong(a, mask):
    total, count, other = mask @ a, mask.sum(), 1 - mask
    sums = np.einsum("dr,drc->dc", blocks(mask), blocks(a))
    counted = np.maximum(blocks(mask).sum(axis=1), 1)
    # On a device without a real row this is what a guarded division gives; an unguarded one gives
    # no number, which no prediction can meet.
    counts = counted[:, None]
    local = sums / counts
    empty = {"empty-counted": total / counted.sum()} if counted.sum() > count else {}
    return empty | {
        "padded-mean": a.mean(axis=0),
        "padding-in-sum": a.sum(axis=0) / count,
        "padding-in-count": total / ROWS,
        "ten-rows-assumed": total / REAL,
        "ten-rows-assumed/first": a[:REAL].mean(axis=0),
        "local-means": local.mean(axis=0),
        "local-means/added": local.sum(axis=0),
        "local-means/divisor": tuple(total / counts),
        "mask-inverted": other @ a / other.sum(),
        "mask-inverted/sum": other @ a / count,
        "not-divided": total,
        "not-reduced": tuple(local),
        "not-reduced/sums": tuple(sums / count),
        "not-reduced/stacked": local.reshape(-1),
        "summed-twice": DEVICES * total / count,
        "mean-not-sum": total / count / DEVICES,
        "wrong-axis": a.mean(axis=1),
        "wrong-axis/masked": mask * a.mean(axis=1),
        "wrong-axis/sum": mask * a.sum(axis=1) / count,
        "wrong-axis/none": total.sum() / count,
        "wrong-axis/mean": total.mean() / count,
    }


def claims(given, own):
    """Return what the written answers should hold."""
    swapped = {"reshaped": HOST.reshape(COLUMNS, ROWS).T, "reshaped/after": _row_by_row(HOST.T)}
    ten = TEN.astype(np.float64)
    mean = ten.mean(axis=0)
    plain = PADDED.astype(np.float64).mean(axis=0)
    found = {
        "by_rows": _held(HOST, 0.0, swapped),
        "by_columns": _held(HOST, 0.0, swapped),
        "fits": _held(
            COUNTS % DEVICES == 0,
            0.0,
            {"fits-inverted": COUNTS % DEVICES != 0, "even-is-enough": COUNTS % 2 == 0},
        ),
        "real_rows": _held(
            blocks(MASK).sum(axis=1),
            0.0,
            {
                "split-evenly": np.array([3, 3, 2, 2]),
                "split-evenly/halves": np.full(DEVICES, REAL / DEVICES),
                "padding-as-real": np.full(DEVICES, LOCAL),
            },
        ),
        "padded": _held(
            PADDED,
            0.0,
            {
                "padding-repeats": np.pad(TEN, ((0, ROWS - REAL), (0, 0)), mode="edge"),
                "padding-repeats/wrap": np.pad(TEN, ((0, ROWS - REAL), (0, 0)), mode="wrap"),
                "padding-in-front": np.roll(PADDED, ROWS - REAL, axis=0),
            },
        ),
        "mask": _held(
            MASK,
            0.0,
            {
                "mask-inverted": 1 - MASK,
                "padding-as-real": np.ones(ROWS),
                "padding-in-front": MASK[::-1],
            },
        ),
        "mean10": _held(mean, 1e-4, {"padded-mean": plain, "local-means": _local_mean()}),
        "plain_mean": _held(plain, 1e-4, {"plain-is-masked": mean}),
    }
    # What a wrong program of their own gives there: one mistake, not two.
    found["mean10"]["other"] = own.get("masked_mean")
    return found


def _held(value, atol, wrong):
    wrong = {name: np.asarray(one, dtype=np.float64) for name, one in wrong.items()}
    return {"value": np.asarray(value, dtype=np.float64), "atol": atol, "mistakes": wrong}


def _row_by_row(array):
    return array.reshape(ROWS, COLUMNS)


def _local_mean():
    return _mean_wrong(PADDED.astype(np.float64), MASK.astype(np.float64))["local-means"]


def replays(given):
    """Return the masked mean of the learner's own padded rows, where those have the right shape."""
    if any(name not in given for name in ("padded", "mask")):
        return {}
    padded, mask = (np.asarray(given[name], dtype=np.float32) for name in ("padded", "mask"))
    if (padded.shape, mask.shape) != (PADDED.shape, MASK.shape):
        return {}
    return {"transfer": {"masked_mean": [padded, mask]}}


def figures():
    """Return nothing: no single number of bytes is asked for."""
    return {}


def rows():
    """Return nothing: no table is asked for."""
    return {}
