"""`gradlife merge`: merge the reports that the ranks of a run left in a folder."""

from __future__ import annotations

import argparse

from gradlife.cli.formats import Outputs, add_formats
from gradlife.cli.hunt import WRITERS, Show, add_fail_on, show_merged
from gradlife.cli.report_file import add_force
from gradlife.ranks.hunt import rank_count
from gradlife.ranks.merge import merge
from gradlife.ranks.rank_report import reports_in

EPILOG = """\
FOLDER is the run folder of `gradlife hunt --run-folder FOLDER`, or any folder
with one JSON report for each rank (`gradlife hunt --json FOLDER/rank-3.json
TARGET`). The last number in a file's name is its rank.

Exit status: 0 clean; 1 a leak was found on any rank (see --fail-on); 2 usage
error; 3 could not tell; a rank whose program failed gives its status.
"""


#: Options that only `--help-all` shows.
RARE = frozenset(
    {
        "--junit",
        "--markdown",
        "--sarif",
        "--svg",
        "--github",
    }
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("folder", metavar="FOLDER", help="the folder with the reports of the ranks")
    parser.add_argument("--world-size", type=rank_count, default=0, metavar="N", help="the expected number of ranks")
    add_fail_on(parser)
    parser.add_argument("--full", action="store_true", help="print ranks, rounds, traces, controls and limits, too")
    add_formats(
        parser,
        json="write the report as JSON (gradlife.hunt/2); - for standard output",
        html="write the report as one HTML file",
        svg="draw the printed output as an SVG picture",
    )
    add_force(parser)


def run(args: argparse.Namespace) -> int:
    """Merge, show and write the report. Return the exit status."""
    with Outputs(args, {name: writer for name, writer in WRITERS.items() if name != "patch"}) as outputs:
        show = Show(args, is_script=False, is_stdout_taken=outputs.is_stdout_taken)
        return show_merged(merge(reports_in(args.folder), args.world_size), show, outputs, args.fail_on)
