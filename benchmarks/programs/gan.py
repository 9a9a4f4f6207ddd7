"""A GAN on a ring of points: two optimizers, a penalty on the critic's gradients."""

from __future__ import annotations

import argparse
import math

import torch
from torch import Tensor, nn


def ring(count: int) -> Tensor:
    """Points of eight clusters on a circle."""
    angle = torch.randint(0, 8, (count,)) * (math.pi / 4)
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(count, 2)


def network(inward: int, outward: int) -> nn.Sequential:
    """A map with one hidden layer too many."""
    return nn.Sequential(nn.Linear(inward, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, outward))


class Game:
    """Generator against critic."""

    def __init__(self, leak: str) -> None:
        self.leak = leak
        self.generator, self.critic = network(8, 2), network(2, 1)
        self.painter = torch.optim.Adam(self.generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
        self.judge = torch.optim.Adam(self.critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
        self.samples: list[Tensor] = []
        self.score = torch.zeros(())

    def penalty(self, real: Tensor) -> Tensor:
        """Return how far the critic's slope is from one."""
        points = real.clone().requires_grad_()
        (slope,) = torch.autograd.grad(self.critic(points).sum(), points, create_graph=True)
        return ((slope.norm(dim=1) - 1) ** 2).mean()

    def penalty_by_backward(self, real: Tensor) -> Tensor:
        """The same, with the slope left in `.grad`, where it refers to the points that it belongs to."""
        points = real.clone().requires_grad_()
        self.critic(points).sum().backward(create_graph=True)
        assert points.grad is not None
        return ((points.grad.norm(dim=1) - 1) ** 2).mean()

    def train_critic(self) -> None:
        """One move of the critic."""
        real, fake = ring(64), self.generator(torch.randn(64, 8)).detach()
        self.judge.zero_grad()
        penalty = self.penalty_by_backward(real) if self.leak == "penalty" else self.penalty(real)
        loss = self.critic(fake).mean() - self.critic(real).mean() + 10 * penalty
        loss.backward()
        self.judge.step()
        self.judge.zero_grad()

    def train_generator(self) -> None:
        """One move of the generator."""
        fake = self.generator(torch.randn(64, 8))
        score = self.critic(fake).mean()
        self.painter.zero_grad()
        (-score).backward(retain_graph=self.leak == "score")
        self.painter.step()
        self.score = 0.9 * self.score + 0.1 * (score if self.leak == "score" else score.detach())
        if self.leak == "samples":
            self.samples.append(fake[:8])


def main() -> None:
    """Play, and say how it stands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--leak", choices=["none", "samples", "penalty", "score"], default="none")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    game = Game(arguments.leak)
    for _ in range(arguments.steps):
        for _ in range(2):
            game.train_critic()
        game.train_generator()
    print(f"score {game.score.item():.3f}")


if __name__ == "__main__":
    main()
