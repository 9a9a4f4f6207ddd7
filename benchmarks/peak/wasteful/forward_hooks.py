"""Forward hooks that store activations which nobody reads."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(100, 1500), nn.ReLU(), nn.Linear(1500, 100))
optimizer = torch.optim.SGD(net.parameters(), 0.01)
activations: dict[str, torch.Tensor] = {}


def saving(name):
    def hook(module, inputs, output):
        activations[name] = output

    return hook


for name, module in net.named_children():
    module.register_forward_hook(saving(name))


def step():
    x = torch.randn(700, 100)
    loss = net(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
