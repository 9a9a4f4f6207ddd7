"""Run checks in a child process, so that a torch that hangs, raises or crashes at import is a sign instead of the end
of the doctor.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable, Iterator

from gradlife.model.checkup import Health, Sign, decode

SECTION = "PyTorch"

#: Seconds: importing torch from a cold disk on a busy machine takes half a minute.
TIME_LIMIT = 180.0

#: The child has this process's import path and nothing else.
PROGRAM = """\
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from gradlife.doctor.child_main import main
main(int(sys.argv[1]))
"""

#: Last characters of the child's output that are shown if it died.
LAST_PRINTED = 300


def ask_child(time_limit: float = TIME_LIMIT) -> Iterator[Sign]:
    """Return the child's result, and how it ended if it failed."""
    reader, writer = os.pipe()
    command = [sys.executable, "-c", PROGRAM, str(writer), json.dumps(sys.path)]
    with subprocess.Popen(
        command, pass_fds=(writer,), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as child:
        os.close(writer)
        timer = threading.Timer(time_limit, child.kill)
        timer.start()
        printed: list[bytes] = []
        listener = threading.Thread(target=lambda: printed.append(child.stdout.read() if child.stdout else b""))
        listener.start()
        with open(reader, encoding="utf-8") as lines:
            stage = yield from read_signs(lines)
        listener.join()
        status = child.wait()
        is_late = not timer.is_alive()
        timer.cancel()
    if stage != "done":
        yield ended_badly(stage, f"no answer within {time_limit:g} s" if is_late else ending(status), printed)


def read_signs(lines: Iterable[str]) -> Generator[Sign, None, str]:
    """Yield the child's signs; return its last stage."""
    stage = "starting"
    for line in lines:
        try:
            item = json.loads(line)
        except ValueError:  # a truncated line
            break
        if "stage" in item:
            stage = item["stage"]
        else:
            yield decode(item)
    return stage


def ending(status: int) -> str:
    """Describe how a process ended."""
    if status >= 0:
        return f"the process ended with status {status}"
    try:
        return f"the process was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"the process was killed by signal {-status}"


def ended_badly(stage: str, how: str, printed: list[bytes]) -> Sign:
    """Return the sign for a child that did not finish."""
    lines = b"".join(printed).decode("utf-8", "replace").split("\n")
    last = " / ".join(line.strip() for line in lines if line.strip())[-LAST_PRINTED:]
    text = f"{stage}: {how}" + (f"; printed last: {last}" if last else "")
    remedy = REMEDIES.get(stage, "report this, with this whole output")
    return Sign(SECTION, "examination in a child", text, Health.BROKEN, remedy)


REMEDIES = {
    "importing torch": "make `python -c 'import torch'` work: pip install --force-reinstall torch",
    "starting": "make `python -c 'import gradlife.heap'` work: make build, or pip install --force-reinstall gradlife",
}
