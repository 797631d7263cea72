"""Real accelerators in the place of logical CPU devices: what differs there, and what is there.

The coordinator's side. It must never take fewer devices than a lesson needs, nor other ones than
were asked for: JAX falls back to the CPU in silence where it finds no GPU.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from grader import wire
from grader.catalog.models import Exercise
from grader.errors import EnvironmentProblem, WireProblem
from grader.process import Deadline
from grader.sandbox.host import Host
from grader.sandbox.launching import DEVICES, Allowance

READY_S = 120.0
_LONGEST_REASON = 200
_BOUND = (
    ("namespaces", "the driver talks to its devices over sockets and shared memory"),
    ("scratch", "needs a namespace of its own"),
    ("rlimits", "CPU seconds alone: the driver maps more memory than any limit would allow"),
    ("landlock", "the driver opens devices and libraries that no list names"),
    ("seccomp", "the driver makes calls, and starts programs, that no list names"),
)


@dataclass(frozen=True)
class Platform:
    """What `--platform` asks for where it is not the CPU.

    `backend` is what JAX has to call its default backend, `jax_platforms` what it is told to load.
    `variables` are added to a child's environment, `inherited` taken from the caller's. `lifted`
    names layers of confinement that the driver cannot live with, each with the reason. Limits of
    time are multiplied by `patience`: drivers start slowly, and their threads wait busily.
    `packages` are how distributions begin that bring JAX's plugin, `install` gets one, `machine`
    has the devices, and `fewer` says what to do where there are more of them.
    """

    name: str
    backend: str
    jax_platforms: str
    variables: tuple[tuple[str, str], ...] = ()
    inherited: tuple[str, ...] = ()
    lifted: tuple[tuple[str, str], ...] = _BOUND
    patience: int = 4
    precision: str = "highest"
    packages: tuple[str, ...] = ()
    install: str = ""
    machine: str = ""
    fewer: str = ""

    def environment(self, pinned: Mapping[str, str]) -> dict[str, str]:
        """Return the whole environment of a child, made from that of one pinned to the CPU."""
        # Flags go: each build of XLA ends the process for one that it does not know.
        built = {name: value for name, value in pinned.items() if name != "XLA_FLAGS"}
        built |= {name: os.environ[name] for name in self.inherited if name in os.environ}
        built["JAX_PLATFORMS"] = self.jax_platforms
        built["JAX_DEFAULT_MATMUL_PRECISION"] = self.precision
        return built | dict(self.variables)


@dataclass(frozen=True)
class Found:
    """The devices of a platform as JAX names them, for example 4 of `TPU v5 lite`."""

    platform: Platform
    count: int
    kind: str


GPU = Platform(
    name="gpu",
    backend="gpu",
    jax_platforms="cuda,cpu",
    variables=(("XLA_PYTHON_CLIENT_PREALLOCATE", "false"),),
    inherited=(
        *("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"),
        *("ROCM_PATH", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
    ),
    packages=("jax-cuda", "jax-rocm"),
    install='pip install "jax[cuda12]"',
    machine="a machine with four GPUs",
    fewer="let JAX see four alone: CUDA_VISIBLE_DEVICES=0,1,2,3 before the command",
)
TPU = Platform(
    name="tpu",
    backend="tpu",
    jax_platforms="tpu,cpu",
    inherited=(
        *("TPU_LIBRARY_PATH", "TPU_SKIP_MDS_QUERY", "TPU_ACCELERATOR_TYPE", "TPU_WORKER_ID"),
        *("TPU_WORKER_HOSTNAMES", "TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES"),
        *("TPU_CHIPS_PER_PROCESS_BOUNDS", "TPU_PROCESS_BOUNDS", "LIBTPU_INIT_ARGS"),
    ),
    packages=("libtpu",),
    install='pip install "jax[tpu]"',
    machine="a TPU VM with four chips (docs/tpu.md)",
    fewer="take a TPU VM with four chips (docs/tpu.md)",
)
NAMES = ("cpu", GPU.name, TPU.name)


def named(name: str) -> Platform | None:
    """Return the platform of a name, None for the CPU, where nothing differs."""
    if name == GPU.name and not _installed("jax-cuda") and _installed("jax-rocm"):
        return replace(GPU, jax_platforms="rocm,cpu")
    return {GPU.name: GPU, TPU.name: TPU}.get(name)


def patient(exercise: Exercise, platform: Platform) -> Exercise:
    """Return the exercise with its limits of time as they are on a platform."""
    limits, more = exercise.limits, platform.patience
    longer = {"cpu_s": limits.cpu_s * more, "wall_s": limits.wall_s * more}
    return exercise.model_copy(update={"limits": limits.model_copy(update=longer)})


def find(host: Host, platform: Platform, workdir: str, *, only_full: bool) -> Found:
    """Return the devices of a platform, found by a child that runs nothing of a submission.

    Args:
        host: starts children for this platform.
        platform: which devices are asked for.
        workdir: an empty folder.
        only_full: whether confinement has to be full, which it cannot be here.

    Raises:
        EnvironmentProblem: confinement has to be full, or there are not four devices.
    """
    if only_full:
        _refuse_full(platform)
    ready, words = _first_word(host, workdir, platform)
    count = wire.integer(ready["devices"]) if ready.get("backend") == platform.backend else 0
    if count == DEVICES:
        return Found(platform, count, wire.text(ready["kind"], 80))
    raise EnvironmentProblem(
        f"--platform {platform.name} needs {DEVICES} devices, and JAX found {count} here; nothing "
        "was run",
        where="" if count else _reason(platform, ready, words),
        next_step=f"{_next(platform, count)}; without --platform the file is graded on {DEVICES} "
        "logical CPU devices",
    )


def _next(platform: Platform, count: int) -> str:
    if count > DEVICES:
        return platform.fewer
    if count:
        return f"grade on {platform.machine}"
    return f"{platform.install} in this environment, on {platform.machine}"


def _refuse_full(platform: Platform) -> None:
    off = [name for name, _reason in platform.lifted]
    raise EnvironmentProblem(
        f"nothing was run: full confinement is required, and --platform {platform.name} does "
        f"without {', '.join(off)}, which a driver cannot live with",
        next_step="--require-confinement auto runs files that you trust; without --platform the "
        "file is graded on the CPU, with all layers",
    )


def _first_word(host: Host, workdir: str, platform: Platform) -> tuple[dict[str, object], str]:
    """Return the frame in which a child says what devices it has, empty where none came."""
    cpu_s = int(READY_S)
    child = host.start("learner", workdir, Allowance(cpu_s, 4 << 30, 1 << 20))
    deadline = Deadline(READY_S)
    late = ""
    try:
        while (frame := child.receive(deadline)) is not None:
            if frame.get("t") == "ready":
                return dict(frame), ""
    except TimeoutError:
        late = f"JAX did not start in {READY_S:.0f} s"
    except WireProblem as problem:
        late = str(problem)
    finally:
        child.kill()
        child.finish()
    return {}, late or child.output.result().text


def _reason(platform: Platform, ready: Mapping[str, object], words: str) -> str:
    if not any(map(_installed, platform.packages)):
        return "JAX's plugin for it is not installed"
    if ready:
        return f"it would take the {ready.get('backend')}"
    last = words.strip().splitlines()[-1:] or ["no word"]
    # What JAX advises would take the CPU.
    return last[0].partition(" (set JAX_PLATFORMS=")[0].strip()[:_LONGEST_REASON]


def _installed(prefix: str) -> bool:
    names = (one.metadata["Name"] or "" for one in importlib.metadata.distributions())
    return any(name.lower().replace("_", "-").startswith(prefix) for name in names)


def notes(found: Found) -> list[str]:
    """Return what a receipt has to say of an accelerator execution, a sentence each."""
    return [
        f"accelerator execution: --platform {found.platform.name}, {found.count} devices "
        f"({found.kind}), not logical CPU devices; the clean room came after the module's process",
        f"both processes ran with jax_default_matmul_precision={found.platform.precision!r}",
        "the start and the done of an asynchronous collective count as one",
    ]
