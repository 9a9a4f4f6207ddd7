"""A small language model, and what its training loops are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

VOCABULARY, WIDTH, BATCH, LENGTH = 2000, 64, 4, 96


class Block(nn.Module):
    """A layer without attention."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        """Return the input and what the layer adds to it."""
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Model(nn.Module):
    """Tokens to logits."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Any) -> Any:
        """Return the logits."""
        return self.head(self.blocks(self.tokens(tokens)))


@dataclass
class Output:
    """What models of some libraries give back."""

    logits: Any
    hidden: Any = None


def batch() -> tuple[Any, Any]:
    """Return tokens and labels."""
    return torch.randint(VOCABULARY, (BATCH, LENGTH)), torch.randint(VOCABULARY, (BATCH, LENGTH))


def setup() -> tuple[Any, Any]:
    """Return a model and its optimizer."""
    torch.manual_seed(0)
    model = Model()
    return model, torch.optim.SGD(model.parameters(), 0.1)
