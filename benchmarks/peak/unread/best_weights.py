"""The best weights so far, which each better step replaces."""

import torch
from torch import nn

KEEPS = True

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(200, 400), nn.ReLU(), nn.Linear(400, 200))
opt = torch.optim.SGD(net.parameters(), 0.01)
best = {"loss": float("inf"), "weights": {}}
x = torch.randn(64, 200)


def step():
    loss = net(x).square().mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    if loss.item() < best["loss"]:
        best["loss"] = loss.item()
        if KEEPS:
            best["weights"] = {name: value.clone() for name, value in net.state_dict().items()}


def restore():
    net.load_state_dict(best["weights"])
