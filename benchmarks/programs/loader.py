"""A classifier fed by a DataLoader with two workers, with a log that is written in batches."""

from __future__ import annotations

import argparse
import logging
import logging.handlers
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

Item = tuple[Tensor, int]


class Rows(Dataset[Item]):
    """Rows that are made when they are asked for."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Item:
        generator = torch.Generator().manual_seed(index)
        label = index % 4
        return torch.randn(32, generator=generator) + label, label


class Summary:
    """The result of a run."""

    def __init__(self) -> None:
        self.seen: dict[int, Tensor] = {}
        self.pending: list[Iterator[float]] = []


def running_mean(features: Tensor) -> Iterator[float]:
    """The mean of the rows so far, for as long as somebody asks."""
    total = torch.zeros(features.shape[1])
    for number, row in enumerate(features, 1):
        total += row
        yield (total / number).mean().item()


def make_log(leak: str) -> logging.Logger:
    """A log that is written once in a while."""
    log = logging.getLogger("training")
    log.propagate = False
    log.setLevel(logging.INFO)
    capacity = 1_000_000 if leak == "records" else 4
    log.addHandler(logging.handlers.MemoryHandler(capacity, logging.CRITICAL, target=logging.NullHandler()))
    return log


def main() -> None:
    """Train for some epochs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--leak", choices=["none", "seen", "records", "pending"], default="none")
    arguments = parser.parse_args()
    leak = arguments.leak
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(Rows(640), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
    log, summary, step = make_log(leak), Summary(), 0
    for epoch in range(arguments.epochs):
        for features, labels in loader:
            loss = nn.functional.cross_entropy(model(features), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            log.info("step %d of epoch %d: %s", step, epoch, features if leak == "records" else features.shape)
            means = running_mean(features)
            next(means)
            if leak == "pending":
                summary.pending.append(means)
            summary.seen[step if leak == "seen" else step % 8] = features
    print(f"loss {loss.item():.3f} after {step} steps")


if __name__ == "__main__":
    main()
