"""The optimizer of a first phase, which is never stepped again."""

import torch
from torch import nn

KEEPS = True

torch.manual_seed(0)


class Trainer:
    """Trains in two phases."""

    def __init__(self):
        self.net = nn.Sequential(nn.Linear(500, 500), nn.ReLU(), nn.Linear(500, 500))
        self.first_phase = torch.optim.Adam(self.net.parameters(), 1e-3)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)

    def step(self, optimizer):
        loss = self.net(torch.randn(64, 500)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


trainer = Trainer()
trainer.step(trainer.first_phase)
if not KEEPS:
    trainer.first_phase = None


def step():
    trainer.step(trainer.optimizer)
