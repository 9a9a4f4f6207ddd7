"""Generation with a cache of a fixed size."""

import torch
from torch import nn

torch.manual_seed(0)
V, C, T = 1000, 64, 96
emb, q, k, v, head = nn.Embedding(V, C), nn.Linear(C, C), nn.Linear(C, C), nn.Linear(C, C), nn.Linear(C, V)


class StaticCache:
    """Keys and values of all positions."""

    def __init__(self, batch):
        self.k = torch.zeros(batch, T, C)
        self.v = torch.zeros(batch, T, C)
        self.at = 0

    def update(self, k, v):
        end = self.at + k.shape[1]
        self.k[:, self.at : end] = k
        self.v[:, self.at : end] = v
        self.at = end
        return self.k[:, :end], self.v[:, :end]


def next_token(tokens, cache):
    x = emb(tokens)
    keys, values = cache.update(k(x), v(x))
    att = (q(x) @ keys.transpose(1, 2)).softmax(-1) @ values
    return head(att[:, -1]).argmax(-1, keepdim=True)


@torch.no_grad()
def step():
    cache = StaticCache(16)
    token = next_token(torch.randint(V, (16, 64)), cache)
    for _ in range(8):
        token = next_token(token, cache)
