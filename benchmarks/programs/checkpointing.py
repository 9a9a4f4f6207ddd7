"""A deep residual network whose blocks are computed twice instead of being kept: gradient checkpointing."""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class Deep(nn.Module):
    """Residual blocks, checkpointed."""

    def __init__(self, depth: int, leak: str) -> None:
        super().__init__()
        self.leak = leak
        self.entry = nn.Linear(16, 64)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64)) for _ in range(depth)
        )
        self.exit = nn.Linear(64, 1)

    def forward(self, x: Tensor) -> Tensor:
        """One value for each row."""
        x = self.entry(x)
        for number, block in enumerate(self.blocks):
            is_noted = self.leak == "closure" and number == 0
            x = self.noted(block, x) if is_noted else x + checkpoint(block, x, use_reentrant=False)
        return self.exit(x)[:, 0]

    def noted(self, block: nn.Module, x: Tensor) -> Tensor:
        """A block, computed with its input and output noted down."""
        notes = {"input": x.detach()}

        def run(inner: Tensor) -> Tensor:
            notes["mean"] = inner.detach().mean()
            return inner + block(inner)

        notes["output"] = checkpoint(run, x, use_reentrant=True)
        return notes["output"]


class Run:
    """The record of a training run."""

    def __init__(self) -> None:
        self.validation: Tensor | None = None
        self.seeds: list[Tensor] = []
        self.losses: list[float] = []


def rows(count: int) -> tuple[Tensor, Tensor]:
    """Inputs, and what is to be learnt of them."""
    x = torch.randn(count, 16)
    return x, (x[:, :4].prod(1) + x[:, 4:].sum(1)).tanh()


def validate(model: Deep, run: Run) -> None:
    """A look at other rows."""
    x, y = rows(64)
    if run.validation is None or model.leak == "validation":
        run.validation = (model.exit(model.blocks[0](model.entry(x)))[:, 0] - y).square()
        if model.leak != "validation":
            run.validation = run.validation.detach()


def main() -> None:
    """Train, and say how well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--leak", choices=["none", "closure", "validation", "seeds"], default="none")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, run = Deep(4, arguments.leak), Run()
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3)
    for _ in range(arguments.steps):
        if arguments.leak == "seeds":
            run.seeds.append(torch.get_rng_state())
        x, y = rows(32)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.losses.append(loss.item())
        validate(model, run)
    print(f"loss {sum(run.losses[-10:]) / 10:.3f}")


if __name__ == "__main__":
    main()
