"""Values that a graph saves beside a name: the name alone frees one of sixteen."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(64, 128)
optimizer = torch.optim.SGD(net.parameters(), 0.1)


class Meter:
    """The means of a step."""

    def __init__(self):
        self.values = []


meter = Meter()


def step():
    optimizer.zero_grad()
    meter.values.clear()
    total = torch.zeros(())
    for _ in range(16):
        hidden = net(torch.randn(64, 64))
        gate = torch.sigmoid(hidden)
        meter.values.append(gate.mean())
        total = total + hidden.square().mean()
    scratch = torch.randn(512, 512).sum()
    total.backward()
    optimizer.step()
    return float(scratch)
