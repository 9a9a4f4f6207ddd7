"""Inside one child: its own process group, its output on a pipe, its records on a separate descriptor."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import signal
import sys
from typing import Any

from gradlife.runner.worker.boot import boot_arguments
from gradlife.runner.worker.story_list import list_file
from gradlife.runner.worker.story_run import run_file

#: Exit code of a child that cannot report because the story closed the descriptor.
EXIT_MUTE = 97

#: Linux's prctl option: the signal that a process gets when its parent dies.
PR_SET_PDEATHSIG = 1

#: The child's lowest descriptor: stories may open or close lower ones.
LOW_DESCRIPTORS = 200


class Reporter:
    """Write one record per line to the child's descriptor, unbuffered, so that a crash loses nothing."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __call__(self, record: dict[str, Any]) -> None:
        """Report one record. If that fails, the process exits."""
        data = json.dumps(record, ensure_ascii=True).encode("ascii") + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            os._exit(EXIT_MUTE)


def settle_in(result: int, output: int) -> int:
    """Turn a forked process into a story's child, and return the descriptor for its records."""
    os.setsid()
    die_with_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    return fcntl.fcntl(result, fcntl.F_DUPFD_CLOEXEC, LOW_DESCRIPTORS)


def die_with_parent() -> None:
    """Ask the system to kill this process when its server dies, where possible."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def do(job: dict[str, Any], descriptor: int) -> None:
    """Do one job in this process."""
    report = Reporter(descriptor)
    if job["do"] == "list":
        list_file(job["file"], report)
    else:
        run_file(job, report)


def flush_output() -> None:
    """Write out what the story printed, if it left stdout and stderr usable."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # closed, replaced or full by the story
            stream.flush()


def run_forked(job: dict[str, Any], result: int, output: int) -> None:
    """Run a forked child to its end. Never returns."""
    code = EXIT_MUTE
    try:
        descriptor = settle_in(result, output)
        os.close(result)
        os.close(output)
        do(job, descriptor)
        code = 0
    finally:
        flush_output()
        os._exit(code)


def run_fresh(job: dict[str, Any], result: int, output: int) -> None:
    """Turn a forked child into a fresh interpreter that does the job and exits normally. Never returns."""
    try:
        descriptor = settle_in(result, output)
        os.set_inheritable(descriptor, True)
        os.execv(sys.executable, boot_arguments("fresh", {"job": job, "descriptor": descriptor}))
    finally:
        os._exit(EXIT_MUTE)
