"""The fork server: import a framework once, then fork a child for each job.

It uses one socket. A job is a JSON object on one line; the answer is a JSON line with how the child ended and the
number of bytes of records that follow.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sys
from typing import Any

from gradlife.probes.graph import load_graph
from gradlife.runner.worker.child import run_forked, run_fresh
from gradlife.runner.worker.framework import describe, load_compiler, load_framework, load_numpy
from gradlife.runner.worker.plain_values import exception_text
from gradlife.runner.worker.story_file import code_of
from gradlife.runner.worker.supervisor import Supervision


def serve(descriptor: int, module: str) -> None:
    """Do jobs until the other side hangs up. module is empty for a server that only lists files."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    connection = socket.socket(fileno=descriptor)
    try:
        about = bring_up(module) if module else {"threads": 1}
    except BaseException as error:
        send(connection, {"kind": "broken", "error": exception_text(error), "type": type(error).__name__})
        return
    send(connection, dict(about, kind="ready"))
    for line in connection.makefile("rb"):
        job = json.loads(line.decode("utf-8"))
        if about["threads"] > 1:  # a forked copy would lack the framework's threads
            job["isolation"] = "fresh"
        prepare(module, job)
        answer_job(connection, job)


def bring_up(module: str) -> dict[str, Any]:
    """Import the framework and hide its objects from the collector."""
    fw = load_framework(module, None)
    load_numpy()
    load_graph()
    put_aside()
    gc.disable()
    return describe(fw, module)


def prepare(module: str, job: dict[str, Any]) -> None:
    """Do shared work here, once for several stories: imports, and compiling a file."""
    if not module or job.get("isolation") == "fresh":
        return
    before = len(sys.modules)
    load_compiler(sys.modules[module], job.get("needs", ""))
    with contextlib.suppress(Exception):  # the child will report the file's error
        code_of(job["file"])
    if len(sys.modules) > before:
        put_aside()


def put_aside() -> None:
    """Hide all existing objects from the collector."""
    gc.collect()
    gc.freeze()


def answer_job(connection: socket.socket, job: dict[str, Any]) -> None:
    """Do one job in a child and answer with how it ended and its records."""
    result_end, result = os.pipe()
    output_end, output = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        for descriptor in (connection.fileno(), result_end, output_end):
            os.close(descriptor)
        (run_fresh if job.get("isolation") == "fresh" else run_forked)(job, result, output)
    os.close(result)
    os.close(output)
    supervision = Supervision(pid, result_end, output_end, float(job["limit"]))
    ended = supervision.run()
    send(connection, dict(ended, size=len(supervision.result)), bytes(supervision.result))


def send(connection: socket.socket, message: dict[str, Any], data: bytes = b"") -> None:
    """Send one message and the bytes that follow it."""
    connection.sendall(json.dumps(message).encode("ascii") + b"\n" + data)
