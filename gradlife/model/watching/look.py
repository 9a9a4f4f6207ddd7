"""The objects alive at one moment in a watched process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradlife.model.heap import Owner
from gradlife.model.hunt import Amounts, Finding, FindingKind


@dataclass(frozen=True, slots=True)
class Look:
    """The memory levels at one moment: totals, not rates."""

    time: float  # Unix time
    steps: int
    live: Amounts  # `retained_bytes` are those of all objects
    resident_bytes: int
    owners: tuple[Owner, ...] = ()  # largest first

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Look:
        """Build a look from the values of `dataclasses.asdict`."""
        live = Amounts(**values["live"])
        owners = tuple(Owner(**one) for one in values["owners"])
        return cls(values["time"], values["steps"], live, values["resident_bytes"], owners)


def growth_of(findings: Sequence[Finding]) -> Amounts:
    """Return the growth per step of all leaks together."""
    rates = [one.per_step for one in findings if one.kind not in (FindingKind.RETAINED, FindingKind.NEEDS_GC)]
    names = ("objects", "tensors", "storages", "graph_nodes", "bytes", "retained_bytes")
    return Amounts(*(sum(getattr(rate, name) for rate in rates) for name in names))
