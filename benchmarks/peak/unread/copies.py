"""An averaged model and the first weights, for an evaluation that no step runs."""

import copy

import torch
from torch import nn

KEEPS = True

torch.manual_seed(0)


class Trainer:
    """Keeps copies of its weights."""

    def __init__(self, net):
        self.net = net
        self.averaged = copy.deepcopy(net) if KEEPS else None
        self.first = {name: value.clone() for name, value in net.state_dict().items()} if KEEPS else {}
        self.optimizer = torch.optim.SGD(net.parameters(), 0.1)
        self.steps = 0

    def step(self):
        self.net(torch.randn(64, 400)).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.steps += 1
        if self.averaged is not None and self.steps % 1000 == 0:
            with torch.no_grad():
                for old, new in zip(self.averaged.parameters(), self.net.parameters(), strict=True):
                    old.lerp_(new, 0.1)

    def drift(self):
        return {name: (value - self.first[name]).norm() for name, value in self.net.state_dict().items()}


trainer = Trainer(nn.Sequential(nn.Linear(400, 400), nn.BatchNorm1d(400), nn.ReLU(), nn.Linear(400, 400)))


def step():
    trainer.step()
