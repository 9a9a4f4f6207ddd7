"""The last output under a global name that nobody reads."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(100, 1500), nn.ReLU(), nn.Linear(1500, 1500))
opt = torch.optim.SGD(net.parameters(), 0.01)
last_output = None


def step():
    global last_output
    x = torch.randn(700, 100)
    y = net(x)
    loss = y.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    last_output = y.detach()
