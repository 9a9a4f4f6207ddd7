"""Write the CPU time of this process after every step of an optimizer. Python imports this file if its folder is on the path."""

from __future__ import annotations

import os
import time
from typing import Any


def note_steps(path: str) -> None:
    """Append a line for each step: which process, and its CPU seconds so far."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(*_: Any) -> None:
        os.write(file, f"{os.getpid()} {time.process_time():.6f}\n".encode())

    register_optimizer_step_post_hook(note)


if "REAL_CLOCK" in os.environ:
    note_steps(os.environ["REAL_CLOCK"])
