"""Denoising diffusion in one dimension: noise is added by a schedule, and a network learns to take it away."""

from __future__ import annotations

import argparse
import queue

import torch
from torch import Tensor, nn

TIMES = 50
#: Schedules by where their tensor of times lies in memory.
_SCHEDULES: dict[tuple[int, int], Tensor] = {}


class Denoiser(nn.Module):
    """Predicts the noise that was added."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Embedding(TIMES, 16)
        self.net = nn.Sequential(nn.Linear(32 + 16, 64), nn.SiLU(), nn.Linear(64, 32))

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        """The noise in x at these times."""
        return self.net(torch.cat([x, self.time(at)], dim=1))


class Board:
    """Numbers for a dashboard, taken away by whoever draws it."""

    def __init__(self) -> None:
        self.events: queue.Queue[tuple[str, Tensor]] = queue.Queue()
        self.latest = 0.0


def kept(times: Tensor) -> Tensor:
    """Return the share of the signal that is left at some times."""
    return torch.cumprod(1 - torch.linspace(1e-4, 0.05, TIMES), dim=0)[times][:, None]


def kept_from_cache(times: Tensor, number: int) -> Tensor:
    """The same, remembered by address."""
    key = (times.data_ptr(), number)
    if key not in _SCHEDULES:
        _SCHEDULES[key] = kept(times)
    return _SCHEDULES[key]


def waves(count: int) -> Tensor:
    """Clean signals."""
    phase, speed = torch.rand(count, 1) * 6.28, 0.2 + torch.rand(count, 1)
    return torch.sin(phase + speed * torch.arange(32))


def sample(model: Denoiser) -> list[Tensor]:
    """A few steps back from pure noise; the signal at each of them."""
    x = torch.randn(4, 32)
    trajectory = [x]
    for time in range(TIMES - 1, TIMES - 5, -1):
        x = x - 0.1 * model(x, torch.full((4,), time))
        trajectory.append(x)
    return trajectory


def main() -> None:
    """Train, sampling now and then."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--leak", choices=["none", "gallery", "schedules", "events"], default="none")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, board = Denoiser(), Board()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    gallery: dict[str, list[list[Tensor]]] = {"trajectories": []}
    for number in range(arguments.steps):
        clean, noise, times = waves(32), torch.randn(32, 32), torch.randint(0, TIMES, (32,))
        share = kept_from_cache(times, number) if arguments.leak == "schedules" else kept(times)
        guess = model(share.sqrt() * clean + (1 - share).sqrt() * noise, times)
        loss = nn.functional.mse_loss(guess, noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        board.latest = loss.item()
        if arguments.leak == "events":
            board.events.put(("guess", guess.detach()))
        if arguments.leak == "gallery":
            gallery["trajectories"].append(sample(model))
        elif number % 20 == 0:
            with torch.no_grad():
                gallery["trajectories"] = [sample(model)]
    print(f"loss {board.latest:.3f}")


if __name__ == "__main__":
    main()
