"""Frozen layers below a head that is trained."""

import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(600, 600), nn.ReLU(), nn.Linear(600, 600), nn.ReLU())
backbone.requires_grad_(False)
head = nn.Linear(600, 10)
opt = torch.optim.SGD(head.parameters(), 0.1)


def step():
    x = torch.randn(64, 600)
    y = torch.randint(10, (64,))
    loss = nn.functional.cross_entropy(head(backbone(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
