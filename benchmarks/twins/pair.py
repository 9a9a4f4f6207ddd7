"""A program that leaks, and its twin: the same program with the bound, the `clear()` or the `detach()` that it needs."""

from __future__ import annotations

from dataclasses import dataclass

#: Lengths of the runs that a pair is hunted with.
LENGTHS = (12, 40, 400)

PRELUDE = """\
import random
from collections import Counter, OrderedDict, defaultdict, deque

import numpy as np
import torch
from torch import nn

STEPS = <N>
torch.manual_seed(0)
torch.set_num_threads(1)
random.seed(0)
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)


def batch(rows=16):
    return torch.randn(rows, 64)


def train(x):
    loss = net(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


"""

#: Sizes that a program has in proportion to its run: `<N>` is the number of its steps.
SIZES = {
    "<N/8>": 1 / 8,
    "<N/4>": 1 / 4,
    "<N/2>": 1 / 2,
    "<3N/4>": 3 / 4,
    "<7N/8>": 7 / 8,
    "<N>": 1,
    "<2N>": 2,
    "<10N>": 10,
}


@dataclass(frozen=True)
class Pair:
    """A leaking program, and the edits that make its clean twin."""

    name: str
    holder: str  # a name that the leak's trace must have; several with "|" between them; empty if native memory leaks
    leak: str
    edits: tuple[tuple[str, str], ...]  # what stands once in the leak, and what the twin has in its place
    why: str  # why the first one leaks
    why_not: str  # why its twin does not
    steps: tuple[int, ...] = LENGTHS  # lengths at which leak and twin can be told apart
    truth: str = "leak"  # the verdict of the first one
    twin_truth: str = "clean"  # a verdict that is right for the twin, too
    #: The twin grows until it is full after so many times the steps of a run; 0 if it is full or emptied within the run,
    #: -1 if its bound is too far away to run to.
    full_after: int = 0
    #: The twin keeps a few numbers or words for each step, less than 1 kB, as any log does.
    logs: bool = False
    #: What leaks is plain Python, less than 4 kB a step: a report may call it minor, but must name the holder.
    small: bool = False
    #: Hunt it with this memory limit always: it decides whether a bound is reached in time.
    limit: str = ""

    def source(self, is_leaking: bool, steps: int, length: int | None = None) -> str:
        """Return one of the programs, with sizes made for so many steps, of which it takes `length`."""
        text = self.leak
        for old, new in () if is_leaking else self.edits:
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: {old!r} stands {text.count(old)} times in the program")
            text = text.replace(old, new)
        text = PRELUDE.replace("<N>", str(length or steps)) + text
        for size, factor in SIZES.items():
            text = text.replace(size, str(max(2, int(steps * factor))))
        return text
