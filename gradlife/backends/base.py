"""The interface of a backend: a named system, and the way a child loads its framework."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Protocol

from gradlife.model.system import SystemInfo


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """How a child loads the framework: the module to import, the engine profile, the interpreter."""

    module: str
    profile: str | None = None
    interpreter: str = ""  # path of another interpreter; empty: this one
    abi: str = ""  # of another interpreter
    is_threaded: bool = False  # the framework starts threads, which a forked process would lack


class Backend(Protocol):
    """A system that can run a scenario."""

    @property
    def name(self) -> str:
        """The full name: `torch`, `mini:torch-1.2`, `mini:torch-2.13+saved_slot=owning`."""

    @property
    def profile(self) -> str:
        """The profile that it is or imitates: `torch-1.2`."""

    def describe(self) -> SystemInfo:
        """Return a description of the system, without loading it."""

    def worker_spec(self) -> WorkerSpec:
        """Return how a child loads the system."""


def this_platform() -> str:
    """Return the operating system and the machine's architecture."""
    return f"{platform.system()} {platform.machine()}"
