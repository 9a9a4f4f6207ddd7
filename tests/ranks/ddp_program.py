"""Data-parallel training on CPU: `ddp_program.py STEPS LEAKING_RANK [KILLED_RANK AT_STEP]`."""

from __future__ import annotations

import os
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

steps, leaking, killed, last = (int(word) for word in (*sys.argv[1:], "-1", "-1")[:4])
kept: list[torch.Tensor] = []


def train(rank: int) -> None:
    model = DistributedDataParallel(nn.Linear(16, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        loss = model(torch.randn(8, 16)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == leaking:
            kept.append(loss)
        if rank == killed and step == last:
            os.kill(os.getpid(), signal.SIGKILL)


dist.init_process_group("gloo")
train(dist.get_rank())
dist.destroy_process_group()
