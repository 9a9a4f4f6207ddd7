"""Names of a loop over a DataLoader, and gradients that live through the next forward pass."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(512, 200), torch.randint(50, (512,)))
loader = DataLoader(data, batch_size=128)
net = nn.Sequential(nn.Linear(200, 3000), nn.ReLU(), nn.Linear(3000, 50))
opt = torch.optim.SGD(net.parameters(), 0.01)


def step():
    for x, y in loader:
        hidden = net[1](net[0](x))
        logits = net[2](hidden)
        loss = nn.functional.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
