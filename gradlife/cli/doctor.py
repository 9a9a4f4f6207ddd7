"""`gradlife doctor`: check the installation and print what a bug report needs."""

from __future__ import annotations

import argparse
import sys

from gradlife.cli.formats import Outputs, add_svg, picture
from gradlife.cli.progress import working
from gradlife.cli.report_file import add_force
from gradlife.doctor.examination import examine
from gradlife.reports.doctor import print_checkup
from gradlife.reports.formats.json.document import checkup_text
from gradlife.reports.theme import make_console

EPILOG = """\
It checks versions, the compiled extensions, what gradlife can read of this
PyTorch and this machine, the data that ships with it, registered environments,
and itself: a planted leak must be found, and its clean twin must be clean.

Exit status: 0 healthy; 1 something that gradlife relies on is broken.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON; - for standard output")
    add_svg(parser)
    add_force(parser)


def run(args: argparse.Namespace) -> int:
    """Run the checks, print the result and write it to files."""
    with Outputs(args, {"json": checkup_text, "svg": picture(print_checkup, "gradlife doctor")}) as outputs:
        with working("checking this installation"):
            checkup = examine()
        if not outputs.is_stdout_taken:
            print_checkup(make_console(sys.stdout), checkup)
        outputs.write(checkup)
    return checkup.exit_status
