"""`gradlife attach`: inspect a running process, then detach."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path

from rich.console import Console

from gradlife.attach.client import Session, attach, connect
from gradlife.attach.protocol import AttachError
from gradlife.cli.formats import Outputs, add_formats
from gradlife.cli.hunt import WRITERS, Show, add_fail_on, finish, size
from gradlife.cli.open import ask
from gradlife.cli.options.addresses import address_or_type
from gradlife.cli.options.attach_tasks import refuse_unused
from gradlife.cli.options.follow_options import EVERY, add_follow, duration, refuse_without_follow
from gradlife.cli.options.steps import number
from gradlife.cli.pages import Why, print_why
from gradlife.cli.peak import WRITERS as PEAK_WRITERS
from gradlife.cli.report_file import ReportFile, add_force
from gradlife.cli.watching.follow import Follower
from gradlife.errors import UsageError
from gradlife.heap import open_snapshot
from gradlife.interactive.heap_source import RunningPatient
from gradlife.model.hunt import LONGEST_STOP, SECOND, HuntReport
from gradlife.output import say
from gradlife.program.hunt.running import Progress, Terms
from gradlife.program.parent import Result
from gradlife.reports.peak.terminal import print_peak
from gradlife.reports.theme import make_console
from gradlife.reports.values import counted

EPILOG = """\
gdb or lldb starts one thread in the process, which hunts while the program
runs, and then ends. Where neither is allowed, the program can open a socket:
gradlife.serve(), or GRADLIFE_SERVE=1 before `import gradlife`. Ctrl-C detaches.

A step is an optimizer step, a DataLoader batch or a backward pass; with an
optimizer also a replay of a CUDA graph; or else a second.

Exit status: 0 clean; 1 a leak was found (see --fail-on); 2 usage error, or
attaching is not allowed; 3 could not tell, or the process ended.
"""

#: Options that only `--help-all` shows.
RARE = frozenset(
    {
        "--inject",
        "--every",
        "--findings",
        "--state",
        "--metrics",
        "--memory-limit",
        "--junit",
        "--markdown",
        "--sarif",
        "--github",
        "--step-on",
    }
)

#: Default length of a hunt, in seconds.
USUAL_SECONDS = 300.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("pid", nargs="?", type=process_number, metavar="PID", help="the process: pgrep -af python")
    parser.add_argument("--socket", metavar="PATH", help="attach by the socket that gradlife.serve(PATH) listens at")
    parser.add_argument(
        "--inject",
        default="",
        metavar="FOLDER",
        help="import gradlife from this folder, if the process does not have it",
    )
    parser.add_argument("--peak", action="store_true", help="record a few steps, as gradlife peak does, without a hunt")
    parser.add_argument("--snapshot", metavar="FILE", help="write the heap of the process to a file, without a hunt")
    parser.add_argument(
        "--why", metavar="WHAT", help="explain why an object is alive, by type, name or address, without a hunt"
    )
    parser.add_argument(
        "-i", "--interactive", action="store_true", help="open a prompt on the heap of the process, without a hunt"
    )
    parser.add_argument("--steps", type=number, metavar="N", help="report after this many counted steps")
    parser.add_argument(
        "--for",
        dest="seconds",
        type=duration,
        metavar="TIME",
        help="report after this time at the latest: 90s, 5m, 2h (5m; with --follow: never)",
    )
    parser.add_argument(
        "--step-on", default="", metavar="MODULE:FUNCTION", help="count each call of this function as a step"
    )
    parser.add_argument(
        "--memory-limit", type=size, metavar="SIZE", help="the memory limit, if it is not the machine's: 8G"
    )
    parser.add_argument("--full", action="store_true", help="print rounds, traces, controls and limits, too")
    add_follow(parser)
    add_fail_on(parser)
    add_formats(
        parser,
        json="write the report as JSON; - is standard output",
        html="write the report as one HTML file",
    )
    add_force(parser)


def process_number(text: str) -> int:
    """Parse a process number."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a process number")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Attach, do what was requested, detach."""
    if (args.pid is None) == (args.socket is None):
        raise UsageError("name one process", "gradlife attach PID, or gradlife attach --socket PATH")
    refuse_without_follow(args)
    refuse_unused(args)
    if args.peak:
        return peak(args)
    if args.snapshot is not None:
        return keep_snapshot(args)
    if args.interactive:
        return ask_process(args)
    if args.why is not None:
        return show_why(args)
    return hunt(args)


def opened(args: argparse.Namespace) -> Session:
    """Attach to the process."""
    session = connect(args.socket) if args.socket is not None else attach(args.pid, args.inject)
    under = f", {session.stopped_seconds:.1f} s under the debugger" if session.stopped_seconds else ""
    say(f"gradlife: attached to {session.title}{under}")
    return session


def hunt(args: argparse.Namespace) -> int:
    """Hunt in the process; the report is that of `gradlife hunt`."""
    terms = Terms(args.steps, args.seconds or (inf if args.follow else USUAL_SECONDS), args.step_on, args.memory_limit)
    command = f"gradlife attach {args.pid}" if args.pid is not None else f"gradlife attach --socket {args.socket}"
    with (
        Outputs(args, {name: WRITERS[name] for name in WRITERS if hasattr(args, name)}) as outputs,
        opened(args) as session,
    ):
        outputs.load()
        with Status() as status:
            report = reported(args, session, terms, command, status)
        if report is None:
            raise AttachError(f"{session.title} has ended before enough was seen", f"{command} --for 30m")
        if LONGEST_STOP in report.settings:
            stop = f"a look took at most {report.settings[LONGEST_STOP]} ms from the thread that takes the steps"
            say(f"gradlife: {stop}")
        show = Show(args, is_script=False, is_stdout_taken=outputs.is_stdout_taken)
        return finish(Result(0, report, was_killed=False), show, outputs, args.fail_on)


def peak(args: argparse.Namespace) -> int:
    """Record a few steps of the process; the report is that of `gradlife peak`."""
    terms = Terms(None, args.seconds or USUAL_SECONDS, args.step_on)
    with Outputs(args, PEAK_WRITERS) as outputs, opened(args) as session:
        with Status() as status:
            report = session.peak(terms, status.show)
        print_peak(make_console(sys.stderr if outputs.is_stdout_taken else sys.stdout), report, args.full)
        outputs.write(report)
    return report.exit_status


def reported(
    args: argparse.Namespace, session: Session, terms: Terms, command: str, status: Status
) -> HuntReport | None:
    """Return the report of a hunt, or the last of several."""
    if not args.follow:
        return session.hunt(terms, command, status.show)
    return Follower(args).follow(session, terms, args.every or EVERY, command, status.show)


def keep_snapshot(args: argparse.Namespace) -> int:
    """Write the process's heap to a file."""
    with ReportFile(args.snapshot, "--snapshot", args.force) as output, taken(args) as path:
        output.fill(lambda descriptor: copy(path, descriptor))
    say(f"gradlife: gradlife open {args.snapshot}")
    return 0


def show_why(args: argparse.Namespace) -> int:
    """Explain why an object of the process is alive."""
    with taken(args) as path:
        why = Why(open_snapshot(path), f"process {args.pid}", address_or_type(args.why))
        print_why(make_console(sys.stdout), why)
    return 0


def ask_process(args: argparse.Namespace) -> int:
    """Open a prompt on the heap of the process. Questions are answered here, from what a copy of the process wrote."""
    with tempfile.TemporaryDirectory(prefix="gradlife-snapshot-") as folder, opened(args) as session:

        def take(path: str) -> float:
            return float(session.snapshot(Path(path))["pause_seconds"])

        return ask(RunningPatient(session.title, str(Path(folder) / "process.glheap"), take))


@contextmanager
def taken(args: argparse.Namespace) -> Iterator[Path]:
    """Take a snapshot of the process for this block; detach as soon as it is written."""
    with tempfile.TemporaryDirectory(prefix="gradlife-snapshot-") as folder:
        path = Path(folder) / "process.glheap"
        with opened(args) as session:
            taking = session.snapshot(path)
        objects, pause = counted(taking["objects"], "object"), taking["pause_seconds"]
        say(f"gradlife: {objects}; the process stood still for {pause * 1000:.0f} ms")
        yield path


def copy(path: Path, descriptor: int) -> None:
    """Copy a file to a descriptor."""
    with path.open("rb") as source, open(descriptor, "wb", closefd=False) as goal:
        shutil.copyfileobj(source, goal, 1 << 20)


class Status:
    """A status line with the progress of a hunt, for people only."""

    def __init__(self) -> None:
        self._console: Console = make_console(sys.stderr)
        self._status = self._console.status("waiting for a step") if sys.stderr.isatty() else None

    def __enter__(self) -> Status:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, progress: Progress) -> None:
        """Show the progress."""
        if self._status is None:
            return
        by = (
            f"{counted(progress.steps, 'step')} of {progress.stepped_by}"
            if progress.stepped_by
            else "waiting for a step"
        )
        if progress.stepped_by == SECOND:
            by = f"no step was heard: counting {counted(progress.steps, 'second')}"
        self._status.update(f"{by}, {counted(progress.looks, 'look')}, {progress.seconds:.0f} s")
