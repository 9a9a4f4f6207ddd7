"""Run programs on the framework of this interpreter for the fuzzer in another one.

Started with a descriptor of a listening socket and the framework's module. Each connection gets a forked child, which
a program may crash. This file and what it imports stay in the Python 3.7 subset.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import os
import pickle
import signal
import socket
import sys
import warnings
from typing import Any

from benchmarks.fuzz.program import Program, Step
from benchmarks.fuzz.world import STAGES, World

SECONDS_A_PROGRAM = 20


def main() -> None:
    warnings.simplefilter("ignore")
    fw: Any = importlib.import_module(sys.argv[2])
    fw.set_num_threads(1)
    with contextlib.suppress(ImportError):
        importlib.import_module("torch._dynamo")
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no child waits to be asked how it ended
    listening = socket.socket(fileno=int(sys.argv[1]))
    listening.settimeout(SECONDS_A_PROGRAM)
    fuzzer = os.getppid()
    while os.getppid() == fuzzer:
        try:
            connection = listening.accept()[0]
        except TimeoutError:
            continue
        if os.fork() == 0:
            listening.close()
            serve(fw, connection)
        connection.close()


def serve(fw: Any, connection: socket.socket) -> None:
    """Answer each program with its trace until the other side closes."""
    faulthandler.disable()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    gc.disable()
    with connection.makefile("rb") as questions, connection.makefile("wb") as answers, contextlib.suppress(EOFError):
        while True:
            texts, looks, storages = pickle.load(questions)
            signal.alarm(SECONDS_A_PROGRAM)
            pickle.dump(trace_of(fw, Program(tuple(Step("", text) for text in texts), looks, storages)), answers, 4)
            answers.flush()
            signal.alarm(0)
    os._exit(0)


def trace_of(fw: Any, program: Program) -> list[tuple[str, Any]]:
    """Return the error and what was seen after each step, then what was seen after each stage of the end."""
    world = World(fw, program)
    trace = []
    for number, step in enumerate(program.steps):
        trace.append((world.run(number, step.text), world.seen()))
    for offset, stage in enumerate(STAGES):
        world.number = len(program.steps) + offset
        world.do(stage)
        trace.append(("", world.seen()))
    world.end()
    gc.collect()
    gc.freeze()
    return trace


if __name__ == "__main__":
    main()
