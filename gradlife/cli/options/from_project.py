"""The options that the project's pyproject.toml sets: only a typed one is refused where it does nothing."""

from __future__ import annotations

import argparse


def is_from_project(args: argparse.Namespace, name: str) -> bool:
    """Whether an option has the value that the project sets."""
    options = getattr(args, "project", None)
    return options is not None and name in options.values and options.values[name] is getattr(args, name)


def project_note(args: argparse.Namespace) -> str:
    """Say which options the project sets, for a report; empty if it sets none."""
    options = getattr(args, "project", None)
    return options.note(args) if options is not None else ""
