"""`gradlife hunt`: run a program, find what grows, and say who holds it."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gradlife.cli.formats import Outputs, Writer, add_formats
from gradlife.cli.options.earlier_report import read_earlier
from gradlife.cli.options.follow_options import add_follow, refuse_with_follow, refuse_without_follow
from gradlife.cli.options.from_project import project_note
from gradlife.cli.options.late_options import add_target, own_words, take_late_options
from gradlife.cli.options.steps import add_step_on, number
from gradlife.cli.program_view import ProgramView, name_of
from gradlife.cli.report_file import add_force, open_report
from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, EXIT_FOUND, GradlifeError, UsageError, shortened
from gradlife.hunting.process.memory_limits import Memory
from gradlife.hunting.process.own_folders import HUNT, TRIAL, OwnFolder
from gradlife.hunting.process.rank import rank_of
from gradlife.hunting.process.settings import HUNT as METHOD, TALK, Settings
from gradlife.hunting.steps.targets import MODULE_MARK, FunctionTarget, ScriptTarget, parse
from gradlife.model import hunt_codec
from gradlife.model.from_json import LARGEST_SIZE
from gradlife.model.hunt import STRICT, HuntReport, HuntVerdict, Severity
from gradlife.model.hunt_comparison import against
from gradlife.model.threshold import bytes_of
from gradlife.output import NoOutput, OutputFile, OutputStream, say, say_to_runner
from gradlife.program.hunt.parent import HuntGuard
from gradlife.program.parent import Result, signal_of
from gradlife.ranks.hunt import add_rank_options, hunt_as_rank, hunt_in_new_ranks, say_unproven
from gradlife.ranks.launch import with_ranks
from gradlife.ranks.rank_report import folders_of_ranks
from gradlife.ranks.run_folder import VARIABLE
from gradlife.visible_text import visible_lines

if TYPE_CHECKING:
    from rich.console import Console

EPILOG = """\
TARGET is a script with its own arguments, -m module, a console script on PATH
(accelerate launch train.py), or file.py::function and module:function, which
are called once per step: with the result of setup(), if the file has it, and
the number of the step. Arguments after a script that reads them are its own.

Exit status: 0 clean; 1 a leak was found (see --fail-on); 2 usage error; 3 could
not tell; a script that fails itself keeps its own.
"""

#: Options that only `--help-all` shows.
RARE = frozenset(
    {
        "--lines",
        "--junit",
        "--markdown",
        "--sarif",
        "--patch",
        "--svg",
        "--github",
        "--export-scenario",
        "--every",
        "--findings",
        "--state",
        "--metrics",
        "--at-rss",
        "--memory-limit",
        "--run-folder",
        "--rank-timeout",
        "--git-bisect",
    }
)

#: The writer of each format.
WRITERS: dict[str, Writer] = {
    "json": "gradlife.reports.formats.json.document:hunt_text",
    "junit": "gradlife.reports.formats.junit.hunt:hunt_junit",
    "markdown": "gradlife.reports.formats.markdown.document:markdown_of",
    "sarif": "gradlife.reports.formats.sarif.findings:hunt_sarif",
    "html": "gradlife.reports.html.document:page_of",
    "patch": "gradlife.cli.hunt:patch_text",
    "svg": "gradlife.cli.hunt:drawn",
}

#: What follows the program's name in the line at the start, where standard error is no terminal.
AT_START = "; the program runs as usual, and the report comes at its end or as soon as a leak is certain"

#: The key of a report's settings that says which options the project sets.
PROJECT = "project"

#: The exit status with which `git bisect run` skips a commit.
EXIT_SKIP = 125

#: Count a cycle that waits for the collector as found.
NEEDS_GC = "needs-gc"

#: Count leaks of any severity.
LEAK = "leak"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    add_options(parser)
    parser.add_argument("-m", dest="is_module", action="store_true", help="TARGET is the name of a module: python -m")
    add_target(parser, "the program, and a script's own arguments; see below")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_step_options(parser)
    parser.add_argument(
        "--lines",
        action="store_true",
        help="record where objects are created in every round, not only where something grows",
    )
    add_report_files(parser)
    parser.add_argument("--verify", metavar="BEFORE", help="compare with an earlier report; TARGET may be one, too")
    parser.add_argument("--against", metavar="BEFORE", help="the same, but fail only for what is new or larger now")
    add_follow(parser)
    add_fail_on(parser)
    add_memory_options(parser)
    parser.add_argument("-i", "--interactive", action="store_true", help="stop at the first leak and open a prompt")
    add_fixing(parser)
    parser.add_argument("--full", action="store_true", help="print rounds, traces, controls and limits, too")
    parser.add_argument(
        "--git-bisect",
        action="store_true",
        help="for git bisect run: exit with 125, which skips a commit, if it could not tell or the program fails",
    )
    add_rank_options(parser)


def add_step_options(parser: argparse.ArgumentParser) -> None:
    """Declare what a step is, and how many there are."""
    parser.add_argument("--steps", type=number, metavar="N", help="stop the program after this many counted steps")
    add_step_on(parser)


def add_report_files(parser: argparse.ArgumentParser) -> None:
    """Declare the options that write files."""
    add_formats(
        parser,
        json="write the report as JSON; - is standard output",
        html="write the report as one HTML file",
        patch="write the source change that ends the leak, if one is known to be safe, for `git apply`",
        svg="draw the printed output as an SVG picture",
    )
    parser.add_argument(
        "--export-scenario",
        metavar="FILE",
        help="write the worst leak as a small story for a bug report, if possible",
    )
    add_force(parser)


def add_memory_options(parser: argparse.ArgumentParser) -> None:
    """Declare the memory limit, and the share of it at which an interim report is written."""
    parser.add_argument(
        "--at-rss",
        type=share,
        default=0.9,
        metavar="PERCENT",
        help="write an interim report when this share of the memory limit is resident (90%%)",
    )
    parser.add_argument(
        "--memory-limit", type=size, metavar="SIZE", help="the memory limit, if it is not the machine's: 8G"
    )


def add_fixing(parser: argparse.ArgumentParser) -> None:
    """Declare the options that run the program again, changed."""
    parser.add_argument(
        "--prove",
        action="store_true",
        help="run again without the leak, compare rates and losses",
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="run again with all patches, and compare rates and losses; no file is changed",
    )
    parser.add_argument(
        "--write", action="store_true", help="with --fix: change the files if the leaks are gone and the losses equal"
    )


def add_fail_on(parser: argparse.ArgumentParser) -> None:
    """Declare the option that decides which findings fail."""
    parser.add_argument(
        "--fail-on",
        choices=[*(one.value for one in Severity), LEAK, NEEDS_GC],
        metavar="SEVERITY",
        default=Severity.MAJOR.value,
        help="the least severity for exit status 1: critical, major, minor, note; leak: any; needs-gc: cycles for the "
        "collector, too (%(default)s)",
    )


def share(text: str) -> float:
    """Parse ``90%`` as a fraction of one."""
    found = re.fullmatch(r"([0-9]{1,3})%?", text)
    if found is None or not 0 < int(found[1]) <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage")
    return int(found[1]) / 100


def size(text: str) -> int:
    """Parse ``8G`` as bytes: 8 GiB, as systems count memory."""
    with suppress(ValueError):
        nbytes = bytes_of(text, thousand=1024)
        if 0 < nbytes <= LARGEST_SIZE:
            return nbytes
    raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a size: 500M, 8G")


def run(args: argparse.Namespace) -> int:
    """Hunt, show the report and write it; or compare it with an earlier one."""
    args = complete(args)
    if not args.git_bisect:
        return hunt(args)
    try:
        status = hunt(args)
    except GradlifeError as error:
        say(f"gradlife: skipped: {error}")
        return EXIT_SKIP
    return status if status in (EXIT_CLEAN, EXIT_FOUND) else EXIT_SKIP


def complete(args: argparse.Namespace) -> argparse.Namespace:
    """Return the arguments with options after the program that are gradlife's."""
    if args.is_module:
        args.target = MODULE_MARK + args.target
    if args.is_module or is_command(args.target):
        return own_words(args)
    return take_late_options(args, add_options, args.target if is_script(args.target) else None, "hunt")


def hunt(args: argparse.Namespace) -> int:
    """Do what the arguments ask for. Return the exit status."""
    if args.verify and args.against is not None:
        raise UsageError(
            "--verify is for after a fix, --against for after a change: give one of them", "--against BEFORE"
        )
    before = read_report(args.verify) if args.verify else None
    earlier = Earlier(read_report(args.against), args.against, args.fail_on) if args.against is not None else None
    if before is not None and args.target.endswith(".json"):
        refuse_formats(Outputs(args, WRITERS).formats)
        return compare(before, read_report(args.target), args.fail_on)
    if earlier is not None and args.target.endswith(".json"):
        with Outputs(args, WRITERS) as outputs:
            show = Show(args, is_script=False, is_stdout_taken=outputs.is_stdout_taken, earlier=earlier)
            return show_merged(read_report(args.target), show, outputs, args.fail_on)
    refuse_without_follow(args)
    if args.write and not args.fix:
        raise UsageError("--write needs --fix", "gradlife hunt --fix --write SCRIPT")
    target = parse(args.target, tuple(args.arguments))
    if args.follow:
        return followed(args, earlier)
    settings = Settings(
        args.target,
        tuple(args.arguments),
        args.steps,
        args.step_on,
        args.lines,
        memory_limit=args.memory_limit,
        python=args.python,
        method=TALK if args.interactive else METHOD,
    )
    rank = rank_of(os.environ, 1 if os.environ.get(VARIABLE) else 2)
    exported = open_report(args.export_scenario, "--export-scenario", args.force)
    with Outputs(args, WRITERS) as outputs, exported as story, trial_folder(args) as trial:
        settings = replace(settings, trial=trial)
        show = Show(args, not isinstance(target, FunctionTarget), outputs.is_stdout_taken, earlier)

        def end(result: Result[HuntReport]) -> int:
            status = finish(result, show, outputs, args.fail_on)
            if args.fix and result.report is not None and fixed(result.report, args, settings):
                status = result.status  # that of the program, which may have failed
            if result.report is not None:
                export(result.report, story, args.export_scenario)
            if before is not None and result.report is not None:
                verified = compare(before, result.report, args.fail_on)  # also if the program failed
                return result.status or verified
            return status

        if args.nproc_per_node is not None or rank is not None:
            return hunt_in_new_ranks(args, end) if rank is None else hunt_as_rank(args, settings, rank, end)
        return end(run_alone(args, settings, show, outputs))


def run_alone(args: argparse.Namespace, settings: Settings, show: Show, outputs: Outputs) -> Result[HuntReport]:
    """Run the program in one process and prove the findings; ranks that the program starts are merged."""
    memory = Memory(args.memory_limit, args.at_rss)
    with OwnFolder(HUNT) as folder, view_of(args) as view:

        def answer(report: HuntReport) -> None:
            if not args.prove:
                view.end()
                show.answer(report)

        guard = HuntGuard(settings, memory, answer, meanwhile=lambda: load_reports(outputs), folder=folder, viewer=view)
        result = guard.run()
        if folders_of_ranks(folder):
            view.end()
            say_unproven(args)
            return with_ranks(result, folder)
        if args.prove and result.report is not None:
            from gradlife.program.hunt.proof import proven

            result = replace(result, report=proven(result.report, settings, quietly(args, view)))
    return result


def view_of(args: argparse.Namespace) -> ProgramView:
    """Return what shows the program's progress; nothing beside a prompt, which has the terminal."""
    start = "" if args.interactive else AT_START
    return ProgramView(f"hunting {name_of(args.target)}", args.steps, start, is_hidden=args.interactive)


def trial_folder(args: argparse.Namespace) -> AbstractContextManager[str]:
    """Make a temporary folder if the run will be compared with a second one."""
    is_compared = args.prove or args.fix
    return OwnFolder(TRIAL) if is_compared else nullcontext("")


def fixed(report: HuntReport, args: argparse.Namespace, settings: Settings) -> bool:
    """Try the patches together, and write them if they end the leaks. Return whether none is left that fails the hunt."""
    if report.ranks:
        say("gradlife: nothing was tried: --fix is for one process, and the program started ranks")
        return False
    from gradlife.program.hunt.patch_trial import changed_files, patch_proof, try_texts
    from gradlife.program.hunt.patched_files import Written, text_of, write_texts
    from gradlife.reports.hunt.fix import print_fix
    from gradlife.reports.theme import make_console

    patched = [one for one in report.findings if one.patch is not None and one.in_workers is None]
    if not patched:
        if report.findings:
            say("gradlife: no change is known to be safe here; the report says what to do")
        return False
    try:
        texts = changed_files(patched)
        before = {path: text_of(path) for path in texts}
        with view_of(args) as view:
            found = try_texts(texts, settings, quietly(args, view))
    except (GradlifeError, OSError) as error:
        say(f"gradlife: nothing was tried: {error}")
        return False
    proven = [replace(one, proof=patch_proof(one, found, report)) for one in patched]
    is_fixed = all(one.proof is not None and one.proof.is_sufficient for one in proven)
    written = write_texts(texts, before) if is_fixed and args.write else Written()
    command = f"gradlife hunt --fix --write {report.typed_target}"
    print_fix(make_console(sys.stderr), proven, written.sentence, command, not written.others)
    if written.trouble:
        say(f"gradlife: error: {written.trouble}")
    others = [one for one in report.findings if one not in patched]
    return (
        bool(written.files) and not written.others and not any(map(failing_on(report, args.fail_on).is_failure, others))
    )


def followed(args: argparse.Namespace, earlier: Earlier | None) -> int:
    """Watch the program as long as it runs, and report at its end."""
    from gradlife.cli.watching.follow import follow_program

    refuse_with_follow(args)
    with Outputs(args, WRITERS) as outputs:
        result = follow_program(args, args.target)
        if result.report is None:
            if result.was_killed:
                say(f"gradlife: {signal_of(result.status)} ended the program before it left a report")
            return result.status or say_too_short()
        show = Show(args, is_script=True, is_stdout_taken=outputs.is_stdout_taken, earlier=earlier)
        return finish(result, show, outputs, args.fail_on)


def say_too_short() -> int:
    """Return the exit status of a program that ended before there was a result."""
    say("gradlife: could not tell: the program ended before enough was seen")
    return EXIT_COULD_NOT_TELL


def refuse_formats(names: list[str]) -> None:
    """Raise if a comparison of two reports is requested in a single report's format."""
    if names:
        raise UsageError(f"--verify of two reports has no --{names[0]}", "gradlife hunt --verify BEFORE SCRIPT")


def load_reports(outputs: Outputs) -> None:
    """Import the report modules while the program runs: at the end that would take as long as a snapshot."""
    for name in ("first_screen", "terminal"):
        importlib.import_module(f"gradlife.reports.hunt.{name}")
    outputs.load()


def is_script(target: str) -> bool:
    """Whether it is a program with its own command line, not a function or a report."""
    if "::" in target or target.endswith(".json"):
        return False
    return target.endswith(".py") or (os.path.isfile(target) and is_run_itself(target))


def is_run_itself(path: str) -> bool:
    """Whether an existing file is the program, instead of a console script of the same name."""
    found = parse(path)
    return isinstance(found, ScriptTarget) and found.path == path


def is_command(target: str) -> bool:
    """Whether it is the name of a console script, which has its own command line."""
    return not target.endswith(".json") and ":" not in target and not is_script(target)


def export(report: HuntReport, story: OutputFile | OutputStream | NoOutput, path: str | None) -> None:
    """Write the worst leak as a scenario, or print why that is not possible."""
    if path is None:
        return
    from gradlife.hunting.findings.scenario_file import NoScenario, export_first

    try:
        story.write(visible_lines(export_first(report.findings)))
        say(f"gradlife: the leak as a story: gradlife run {path}")
    except NoScenario as reason:
        say(f"gradlife: no scenario was written: {reason}")


def nobody(report: HuntReport) -> None:
    """Show nothing yet: the report is incomplete."""


def quietly(args: argparse.Namespace, view: ProgramView) -> Callable[[Settings], Result[HuntReport]]:
    """Hunt the same program again, without its output, input and prompt."""

    def run(settings: Settings) -> Result[HuntReport]:
        settings = replace(settings, method=METHOD)
        view.begin("running it again without the leak" if settings.cuts else "running it again with the change")
        memory = Memory(args.memory_limit, args.at_rss)
        return HuntGuard(settings, memory, nobody, is_quiet=True, viewer=view).run()

    return run


def read_report(path: str) -> HuntReport:
    """Read an earlier hunt's report."""
    return read_earlier(path, hunt_codec.loads, "gradlife hunt")


def compare(before: HuntReport, after: HuntReport, fail_on: str = Severity.MAJOR.value) -> int:
    """Show what became of each leak. Return the exit status; findings of less than the severity `fail_on` do not decide."""
    from gradlife.model.fix_verification import verify
    from gradlife.reports.hunt.verification import print_verification
    from gradlife.reports.theme import make_console

    found = verify(before, failing_on(after, fail_on))
    print_verification(make_console(sys.stdout), found)
    return found.exit_status


def patch_text(report: HuntReport) -> str:
    """Return the patches below a line that `git apply` skips, and that says who wrote them; empty if there are none."""
    from gradlife.reports.formats.patch.hunt import hunt_patch

    diffs = hunt_patch(report)
    return f"# gradlife hunt\n{diffs}" if diffs else ""


def drawn(report: HuntReport, in_full: bool = False) -> str:
    """Return the report for an SVG picture."""
    from gradlife.reports.svg import svg_of

    return svg_of(lambda console: print_report(console, report, in_full), f"gradlife hunt {report.target}")


def print_report(console: Console, report: HuntReport, in_full: bool) -> None:
    """Print the first screen, or everything."""
    from gradlife.reports.hunt.first_screen import print_first_screen
    from gradlife.reports.hunt.terminal import print_hunt

    if in_full:
        print_hunt(console, report, in_full)
    else:
        print_first_screen(console, report)


@dataclass(frozen=True)
class Earlier:
    """The report of an earlier run, the name of its file, and the severity of findings that fail."""

    report: HuntReport
    file: str
    fail_on: str

    def applied(self, report: HuntReport) -> HuntReport:
        """Return a report compared with it."""
        return against(replace(failing_on(report, self.fail_on), against=None), self.report, self.file)


class Show:
    """The display of the report: shown once, as soon as it is known."""

    def __init__(
        self, args: argparse.Namespace, is_script: bool, is_stdout_taken: bool, earlier: Earlier | None = None
    ) -> None:
        self._earlier = earlier
        self.in_full = args.full
        self.for_git_bisect = getattr(args, "git_bisect", False)
        self.project = project_note(args)  # which options the project sets
        self._annotates = args.github or os.environ.get("GITHUB_ACTIONS") == "true"
        self._stream = sys.stderr if is_script or is_stdout_taken else sys.stdout
        self.verdict: HuntVerdict | None = None  # of the report shown last, and its trouble
        self.trouble = ""
        self._codes: list[str] = []
        self._shown: HuntReport | None = None

    def answer(self, report: HuntReport) -> None:
        """Show the report."""
        from gradlife.reports.theme import make_console

        report = self.compared(report)
        print_report(make_console(self._stream), report, self.in_full)
        if self.in_full and self.project:
            say(self.project, self._stream)
        self._stream.flush()
        self._shown = report
        self.verdict, self.trouble = report.verdict, report.trouble
        self._codes = [one.code for one in report.findings]

    def compared(self, report: HuntReport) -> HuntReport:
        """Return the report, compared with that of an earlier run if one was given."""
        return self._earlier.applied(report) if self._earlier is not None else report

    def is_outdated(self, report: HuntReport) -> bool:
        """Whether the report has a verdict or a finding that was not shown, or says more of workers: left shared memory is
        found at the end, and workers end with their iterator.
        """
        codes = [one.code for one in report.findings]
        if self.verdict is not report.verdict or self.trouble != report.trouble:
            return True
        if report.workers and (self._shown is None or self.text_of(self._shown) != self.text_of(report)):
            return True
        return len(codes) > len(self._codes) or not set(codes) <= set(self._codes)

    def text_of(self, report: HuntReport) -> str:
        """Return the report as it is shown."""
        from gradlife.reports.theme import make_console

        stream = io.StringIO()
        print_report(make_console(stream), report, self.in_full)
        return stream.getvalue()

    def annotate(self, report: HuntReport, is_strict: bool) -> None:
        """Print annotations for GitHub if requested: at the end, when the report is complete."""
        if self._annotates:
            from gradlife.reports.formats.github.annotations import hunt_annotations

            for line in hunt_annotations(report, is_strict):
                say_to_runner(line, self._stream)


def finish(result: Result[HuntReport], show: Show, outputs: Outputs, fail_on: str) -> int:
    """Show what was not shown yet, write the files, and return the exit status."""
    report = result.report
    if report is None:
        if result.status:
            return EXIT_SKIP if show.for_git_bisect else result.status
        raise GradlifeError("the program left no report", "gradlife hunt --help")
    if show.is_outdated(report):
        show.answer(report)
    is_strict = fail_on == NEEDS_GC
    report = show.compared(failing_on(report, fail_on))
    if show.project:
        report = replace(report, settings={**report.settings, PROJECT: show.project})
    show.annotate(report, is_strict)
    outputs.write(report, is_strict=is_strict, in_full=show.in_full)
    if show.for_git_bisect:
        return EXIT_SKIP if result.status and report.exit_status != EXIT_FOUND else report.exit_status
    return result.status or report.exit_status


def show_merged(report: HuntReport, show: Show, outputs: Outputs, fail_on: str) -> int:
    """Show and write a report that was read or merged. Return its exit status, or that of its program if it failed."""
    return finish(Result(report.script_status or 0, report), show, outputs, fail_on)


def severity_of(fail_on: str) -> Severity:
    """Return the least severity that fails."""
    return {NEEDS_GC: Severity.MAJOR, LEAK: Severity.MINOR}.get(fail_on) or Severity(fail_on)


def failing_on(report: HuntReport, fail_on: str) -> HuntReport:
    """Return the report with what makes its exit status 1."""
    settings = {**report.settings, STRICT: "1"} if fail_on == NEEDS_GC else report.settings
    return replace(report, fail_on=severity_of(fail_on), settings=settings)
