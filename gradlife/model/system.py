"""A system: something that ran scenarios; and the environments that old systems are installed in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SystemInfo:
    """A system's full name (`mini:torch-1.2`), the profile that it is or imitates (`torch-1.2`), and the platform it
    ran on.
    """

    name: str
    profile: str
    framework: str
    version: str
    python: str
    platform: str


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
