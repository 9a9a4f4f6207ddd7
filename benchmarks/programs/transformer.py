"""A small transformer that learns to reverse sequences of digits."""

from __future__ import annotations

import argparse
import functools
import math
from typing import Any

import torch
from torch import Tensor, nn

DIGITS, LENGTH, WIDTH = 10, 12, 32


class Gate(torch.autograd.Function):
    """x * sigmoid(x), with its own backward; `keeps` has it hold its result as an attribute."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, keeps: bool) -> Tensor:
        """The value."""
        ctx.save_for_backward(x)
        result = x * torch.sigmoid(x)
        if keeps:
            ctx.result = result
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """The gradient."""
        (x,) = ctx.saved_tensors
        gate = torch.sigmoid(x)
        return grad * (gate + x * gate * (1 - gate)), None


class Layer(nn.Module):
    """Attention, then a gated map, each with its way around."""

    def __init__(self, leak: str) -> None:
        super().__init__()
        self.leak = leak
        self.to_qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.maps: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        """One layer."""
        q, k, v = self.to_qkv(self.norms[0](x)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(WIDTH), dim=-1)
        if self.leak == "maps":
            self.maps.append(weights)
        x = x + self.out(weights @ v)
        return x + self.down(Gate.apply(self.up(self.norms[1](x)), self.leak == "ctx"))


class Model(nn.Module):
    """Embedding, layers, scores."""

    def __init__(self, leak: str) -> None:
        super().__init__()
        self.embedding = nn.Embedding(DIGITS, WIDTH)
        self.layers = nn.ModuleList([Layer(leak), Layer(leak)])
        self.scores = nn.Linear(WIDTH, DIGITS)
        self.register_buffer("positions", waves(torch.arange(LENGTH).float()))
        self.leak = leak

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores of each digit at each place."""
        where = torch.arange(tokens.shape[1]).float()
        x = self.embedding(tokens) + (remembered_waves(where) if self.leak == "cache" else self.positions)
        for layer in self.layers:
            x = layer(x)
        return self.scores(x)


def waves(where: Tensor) -> Tensor:
    """Sines and cosines of positions."""
    angles = where[:, None] / 100 ** torch.linspace(0, 1, WIDTH // 2)
    return torch.cat([angles.sin(), angles.cos()], dim=1)


@functools.cache
def remembered_waves(where: Tensor) -> Tensor:
    """The same, remembered; a tensor is found again only if it is the very same one."""
    return waves(where)


def main() -> None:
    """Train, and say how well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--leak", choices=["none", "maps", "cache", "ctx"], default="none")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Model(arguments.leak)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda number: min(1.0, (number + 1) / 20))
    for _ in range(arguments.steps):
        tokens = torch.randint(0, DIGITS, (16, LENGTH))
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warmup.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
