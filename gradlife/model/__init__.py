"""Plain values: what was run, what was read, how it compares. Standard library only, no live user objects."""

from gradlife.model.comparison import Comparison, ExpectationResult, Status, Verdict
from gradlife.model.reading import Event, OwnerEdge, OwnerGraph, OwnerNode, Ownership, Reading
from gradlife.model.report import RunReport
from gradlife.model.run import RunCrashed, RunFailed, RunOk, RunTimedOut, RunUnavailable, ScenarioRun
from gradlife.model.story import Declared, DeclaredDifference, ScenarioInfo
from gradlife.model.system import SystemInfo
from gradlife.model.totals import PairTotals, Totals

__all__ = [
    "Comparison",
    "Declared",
    "DeclaredDifference",
    "Event",
    "ExpectationResult",
    "OwnerEdge",
    "OwnerGraph",
    "OwnerNode",
    "Ownership",
    "PairTotals",
    "Reading",
    "RunCrashed",
    "RunFailed",
    "RunOk",
    "RunReport",
    "RunTimedOut",
    "RunUnavailable",
    "ScenarioInfo",
    "ScenarioRun",
    "Status",
    "SystemInfo",
    "Totals",
    "Verdict",
]
