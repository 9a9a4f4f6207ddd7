"""A closure of LBFGS that binds its outputs as a global."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 64))
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3, history_size=2)
x, y = torch.randn(2048, 64), torch.randn(2048, 64)
outputs = None


def closure():
    global outputs
    optimizer.zero_grad()
    outputs = net(x)
    residual = outputs - y
    loss = residual.square().mean()
    loss.backward()
    return loss


def step():
    optimizer.step(closure)
