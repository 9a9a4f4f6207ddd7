"""A trunk's output that each head reads in a loop, held while the optimizer steps and an evaluation runs."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(128, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh())
heads = nn.ModuleList(nn.Linear(512, 10) for _ in range(3))
optimizer = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], 0.05)


def step():
    hidden = trunk(torch.randn(1024, 128))
    for head in heads:
        loss = F.cross_entropy(head(hidden), torch.randint(10, (1024,)))
        loss.backward(retain_graph=True)
    optimizer.step()
    optimizer.zero_grad()
    return float(torch.randn(1500, 1024).square().sum())
