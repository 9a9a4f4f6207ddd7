"""A closure for the optimizer that keeps its predictions."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(50, 300), nn.ReLU(), nn.Linear(300, 2000))
opt = torch.optim.SGD(net.parameters(), 0.01)


def step():
    x = torch.randn(512, 50)
    y = torch.randint(2000, (512,))

    def closure():
        opt.zero_grad()
        pred = net(x)
        loss = F.cross_entropy(pred, y)
        loss.backward()
        return loss

    opt.step(closure)
