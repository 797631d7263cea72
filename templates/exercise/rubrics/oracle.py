"""The truth of new-01 in plain NumPy: numbers less their mean, computed in float64."""

from __future__ import annotations

import numpy as np

DEVICES, COUNT = 4, 16
LOCAL = COUNT // DEVICES
SCALES = (1.0, 50.0, 0.01)
XH = np.arange(COUNT, dtype=np.float32) ** 2 / 8


def cases(rng):
    """Return the hidden inputs, of differing scale, and the exercise's own."""
    drawn = {
        f"hidden_{number}": {"centre": [_draw(rng, scale)]} for number, scale in enumerate(SCALES)
    }
    drawn["lesson"] = {"centre": [XH]}
    return drawn


def _draw(rng, scale):
    """Return numbers whose mean is far from zero, so that no mistake is right by chance."""
    return ((rng.standard_normal(COUNT) + rng.uniform(1, 2)) * scale).astype(np.float32)


def answer(program, inputs):
    """Return the right global result, (16,)."""
    x = np.asarray(inputs[0], dtype=np.float64)
    return x - x.mean()


def mistakes(program, inputs):
    """Return what each known mistake gives."""
    x = np.asarray(inputs[0], dtype=np.float64)
    own = np.repeat(x.reshape(DEVICES, LOCAL).mean(axis=1), LOCAL)
    return {
        "local-mean": x - own,
        "sum-not-mean": x - x.sum(),
        "means-added": x - DEVICES * x.mean(),
    }


def claims(given, own):
    """Return what the written answer should be, and what it is with a mistake."""
    right = {"value": LOCAL, "atol": 0.0, "mistakes": {"whole-counted": COUNT}}
    return {"values_per_device": right}


def replays(given):
    """Return nothing: no case is built on a learner's own answers."""
    return {}


def figures():
    """Return nothing: no bytes are asked for."""
    return {}


def rows():
    """Return nothing: no table is asked for."""
    return {}
