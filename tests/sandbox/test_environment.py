"""What a module finds in its environment: the names that are listed here, and no other."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from grader.sandbox import launching
from tests.command import grade

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the environment as Linux has it")
ALWAYS = {
    "JAX_NUM_CPU_DEVICES",
    "JAX_PLATFORMS",
    "LANG",
    "MALLOC_ARENA_MAX",
    "NPROC",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONUTF8",
    "TF_CPP_MIN_LOG_LEVEL",
    "XLA_FLAGS",
}
AT_HOME = {"HOME", "TMPDIR"}
# Importing JAX sets it, in the process that the child is forked from.
SET_BY_JAX = {"TPU_SKIP_MDS_QUERY"}
# Where this machine's OpenBLAS needs them to compute right, and nothing else of the caller's.
PASSED_ON = {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}
WITHOUT_CACHE = {"JAX_ENABLE_COMPILATION_CACHE"}
WITH_CACHE = {
    "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES",
}
# What a caller may have that is of use to somebody, or that changes what Python or XLA do.
CALLERS = {
    "GRADE_TOKEN": "secret",
    "JAX_ENABLE_X64": "1",
    "LC_ALL": "C.UTF-8",
    "LD_LIBRARY_PATH": "/nowhere",
    "PYTHONPATH": "/nowhere",
    "PYTHONWARNINGS": "ignore",
    "SYSTEMROOT": "/nowhere",
    "TEMP": "/nowhere",
    "TMP": "/nowhere",
}
SHOWS = """
import os
print("names", *sorted(os.environ))
print("at home", os.environ["HOME"] == os.environ["TMPDIR"] == os.getcwd())
"""


def passed_on() -> set[str]:
    return PASSED_ON & os.environ.keys()


def test_a_module_finds_these_names_in_its_environment_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "shows.py").write_text(SHOWS, encoding="utf-8")
    ran = grade("shows.py", "--json", "--no-receipt", cwd=tmp_path, env=CALLERS)
    names, home = ran.graded["output"]["text"].splitlines()
    found = set(names.split()[1:]) - SET_BY_JAX
    assert found == ALWAYS | AT_HOME | WITHOUT_CACHE | passed_on()
    assert home == "at home True"


@pytest.mark.parametrize("fill", [False, True])
def test_a_cache_of_programs_adds_how_it_is_used_and_not_where_it_lies(
    fill: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CALLERS.items():
        monkeypatch.setenv(name, value)
    made = launching.environment("/somewhere", fill=fill)
    assert made.keys() == ALWAYS | WITH_CACHE | passed_on()
    assert not [value for value in made.values() if "where" in value]
