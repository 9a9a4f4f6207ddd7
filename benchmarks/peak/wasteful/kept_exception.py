"""The last error, kept with its traceback."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(300, 600), nn.ReLU(), nn.Linear(600, 300))
opt = torch.optim.SGD(net.parameters(), 0.01)
last_error = None


def risky(x):
    big = (x @ x.T).exp()
    if big.sum() > 0:
        raise ValueError("overflow")
    return big


def step():
    global last_error
    x = torch.randn(500, 300)
    try:
        risky(x)
    except ValueError as error:
        last_error = error
    opt.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    opt.step()
