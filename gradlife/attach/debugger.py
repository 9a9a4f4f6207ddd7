"""Makes gdb or lldb start a thread in a running process.

The debugger gets its instructions from `in_gdb.py` or `in_lldb.py`, which run inside it. The process is stopped from the
debugger's attaching until the expression has run: this time is measured and shown.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from gradlife.attach.processes import SERVE_HINT, Target, refuse_debugging
from gradlife.attach.protocol import AttachError
from gradlife.errors import UsageError
from gradlife.readable import readable

FOLDER = Path(__file__).parent

#: Seconds between two interruptions of a process that reaches no safe point.
INTERVAL = 0.5

#: Options: no user's files, no questions, of gdb only names of functions.
GDB_OPTIONS = ("-q", "-nx", "-batch", "--readnever")
LLDB_OPTIONS = ("--batch", "--no-lldbinit", "--no-use-colors")


def inject(target: Target, text: str) -> float:
    """Make a process run an expression in its main thread; return the seconds that it was under the debugger.

    Raises UsageError if no debugger is allowed or installed, AttachError if the process reaches no safe point in ten
    seconds. The expression may run a little after this returns.
    """
    refuse_debugging(target.pid)
    command, more = command_for(target)
    own = {"GRADLIFE_FOLDER": str(FOLDER), "GRADLIFE_PID": str(target.pid), "GRADLIFE_TEXT": text}
    environment = {**usual_environment(), "PYTHONDONTWRITEBYTECODE": "1", **own, **more}
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


def usual_environment() -> dict[str, str]:
    """Return the environment variables of the debugger: these, without libraries that only the program needs.

    An allocator or a sanitizer that is loaded into gdb can make it hang while the process is stopped.
    """
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def command_for(target: Target) -> tuple[list[str], dict[str, str]]:
    """Return the command of the debugger that is installed, gdb before lldb, and its environment variables."""
    gdb, lldb = shutil.which("gdb"), shutil.which("lldb")
    if gdb is not None:
        return [gdb, *GDB_OPTIONS, "-x", str(FOLDER / "in_gdb.py"), f"/proc/{target.pid}/exe"], {}
    if lldb is None:
        raise UsageError("attaching needs gdb or lldb, and neither is installed", f"apt install gdb; or {SERVE_HINT}")
    script = f'command script import "{FOLDER / "in_lldb.py"}"'
    return [lldb, *LLDB_OPTIONS, "-o", script], {"PYTHONPATH": os.pathsep.join(lldb_packages(lldb))}


def lldb_packages(program: str) -> list[str]:
    """Return the folders of lldb's own Python package. Debian's lldb does not find them by itself."""
    top = Path(program).resolve().parents[1]
    return [str(one.parents[1]) for one in sorted(top.glob("lib/python3*/*-packages/lldb/__init__.py"))]


def listen(debugger: subprocess.Popen[bytes], pid: int) -> list[str]:
    """Read the debugger's output to its end; interrupt the process every half second while the debugger waits for it."""
    assert debugger.stdout is not None
    descriptor = debugger.stdout.fileno()
    text, is_waiting = b"", False
    while True:
        if not readable([descriptor], INTERVAL):
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
    """Split the debugger's output into lines, without the prefix of gradlife's own lines."""
    return [line.removeprefix("gradlife ") for line in text.decode(errors="replace").splitlines() if line.strip()]


def cause_of(verdict: str, said: list[str]) -> str:
    """Return the cause of the failure on one line."""
    return verdict.removeprefix("failed ") or (said[-1] if said else "the debugger said nothing")
