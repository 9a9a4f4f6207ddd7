"""A registered environment, as listed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EnvironmentInfo:
    """A registered environment: the requested and installed versions, its location and its size."""

    name: str
    is_ready: bool  # False: its installation was interrupted
    python: str
    framework: str
    version: str  # of the framework
    packages: tuple[str, ...]
    path: str
    bytes: int
