"""The tasks of `gradlife attach` besides a hunt, and the options that each of them has: any other is refused."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from gradlife.cli.options.from_project import is_from_project
from gradlife.errors import UsageError
from gradlife.model.hunt import Severity

#: The tasks by option, and the options of a hunt that each has, too. An option's name is that of its attribute.
TASKS: dict[str, frozenset[str]] = {
    "peak": frozenset({"seconds", "step_on", "full", "json", "html", "markdown", "sarif"}),
    "snapshot": frozenset(),
    "why": frozenset(),
    "interactive": frozenset(),
}

#: Options of a hunt, and their values if they are not given.
OPTIONS: dict[str, object] = {
    "steps": None,
    "seconds": None,
    "step_on": "",
    "memory_limit": None,
    "full": False,
    "follow": False,
    "fail_on": Severity.MAJOR.value,
    "json": None,
    "html": None,
    "junit": None,
    "markdown": None,
    "sarif": None,
    "github": False,
}


def refuse_unused(args: argparse.Namespace) -> None:
    """Raise UsageError for an option that would do nothing."""
    tasks = list(given(args, dict.fromkeys(TASKS)))
    if len(tasks) > 1:
        raise UsageError(f"{name_of(tasks[0])} and {name_of(tasks[1])} are two tasks", "one of them")
    for task in tasks:
        wrong = next((one for one in given(args, OPTIONS) if one not in TASKS[task]), None)
        if wrong is not None:
            raise UsageError(f"{name_of(task)} has no {name_of(wrong)}", f"without {name_of(wrong)}")
    if args.inject and args.socket is not None:
        raise UsageError("--inject is for a process without a socket", "without --inject")


def given(args: argparse.Namespace, options: dict[str, object]) -> Iterator[str]:
    """Yield the options that were given; a switch that is off is not."""
    for name, default in options.items():
        value = getattr(args, name)
        if value != default and value is not False and not is_from_project(args, name):
            yield name


def name_of(option: str) -> str:
    """Return an option as it is typed."""
    return "--for" if option == "seconds" else f"--{option.replace('_', '-')}"
