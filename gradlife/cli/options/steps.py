"""Options that say what a step is."""

from __future__ import annotations

import argparse
import re


def number(text: str) -> int:
    """Parse a number of steps."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of steps")
    return int(text)


def add_step_on(parser: argparse.ArgumentParser) -> None:
    """Declare the function whose calls are steps."""
    parser.add_argument(
        "--step-on", default="", metavar="MODULE:FUNCTION", help="count each call of this function as a step"
    )
