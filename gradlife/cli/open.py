"""`gradlife open`: show what a snapshot file holds."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

from gradlife.cli.formats import Outputs, Writer, add_svg, picture
from gradlife.cli.options.addresses import address_or_type, count
from gradlife.cli.pages import WHY_WRITERS, Why, print_why, snapshot_page
from gradlife.cli.progress import working
from gradlife.cli.report_file import add_force
from gradlife.devices.allocator_state import allocator_state
from gradlife.devices.memory_report import report_of
from gradlife.devices.plain_pickle import AllocatorFileError, is_pickle, read_pickle
from gradlife.errors import UsageError
from gradlife.heap import Snapshot, open_snapshot
from gradlife.heap.views.overview import overview, program_view
from gradlife.interactive.heap_source import Patient, SavedPatient
from gradlife.model.device.codec import dumps
from gradlife.model.device.memory import AllocatorState
from gradlife.model.heap import HeapView
from gradlife.model.watching.out_of_memory import OutOfMemory, out_of_memory_in
from gradlife.reports.devices.out_of_memory import print_out_of_memory
from gradlife.reports.devices.terminal import print_devices
from gradlife.reports.formats.json.document import heap_text
from gradlife.reports.heap.tables import print_heap
from gradlife.reports.theme import make_console

#: Rows of each table if no table is requested.
ROWS = 8

#: Options about objects, which an allocator's file does not have.
OBJECTS_ONLY = ("types", "largest", "cycles", "instances", "holders", "why", "interactive", "tui")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments. Each table can be requested alone, with a number of rows."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a snapshot: gradlife snapshot -o FILE script.py; or what torch.cuda.memory._dump_snapshot or "
        "gradlife.on_oom wrote",
    )
    parser.add_argument("--all", action="store_true", help="also what libraries and Python hold, object by object")
    table: dict[str, Any] = {"type": count, "nargs": "?", "const": 30, "metavar": "N"}
    parser.add_argument("--types", **table, help="the types that take most")
    parser.add_argument("--largest", **table, help="the objects that retain most")
    parser.add_argument("--cycles", **table, help="cycles, those through native objects first")
    parser.add_argument("--instances", metavar="TYPE", help="objects of a type, with the path to each")
    parser.add_argument("--holders", metavar="TYPE", help="who holds objects of a type")
    parser.add_argument("--why", metavar="WHAT", help="why an object is alive: an address, a type, a name")
    parser.add_argument("--json", metavar="FILE", help="write the shown tables as JSON; - for standard output")
    parser.add_argument("--html", metavar="FILE", help="write the objects that retain most as one HTML file")
    add_svg(parser)
    add_force(parser)
    parser.add_argument("-i", "--interactive", action="store_true", help="open a prompt on the snapshot")
    parser.add_argument("--tui", action="store_true", help="browse the snapshot with keys and mouse")


def run(args: argparse.Namespace) -> int:
    """Show the tables, explain an object, or start the prompt."""
    if is_pickle(args.file):
        return show_device_memory(args)
    report = out_of_memory_in(args.file)
    if report is not None:
        return show_out_of_memory(args, report)
    if args.tui:
        from gradlife.cli.browse import browse  # imports Textual

        return browse(args)
    if args.interactive:
        return ask(SavedPatient(args.file))
    return show_why(args) if args.why is not None else show_tables(args)


def show_out_of_memory(args: argparse.Namespace, report: OutOfMemory) -> int:
    """Show a report of `gradlife.on_oom`."""
    asked = [name for name in (*OBJECTS_ONLY, "json", "html", "svg") if getattr(args, name)]
    if asked:
        raise UsageError(f"{args.file} is a report in JSON, so there is no --{asked[0]}", f"gradlife open {args.file}")
    print_out_of_memory(make_console(sys.stdout), report, args.file, args.all)
    return 0


def show_device_memory(args: argparse.Namespace) -> int:
    """Show who owns the memory of each device."""
    asked = [name for name in OBJECTS_ONLY if getattr(args, name)]
    if asked:
        raise UsageError(
            f"{args.file} has blocks of a device and no objects, so there is no --{asked[0]}",
            "gradlife snapshot -o FILE script.py",
        )
    writers: dict[str, Writer] = {
        "json": dumps,
        "html": "gradlife.reports.html.devices:device_page",
        "svg": picture(print_devices, "gradlife open"),
    }
    with Outputs(args, writers) as outputs:
        report = report_of(args.file, state_in(args.file))
        if not outputs.is_stdout_taken:
            print_devices(make_console(sys.stdout), report, args.all)
        outputs.write(report)
    return 0


def state_in(path: str) -> AllocatorState:
    """Return the state of an allocator in a file. Raises AllocatorFileError with the file's name."""
    try:
        return allocator_state(read_pickle(path))
    except AllocatorFileError as error:
        raise AllocatorFileError(
            error.message if path in error.message else f"{path} has {error.message}", error.hint
        ) from None


def show_why(args: argparse.Namespace) -> int:
    """Show why one object is alive."""
    with Outputs(args, WHY_WRITERS) as outputs:
        why = Why(open_snapshot(args.file), args.file, address_or_type(args.why))
        if not outputs.is_stdout_taken:
            print_why(make_console(sys.stdout), why)
        outputs.write(why)
    return 0


def show_tables(args: argparse.Namespace) -> int:
    """Show the requested tables."""
    snapshots: list[Snapshot] = []
    writers: dict[str, Writer] = {
        "json": heap_text,
        "html": lambda _: snapshot_page(snapshots[0], args.file),
        "svg": picture(print_heap, "gradlife open"),
    }
    with Outputs(args, writers) as outputs:
        with working(f"reading {args.file}"):
            snapshots.append(open_snapshot(args.file))
            view = view_of(snapshots[0], args)
        if not outputs.is_stdout_taken:
            print_heap(make_console(sys.stdout), view)
        outputs.write(view)
    return 0


def ask(patient: Patient) -> int:
    """Start a session; the prompt's module is imported only here."""
    from gradlife.interactive.session import Session
    from gradlife.interactive.terminal import history

    with history():
        Session(patient).cmdloop()
    return 0


def view_of(snapshot: Snapshot, args: argparse.Namespace) -> HeapView:
    """Return the requested tables; by default what the program holds, and with ``--all`` a short version of everything."""
    asked = (args.types, args.largest, args.cycles, args.instances, args.holders)
    is_all = args.all or (all(one is None for one in asked) and not snapshot.has_labels)
    if all(one is None for one in asked) and not is_all:
        return program_view(snapshot, args.file)
    rows = ROWS if is_all else 0
    program = program_view(snapshot, args.file) if is_all else overview(snapshot, args.file, types=0, cycles=0)
    return replace(
        program,
        types=snapshot.types()[: args.types or rows],
        largest=snapshot.largest(args.largest or rows) if args.largest or rows else (),
        cycles=snapshot.cycles(args.cycles or rows) if args.cycles or rows else (),
        instances=snapshot.instances(args.instances, 30) if args.instances is not None else (),
        holders=snapshot.holders(args.holders) if args.holders is not None else (),
    )
