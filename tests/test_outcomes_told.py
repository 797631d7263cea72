"""Every end of a module as a learner is told it: the sentence, the line and the next step."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command import grade

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ends and walls as Linux has them")

SLOW = pytest.mark.slow
EXITS = "remove the call that exits: the grader imports the module to its end"
REMOVE = "remove that call: the grader imports the module to its end"
NO_NETWORK = "there is no network while grading: put what is needed into the file itself"
ONE_PROCESS = "a solution is one process: leave out subprocess, multiprocessing and os.fork"
NO_SIGNAL = "leave that call out: a module may signal only itself, and not with SIGKILL"
NO_LIMIT = "leave that call out: the limits of a module stay as they are"
NO_FILE = "a solution needs no file of this machine: put what it needs into the module itself"
NO_MODES = "a file's mode, owner and times cannot be changed: copy with shutil.copyfile"
NO_LINKS = "links and pipes cannot be made: leave that call out"
WITHIN = "write only into the working directory, which holds 16 MiB and is thrown away"
FAULTS = "look for code that reaches into memory, such as ctypes"
STUCK = """\
import jax, jax.numpy as jnp
from jax.sharding import PartitionSpec as P
mesh = jax.make_mesh((4,), ("data",))
x = jax.device_put(jnp.ones(64), jax.NamedSharding(mesh, P("data")))
def lonely(value):
    first = jax.lax.axis_index("data") < 2
    return jax.lax.cond(first, lambda v: {call}, lambda v: v * 1.0, value)
put = dict(mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)
stuck = jax.jit(jax.shard_map(lonely, **put))
stuck(x).block_until_ready()  # here
"""


@dataclass(frozen=True)
class End:
    """A module whose line of its end is marked `# here`, and what is said of it."""

    source: str
    kind: str
    message: str
    next_step: str


@functools.cache
def has_scratch() -> bool:
    script = (
        "from grader.sandbox import confine\n"
        "print(any(one.name == 'scratch' and one.state == 'on' for one in confine.probe()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout == "True\n"


def file_refused(source: str, tried: str, step: str) -> End:
    return End(source, "blocked", f"the sandbox refused {tried}", step)


ENDS = {
    "exit": End(
        "import sys\n\nsys.exit(0)  # here\n",
        "exited",
        "the module ended itself at line 3 by `sys.exit(0)`",
        EXITS,
    ),
    "exit in a library": End(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.parse_args(['-x'])  # here\n",
        "exited",
        "the module ended itself at line 3 by `parser.parse_args(['-x'])` (exit code 2)",
        EXITS,
    ),
    "exit of the process": End(
        "import os\ndef leave():\n    os._exit(0)  # here\n\nleave()\n",
        "no_result",
        "the module ended its process at line 3 by `os._exit(0)` (exit code 0), without a result",
        REMOVE,
    ),
    "exit of the process by another name": End(
        "from os import _exit as leave\nleave(7)  # here\n",
        "no_result",
        "the module's process ended at line 2, in `leave(7)`, without leaving a result"
        " (exit code 7)",
        "remove calls such as os._exit: the grader imports the module to its end",
    ),
    "abort": End(
        "import os\nos.abort()  # here\n",
        "killed",
        "the module's process was ended by an abort, SIGABRT (signal 6) at line 2, by `os.abort()`",
        REMOVE,
    ),
    "crash": End(
        "import faulthandler as f\ncrash = f._sigsegv\ndef g():\n    crash()  # here\n\ng()\n",
        "killed",
        "the module's process was ended by a segmentation fault, SIGSEGV (signal 11) at line 4,"
        " in `crash()`",
        FAULTS,
    ),
    "memory for an array": End(
        "import numpy as np\nhog = np.ones(2**40)  # here\n",
        "out_of_memory",
        "at line 2: Unable to allocate 8.00 TiB for an array with shape",
        "look for a size that grew",
    ),
    "memory in XLA": End(
        "import jax.numpy as jnp\nhog = jnp.ones((2**20, 2**20))  # here\n",
        "out_of_memory",
        "at line 2: Out of memory allocating 4 TiB",
        "look for a size that grew",
    ),
    "memory piece by piece": End(
        "hog = []\nwhile True: hog.append(bytearray(1 << 24))  # here\n",
        "out_of_memory",
        "the module asked for more memory than",
        "look for a size that grew",
    ),
    "file": file_refused(
        "def f():\n    open('/etc/x.txt', 'w')  # here\n\nf()\n",
        "opening '/etc/x.txt' for writing at line 2, in `open('/etc/x.txt', 'w')`",
        WITHIN,
    ),
    "file of somebody else": file_refused(
        "import numpy as np\nnp.load('/etc/passwd')  # here\n",
        "opening '/etc/passwd' for reading at line 2, in `np.load('/etc/passwd')`",
        NO_FILE,
    ),
    "copy of a file": file_refused(
        "import shutil\nopen('a', 'w').close()\nshutil.copy('a', 'b')  # here\n",
        "changing 'b' at line 3, in `shutil.copy('a', 'b')`",
        NO_MODES,
    ),
    # Whether its name is told with it is up to Python.
    "copy of a file with its times": End(
        "import shutil\nopen('a', 'w').close()\nshutil.copy2('a', 'b')  # here\n",
        "blocked",
        " at line 3, in `shutil.copy2('a', 'b')`",
        NO_MODES,
    ),
    "copy of a folder": file_refused(
        "import os, shutil\nos.mkdir('a')\nshutil.copytree('a', 'b')  # here\n",
        "changing a file at line 3, in `shutil.copytree('a', 'b')`",
        NO_MODES,
    ),
    "mode": file_refused(
        "import os\nopen('a', 'w').close()\nos.chmod('a', 0o600)  # here\n",
        "changing 'a' at line 3, in `os.chmod('a', 384)`",
        NO_MODES,
    ),
    "link": file_refused(
        "import pathlib\npathlib.Path('a').symlink_to('b')  # here\n",
        "making 'b' at line 2, in `pathlib.Path('a').symlink_to('b')`",
        NO_LINKS,
    ),
    "file in a library": file_refused(
        "import numpy as np\nnp.save('/etc/a.npy', np.ones(3))  # here\n",
        "opening '/etc/a.npy' for writing at line 2, in `np.save('/etc/a.npy', np.ones(3))`",
        WITHIN,
    ),
    "folder": file_refused(
        "import os\nos.listdir('/')  # here\n",
        "listing '/' at line 2, in `os.listdir('/')`",
        NO_FILE,
    ),
    "file behind another error": file_refused(
        "try:\n    open('/etc/x', 'w')  # here\nexcept OSError:\n    raise ValueError\n",
        "opening '/etc/x' for writing at line 2, in `open('/etc/x', 'w')`",
        WITHIN,
    ),
    "network": End(
        "from urllib.request import urlopen\nurlopen('http://example.com')  # here\n",
        "blocked",
        "the sandbox refused a network connection at line 2, in `urlopen('http://example.com')`",
        NO_NETWORK,
    ),
    "process": End(
        "import subprocess\nsubprocess.run(['ls'])  # here\n",
        "blocked",
        "the sandbox refused a new process at line 2, in `subprocess.run(['ls'])`",
        ONE_PROCESS,
    ),
    "pool of processes": End(
        "import multiprocessing\npool = multiprocessing.Pool(2)  # here\n",
        "blocked",
        "the sandbox refused a new process at line 2, in `multiprocessing.Pool(2)`",
        ONE_PROCESS,
    ),
    "signal": End(
        "import os\nos.kill(1, 9)  # here\n",
        "blocked",
        "the sandbox refused a signal at line 2, in `os.kill(1, 9)`",
        NO_SIGNAL,
    ),
    "kill of itself": End(
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)  # here\n",
        "blocked",
        "the sandbox refused a signal at line 2, in `os.kill(os.getpid(), signal.SIGKILL)`",
        NO_SIGNAL,
    ),
    "kill of itself by another name": End(
        "import signal\nsignal.raise_signal(9)  # here\n",
        "blocked",
        "the sandbox refused a signal at line 2, in `signal.raise_signal(9)`",
        NO_SIGNAL,
    ),
    "limit": End(
        "import resource as r\nr.setrlimit(r.RLIMIT_STACK, (1 << 20, 1 << 20))  # here\n",
        "blocked",
        "the sandbox refused a change of its limits at line 2, in `r.setrlimit(r.RLIMIT_STACK",
        NO_LIMIT,
    ),
    "limit by another call": End(
        "import resource as r\nr.prlimit(0, r.RLIMIT_CPU, (1, 1))  # here\n",
        "blocked",
        "the sandbox refused a change of its limits at line 2, in `r.prlimit(0, r.RLIMIT_CPU",
        NO_LIMIT,
    ),
    "system call": End(
        "import os\nos.setuid(5)  # here\n",
        "blocked",
        "the sandbox refused a system call at line 2, in `os.setuid(5)`",
        "leave that call out",
    ),
    "slip while a refusal is handled": End(
        "try:\n    open('/etc/x', 'w')\nexcept PermissionError:\n    undefined_name  # here\n",
        "raised",
        "NameError: name 'undefined_name' is not defined",
        "define that name above",
    ),
    "traced truth value": End(
        "import jax\n\n@jax.jit\ndef f(x):\n    return 1 if x > 0 else 2  # here\n\nf(1.0)\n",
        "raised",
        "TracerBoolConversionError: ",
        "use jnp.where(condition, a, b), or jax.lax.cond",
    ),
    "surrogate": End(
        "raise ValueError('\\ud800\\x1b[2J')  # here\n",
        "raised",
        r"ValueError: \ud800\x1b[2J",
        "run the file with python",
    ),
    "flood": End(
        "while True: print('x' * 10_000)  # here\n",
        "output_flood",
        "the first 16 and the last 16 KiB are kept",
        "remove the print inside the loop",
    ),
    **{
        f"deadlock in an {name}": End(
            STUCK.format(call=call),
            "deadlock",
            "a collective was not reached by every device at line 10,"
            f" in `stuck(x).block_until_ready()`: 2 of 4 devices arrived at the {name}",
            f"({function}): move them out of a cond or an if",
        )
        for name, function, call in (
            ("all-reduce", "psum, pmean or pmax", 'jax.lax.psum(v, "data")'),
            ("all-gather", "all_gather", 'jax.lax.all_gather(v, "data")[0]'),
        )
    },
}
# Without a place to write these come to another end: test_lacking.py tells of it.
NEEDS_SCRATCH = {n for n, end in ENDS.items() if end.next_step in (WITHIN, NO_MODES, NO_LINKS)}
NEEDS_TIME = {name for name in ENDS if name.startswith("deadlock")}
EVERY = [pytest.param(name, marks=[SLOW] * (name in NEEDS_TIME), id=name) for name in ENDS]


def outcome_of(source: str, folder: Path) -> tuple[dict[str, Any], str]:
    """Grade a module; returns its outcome, and all that the receipt holds as text."""
    (folder / "mine.py").write_text(source, encoding="utf-8")
    ran = grade("mine.py", "--json", "--no-receipt", cwd=folder)
    found = ran.graded["outcome"]
    assert isinstance(found, dict)
    return found, ran.stdout


@pytest.mark.parametrize("name", EVERY)
def test_every_end_is_told_with_its_line_its_cause_and_a_next_step(
    name: str, tmp_path: Path
) -> None:
    end = ENDS[name]
    if name in NEEDS_SCRATCH and not has_scratch():
        pytest.skip("this machine gives no scratch")
    found, receipt = outcome_of(end.source, tmp_path)
    assert found["kind"] == end.kind
    assert end.message in found["message"]
    assert end.next_step in found["next_step"]
    assert found["line"] == end.source[: end.source.index("# here")].count("\n") + 1
    # Nothing of ours, of this machine or of this run is in what a learner reads.
    told = " ".join([found["message"], found["next_step"], *found["traceback"]])
    assert not re.search(r"grader/|site-packages|0x[0-9a-f]{6}|/tmp/", told)
    assert "sandbox/statements.py" not in receipt
    assert len(told) < 2500
