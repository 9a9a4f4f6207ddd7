"""`make atlas`: record the releases of the atlas, one environment at a time, and print the fidelity table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import gradlife
from benchmarks.atlas.campaign import Campaign, Place, run_command, say
from benchmarks.atlas.systems import chosen, systems

DESCRIPTION = """\
For each release: make its environment, record what all stories read on it, remove it.
Typed again after it was broken off, it goes on; releases that failed are tried again.
"""


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    args = make_parser().parse_args(arguments)
    table = systems()
    picked = chosen(table, args.systems)
    place = Place(args.folder.absolute(), args.recordings.absolute())
    options = ("--rounds", str(args.rounds)) if args.rounds else ()
    campaign = Campaign(place, dict(args.python), options=options)
    failed = campaign.work(picked)
    if not failed and picked == table:
        campaign.forget()
    code = run_command(["run", "--fidelity"], campaign.place.environment)
    for name, reason in failed.items():
        say(f"not recorded: {name}: {reason}")
    return 1 if failed else code


def make_parser() -> argparse.ArgumentParser:
    """The parser."""
    parser = argparse.ArgumentParser(prog="make atlas", description=DESCRIPTION)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help="torch-1.1.0 and the like; all without any")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        type=assignment,
        metavar="VERSION=PATH",
        help="an interpreter: 3.7=PATH",
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("build/atlas"), help="where environments are made (%(default)s)"
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="how often each story is run, as for gradlife record")
    parser.add_argument("--recordings", type=Path, default=recordings_folder(), help="where recordings go")
    return parser


def assignment(text: str) -> tuple[str, str]:
    """Parse `3.7=PATH`."""
    version, equals, path = text.partition("=")
    if not (version and equals and path):
        raise argparse.ArgumentTypeError(f"{text!r} is not VERSION=PATH")
    return version, path


def recordings_folder() -> Path:
    """Return the folder of the package's recordings."""
    return Path(gradlife.__file__).parent / "recordings"


if __name__ == "__main__":
    sys.exit(main())
