"""`gradlife history`: a story's readings in successive recorded releases, and when they changed."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from gradlife.cli.formats import Outputs, add_svg, picture
from gradlife.cli.progress import ProgressBar
from gradlife.cli.report_file import add_force
from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL
from gradlife.model.history import History
from gradlife.reports.formats.json.document import history_text
from gradlife.reports.run.history import print_history
from gradlife.reports.theme import make_console
from gradlife.runner.history import history

EPILOG = """\
A row for each subject and probe, a column for each recorded release. A row
shows the last stage at which the releases differ, or else the last stage.

Exit status: 0; 2 usage error; 3 no release has a reading of the story.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("name", metavar="SCENARIO", help="a story: NAME, or FILE::NAME")
    parser.add_argument(
        "-k", dest="keyword", default="", metavar="EXPR", help="only rows that match: liveness and not y"
    )
    parser.add_argument(
        "--backend", nargs="+", action="extend", metavar="NAME", help="these systems instead: recorded:FILE, torch"
    )
    parser.add_argument("--profiles", action="store_true", help="also show the engine's profiles of releases")
    parser.add_argument("--stage-detail", action="store_true", help="a row for each stage, and all probes")
    parser.add_argument("--json", metavar="FILE", help="write it as JSON; - for standard output")
    add_svg(parser)
    add_force(parser)


def run(args: argparse.Namespace) -> int:
    """Print the table and the changes, or write them to a file."""

    def show(console: Console, found: History) -> None:
        print_history(console, found, args.stage_detail or bool(args.keyword))

    writers = {"json": history_text, "svg": picture(show, f"gradlife history {args.name}")}
    with Outputs(args, writers) as outputs:
        with ProgressBar() as progress:
            found = history(
                args.name, args.backend or (), args.keyword, args.profiles, args.stage_detail, progress.show
            )
        try:
            if not outputs.is_stdout_taken:
                show(make_console(sys.stdout), found)
        finally:
            outputs.write(found)
    return EXIT_CLEAN if found.rows else EXIT_COULD_NOT_TELL
