"""`gradlife list`: the stories, by suite."""

from __future__ import annotations

import argparse
import sys

from gradlife.cli.formats import Outputs, add_svg, picture
from gradlife.reports.formats.json.document import list_text
from gradlife.reports.run.listing import print_list
from gradlife.reports.theme import make_console
from gradlife.runner import api


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="a file or a folder; without any, the built-in stories"
    )
    parser.add_argument(
        "-k", dest="keyword", default="", metavar="EXPR", help="only stories that match: ctx and not hook"
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write them, with all they declare, as JSON; - for standard output"
    )
    add_svg(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list, or write it to a file."""
    with Outputs(args, {"json": list_text, "svg": picture(print_list, "gradlife list")}) as outputs:
        stories = api.select(args.paths, args.keyword)
        if not outputs.is_stdout_taken:
            print_list(make_console(sys.stdout), stories)
        outputs.write(stories)
    return 0
