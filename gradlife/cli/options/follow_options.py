"""The options of `--follow`, which `hunt` and `attach` share. Following itself is imported only when it is asked for."""

from __future__ import annotations

import argparse
import re

from gradlife.cli.options.from_project import is_from_project
from gradlife.errors import UsageError
from gradlife.program.durations import seconds_of

#: Options that require --follow.
OPTIONS = {"every": "--every", "findings": "--findings", "state": "--state", "metrics": "--metrics"}

#: Options of a hunt that --follow does not have.
OTHERS = {
    "nproc_per_node": "--nproc-per-node",
    "run_folder": "--run-folder",
    "interactive": "--interactive",
    "prove": "--prove",
    "fix": "--fix",
    "verify": "--verify",
    "lines": "--lines",
    "export_scenario": "--export-scenario",
}

#: Default seconds between two measurements.
EVERY = 600.0


def add_follow(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--follow", action="store_true", help="watch for days, in ever longer rounds, until Ctrl-C")
    parser.add_argument(
        "--every",
        type=duration,
        metavar="TIME",
        help="with --follow: time between measurements, and least time between rounds: 30s, 10min, 2h (10min)",
    )
    parser.add_argument("--findings", metavar="FILE", help="with --follow: append each finding as a JSON line")
    parser.add_argument(
        "--state", metavar="FILE", help="with --follow: remember reported findings in this file, for the next run"
    )
    parser.add_argument(
        "--metrics",
        type=port,
        metavar="PORT",
        help="with --follow: serve metrics to Prometheus at localhost:PORT/metrics",
    )


def refuse_without_follow(args: argparse.Namespace) -> None:
    """Raise UsageError if an option of --follow is given without it."""
    given = (name for name in OPTIONS if getattr(args, name) is not None and not is_from_project(args, name))
    wrong = next(map(OPTIONS.get, given), None)
    if wrong is not None and not args.follow:
        raise UsageError(f"{wrong} is an option of --follow", f"--follow {wrong}")


def refuse_with_follow(args: argparse.Namespace) -> None:
    """Raise UsageError for options that would do nothing."""
    given = (name for name in OTHERS if getattr(args, name) and not is_from_project(args, name))
    wrong = next(map(OTHERS.get, given), None)
    if wrong is not None:
        raise UsageError(f"--follow has no {wrong}", f"gradlife hunt {wrong}, without --follow")
    if args.step_on:
        from gradlife.hunting.steps.function_calls import CallSteps

        CallSteps(args.step_on, lambda stepped_by: lambda: None)  # the program need not start to say what is wrong


def duration(text: str) -> float:
    """Parse ``90s``, ``10min`` or ``2h`` as seconds."""
    try:
        return seconds_of(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(f"{error.message}: {error.hint}") from None


def port(text: str) -> int:
    """Parse a port number."""
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)
