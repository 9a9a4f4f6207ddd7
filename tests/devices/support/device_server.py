"""Runs programs on the simulated accelerator, each in a forked copy of this process, which has imported torch already.

A line of its input is the path of a program; a line of its output is the exit status. What the program prints is in
files beside it.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
import types
from pathlib import Path

import torch


def run(path: str) -> None:
    """Run a program as the main module."""
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{path}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    main = types.ModuleType("__main__")
    main.__file__ = path
    sys.modules["__main__"] = main
    status = 0
    try:
        exec(compile(Path(path).read_text(), path, "exec"), main.__dict__)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    importlib.import_module("simulated_device")  # its library needs torch's
    importlib.import_module("gradlife.devices.live")  # every program asks for its report
    torch.optim.AdamW([torch.nn.Parameter(torch.empty(1))])  # imports what every optimizer needs
    for line in sys.stdin:
        copy = os.fork()
        if copy == 0:
            run(line.rstrip("\n"))
        print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)
