"""An error under a name of the function that caught it: a cycle, which only the collector frees."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(300, 600), nn.ReLU(), nn.Linear(600, 300))
opt = torch.optim.SGD(net.parameters(), 0.01)


def attempt(x):
    failure = None
    try:
        big = (x @ x.T).exp()
        raise ValueError(f"not {big.shape}")
    except ValueError as error:
        failure = error
    return failure is not None


def step():
    x = torch.randn(500, 300)
    attempt(x)
    opt.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    opt.step()
