"""`gradlife why`: why an object of a snapshot is alive."""

from __future__ import annotations

import argparse

from gradlife.cli.addresses import address_or_type
from gradlife.cli.pages import tell_why
from gradlife.heap import open_snapshot
from gradlife.output import STDOUT, open_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="a snapshot: gradlife snapshot -o FILE script.py")
    parser.add_argument(
        "what", metavar="ADDRESS|TYPE", help="an object by its address, or of a type the one that retains most"
    )
    parser.add_argument("--json", metavar="FILE", help="write the trace as JSON; - for standard output")
    parser.add_argument("--html", metavar="FILE", help="write it as a page to look at, with what is round the object")


def run(args: argparse.Namespace) -> int:
    """Tell the trace."""
    with open_output(args.json) as output, open_output(args.html) as page:
        is_silent = STDOUT in (args.json, args.html)
        tell_why(open_snapshot(args.file), args.file, address_or_type(args.what), output, page, is_silent=is_silent)
    return 0
