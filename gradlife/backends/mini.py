"""The mini engine under one of its profiles, or under a mutant: a profile with some policies replaced.

`mini:torch-2.13` is a profile, `mini:torch-2.13+saved_slot=owning,node_identity=rewrap` a mutant of it.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence

from gradlife._version import __version__
from gradlife.backends.base import WorkerSpec, this_platform
from gradlife.model.system import SystemInfo

MODULE = "gradlife.engine"
PREFIX = "mini:"


class MiniBackend:
    """The mini engine under a profile specification such as `torch-2.13` or `torch-2.13+saved_slot=owning`."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.profile = spec.partition("+")[0]
        self.name = PREFIX + spec
        check_spec(spec)

    def describe(self) -> SystemInfo:
        """The engine is of gradlife's own version."""
        return SystemInfo(self.name, self.profile, MODULE, __version__, platform.python_version(), this_platform())

    def worker_spec(self) -> WorkerSpec:
        """Import the engine and put the profile in force."""
        return WorkerSpec(MODULE, self.spec)


def profile_names() -> tuple[str, ...]:
    """The engine's profiles."""
    from gradlife import engine  # a compiled extension; only naming a mini backend needs it

    return tuple(engine.profiles())


def axes() -> Mapping[str, Sequence[str]]:
    """The engine's policy axes, with their values."""
    from gradlife import engine

    return engine.AXES


def policies_of(profile: str) -> Mapping[str, str]:
    """The policy of a profile on each axis."""
    from gradlife import engine

    return engine.profiles()[profile].axes


def check_spec(spec: str) -> None:
    """Raise if the engine has no such profile, axis or value."""
    from gradlife.engine.policies import resolve

    resolve(spec)
