"""Data-parallel training on CPU, for snapshots and faults: `training.py STEPS [FAULT]`.

A fault happens on rank 1 after 60 steps. Rank 0 keeps each loss where there is a fault, so that there is a finding to lose.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

#: The step after which the fault happens.
WHEN = 60

STEPS = int(sys.argv[1])
FAULT = sys.argv[2] if len(sys.argv) > 2 else ""


def hang() -> None:
    """Never return."""
    while True:
        time.sleep(1)


def end_early() -> None:
    """End with success before the others do."""
    sys.stdout.flush()
    sys.exit(0)


def fail() -> None:
    """End with an exception."""
    raise ValueError("a planted fault")


FAULTS: dict[str, Callable[[], object]] = {
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "terminated": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "aborted": os.abort,
    "exits past all handlers": lambda: os._exit(9),
    "fails": fail,
    "out of memory": lambda: bytearray(1 << 60),
    "hangs": hang,
    "leaves early": end_early,
    "late": lambda: time.sleep(5),
}


def train(rank: int, model: nn.Module, kept: list[torch.Tensor]) -> None:
    """All steps, with the fault between two of them."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(STEPS):
        loss = model(torch.randn(8, 64)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and FAULT:
            kept.append(loss)
        if rank == 1 and step == WHEN and FAULT:
            FAULTS[FAULT.removeprefix("alone ")]()


def main() -> None:
    """Train with collectives; `alone ...` trains each rank by itself, so that no rank can notice what another does."""
    is_alone = FAULT.startswith("alone ")
    if not is_alone:
        dist.init_process_group("gloo")
    rank = int(os.environ.get("RANK", "0"))
    model: nn.Module = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
    train(rank, model if is_alone else DistributedDataParallel(model), [])
    if not is_alone:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
