"""A program that `gradlife hunt --follow` starts: it runs as usual, and opens a socket for the watching process."""

from __future__ import annotations

import sys

from gradlife.attach.server import serve
from gradlife.errors import GradlifeError
from gradlife.hunting.steps.targets import FunctionTarget, parse
from gradlife.output import say
from gradlife.program.script import prepared, run_script

#: The code that starts it. The socket, the target and the target's arguments follow.
START = "import sys; from gradlife.attach.launched import main; sys.exit(main())"


def main() -> int:
    """Open the socket and run the program to its end; return its exit status."""
    path, target, *arguments = sys.argv[1:]
    try:
        found = parse(target, tuple(arguments))
        if isinstance(found, FunctionTarget):
            raise GradlifeError("a function is called for some steps only", "gradlife hunt without --follow")
        program = prepared(found)
    except GradlifeError as error:
        say(f"gradlife: error: {error}")
        return error.exit_status
    serve(path)
    return run_script(program.code, program.main).status
