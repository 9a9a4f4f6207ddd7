"""`gradlife snapshot`: run a script and keep its heap at its end."""

from __future__ import annotations

import argparse
import gc
import os

from gradlife.cli.live_line import announced
from gradlife.cli.options.python_words import is_python, read_python_words
from gradlife.cli.report_file import ReportFile, add_force, open_report
from gradlife.devices.live import device_notes
from gradlife.errors import GradlifeError, UsageError
from gradlife.heap import snapshot as take_snapshot
from gradlife.hunting.process.immediate_exit import before_exit
from gradlife.hunting.steps.targets import MODULE_MARK, FunctionTarget, parse
from gradlife.output import OutputFile, OutputStream, say
from gradlife.program.script import prepared, run_script
from gradlife.reports.values import counted

EPILOG = """\
The script runs in this process, as `python SCRIPT` would run it, and the
snapshot is taken when it ends, even if it fails. Inside a program,
gradlife.snapshot().save(FILE) takes one at any moment.

Exit status: the script's own; 2 usage error; 3 the snapshot could not be
written.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the snapshot file: x.glheap")
    parser.add_argument("--html", metavar="FILE", help="also write the objects that retain most as one HTML file")
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
    target = parse(MODULE_MARK * args.is_module + args.script, tuple(args.arguments))
    if isinstance(target, FunctionTarget):
        raise UsageError(
            f"{args.script} is a function, which gradlife snapshot does not call", "a script, or -m module"
        )
    program = prepared(target)
    pid = os.getpid()
    gc.collect()  # so that the snapshot has the script's objects, not the parser's leftovers
    output, page = ReportFile(args.output, "-o", args.force), open_report(args.html, "--html", args.force)
    with output, page:
        with before_exit(lambda: write_before_exit(args, output, page)):
            status = run_script(program.code, program.main).status
        if os.getpid() == pid:  # not a child that the script forked
            write(args, output, page)
    return status


def write_before_exit(args: argparse.Namespace, output: OutputFile, page: OutputFile | OutputStream) -> None:
    """Write the snapshot of a program that is about to end; an error is printed, as nobody can catch it."""
    try:
        write(args, output, page)
    except GradlifeError as error:
        say(f"gradlife: error: {error}")


def notes_of_devices() -> tuple[tuple[str, str], ...]:
    """Return the notes on device memory; a device in a bad state must not cost the snapshot."""
    try:
        return device_notes()
    except (UsageError, RuntimeError) as error:
        return (("limit", f"the memory of devices could not be read: {error}"),)


def write(args: argparse.Namespace, output: OutputFile, page: OutputFile | OutputStream) -> None:
    """Take the snapshot and write it."""
    with announced(f"taking the snapshot for {args.output}"):
        snapshot = take_snapshot(labels=not args.no_labels, user_text=args.user_text, native=args.native)
        if not args.no_labels:
            snapshot = snapshot.with_notes(notes_of_devices())
        snapshot.write_to(output, labels=not args.no_labels)
    if args.html is not None:
        from gradlife.cli.pages import snapshot_page  # not earlier: the snapshot must not have its modules

        page.write(snapshot_page(snapshot, args.output))
    say(f"gradlife: {counted(snapshot.objects, 'object')} in {args.output}")
