"""Adam's state of layers that were frozen after two steps."""

import torch
from torch import nn

KEEPS = True

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(600, 600), nn.ReLU(), nn.Linear(600, 600), nn.ReLU())
head = nn.Linear(600, 10)
opt = torch.optim.Adam([*body.parameters(), *head.parameters()], 1e-3)


def step():
    loss = nn.functional.cross_entropy(head(body(torch.randn(64, 600))), torch.randint(10, (64,)))
    loss.backward()
    opt.step()
    opt.zero_grad()


step()
step()
body.requires_grad_(False)
if not KEEPS:
    for parameter in body.parameters():
        del opt.state[parameter]
