"""Find objects that IPython itself keeps alive: cell outputs, the last exception. They are reported as kept by IPython."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gradlife.heap import refs
from gradlife.heap.asking_names import OUTPUT
from gradlife.model.trace import Trace

#: Names of the last exception of a cell.
EXCEPTION = frozenset({"last_value", "last_traceback", "last_exc"})

#: IPython's own types that keep either.
OUTPUT_TYPES = frozenset({"IPython.core.displayhook.DisplayHook"})
EXCEPTION_TYPES = ("IPython.core.ultratb.", "IPython.core.interactiveshell.ExecutionResult")
SHELL = "IPython.core.interactiveshell.InteractiveShell"

#: A key that several outputs share; only the first has a name.
NAMELESS = "a reference without a name"

FORGET_EXCEPTION = (
    "import sys; sys.last_value = sys.last_traceback = sys.last_exc = get_ipython().InteractiveTB.tb = None"
)


def notes(trace: Trace, names: Mapping[str, Any]) -> Iterator[str]:
    """Describe where a path leads through IPython, the other holders, and how to drop the references."""
    name = output_name(trace)
    if name:
        yield from output_notes(name, names)
    elif is_of_exception(trace):
        yield "The path leads through the last exception. IPython keeps it, with all its frames, for %debug and %tb."
        yield f"To release it: {FORGET_EXCEPTION}"


def output_name(trace: Trace) -> str:
    """Return the name of the output with which a path begins, if any."""
    for step in trace.steps[:3]:
        if step.type in OUTPUT_TYPES:
            return "_"
        for hop in step.hops:
            label = hop.label.strip("'")
            is_variable = hop.relation == "dict_value" and (step.object == "module" or step.is_a(SHELL))
            if is_variable and label not in {"__dict__", "user_ns"}:
                return label if OUTPUT.fullmatch(label) else ""
    return ""


def is_of_exception(trace: Trace) -> bool:
    """Whether the path leads through the exception of a cell."""
    for step in trace.steps:
        if step.type.startswith(EXCEPTION_TYPES):
            return True
        is_sys = (step.object == "module" and step.detail == "sys") or step.kind == "root"
        if is_sys and any(hop.label.strip("'") in EXCEPTION for hop in step.hops):
            return True
    return False


def output_notes(name: str, names: Mapping[str, Any]) -> list[str]:
    """Describe an output, and its other holders."""
    number = output_number(name, names)
    lines = [f"The path leads through Out[{number}]" if number else f"The path leads through {name}"]
    lines[0] += f": IPython keeps what a cell displays, under Out, _ and _{number or 'N'}."
    outputs = names.get("_oh", {})
    others = other_holders(outputs.get(number, names.get(name)), names)
    if others:
        lines.append(f"Beside IPython it is held by {', '.join(others)}: letting go of the output does not free it.")
    elif number:
        lines.append(
            f"To release it: %xdel _{number}, which is del Out[{number}] and all its names; of all: %reset -f out"
        )
    else:
        lines.append("To release it: %reset -f out")
    return lines


def output_number(name: str, names: Mapping[str, Any]) -> int:
    """Return the cell number of an output's name; 0 if it is not to be shown."""
    if re.fullmatch(r"_[0-9]+", name):
        return int(name[1:])
    outputs = names.get("_oh", {})
    return next((number for number, value in outputs.items() if value is names.get(name)), 0)


def other_holders(value: object, names: Mapping[str, Any]) -> list[str]:
    """Return what else refers to an output: names first."""
    variables: list[str] = []
    for name in names:  # no generator or closure here: it would be reported too
        if names[name] is value and not OUTPUT.fullmatch(name):
            variables.append(name)
    found = [f"your variable {name!r}" for name in variables]
    for one in refs(value).referrers:
        is_name = re.fullmatch(r"\['?(\w+)'?\]", one.via)
        is_ours = one.object in {"ExecutionResult", "running frame"} or one.object.endswith("DisplayHook")
        if (
            is_ours
            or one.via == NAMELESS
            or (is_name and one.object == "dict" and is_of_ipython(is_name[1], variables))
        ):
            continue
        found.append(f"{one.object} {one.detail}".strip() + f" ({one.via})")
    return found


def is_of_ipython(key: str, variables: list[str]) -> bool:
    """Whether it is an output's name, its number in Out, or a variable that is already shown."""
    return bool(OUTPUT.fullmatch(key)) or key.isdecimal() or key in variables
