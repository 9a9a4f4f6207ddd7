"""A system: something that ran scenarios."""

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
