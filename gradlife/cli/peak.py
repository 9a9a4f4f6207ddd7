"""`gradlife peak`: record a few steps, and report what is held at the peak longer than it is used."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, replace

from gradlife.cli.formats import Outputs, Writer
from gradlife.cli.hunt import add_step_options, is_command, is_script
from gradlife.cli.options.earlier_report import read_earlier
from gradlife.cli.options.from_project import project_note
from gradlife.cli.options.late_options import add_target, own_words, take_late_options
from gradlife.cli.program_view import ProgramView, name_of
from gradlife.cli.report_file import add_force
from gradlife.errors import GradlifeError, UsageError, shortened
from gradlife.hunting.process.own_folders import PEAK, OwnFolder
from gradlife.hunting.process.rank import rank_of
from gradlife.hunting.process.settings import PEAK as METHOD, Settings
from gradlife.hunting.steps.targets import MODULE_MARK, FunctionTarget, parse
from gradlife.model.peak import codec
from gradlife.model.peak.comparison import with_comparison
from gradlife.model.peak.report import PeakReport
from gradlife.model.threshold import Threshold, threshold_of
from gradlife.output import say
from gradlife.program.parent import Result, signal_of
from gradlife.program.peak.parent import PeakGuard
from gradlife.program.peak.proof import proven
from gradlife.ranks.hunt import add_rank_options, say_unproven
from gradlife.ranks.peak import peak_as_rank, peak_in_new_ranks, with_peaks
from gradlife.ranks.rank_report import folders_of_ranks
from gradlife.ranks.run_folder import VARIABLE

EPILOG = """\
TARGET is a script with its own arguments, -m module, a console script on PATH
(torchrun train.py), file.py::function or module:function. A function is called
once a step, as by gradlife hunt.

The first steps run untouched, three are recorded, all others run untouched.

Exit status: 0; 1 more of the peak than --fail-on is never read again, or with
--against the peak is larger; 2 usage error; 3 no peak was recorded, or none
that can be compared; a script that fails itself keeps its own.
"""

#: What follows the program's name in the line at the start, where standard error is no terminal.
AT_START = "; the program runs as usual, and the report comes after three recorded steps"

WRITERS: dict[str, Writer] = {
    "json": "gradlife.model.peak.codec:dumps",
    "html": "gradlife.reports.html.document:page_of",
    "markdown": "gradlife.reports.formats.markdown.document:markdown_of",
    "sarif": "gradlife.reports.formats.sarif.peak:peak_sarif",
}


#: Options that only `--help-all` shows.
RARE = frozenset(
    {
        "--markdown",
        "--sarif",
        "--run-folder",
        "--rank-timeout",
    }
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    add_options(parser)
    parser.add_argument("-m", dest="is_module", action="store_true", help="TARGET is the name of a module: python -m")
    add_target(parser, "the program, and a script's own arguments; see below")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_step_options(parser)
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON; - for standard output")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page to look at, in one file")
    parser.add_argument("--markdown", metavar="FILE", help="write it for an issue or the summary of a job")
    parser.add_argument("--sarif", metavar="FILE", help="write savings that have a line as SARIF, for code scanning")
    parser.add_argument(
        "--fail-on",
        type=threshold,
        metavar="LIMIT",
        help="exit with 1 if more of the peak than 5%% is never read again; with --against, if it is larger by more than "
        "5%% or 200MB (1%%)",
    )
    parser.add_argument("--against", metavar="BEFORE", help="compare with an earlier report; TARGET may be one, too")
    parser.add_argument(
        "--prove",
        action="store_true",
        help="run it again with the edits that have a diff, and compare peaks and losses",
    )
    add_force(parser)
    parser.add_argument("--full", action="store_true", help="print all savings and owners")
    add_rank_options(parser, "record the peak of each")


def threshold(text: str) -> Threshold:
    """Parse ``5%``, ``5`` or ``200MB``."""
    try:
        return threshold_of(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is neither a percentage nor a size: 5%, 200MB") from None


def run(args: argparse.Namespace) -> int:
    """Record, show and write the report. Return the exit status."""
    if args.is_module:
        args.target = MODULE_MARK + args.target
    if args.is_module or is_command(args.target):
        args = own_words(args)
    else:
        args = take_late_options(args, add_options, args.target if is_script(args.target) else None, "peak")
    if args.fail_on is not None and args.fail_on.percent is None and args.against is None:
        raise UsageError("a size for --fail-on needs --against", "--against before.json, or --fail-on 5%")
    before = read_earlier(args.against, codec.loads, "gradlife peak") if args.against is not None else None
    if before is not None and args.target.endswith(".json"):
        report = read_earlier(args.target, codec.loads, "gradlife peak")
        with Outputs(args, WRITERS) as outputs:
            show = Show(args.full, Limit(args.fail_on, before, args.against), outputs.is_stdout_taken)
            return finish(Result(report.script_status or 0, report), show, outputs)
    target = parse(args.target, tuple(args.arguments))
    settings = Settings(args.target, tuple(args.arguments), args.steps, args.step_on, python=args.python, method=METHOD)
    rank = rank_of(os.environ, 1 if os.environ.get(VARIABLE) else 2)
    with Outputs(args, WRITERS) as outputs:
        to_stderr = not isinstance(target, FunctionTarget) or outputs.is_stdout_taken
        show = Show(args.full, Limit(args.fail_on, before, args.against), to_stderr, project_note(args))

        def end(result: Result[PeakReport]) -> int:
            return finish(result, show, outputs)

        if rank is not None:
            return peak_as_rank(args, settings, rank, end)
        if args.nproc_per_node is not None:
            return peak_in_new_ranks(args, end)
        return end(run_alone(args, settings, show))


def finish(result: Result[PeakReport], show: Show, outputs: Outputs) -> int:
    """Show the report, write the files, and return the exit status."""
    if result.report is None:
        if result.was_killed:
            say(f"gradlife: {signal_of(result.status)} ended the program before it left a report")
        if result.status:
            return result.status
        raise GradlifeError("the program left no report", "gradlife peak --help")
    report = show.limit.applied(result.report)
    show.show(report)
    outputs.write(report)
    return result.status or report.exit_status


def run_alone(args: argparse.Namespace, settings: Settings, show: Show) -> Result[PeakReport]:
    """Run the program in one process and prove the savings; ranks that the program starts are merged."""
    with OwnFolder(PEAK) as folder, ProgramView(f"recording {name_of(args.target)}", None, AT_START) as view:

        def answer(report: PeakReport) -> None:
            if not args.prove:
                view.end()
                show.answer(report)

        settings = replace(settings, tells_progress=view.wants_progress)
        trial = folder if args.prove else ""
        first = PeakGuard(replace(settings, trial=trial), answer, folder=folder, viewer=view).run()
        if folders_of_ranks(folder):
            view.end()
            say_unproven(args)
            return with_peaks(first, args.target, folder)
        return proven_result(first, settings, view) if args.prove else first


def proven_result(first: Result[PeakReport], settings: Settings, view: ProgramView) -> Result[PeakReport]:
    """Run the program again with its edits."""
    if first.report is None or not first.report.peak_bytes:
        return first

    def run_again(changed: Settings) -> PeakReport | None:
        view.begin("running it again with the changes")
        return PeakGuard(changed, hear_nothing, is_quiet=True, viewer=view).run().report

    return Result(first.status, proven(first.report, settings, run_again))


def hear_nothing(report: PeakReport) -> None:
    """Show nothing yet: the report is incomplete."""


@dataclass(frozen=True)
class Limit:
    """What makes the exit status 1: unused memory, or a peak larger than that of an earlier report."""

    fail_on: Threshold | None
    before: PeakReport | None
    file: str = ""

    def applied(self, report: PeakReport) -> PeakReport:
        """Return the report with its limit, or compared."""
        if self.before is not None:
            return with_comparison(report, self.before, self.file, self.fail_on)
        return replace(report, fail_on=self.fail_on.percent if self.fail_on is not None else None)


class Show:
    """Prints the report once."""

    def __init__(self, in_full: bool, limit: Limit, to_stderr: bool, project: str = "") -> None:
        self._project = project  # which options the project sets
        self._in_full = in_full
        self.limit = limit
        self._stream = sys.stderr if to_stderr else sys.stdout
        self._is_shown = False

    def answer(self, report: PeakReport) -> None:
        """Print the report while the program runs, if it has the peak: a rank may have it where a launcher has none."""
        if not report.trouble:
            self.show(report)

    def show(self, report: PeakReport) -> None:
        """Print the report, unless that was done."""
        if self._is_shown:
            return
        self._is_shown = True
        from gradlife.reports.peak.terminal import print_peak
        from gradlife.reports.theme import make_console

        print_peak(make_console(self._stream), self.limit.applied(report), self._in_full)
        if self._in_full and self._project:
            say(self._project, self._stream)
        self._stream.flush()
