"""`gradlife why`: why an object of a snapshot is alive."""

from __future__ import annotations

import argparse
import sys

from gradlife.cli.addresses import address_or_type
from gradlife.heap import open_snapshot
from gradlife.output import STDOUT, open_output
from gradlife.reports.json import trace_text
from gradlife.reports.theme import make_console
from gradlife.reports.trace import render_trace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="a snapshot: gradlife snapshot -o FILE script.py")
    parser.add_argument(
        "what", metavar="ADDRESS|TYPE", help="an object by its address, or of a type the one that retains most"
    )
    parser.add_argument("--json", metavar="FILE", help="write the trace as JSON; - for standard output")


def run(args: argparse.Namespace) -> int:
    """Tell the trace."""
    with open_output(args.json) as output:
        trace = open_snapshot(args.file).why(address_or_type(args.what))
        if args.json != STDOUT:
            make_console(sys.stdout).print(render_trace(trace))
        output.write(trace_text(trace))
    return 0
