"""`gradlife record`: keep a system's readings in a file, for comparisons without that system."""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Sequence
from pathlib import Path

from gradlife.backends.base import Backend
from gradlife.backends.recorded import RecordedBackend, read
from gradlife.backends.registry import get_backend
from gradlife.cli.progress import ProgressBar
from gradlife.cli.report_file import add_force, open_report
from gradlife.cli.run import apart, seconds
from gradlife.errors import EXIT_CLEAN, GradlifeError, UsageError
from gradlife.model import RunUnavailable, ScenarioRun
from gradlife.model.recording import Recording
from gradlife.model.recording_codec import dumps
from gradlife.output import STDOUT
from gradlife.reports.run.recording import print_recording
from gradlife.reports.theme import make_console
from gradlife.runner import api
from gradlife.runner.discover import Story
from gradlife.runner.recordings import make_recording, recorded_name, refuse_other_system
from gradlife.visible_text import visible_json

#: Default number of runs of each story: a reading that varies shows itself.
ROUNDS = 3

EPILOG = """\
STORY is as for `gradlife run`. With stories named, or -k, only those are
renewed: the others in FILE stay as they are. Without, the whole file is
rewritten.

Afterwards `--backend recorded:FILE` and `--against recorded:FILE` read from it.

Exit status: 0 written; 2 usage error; 3 no story could be run.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("paths", nargs="*", metavar="STORY", help="the stories to record; by default the built-in ones")
    parser.add_argument(
        "-k", dest="keyword", default="", metavar="EXPR", help="only stories that match: ctx and not hook"
    )
    parser.add_argument("--backend", required=True, metavar="NAME", help="the system to record")
    parser.add_argument(
        "-o", dest="output", required=True, metavar="FILE", help="the recording file; - for standard output"
    )
    add_force(parser)
    parser.add_argument("--rounds", type=rounds, default=ROUNDS, metavar="N", help="runs of each story (%(default)s)")
    parser.add_argument(
        "--time-limit", type=seconds, default=api.TIME_LIMIT, metavar="S", help="seconds for one story (%(default)g)"
    )


def rounds(text: str) -> int:
    """Parse a positive number of rounds."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1000")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Run the stories in several rounds and write the readings on which they agree."""
    _, paths = apart((), args.paths)
    backend = get_backend(args.backend)
    if isinstance(backend, RecordedBackend):
        raise UsageError(f"{backend.name} is a recording already", "a system that runs: torch, mini:PROFILE")
    kept = to_be_kept(args, backend)
    with open_report(args.output, "-o", args.force) as output:
        stories = api.select_stories(paths, args.keyword)
        result = run_rounds(stories, backend, args)
        if kept is None and all(isinstance(run, RunUnavailable) for runs in result for run in runs):
            raise GradlifeError(f"none of the stories could be run on {backend.name}: {result[0][0].reason}")
        recording = make_recording(stories, backend, result, datetime.date.today().isoformat(), kept)
        output.write(visible_json(dumps(recording)))
    print_recording(make_console(sys.stderr if args.output == STDOUT else sys.stdout), recording, len(stories))
    return EXIT_CLEAN


def to_be_kept(args: argparse.Namespace, backend: Backend) -> Recording | None:
    """Return the stories of the existing file, if only some are renewed."""
    file = Path(args.output)
    if args.output == STDOUT or not (args.paths or args.keyword) or not file.is_file() or not file.stat().st_size:
        return None
    kept = read(file)
    refuse_other_system(kept, backend.describe(), recorded_name(backend), args.output)
    return kept


def run_rounds(stories: Sequence[Story], backend: Backend, args: argparse.Namespace) -> list[tuple[ScenarioRun, ...]]:
    """Return the runs of each round."""
    plan = api.Plan(tuple(stories), (backend,), args.time_limit, ())
    with ProgressBar() as bar:
        return [api.run_plan(plan, bar.show) for _ in range(args.rounds)]
