"""The truth of distributed-02 in plain NumPy: one gradient step of a linear regression.

Loss and gradient over n rows are mean((Xw − y)²) and 2/n · Xᵀ(Xw − y), computed in float64; a step
is w − RATE · gradient. `DEVICES` blocks of rows stand for what each device holds.
"""

from __future__ import annotations

import numpy as np

DEVICES = 4
ROWS, FEATURES = 8, 2
LOCAL = ROWS // DEVICES
RATE, LESSON_RATE = 0.05, 0.1
STEPS = 10
FAR = 10.0  # the right weights stay below 4
RESULTS = ("new_w", "loss", "gradient")
SCALES = (1.0, 30.0, 0.02, 5.0)

XH = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [2, 1], [1, 2], [2, 2]], np.float32)
YH = XH @ np.array([-1, 3], np.float32)
WH = np.array([0.2, -0.1], np.float32)
MEANS = np.array([[4, -2], [1, 0], [-3, 5], [2, 2]], np.float32)
COUNTS = np.array([1, 3, 2, 2], np.float32)
PARTS = (slice(0, 3), slice(3, 8))


def wide(*arrays):
    """Return the arrays in float64."""
    return [np.asarray(a, dtype=np.float64) for a in arrays]


def loss(w, x, y):
    """Return the mean squared error over the rows given, a scalar."""
    w, x, y = wide(w, x, y)
    return np.mean((x @ w - y) ** 2)


def gradient(w, x, y):
    """Return the gradient of `loss`, (2,)."""
    w, x, y = wide(w, x, y)
    return 2 * x.T @ (x @ w - y) / len(y)


def blocks(function, w, x, y):
    """Return what each device would have of its own rows alone, stacked."""
    parts = [slice(d * LOCAL, (d + 1) * LOCAL) for d in range(DEVICES)]
    return np.stack([function(w, x[b], y[b]) for b in parts])


def cases(rng):
    """Return the hidden inputs, four sets of differing scale, and the exercise's own."""
    drawn = {}
    for number, scale in enumerate(SCALES):
        drawn[f"hidden_{number}"] = _programs(_draw(rng, scale), _draw_parts(rng, scale))
    drawn["lesson"] = _programs([WH, XH, YH], [MEANS, COUNTS])
    return drawn


def _programs(step, joined):
    return {"train_step": step, "global_gradient": step, "combine": joined}


def _draw(rng, scale):
    """Return weights, rows and labels where nothing cancels and a step is seen in the weights."""
    while True:
        x = rng.standard_normal((ROWS, FEATURES)).astype(np.float32)
        y = (rng.standard_normal(ROWS) * scale).astype(np.float32)
        w = (rng.standard_normal(FEATURES) * scale).astype(np.float32)
        xw = wide(x)[0] @ w
        apart = np.linalg.norm(xw - y) >= 0.3 * (np.linalg.norm(xw) + np.linalg.norm(y))
        g = gradient(w, x, y)
        size, step, after = (np.abs(a).max() for a in (w, RATE * g, w - RATE * g))
        # A gradient that cancels in one entry, or a step too small beside the weights, would hide
        # a 16-bit format behind the roundings of float32.
        even = np.abs(g).min() > 0.1 * np.abs(g).max()
        if apart and even and after > 0.2 * size and step > 0.1 * size:
            return [w, x, y]


def _draw_parts(rng, scale):
    """Return the means of four parts, and unequal counts that do not sum to the exercise's 8."""
    while True:
        means = (rng.standard_normal((DEVICES, FEATURES)) * scale).astype(np.float32)
        counts = rng.permutation(9)[:DEVICES].astype(np.float32) + 1
        joined = counts @ wide(means)[0] / counts.sum()
        even = np.abs(joined - means.mean(axis=0)).max() > 0.05 * np.abs(joined).max()
        if even and np.abs(joined).max() > 0.2 * np.abs(means).max():
            return [means, counts]


def answer(name, inputs):
    """Return the right global array: (2,), a scalar for the loss."""
    if name == "combine":
        means, counts = wide(*inputs)
        return counts @ means / counts.sum()
    if name == "train_step.loss":
        return loss(*inputs)
    g = gradient(*inputs)
    return np.asarray(inputs[0], dtype=np.float64) - RATE * g if name == "train_step.new_w" else g


def mistakes(name, inputs):
    """Return what each known mistake gives: a global array, or one view for each device."""
    if name == "combine":
        return _joined_wrong(*wide(*inputs))
    w, right = np.asarray(inputs[0], dtype=np.float64), answer(name, inputs)
    if name == "train_step.loss":
        found = _loss_wrong(inputs)
    elif name == "train_step.new_w":
        found = _weights_wrong(w, inputs)
    else:
        found = _gradient_wrong(inputs)
    found["not-reduced/stacked"] = np.concatenate(
        [np.atleast_1d(part) for part in found["not-reduced"]]
    )
    found["laid-end-to-end"] = np.tile(np.atleast_1d(right), DEVICES)
    if name.startswith("train_step."):
        others = [f"train_step.{one}" for one in RESULTS if f"train_step.{one}" != name]
        found |= {f"results-exchanged/{one}": answer(one, inputs) for one in others}
        if name == "train_step.gradient":
            found["gradient-after-step"] = gradient(w - RATE * right, *inputs[1:])
    return found


def _weights_wrong(w, inputs):
    """Return the new weights that follow from each wrong gradient, and those of a wrong step."""
    g = gradient(*inputs)

    def step(one):
        return tuple(w - RATE * part for part in one) if isinstance(one, tuple) else w - RATE * one

    wrong = {mistake: step(one) for mistake, one in _gradient_wrong(inputs).items()}
    # A step of twice the length, and one uphill, have a name of their own whatever made them so.
    del wrong["sums-averaged"], wrong["sign"]
    return wrong | {
        "lesson-rate": w - LESSON_RATE * g,
        "not-subtracted": w + RATE * g,
        "not-subtracted/alone": RATE * g,
        "not-subtracted/minus": -RATE * g,
    }


def _averaged_wrong(right):
    """Return what wrong divisors make of a mean over all rows, or of its gradient."""
    return {
        "local-means-summed": DEVICES * right,
        # Every device has computed the whole mean, and four of them are added.
        "replicated-inputs": DEVICES * right,
        "sum-not-mean": ROWS * right,
        "sums-averaged": LOCAL * right,
        "averaged-twice": right / DEVICES,
        "halved": right / 2,
        # Complete means of two rows, divided by all eight before or after they are added.
        "divided-again": DEVICES * right / ROWS,
    }


def _gradient_wrong(inputs):
    w, x, y = inputs
    right = gradient(w, x, y)
    return {
        **_averaged_wrong(right),
        "gradient-summed-twice": DEVICES * right,
        "gradient-summed-twice/means": DEVICES * DEVICES * right,
        "sign": -right,
        "not-reduced": tuple(blocks(gradient, w, x, y)),
        "weights-ignored": gradient(WH, x, y),
        "weights-ignored/zero": gradient(0 * WH, x, y),
    }


def _loss_wrong(inputs):
    w, x, y = inputs
    right = loss(w, x, y)
    return {
        **_averaged_wrong(right),
        "loss-after-step": loss(np.asarray(w, np.float64) - RATE * gradient(w, x, y), x, y),
        "not-reduced": tuple(blocks(loss, w, x, y)),
        "root-of-loss": np.sqrt(right),
        "weights-ignored": loss(WH, x, y),
        "weights-ignored/zero": loss(0 * WH, x, y),
    }


def _joined_wrong(means, counts):
    products, right = counts @ means, counts @ means / counts.sum()
    parts = means / counts[:, None]
    wrong = {
        "counts-ignored": means.mean(axis=0),
        "means-added": means.sum(axis=0),
        "means-over-rows": means.sum(axis=0) / counts.sum(),
        "averaged-twice": right / DEVICES,
        "counts-averaged": DEVICES * right,
        "divided-by-counts": parts.sum(axis=0),
        "divided-by-counts/averaged": parts.mean(axis=0),
        "divided-by-counts/rows": parts.sum(axis=0) / counts.sum(),
        "divided-by-counts/joined": parts.sum(axis=0) / (1 / counts).sum(),
        "counts-not-divided": products,
        "divided-by-parts": products / DEVICES,
    }
    # Whatever else is wrong: the axis is what stands in the way of seeing it.
    left_over = {f"axis-left-over/{name}": value[None] for name, value in wrong.items()}
    return {
        **wrong,
        "axis-left-over": right[None],
        **left_over,
        "laid-end-to-end": np.tile(right, DEVICES),
        "laid-end-to-end/rows": np.tile(right, (DEVICES, 1)),
        "not-reduced": tuple(means),
        "not-reduced/products": tuple(counts[:, None] * means),
        "not-reduced/stacked": means.reshape(-1),
        "not-reduced/rows": means,
    }


def claims(given, own):
    """Return what the written answers should hold, given the ones they follow from.

    Over 2,000 orders of summation float32 stays within 1e-7 of the weights after ten steps and
    within 2e-6 of losses and gradients. A float16 gradient moves the weights by 4e-5, and no
    mistake lies nearer than 0.08.
    """
    weights, losses = _descent(RATE, STEPS + 1)
    fast = _descent(LESSON_RATE, STEPS)
    found = {
        "w10": _held(
            weights[STEPS],
            2e-5,
            {
                "not-chained": weights[1],
                "lesson-rate": fast[0][-1],
                "one-step-off": weights[STEPS - 1],
                "one-step-off/more": weights[STEPS + 1],
                "weights-ignored": WH - STEPS * RATE * gradient(WH, XH, YH),
            },
        ),
        "losses": _held(
            np.array(losses[:STEPS]),
            1e-4,
            {
                "not-chained": np.full(STEPS, losses[0]),
                "loss-after-step": np.array(losses[1 : STEPS + 1]),
                "lesson-rate": np.array(fast[1]),
            },
        ),
        "order": _order(given.get("order")),
        "joined": _held(gradient(WH, XH, YH), 1e-4, _unequal()),
    }
    found |= _from_own_steps(own, given, found)
    order = _permutation(given.get("order"))
    if order is None:
        missing = {"value": None, "atol": 0.0, "needs": "order"}
        return found | {"xp": missing, "yp": missing, "gp": missing}
    for name, host, alone in (("xp", XH, "labels-only-permuted"), ("yp", YH, "rows-only-permuted")):
        found[name] = _held(host[order], 1e-6, {alone: host} | _another_order(given, name, host))
    found["gp"] = _held(gradient(WH, XH, YH), 1e-4, _permuted_wrong(order))
    found["gp"]["other"] = _own_gradient(own)
    return found


def _permuted_wrong(order):
    """Return the gradients that mistakes with the shuffled batch give at the weights given."""
    right = gradient(WH, XH, YH)
    rows, labels = gradient(WH, XH[order], YH), gradient(WH, XH, YH[order])
    # An order that is its own inverse, such as the reverse, gives the same for both.
    if np.allclose(rows, labels):
        alone = {"rows-only-permuted-or-labels-only-permuted": rows}
    else:
        alone = {"rows-only-permuted": rows, "labels-only-permuted": labels}
    return alone | {"halved": right / 2, "sign": -right, "local-means-summed": DEVICES * right}


def _own_gradient(own):
    """Return the learner's own wrong gradient on the permuted rows, None where it is right."""
    for name in ("train_step.gradient", "global_gradient"):
        value = own.get(f"permuted/{name}")
        if value is not None and _recognised(name, own) != "right":
            return value
    return None


def _recognised(name, own):
    """Return which prediction the learner's own program meets on the exercise's inputs."""
    value, inputs = own.get(name), [WH, XH, YH]
    if value is None:
        return None
    known = {"right": answer(name, inputs)} | mistakes(name, inputs)
    for what, one in known.items():
        alike = not isinstance(one, tuple) and np.shape(one) == value.shape
        if alike and np.allclose(one, value, rtol=1e-5, atol=1e-6):
            return what
    return None


def _from_own_steps(own, given, found):
    """Return what ten steps lead to where the learner's own program is wrong, else nothing.

    What follows from it waits for it. Where nothing tells what follows, a written answer that is
    not right waits too: it is no mistake of the loop that can be seen.
    """
    step, measured = (_recognised(f"train_step.{one}", own) for one in ("new_w", "loss"))
    if "train_step.new_w" not in own or (step, measured) == ("right", "right"):
        return {}
    followed = {}
    for name, other in zip(("w10", "losses"), _own_descent(step, measured), strict=True):
        mine, right = given.get(name), found[name]
        if other is not None:
            followed[name] = right | {"other": other}
        elif np.shape(mine) != right["value"].shape or (
            np.abs(mine - right["value"]).max() > right["atol"]
        ):
            followed[name] = {"value": None, "atol": 0.0, "needs": "train_step"}
    return followed


def _own_descent(step, measured):
    """Return weights and losses that ten steps lead to, by predictions; None where none tells."""
    if step is None or np.shape(_predicted("new_w", step, WH)) != WH.shape:
        return None, None
    w, losses = np.asarray(WH, np.float64), []
    for _ in range(STEPS):
        losses.append(None if measured is None else _predicted("loss", measured, w))
        w = _predicted("new_w", step, w)
    if np.abs(w).max() > FAR:
        # Roundings have grown along: nothing that is written there can be recognised.
        return None, None
    return w, np.array(losses) if measured is not None and np.shape(losses[0]) == () else None


def _predicted(result, what, w):
    """Return one result of a step from `w` as it is by a prediction of `mistakes`, or right."""
    name, inputs = f"train_step.{result}", [w, XH, YH]
    return answer(name, inputs) if what == "right" else mistakes(name, inputs)[what]


def _held(value, atol, wrong):
    """Return a written answer as the engine takes it: value, tolerance, each mistake's value."""
    return {"value": np.asarray(value, dtype=np.float64), "atol": atol, "mistakes": wrong}


def _descent(rate, steps):
    """Return the weights before the first step and after each, and the loss before each."""
    w, weights, losses = np.asarray(WH, np.float64), [], []
    weights.append(w)
    for _ in range(steps):
        losses.append(loss(w, XH, YH))
        w = w - rate * gradient(w, XH, YH)
        weights.append(w)
    return weights, losses


def _unequal():
    first, second = (gradient(WH, XH[part], YH[part]) for part in PARTS)
    return {
        "counts-ignored": (first + second) / 2,
        "means-added": first + second,
        "counts-not-divided": 3 * first + 5 * second,
        "divided-by-parts": (3 * first + 5 * second) / 2,
        "counts-exchanged": (5 * first + 3 * second) / ROWS,
        "halved": gradient(WH, XH, YH) / 2,
        "sign": -gradient(WH, XH, YH),
    }


def _another_order(given, name, host):
    """Return a learner's own array as a mistake where it has the host's entries in any order."""
    mine = given.get(name)
    if mine is None or mine.shape != host.shape:
        return {}
    alike = [sorted(map(tuple, np.reshape(one, (ROWS, -1)).tolist())) for one in (mine, host)]
    return {"another-order": mine} if alike[0] == alike[1] else {}


def _order(order):
    """Return the order itself where it is another one than the rows have, else some other."""
    found = _permutation(order)
    if found is None:
        wrong = {} if order is None else {"not-an-order": order}
    elif np.array_equal(found, np.arange(ROWS)):
        wrong = {"order-unchanged": found}
    else:
        return _held(found, 0.0, {})
    return _held(np.arange(ROWS)[::-1], 0.0, wrong)


def _permutation(order):
    if order is None or order.shape != (ROWS,) or sorted(order) != list(range(ROWS)):
        return None
    return order.astype(int)


def replays(given):
    """Return the step on the learner's permuted rows, where those have the right shapes."""
    if any(name not in given for name in ("xp", "yp")):
        return {}
    x, y = (np.asarray(given[name], dtype=np.float32) for name in ("xp", "yp"))
    if (x.shape, y.shape) != (XH.shape, YH.shape):
        return {}
    return {"permuted": {"train_step": [WH, x, y], "global_gradient": [WH, x, y]}}


def figures():
    """Return nothing: no single number is asked for."""
    return {}


def rows():
    """Return nothing: no table is asked for."""
    return {}
