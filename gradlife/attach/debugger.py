"""Makes gdb start a thread in a running process.

gdb gets its instructions from `in_gdb.py`, which runs inside it. The process is stopped from gdb's attaching until the
expression has run: this time is measured and shown.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

from gradlife.attach.processes import SERVE_HINT, Target, refuse_debugging
from gradlife.attach.protocol import AttachError
from gradlife.errors import UsageError

SCRIPT = Path(__file__).with_name("in_gdb.py")

#: Seconds between two interruptions of a process that reaches no safe point.
INTERVAL = 0.5

#: Options of gdb: no user's files, no questions, only names of functions.
OPTIONS = ("-q", "-nx", "-batch", "--readnever")


def inject(target: Target, text: str) -> float:
    """Make a process run an expression in its main thread; return the seconds that it was under the debugger.

    Raises UsageError if no debugger is allowed or installed, AttachError if the process reaches no safe point in ten
    seconds. The expression may run a little after this returns.
    """
    refuse_debugging(target.pid)
    gdb = shutil.which("gdb")
    if gdb is None:
        raise UsageError("attaching needs gdb, which is not installed", f"apt install gdb; or {SERVE_HINT}")
    environment = {**os.environ, "GRADLIFE_PID": str(target.pid), "GRADLIFE_TEXT": text}
    command = [gdb, *OPTIONS, "-x", str(SCRIPT), f"/proc/{target.pid}/exe"]
    start = time.monotonic()
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # a keyboard interrupt must not leave the process half attached
    ) as debugger:
        said = listen(debugger, target.pid)
    verdict = next((line for line in said if line.split()[:1] in (["done"], ["queued"], ["failed"])), "")
    if not verdict.startswith(("done", "queued")):
        raise AttachError(f"{target.title} could not be attached to: {cause_of(verdict, said)}", SERVE_HINT)
    return time.monotonic() - start


def listen(debugger: subprocess.Popen[bytes], pid: int) -> list[str]:
    """Read gdb's output to its end; interrupt the process every half second while gdb waits for it."""
    assert debugger.stdout is not None
    descriptor = debugger.stdout.fileno()
    text, is_waiting = b"", False
    while True:
        if not select.select([descriptor], [], [], INTERVAL)[0]:
            if is_waiting:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGURG)
            continue
        part = os.read(descriptor, 1 << 16)
        if not part:
            return lines_of(text)
        text += part
        is_waiting = lines_of(text)[-1:] == ["waiting"]


def lines_of(text: bytes) -> list[str]:
    """Split gdb's output into lines, without the prefix of gradlife's own lines."""
    return [line.removeprefix("gradlife ") for line in text.decode(errors="replace").splitlines() if line.strip()]


def cause_of(verdict: str, said: list[str]) -> str:
    """Return the cause of the failure on one line."""
    return verdict.removeprefix("failed ") or (said[-1] if said else "gdb said nothing")
