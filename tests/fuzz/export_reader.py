"""Read exported programs, one for each line of base64, and say what came of each.

A script for a process of its own, where JAX is: a crash of native code ends this process alone.
"""

from __future__ import annotations

import base64
import resource
import sys

from grader.replay.replayer import Refused, admitted
from tests.replay import crafting

MEMORY_BYTES, CPU_S = 6 << 30, 60


def main() -> None:
    """Print an honest export, then answer lines: "read", "refused", or what was raised."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    answers = sys.stdout
    honest = bytes(crafting.twice().serialize())
    print(base64.b64encode(honest).decode(), file=answers, flush=True)
    for line in sys.stdin:
        try:
            admitted(base64.b64decode(line))
            answer = "read"
        except Refused:
            answer = "refused"
        except BaseException as error:  # noqa: BLE001 - the test shows what it was
            answer = f"raised {type(error).__name__}: {error}".splitlines()[0]
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    main()
