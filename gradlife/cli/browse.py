"""`gradlife open FILE --tui`: the terminal application for a snapshot; imported only for this option."""

from __future__ import annotations

import argparse
import importlib.util
import sys

from gradlife.errors import MissingDependencyError, UsageError

#: Options that print something, which the application does not.
PRINTING = ("all", "types", "largest", "cycles", "instances", "holders", "why", "json", "html", "interactive")


def browse(args: argparse.Namespace) -> int:
    """Run the application. Raises UsageError for options that it does not support."""
    others = [f"--{name}" for name in PRINTING if getattr(args, name, None) not in (None, False)]
    if others:
        raise UsageError(f"--tui shows everything, and takes no {others[0]}", f"gradlife open {args.file} --tui")
    if importlib.util.find_spec("textual") is None:
        raise MissingDependencyError("textual", "hunt")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--tui needs a terminal to draw on", f"gradlife open {args.file}")
    from gradlife.interactive.tui.app import explore

    explore(args.file)
    return 0
