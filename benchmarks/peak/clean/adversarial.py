"""Two optimizers, one after the other."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
maker = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 256))
judge = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
makers, judges = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())


def step() -> None:
    with torch.no_grad():
        made = maker(torch.randn(128, 32))
    loss = F.softplus(judge(made)).mean() + F.softplus(-judge(torch.randn(128, 256))).mean()
    del made
    loss.backward()
    judges.step()
    judges.zero_grad()
    judge.requires_grad_(False)
    F.softplus(-judge(maker(torch.randn(128, 32)))).mean().backward()
    makers.step()
    makers.zero_grad()
    judge.requires_grad_(True)
