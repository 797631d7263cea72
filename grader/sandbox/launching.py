"""How a process of a child or of the fork server is started: its environment, command and folders.

Nothing of the caller's is inherited but what is named here.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from grader.sandbox import cache as cache_folder
from grader.sandbox import rooms

# Older OpenBLAS builds compute wrong results on some processors without these two.
INHERITED = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    *(("SYSTEMROOT", "TEMP", "TMP") if sys.platform == "win32" else ()),
)
DEVICES = 4
_JAXLIB = re.compile(r"jaxlib-(\d+)\.(\d+)\.")
_ROOT = str(Path(__file__).resolve().parents[2])
_BOOT = (
    "import sys,json;c=json.loads(sys.argv[1]);sys.path[:]=c['path'];sys.prefix=c['prefix'];"
    "from grader.sandbox import server;{call}"
)


def quick_flags(installed: Sequence[str]) -> str:
    """Return flags that halve the time of a compilation, where jaxlib is known to take them.

    A lesson's programs run a few times on a few numbers. XLA ends the process for a flag that it
    does not know, and the last one is gone in 0.12, where the others alone gain nothing.

    Args:
        installed: names of metadata folders, as `cache.jax_versions` gives them.
    """
    found = [match for name in installed if (match := _JAXLIB.match(name))]
    if len(found) != 1 or not (0, 9) <= (int(found[0][1]), int(found[0][2])) <= (0, 10):
        return ""
    return (
        " --xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
        " --xla_cpu_use_fusion_emitters=false"
    )


def environment(cache: str | None, *, fill: bool = False) -> dict[str, str]:
    """Return the whole environment of every child, built from nothing.

    Args:
        cache: folder of compiled programs, None for none.
        fill: whether children write to it; only trusted code may run with this.

    The flags make XLA end a collective that not every device reaches within seconds. NPROC gives
    its thread pool room: with two threads JAX 0.10 can deadlock in a rendezvous.
    """
    built = {
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(DEVICES),
        "XLA_FLAGS": "--xla_cpu_collective_call_warn_stuck_timeout_seconds=2"
        " --xla_cpu_collective_call_terminate_timeout_seconds=4"
        + quick_flags(cache_folder.jax_versions()),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "NPROC": "8",
        "MALLOC_ARENA_MAX": "2",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "LANG": "C.UTF-8",
        "TF_CPP_MIN_LOG_LEVEL": "1",
    }
    built.update({name: os.environ[name] for name in INHERITED if name in os.environ})
    if cache:
        # Otherwise a child may read the cache and never write it.
        built["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0" if fill else "1000000000"
        built["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
        built["JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES"] = "none"
    else:
        built["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    return built


@dataclass(frozen=True)
class Allowance:
    """What one child may use: CPU seconds, and bytes of memory, of output, and of its scratch.

    With `checkpoints` it may use what writing checkpoints into its scratch takes; with `only_full`
    it runs nothing where a required layer of confinement is missing.
    """

    cpu_s: int
    memory_bytes: int
    output_bytes: int
    scratch_bytes: int = 0
    only_full: bool = False
    checkpoints: bool = False


def _python_path() -> list[str]:
    # The empty entry and the script's folder would let a learner's jax.py shadow the real one.
    here = {"", os.getcwd(), os.path.dirname(os.path.abspath(sys.argv[0] or "."))}
    kept = [path for path in sys.path if path not in here or path == _ROOT]
    return kept if _ROOT in kept else [_ROOT, *kept]


def command(call: str, config: dict[str, Any]) -> list[str]:
    """Return the command line of an interpreter that calls into `server` with `c` as its config."""
    program = _BOOT.format(call=call)
    text = json.dumps({"path": _python_path(), "prefix": sys.prefix, **config})
    # Without `site`: the path is given, and whatever .pth files would run is not wanted.
    return [sys.executable, "-S", "-s", "-P", "-c", program, text]


def tail_file() -> IO[bytes]:
    """Return a file for what a process prints. Raises: EnvironmentProblem."""
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise rooms.no_temporary_folder(error) from error
