"""A loop over a DataLoader whose outputs have no names."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(256, 200), torch.randint(50, (256,))), batch_size=64)
net = nn.Sequential(nn.Linear(200, 1000), nn.ReLU(), nn.Linear(1000, 50))
opt = torch.optim.SGD(net.parameters(), 0.01)


def step():
    for x, y in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
