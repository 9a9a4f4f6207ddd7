"""`gradlife env`: virtual environments with releases of a framework, for `--backend torch@NAME`."""

from __future__ import annotations

import argparse
import sys

from gradlife.cli.formats import Outputs, add_svg, picture
from gradlife.cli.report_file import add_force
from gradlife.environments.add import add, remove
from gradlife.environments.listing import info_of, listed
from gradlife.errors import UsageError
from gradlife.output import say
from gradlife.reports.environments import print_environments
from gradlife.reports.formats.json.document import environments_text
from gradlife.reports.theme import make_console
from gradlife.reports.values import size

EPILOG = """\
An environment is a folder below $GRADLIFE_HOME/environments, by default in the
user's data folder. pip installs the packages with its own configuration
(PIP_INDEX_URL and the like); an interrupted `gradlife env add` continues when
repeated.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    actions = parser.add_subparsers(dest="action", metavar="ACTION", parser_class=type(parser))
    adding = actions.add_parser("add", help="make an environment", description="Make an environment.", epilog=EPILOG)
    adding.add_argument("name", metavar="NAME", help="the name of the environment")
    adding.add_argument("--python", metavar="PATH", help="the interpreter to make it from (this one)")
    adding.add_argument("packages", nargs="+", metavar="PACKAGE", help="packages for pip to install: torch==1.1.0")
    listing = actions.add_parser("list", help="list the environments", description="List the environments.")
    listing.add_argument("--json", metavar="FILE", help="write them as JSON; - for standard output")
    add_svg(listing)
    add_force(listing)
    removing = actions.add_parser("remove", help="remove an environment", description="Remove an environment.")
    removing.add_argument("name", metavar="NAME")


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand."""
    if args.action is None:
        raise UsageError("gradlife env needs a subcommand", "gradlife env add, list or remove")
    {"add": run_add, "list": run_list, "remove": run_remove}[args.action](args)
    return 0


def run_add(args: argparse.Namespace) -> None:
    """Make an environment and print what it has."""
    info = info_of(add(args.name, args.python or sys.executable, args.packages))
    say(f"{info.name}: {info.framework} {info.version} on Python {info.python}, {size(info.bytes)}", sys.stdout)
    say(f"gradlife run --backend {info.framework}@{info.name}", sys.stdout)


def run_list(args: argparse.Namespace) -> None:
    """Print the environments, or write them to a file."""
    writers = {"json": environments_text, "svg": picture(print_environments, "gradlife env list")}
    with Outputs(args, writers) as outputs:
        environments = listed()
        if not outputs.is_stdout_taken:
            print_environments(make_console(sys.stdout), environments)
        outputs.write(environments)


def run_remove(args: argparse.Namespace) -> None:
    """Remove an environment."""
    remove(args.name)
    say(f"{args.name} is removed", sys.stdout)
