"""The table of systems."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("systems.toml")


@dataclass(frozen=True, slots=True)
class System:
    """One release of the atlas."""

    name: str  # framework and version: `torch-1.1.0`
    framework: str
    packages: tuple[str, ...]  # empty: the framework installed beside gradlife
    python: str = ""
    megabytes: int = 0

    @property
    def backend(self) -> str:
        """The system's backend name, once its environment exists."""
        return f"{self.framework}@{self.name}" if self.packages else self.framework

    @property
    def recording(self) -> str:
        """The name of its recording's file."""
        return f"{self.name}.json"


def systems(table: Path = TABLE) -> tuple[System, ...]:
    """Return the systems of a table in order."""
    rows = tomllib.loads(table.read_text(encoding="utf-8"))["system"]
    return tuple(System(**{**row, "packages": tuple(row["packages"])}) for row in rows)


def chosen(all_systems: Sequence[System], names: Sequence[str]) -> tuple[System, ...]:
    """Return the systems of these names, or all if no name is given."""
    unknown = [name for name in names if name not in {system.name for system in all_systems}]
    if unknown:
        raise SystemExit(f"no system {unknown[0]}; there are " + ", ".join(system.name for system in all_systems))
    return tuple(system for system in all_systems if not names or system.name in names)
