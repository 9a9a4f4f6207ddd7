"""The fingerprint of a leak: its own, and the same in every run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from gradlife.model.growth import UNKNOWN_GROWTH, Growth
from gradlife.model.hunt import FindingKind
from gradlife.model.trace import Confidence, Hop, Lifetime, PathStep, StepStatus, Trace
from gradlife.patterns.legacy_fingerprints import DIGITS, without_repeats
from gradlife.patterns.matching.growing_container import is_place
from gradlife.patterns.matching.pattern import Case
from gradlife.patterns.matching.type_families import is_of_library
from gradlife.patterns.wording import step_family

#: ``handle (train.py:12)``, as frames and functions are described; the file may be ``<string>``.
CODE = re.compile(r"(?P<name>.+?) \((?P<file><[^()]*>|[^()]+\.\w+):\d+\)")

#: What differs between runs: the line at which torch.compile resumes a function.
RESUMED_AT = re.compile(r"(?<=_at_)\d+$")

#: A number in brackets, as in ``saved_tensors[0]``.
INDEX = re.compile(r"\[\d+\]")

#: Tables of variables or attributes, which not every version of Python has, and tables of members of a module.
TABLES = frozenset({"__dict__", "__globals__", "f_locals", "__kwdefaults__"})
MEMBERS = frozenset({"_modules", "_parameters", "_buffers"})

#: Tables of variables without names: those are in the label.
NUMBERED = ("__closure__:", "__defaults__:")

#: References between a Python object and the C++ object that it stands for.
WRAPPING = frozenset({"its C++ object", "its wrapper"})

#: Relations whose label is a name in the program or in a library.
NAMED = frozenset({"attribute", "slot", "local", "internal", "native", "root", "global"})


def fingerprint(
    trace: Trace, *, code: str = "", function: str = "", statement: str = "", growth: Growth = UNKNOWN_GROWTH
) -> str:
    """Return a hash (16 hexadecimal digits) of what a leak is: its code, its root, the names on the suspect part of its path,
    and the function that stores. It has no index, no address, no size and no line number.

    For a reachable object, the path ends at the growing container, graph or chain. For an unreachable object, the cycle
    counts, wherever it starts. ``statement``: the one that stores; the keys that are written in it are names, too.
    ``growth`` as in `diagnose`.
    """
    if trace.steps:
        lines = of_path(trace, statement, growth)
    elif trace.cycle:
        lines = of_cycle(trace.cycle, statement)
    else:
        lines = [trace.object, *holders(trace), *(line_of(step, statement) for step in trace.lead)]
    return hashlib.sha256("\n".join([code, function, *lines]).encode("utf-8", "replace")).hexdigest()[:DIGITS]


def has_own_class(steps: Sequence[PathStep]) -> bool:
    """Whether one of the objects has a class of the program."""
    return any(not is_of_library(step.type) for step in steps)


def of_path(trace: Trace, statement: str, growth: Growth) -> list[str]:
    """Return the root, and the lines from the last expected step to the last suspect one."""
    last = last_suspect(Case(trace, FindingKind.GROWTH, Lifetime.HELD, growth))
    steps = trace.steps
    first = max((at for at in range(last + 1) if steps[at].status is StepStatus.EXPECTED), default=0)
    suspect = without_repeats(line_of(step, statement) for step in steps[first : last + 1])
    return [owner_of(steps[0]), *suspect]


def last_suspect(case: Case) -> int:
    """Return the step of the growing container, else of the first graph, else, if no growth is known, of the innermost
    container. What lies beyond it differs between survivors. Lengths do not decide: they differ between runs.
    """
    if case.growth.is_located and case.site is not None:
        return case.path[case.site].step
    graph = next((token.step for token in case.path if str(token) == "tensor.grad_fn"), None)
    places = [] if case.growth.is_located else [token.step for token in case.path if is_place(token)]
    return graph if graph is not None else max(places, default=len(case.steps) - 1)


def of_cycle(cycle: Sequence[PathStep], statement: str) -> list[str]:
    """Return the lines of a cycle, from the rotation that sorts first."""
    lines = [line_of(step, statement) for step in cycle]
    return list(without_repeats(min(lines[i:] + lines[:i] for i in range(len(lines)))))


def holders(trace: Trace) -> Iterator[str]:
    """Yield the C++ holders of an object without offsets, unless a stale copy may be all that was found."""
    for one in (*trace.ledger.native, *trace.keepers):
        if one.sureness is not Confidence.UNSURE:
            yield re.sub(r"\d+", "", one.description)


def line_of(step: PathStep, statement: str) -> str:
    """Format one step: its object and the names of its references."""
    return " ".join([owner_of(step), *names_of(step.hops, statement)])


def owner_of(step: PathStep) -> str:
    """Return the name of a module or a function, the full name of a program's class, and the plain one of a library's, which
    may move between versions.
    """
    if step.type in {"module", "type"}:
        return f"{step.type} {in_program(step.detail)}"
    code = CODE.match(step.detail)
    if code is not None:
        return f"{step.object} {RESUMED_AT.sub('', code['name'])} {file_name(code['file'])}"
    if step_family(step) == "node":
        return "node"
    return step.object if is_of_library(step.type) else in_program(step.type)


def in_program(name: str) -> str:
    """Return the name of a module, or in one, as the main process knows it. Spawned workers call its main module otherwise."""
    return re.sub(r"^__mp_main__\b", "__main__", name)


def file_name(name: str) -> str:
    """Return the name of a file without what counts compiled texts and cells: ``<eval_with_key>.12``, ``3141.py``."""
    is_counted = "<" in name or name.partition(".")[0].isdigit()
    return re.sub(r"\d+", "", name) if is_counted else name


def names_of(hops: Sequence[Hop], statement: str) -> Iterator[str]:
    """Yield the references of a step: by name, or, without indices and keys, by relation."""
    before = ""
    for hop in hops:
        label, key = hop.label.strip("'"), hop.label.strip("'\"")
        if before.startswith(NUMBERED):
            yield dict(enumerate(before.partition(":")[2].split(","))).get(hop.index, hop.relation)
        elif before in TABLES or (before in MEMBERS and not key.isdigit()) or is_written(hop, statement):
            yield key
        elif hop.relation in NAMED and not (label in TABLES or label in WRAPPING or label.startswith(NUMBERED)):
            yield INDEX.sub("", label)
        elif hop.relation not in NAMED and hop.relation != "cell":
            yield hop.relation
        before = label


def is_written(hop: Hop, statement: str) -> bool:
    """Whether the reference is by a key that the statement has as a text: such a key is a name, any other one is data."""
    key = hop.label.strip("'\"")
    return hop.relation == "dict_value" and bool(key) and (f"'{key}'" in statement or f'"{key}"' in statement)
