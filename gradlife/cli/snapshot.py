"""`gradlife snapshot`: run a script and keep the heap as it is at its end."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
import types

from gradlife.errors import UsageError
from gradlife.heap import snapshot as take_snapshot
from gradlife.output import OutputFile, reason
from gradlife.reports.values import counted

EPILOG = """\
The script runs in this process, as `python SCRIPT` would run it, and the snapshot
is taken when it has ended, also where it failed. Inside a program,
gradlife.snapshot().save(FILE) takes one at any moment.

Exit status: the script's own; 2 asked wrongly; 3 the snapshot could not be written.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where the snapshot goes: x.glheap")
    parser.add_argument("--no-labels", action="store_true", help="leave out all names: types and sizes only")
    parser.add_argument(
        "--user-text", action="store_true", help="keep keys and attributes that are no identifiers, too"
    )
    parser.add_argument("script", metavar="SCRIPT", help="the Python file to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its arguments")


def run(args: argparse.Namespace) -> int:
    """Run the script, then write the snapshot."""
    code = compiled(args.script)
    with OutputFile(args.output) as output:
        main = types.ModuleType("__main__")
        status = run_script(code, main, [args.script, *args.arguments])
        snapshot = take_snapshot(labels=not args.no_labels, user_text=args.user_text)
        snapshot.write_to(output, labels=not args.no_labels)
    print(f"gradlife: {counted(snapshot.objects, 'object')} in {args.output}", file=sys.stderr)
    return status


def compiled(path: str) -> types.CodeType:
    """The script's code; UsageError where there is none."""
    try:
        with open(path, "rb") as file:
            return compile(file.read(), path, "exec", dont_inherit=True)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {reason(error)}", "the name of a Python script") from None
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{path} is no Python script: {error}", f"python {path}") from None


def run_script(code: types.CodeType, main: types.ModuleType, arguments: list[str]) -> int:
    """Run code as the main module, which stays there for the snapshot; the exit status it asks for."""
    main.__dict__.update(__file__=arguments[0], __builtins__=__builtins__)
    sys.modules["__main__"] = main
    sys.argv[:] = arguments
    sys.path[:0] = [os.path.dirname(os.path.abspath(arguments[0]))]
    try:
        exec(code, main.__dict__)
    except SystemExit as error:
        return exit_status(error.code)
    except Exception as error:
        report_exception(error)
        return 1
    return 0


def exit_status(code: object) -> int:
    """What `sys.exit(code)` means."""
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)
    return 1


def report_exception(error: Exception) -> None:
    """Print what the script died of, without the frames that ran it."""
    trace = error.__traceback__
    traceback.print_exception(type(error), error, trace.tb_next if trace is not None else None)
