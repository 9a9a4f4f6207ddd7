"""`gradlife diff`: what is new, gone and grown between two snapshots."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from gradlife.cli.formats import Outputs, add_svg, picture
from gradlife.cli.options.addresses import count
from gradlife.cli.progress import working
from gradlife.cli.report_file import add_force
from gradlife.heap import open_snapshot
from gradlife.model.heap import HeapDiff
from gradlife.reports.formats.json.document import diff_text
from gradlife.reports.heap.diff import print_diff
from gradlife.reports.theme import make_console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("before", metavar="BEFORE", help="the earlier snapshot")
    parser.add_argument("after", metavar="AFTER", help="the later one")
    parser.add_argument("--rows", type=count, default=15, metavar="N", help="rows of each table (%(default)s)")
    parser.add_argument("--all", action="store_true", help="also the places that libraries and Python hold")
    parser.add_argument("--json", metavar="FILE", help="write all that changed as JSON; - for standard output")
    parser.add_argument("--html", metavar="FILE", help="write it as one HTML file")
    add_svg(parser)
    add_force(parser)


def run(args: argparse.Namespace) -> int:
    """Show the difference."""

    def show(console: Console, difference: HeapDiff) -> None:
        print_diff(console, difference, args.rows, args.all)

    def page(difference: HeapDiff) -> str:
        from gradlife.reports.html.document import diff_page

        return diff_page(difference, args.before, args.after)

    with Outputs(args, {"json": diff_text, "html": page, "svg": picture(show, "gradlife diff")}) as outputs:
        with working(f"comparing {args.before} and {args.after}"):
            difference = open_snapshot(args.before).diff(open_snapshot(args.after))
        if not outputs.is_stdout_taken:
            show(make_console(sys.stdout), difference)
        outputs.write(difference)
    return 0
