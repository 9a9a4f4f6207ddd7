"""The mini engine under one of its profiles, or under a mutant: a profile with some policies replaced.

`mini:torch-2.13` is a profile, `mini:torch-2.13+saved_slot=owning,node_identity=rewrap` a mutant of it.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence

from gradlife._version import __version__
from gradlife.backends.base import Backend, WorkerSpec, this_platform
from gradlife.errors import UsageError
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
        """Return the system; the engine has gradlife's version."""
        return SystemInfo(self.name, self.profile, MODULE, __version__, platform.python_version(), this_platform())

    def worker_spec(self) -> WorkerSpec:
        """Return how to import the engine and set the profile."""
        return WorkerSpec(MODULE, self.spec)


def profile_names() -> tuple[str, ...]:
    """Return the engine's profiles."""
    from gradlife import engine  # a compiled extension that only mini backends need

    return tuple(engine.profiles())


def nearest_profile(release: Backend) -> str:
    """Return the profile to compare a release with: its own, or that of the latest earlier release."""
    if release.name.startswith(PREFIX):
        raise UsageError(f"{release.name} is a profile itself", "a release: torch, torch@INTERPRETER, recorded:NAME")
    known = profile_names()
    own = release.profile
    if own in known:
        return own
    framework = release.profile.partition("-")[0]
    family = sorted((name for name in known if name.partition("-")[0] == framework and numbers(name)), key=numbers)
    if not family:
        raise UsageError(f"no profile imitates {release.profile}", "torch or oneflow")
    older = [name for name in family if numbers(name) <= numbers(own)]
    return older[-1] if older else family[0]


def numbers(name: str) -> tuple[int, ...]:
    """Return the numbers in a release's name."""
    return tuple(int(digits) for digits in re.findall(r"\d+", name))


def axes() -> Mapping[str, Sequence[str]]:
    """Return the engine's policy axes with their values."""
    from gradlife import engine

    return engine.AXES


def policies_of(profile: str) -> Mapping[str, str]:
    """Return a profile's policy on each axis."""
    from gradlife.engine.policies import resolve

    return resolve(profile).axes


def check_spec(spec: str) -> None:
    """Raise if the engine has no such profile, axis or value."""
    from gradlife.engine.policies import resolve

    resolve(spec)
