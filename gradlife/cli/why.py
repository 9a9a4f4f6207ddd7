"""`gradlife why`: why an object of a snapshot is alive."""

from __future__ import annotations

import argparse
import sys

from gradlife.cli.formats import Outputs, Writer, add_svg
from gradlife.cli.options.addresses import address_or_type
from gradlife.cli.pages import WHY_WRITERS, Why, print_why, why_dot
from gradlife.cli.pictures import drawn, picture_kind
from gradlife.cli.report_file import add_force
from gradlife.heap import open_snapshot
from gradlife.reports.theme import make_console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="a snapshot: gradlife snapshot -o FILE script.py")
    parser.add_argument(
        "what",
        metavar="WHAT",
        help="an address, a type, a name, or a variable as gradlife open shows it: trainer.losses; of several objects the "
        "one that retains most is shown",
    )
    parser.add_argument("--json", metavar="FILE", help="write the trace as JSON; - for standard output")
    parser.add_argument("--html", metavar="FILE", help="write it as one HTML file, with the object's neighbourhood")
    parser.add_argument("--dot", metavar="FILE", help="write the object's neighbourhood in graphviz's language")
    parser.add_argument(
        "--picture", metavar="FILE", help="draw the neighbourhood with graphviz: FILE.png, FILE.svg or FILE.pdf"
    )
    add_svg(parser)
    add_force(parser)


def run(args: argparse.Namespace) -> int:
    """Print the trace."""
    with Outputs(args, {**WHY_WRITERS, **drawing(args.picture)}) as outputs:
        why = Why(open_snapshot(args.file), args.file, address_or_type(args.what))
        if not outputs.is_stdout_taken:
            print_why(make_console(sys.stdout), why)
        outputs.write(why)
    return 0


def drawing(path: str | None) -> dict[str, Writer]:
    """Return the function that draws the picture, if requested; refuse at once if it cannot be drawn."""
    if path is None:
        return {}
    kind = picture_kind(path)
    return {"picture": lambda why: drawn(why_dot(why), kind)}
