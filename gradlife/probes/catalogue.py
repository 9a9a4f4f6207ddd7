"""The list of probes."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.errors import UnknownNameError


@dataclass(frozen=True)
class Probe:
    """One instrument: its name, its question, and whether its answers can be compared between systems."""

    name: str
    question: str
    engine_only: bool = False  # only the mini engine can answer it
    incomparable: tuple[str, ...] = ()  # subjects whose values do not depend on the story alone
    checks: str = ""  # the probe of the same run to compare with, instead of another system


PROBES: tuple[Probe, ...] = (
    Probe("liveness", "When did it die after its last name went: del, gc, or never, or what still holds it?"),
    Probe(
        "graph",
        "What does the heap graph predict before the collection: gc, never or held?",
        checks="liveness",
    ),
    Probe("expiry", "Is it alive now?"),
    Probe("identity", "Is one C++ object always the same Python object, with its attributes?"),
    Probe("refcount", "How many references has it beyond those of an object with one name, and how many C++ owners?"),
    Probe(
        "referrers", "What do gc and objgraph find for a leaked subject: a chain to a module, a dead end, or nothing?"
    ),
    Probe("value", "What did the story compute, or which error did it meet?"),
    Probe("exit", "How did the interpreter end, and what was printed at exit?"),
    Probe("memory", "How many bytes are alive?", incomparable=("resident",)),
    Probe("live", "How many C++ objects of each kind did the story add?", engine_only=True),
    Probe("events", "What happened to C++ objects and wrappers in this stage?", engine_only=True),
)

_BY_NAME = {probe.name: probe for probe in PROBES}


def get_probe(name: str) -> Probe:
    """Return the probe of this name."""
    if name not in _BY_NAME:
        raise UnknownNameError("probe", name, _BY_NAME)
    return _BY_NAME[name]


def is_comparable(probe: str, subject: str) -> bool:
    """Whether values of two systems can be compared."""
    known = _BY_NAME.get(probe)
    return known is None or (not known.checks and subject not in known.incomparable)
