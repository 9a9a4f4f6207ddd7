"""`gradlife run`: run lifetime stories on several systems and compare their readings."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console

from gradlife.backends.recorded import PREFIX
from gradlife.backends.registry import STAND_IN, backend_names, default_backends
from gradlife.cli.formats import Outputs, Writer, add_formats, add_svg, picture
from gradlife.cli.progress import ProgressBar
from gradlife.cli.report_file import add_force, open_report
from gradlife.environments.probe_script import FRAMEWORKS
from gradlife.errors import MissingDependencyError, UsageError
from gradlife.model import RunReport
from gradlife.output import STDOUT, LostOutputError, say, say_to_runner
from gradlife.reports.formats.github.annotations import is_on_github, run_annotations
from gradlife.reports.formats.json.document import fidelity_text, run_text
from gradlife.reports.run.contexts import print_contexts
from gradlife.reports.run.fidelity import print_fidelity
from gradlife.reports.run.run import print_report, print_timelines
from gradlife.reports.run.summary import print_summary
from gradlife.reports.theme import make_console
from gradlife.runner import api
from gradlife.runner.fidelity import fidelity
from gradlife.runner.tour import run_tour
from gradlife.visible_text import visible_json

#: Options that only `--help-all` shows.
RARE = frozenset(
    {
        "--fidelity",
        "--matrix",
        "--svg",
        "--github",
        "--stage-detail",
        "--timeline",
        "--in-process",
        "--time-limit",
        "--junit",
        "--markdown",
        "--sarif",
    }
)


def page_with_tour(report: RunReport) -> str:
    """Return the page of a run, which opens with the guided tour."""
    from gradlife.reports.html.run import run_page  # templates are loaded only for a page

    return run_page(report, run_tour())


#: The writer of each format.
WRITERS: dict[str, Writer] = {
    "json": run_text,
    "html": page_with_tour,
    "junit": "gradlife.reports.formats.junit.run:run_junit",
    "markdown": "gradlife.reports.formats.markdown.document:markdown_of",
    "sarif": "gradlife.reports.formats.sarif.findings:run_sarif",
}

#: Most stories that --timeline draws; more would be unreadable.
TIMELINE_LIMIT = 4

#: Printed if the default systems are not those of a machine with PyTorch.
STANDS_IN = f"PyTorch is not installed here; {STAND_IN} stands in for it (pip install 'gradlife[torch]')"

EPILOG = """\
STORY is NAME for a built-in story, FILE, FILE::NAME or FOLDER; without any, the
built-in stories are run.

Systems: torch, mini:PROFILE (such as mini:torch-1.2), mini:PROFILE+AXIS=VALUE
for a profile with one policy replaced, torch@INTERPRETER or oneflow@INTERPRETER
for the framework of another Python (its path, or an environment of `gradlife
env`), and recorded:NAME or recorded:FILE for readings that `gradlife record`
took.

With --fidelity every recording that gradlife comes with, or each system of
--backend, is compared with the profile nearest to it: one line per system, and
every difference with its reason. One without a reason makes the exit status 1.

Exit status: 0 all as declared; 1 a reading contradicts its story, or a story
did not finish; 2 usage error; 3 could not tell.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("paths", nargs="*", metavar="STORY", help="the stories to run; see below")
    parser.add_argument(
        "-k", dest="keyword", default="", metavar="EXPR", help="only stories that match: ctx and not hook"
    )
    parser.add_argument("--backend", nargs="+", action="extend", metavar="NAME", help="systems to run on")
    parser.add_argument("--against", metavar="NAME", help="the system that the others are compared with (torch)")
    parser.add_argument(
        "--fidelity",
        action="store_true",
        help="compare each profile with the recording of the release that it imitates",
    )
    parser.add_argument(
        "--matrix", action="store_true", help="only stories that run in several contexts, one column per context"
    )
    add_formats(
        parser,
        json="write all readings as JSON; any FILE may be -, for standard output",
        html="write an HTML page: the matrix, and drawings of each story in two systems side by side",
    )
    add_svg(parser)
    add_force(parser)
    parser.add_argument("--full", action="store_true", help="show every story and every difference between systems")
    parser.add_argument("--stage-detail", action="store_true", help="show every reading at every stage")
    parser.add_argument(
        "--timeline", action="store_true", help="draw the engine's events of a story, one lane per object"
    )
    parser.add_argument("--in-process", action="store_true", help="run in this process, unprotected: for a debugger")
    parser.add_argument(
        "--time-limit", type=seconds, default=api.TIME_LIMIT, metavar="S", help="seconds for one story (%(default)g)"
    )


def seconds(text: str) -> float:
    """Parse a positive time in seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def run(args: argparse.Namespace) -> int:
    """Run the stories, print the report, and write it in other formats."""
    backends, paths = apart(args.backend or (), args.paths)
    if args.fidelity:
        return run_fidelity(args, backends, paths)
    presentation = Presentation(args.full, args.stage_detail, args.timeline, args.matrix, args.github or is_on_github())

    def draw(console: Console, report: RunReport) -> None:
        print_parts(console, report, presentation)

    with Outputs(args, {**WRITERS, "svg": picture(draw, "gradlife run")}) as outputs:
        return deliver(run_stories(args, backends, paths), outputs, presentation)


#: Prefixes of systems whose names end in a file name.
SYSTEMS = (PREFIX, *(f"{framework}@" for framework in FRAMEWORKS))


def apart(backends: Sequence[str], paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate backends from paths, if `--backend A B PATH` took a path for a backend."""
    taken = [name for name in backends if is_path(name)]
    return [name for name in backends if name not in taken], [*paths, *taken]


def is_path(name: str) -> bool:
    """Whether this names a file, not a system. A folder may have the name of a system."""
    if name in backend_names():
        return False
    file = name.partition("::")[0]
    return os.path.exists(file) or (file.endswith(".py") and not file.startswith(SYSTEMS))


def run_stories(args: argparse.Namespace, backends: list[str], paths: list[str]) -> RunReport:
    """Run the stories under a progress bar."""
    keyword = matrix_keyword(paths, args.keyword) if args.matrix else args.keyword
    if args.timeline:
        refuse_crowd(len(api.select(paths, keyword)))
    try:
        with ProgressBar() as progress:
            report = api.run(
                paths,
                backends=backends or None,
                against=args.against,
                keyword=keyword,
                on_progress=progress.show,
                in_process=args.in_process,
                time_limit=args.time_limit,
                with_events=args.timeline or args.html is not None,
                with_graphs=args.html is not None,
            )
    except MissingDependencyError as error:
        if backends:
            raise
        raise UsageError(error.message, f"{error.hint}; or run without it: --backend mini:torch-2.13") from None
    if not backends and STAND_IN in default_backends():
        say(STANDS_IN)
    return report


def matrix_keyword(paths: Sequence[str], keyword: str) -> str:
    """Return an expression for the stories with several contexts: their names have the context in brackets."""
    if not any(story.context for story in api.select(paths, keyword)):
        raise UsageError("none of these stories runs in several contexts", "gradlife run --matrix")
    return f"({keyword}) and [" if keyword else "["


def run_fidelity(args: argparse.Namespace, backends: list[str], paths: list[str]) -> int:
    """Compare releases with their profiles, print the table, write the JSON."""
    given = (
        ("--against", args.against),
        ("--timeline", args.timeline),
        ("--in-process", args.in_process),
        ("--matrix", args.matrix),
        *((f"--{name}", getattr(args, name) is not None) for name in WRITERS if name != "json"),
        ("--svg", args.svg),
        ("--github", args.github),
    )
    for option, is_given in given:
        if is_given:
            raise UsageError(f"--fidelity does not go with {option}", "gradlife run --fidelity --backend recorded:NAME")
    with open_report(args.json, "--json", args.force) as output:
        with ProgressBar() as progress:
            report = fidelity(paths, backends, args.keyword, progress.show, args.time_limit)
        try:
            if args.json != STDOUT:
                print_fidelity(make_console(sys.stdout), report, args.stage_detail)
        finally:
            output.write(visible_json(fidelity_text(report)))
    return report.exit_status


def refuse_crowd(count: int) -> None:
    """Raise if there are too many stories to draw."""
    if count > TIMELINE_LIMIT:
        raise UsageError(
            f"--timeline draws up to {TIMELINE_LIMIT} stories, and {count} are chosen",
            "gradlife run --timeline NAME; gradlife list has the names",
        )


@dataclass(frozen=True)
class Presentation:
    """How a report is shown."""

    every_story: bool
    every_stage: bool
    timeline: bool
    matrix: bool = False
    annotates: bool = False


def deliver(report: RunReport, outputs: Outputs, presentation: Presentation) -> int:
    """Show the report and write it; a failure of one does not stop the other."""
    if outputs.is_stdout_taken:
        return write_to_stdout(report, outputs, presentation)
    try:
        show(report, presentation, sys.stdout)
    finally:
        outputs.write(report, with_drawings=presentation.timeline)  # even if the reader has gone: `| head`
    return report.exit_status


def write_to_stdout(report: RunReport, outputs: Outputs, presentation: Presentation) -> int:
    """Write one format to standard output. The report goes to standard error if that is a terminal or if writing
    fails.
    """
    try:
        outputs.write(report, with_drawings=presentation.timeline)
    except LostOutputError:
        show(report, presentation, sys.stderr)
        raise
    if sys.stderr.isatty():
        show(report, presentation, sys.stderr)
    elif presentation.annotates:
        annotate(report, sys.stderr)
    return report.exit_status


def show(report: RunReport, presentation: Presentation, stream: TextIO) -> None:
    """Print the report for people."""
    print_parts(make_console(stream), report, presentation)
    if presentation.annotates:
        annotate(report, stream)


def print_parts(console: Console, report: RunReport, presentation: Presentation) -> None:
    """Print the requested parts of the report."""
    if presentation.timeline:
        print_timelines(console, report)
    if presentation.matrix:
        print_contexts(console, report)
    elif not (presentation.every_story or presentation.every_stage):
        print_summary(console, report)
    else:
        print_report(console, report, presentation.every_stage)


def annotate(report: RunReport, stream: TextIO) -> None:
    """Print annotations, which GitHub reads from either stream."""
    for line in run_annotations(report):
        say_to_runner(line, stream)
