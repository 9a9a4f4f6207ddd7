"""`gradlife snapshot`: run a script and keep its heap at a moment."""

from __future__ import annotations

import argparse
import gc
from types import FrameType

from gradlife.cli.live_line import announced
from gradlife.cli.options.python_words import is_python, read_python_words
from gradlife.cli.options.steps import add_step_on, number
from gradlife.cli.report_file import ReportFile, add_force, open_report
from gradlife.devices.live import device_notes
from gradlife.errors import UsageError
from gradlife.heap.snapshot import Snapshot, snapshot_with
from gradlife.hunting.process.settings import Settings
from gradlife.hunting.steps.targets import MODULE_MARK, FunctionTarget, parse
from gradlife.output import OutputFile, OutputStream, say
from gradlife.program.snapshot.child import Moment, SnapshotChild
from gradlife.reports.values import counted

EPILOG = """\
The script runs in this process, as `python SCRIPT` would run it. The snapshot
is taken when its outermost function, such as main(), returns or raises, with
the variables of that function; without one, when the script ends. Inside a
program, gradlife.snapshot().save(FILE) takes one at any moment.

Exit status: the script's own; 2 usage error; 3 the snapshot could not be
written.
"""


#: What to do if the program's variables were gone.
NOTHING = (
    "nothing of the program is in it: none of its variables was alive then; --at-step 10 takes it in the midst "
    "of the program, with --step-on MODULE:FUNCTION where no optimizer steps"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the snapshot file: x.glheap")
    parser.add_argument("--html", metavar="FILE", help="also write the objects that retain most as one HTML file")
    parser.add_argument("--at-step", type=number, metavar="N", help="take it when this step has ended")
    add_step_on(parser)
    parser.add_argument("--at-peak", action="store_true", help="take it where memory peaks in a step")
    parser.add_argument("--no-labels", action="store_true", help="leave out all names: types and sizes only")
    parser.add_argument(
        "--user-text", action="store_true", help="keep keys and attributes that are no identifiers, too"
    )
    add_force(parser)
    parser.add_argument("--native", action="store_true", help="also search for C++ objects that Python does not reach")
    parser.add_argument("-m", dest="is_module", action="store_true", help="SCRIPT is the name of a module: python -m")
    parser.add_argument("script", metavar="SCRIPT", help="the Python file to run, or a console script on PATH")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its arguments")


def run(args: argparse.Namespace) -> int:
    """Run the script, then write the snapshot."""
    if is_python(args.script):
        command = read_python_words([args.script, *args.arguments])
        if command.options:
            raise UsageError(
                f"gradlife snapshot runs the script in its own interpreter, without {command.options[0]}",
                f"python {' '.join(command.options)} -m gradlife snapshot -o FILE SCRIPT",
            )
        args.is_module = args.is_module or command.is_module
        args.script, *args.arguments = command.program
    target = MODULE_MARK * args.is_module + args.script
    if isinstance(parse(target, tuple(args.arguments)), FunctionTarget):
        raise UsageError(
            f"{args.script} is a function, which gradlife snapshot does not call", "a script, or -m module"
        )
    if args.at_peak and (args.at_step is not None):
        raise UsageError("--at-step and --at-peak are two moments", "one of them")
    gc.collect()  # so that the snapshot has the script's objects, not the parser's leftovers
    output, page = ReportFile(args.output, "-o", args.force), open_report(args.html, "--html", args.force)
    settings = Settings(target, tuple(args.arguments), args.at_step, args.step_on)
    with output, page:
        return SnapshotChild(
            settings,
            lambda frames: take(args, frames),
            lambda snapshot, moment: write(args, snapshot, moment, output, page),
            at_peak=args.at_peak,
        ).run()


def notes_of_devices() -> tuple[tuple[str, str], ...]:
    """Return the notes on device memory; a device in a bad state must not cost the snapshot."""
    try:
        return device_notes()
    except (UsageError, RuntimeError) as error:
        return (("limit", f"the memory of devices could not be read: {error}"),)


def take(args: argparse.Namespace, frames: tuple[FrameType, ...]) -> Snapshot:
    """Take the snapshot."""
    with announced(f"taking the snapshot for {args.output}"):
        found = snapshot_with(frames, labels=not args.no_labels, user_text=args.user_text, native=args.native)
        return found.with_notes(notes_of_devices()) if not args.no_labels else found


def write(
    args: argparse.Namespace, snapshot: Snapshot, moment: Moment, output: OutputFile, page: OutputFile | OutputStream
) -> None:
    """Write the snapshot, and say when it was taken, and what to do if it has nothing of the program."""
    notes = (("moment", moment.text), *((("steps", str(moment.steps)),) if moment.steps else ()))
    snapshot = snapshot.with_notes(notes)
    snapshot.write_to(output, labels=not args.no_labels)
    if args.html is not None:
        from gradlife.cli.pages import snapshot_page  # not earlier: the snapshot must not have its modules

        page.write(snapshot_page(snapshot, args.output))
    if moment.trouble:
        say(f"gradlife: {moment.trouble}")
    say(f"gradlife: {counted(snapshot.objects, 'object')} in {args.output}, taken when {moment.text}")
    if snapshot.has_labels:
        from gradlife.heap.views.program_objects import ProgramObjects

        if not ProgramObjects(snapshot).chosen(1):
            say(f"gradlife: {NOTHING}")
