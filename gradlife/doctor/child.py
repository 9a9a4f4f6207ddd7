"""Run checks in a child process, so that a torch that hangs, raises or crashes at import is a sign instead of the end
of the doctor.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress

from gradlife.environments.child_lines import LineReader, Silence
from gradlife.model.checkup import Health, Sign, decode

SECTION = "PyTorch"

#: Seconds without an answer: importing torch from a cold disk on a busy machine takes half a minute.
TIME_LIMIT = 180.0

#: The child has this process's import path and nothing else.
PROGRAM = """\
import sys
sys.path[:] = [entry for entry in sys.path if entry]  # nothing is imported from the working folder
import json
sys.path[:] = json.loads(sys.argv[2])
from gradlife.doctor.child_main import main
main(int(sys.argv[1]))
"""

#: Last characters of the child's output that are shown if it died.
LAST_PRINTED = 300


def ask_child(time_limit: float = TIME_LIMIT) -> Iterator[Sign]:
    """Return the child's result, and how it ended if it failed."""
    answers, theirs = os.pipe()
    output, theirs_output = os.pipe()
    reader = LineReader(answers, output)
    command = [sys.executable, "-c", PROGRAM, str(theirs), json.dumps(sys.path)]
    with subprocess.Popen(
        command, pass_fds=(theirs,), stdin=subprocess.DEVNULL, stdout=theirs_output, stderr=theirs_output
    ) as child:
        os.close(theirs)
        os.close(theirs_output)
        try:
            stage, is_late = yield from read_signs(reader, time_limit)
            if stage != "done":
                status = None if is_late else status_of(child, time_limit)
                child.kill()
                how = f"no answer within {time_limit:g} s" if status is None else ending(status)
                yield ended_badly(stage, how, reader.last_words())
        finally:
            child.kill()
            reader.close()


def read_signs(reader: LineReader, time_limit: float) -> Generator[Sign, None, tuple[str, bool]]:
    """Yield the child's signs; return its last stage, and whether it said nothing for too long."""
    stage = "starting"
    while stage != "done":
        try:
            item = json.loads(reader.line(time_limit))
        except Silence as silence:
            return stage, silence.is_late
        except ValueError:  # something else wrote to the descriptor
            return stage, False
        if "stage" in item:
            stage = item["stage"]
        else:
            yield decode(item)
    return stage, False


def status_of(child: subprocess.Popen[bytes], time_limit: float) -> int | None:
    """Return the exit status of a child that has closed its descriptor; None if it does not end."""
    with suppress(subprocess.TimeoutExpired):
        return child.wait(time_limit)
    return None


def ending(status: int) -> str:
    """Describe how a process ended."""
    if status >= 0:
        return f"the process ended with status {status}"
    try:
        return f"the process was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"the process was killed by signal {-status}"


def ended_badly(stage: str, how: str, printed: str) -> Sign:
    """Return the sign for a child that did not finish."""
    last = " / ".join(line.strip() for line in printed.split("\n") if line.strip())[-LAST_PRINTED:]
    text = f"{stage}: {how}" + (f"; printed last: {last}" if last else "")
    remedy = REMEDIES.get(stage, "report this, with this whole output")
    return Sign(SECTION, "examination in a child", text, Health.BROKEN, remedy)


REMEDIES = {
    "importing torch": "make `python -c 'import torch'` work: pip install --force-reinstall torch",
    "starting": "make `python -c 'import gradlife.heap'` work: make build, or pip install --force-reinstall gradlife",
}
