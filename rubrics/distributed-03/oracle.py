"""The truth of distributed-03 in plain NumPy: a linear regression gradient on four devices.

The right gradient of the mean squared error over N = 16 rows is 2/N · Xᵀ(Xw − y), computed in
float64. `DEVICES` blocks of rows stand for what each device holds.
"""

from __future__ import annotations

import numpy as np

DEVICES = 4
ROWS, FEATURES = 16, 8
LOCAL = ROWS // DEVICES
SCALES = (1.0, 40.0, 0.003, 7.0)
MEBIBYTE = 2**20
RANKS = (2, 4, 8)

# The lesson's own data: exact in float32, and in bfloat16 too, so only fresh inputs expose it.
XH = np.arange(ROWS * FEATURES, dtype=np.float32).reshape(ROWS, FEATURES) / 128 - 0.5
YH = XH @ np.linspace(-0.4, 0.3, FEATURES, dtype=np.float32)
WH = np.linspace(0.1, -0.2, FEATURES, dtype=np.float32)
VH = np.linspace(-0.02, 0.03, FEATURES, dtype=np.float32)


def gradient(x, y, w):
    """Return 2/N · Xᵀ(Xw − y) in float64: X (16, 8), y (16,), w (8,) give (8,)."""
    x, y, w = (np.asarray(a, dtype=np.float64) for a in (x, y, w))
    return 2 * x.T @ (x @ w - y) / ROWS


def partials(x, y, w):
    """Return each device's contribution to the gradient, (4, 8)."""
    blocks = [slice(d * LOCAL, (d + 1) * LOCAL) for d in range(DEVICES)]
    x, y, w = (np.asarray(a, dtype=np.float64) for a in (x, y, w))
    return np.stack([2 * x[b].T @ (x[b] @ w - y[b]) / ROWS for b in blocks])


def cases(rng):
    """Return the hidden inputs, four sets of differing scale, and the lesson's own.

    Residuals are kept away from zero (‖Xw − y‖ ≥ 0.3 (‖Xw‖ + ‖y‖)): with cancellation no
    tolerance tells float32 in another order from float16.
    """
    drawn = {}
    for number, scale in enumerate(SCALES):
        x, y, w = _draw(rng, scale)
        g = (rng.standard_normal(FEATURES) * scale).astype(np.float32)
        drawn[f"hidden_{number}"] = _programs(x, y, w, g)
    drawn["lesson"] = _programs(XH, YH, WH, gradient(XH, YH, WH).astype(np.float32))
    return drawn


def _draw(rng, scale):
    while True:
        x = rng.standard_normal((ROWS, FEATURES)).astype(np.float32)
        y = (rng.standard_normal(ROWS) * scale).astype(np.float32)
        w = (rng.standard_normal(FEATURES) * scale).astype(np.float32)
        xw = x.astype(np.float64) @ w
        apart = np.linalg.norm(xw - y) >= 0.3 * (np.linalg.norm(xw) + np.linalg.norm(y))
        g = gradient(x, y, w)
        # Every mistake must be told from the truth on every device's slice.
        if apart and np.abs(g.reshape(DEVICES, -1)).max(axis=1).min() > 0.05 * np.abs(g).max():
            return x, y, w


def _programs(x, y, w, g):
    return {"all_gradient": [x, y, w], "shard_gradient": [x, y, w], "gather": [g]}


def answer(program, inputs):
    """Return the right global result, (8,) for each of the three programs."""
    if program == "gather":
        return np.asarray(inputs[0], dtype=np.float64)
    return gradient(*inputs)


def mistakes(program, inputs):
    """Return what each known mistake gives: a global array, or one view for each device."""
    if program == "gather":
        g = np.asarray(inputs[0], dtype=np.float64)
        pieces = g.reshape(DEVICES, -1)
        return {
            "tiled-missing": pieces,
            "wrong-slice-order": pieces[::-1].reshape(-1),
            "summed-twice": DEVICES * g,
        }
    x, y, w = inputs
    right = gradient(x, y, w)
    part = partials(x, y, w)
    local_reversed = np.asarray(y).reshape(DEVICES, LOCAL)[:, ::-1].reshape(-1)
    found = {
        "local-mean": DEVICES * right,
        "summed-twice": DEVICES * right,
        # Every device then computes the whole gradient, and four of them are added.
        "replicated-inputs": DEVICES * right,
        "mean-not-sum": right / DEVICES,
        "factor-two-missing": right / 2,
        "sign": -right,
        "no-sum": tuple(part),
        "wrong-labels": gradient(x, local_reversed, w),
        "weights-ignored": gradient(x, y, WH),
        "weights-ignored/zero": gradient(x, y, 0 * WH),
    }
    slices = right.reshape(DEVICES, -1)
    for turn in range(1, DEVICES):
        found[f"wrong-slice-order/{turn}"] = np.roll(slices, turn, axis=0).reshape(-1)
    found["wrong-slice-order/r"] = slices[::-1].reshape(-1)
    found["wrong-labels/all"] = gradient(x, np.asarray(y)[::-1], w)
    found["wrong-labels/roll"] = gradient(x, np.roll(y, 1), w)
    found["wrong-labels/plus"] = gradient(x, -np.asarray(y), w)
    return found


def claims(given, own):
    """Return what the written answers should hold, given the ones they follow from."""
    found = {
        "x2": _exact(XH[::-1], {"features-reversed": XH[:, ::-1], "labels-only-reversed": XH}),
        "y2": _exact(YH[::-1], {"rows-only-reversed": YH}),
        "w2h": _exact(WH, {"weights-unchanged": WH}),
        "w2": _follows(given, "w2h", _placed_weights),
        "r2": _follows(given, "w2h", _reversed_gradient),
        "wrong_labels": _follows(given, "w2h", _label_reversal),
    }
    # What the learner's own programs give there: a wrong gradient is one mistake, not three.
    for name, case in (("r2", "reversed"), ("wrong_labels", "label_reversal")):
        if name in found:
            found[name]["other"] = own.get(f"{case}/all_gradient")
    found.update(_momentum(own))
    return found


def _exact(value, wrong):
    value = np.asarray(value, dtype=np.float64)
    return {"value": value, "atol": 1e-6, "mistakes": wrong}


def _follows(given, name, formula):
    if name not in given or given[name].shape != WH.shape:
        return {"value": None, "atol": 0.0, "needs": name}
    value, atol, wrong = formula(np.asarray(given[name], dtype=np.float64))
    return {"value": value, "atol": atol, "mistakes": wrong}


def _tolerance(value):
    # The lesson's labels lie close to Xw for some weights, so a share alone would be too tight.
    return 2e-6 + 1e-5 * float(np.abs(value).max())


def _placed_weights(w2):
    # The host's may be float64; on the devices they are rounded to float32.
    return w2, 1e-6 * max(1.0, np.abs(w2).max()), {"old-weights": WH}


def _reversed_gradient(w2):
    right = gradient(XH, YH, w2)
    wrong = {
        "old-weights": gradient(XH, YH, WH),
        "same-as-label-reversal": gradient(XH, YH[::-1], w2),
        "factor-two-missing": right / 2,
        "sign": -right,
        "features-reversed": gradient(XH[:, ::-1], YH, w2),
    }
    return right, _tolerance(right), wrong


def _label_reversal(w2):
    right = gradient(XH, YH[::-1], w2)
    wrong = {
        "same-as-r2": gradient(XH, YH, w2),
        "old-weights": gradient(XH, YH[::-1], WH),
        "factor-two-missing": right / 2,
        "sign": -right,
    }
    return right, _tolerance(right), wrong


def _momentum(own):
    g = gradient(XH, YH, WH)
    found = {}
    v = _step(g)
    minus, other = 0.9 * VH - g, _own_step(own)
    stepped, turned = WH - 0.1 * minus, WH + 0.1 * minus
    for name, right, momentum_sign, old_sign, update_sign in (
        ("new_v", v[0], minus, -minus, None),
        ("new_w", v[1], stepped, turned, WH + 0.1 * v[0]),
        ("updated", v[1], stepped, turned, WH + 0.1 * v[0]),
    ):
        # The gradient taken off the old momentum, and the old momentum off the gradient.
        wrong = {"momentum-sign": momentum_sign, "momentum-sign/old": old_sign}
        if update_sign is not None:
            wrong["momentum-sign/update"] = update_sign
            wrong["decay-missing"] = WH - 0.1 * (VH + g)
        else:
            wrong["decay-missing"] = VH + g
        found[name] = {
            "value": right,
            "atol": _tolerance(right),
            "mistakes": wrong,
            "other": None if other is None else other[0 if name == "new_v" else 1],
        }
    return found


def _step(g):
    v = 0.9 * VH.astype(np.float64) + g
    return v, WH - 0.1 * v


def _own_step(own):
    g = own.get("shard_gradient")
    return None if g is None or g.shape != WH.shape else _step(np.asarray(g, dtype=np.float64))


def replays(given):
    """Return the reversed case and its label-only contrast on the learner's own x2, y2 and w2."""
    if any(name not in given for name in ("x2", "y2", "w2")):
        return {}
    x, y, w = (np.asarray(given[name], dtype=np.float32) for name in ("x2", "y2", "w2"))
    if (x.shape, y.shape, w.shape) != (XH.shape, YH.shape, WH.shape):
        return {}
    return {
        "reversed": _programs(x, y, w, gradient(x, y, w).astype(np.float32)),
        "label_reversal": _programs(x, y[::-1], w, gradient(x, y[::-1], w).astype(np.float32)),
    }


def figures():
    """Return the two ring figures in bytes per rank: eight float32 on four ranks."""
    size, p = FEATURES * 4, DEVICES
    scatter = (p - 1) / p * size
    return {
        "ring_all_bytes": {
            "right": 2 * scatter,
            "bits-for-bytes": 16 * scatter,
            "values-for-bytes": 2 * scatter / 4,
            "inverse-ring-factor": 2 * p / (p - 1) * size,
            "gather-not-counted": scatter,
            "double-precision": 4 * scatter,
        },
        "ring_scatter_bytes": {
            "right": scatter,
            "bits-for-bytes": 8 * scatter,
            "values-for-bytes": scatter / 4,
            "inverse-ring-factor": p / (p - 1) * size,
        },
    }


def rows():
    """Return the table for one mebibyte on 2, 4 and 8 ranks, and each mistake's table."""

    def table(size=MEBIBYTE, factor=lambda p: (p - 1) / p, unit=1, cycle=2, storage=None):
        return {
            p: {
                "ranks": p,
                "all_reduce_bytes": 2 * factor(p) * size * unit,
                "scatter_gather_bytes": cycle * factor(p) * size * unit,
                "shard_storage_bytes": storage(p) if storage else size / p * unit,
            }
            for p in RANKS
        }

    return {
        "right": table(),
        "bits-for-bytes": table(unit=8),
        "decimal-mebibyte": table(size=10**6),
        "inverse-ring-factor": table(factor=lambda p: p / (p - 1)),
        "storage-not-divided": table(storage=lambda _p: MEBIBYTE),
        "gather-not-counted": table(cycle=1),
    }
