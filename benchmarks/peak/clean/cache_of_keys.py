"""A cache that is filled position by position, without a graph."""

import torch
from torch import nn

torch.manual_seed(0)
q = nn.Linear(128, 128)
cache = torch.zeros(8, 256, 128)
pos = 0


@torch.inference_mode()
def step():
    global pos
    for _ in range(4):
        x = torch.randn(8, 1, 128)
        cache[:, pos % 256] = q(x)[:, 0]
        att = (q(x) @ cache.transpose(1, 2)).softmax(-1) @ cache
        pos += 1
    return att.sum().item()
