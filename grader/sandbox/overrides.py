"""Keep a module's own choice of platform and device count from having an effect.

Runs in the learner child, and only where `--platform` asks for something else than the CPU, for
which nearly every module is written. The module's lines run, nothing of it is changed, and what
was overridden is told.
"""

from __future__ import annotations

import os
from typing import Any

CONFIG = ("jax_platforms", "jax_platform_name", "jax_num_cpu_devices")
VARIABLES = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "JAX_NUM_CPU_DEVICES", "XLA_FLAGS")
TOLD = "was set by the module and had no effect: --platform decides"
_COUNT_FLAG = "xla_force_host_platform_device_count"


class Overrides:
    """What a module asked for of the settings that `--platform` decides."""

    def __init__(self, config: Any) -> None:
        """Take `jax.config`.

        Effects: replaces its `update` until the process ends. The backend must have started:
        environment variables then come too late by themselves.
        """
        self._asked: set[str] = set()
        self._before = {name: os.environ.get(name) for name in VARIABLES}
        inner = config.update

        def update(name: str, val: object) -> None:  # as JAX calls them
            if name in CONFIG:
                self._asked.add(name)
            else:
                inner(name, val)

        config.update = update

    def told(self) -> list[str]:
        """Return a sentence for each setting that the module made, settings of JAX first."""
        changed = [name for name, old in self._before.items() if os.environ.get(name) != old]
        if _COUNT_FLAG not in os.environ.get("XLA_FLAGS", ""):
            changed = [name for name in changed if name != "XLA_FLAGS"]
        asked = [name for name in CONFIG if name in self._asked]
        return [f"{name} {TOLD}" for name in (*asked, *changed)]
