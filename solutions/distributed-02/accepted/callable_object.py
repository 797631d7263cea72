"""The step is an object that can be called, the loop a fori_loop, the order a sort."""

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402


class Trainer:
    """A mesh with a rate, and a step that can be called."""

    def __init__(self, rate):
        self.rate = rate
        self.mesh = Mesh(np.asarray(jax.devices()), ("batch",))

    def put(self, array, *spec):
        return jax.device_put(array, NamedSharding(self.mesh, P(*spec)))

    def gradient(self, weights, inputs, targets):
        return 2 * (inputs @ weights - targets) @ inputs / targets.shape[0]

    def __call__(self, weights, inputs, targets):
        error = inputs @ weights - targets
        slope = self.gradient(weights, inputs, targets)
        return weights - self.rate * slope, (error**2).mean(), slope


trainer = Trainer(rate=5e-2)
inputs = np.array(
    [[1, 0], [0, 1], [1, 1], [2, 0], [0, 2], [2, 1], [1, 2], [2, 2]], dtype=np.float32
)
targets = inputs @ np.array([-1, 3], dtype=np.float32)
initial = np.array([0.2, -0.1], dtype=np.float32)
x, y, w = trainer.put(inputs, "batch", None), trainer.put(targets, "batch"), trainer.put(initial)

train_step = trainer
global_gradient = jax.jit(trainer.gradient)


def combine(means, counts):
    share = counts / counts.sum()
    return (means * share[:, None]).sum(axis=0)


def body(number, state):
    weights, losses = state
    weights, loss, _ = trainer(weights, x, y)
    return weights, losses.at[number].set(loss)


w10, losses = jax.jit(lambda v: jax.lax.fori_loop(0, 10, body, (v, jnp.zeros(10))))(w)

order = np.argsort(-targets, kind="stable")
xp, yp = trainer.put(inputs[order], "batch", None), trainer.put(targets[order], "batch")
gp = trainer.gradient(initial, inputs[order], targets[order]).tolist()

sums = [
    len(b) * trainer.gradient(initial, a, b)
    for a, b in ((inputs[:3], targets[:3]), (inputs[3:], targets[3:]))
]
joined = sum(sums) / len(targets)
