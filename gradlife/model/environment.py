"""A registered environment, as it is listed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EnvironmentInfo:
    """An environment by its name: what it was asked to have, what it has, where it is and how much that is."""

    name: str
    is_ready: bool  # False: its installation was interrupted
    python: str
    framework: str
    version: str  # of the framework
    packages: tuple[str, ...]
    path: str
    bytes: int
