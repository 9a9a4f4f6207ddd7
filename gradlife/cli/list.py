"""`gradlife list`: the stories, by suite."""

from __future__ import annotations

import argparse
import sys

from gradlife.cli.formats import Outputs, add_svg, picture
from gradlife.cli.pager import paged
from gradlife.cli.report_file import add_force
from gradlife.errors import UnknownNameError
from gradlife.model import ScenarioInfo
from gradlife.reports.formats.json.document import list_text
from gradlife.reports.run.listing import print_list
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
        "--source",
        default="",
        metavar="ISSUE",
        help="only stories that show what this issue or pull request says: pytorch/pytorch#22983",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write them, with all they declare, as JSON; - for standard output"
    )
    add_svg(parser)
    add_force(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list, or write it to a file."""
    with Outputs(args, {"json": list_text, "svg": picture(print_list, "gradlife list")}) as outputs:
        stories = api.select(args.paths, args.keyword)
        if args.source:
            stories = from_source(stories, args.source)
        if not outputs.is_stdout_taken:
            paged(lambda console: print_list(console, stories), sys.stdout)
        outputs.write(stories)
    return 0


def from_source(stories: tuple[ScenarioInfo, ...], source: str) -> tuple[ScenarioInfo, ...]:
    """Return the stories with this origin. Raises UnknownNameError if there is none."""
    found = tuple(story for story in stories if source in story.origin)
    if not found:
        known = sorted({origin for story in stories for origin in story.origin})
        raise UnknownNameError("source", source, known, "gradlife list --json - names all sources")
    return found
