"""A program that `gradlife hunt --follow` starts: it runs as by itself, and opens a door for the one who watches."""

from __future__ import annotations

import sys

from gradlife.attach.server import serve
from gradlife.errors import GradlifeError
from gradlife.hunting.run.script import prepared, run_script
from gradlife.hunting.steps.targets import FunctionTarget, parse

#: What starts it: the socket, the target and its arguments follow.
START = "import sys; from gradlife.attach.launched import main; sys.exit(main())"


def main() -> int:
    """Open the door, and run the program to its end; its exit status."""
    path, target, *arguments = sys.argv[1:]
    try:
        found = parse(target, tuple(arguments))
        if isinstance(found, FunctionTarget):
            raise GradlifeError("a function is called for some steps only", "gradlife hunt without --follow")
        program = prepared(found)
    except GradlifeError as error:
        print(f"gradlife: error: {error}", file=sys.stderr)
        return error.exit_status
    serve(path)
    return run_script(program.code, program.main).status
