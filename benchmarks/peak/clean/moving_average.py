"""An average of the parameters over the steps, and clipped gradients."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))
ema = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, nesterov=True)


def step():
    x = torch.randn(32, 256)
    loss = (net(x) - ema(x)).square().mean() + net(x).abs().mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), net.parameters(), strict=True):
            a.lerp_(b, 0.01)
