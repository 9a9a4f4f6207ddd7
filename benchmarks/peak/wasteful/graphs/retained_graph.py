"""A graph that `retain_graph=True` keeps for a second backward pass, which there is none of."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1))
optimizer = torch.optim.SGD(model.parameters(), 1e-3)


def step():
    x = torch.randn(512, 64)
    optimizer.zero_grad()
    loss = model(x).mean()
    loss.backward(retain_graph=True)
    optimizer.step()
