"""An MLP that learns to tell two spirals apart: AdamW, a schedule, clipping, an evaluation every few steps."""

from __future__ import annotations

import argparse
import math

import torch
from torch import Tensor, nn


def spirals(count: int) -> tuple[Tensor, Tensor]:
    """Points on two spirals, and which of the two each is on."""
    turn = torch.rand(count) * 3 * math.pi
    label = torch.randint(0, 2, (count,))
    radius = turn / (3 * math.pi) * (1 - 2 * label)
    points = torch.stack([radius * turn.cos(), radius * turn.sin()], dim=1)
    return points + 0.02 * torch.randn(count, 2), label


class Trainer:
    """The model, what trains it, and what is written down meanwhile."""

    def __init__(self, leak: str) -> None:
        self.leak = leak
        self.model = nn.Sequential(nn.Linear(2, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=1e-3)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=200)
        self.loss = nn.CrossEntropyLoss()
        self.losses: list[float | Tensor] = []
        self.total: float | Tensor = 0.0
        self.activity: dict[str, float] = {}

    def step(self, number: int) -> None:
        """One batch."""
        if self.leak == "hook":
            self.watch_activity()
        points, labels = spirals(128)
        loss = self.loss(self.model(points), labels)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.write_down(loss)
        if number % 10 == 0:
            self.evaluate()

    def write_down(self, loss: Tensor) -> None:
        """Keep the loss for a plot, and their sum for a mean."""
        self.losses.append(loss if self.leak == "losses" else loss.item())
        self.total = self.total + (loss if self.leak == "total" else loss.item())

    def watch_activity(self) -> None:
        """Note how many units of the first layer are active."""
        seen: list[Tensor] = []

        def note(module: nn.Module, args: object, output: Tensor) -> None:
            seen[:] = [output.detach()]
            self.activity["first"] = (output > 0).float().mean().item()

        self.model[1].register_forward_hook(note)

    @torch.no_grad()
    def evaluate(self) -> float:
        """Accuracy on fresh points."""
        self.model.eval()
        points, labels = spirals(256)
        right = (self.model(points).argmax(1) == labels).float().mean().item()
        self.model.train()
        return right


def main() -> None:
    """Train, and say how well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--leak", choices=["none", "losses", "total", "hook"], default="none")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    trainer = Trainer(arguments.leak)
    for number in range(arguments.steps):
        trainer.step(number)
    print(f"accuracy {trainer.evaluate():.2f}, mean loss {float(trainer.total) / arguments.steps:.3f}")


if __name__ == "__main__":
    main()
