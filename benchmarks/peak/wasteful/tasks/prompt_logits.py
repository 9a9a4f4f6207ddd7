"""The logits of a prompt, through the generation of the tokens after it."""

import torch
from torch import nn

torch.manual_seed(0)
V, C = 2000, 64
emb, q, k, v, head = nn.Embedding(V, C), nn.Linear(C, C), nn.Linear(C, C), nn.Linear(C, C), nn.Linear(C, V)


class Cache:
    """Keys and values that grow."""

    def __init__(self):
        self.k = None
        self.v = None

    def update(self, k, v):
        self.k = k if self.k is None else torch.cat([self.k, k], 1)
        self.v = v if self.v is None else torch.cat([self.v, v], 1)
        return self.k, self.v


def forward(tokens, cache):
    x = emb(tokens)
    keys, values = cache.update(k(x), v(x))
    att = (q(x) @ keys.transpose(1, 2)).softmax(-1) @ values
    return head(att)


@torch.no_grad()
def step():
    cache = Cache()
    tokens = torch.randint(V, (8, 128))
    logits = forward(tokens, cache)
    nxt = logits[:, -1:].argmax(-1)
    picked = [nxt]
    for _ in range(6):
        out = forward(nxt, cache)
        scores = (out[:, -1:] / 0.7).softmax(-1).repeat(1, 40, 1)
        nxt = scores.sort(-1).indices[:, :1, -1]
        picked.append(nxt)
    return torch.cat(picked, 1)
