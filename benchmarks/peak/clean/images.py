"""A convolutional network."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    *(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
    *(nn.Flatten(), nn.Linear(32, 10)),
)
optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)


def step() -> None:
    optimizer.zero_grad()
    loss = F.cross_entropy(net(torch.randn(16, 3, 32, 32)), torch.randint(10, (16,)))
    loss.backward()
    optimizer.step()
