"""`gradlife diff`: what is new, gone and grown between two snapshots."""

from __future__ import annotations

import argparse
import sys

from gradlife.cli.addresses import count
from gradlife.heap import open_snapshot
from gradlife.output import STDOUT, open_output
from gradlife.reports.heap_diff import print_diff
from gradlife.reports.json import diff_text
from gradlife.reports.theme import make_console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("before", metavar="BEFORE", help="the earlier snapshot")
    parser.add_argument("after", metavar="AFTER", help="the later one")
    parser.add_argument("--rows", type=count, default=15, metavar="N", help="rows of each table (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write all that changed as JSON; - for standard output")
    parser.add_argument("--html", metavar="FILE", help="write it as a page to look at, in one file")


def run(args: argparse.Namespace) -> int:
    """Show the difference."""
    with open_output(args.json) as output, open_output(args.html) as page:
        difference = open_snapshot(args.before).diff(open_snapshot(args.after))
        if STDOUT not in (args.json, args.html):
            print_diff(make_console(sys.stdout), difference, args.rows)
        output.write(diff_text(difference))
        if args.html is not None:
            from gradlife.reports.html.heap_diff import diff_page

            page.write(diff_page(difference, args.before, args.after))
    return 0
