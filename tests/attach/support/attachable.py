"""Programs that run until they are asked to end, to attach to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gradlife.attach.processes import refuse_debugging
from gradlife.errors import UsageError

#: Calls `step` without end, which keeps an object each time; without torch, so that it starts at once.
KEEPS = """\
import threading, time

class Kept:
    def __init__(self):
        self.numbers = [0.5] * 2000

kept = []
has_begun = threading.Event()

def step():
    kept.append(Kept())
    has_begun.set()

def loop():
    while True:
        step()
        time.sleep(0.002)
"""

#: The main thread trains, so to speak.
IN_MAIN_THREAD = KEEPS + "print('ready', flush=True)\nloop()\n"

#: The main thread waits for another, in a lock.
IN_ANOTHER_THREAD = (
    KEEPS + "print('ready', flush=True)\nthread = threading.Thread(target=loop)\nthread.start()\nthread.join()\n"
)

#: Sixty threads that wait, work in Python or are in a C call without the lock.
IN_MANY_THREADS = """\
import threading, time, zlib

def work():
    while True:
        zlib.crc32(bytes(1 << 22))

def count():
    while True:
        sum(range(1000))
        time.sleep(0.01)

for function in [threading.Event().wait] * 40 + [count] * 18 + [work] * 2:
    threading.Thread(target=function, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
"""

#: The main thread never sleeps, and calls no function of C that takes long.
BUSY = "print('ready', flush=True)\nwhile True:\n    [str(number) for number in range(100)]\n"

#: Sleeps in a system call.
ASLEEP = "import time\nprint('ready', flush=True)\nwhile True:\n    time.sleep(1000)\n"

#: Sleeps in a system call with the interpreter's lock in its hand.
STUCK = "import ctypes\nprint('ready', flush=True)\nwhile True:\n    ctypes.PyDLL(None).sleep(1000)\n"


@contextmanager
def running(source: str, folder: Path, python: str = sys.executable, **environment: str) -> Iterator[int]:
    """The number of a process that runs the program and has said that it is ready."""
    path = folder / "program.py"
    path.write_text(source)
    with subprocess.Popen(
        [python, str(path)], stdout=subprocess.PIPE, cwd=folder, env={**os.environ, **environment}
    ) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == b"ready\n"
            yield program.pid
        finally:
            program.kill()


def why_no_debugger(name: str = "gdb") -> str:
    """Why this machine can't try a debugger; empty where it can."""
    if shutil.which(name) is None:
        return f"{name} is not installed"
    try:
        refuse_debugging(os.getpid())
    except UsageError as error:
        return error.message
    return ""


def needs_debugger(test: Callable[..., None]) -> Callable[..., None]:
    """Skips the test where gdb may not be used."""
    return skipped_for(why_no_debugger(), test)


def needs_lldb(test: Callable[..., None]) -> Callable[..., None]:
    """Skips the test where lldb may not be used."""
    return skipped_for(why_no_debugger("lldb"), test)


def skipped_for(reason: str, test: Callable[..., None]) -> Callable[..., None]:
    """Skips the test if there is a reason."""
    marked: Callable[..., None] = pytest.mark.skipif(bool(reason), reason=reason)(test)
    return marked
