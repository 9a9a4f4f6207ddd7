"""Tokens generated one by one."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Embedding(500, 64), nn.Linear(64, 500))


@torch.no_grad()
def step():
    ids = torch.randint(500, (16, 1))
    for _ in range(20):
        ids = torch.cat([ids, net(ids[:, -1]).softmax(-1).multinomial(1)], 1)
    return ids
