"""Real devices in the place of logical ones, the whole way, with four CPU devices for them.

No accelerator is needed: a platform is data, and this one's devices are a CPU's.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from grader import engine, intake
from grader.catalog import course
from grader.catalog.load import Entry, entry
from grader.errors import EnvironmentProblem
from grader.process import Child
from grader.receipt import differences, read, render
from grader.records.receipt import Receipt
from grader.sandbox import confine, launching, platforms
from grader.sandbox.host import SpawnHost, open_host
from grader.sandbox.overrides import TOLD, Overrides
from grader.sandbox.platforms import GPU, TPU, Platform
from tests.command import EXERCISE, ROOT, SOLUTIONS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="layers as Linux has them")


def standing_in(devices: int = 4) -> Platform:
    """Return a GPU's platform whose devices are those of a CPU."""
    return replace(
        GPU,
        backend="cpu",
        jax_platforms="cpu",
        variables=(("JAX_NUM_CPU_DEVICES", str(devices)), ("NPROC", "8")),
        inherited=(),
    )


@pytest.fixture(scope="module")
def exercise() -> Entry:
    return entry(course.Course(ROOT), EXERCISE)


class Watched:
    """A host that notes how many children it has whenever it is asked for one more."""

    def __init__(self, inner: SpawnHost) -> None:
        self._inner = inner
        self.room = inner.room
        self.seen: list[tuple[str, int]] = []

    def start(self, entry: str, workdir: str, allowance: launching.Allowance) -> Child:
        alive = sum(child.wait(0) is None for child in self._inner._children)
        self.seen.append((entry, alive))
        return self._inner.start(entry, workdir, allowance)

    def alive(self) -> bool:
        return self._inner.alive()

    def close(self) -> None:
        self._inner.close()


def graded(exercise: Entry, file: Path, platform: Platform) -> Receipt:
    opened = open_host(exercise.course.secrets(), None, platform=platform)
    assert isinstance(opened, SpawnHost)
    host = Watched(opened)
    try:
        return engine.grade(exercise, intake.read(str(file)), host, platform=platform).receipt
    finally:
        host.close()
        # A driver gives its devices to one process: nobody else may be there.
        assert not [kind for kind, alive in host.seen if alive]


# A module that asks for a CPU in every way there is, and then solves the exercise.
STUBBORN = """
import os
os.environ["JAX_PLATFORM_NAME"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax
jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_default_matmul_precision", "bfloat16")
jax.config.update("jax_debug_nans", False)
assert len(jax.devices()) == 4
assert len(jax.devices("cpu")) == 4
"""


@pytest.fixture(scope="module")
def receipt(exercise: Entry, tmp_path_factory: pytest.TempPathFactory) -> Receipt:
    file = tmp_path_factory.mktemp("stubborn") / "mine.py"
    solved = (SOLUTIONS / "accepted" / "lesson_form.py").read_text(encoding="utf-8")
    file.write_text(f"{STUBBORN}\n{solved}", encoding="utf-8")
    return graded(exercise, file, standing_in())


def test_a_right_solution_passes_though_its_own_lines_ask_for_a_cpu(receipt: Receipt) -> None:
    assert (receipt.verdict, receipt.points) == ("passed", 100), receipt.outcome
    assert receipt.environment.devices == 4


def test_the_receipt_says_what_was_overridden(receipt: Receipt) -> None:
    told = [note for note in receipt.notes if note.endswith(TOLD)]
    assert [note.split()[0] for note in told] == [
        "jax_platforms",
        "jax_num_cpu_devices",
        "JAX_PLATFORM_NAME",
        "XLA_FLAGS",
    ]
    assert (
        "jax_default_matmul_precision was set to bfloat16; the programs were exported without it"
        in receipt.notes
    )


def test_the_receipt_says_how_an_accelerator_was_used(receipt: Receipt) -> None:
    execution = receipt.environment.execution
    assert execution is not None
    assert (execution.platform, execution.kind) == ("gpu", "cpu")
    assert execution.matmul_precision == "highest"
    assert receipt.notes[:3] == [
        "accelerator execution: --platform gpu, 4 devices (cpu), not logical CPU devices; the "
        "clean room came after the module's process",
        "both processes ran with jax_default_matmul_precision='highest'",
        "the start and the done of an asynchronous collective count as one",
    ]
    assert receipt.observed_cpu_us.label == (
        "Observed timings of an accelerator execution on 4 devices of cpu (as timed by one host)"
    )


def test_the_receipt_says_that_confinement_is_partial_and_why(receipt: Receipt) -> None:
    found = receipt.environment.confinement
    assert found.level == "partial"
    off = {layer.name: layer.reason for layer in found.layers if not layer.on}
    assert off == dict(GPU.lifted)
    assert (
        "confinement is partial beside a driver of a gpu, without namespaces, scratch, rlimits, "
        "landlock, seccomp"
    ) in receipt.notes


@pytest.mark.parametrize("form", ["md", "html"])
def test_no_form_of_the_receipt_calls_these_devices_logical(receipt: Receipt, form: str) -> None:
    shown = render.render(receipt, form, [ROOT / "templates"])  # type: ignore[arg-type]
    assert "4 devices of cpu, accelerator execution" in shown
    assert "4 logical CPU devices" not in shown
    assert "Observed CPU timings" not in shown
    assert "on the logical devices" not in shown


def test_the_receipt_is_read_again_as_it_was_written(receipt: Receipt, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(render.to_json(receipt), encoding="utf-8")
    assert read.receipt(str(file)) == receipt


def test_a_receipt_of_a_cpu_has_no_word_of_it_and_differs_in_its_devices(receipt: Receipt) -> None:
    on_cpu = receipt.environment.model_copy(update={"execution": None})
    assert "execution" not in json.loads(on_cpu.model_dump_json())
    (difference,) = differences.circumstances(receipt.environment, on_cpu)
    assert (difference.what, difference.was, difference.now) == (
        "devices",
        "4 devices of cpu, accelerator execution",
        "4",
    )


@pytest.mark.slow
def test_a_wrong_solution_is_told_the_same_mistake(exercise: Entry) -> None:
    file = SOLUTIONS / "rejected" / "values--local-mean.py"
    found = graded(exercise, file, standing_in())
    assert (found.verdict, found.points) == ("failed", 69)
    assert [check.mistake for check in found.checks if check.mistake] == ["local-mean"]


@pytest.mark.once
@pytest.mark.parametrize(
    ("devices", "step"),
    [
        (3, "grade on a machine with four GPUs"),
        (8, "let JAX see four alone: CUDA_VISIBLE_DEVICES=0,1,2,3 before the command"),
    ],
)
def test_another_number_of_devices_is_refused_with_the_count(
    exercise: Entry, devices: int, step: str
) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        graded(exercise, SOLUTIONS / "accepted" / "lesson_form.py", standing_in(devices))
    assert caught.value.sentence() == (
        f"--platform gpu needs 4 devices, and JAX found {devices} here; nothing was run\n"
        f"  Next: {step}; without --platform the file is graded on 4 logical CPU devices"
    )


@pytest.mark.once
def test_devices_of_another_kind_are_none(exercise: Entry) -> None:
    # As JAX does where it has its plugin and finds no GPU: it takes the CPU without a word.
    with pytest.raises(EnvironmentProblem, match="JAX found 0 here; nothing was run"):
        graded(
            exercise,
            SOLUTIONS / "accepted" / "lesson_form.py",
            replace(standing_in(), backend="gpu"),
        )


@pytest.mark.once
def test_what_a_driver_says_is_told_without_jaxs_advice_to_take_the_cpu(exercise: Entry) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        graded(
            exercise,
            SOLUTIONS / "accepted" / "lesson_form.py",
            replace(standing_in(), jax_platforms="vpu,cpu", packages=("jax",)),
        )
    assert "JAX found 0 here" in caught.value.what
    assert caught.value.where.startswith("RuntimeError: Unable to initialize backend 'vpu': ")
    assert "JAX_PLATFORMS" not in caught.value.sentence()


# ------------------------------------------------------------------------ what a child is given


def test_a_child_is_told_the_platform_and_nothing_else_of_the_callers() -> None:
    pinned = launching.environment(None)
    for platform in (GPU, TPU):
        made = platform.environment(pinned)
        assert made["JAX_PLATFORMS"] == platform.jax_platforms
        assert made["JAX_DEFAULT_MATMUL_PRECISION"] == "highest"
        assert made["JAX_ENABLE_COMPILATION_CACHE"] == "false"
        # XLA ends a process for a flag that its build does not know.
        assert "XLA_FLAGS" not in made
        own = {name for name, _value in platform.variables} | {"JAX_DEFAULT_MATMUL_PRECISION"}
        assert made.keys() <= pinned.keys() | own | {*platform.inherited}
        passed_on = {name for name in platform.inherited if name in os.environ}
        assert passed_on <= made.keys()
    assert pinned["JAX_PLATFORMS"] == "cpu"


def test_each_child_is_a_process_of_its_own_and_reads_no_cache() -> None:
    host = open_host([], "cache-of-a-cpu", platform=TPU)
    try:
        assert isinstance(host, SpawnHost)
        assert "JAX_COMPILATION_CACHE_DIR" not in host._environment_of("learner")
    finally:
        host.close()


def test_the_platform_of_a_name_is_none_for_the_cpu() -> None:
    assert platforms.named("cpu") is None
    assert platforms.named("tpu") is TPU
    assert platforms.named("gpu") == GPU
    assert platforms.named("vpu") is None


def test_time_is_longer_there_and_nothing_else(exercise: Entry) -> None:
    longer = platforms.patient(exercise.exercise, TPU)
    assert longer.limits.wall_s == exercise.exercise.limits.wall_s * TPU.patience
    assert longer.limits.cpu_s == exercise.exercise.limits.cpu_s * TPU.patience
    assert longer.model_copy(update={"limits": exercise.exercise.limits}) == exercise.exercise


def test_only_layers_that_there_are_can_be_lifted() -> None:
    for platform in (GPU, TPU):
        assert {name for name, _reason in platform.lifted} <= {*confine.LAYERS}
        assert all(reason for _name, reason in platform.lifted)


class Config:
    """What `jax.config` is to a module."""

    def __init__(self) -> None:
        self.made: dict[str, object] = {}

    def update(self, name: str, val: object) -> None:
        self.made[name] = val


def test_settings_of_platform_and_count_have_no_effect_and_others_have() -> None:
    config = Config()
    overrides = Overrides(config)
    config.update("jax_platforms", "cpu")
    config.update(name="jax_platform_name", val="cpu")
    config.update("jax_enable_x64", True)
    assert config.made == {"jax_enable_x64": True}
    assert overrides.told() == [f"jax_platforms {TOLD}", f"jax_platform_name {TOLD}"]


def test_a_module_that_sets_nothing_is_told_nothing() -> None:
    assert Overrides(Config()).told() == []
