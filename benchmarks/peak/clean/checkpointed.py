"""Layers that are computed again in the backward pass."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
layers = nn.ModuleList(nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)) for _ in range(4))
optimizer = torch.optim.AdamW(layers.parameters())


def step() -> None:
    x = torch.randn(400, 128)
    for layer in layers:
        x = x + checkpoint(layer, x, use_reentrant=False)
    loss = x.square().mean()
    del x
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
