"""A momentum encoder, and a queue of its keys."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
query = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 64))
key = copy.deepcopy(query).requires_grad_(False)
queue = F.normalize(torch.randn(64, 4096), dim=0)
pointer = 0
opt = torch.optim.SGD(query.parameters(), 0.03, momentum=0.9)


def views():
    x = torch.randn(128, 128)
    return x + 0.1 * torch.randn(128, 128), x + 0.1 * torch.randn(128, 128)


def logits_of(a, b):
    q = F.normalize(query(a), dim=1)
    with torch.no_grad():
        for old, new in zip(key.parameters(), query.parameters(), strict=True):
            old.lerp_(new, 0.001)
        k = F.normalize(key(b), dim=1)
    positive = (q * k).sum(1, keepdim=True)
    return torch.cat([positive, q @ queue.clone()], 1) / 0.07, k


def step():
    global pointer
    logits, k = logits_of(*views())
    loss = F.cross_entropy(logits, torch.zeros(128, dtype=torch.long))
    del logits
    opt.zero_grad()
    loss.backward()
    opt.step()
    opt.zero_grad()
    queue[:, pointer : pointer + 128] = k.T
    pointer = (pointer + 128) % 4096
